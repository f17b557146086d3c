//! What the kernel does with an attach point, and what a handler can read there.
use super::Judged;
use crate::bpftrace::Version;
use crate::bpftrace::ast::{Kind, Point, Probe};
use crate::pattern::Pattern;
use crate::query::check::attach::{Each, Expansion, Trampoline};
use crate::query::check::outcome::{Finding, Severity, State};
use crate::query::check::parameters;
use crate::query::resolve::tracepoint::{self, Tracepoint};
use crate::query::spec::TraceSpec;
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::FunctionRecord;
use probeidx_format::types::TypeKind;

/// What a handler can read of the event itself.
pub(super) struct Readable<'a> {
    /// `args.x`
    pub arguments: Arguments<'a>,
    /// `arg0`: how many there are, if that is known.
    pub registers: Registers,
    /// `retval`
    pub returned: Returned,
    /// `ctx`
    pub context: Option<TypeId>,
    /// Whether it is in a program, whose debug information may have further types.
    pub is_user: bool,
}

/// `args.x`
pub(super) enum Arguments<'a> {
    /// Whatever it is, it may be right.
    Any,
    /// The parameters of a function, of that name.
    Parameters(String, Vec<(&'a [u8], Option<TypeId>)>),
    /// The fields of events.
    Events(Vec<Tracepoint<'a>>),
}

/// `arg0`
pub(super) enum Registers {
    /// Such probes have none.
    None,
    /// Their number is not known.
    Any,
    /// The function of this name has so many.
    Count(String, usize),
}

/// `retval`
pub(super) enum Returned {
    /// Such probes have none.
    None,
    /// The type is not known.
    Any,
    /// Of this type; `None` for void.
    Typed(String, Option<TypeId>),
}

impl Readable<'_> {
    fn nothing() -> Self {
        Self {
            arguments: Arguments::Any,
            registers: Registers::None,
            returned: Returned::None,
            context: None,
            is_user: false,
        }
    }
    fn anything() -> Self {
        Self { registers: Registers::Any, returned: Returned::Any, ..Self::nothing() }
    }
}

impl<'a> Judged<'a, '_> {
    /// What the kernel says to an attach point, and what can be read there.
    pub(super) fn attach(&self, point: &Point, probe: &Probe) -> (Vec<Finding>, Readable<'a>) {
        let one = |state, reason: &str| vec![Finding::new(state, "", reason)];
        if point.parts.iter().any(|part| part.contains('$')) {
            let reason = "it depends on an argument of the command line";
            return (one(State::Undecided, reason), Readable::anything());
        }
        match point.kind {
            Kind::Kprobe | Kind::Kretprobe => self.kprobe(point, probe),
            Kind::Fentry | Kind::Fexit => self.trampoline(point, probe),
            Kind::Tracepoint => self.events(point),
            Kind::RawTracepoint => {
                let (mut findings, readable) = self.raw_tracepoint(point);
                findings.extend(self.raw_without_btf(point));
                (findings, readable)
            }
            Kind::Iterator => {
                let name = point.parts.first().map_or("", String::as_str);
                let context = lookup::find(self.view, &format!("struct bpf_iter__{name}")).first().copied();
                (self.attacher.iterator(name.as_bytes()), Readable { context, ..Readable::nothing() })
            }
            Kind::User => {
                let readable = Readable { is_user: true, ..Readable::anything() };
                (one(State::Unindexed, "the program is not indexed"), readable)
            }
            Kind::Watchpoint => (vec![], Readable::anything()),
            Kind::Always => (vec![], Readable::nothing()),
            Kind::Unknown => {
                // Wildcards stand for several kinds (0.26), and later versions may have others.
                let is_known = self.version.is_some_and(|version| version <= Version::NEWEST);
                let found = match is_known && !point.text.contains('*') {
                    true => one(State::Loader, "bpftrace refuses it: it has no such kind of probe"),
                    false => one(State::Undecided, "it is not known to which kind of probe this belongs"),
                };
                (found, Readable::anything())
            }
        }
    }

    fn kprobe(&self, point: &Point, probe: &Probe) -> (Vec<Finding>, Readable<'a>) {
        let Some((module, name)) = function(point) else { return wrong(point, "kprobe:[MODULE:]FUNCTION") };
        let is_return = point.kind == Kind::Kretprobe;
        if is_return && point.offset.is_some() {
            return wrong(point, "kretprobe:FUNCTION, as returns have no offset");
        }
        let returned = if is_return { Returned::Any } else { Returned::None };
        let mut readable = Readable { returned, ..Readable::nothing() };
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            // Of 0.25, with --unsafe.
            let reason = "an address of one boot; what stands there is told by probeidx addr";
            readable.registers = Registers::Any;
            return (vec![Finding::new(State::Undecided, name, reason)], readable);
        }
        let word = if is_return { "kretprobe:" } else { "kprobe:" };
        if has_wildcards(name) || module.is_some_and(has_wildcards) {
            readable.registers = if is_return { Registers::None } else { Registers::Any };
            return (self.expanded(point, probe, Each::Kprobe { is_return }), readable);
        }
        let module = module.map(str::as_bytes);
        let mut findings =
            self.attacher.kprobe(module, name.as_bytes(), point.offset.unwrap_or(0), is_return);
        for finding in &mut findings {
            self.spell(finding, word, name);
        }
        let fails = findings.iter().any(|found| found.severity == Severity::Error);
        let is_later = self.version.is_none_or(|version| version >= Version::LISTED_ALONE);
        if !fails && is_later && self.attacher.is_listed(module, name.as_bytes()) == Some(false) {
            let reason = format!(
                "bpftrace takes it with --unsafe alone, from {} on: ftrace does not list it",
                Version::LISTED_ALONE
            );
            findings.push(Finding::new(State::Loader, name, reason).severity(Severity::Warning));
        }
        if !is_return {
            let is_entry = point.offset.is_none_or(|offset| offset == 0);
            let count = is_entry.then(|| self.registers(module, name)).flatten();
            readable.registers =
                count.map_or(Registers::Any, |count| Registers::Count(name.to_owned(), count));
        }
        (findings, readable)
    }

    /// The functions that a pattern matches.
    fn expanded(&self, point: &Point, probe: &Probe, each: Each) -> Vec<Finding> {
        let Some((module, pattern)) = function(point) else { return vec![] };
        let of = |version| {
            let one_by_one = probe.asks_for_itself;
            self.attacher.expanded(&Expansion { module, pattern, each, one_by_one, version })
        };
        let mut findings = of(self.version);
        // It may hang on the version whether anything is left.
        let fails = |all: &[Finding]| all.iter().any(|found| found.severity == Severity::Error);
        if self.version.is_none() && !fails(&findings) {
            let since = [Version::WITHOUT_BAD, Version::ALL_ATTACH].into_iter().find_map(|version| {
                let of_later = of(Some(version));
                let first = of_later.into_iter().find(|found| found.severity == Severity::Error)?;
                self.refused_from(version, pattern, &first.reason)
            });
            findings.extend(since);
        }
        findings
    }

    /// What to write instead, as bpftrace spells it; for functions that are gone, an event of a similar name, too.
    fn spell(&self, finding: &mut Finding, word: &str, name: &str) {
        // Hints for reading are words, and names of symbols are none.
        for instead in finding.instead.iter_mut().filter(|instead| !instead.contains([' ', ':'])) {
            instead.insert_str(0, word);
        }
        if matches!(finding.state, State::Absent | State::Inlined | State::Renamed | State::NoSite) {
            finding.instead.extend(self.events_like(name));
        }
    }

    /// The events that are named like a function: `block_io_start` for `blk_account_io_start`.
    fn events_like(&self, name: &str) -> Vec<String> {
        const MOST: usize = 2;
        let plain = name.strip_prefix("trace_").unwrap_or(name);
        // The last two words, if others stand before them.
        let words: Vec<&str> = plain.split('_').filter(|word| !word.is_empty()).collect();
        let end = match &words[..] {
            [_, .., one, other] => Some(format!("_{one}_{other}")),
            _ => None,
        };
        let is_like = |event: &Tracepoint<'_>| {
            let of_event = event.name();
            of_event == plain.as_bytes() || end.as_ref().is_some_and(|end| of_event.ends_with(end.as_bytes()))
        };
        let found = tracepoint::all(self.view).filter(|event| event.has_event() && is_like(event));
        let found: Vec<String> = found
            .take(MOST + 1)
            .map(|event| {
                let (system, name) = (String::from_utf8_lossy(event.system()), event.name());
                format!("tracepoint:{system}:{}", String::from_utf8_lossy(name))
            })
            .collect();
        if found.len() > MOST { vec![] } else { found }
    }

    fn trampoline(&self, point: &Point, probe: &Probe) -> (Vec<Finding>, Readable<'a>) {
        let Some((module, name)) = function(point) else {
            return wrong(point, "fentry:[MODULE:]FUNCTION");
        };
        // A program of BPF, by id or name, is none of the kernel's functions.
        if module == Some("bpf") {
            let reason = "which BPF programs there are is not known";
            return (vec![Finding::new(State::Undecided, "", reason)], Readable::anything());
        }
        let is_return = point.kind == Kind::Fexit;
        let word = if is_return { "fexit:" } else { "fentry:" };
        let returned = if is_return { Returned::Any } else { Returned::None };
        let mut readable = Readable { returned, ..Readable::nothing() };
        if has_wildcards(name) || module.is_some_and(has_wildcards) {
            return (self.expanded(point, probe, Each::Trampoline), readable);
        }
        let module = module.map(str::as_bytes);
        let mut findings = self.attacher.trampoline(module, name.as_bytes(), Trampoline::Function);
        for finding in &mut findings {
            match finding.state {
                // Trampolines know no such names: a kprobe does.
                State::Renamed => {
                    let word = if is_return { "kretprobe:" } else { "kprobe:" };
                    for instead in &mut finding.instead {
                        *instead = instead.replace("kprobe/", word);
                    }
                }
                State::NoSite | State::Trampoline => {
                    let word = if is_return { "kretprobe:" } else { "kprobe:" };
                    let is_ok = self.attacher.kprobe(module, name.as_bytes(), 0, is_return);
                    let fails = is_ok.iter().any(|found| found.severity == Severity::Error);
                    finding.instead.extend((!fails).then(|| format!("{word}{name}")));
                }
                _ => self.spell(finding, word, name),
            }
        }
        if let [function, ..] = parameters::functions(self.view, module, name.as_bytes())[..] {
            let variables = self.view.variables(function);
            let result = variables.return_type;
            let parameters = variables.parameters();
            let parameters = parameters.map(|v| (self.view.string(v.name), v.type_id)).collect();
            readable.arguments = Arguments::Parameters(name.to_owned(), parameters);
            if is_return {
                readable.returned = Returned::Typed(name.to_owned(), result);
            }
        }
        (findings, readable)
    }

    fn events(&self, point: &Point) -> (Vec<Finding>, Readable<'a>) {
        let [category, event] = &point.parts[..] else {
            return wrong(point, "tracepoint:CATEGORY:EVENT");
        };
        let found = self.matching_events(category, event);
        let mut findings = vec![];
        if found.is_empty() {
            match self.attacher.event(category.as_bytes(), event.as_bytes()) {
                _ if has_wildcards(category) || has_wildcards(event) => {
                    findings.push(self.none_matches("no event matches"));
                }
                Err(finding) => findings.push(*finding),
                Ok((_, notes)) => findings.extend(notes),
            }
            // Its tracepoint has no event in tracefs.
            let raw = self.attacher.raw_tracepoint(event.as_bytes(), "ENOENT");
            if let Some(finding) = findings.first_mut().filter(|_| raw.is_ok()) {
                finding.reason = format!("{event} is a tracepoint without an event");
                finding.instead = vec![format!("rawtracepoint:{event}")];
            }
        }
        let is_of_module = |event: &&Tracepoint<'_>| event.module().is_some();
        if let Some(first) = found.iter().find(is_of_module)
            && found.iter().all(|event| event.module().is_some())
        {
            findings.push(Finding::in_module("", first.module().unwrap_or_default()));
        }
        let arguments = if found.is_empty() { Arguments::Any } else { Arguments::Events(found) };
        (findings, Readable { arguments, ..Readable::nothing() })
    }

    fn none_matches(&self, why: &str) -> Finding {
        match tracepoint::are_unknown(self.view) {
            true => Finding::new(
                State::Undecided,
                "",
                "the kernel's tracepoints are not in the index; build says why",
            ),
            false => Finding::new(State::Absent, "", why).errno("ENOENT"),
        }
    }

    /// The events that two patterns match.
    fn matching_events(&self, category: &str, event: &str) -> Vec<Tracepoint<'a>> {
        let pattern = |text: &str| match has_wildcards(text) {
            true => Pattern::new(text).unwrap_or_else(|_| Pattern::literal(text)),
            false => Pattern::literal(text),
        };
        let asked = TraceSpec {
            system: Some(pattern(category)),
            event: pattern(event),
            with_system_calls: true,
            by_number: None,
        };
        tracepoint::matching(self.view, &asked).filter(Tracepoint::has_event).collect()
    }

    fn raw_tracepoint(&self, point: &Point) -> (Vec<Finding>, Readable<'a>) {
        let (Some(event), true) = (point.parts.last(), point.parts.len() <= 2) else {
            return wrong(point, "rawtracepoint:EVENT");
        };
        let mut readable = Readable { registers: Registers::Any, ..Readable::nothing() };
        if let [module, _] = &point.parts[..]
            && !has_wildcards(module)
            && let Some(finding) = self.not_in(module, event)
        {
            return (vec![finding], readable);
        }
        if has_wildcards(event) {
            let is_there = !self.matching_events("*", event).is_empty();
            let missing = (!is_there).then(|| self.none_matches("no tracepoint matches"));
            return (missing.into_iter().collect(), readable);
        }
        match self.attacher.raw_tracepoint(event.as_bytes(), "ENOENT") {
            Ok((found, notes)) => {
                if found.prototype().is_some() {
                    let parameters: Vec<_> = found.parameters().collect();
                    readable.registers = Registers::Count(event.clone(), parameters.len());
                    let parameters = parameters.iter().map(|v| (self.view.string(v.name), v.type_id));
                    readable.arguments = Arguments::Parameters(event.clone(), parameters.collect());
                }
                (notes, readable)
            }
            Err(finding) => (vec![*finding], readable),
        }
    }

    /// Says that raw tracepoints are those of the kernel's BTF, if it has none.
    fn raw_without_btf(&self, point: &Point) -> Option<Finding> {
        if self.types.has_btf {
            return None;
        }
        let event = point.parts.last().map_or("", String::as_str);
        let why = "raw tracepoints are those of the kernel's BTF, and it has none";
        let refused = self.refused_from(Version::RAW_TRACEPOINTS_BY_BTF, event, why)?;
        Some(refused.instead(self.events_like(event)))
    }

    /// Says that the tracepoint of an event is not in a module.
    fn not_in(&self, module: &str, event: &str) -> Option<Finding> {
        let named = |found: &Tracepoint<'_>| has_wildcards(event) || found.name() == event.as_bytes();
        let mut found = tracepoint::all(self.view).filter(named);
        let of_module = |found: Tracepoint<'_>| match found.module() {
            Some(own) => own == module.as_bytes(),
            None => module == "vmlinux",
        };
        (!tracepoint::are_unknown(self.view) && !found.any(of_module)).then(|| {
            let reason = format!("no tracepoint {event} is in {module}");
            Finding::new(State::Absent, "", reason).errno("ENOENT")
        })
    }

    /// How many registers hold arguments of a function; `None` if that is not known.
    fn registers(&self, module: Option<&[u8]>, name: &str) -> Option<usize> {
        // The parameters of clones may have moved.
        if name.contains('.') {
            return None;
        }
        let counts = parameters::functions(self.view, module, name.as_bytes()).into_iter().map(|function| {
            let is_open = function.has(FunctionRecord::VARIADIC);
            let slots = || {
                let parameters = self.view.variables(function).parameters();
                parameters.map(|v| v.type_id.map_or(1, |id| slots(self.view, id))).sum::<usize>()
            };
            (!is_open).then(slots)
        });
        counts.collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

/// The registers that an argument of a type takes: none if it is passed on the stack (System V ABI, and AAPCS64 as far as
/// it matters).
fn slots(view: &View<'_>, id: TypeId) -> usize {
    let is_aggregate = lookup::strip(view, id)
        .and_then(|stripped| lookup::kind(view, stripped))
        .is_some_and(TypeKind::is_aggregate);
    match lookup::size_of(view, id) {
        Some(size) if is_aggregate && size <= 16 => size.div_ceil(8) as usize,
        Some(_) if is_aggregate => 0,
        _ => 1,
    }
}

/// The module and the function of an attach point.
fn function(point: &Point) -> Option<(Option<&str>, &str)> {
    match &point.parts[..] {
        [name] if !name.is_empty() => Some((None, name)),
        [module, name] if !name.is_empty() && !module.is_empty() => Some((Some(module), name)),
        // `fentry:bpf:ID:NAME`
        [module, _, name] if module == "bpf" => Some((Some(module), name)),
        _ => None,
    }
}

pub(super) fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn wrong<'a>(point: &Point, expected: &str) -> (Vec<Finding>, Readable<'a>) {
    let reason = format!("bpftrace refuses it: expected {expected}");
    (vec![Finding::new(State::Loader, &point.text, reason)], Readable::anything())
}
