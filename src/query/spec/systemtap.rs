//! Interprets the components of a point in SystemTap's spelling.
//!
//! The allowed suffixes are those of SystemTap's table (`register_function_variants`): `.call`, `.inline`, `.exported`
//! and `.return` do not combine.
use super::components::{self, Argument, Chain, Component};
use super::lines::declared;
use super::{
    AddressKind, AddressSpec, Callee, Filter, FunctionSpec, ModuleScope, Point, Presence, Source, Spec,
    Spelled, StatementSpec, TraceSpec,
};
use crate::error::{Error, Result};
use crate::pattern::find_outside;
use crate::tapset::ast as tapset;
use std::borrow::Cow;

/// The points of a list, in the order written.
pub(super) fn parse(source: Source<'_>, text: &str) -> Result<Vec<Spec>> {
    components::read(source, text)?.iter().map(|chain| meaning(source, chain)).collect()
}

/// Interprets a point of a tapset or script that names code of the kernel or of a program.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::error::ErrorKind::Usage), with what was expected.
pub fn of_components(components: &[tapset::Component]) -> Result<Spec> {
    fn component(c: &tapset::Component) -> Component<'_> {
        let argument = c.argument.as_ref().map(|argument| match argument {
            tapset::Literal::String(text) => Argument::Text(Cow::Borrowed(text), 0),
            tapset::Literal::Number(number) => Argument::Number(*number as u64),
        });
        Component { name: &c.name, at: 0, end: 0, argument }
    }
    let chain =
        Chain { components: components.iter().map(component).collect(), presence: Presence::Required };
    meaning(Source { whole: "", base: 0 }, &chain).map_err(|error| {
        // The caller has the position in the file; a column is meaningless here.
        let message = error.message().trim_start_matches("column 1: ");
        let plain = Error::new(error.kind(), message);
        error.remedy().map_or(plain.clone(), |remedy| plain.hint(remedy))
    })
}

fn meaning(source: Source<'_>, chain: &Chain<'_>) -> Result<Spec> {
    let spec = |point| Ok(Spec { point, presence: chain.presence, spelled: Spelled::Systemtap });
    let (head, rest) = chain.components.split_first().expect("a point has a component");
    let module = match (head.name, &head.argument) {
        ("kernel", None) => ModuleScope::Kernel,
        ("module", Some(Argument::Text(name, at))) if !name.is_empty() => source.from(*at).module(name)?,
        ("process", Some(Argument::Text(path, at))) if names_code(rest) => {
            ModuleScope::Process(source.from(*at).pattern(path)?)
        }
        ("kernel", Some(_)) => return Err(source.expected(head.at, "kernel without an argument")),
        ("module", _) => return Err(source.expected(head.at, "module(\"NAME\")")),
        _ => return spec(Point::Alias(chain.components.iter().map(wanted).collect())),
    };
    let kinds = "function(\"…\"), statement(\"…\"), trace(\"…\") or tracepoint(\"…\")";
    let Some((kind, suffixes)) = rest.split_first() else {
        return Err(source.expected(head.end, format_args!("`.` and {kinds}")));
    };
    if kind.name == "library" {
        let wrong = source.expected(kind.at, "function(\"…\") or statement(\"…\")");
        let hint = "a probe of a library reaches all that load it: process(\"LIBRARY\").function(\"…\")";
        return Err(wrong.hint(hint));
    }
    let Some(argument) = &kind.argument else {
        let known = matches!(kind.name, "function" | "statement" | "trace" | "tracepoint");
        return Err(if known {
            source.expected(kind.end, "(\"PATTERN\")")
        } else {
            source.expected(kind.at, kinds)
        });
    };
    let mut suffixes = Suffixes { source, rest: suffixes };
    let point = match (kind.name, argument) {
        ("function", Argument::Text(name, at)) => {
            let mut asked = FunctionSpec::new(module, declared(source.from(*at), name)?);
            suffixes.of_function(&mut asked)?;
            Point::Function(asked)
        }
        ("function", &Argument::Number(address)) => {
            let filter = suffixes.of_address()?;
            Point::Address(AddressSpec { module, address, kind: AddressKind::Function, filter })
        }
        ("statement", Argument::Text(name, at)) => {
            let at = declared(source.from(*at), name)?;
            let (function, file, lines) = (Some(at.name), at.file, at.lines);
            let nearest = suffixes.take("nearest")?;
            Point::Statement(StatementSpec { module, function, file, lines, nearest })
        }
        ("statement", &Argument::Number(address)) => {
            let kind = if module == ModuleScope::Kernel && suffixes.take("absolute")? {
                AddressKind::Raw
            } else {
                AddressKind::Statement { nearest: suffixes.take("nearest")? }
            };
            Point::Address(AddressSpec { module, address, kind, filter: Filter::Any })
        }
        ("trace", Argument::Text(name, at)) if module == ModuleScope::Kernel => {
            Point::Trace(trace(source.from(*at), name)?)
        }
        ("tracepoint", Argument::Text(name, at)) => {
            if find_outside(name, 0, |b| b == b':').is_some() {
                return Err(source.expected(*at, "the name of a tracepoint without a system"));
            }
            Point::Trace(TraceSpec { by_number: Some(module), ..trace(source.from(*at), name)? })
        }
        ("tracepoint", _) => return Err(source.expected(kind.at, "tracepoint(\"NAME\")")),
        ("trace", Argument::Text(..)) => {
            let wrong = source.expected(head.at, "kernel before .trace");
            return Err(wrong.hint("tracepoints of modules are kernel.trace(\"…\") too"));
        }
        ("trace", _) => return Err(source.expected(kind.at, "trace(\"NAME\")")),
        _ => return Err(source.expected(kind.at, kinds)),
    };
    match suffixes.rest.first() {
        None => spec(point),
        Some(extra) => Err(source.wrong(extra.at, format_args!(".{} cannot follow", extra.name))),
    }
}

