//! Compares two kernels: the functions, types and tracepoints that only one of them has, and the differences between
//! those that both have.
//!
//! Things are compared by name. Those that share a name are paired by their declaration (`pairs`), because a file may
//! move from one kernel to the next, and a name may denote several functions.
pub mod btf_vs_dwarf;
mod functions;
mod matching;
mod overview;
mod side;
mod struct_members;
mod touched;
mod tracepoints;
mod types;

use super::index::provenance::{self, Provenance};
use super::resolve::tracepoint;
use super::types::lookup;
use crate::error::Result;
use crate::pattern::Pattern;
use overview::Overview;
use probeidx_format::View;
use probeidx_format::id::StrId;
use probeidx_format::store::changed::Changed;
use probeidx_format::store::differing;
use side::{Side, Spelled, Spelling};
use std::convert::Infallible;
use std::ops::Range;
use touched::Touched;

/// A difference between two kernels.
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    /// What differs.
    pub subject: Subject,
    /// Its name; for a tracepoint, with its system if known (`sched:sched_switch`).
    pub name: String,
    /// Its place in the first kernel; `None` if it was added.
    pub before: Option<Home<'a>>,
    /// Its place in the second kernel; `None` if it was removed.
    pub after: Option<Home<'a>>,
    /// How the two differ; empty if only one exists.
    pub changes: Vec<Change>,
}

/// The kinds of things that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A function, inlined or not.
    Function,
    /// A struct, union, class or enum, with its keyword.
    Type(&'static str),
    /// A tracepoint, with its event if it has one.
    Tracepoint,
}

impl Subject {
    /// The name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Type(keyword) => keyword,
            Self::Tracepoint => "tracepoint",
        }
    }
}

/// The place of something in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home<'a> {
    /// The first module that has it; `None` for vmlinux, or if the module does not matter.
    pub module: Option<&'a [u8]>,
    /// The file of the declaration; empty if unknown.
    pub file: &'a [u8],
    /// The line of the declaration; 0 if unknown.
    pub line: u32,
}

/// A single change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The kind of change.
    pub what: What,
    /// Which parameter, member or mechanism, if there are several.
    pub name: String,
    /// The state in the first kernel; `None` if it has none.
    pub before: Option<State>,
    /// The state in the second kernel; `None` if it has none.
    pub after: Option<State>,
}

/// The kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A parameter: its position from 1, and its type.
    Parameter,
    /// A function's return type.
    Returns,
    /// The number of places where a function has code of its own.
    Entries,
    /// The number of places where a function is inlined. Reported if one of the kernels has none.
    Copies,
    /// The symbol at which a function starts, with compiler suffixes.
    Symbol,
    /// The number of symbols of the name. Reported if one of the kernels has a single one.
    Symbols,
    /// The verdict of a mechanism on a probe at the entry.
    Verdict,
    /// The file of the declaration.
    File,
    /// The size in bytes.
    Size,
    /// A member: its offset in bits, its type, and its width if it is a bit-field.
    Member,
    /// The value of an enumerator.
    Enumerator,
    /// A field of an event record: its offset in bytes, and its type.
    Field,
    /// Whether a tracepoint has an event.
    Event,
}

impl What {
    /// The name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Returns => "returns",
            Self::Entries => "entries",
            Self::Copies => "inlined copies",
            Self::Symbol => "symbol",
            Self::Symbols => "symbols of the name",
            Self::Verdict => "verdict",
            Self::File => "file",
            Self::Size => "size",
            Self::Member => "member",
            Self::Enumerator => "enumerator",
            Self::Field => "field",
            Self::Event => "event",
        }
    }
}

/// The state in one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// An item with a type and a place.
    Typed {
        /// The position, or the offset in bits or bytes, depending on the item.
        at: u64,
        /// The width of a bit-field in bits.
        bits: Option<u8>,
        /// The type in C.
        of: String,
    },
    /// A count or a size.
    Number(i64),
    /// A name or a word.
    Word(String),
}

