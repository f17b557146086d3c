//! The grammar of probe points: turns what a user writes into a [`Spec`].
//!
//! There are two spellings. The bare one is for typing (`vfs_read`, `vfs_*@fs/read_write.c`, `ext4:ext4_open`,
//! `fs/open.c:1243`) and includes those of other tools (`foreign`). The other is SystemTap's
//! (`kernel.function("vfs_*").call`), which follows `parse_function_spec` and `register_function_variants` in its
//! `tapsets.cxx`. Nothing here uses an index: unknown names parse as well.
pub mod address;
pub mod argument;
mod bare;
mod components;
pub mod expression;
mod foreign;
mod lines;
pub mod member_path;
mod systemtap;

pub use foreign::{Attach, attach};
pub use lines::{Declared, Lines};
pub use systemtap::of_components;

use crate::error::{Error, ErrorKind, Result};
use crate::pattern::Pattern;
use crate::tapset::ast::Component;

/// Parses an argument of the command line, or a line of a list of specs.
///
/// Braces and commas give several specs, in the order written; the result is never empty. An exact bare name takes one
/// pass over its bytes.
///
/// # Errors
/// [`ErrorKind::Usage`], with the column (counted in characters, from 1) and what was expected there.
pub fn parse(text: &str) -> Result<Vec<Spec>> {
    if is_identifier(text.as_bytes()) {
        return Ok(vec![bare::function(ModuleScope::Any, Pattern::literal(text))]);
    }
    let trimmed = text.trim();
    let source = Source { whole: text, base: text.len() - text.trim_start().len() };
    if trimmed.is_empty() {
        return Err(source.expected(0, "a function name or a probe point").hint("for example: vfs_read"));
    }
    match spelling(trimmed) {
        Spelled::Bare => {
            let foreign = foreign::parse(source, trimmed);
            Ok(vec![foreign.unwrap_or_else(|| bare::parse(source, trimmed))?])
        }
        Spelled::Systemtap => systemtap::parse(source, trimmed),
    }
}

/// A requested probe point.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The place.
    pub point: Point,
    /// What it means if nothing matches.
    pub presence: Presence,
    /// The spelling it was written in, which is also used for answers.
    pub spelled: Spelled,
}

impl Spec {
    /// Parses a text in either spelling, or in that of another tool: see [`parse`].
    ///
    /// ```
    /// let specs = probeidx::Spec::parse(r#"kernel.{function("vfs_read"), trace("sched_switch")}"#)?;
    /// assert_eq!(specs.len(), 2);
    /// # Ok::<(), probeidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the column and what was expected there.
    pub fn parse(text: &str) -> Result<Vec<Self>> {
        parse(text)
    }
}

/// The kinds of places a spec can name.
#[derive(Clone, Debug, PartialEq)]
pub enum Point {
    /// Functions by name: entries and inline instances.
    Function(FunctionSpec),
    /// Source lines.
    Statement(StatementSpec),
    /// One address.
    Address(AddressSpec),
    /// Tracepoints.
    Trace(TraceSpec),
    /// A tapset alias, with wildcards, such as `vm.*` or `syscall.open.return`: any dotted name that does not start
    /// with `kernel`, `module` or `process("…").function`.
    Alias(Vec<Component>),
}

impl Point {
    /// The objects it covers; `None` for what belongs to no object.
    pub fn scope(&self) -> Option<&ModuleScope> {
        match self {
            Self::Function(function) => Some(&function.module),
            Self::Statement(statement) => Some(&statement.module),
            Self::Address(address) => Some(&address.module),
            Self::Trace(_) | Self::Alias(_) => None,
        }
    }
    /// The kind of places it selects.
    pub fn filter(&self) -> Filter {
        match self {
            Self::Function(function) => function.filter,
            Self::Address(address) => address.filter,
            Self::Statement(_) | Self::Trace(_) | Self::Alias(_) => Filter::Any,
        }
    }
}

/// `kernel.function("NAME@FILE:LINES")` with its suffixes; bare `NAME`, `NAME@FILE`, `NAME+OFFSET`,
/// `NAME%return`.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionSpec {
    /// The objects to search.
    pub module: ModuleScope,
    /// The functions. Lines, if any, are those of the declaration; SystemTap only warns if they differ.
    pub declared: Declared,
    /// Bytes from the entry.
    pub offset: Option<u64>,
    /// The kind of places it selects.
    pub filter: Filter,
    /// Select what these functions call, instead of the functions.
    pub callee: Option<Callee>,
    /// `.return.maxactive(N)`: the number of concurrent calls to track.
    pub maxactive: Option<u64>,
    /// `.label("L")`: select a label in the functions, instead of the functions.
    pub label: Option<Pattern>,
}

