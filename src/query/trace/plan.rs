//! From specs to what is planted: every placement that the kernel takes, each with its own fetch arguments.
use super::definition::{self, Names, Signature};
use super::filter::{Condition, Field, Holds};
use super::shown::Shown;
use super::{Column, Copy, Event, Kind, LeftOut, Place, Plan};
use crate::error::{Error, ErrorKind, Result};
use crate::query::answer::{Answer, answers};
use crate::query::index::functions::Instance;
use crate::query::index::symbols::Anchor;
use crate::query::resolve::placement::{Placement, Wanted};
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::runtime::overlay::Overlay;
use crate::query::spec::argument::{self, Argument, Source};
use crate::query::spec::{Filter, Point, Spec};
use crate::query::systemtap::alias::{At, Probe};
use crate::query::value::{Role, ValueAt, arguments};
use crate::query::verdict::alternative::Alternative;
use crate::query::verdict::reason::Reason;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::EventFieldRecord;
use rustc_hash::{FxHashMap, FxHashSet};

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
}

/// Makes a plan, spec after spec.
pub struct Planner<'w> {
    arguments: &'w [Argument],
    condition: Option<&'w Condition>,
    names: Names,
    functions: FxHashMap<FunctionKey, OfFunction>,
    plan: Plan,
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

/// What is fetched at the places of one spec.
struct Fetched {
    /// What is printed, then what is only compared.
    arguments: Vec<Argument>,
    /// How many are printed.
    printed: usize,
    /// What the condition needs, by its text.
    compared: Vec<String>,
    /// Whether the user named none, so that these are parameters and the value returned.
    by_default: bool,
    /// `.maxactive(N)`
    maxactive: Option<u64>,
}