/// Whether the rest of `process("PATH")` names functions or lines: it may also be a marker or a system call.
fn names_code(rest: &[Component<'_>]) -> bool {
    rest.first().is_none_or(|kind| matches!(kind.name, "function" | "statement" | "library"))
}

/// The components after the kind of a point, from left to right.
struct Suffixes<'a, 'b> {
    source: Source<'a>,
    rest: &'b [Component<'a>],
}

impl Suffixes<'_, '_> {
    /// Consumes the next suffix if it has this name.
    fn take(&mut self, name: &str) -> Result<bool> {
        let Some(next) = self.rest.first().filter(|next| next.name == name) else { return Ok(false) };
        if next.argument.is_some() {
            return Err(self.source.expected(next.at, format_args!(".{name} without an argument")));
        }
        self.rest = &self.rest[1..];
        Ok(true)
    }

    fn of_address(&mut self) -> Result<Filter> {
        for (name, filter) in
            [("call", Filter::Call), ("exported", Filter::Exported), ("return", Filter::Return)]
        {
            if self.take(name)? {
                return Ok(filter);
            }
        }
        Ok(Filter::Any)
    }

    fn of_function(&mut self, asked: &mut FunctionSpec) -> Result<()> {
        let source = self.source;
        asked.filter = if self.take("inline")? { Filter::Inline } else { self.of_address()? };
        let Some(next) = self.rest.first() else { return Ok(()) };
        match (next.name, &next.argument) {
            ("maxactive", Some(Argument::Number(most))) if asked.filter == Filter::Return => {
                asked.maxactive = Some(*most);
            }
            ("maxactive", _) if asked.filter == Filter::Return => {
                return Err(source.expected(next.at, "maxactive(NUMBER)"));
            }
            ("maxactive", _) => return Err(source.expected(next.at, ".return before .maxactive")),
            _ if asked.filter != Filter::Any => return Ok(()),
            ("label", Some(Argument::Text(name, at))) => {
                asked.label = Some(source.from(*at).pattern(name)?);
            }
            ("callee", Some(Argument::Text(name, at))) => {
                asked.callee = Some(Callee::Named(declared(source.from(*at), name)?));
            }
            ("callees", None) => asked.callee = Some(Callee::Every { depth: 1 }),
            ("callees", Some(Argument::Number(depth))) => {
                asked.callee = Some(Callee::Every { depth: u32::try_from(*depth).unwrap_or(u32::MAX) });
            }
            ("label" | "callee", _) => {
                return Err(source.expected(next.at, format_args!("{}(\"NAME\")", next.name)));
            }
            ("callees", _) => return Err(source.expected(next.at, "callees or callees(NUMBER)")),
            _ => {
                let known = "call, inline, return, exported, callee, callees or label";
                return Err(source.expected(next.at, known));
            }
        }
        self.rest = &self.rest[1..];
        if matches!(asked.callee, Some(Callee::Named(_))) {
            if self.take("return")? {
                asked.filter = Filter::Return;
            } else if self.take("call")? {
                asked.filter = Filter::Call;
            }
        }
        Ok(())
    }
}