impl FunctionSpec {
    /// A spec of all places of the functions of a name.
    pub fn of(module: ModuleScope, name: Pattern) -> Self {
        Self::new(module, Declared { name, file: None, lines: None })
    }
    /// A spec of all places of these functions.
    fn new(module: ModuleScope, declared: Declared) -> Self {
        let (offset, filter, callee, maxactive, label) = (None, Filter::Any, None, None, None);
        Self { module, declared, offset, filter, callee, maxactive, label }
    }
}

/// `kernel.statement("NAME@FILE:LINES")`; bare `NAME@FILE:LINES`, `@FILE:LINES`, `FILE:LINES`, `NAME:LINES`,
/// and `@FILE` for every line of a file.
///
/// A bare `NAME@FILE:LINE` reads like the canonical spelling of a function, and means the function if LINE is the line
/// of its declaration: only an index can decide.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementSpec {
    /// The objects to search.
    pub module: ModuleScope,
    /// The functions; `None` selects the lines wherever they are.
    pub function: Option<Pattern>,
    /// The files: full path or whole trailing components ([`Pattern::matches_path`]).
    pub file: Option<Pattern>,
    /// The lines; `None` is the entry of the function and of its inline instances.
    pub lines: Option<Lines>,
    /// `.nearest`: accept the closest line that has code.
    pub nearest: bool,
}

/// `0xADDR`, `kernel.function(0xADDR)`, `kernel.statement(0xADDR)`.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressSpec {
    /// The objects to search; an address in a module counts from the start of the module.
    pub module: ModuleScope,
    /// The link address in vmlinux.
    pub address: u64,
    /// What the address denotes.
    pub kind: AddressKind,
    /// The suffixes of `function(0xADDR)`; `Any` for the others.
    pub filter: Filter,
}

/// What an address denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// Bare, or `.absolute`: the address itself.
    Raw,
    /// The function that holds the address.
    Function,
    /// The start of a row of the line table.
    Statement {
        /// `.nearest`: accept the closest start of a row.
        nearest: bool,
    },
}

/// `kernel.trace("[SYSTEM:]EVENT")`, `kernel.tracepoint("EVENT")` or `module("NAME").tracepoint("EVENT")`.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpec {
    /// The subsystem (`sched`); `None` matches all.
    pub system: Option<Pattern>,
    /// The event (`sched_switch`).
    pub event: Pattern,
    /// Whether events of single system calls count (`syscalls:sys_enter_openat`): tracefs, perf and BPF have them, but
    /// SystemTap has not.
    pub with_system_calls: bool,
    /// The object that it is in, if its parameters are asked by number, `$arg1`: `.tracepoint`.
    pub by_number: Option<ModuleScope>,
}

/// The objects that a spec covers.
#[derive(Clone, Debug, PartialEq)]
pub enum ModuleScope {
    /// Every object of the index, for a bare name.
    Any,
    /// vmlinux: `kernel.`, bare `vmlinux:` or `kernel:`.
    Kernel,
    /// Modules by the kernel's name: every dash outside of brackets is converted to an underscore.
    Module(Pattern),
    /// Programs and shared libraries by path, or by its last component: see [`process`](super::index::user_object).
    Process(Pattern),
}

/// The kind of places of a function; as in SystemTap, these do not combine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Entries and inline instances.
    #[default]
    Any,
    /// `.call`: entries of out-of-line functions.
    Call,
    /// `.inline`: inline instances.
    Inline,
    /// `.exported`: entries of functions with a global symbol.
    Exported,
    /// `.return`, `%return`: where out-of-line functions return.
    Return,
}

/// Functions called by a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// `.callee("NAME@FILE:LINES")`.
    Named(Declared),
    /// `.callees` (depth 1) and `.callees(N)`.
    Every {
        /// The depth of calls.
        depth: u32,
    },
}

/// What it means if a spec matches nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// An error.
    #[default]
    Required,
    /// `?`: no error.
    Optional,
    /// `!`: no error; and if it matches, the alternatives after it are not tried.
    Sufficient,
}

/// The two spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelled {
    /// The bare spelling, like perf's.
    Bare,
    /// SystemTap's, aliases included.
    Systemtap,
}

/// The position of a piece of text in what the user wrote, so that errors have columns.
#[derive(Clone, Copy)]
struct Source<'a> {
    whole: &'a str,
    base: usize,
}

