//! From specs to what is planted: every placement that the kernel takes, each with its own fetch arguments.
mod fprobe;
mod tracepoint;
mod values;
mod words;

use super::definition::{self, Names, Signature};
use super::filter::Condition;
use super::{Copy, Event, Kind, LeftOut, Plan};
use crate::error::{Error, ErrorKind, Result};
use crate::query::answer::{Answer, answers};
use crate::query::resolve::placement::{Placement, Wanted};
use crate::query::runtime::overlay::Overlay;
use crate::query::spec::argument::{self, Argument, Source};
use crate::query::spec::{Filter, Point, Spec};
use crate::query::systemtap::alias::{At, Probe};
use crate::query::value::{Role, ValueAt};
use crate::query::verdict::reason::Reason;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};
use values::{Fetched, Values, is_default, is_same};
use words::{copy_name, instead, place, subject, text};

/// Whether the kernel has an event, given its system and name.
pub type HasEvent<'w> = dyn Fn(&str, &str) -> bool + 'w;

/// Where something is planted.
#[derive(Clone, Copy)]
pub struct Asked<'w> {
    /// The group of the events that are defined.
    pub group: &'w str,
    /// The kernel that runs; if `None`, the verdicts are those of the index alone.
    pub running: Option<&'w Overlay<'w>>,
    /// Whether the kernel has an event, given its system and name; if `None`, the index decides.
    pub has_event: Option<&'w HasEvent<'w>>,
    /// Whether the kernel has fprobe events; if `None`, the index decides.
    pub has_fprobes: Option<bool>,
}

/// Makes a plan, spec after spec.
pub struct Planner<'w> {
    arguments: &'w [Argument],
    condition: Option<&'w Condition>,
    names: Names,
    functions: FxHashMap<FunctionKey, OfFunction>,
    plan: Plan,
    /// For each event of one place, the fprobe that can stand for it.
    fprobes: FxHashMap<usize, (Kind, String)>,
    /// The arguments of the user that were found to be variables somewhere.
    known: FxHashSet<String>,
    /// Whether no values are read.
    is_without_values: bool,
}

/// The name of the alias, the function with file and line of its declaration, the object if it has no file, and whether
/// it is the return.
type FunctionKey = (Option<String>, Vec<u8>, Vec<u8>, u32, Option<ObjectId>, bool);

/// The events of a function.
#[derive(Default)]
struct OfFunction {
    names: Vec<(Signature, String)>,
    /// The position of each event in the plan, by name.
    events: FxHashMap<String, usize>,
    /// Addresses that have a probe.
    addresses: FxHashSet<(ObjectId, u32)>,
}

impl<'w> Planner<'w> {
    /// A plan without events. `arguments` are printed; if there are none, the parameters, and of a return the value.
    /// Records of which `condition` does not hold are none.
    pub fn new(arguments: &'w [Argument], condition: Option<&'w Condition>) -> Self {
        let (names, functions) = (Names::default(), FxHashMap::default());
        let (plan, fprobes, known) = (Plan::default(), FxHashMap::default(), FxHashSet::default());
        Self { arguments, condition, names, functions, plan, fprobes, known, is_without_values: false }
    }

    /// No values are read but those that the condition needs.
    pub fn without_values(self) -> Self {
        Self { is_without_values: true, ..self }
    }