/// What to compare.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The names.
    pub name: Pattern,
    /// Only functions and types declared in these files; excludes tracepoints.
    pub file: Option<Pattern>,
    /// Only types with this keyword.
    pub keyword: Option<String>,
    /// Only tracepoints of these systems.
    pub system: Option<Pattern>,
}

impl Asked {
    /// Parses `NAME`, `NAME@FILE`, `struct NAME` (or `union`, `enum`, `class`) and `SYSTEM:EVENT`, all with `* ? [..]`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::error::ErrorKind::Usage) for an invalid pattern.
    pub fn parse(text: &str) -> Result<Self> {
        let of = |name: &str| {
            Ok(Self { name: Pattern::new(name.trim())?, file: None, keyword: None, system: None })
        };
        for keyword in ["struct", "union", "enum", "class"] {
            if let Some(name) = text.strip_prefix(keyword).and_then(|rest| rest.strip_prefix(' ')) {
                return Ok(Self { keyword: Some(keyword.to_owned()), ..of(name)? });
            }
        }
        if let Some((system, event)) = text.split_once(':') {
            return Ok(Self { system: Some(Pattern::new(system)?), ..of(event)? });
        }
        match text.split_once('@') {
            Some((name, file)) => Ok(Self { file: Some(Pattern::new(file)?), ..of(name)? }),
            None => of(text),
        }
    }

    fn is_all(&self) -> bool {
        self.name.matches_all() && self.file.is_none() && self.keyword.is_none() && self.system.is_none()
    }
    fn functions(&self) -> bool {
        self.keyword.is_none() && self.system.is_none()
    }
    fn types(&self) -> bool {
        self.system.is_none()
    }
    fn tracepoints(&self) -> bool {
        self.keyword.is_none() && self.file.is_none()
    }
    fn names(&self, name: &[u8]) -> bool {
        self.name.matches_all() || self.name.matches(name)
    }
    fn files(&self, file: &[u8]) -> bool {
        self.file.as_ref().is_none_or(|pattern| pattern.matches_path(file))
    }
}

/// The totals of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The number of functions, types and tracepoints in both kernels together, common ones counted once.
    pub all: u64,
    /// The number that only the second kernel has.
    pub added: u64,
    /// The number that only the first kernel has.
    pub removed: u64,
    /// The number that both have and that differ.
    pub changed: u64,
    /// What of all that is asked for was not compared, and why: a kernel without debug information and BTF has no types.
    pub left_out: Vec<String>,
}

/// Compares two kernels, the older one first, and calls `each` with every difference: functions by name, then types,
/// then tracepoints. Modules are compared only if both indexes have modules; inlined copies and files only if both are
/// based on debug information. Cost: less than a second for two whole kernels on two processors; of two kernels of a store
/// that have most of their rows in common, only what may differ is compared. The differences in the second half of the
/// functions and in all types are buffered until their turn.
///
/// # Errors
/// Those of `each`.
pub fn compare<'a, E>(
    views: [&'a View<'a>; 2],
    asked: &Asked,
    mut each: impl FnMut(&Difference<'a>) -> std::result::Result<(), E>,
) -> std::result::Result<Compared, E> {
    let mut both = Both::new(views, asked);
    let touched = asked.is_all().then(|| Touched::of(views)).flatten();
    if touched.is_none() && asked.functions() && asked.name.matches_all() {
        both.look_over();
    }
    let is_part = touched.is_some();
    let mut compared = Compared { all: touched.as_ref().map_or(0, |touched| touched.all), ..<_>::default() };
    let mut tell = |found: Difference<'a>| {
        // Those of the first kernel are counted already.
        compared.all += u64::from(!is_part || found.before.is_none());
        match (found.before, found.after) {
            (None, _) => compared.added += 1,
            (_, None) => compared.removed += 1,
            _ if found.changes.is_empty() => return Ok(()),
            _ => compared.changed += 1,
        }
        each(&found)
    };
    let parts = touched.map_or_else(|| Part::all(views, asked), |touched| touched.parts());
    both.all(&parts, &mut tell)?;
    compared.left_out = left_out(views, asked);
    Ok(compared)
}