pub(super) fn trace(source: Source<'_>, text: &str) -> Result<TraceSpec> {
    let colon = find_outside(text, 0, |b| b == b':');
    let (system, start) = match colon {
        Some(0) => return Err(source.expected(0, "the system before `:`")),
        Some(at) => (Some(source.pattern(&text[..at])?), at + 1),
        None => (None, 0),
    };
    if start == text.len() {
        return Err(source.expected(start, "the name of a tracepoint"));
    }
    let event = source.from(start).pattern(&text[start..])?;
    Ok(TraceSpec { system, event, with_system_calls: false, by_number: None })
}

/// Converts a component for the tapsets.
fn wanted(component: &Component<'_>) -> tapset::Component {
    let argument = component.argument.as_ref().map(|argument| match argument {
        Argument::Text(text, _) => tapset::Literal::String(text.clone().into_owned()),
        Argument::Number(number) => tapset::Literal::Number(*number as i64),
    });
    tapset::Component { name: component.name.to_owned(), argument, place: Default::default() }
}

#[cfg(test)]
mod tests {
    use super::super::{Declared, Lines, Presence, parse};
    use super::*;
    use crate::pattern::Pattern;

    fn points(text: &str) -> Vec<Point> {
        parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).into_iter().map(|spec| spec.point).collect()
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap()
    }

    fn dotted(components: &[tapset::Component]) -> String {
        components.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
    }

    fn function(text: &str) -> FunctionSpec {
        match points(text).remove(0) {
            Point::Function(function) => function,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn functions_and_their_suffixes() {
        let f = function("kernel.function(\"vfs_*@fs/read_write.c:450\")");
        let lines = Some(Lines::Absolute(vec![450..=450]));
        let declared = Declared { name: pattern("vfs_*"), file: Some(pattern("fs/read_write.c")), lines };
        assert_eq!((f.module, f.declared, f.filter), (ModuleScope::Kernel, declared, Filter::Any));
        for (suffix, filter) in
            [("call", Filter::Call), ("inline", Filter::Inline), ("exported", Filter::Exported)]
        {
            assert_eq!(function(&format!("kernel.function(\"f\").{suffix}")).filter, filter);
        }
        let f = function("module(\"kvm-amd\") . function( \"f\" ).return.maxactive(20)");
        assert_eq!(f.module, ModuleScope::Module(pattern("kvm_amd")));
        assert_eq!((f.filter, f.maxactive), (Filter::Return, Some(20)));
        assert_eq!(function("kernel.function(\"f\").label(\"out*\")").label, Some(pattern("out*")));
    }

    #[test]
    fn callees() {
        let callee = |suffix: &str| function(&format!("kernel.function(\"f\").{suffix}"));
        let named = callee("callee(\"g@fs/x.c\").return");
        let declared = Declared { name: pattern("g"), file: Some(pattern("fs/x.c")), lines: None };
        assert_eq!((named.callee, named.filter), (Some(Callee::Named(declared)), Filter::Return));
        assert_eq!(callee("callees").callee, Some(Callee::Every { depth: 1 }));
        assert_eq!(callee("callees(3)").callee, Some(Callee::Every { depth: 3 }));
    }

    #[test]
    fn statements_addresses_and_tracepoints() {
        let Point::Statement(s) = points("kernel.statement(\"f@x.c:1-3,9\").nearest").remove(0) else {
            panic!()
        };
        assert_eq!((s.lines, s.nearest), (Some(Lines::Absolute(vec![1..=3, 9..=9])), true));
        let Point::Statement(s) = points("kernel.statement(\"f\")").remove(0) else { panic!() };
        assert_eq!((s.function, s.lines), (Some(pattern("f")), None));
        let address = |text: &str| match points(text).remove(0) {
            Point::Address(at) => (at.address, at.kind, at.filter),
            other => panic!("{other:?}"),
        };
        let statement = AddressKind::Statement { nearest: false };
        assert_eq!(address("kernel.statement(0x1F)"), (31, statement, Filter::Any));
        assert_eq!(address("kernel.statement(31).absolute"), (31, AddressKind::Raw, Filter::Any));
        assert_eq!(address("kernel.function(0x1f).return"), (31, AddressKind::Function, Filter::Return));
        let trace = |text: &str| match points(text).remove(0) {
            Point::Trace(trace) => (trace.system, trace.event),
            other => panic!("{other:?}"),
        };
        assert_eq!(trace("kernel.trace(\"sched_*\")"), (None, pattern("sched_*")));
        assert_eq!(trace("kernel.trace(\"sched:x\")"), (Some(pattern("sched")), pattern("x")));
    }

    #[test]
    fn braces_are_multiplied_out_in_order() {
        let names = |text: &str| -> Vec<String> {
            let name = |point: &Point| match point {
                Point::Function(f) => format!("{:?} {} {:?}", f.module, f.declared.name, f.filter),
                Point::Alias(components) => dotted(components),
                other => panic!("{other:?}"),
            };
            points(text).iter().map(name).collect()
        };
        assert_eq!(names("kernel.{function(\"a\"),function(\"b\").call}"), ["Kernel a Any", "Kernel b Call"]);
        assert_eq!(names("{a.{x,y},b}.{c,d}"), ["a.x.c", "a.x.d", "a.y.c", "a.y.d", "b.c", "b.d"]);
        assert_eq!(names("vm.brk, kernel.function(\"f\")"), ["vm.brk", "Kernel f Any"]);
    }

    #[test]
    fn marks_of_presence() {
        let presence =
            |text: &str| -> Vec<Presence> { parse(text).unwrap().iter().map(|s| s.presence).collect() };
        assert_eq!(presence("vm.brk"), [Presence::Required]);
        assert_eq!(presence("kernel.function(\"f\") ?"), [Presence::Optional]);
        assert_eq!(presence("vm.{brk, munmap ?}"), [Presence::Required, Presence::Optional]);
        assert_eq!(presence("vm.{brk, munmap}!"), [Presence::Sufficient, Presence::Sufficient]);
    }

    #[test]
    fn aliases_keep_wildcards_and_arguments() {
        for text in ["vm.*", "syscall.open.return", "timer.ms(100)", "process(\"a\").mark(\"b\")"] {
            let [Point::Alias(components)] = &points(text)[..] else { panic!("{text}") };
            assert_eq!(dotted(components), text);
        }
    }

    #[test]
    fn a_quote_in_a_string_is_escaped() {
        assert!(function("kernel.function(\"f\\\"\\*\")").declared.name.matches(b"f\"*"));
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        for (text, message) in [
            ("kernel.function(\"vfs", "column 21: expected a closing quote"),
            ("kernel.function(\"vfs\\", "column 22: expected a closing quote"),
            ("kernel.function(vfs_read)", "column 17: expected a string in double quotes, or a number"),
            ("kernel.function(\"f\"", "column 20: expected `)`"),
            ("kernel.function(\"\")", "column 18: expected a function name"),
            ("kernel.function", "column 16: expected (\"PATTERN\")"),
            ("kernel.", "column 8: expected a component such as function(\"…\")"),
            (
                "kernel.func(\"f\")",
                "column 8: expected function(\"…\"), statement(\"…\"), trace(\"…\") or tracepoint(\"…\")",
            ),
            ("module.function(\"f\")", "column 1: expected module(\"NAME\")"),
            ("module(\"m\").trace(\"x\")", "column 1: expected kernel before .trace"),
            ("kernel.trace(\"x:\")", "column 17: expected the name of a tracepoint"),
            ("kernel.function(\"f\").call.return", "column 27: .return cannot follow"),
            ("kernel.function(\"f\").maxactive(2)", "column 22: expected .return before .maxactive"),
            (
                "kernel.function(\"f\").calls",
                "column 22: expected call, inline, return, exported, callee, callees or label",
            ),
            ("kernel.function(\"f@x:y\")", "column 22: expected a line number"),
            (
                "kernel.function(0x11112222333344445)",
                "column 17: expected a decimal number, or 0x and a hexadecimal one, of at most 64 bits",
            ),
            ("kernel.function(\"f\") if (x)", "column 22: expected `.`, `?`, `!` or the end"),
            ("{a,b", "column 5: expected `,` or `}`"),
            ("{a?,b}.c", "column 7: expected the end of the point after the `?` or `!` in braces"),
        ] {
            assert_eq!(parse(text).unwrap_err().message(), message, "{text}");
        }
        let braces = "{a,b}.".repeat(40) + "c";
        assert!(parse(&braces).unwrap_err().message().contains("at most 1024 points"));
        assert!(parse(&"{".repeat(100_000)).unwrap_err().message().contains("fewer braces"));
    }
}