    /// Adds all places of a spec, and returns whether there are any. Cost: that of resolving it, twice if no arguments
    /// are asked for.
    ///
    /// # Errors
    /// Those of [`answers`]; [`ErrorKind::Usage`] for a condition that the kernel's filter cannot say.
    pub fn add(&mut self, view: &View<'_>, spec: &Spec, asked: Asked<'_>) -> Result<bool> {
        let maxactive = match &spec.point {
            Point::Function(function) => function.maxactive,
            _ => None,
        };
        let by_default = self.arguments.is_empty() && !self.is_without_values;
        let mut arguments = match by_default {
            true => defaults(view, spec, asked)?,
            false => self.arguments.to_vec(),
        };
        let printed = arguments.len();
        let compared = self.condition.map(Condition::arguments).unwrap_or_default();
        for argument in &compared {
            if !arguments.iter().any(|a| is_same(a, argument)) {
                arguments.push((*argument).clone());
            }
        }
        let is_compared = |a: &&Argument| compared.iter().any(|other| is_same(a, other));
        let compared = arguments.iter().filter(is_compared).map(|a| a.text.clone()).collect();
        let running = asked.running;
        let wanted = Wanted { arguments: &arguments.clone(), running, ..Wanted::default() };
        let fetched = Fetched { arguments, printed, compared, by_default, maxactive };
        let mut found = false;
        answers(view, spec, wanted, &mut |answer| {
            found = true;
            match answer {
                Answer::Code(p, filter) => self.code(view, &p, filter, None, &fetched, asked),
                Answer::Tracepoint(traced) => self.tracepoint(view, &traced, None, &fetched, asked),
                Answer::Alias(probe) => {
                    let name = Some(probe.named.name.to_owned());
                    let nowhere = |why: &str| LeftOut {
                        subject: probe.named.name.to_owned(),
                        what: format!("{} at {}", probe.named.name, probe.named.point),
                        why: why.to_owned(),
                        instead: None,
                    };
                    match &probe.place {
                        At::Code(p) => self.code(view, p, probe.filter, name, &fetched, asked),
                        At::Trace(traced) => self.tracepoint(view, traced, name, &fetched, asked),
                        At::Nowhere => self.leave(nowhere("it is at no place of the kernel")),
                        At::Unindexed => {
                            self.leave(nowhere("it is in a program, which a kernel's index has not"))
                        }
                    }
                }
            }
        })?;
        Ok(found)
    }

    /// The plan.
    ///
    /// # Errors
    /// [`ErrorKind::NoMatch`] for an argument that is a variable nowhere.
    pub fn finish(mut self) -> Result<Plan> {
        self.plant_fprobes();
        let compared = self.condition.map(Condition::arguments).unwrap_or_default();
        let mut all = self.arguments.iter().chain(compared);
        let is_empty = self.plan.events.is_empty() && self.plan.left_out.is_empty();
        let is_known = |a: &Argument| matches!(a.source, Source::Returned(_)) || self.known.contains(&a.text);
        match all.find(|a| !is_empty && !is_known(a)) {
            Some(unknown) => {
                let what = format!("no variable '{}' in any of the placements", unknown.text);
                let error = Error::new(ErrorKind::NoMatch, what);
                Err(error.hint("to see what there is: probeidx resolve SPEC --locals"))
            }
            None => Ok(self.plan),
        }
    }

    /// Puts fprobes in the place of kprobes, if that is worth while. All probes of an event are of one kind.
    fn plant_fprobes(&mut self) {
        if self.fprobes.len() > fprobe::MOST {
            return;
        }
        for (at, (kind, line)) in self.fprobes.drain() {
            let event = &mut self.plan.events[at];
            if let [only] = &mut event.copies[..] {
                event.kind = kind;
                only.definition = Some(line);
            }
        }
    }

    fn leave(&mut self, left: LeftOut) -> Result<()> {
        if !self.plan.left_out.contains(&left) {
            self.plan.left_out.push(left);
        }
        Ok(())
    }