/// The names of what differs between a kernel of a store and the one whose segment is before it, for
/// [`Part::Changed`](probeidx_format::store::Part::Changed): all of which a comparison may find something, between these
/// two or between any of which one is at or below the first and one at or above the second; and the
/// [filter](probeidx_format::store::differing) of those of which a history may tell something else, unless that is of all. `None`
/// if the two have too little in common. Cost: that of [`compare`].
pub fn changed(views: [&View<'_>; 2]) -> Option<(Changed, Option<Vec<u8>>)> {
    let asked = Asked::parse("*").ok()?;
    let touched = Touched::by_rows(views, touched::MOST_ONCE)?;
    let filter = touched.told(views).map(|names| differing::filter(names.into_iter()));
    let tracepoints = touched.tracepoints().to_vec();
    let (mut functions, mut types) = (vec![], vec![]);
    let both = Both { is_strict: true, ..Both::new(views, &asked) };
    let Ok(()) = both.all::<Infallible>(&touched.parts(), &mut |found| {
        let differs = found.before.is_none() || found.after.is_none() || !found.changes.is_empty();
        match found.subject {
            Subject::Function if differs => functions.push(found.name),
            Subject::Type(_) if differs => types.push(found.name),
            _ => {}
        }
        Ok(())
    });
    let numbers = |names: &mut dyn Iterator<Item = &[u8]>| {
        let of = |name: &[u8]| views.iter().find_map(|v| v.store()?.find_string(name)).map(StrId::new);
        let mut found: Vec<StrId> = names.map(of).collect::<Option<_>>()?;
        found.sort_unstable();
        found.dedup();
        Some(found)
    };
    let changed = Changed {
        functions: numbers(&mut functions.iter().map(String::as_bytes))?,
        types: numbers(&mut types.iter().map(String::as_bytes))?,
        tracepoints: numbers(&mut tracepoints.into_iter())?,
    };
    Some((changed, filter))
}

fn left_out(views: [&View<'_>; 2], asked: &Asked) -> Vec<String> {
    let release = |view: &View<'_>| String::from_utf8_lossy(view.release()).into_owned();
    let types = untyped(views).filter(|_| asked.types()).map(|view| {
        format!("types are not compared: neither debug information nor BTF has those of {}", release(view))
    });
    let tracepoints = untraced(views).filter(|_| asked.tracepoints()).map(|view| {
        format!(
            "tracepoints are not compared: those of {} are not in the index; build says why",
            release(view)
        )
    });
    types.into_iter().chain(tracepoints).collect()
}

/// The first of two kernels of whose types nothing is known.
fn untyped<'a, 'v>(views: [&'v View<'a>; 2]) -> Option<&'v View<'a>> {
    views.into_iter().find(|view| !lookup::has_types(view))
}

/// The first of two kernels whose tracepoints are not known.
fn untraced<'a, 'v>(views: [&'v View<'a>; 2]) -> Option<&'v View<'a>> {
    views.into_iter().find(|view| tracepoint::are_unknown(view))
}

/// How many functions with code, types and tracepoints a kernel has: as many as are compared with those of another one, if
/// both have modules or neither has. Cost: linear in placements, names and types; some 50 ms for a kernel.
pub fn count(view: &View<'_>) -> u32 {
    let spelled = Spelled::default();
    let with_modules = view.object_ids().nth(1).is_some();
    let is_whole = provenance::of_index(view) == Provenance::Dwarf;
    let side = Side::new(view, with_modules, is_whole, &spelled);
    let all = Asked::parse("*").map_or(0, |all| types::count(&side, &all));
    (functions::count(&side) + all + tracepoints::count(&side)) as u32
}

/// A part that is compared separately.
enum Part<'a> {
    /// The functions of these names: ranks in the first and in the second kernel.
    Functions([Range<u32>; 2]),
    Types,
    Tracepoints,
    /// The same, of some names.
    TheseFunctions(Vec<&'a [u8]>),
    TheseTypes(Vec<&'a [u8]>),
    TheseTracepoints(Vec<&'a [u8]>),
}

impl<'a> Part<'a> {
    /// All that is asked for.
    fn all(views: [&'a View<'a>; 2], asked: &Asked) -> Vec<Self> {
        let mut parts = vec![];
        if asked.functions() {
            parts.extend(functions::halves(views).map(Part::Functions));
        }
        parts.extend((asked.types() && untyped(views).is_none()).then_some(Part::Types));
        parts.extend((asked.tracepoints() && untraced(views).is_none()).then_some(Part::Tracepoints));
        parts
    }
}

/// Two kernels, and what to compare.
struct Both<'a, 'p> {
    views: [&'a View<'a>; 2],
    with_modules: bool,
    is_whole: bool,
    /// Whether what a comparison passes over counts, too, because it may matter beside a third kernel: a file of which one
    /// kernel knows nothing, two symbols instead of three of a name.
    is_strict: bool,
    /// If most functions are compared.
    overviews: Option<[Overview; 2]>,
    asked: &'p Asked,
}

impl<'a, 'p> Both<'a, 'p> {
    fn new(views: [&'a View<'a>; 2], asked: &'p Asked) -> Self {
        Self {
            views,
            with_modules: views.iter().all(|view| view.object_ids().nth(1).is_some()),
            is_whole: views.iter().all(|view| provenance::of_index(view) == Provenance::Dwarf),
            is_strict: false,
            overviews: None,
            asked,
        }
    }
    /// Reads what a comparison of most functions reads of all.
    fn look_over(&mut self) {
        let of = |view| {
            let spelled = Spelled::default();
            Overview::of(&Side::new(view, self.with_modules, self.is_whole, &spelled))
        };
        let [one, other] = self.views;
        self.overviews = Some(std::thread::scope(|scope| {
            let other = scope.spawn(move || of(other));
            [of(one), other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
        }));
    }
    /// Compares parts side by side, and tells of them one after another.
    fn all<E>(
        &self,
        parts: &[Part<'a>],
        tell: &mut impl FnMut(Difference<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Some((first, others)) = parts.split_first() else { return Ok(()) };
        std::thread::scope(|scope| {
            let others: Vec<_> = others.iter().map(|part| scope.spawn(move || self.gather(part))).collect();
            self.read(first, tell)?;
            for other in others {
                let found = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                found.into_iter().try_for_each(&mut *tell)?;
            }
            Ok(())
        })
    }
    fn read<E>(
        &self,
        part: &Part<'a>,
        tell: &mut impl FnMut(Difference<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let spelled = Spelled::default();
        let [before, after] = [0, 1].map(|number| {
            let mut side = Side::new(self.views[number], self.with_modules, self.is_whole, &spelled);
            side.is_strict = self.is_strict;
            side.overview = self.overviews.as_ref().map(|overviews| &overviews[number]);
            side
        });
        let (before, after, asked) = (&before, &after, self.asked);
        match part {
            Part::Functions(ranks) => {
                functions::compare(before, after, functions::between(self.views, ranks), asked, tell)
            }
            Part::Types => types::compare(before, after, None, asked, tell),
            Part::Tracepoints => tracepoints::compare(before, after, None, asked, tell),
            Part::TheseFunctions(names) => {
                let names = names.iter().filter_map(|name| functions::named(self.views, name));
                functions::compare(before, after, names, asked, tell)
            }
            Part::TheseTypes(names) => types::compare(before, after, Some(names), asked, tell),
            Part::TheseTracepoints(names) => tracepoints::compare(before, after, Some(names), asked, tell),
        }
    }
    fn gather(&self, part: &Part<'a>) -> Vec<Difference<'a>> {
        let mut found = vec![];
        let Ok(()) = self.read::<Infallible>(part, &mut |difference| {
            found.push(difference);
            Ok(())
        });
        found
    }
}
