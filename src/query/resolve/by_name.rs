//! Whether a function can be attached to by its name, as BPF's kprobes, kprobe.multi and fentry are: they give the kernel
//! a name, not an address.
//!
//! Of a name with several symbols, 5.10 takes one, and 6.1.192 and later refuse it (EADDRNOTAVAIL,
//! `number_of_same_symbols`, kernel/trace/trace_kprobe.c).
use super::placement::Placement;
use crate::query::index::functions::{self, Instance};
use crate::query::index::symbols::{self, Held, Uniqueness};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SymbolRecord;

/// What a name attaches to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameState {
    /// This placement, and nothing else.
    Ok,
    /// The name has several symbols: one of them, or none.
    Ambiguous,
    /// The compiler gave the code another name, which has to be used.
    Renamed,
    /// An inlined copy, a place within a function, or code without a symbol at its start.
    Absent,
}

impl NameState {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Ambiguous => "ambiguous",
            Self::Renamed => "renamed",
            Self::Absent => "absent",
        }
    }
}

/// The name to attach to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByName<'a> {
    /// The name of the symbol; of an absent one, of the function.
    pub name: &'a [u8],
    /// What the name attaches to.
    pub state: NameState,
    /// How many symbols of its own object have an ambiguous name; 1 if only those of other objects do. Else 0.
    pub symbols: u32,
}

impl<'a> ByName<'a> {
    /// The name for a placement. `held` is the symbol that the kernel prints for it, of that uniqueness. Cost: none to
    /// speak of if that symbol has the function's name, and the name is unique.
    pub(super) fn of(view: &View<'a>, placement: &Placement<'a>, held: Option<Held>) -> Self {
        let Placement { object, function, instance, .. } = *placement;
        let absent = Self { name: function, state: NameState::Absent, symbols: 0 };
        let Some(held) = held.filter(|h| h.offset == 0 && instance == Instance::OutOfLine) else {
            return absent;
        };
        // Several symbols may stand at an address.
        let alias = alias(view, object, held, function);
        let (symbol, state) = match alias {
            Some(alias) => (alias, NameState::Ok),
            None => (held.record, NameState::Renamed),
        };
        let other;
        let uniqueness: &Uniqueness = match symbol.name == held.record.name {
            true => &placement.uniqueness,
            false => {
                other = symbols::uniqueness(view, object, symbol.name);
                &other
            }
        };
        let name = view.string(symbol.name);
        match uniqueness.unique {
            true => Self { name, state, symbols: 0 },
            false => Self { name, state: NameState::Ambiguous, symbols: count(view, object, symbol) },
        }
    }
}

/// The symbol at an address that has the function's name.
fn alias(view: &View<'_>, object: ObjectId, held: Held, function: &[u8]) -> Option<SymbolRecord> {
    if view.string(held.record.name) == function {
        return Some(held.record);
    }
    let symbols = view.symbols.part(view.symbols_of(object));
    let first = symbols.partition_point(|s| s.pc < held.record.pc);
    let there = symbols.from(first).iter().take_while(|s| s.pc == held.record.pc);
    there.filter(|s| s.has(SymbolRecord::KEPT)).find(|s| view.string(s.name) == function)
}

/// The number of an object's symbols that have a symbol's name.
fn count(view: &View<'_>, object: ObjectId, symbol: SymbolRecord) -> u32 {
    let is_kept = |id| functions::is_kept(view, id);
    let Some(name) = view.name_of(symbol.name) else { return 0 };
    functions::symbols_named(view, object, name).filter(|id| is_kept(*id)).count() as u32
}