    /// A placement in code.
    fn code(
        &mut self,
        view: &View<'_>,
        p: &Placement<'_>,
        filter: Filter,
        alias: Option<String>,
        fetched: &Fetched,
        asked: Asked<'_>,
    ) -> Result<()> {
        let named = p.values.iter().filter(|v| v.type_id.is_some() || v.role != Role::Local);
        self.known.extend(named.map(|v| v.name.clone()));
        // A call that passes a nested copy passes the outer one too; of a line one address is the best.
        if p.is_nested || p.source.is_some_and(|s| !s.is_best) {
            return Ok(());
        }
        let is_return = filter == Filter::Return;
        let left = |why: String, instead: Option<String>| LeftOut {
            subject: alias.clone().unwrap_or_else(|| subject(p, is_return)),
            what: copy_name(p, is_return),
            why,
            instead,
        };
        if let Some(module) = p.module.filter(|_| p.running.as_ref().is_some_and(|r| !r.loaded)) {
            let module = text(module);
            let why = format!("module {module} is not loaded, or another build of it is");
            return self.leave(left(why, Some(format!("modprobe {module}, and trace again"))));
        }
        let reason = p.verdicts.definition(is_return).reason();
        // The kernel that runs has the code as it runs.
        let is_tried = |reason: &Reason| {
            asked.running.is_some() && matches!(reason, Reason::Undecided(_) | Reason::Patched)
        };
        if let Some(reason) = reason.filter(|reason| !is_tried(reason)) {
            return self.leave(left(reason.name().to_owned(), p.instead.as_ref().and_then(instead)));
        }
        let values = Values::new(&p.values, fetched);
        if let Some(why) = values.uncompared() {
            return self.leave(left(why, None));
        }
        let key = (
            alias.clone(),
            p.function.to_vec(),
            p.file.to_vec(),
            p.line,
            p.file.is_empty().then_some(p.object),
            is_return,
        );
        let of = self.functions.entry(key).or_default();
        let address = (p.object, p.pc + p.verdicts.shift);
        if of.addresses.contains(&address) {
            return Ok(());
        }
        let name = self.names.of(p, filter, &values.all, &mut of.names);
        let line = definition::line(p, filter, &values.all, asked.group, &name);
        let mut line = match line {
            Ok(line) => line,
            Err(why) => return self.leave(left(why, p.instead.as_ref().and_then(instead))),
        };
        if let (Some(most), true) = (fetched.maxactive, is_return) {
            line.replace_range(..1, &format!("r{most}"));
        }
        of.addresses.insert(address);
        let fprobe = match fetched.maxactive {
            None if fprobe::are_cheaper(view, asked.has_fprobes) => {
                fprobe::line(view, p, is_return, &values.all, asked.group, &name)
            }
            _ => None,
        };
        let at = match of.events.get(&name) {
            Some(at) => *at,
            None => {
                let kind = match (p.process.is_some(), is_return) {
                    (true, true) => Kind::Uretprobe,
                    (true, false) => Kind::Uprobe,
                    (false, true) => Kind::Kretprobe,
                    (false, false) => Kind::Kprobe,
                };
                self.plan.events.push(Event {
                    kind,
                    group: asked.group.to_owned(),
                    name: name.clone(),
                    subject: alias.unwrap_or_else(|| subject(p, is_return)),
                    copies: vec![],
                    columns: values.columns(view),
                    filter: values.filter(view, self.condition)?,
                });
                of.events.insert(name, self.plan.events.len() - 1);
                self.plan.events.len() - 1
            }
        };
        if let Some(fprobe) = fprobe.filter(|_| self.plan.events[at].copies.is_empty()) {
            self.fprobes.insert(at, fprobe);
        }
        self.plan.events[at].copies.push(Copy {
            definition: Some(line),
            is_certain: reason.is_none(),
            place: place(p),
            inlined_into: p.inlined_into.iter().map(|call| text(call.function)).collect(),
            unreadable: values.unreadable(),
        });
        Ok(())
    }
}

/// What is printed if nothing is asked for: the value returned and the parameters, by name.
fn defaults(view: &View<'_>, spec: &Spec, asked: Asked<'_>) -> Result<Vec<Argument>> {
    let mut names: Vec<String> = vec![];
    let wanted = Wanted { running: asked.running, ..Wanted::default() };
    answers(view, spec, wanted, &mut |answer| {
        let is_return = match &answer {
            Answer::Code(_, filter) => *filter == Filter::Return,
            Answer::Alias(Probe { place: At::Code(_), filter, .. }) => *filter == Filter::Return,
            Answer::Alias(_) | Answer::Tracepoint(_) => return Ok(()),
        };
        // What was passed is gone at the return, on kernels that do not save it: who did not ask is not told.
        let is_wanted = |v: &&ValueAt| is_default(v) && (!is_return || v.fetch.is_some());
        for value in answer.values().iter().filter(is_wanted) {
            if !names.contains(&value.name) {
                names.push(value.name.clone());
            }
        }
        Ok(())
    })?;
    // A name that is no identifier of C is none that can be asked for.
    Ok(names.iter().filter_map(|name| argument::parse(name).ok()).collect())
}
