//! Symbols.
use super::{Address, Lookup};
use crate::query::index::functions;
use crate::query::index::symbols;
use probeidx_format::id::{ObjectId, SymbolId};
use probeidx_format::record::SymbolRecord;

/// A symbol, or an address within one.
#[derive(Clone, Copy)]
pub struct Symbol<'a> {
    lookup: Lookup<'a>,
    object: ObjectId,
    record: SymbolRecord,
    offset: u32,
}

impl<'a> Symbol<'a> {
    pub(super) fn at(lookup: Lookup<'a>, Address { object, pc }: Address) -> Option<Self> {
        let held = symbols::holding(&lookup.view, object, pc)?;
        Some(Self { lookup, object, record: held.record, offset: held.offset })
    }
    /// Its name, with all suffixes.
    pub fn name(&self) -> &'a [u8] {
        self.lookup.view.string(self.record.name)
    }
    /// The offset of the address from its start, in bytes.
    pub fn offset(&self) -> u32 {
        self.offset
    }
    /// The object that contains it: vmlinux or a module.
    pub fn object(&self) -> ObjectId {
        self.object
    }
    /// The address of its start.
    pub fn start(&self) -> Address {
        Address { object: self.object, pc: self.record.pc.get() }
    }
    /// The size in bytes up to the next symbol, as the kernel computes it. Cost: a binary search.
    pub fn size(&self) -> u32 {
        symbols::reach(&self.lookup.view, self.object, self.record).size
    }
    /// Whether it is a function or an assembly label.
    pub fn is_code(&self) -> bool {
        symbols::is_code(&self.lookup.view, self.object, self.record)
    }
    /// Whether the running kernel keeps it in its table.
    pub fn is_kept(&self) -> bool {
        self.record.has(SymbolRecord::KEPT)
    }
    /// Whether its name is unique among vmlinux and all indexed modules, including data symbols. Cost: linear in the
    /// symbols of the name.
    pub fn is_unique(&self) -> bool {
        symbols::uniqueness(&self.lookup.view, self.object, self.record.name).unique
    }
}

/// An iterator over the symbols of one name.
#[derive(Clone)]
pub struct Symbols<'a> {
    lookup: Lookup<'a>,
    ids: probeidx_format::table::Iter<'a, SymbolId>,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(lookup: Lookup<'a>, name: &[u8]) -> Self {
        let ids = lookup.view.name(name).map(|n| lookup.view.symbols_named(n)).unwrap_or_default();
        Self { lookup, ids: ids.iter() }
    }
}

impl<'a> Iterator for Symbols<'a> {
    type Item = Symbol<'a>;

    fn next(&mut self) -> Option<Symbol<'a>> {
        let lookup = self.lookup;
        self.ids.find_map(|id| {
            let record = functions::symbol(&lookup.view, id)?;
            Some(Symbol { lookup, object: lookup.view.object_of_symbol(id), record, offset: 0 })
        })
    }
}
