//! What a handler reads: arguments of the event, members of types, symbols.
use super::Judged;
use super::points::{Arguments, Readable, Registers, Returned, has_wildcards};
use super::registers;
use super::values::{Found, Value};
use crate::bpftrace::ast::{Expression, Kind, Point, Probe, TypeName};
use crate::bpftrace::{Place, Version};
use crate::nearest;
use crate::query::check::bpf::helper_scope;
use crate::query::check::outcome::{Finding, State};
use crate::query::check::suggestions;
use crate::query::index::functions;
use crate::query::resolve::tracepoint::Tracepoint;
use crate::query::types::lookup;
use probeidx_format::record::FunctionRecord;
use std::collections::{HashMap, HashSet};

/// The findings in the predicate and the statements of a probe, at one of its attach points.
pub(super) fn read<'a>(
    judged: &Judged<'a, '_>,
    point: &Point,
    probe: &Probe,
    readable: &Readable<'a>,
) -> Vec<Finding> {
    let mut reader = Reader {
        judged,
        point,
        readable,
        variables: HashMap::new(),
        maps: HashMap::new(),
        findings: vec![],
        known: HashSet::new(),
    };
    for expression in &probe.body {
        reader.read(expression);
    }
    reader.findings
}

struct Reader<'r, 'a, 's> {
    judged: &'r Judged<'a, 's>,
    point: &'r Point,
    readable: &'r Readable<'a>,
    /// The types of `$x` and `@x`, as they were assigned last.
    variables: HashMap<&'r str, Value<'s>>,
    maps: HashMap<&'r str, Value<'s>>,
    findings: Vec<Finding>,
    /// What was found already: a member that is read twice is one finding.
    known: HashSet<(State, String)>,
}