impl<'w> Planner<'w> {
    /// A plan without events. `arguments` are printed; if there are none, the parameters, and of a return the value.
    /// Records of which `condition` does not hold are none.
    pub fn new(arguments: &'w [Argument], condition: Option<&'w Condition>) -> Self {
        let (names, functions) = (Names::default(), FxHashMap::default());
        let (plan, known) = (Plan::default(), FxHashSet::default());
        Self { arguments, condition, names, functions, plan, known, is_without_values: false }
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
        let wanted = Wanted { locals: false, lines: false, arguments: &arguments.clone(), running };
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
    pub fn finish(self) -> Result<Plan> {
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
        self.plan.events[at].copies.push(Copy {
            definition: Some(line),
            is_certain: reason.is_none(),
            place: place(p),
            inlined_into: p.inlined_into.iter().map(|call| text(call.function)).collect(),
            unreadable: values.unreadable(),
        });
        Ok(())
    }

    /// A tracepoint: the event that the kernel has, else a probe on the tracepoint.
    fn tracepoint(
        &mut self,
        view: &View<'_>,
        traced: &TracepointValues<'_>,
        alias: Option<String>,
        fetched: &Fetched,
        asked: Asked<'_>,
    ) -> Result<()> {
        let t = &traced.tracepoint;
        let (system, name) = (text(t.system()), text(t.name()));
        let own = if system.is_empty() { name.clone() } else { format!("{system}:{name}") };
        let subject = alias.unwrap_or_else(|| own.clone());
        let left = |why: String, instead: Option<String>| LeftOut {
            subject: subject.clone(),
            what: own.clone(),
            why,
            instead,
        };
        self.known.extend(traced.values.iter().filter(|v| v.role != Role::Local).map(|v| v.name.clone()));
        let wants_parameters = traced.values.iter().any(|v| v.is_asked && v.role == Role::Parameter);
        let values = Values::new(&traced.values, fetched);
        if wants_parameters {
            let definition = match &traced.definition {
                Ok(definition) => definition.clone(),
                Err(why) => {
                    let fields: Vec<_> =
                        t.fields().into_iter().flatten().map(|f| text(view.string(f.name))).collect();
                    let instead = (!fields.is_empty()).then(|| format!("its fields: {}", fields.join(", ")));
                    return self.leave(left(why.clone(), instead));
                }
            };
            if let Some(why) = values.uncompared() {
                return self.leave(left(why, None));
            }
            let event = self.names.free(&name);
            let definition =
                definition.replacen(&format!("probeidx/{name} "), &format!("{}/{event} ", asked.group), 1);
            self.plan.events.push(Event {
                kind: Kind::Tracepoint,
                group: asked.group.to_owned(),
                name: event,
                subject,
                copies: vec![Copy {
                    definition: Some(definition),
                    is_certain: true,
                    place: None,
                    inlined_into: vec![],
                    unreadable: values.unreadable(),
                }],
                columns: values.columns(view),
                filter: values.filter(view, self.condition)?,
            });
            return Ok(());
        }
        let is_there = asked.has_event.map_or(t.has_event(), |has_event| has_event(&system, &name));
        if !is_there {
            let why = match t.has_event() {
                true => "this kernel has no such event now".to_owned(),
                false => "no event of the kernel records it".to_owned(),
            };
            let instead = t.module().map(|module| format!("modprobe {}, and trace again", text(module)));
            return self.leave(left(why, instead));
        }
        let fields = t.fields();
        let all: Vec<_> = fields.into_iter().flatten().collect();
        let holds = |name: &str| {
            all.iter().find(|f| view.string(f.name) == name.as_bytes()).map(|f| Field {
                name: name.to_owned(),
                holds: of_field(
                    view.string(f.type_name),
                    f.size.get().into(),
                    f.flags.get() & EventFieldRecord::SIGNED != 0,
                ),
            })
        };
        let root = |argument: &Argument| match &argument.source {
            Source::Variable(access) if access.steps.is_empty() => Some(access.root.clone()),
            _ => None,
        };
        let filter = match self.condition {
            None => None,
            Some(condition) => Some(condition.filter(view, &|argument| holds(&root(argument)?))?),
        };
        let printed: Vec<String> = match fetched.by_default {
            true => all.iter().map(|f| text(view.string(f.name))).collect(),
            false => fetched.arguments[..fetched.printed].iter().filter_map(root).collect(),
        };
        let columns = printed.into_iter().filter_map(|name| {
            let held = holds(&name)?;
            Some(Column { name: name.clone(), field: name, shown: shown_as(held.holds) })
        });
        self.plan.events.push(Event {
            kind: Kind::Tracepoint,
            group: system,
            name,
            subject,
            copies: vec![Copy {
                definition: None,
                is_certain: true,
                place: None,
                inlined_into: vec![],
                unreadable: values.unreadable(),
            }],
            columns: columns.collect(),
            filter,
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

/// The values of a place, with the fields that have them.
struct Values<'f> {
    /// Those that are asked for and that are variables here.
    all: Vec<ValueAt>,
    /// The fetch argument of each, `count=%dx:u64`, under the name of its field.
    fetches: Vec<Option<String>>,
    fetched: &'f Fetched,
}

impl<'f> Values<'f> {
    fn new(values: &[ValueAt], fetched: &'f Fetched) -> Self {
        let is_compared = |v: &ValueAt| fetched.compared.contains(&v.name);
        let is_here = |v: &&ValueAt| v.is_asked && (!fetched.by_default || is_default(v) || is_compared(v));
        let all: Vec<ValueAt> = values.iter().filter(is_here).cloned().collect();
        let mut named = arguments(&all).into_iter();
        let fetches = all.iter().map(|v| v.fetch.as_ref().and_then(|_| named.next())).collect();
        Self { all, fetches, fetched }
    }

    fn each(&self) -> impl Iterator<Item = (&ValueAt, Option<&str>)> {
        self.all.iter().zip(self.fetches.iter().map(Option::as_deref))
    }

    /// Why the condition cannot be decided here.
    fn uncompared(&self) -> Option<String> {
        let (v, _) =
            self.each().find(|(v, fetch)| fetch.is_none() && self.fetched.compared.contains(&v.name))?;
        Some(format!("{}, which the condition needs: {}", v.name, reason(v)))
    }

    fn columns(&self, view: &View<'_>) -> Vec<Column> {
        let printed = self.each().filter(|(v, _)| self.fetched.is_printed(v));
        let column = |(v, fetch): (&ValueAt, Option<&str>)| {
            let (field, _) = fetch?.split_once('=')?;
            Some(Column {
                name: column_name(self.fetched, v),
                field: field.to_owned(),
                shown: shown(view, self.fetched, v, fetch?),
            })
        };
        printed.filter_map(column).collect()
    }

    fn filter(&self, view: &View<'_>, condition: Option<&Condition>) -> Result<Option<String>> {
        let field = |argument: &Argument| {
            let fetched = self.fetched.arguments.iter().find(|a| is_same(a, argument))?;
            let (_, fetch) = self.each().find(|(v, _)| v.name == fetched.text)?;
            let (name, body) = fetch?.split_once('=')?;
            Some(Field { name: name.to_owned(), holds: Holds::of_fetch(body) })
        };
        condition.map(|condition| condition.filter(view, &field)).transpose()
    }

    fn unreadable(&self) -> Vec<(String, String)> {
        let unread = self.each().filter(|(_, fetch)| fetch.is_none());
        unread.map(|(v, _)| (v.name.clone(), reason(v))).collect()
    }
}

impl Fetched {
    /// Whether a value is printed, and not only compared.
    fn is_printed(&self, value: &ValueAt) -> bool {
        self.arguments[..self.printed].iter().any(|a| a.text == value.name)
    }
}

/// Whether two arguments read the same, whatever they are called: `$return` and `$retval`.
fn is_same(one: &Argument, other: &Argument) -> bool {
    let is_same_source = match (&one.source, &other.source) {
        (Source::Returned(one), Source::Returned(other)) => one.steps == other.steps,
        (one, other) => one == other,
    };
    is_same_source && one.cast == other.cast
}

/// Whether a value is printed if nothing is asked for.
fn is_default(value: &ValueAt) -> bool {
    matches!(value.role, Role::Parameter | Role::Return)
}

/// Why a value cannot be read.
fn reason(value: &ValueAt) -> String {
    let why = value.location.as_deref().map_or(String::new(), |why| format!(", {why}"));
    format!("{}{why}", value.state.name())
}

/// A value as it is printed: by the name that the user gave, else as it was written, without its type.
fn column_name(fetched: &Fetched, value: &ValueAt) -> String {
    let Some(argument) = fetched.arguments.iter().find(|a| a.text == value.name) else {
        return value.name.clone();
    };
    if let Some(name) = &argument.name {
        return name.clone();
    }
    match (&argument.source, argument.text.rsplit_once(':')) {
        (Source::Returned(access), _) if access.steps.is_empty() => "$return".to_owned(),
        (_, Some((plain, _))) if argument.cast.is_some() => plain.to_owned(),
        _ => argument.text.clone(),
    }
}

/// How a value is shown: as its type, or as the type that the user gave.
fn shown(view: &View<'_>, fetched: &Fetched, value: &ValueAt, fetch: &str) -> Shown {
    let kind = fetch.rsplit_once(':').map_or("", |(_, kind)| kind);
    let is_cast = fetched.arguments.iter().any(|a| a.text == value.name && a.cast.is_some());
    let is_pointer = value.plan.as_ref().is_some_and(|plan| plan.is_pointer);
    match value.type_id {
        Some(_) if is_pointer && !is_cast => Shown::Address,
        Some(type_id) if !is_cast => match Shown::of_type(view, Some(type_id), value.role == Role::Return) {
            // A string was fetched of an array of characters.
            _ if kind == "string" => Shown::Text,
            shown => shown,
        },
        _ if fetch.ends_with("$comm") => Shown::Text,
        _ => Shown::of_cast(kind).unwrap_or(Shown::Hexadecimal),
    }
}

fn shown_as(holds: Holds) -> Shown {
    match holds {
        Holds::Number { is_signed: true, .. } => Shown::Signed,
        Holds::Number { .. } | Holds::Array => Shown::Unsigned,
        Holds::Text => Shown::Text,
    }
}

/// What a field of an event holds, by its type in the format.
fn of_field(type_name: &[u8], size: u32, is_signed: bool) -> Holds {
    let is_text = type_name.starts_with(b"__data_loc char[]") || type_name.starts_with(b"__rel_loc char[]");
    match size {
        _ if is_text || type_name.starts_with(b"char[") => Holds::Text,
        1 | 2 | 4 | 8 if !type_name.contains(&b'[') => Holds::Number { bits: size * 8, is_signed },
        _ => Holds::Array,
    }
}

/// `do_open in path_openat`
fn copy_name(p: &Placement<'_>, is_return: bool) -> String {
    let subject = subject(p, is_return);
    match p.inlined_into.first() {
        Some(call) => format!("{subject} in {}", text(call.function)),
        None => subject,
    }
}

/// What is traced: `vfs_read`, `vfs_read.return`, `vfs_read at fs/read_write.c:467`.
fn subject(p: &Placement<'_>, is_return: bool) -> String {
    let function = text(p.function);
    match (p.source, p.instance) {
        _ if is_return => format!("{function}.return"),
        (Some(source), _) => format!("{function} at {}:{}", text(source.file), source.line),
        (None, Instance::Statement) => match p.symbol {
            Some((symbol, offset)) => format!("{}+{offset:#x}", text(symbol)),
            None => function,
        },
        _ => function,
    }
}

fn place(p: &Placement<'_>) -> Option<Place> {
    let (anchor, module) = match p.anchor.as_ref()? {
        Anchor::Symbol { module, symbol, offset } => ((text(symbol), u64::from(*offset)), module.map(text)),
        Anchor::File { path, offset } => ((text(path), *offset), None),
    };
    let run_time = p.running.as_ref().and_then(|r| r.address).map(|at| at + u64::from(p.verdicts.shift));
    Some(Place { anchor, module, address: p.address, run_time })
}

/// What can be traced instead of a place that is refused.
fn instead(alternative: &Alternative<'_>) -> Option<String> {
    match alternative {
        Alternative::At(nearby) => {
            let (symbol, offset) = nearby.symbol;
            Some(format!("trace {}+{offset:#x}", text(symbol)))
        }
        Alternative::Mechanism("kprobe") => Some("SystemTap takes it (register_kprobe)".to_owned()),
        Alternative::Mechanism(_) => Some("ftrace takes it (fprobe)".to_owned()),
        Alternative::BeforeLoading => None,
        Alternative::ReturnOf(function) => {
            Some(format!("trace {}%return, of which it is a part", text(function)))
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
