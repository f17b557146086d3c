//! Classifies jumps out of functions: returns, or tail calls.
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use object::Endianness;
use object::elf::Rela64;
use probeidx_format::record::SymbolRecord;
use std::ops::Range;

/// The target of a jump.
pub enum Target {
    Pc(u32),
    /// A symbol of the symbol table, and an addend.
    Symbol(usize, i64),
}

/// Classifies jumps out of functions.
pub struct Exits<'a, 'd> {
    object: &'a Elf<'d>,
    /// Starts of functions, except split-off parts (`do_open.cold`); sorted.
    entries: Vec<u32>,
    /// `__x86_return_thunk` and similar thunks; sorted by address.
    return_thunks: Vec<u32>,
}

impl<'a, 'd> Exits<'a, 'd> {
    /// Cost: a look at each symbol.
    pub fn new(object: &'a Elf<'d>, symbols: &[Symbol<'_>]) -> Self {
        let is_entry = |s: &&Symbol<'_>| s.is_function() && memchr::memmem::find(s.name, b".cold").is_none();
        Self {
            object,
            entries: symbols.iter().filter(is_entry).map(|s| s.pc).collect(),
            return_thunks: symbols.iter().filter(|s| is_return_thunk(s.name)).map(|s| s.pc).collect(),
        }
    }
    /// The flag for a jump from the symbol at `from`: a return, a tail call, or neither.
    pub fn kind(&self, target: Target, from: u32) -> u16 {
        let pc = match target {
            Target::Pc(pc) => pc,
            Target::Symbol(index, addend) => {
                let Some(symbol) = self.object.symbols.get(index) else { return 0 };
                if is_return_thunk(self.object.symbol_name(symbol)) {
                    return SymbolRecord::RETURNS;
                }
                if symbol.st_shndx.get(self.object.order).0 == 0 {
                    return SymbolRecord::TAIL_CALLS;
                }
                self.object.symbol_address(symbol).wrapping_add_signed(addend) as u32
            }
        };
        if self.return_thunks.binary_search(&pc).is_ok() {
            SymbolRecord::RETURNS
        } else if pc != from && self.entries.binary_search(&pc).is_ok() {
            SymbolRecord::TAIL_CALLS
        } else {
            0
        }
    }
}

/// Where the jumps of a section lead: those of a module are relocated when it is loaded.
pub struct Jumps<'a> {
    relocations: &'a [Rela64<Endianness>],
    order: Endianness,
}

impl<'a> Jumps<'a> {
    /// Those of a section, by its position among the object's.
    pub fn new(object: &'a Elf<'_>, section: usize) -> Self {
        let relocations = match object.is_relocatable {
            true => object.relocations(section).ok().flatten().unwrap_or_default(),
            false => &[],
        };
        Self { relocations, order: object.order }
    }
    /// The target of a jump whose relocation applies at an offset of the section, given that of the instruction as it is; `None` within the function.
    pub fn target(&self, offset: u32, plain: u32, function: &Range<u32>) -> Option<Target> {
        let offset = u64::from(offset);
        let at = self.relocations.partition_point(|r| r.r_offset.get(self.order) < offset);
        match self.relocations.get(at).filter(|r| r.r_offset.get(self.order) == offset) {
            Some(r) => {
                Some(Target::Symbol((r.r_info.get(self.order) >> 32) as usize, r.r_addend.get(self.order)))
            }
            None => (!function.contains(&plain)).then_some(Target::Pc(plain)),
        }
    }
}

fn is_return_thunk(name: &[u8]) -> bool {
    [&b"__x86_return_thunk"[..], b"__s390_indirect_jump_r14"].contains(&name)
}

/// Sets the flags found at the addresses of symbols.
pub fn mark(symbols: &mut [Symbol<'_>], mut marks: Vec<(u32, u16)>) {
    marks.sort_unstable();
    for symbol in symbols {
        if let Ok(at) = marks.binary_search_by_key(&symbol.pc, |m| m.0) {
            symbol.flags |= marks[at].1;
        }
    }
}
