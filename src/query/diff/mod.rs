//! Two kernels side by side: which functions, types and tracepoints only one of them has, and how those of both differ.
//!
//! Names are compared first; what shares one is paired by where it is declared (`pairs`), as a file may move from one
//! kernel to the next, and a name may stand for several functions.
pub mod btf_vs_dwarf;
mod functions;
mod matching;
mod struct_members;
mod tracepoints;
mod types;

use super::index::functions::Scope;
use super::index::provenance::{self, Provenance};
use super::spec::ModuleScope;
use super::types::c_declaration::declare;
use super::verdict::Judge;
use crate::error::Result;
use crate::pattern::Pattern;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;

/// What two kernels differ in.
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    /// What it is.
    pub subject: Subject,
    /// Its name; of a tracepoint with its system before it (`sched:sched_switch`), where that is known.
    pub name: String,
    /// Where the first kernel has it; `None` if it was added.
    pub before: Option<Home<'a>>,
    /// Where the second kernel has it; `None` if it was removed.
    pub after: Option<Home<'a>>,
    /// How the two differ; empty if one is not there.
    pub changes: Vec<Change>,
}

/// Kinds of what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A function, inlined or not.
    Function,
    /// A struct, union, class or enum; by its keyword.
    Type(&'static str),
    /// A tracepoint, with its event if it has one.
    Tracepoint,
}

impl Subject {
    /// As text and JSON print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Type(keyword) => keyword,
            Self::Tracepoint => "tracepoint",
        }
    }
}

/// Where something stands in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home<'a> {
    /// The first module that has it; `None` for vmlinux, and where it does not matter.
    pub module: Option<&'a [u8]>,
    /// The file of its declaration; empty where none is known.
    pub file: &'a [u8],
    /// The line of its declaration; 0 where none is known.
    pub line: u32,
}

/// One way in which the two differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Of what.
    pub what: What,
    /// Which one, where there are several: a parameter, a member, a mechanism.
    pub name: String,
    /// What the first kernel has; `None` if it has none.
    pub before: Option<State>,
    /// What the second kernel has; `None` if it has none.
    pub after: Option<State>,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A parameter: its position from 1, and its type.
    Parameter,
    /// What a function returns: the type.
    Returns,
    /// In how many places a function has code of its own.
    Entries,
    /// In how many places a function is inlined. Told where there are none in one of the kernels.
    Copies,
    /// The symbol at which a function starts, with suffixes of the compiler.
    Symbol,
    /// How many symbols the kernel has of the name. Told where it is one in one of the kernels.
    Symbols,
    /// What a mechanism says to a probe at the entry.
    Verdict,
    /// The file of the declaration.
    File,
    /// Size in bytes.
    Size,
    /// A member: its offset in bits, its type, and its width if it is a bit-field.
    Member,
    /// An enumerator: its value.
    Enumerator,
    /// A field of an event's record: its offset in bytes, and its type.
    Field,
    /// Whether an event records a tracepoint.
    Event,
}

impl What {
    /// As text and JSON print it.
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

/// What one kernel has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Something of a type at a place: a position, an offset in bits or bytes.
    Typed {
        /// Where it is, in the unit of what it is.
        at: u64,
        /// Of a bit-field, its width in bits.
        bits: Option<u8>,
        /// Its type as C writes it.
        of: String,
    },
    /// How many, or how much.
    Number(i64),
    /// A name or a word.
    Word(String),
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Names.
    pub name: Pattern,
    /// Functions and types that are declared in such files; tracepoints are none of them.
    pub file: Option<Pattern>,
    /// Types of these kinds alone: the keyword.
    pub keyword: Option<String>,
    /// Systems of tracepoints, of which alone is told.
    pub system: Option<Pattern>,
}

impl Asked {
    /// Reads `NAME`, `NAME@FILE`, `struct NAME` (or `union`, `enum`, `class`) and `SYSTEM:EVENT`, all with `* ? [..]`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::error::ErrorKind::Usage) for a pattern that cannot be read.
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

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// How many functions, types and tracepoints of the two, those that both have counted once.
    pub all: u64,
    /// Of them, those that only the second kernel has.
    pub added: u64,
    /// Those that only the first kernel has.
    pub removed: u64,
    /// Those that both have, and that differ.
    pub changed: u64,
}