impl<'a> Source<'a> {
    /// The source of the text that starts `offset` bytes later.
    fn from(self, offset: usize) -> Source<'a> {
        Source { base: self.base + offset, ..self }
    }

    fn wrong(self, offset: usize, message: impl std::fmt::Display) -> Error {
        let end = (self.base + offset).min(self.whole.len());
        let column = self.whole.char_indices().take_while(|&(at, _)| at < end).count() + 1;
        Error::new(ErrorKind::Usage, format!("column {column}: {message}"))
    }

    fn expected(self, offset: usize, what: impl std::fmt::Display) -> Error {
        self.wrong(offset, format_args!("expected {what}"))
    }

    fn pattern(self, text: &str) -> Result<Pattern> {
        Pattern::new(text).map_err(|e| self.wrong(0, e.message()))
    }

    /// A module's name as the kernel spells it. A dash within brackets is a range and is kept.
    fn module(self, text: &str) -> Result<ModuleScope> {
        let mut kernels = String::with_capacity(text.len());
        let mut rest = 0;
        while let Some(at) = crate::pattern::find_outside(text, rest, |b| b == b'-') {
            kernels.push_str(&text[rest..at]);
            kernels.push('_');
            rest = at + 1;
        }
        kernels.push_str(&text[rest..]);
        Ok(ModuleScope::Module(self.pattern(&kernels)?))
    }
}

fn is_identifier(text: &[u8]) -> bool {
    text.first().is_some_and(|&b| b.is_ascii_alphabetic() || b == b'_')
        && text.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Decides by the shape of the text: SystemTap's points have parentheses, a leading brace, a known head, or only dotted
/// identifiers.
fn spelling(text: &str) -> Spelled {
    let head = text.split(['.', '(', ' ', '\t']).next().unwrap_or_default();
    let dotted = text.contains('.')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.*,?! \t".contains(&b))
        && text.split(['.', ',']).all(|part| part.trim().bytes().next().is_some_and(|b| !b.is_ascii_digit()));
    let systemtap = text.starts_with('{')
        || text.contains(".{")
        || text.contains(['(', '"'])
        || (matches!(head, "kernel" | "module") && text[head.len()..].trim_start().starts_with('.'))
        || (dotted && !bare::is_symbol(text) && !bare::is_source_file(text));
    if systemtap { Spelled::Systemtap } else { Spelled::Bare }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spelling_is_told_by_shape() {
        for text in [
            "vm.*",
            "syscall.open.return",
            "vm.brk ?",
            "kernel.trace(\"x\")",
            "kernel . function(\"x\")",
            "module(\"a\").function(\"b\")",
            "{a.b}",
            "vm.brk, vm.munmap",
        ] {
            assert_eq!(spelling(text), Spelled::Systemtap, "{text}");
        }
        for text in [
            "vfs_read",
            "foo.isra.0",
            "foo.cold",
            "foo.part.0.cold",
            "read_write.c",
            "fs/open.c:12",
            "vfs_*",
            "kernel_thread",
            "kernel:vfs_read",
            "f?o.constprop.0",
            "x.c:1,2",
            "@read_write.c",
        ] {
            assert_eq!(spelling(text), Spelled::Bare, "{text}");
        }
    }

    #[test]
    fn columns_count_characters_of_what_was_written() {
        let wrong = parse("  vfs read").unwrap_err();
        assert!(wrong.message().starts_with("column 6: "), "{wrong}");
        let wrong = parse("kernel.function(\"ääää").unwrap_err();
        assert_eq!(wrong.message(), "column 22: expected a closing quote");
        assert_eq!(wrong.kind(), ErrorKind::Usage);
        assert_eq!(parse("").unwrap_err().message(), "column 1: expected a function name or a probe point");
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn nothing_made_of_its_own_marks_makes_it_panic(
            text in r#"(kernel|module|function|statement|trace|kprobe|tracepoint|r16:| \[|callees|return|0x1f|99|[-.,:;@+*?!%\\"'(){}\[\]a-c /]){0,24}"#,
        ) {
            if let Ok(specs) = parse(&text) {
                prop_assert!(!specs.is_empty());
            }
        }

        #[test]
        fn an_error_names_a_column_within_the_text(text in r#"(kernel|function|[-.,:@+%"(){}\[\] é0-9a]){0,12}"#) {
            if let Err(wrong) = parse(&text) {
                let column = wrong.message().strip_prefix("column ").and_then(|m| m.split(':').next()).unwrap();
                let column: usize = column.parse().unwrap();
                prop_assert!((1..=text.chars().count() + 1).contains(&column), "{}", wrong);
            }
        }
    }
}