impl<'r, 's> Reader<'r, '_, 's> {
    /// Reads an expression, and returns its type if that is known.
    fn read(&mut self, expression: &'r Expression) -> Option<Value<'s>> {
        let types = &self.judged.types;
        match expression {
            Expression::Name(place, name) => self.name(*place, name),
            Expression::Variable(name) => self.variables.get(name.as_str()).copied(),
            Expression::Map(name, keys) => {
                keys.iter().for_each(|key| self.only_read(key));
                self.maps.get(name.as_str()).copied()
            }
            Expression::Call(place, name, arguments) => self.call(*place, name, arguments),
            Expression::Cast(place, to, of) => {
                self.read(of);
                self.named(*place, to)
            }
            Expression::Member(of, place, name) => match &**of {
                Expression::Name(_, args) if args == "args" => self.argument(*place, name),
                of => {
                    let value = self.read(of)?;
                    self.member(*place, value, name)
                }
            },
            Expression::Index(of, index) => {
                self.read(index);
                let value = self.read(of)?;
                types.target(value)
            }
            Expression::Dereference(of) => {
                let value = self.read(of)?;
                types.target(value)
            }
            Expression::Address(of) => self.read(of).map(|value| types.address(value)),
            Expression::OfType(place, of, members) => {
                let mut value = self.named(*place, of);
                for (place, member) in members {
                    value = value.and_then(|value| self.member(*place, value, member));
                }
                None
            }
            Expression::Operation(operands, operators) => {
                let read: Vec<_> = operands.iter().map(|operand| self.read(operand)).collect();
                match operators.first().copied() {
                    Some("?") => read.into_iter().skip(1).flatten().next(),
                    // Only what is added to keeps its type.
                    Some("+" | "-") if operators.iter().all(|sign| matches!(*sign, "+" | "-" | "*")) => {
                        read.first().copied().flatten()
                    }
                    _ => None,
                }
            }
            Expression::Assign(to, value) => {
                let value = self.read(value);
                match &**to {
                    Expression::Variable(name) => assign(&mut self.variables, name, value),
                    Expression::Map(name, keys) => {
                        keys.iter().for_each(|key| self.only_read(key));
                        assign(&mut self.maps, name, value);
                    }
                    other => self.only_read(other),
                }
                value
            }
            Expression::Text(_) | Expression::Other => None,
        }
    }

    /// Reads what has no type that matters.
    fn only_read(&mut self, expression: &'r Expression) {
        self.read(expression);
    }

    fn name(&mut self, place: Place, name: &str) -> Option<Value<'s>> {
        let types = &self.judged.types;
        let readable = self.readable;
        let number = name.strip_prefix("arg").and_then(|digits| digits.parse::<usize>().ok());
        if let Some(number) = number {
            match &readable.registers {
                Registers::None => {
                    let reason = format!("bpftrace refuses {name}: such probes have none");
                    self.found(place, State::Loader, name, reason, vec![]);
                }
                Registers::Count(function, count) if number >= *count => {
                    let reason = format!("{function} has {count} arguments in registers");
                    self.found(place, State::Argument, name, reason, vec![]);
                }
                _ => {}
            }
            return None;
        }
        match name {
            "curtask" => lookup::find(self.judged.view, "struct task_struct")
                .first()
                .map(|id| types.address(types.of(*id))),
            "ctx" => readable.context.map(|id| types.address(types.of(id))),
            "retval" => match &readable.returned {
                Returned::None => {
                    let reason = "bpftrace refuses retval: such probes have none".to_owned();
                    self.found(place, State::Loader, name, reason, vec![]);
                    None
                }
                Returned::Typed(function, None) => {
                    self.found(place, State::Argument, name, format!("{function} returns nothing"), vec![]);
                    None
                }
                Returned::Typed(_, id) => id.map(|id| types.of(id)),
                Returned::Any => None,
            },
            _ => None,
        }
    }

    fn call(&mut self, place: Place, name: &str, arguments: &'r [Expression]) -> Option<Value<'s>> {
        let read: Vec<_> = arguments.iter().map(|argument| self.read(argument)).collect();
        match (name, arguments) {
            ("kaddr", [Expression::Text(symbol)]) => {
                let view = self.judged.view;
                let is_kept = |name| {
                    let mut symbols = view.symbols_named(name).iter();
                    symbols.any(|id| functions::is_kept(view, id))
                };
                if !view.name(symbol.as_bytes()).is_some_and(is_kept) {
                    let reason = format!("the kernel has no symbol {symbol}");
                    let near = suggestions::close_to(view, symbol);
                    self.found(place, State::Absent, symbol, reason, near);
                }
                None
            }
            ("reg", [Expression::Text(register)]) => {
                if registers::has(self.judged.view.machine(), register) == Some(false) {
                    let reason = format!("the machine has no register {register}");
                    self.found(place, State::Loader, register, reason, vec![]);
                }
                None
            }
            ("path", [_, ..]) => {
                self.path(place);
                None
            }
            ("override", [_]) => {
                self.overrides(place);
                None
            }
            ("kptr" | "uptr", _) => read.first().copied().flatten(),
            _ => None,
        }
    }

    /// `path(x)`: the kernel has a list of functions that may ask for one.
    fn path(&mut self, place: Place) {
        let function = self.point.parts.last().filter(|name| !has_wildcards(name));
        if let (Kind::Fentry | Kind::Fexit, Some(name)) = (self.point.kind, function)
            && !helper_scope::WITH_PATHS.contains(&name.as_bytes())
        {
            let reason = format!("the kernel gives no paths in programs of {name} (bpf_d_path)");
            let may = helper_scope::WITH_PATHS.map(|name| String::from_utf8_lossy(name).into_owned());
            self.found(place, State::Helper, "path", reason, vec![format!("it does in {}", may.join(", "))]);
        }
    }

    /// `override(x)`: of functions that may be made to fail, where the kernel lets kprobes do so.
    fn overrides(&mut self, place: Place) {
        let view = self.judged.view;
        let function = self.point.parts.last().filter(|name| !has_wildcards(name));
        let (Kind::Kprobe, Some(name)) = (self.point.kind, function) else { return };
        let has_options = view.option(b"FTRACE").is_some();
        if has_options && view.option(b"BPF_KPROBE_OVERRIDE").is_none() {
            let reason = "the kernel has no bpf_override_return (CONFIG_BPF_KPROBE_OVERRIDE)".to_owned();
            self.found(place, State::Helper, "override", reason, vec![]);
        } else if !self.judged.attacher.has_flag(name.as_bytes(), FunctionRecord::MAY_FAIL) {
            let reason = format!("{name} may not be made to fail (ALLOW_ERROR_INJECTION)");
            self.found(place, State::Trampoline, "override", reason, vec![]);
        }
    }

    /// The type of a cast.
    fn named(&mut self, place: Place, name: &TypeName) -> Option<Value<'s>> {
        match self.judged.types.named(name) {
            Found::Value(value) => Some(value),
            Found::Plain => None,
            Found::Missing => {
                let (plain, view) = (&name.name, self.judged.view);
                let (state, end) = match () {
                    // A header that the script includes may have it.
                    () if self.judged.types.has_includes => {
                        (State::Undecided, "; the headers that are included may")
                    }
                    () if self.readable.is_user => {
                        (State::Unindexed, "; the debug information of the program may")
                    }
                    () => (State::Field, ""),
                };
                let near =
                    nearest::nearest(lookup::split(plain).1, lookup::names(view, lookup::split(plain).0), 3);
                self.found(place, state, plain, format!("the kernel has no type {plain}{end}"), near);
                None
            }
        }
    }

    fn member(&mut self, place: Place, value: Value<'s>, name: &str) -> Option<Value<'s>> {
        match self.judged.types.member(value, name) {
            Ok(member) => member,
            Err(missing) => {
                self.found(place, State::Field, name, missing.reason, missing.instead);
                None
            }
        }
    }

    /// `args.x`
    fn argument(&mut self, place: Place, name: &str) -> Option<Value<'s>> {
        match &self.readable.arguments {
            Arguments::Any => None,
            Arguments::Parameters(function, parameters) => {
                let found = parameters.iter().find(|(known, _)| *known == name.as_bytes());
                if let Some((_, id)) = found {
                    return id.map(|id| self.judged.types.of(id));
                }
                // Of short names, any is near.
                let names = parameters.iter().map(|(name, _)| *name).filter(|name| name.len() > 2);
                let near = nearest::nearest(name, names, 3);
                let has: Vec<_> = parameters.iter().map(|(name, _)| String::from_utf8_lossy(name)).collect();
                let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
                let reason = format!("{function} has no parameter {name}; it has {has}");
                let near = near.into_iter().map(|near| format!("args.{near}")).collect();
                self.found(place, State::Argument, name, reason, near);
                None
            }
            Arguments::Events(events) => {
                self.field(place, events, name);
                None
            }
        }
    }

    /// A field of events: each of them has to have it.
    fn field(&mut self, place: Place, events: &[Tracepoint<'_>], name: &str) {
        if name.starts_with("common_") {
            let reason = format!("bpftrace refuses {name}: BPF programs do not see the common fields");
            let instead = match name {
                "common_pid" => vec!["tid".to_owned()],
                _ => vec![],
            };
            self.found(place, State::Loader, name, reason, instead);
            return;
        }
        if !self.judged.types.has_btf {
            let why = "fields of events are read by the kernel's BTF, and it has none";
            let refused = self.judged.refused_from(Version::FIELDS_BY_BTF, "args", why);
            // Once for all of them.
            if let Some(finding) = refused.filter(|_| self.known.insert((State::Loader, "args".to_owned()))) {
                self.findings.push(finding.at(place.line, place.column));
            }
        }
        let view = self.judged.view;
        let spelled = |event: &Tracepoint<'_>| {
            [event.system(), event.name()].map(|part| String::from_utf8_lossy(part).into_owned()).join(":")
        };
        let (mut without, mut unknown) = (vec![], vec![]);
        for event in events {
            match event.fields() {
                None => unknown.push(event),
                Some(fields) => {
                    let has = fields.iter().any(|field| view.string(field.name) == name.as_bytes());
                    let may_have = event.is_extended() && name.starts_with("__");
                    if !has && !may_have {
                        without.push((event, fields));
                    }
                }
            }
        }
        if let Some((first, fields)) = without.first() {
            let more = match without.len() - 1 {
                0 => String::new(),
                more => format!(", nor have {more} others"),
            };
            let names: Vec<&[u8]> = fields.iter().map(|field| view.string(field.name)).collect();
            let near = nearest::nearest(name, names.iter().copied(), 3);
            let mut instead: Vec<String> = near.into_iter().map(|near| format!("args.{near}")).collect();
            if instead.is_empty() {
                let has = |names: &[&[u8]]| {
                    let names = names.iter().map(|name| String::from_utf8_lossy(name).into_owned());
                    names.collect::<Vec<_>>().join(", ")
                };
                instead.push(format!("it has {}", has(&names)));
            }
            let reason = format!("{} has no field {name}{more}", spelled(first));
            self.found(place, State::EventField, name, reason, instead);
        } else if let Some(first) = unknown.first() {
            let reason = format!("not all fields of {} are known", spelled(first));
            self.found(place, State::Undecided, name, reason, vec![]);
        }
    }

    fn found(&mut self, place: Place, state: State, what: &str, reason: String, instead: Vec<String>) {
        if self.known.insert((state, format!("{what} {reason}"))) {
            let finding = Finding::new(state, self.judged.line(place.line), reason);
            self.findings.push(finding.at(place.line, place.column).instead(instead));
        }
    }
}

/// Keeps the type of a variable.
fn assign<'r, 's>(types: &mut HashMap<&'r str, Value<'s>>, name: &'r str, value: Option<Value<'s>>) {
    match value {
        Some(value) => drop(types.insert(name, value)),
        None => drop(types.remove(name)),
    }
}