/// Compares two kernels, the older one first: functions by name, then types, then tracepoints, and calls `each` for whatever
/// differs, in this order. Modules count only where both indexes have modules, inlined copies and files only where both rest
/// on debug information. Cost: of two whole kernels less than a second, on two processors; what differs in the second half
/// of the functions and in all types waits in memory for its turn.
///
/// # Errors
/// Those of `each`.
pub fn compare<'a, E>(
    views: [View<'a>; 2],
    asked: &Asked,
    mut each: impl FnMut(&Difference<'a>) -> std::result::Result<(), E>,
) -> std::result::Result<Compared, E> {
    let both = Both {
        views,
        with_modules: views.iter().all(|view| view.object_ids().nth(1).is_some()),
        is_whole: views.iter().all(|view| provenance::of_index(view) == Provenance::Dwarf),
        asked,
    };
    let mut compared = Compared::default();
    let mut tell = |found: Difference<'a>| {
        compared.all += 1;
        match (found.before, found.after) {
            (None, _) => compared.added += 1,
            (_, None) => compared.removed += 1,
            _ if found.changes.is_empty() => return Ok(()),
            _ => compared.changed += 1,
        }
        each(&found)
    };
    let mut parts = vec![];
    if asked.functions() {
        parts.extend(functions::halves(views).map(Part::Functions));
    }
    parts.extend(asked.types().then_some(Part::Types));
    parts.extend(asked.tracepoints().then_some(Part::Tracepoints));
    let Some((first, others)) = parts.split_first() else { return Ok(compared) };
    std::thread::scope(|scope| {
        let both = &both;
        let gather = |part| scope.spawn(move || both.gather(part));
        let others: Vec<_> = others.iter().map(gather).collect();
        both.read(first, &mut tell)?;
        for other in others {
            let found = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            found.into_iter().try_for_each(&mut tell)?;
        }
        Ok(())
    })?;
    Ok(compared)
}

/// What is compared by itself.
enum Part {
    /// The functions of these names: ranks in the one and in the other kernel.
    Functions([Range<u32>; 2]),
    Types,
    Tracepoints,
}

/// Two kernels, and what is asked of them.
struct Both<'a, 'p> {
    views: [View<'a>; 2],
    with_modules: bool,
    is_whole: bool,
    asked: &'p Asked,
}

impl<'a> Both<'a, '_> {
    fn read<E>(
        &self,
        part: &Part,
        tell: &mut impl FnMut(Difference<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let spelled = Spelled::default();
        let [before, after] =
            self.views.map(|view| Side::new(view, self.with_modules, self.is_whole, &spelled));
        match part {
            Part::Functions(names) => functions::compare(&before, &after, names, self.asked, tell),
            Part::Types => types::compare(&before, &after, self.asked, tell),
            Part::Tracepoints => tracepoints::compare(&before, &after, self.asked, tell),
        }
    }
    fn gather(&self, part: &Part) -> Vec<Difference<'a>> {
        let mut found = vec![];
        let Ok(()) = self.read::<Infallible>(part, &mut |difference| {
            found.push(difference);
            Ok(())
        });
        found
    }
}

/// One of the two kernels.
struct Side<'a, 's> {
    view: View<'a>,
    judge: Judge<'a, 'static>,
    /// What counts.
    scope: Scope,
    /// Both rest on debug information: else inlined copies and files are not known of one.
    is_whole: bool,
    spelled: &'s Spelled,
    /// By type, the number of its spelling plus one; 0 where it is not known yet.
    types: Vec<Cell<u32>>,
}

/// The spellings of types in both kernels: equal ones have one number.
#[derive(Default)]
struct Spelled {
    numbers: RefCell<HashMap<Rc<str>, u32>>,
    texts: RefCell<Vec<Rc<str>>>,
}

/// The number of a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spelling(u32);

impl<'a, 's> Side<'a, 's> {
    fn new(view: View<'a>, with_modules: bool, is_whole: bool, spelled: &'s Spelled) -> Self {
        let types = vec![Cell::new(0); view.types.len()];
        let scope = Scope::new(&view, if with_modules { &ModuleScope::Any } else { &ModuleScope::Kernel });
        Self { view, judge: Judge::new(view), scope, is_whole, spelled, types }
    }
    /// The spelling of a type, as a cast writes it. Cost: the first time that of writing it.
    fn spelling(&self, type_id: Option<TypeId>) -> Spelling {
        let known = type_id.and_then(|id| self.types.get(id.index()));
        match known.map(Cell::get) {
            Some(number @ 1..) => Spelling(number - 1),
            _ => {
                let number = self.spelled.number(&declare(&self.view, type_id, ""));
                known.inspect(|slot| slot.set(number + 1));
                Spelling(number)
            }
        }
    }
    fn text(&self, spelling: Spelling) -> String {
        self.spelled.texts.borrow()[spelling.0 as usize].to_string()
    }
    fn module(&self, object: ObjectId) -> Option<&'a [u8]> {
        let name = self.view.string(self.view.objects.get(object.index())?.name);
        (!name.is_empty()).then_some(name)
    }
}

impl Spelled {
    fn number(&self, text: &str) -> u32 {
        if let Some(number) = self.numbers.borrow().get(text) {
            return *number;
        }
        let text: Rc<str> = text.into();
        let mut texts = self.texts.borrow_mut();
        texts.push(Rc::clone(&text));
        let number = texts.len() as u32 - 1;
        self.numbers.borrow_mut().insert(text, number);
        number
    }
}
