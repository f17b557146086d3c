//! Which instructions can be probed, by the kernel's own rules (arch/arm64/kernel/probes/decode-insn.c): each is
//! judged by itself, and refused within a sequence begun by an exclusive load.
use super::sites::Alternatives;
use super::{Instruction, LENGTH};
use crate::code::exits::{self, Exits, Jumps};
use crate::code::text::{CodeSection, Text};
use crate::code::{SiteFacts, extent, symbol_starts};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use probeidx_format::record::{SiteKind, SiteRecord, SymbolRecord, TableSet};

/// What decides whether an instruction can be probed.
pub struct Rules<'a> {
    /// Whether an instruction is refused by itself.
    pub refuses: &'a dyn Fn(Instruction) -> bool,
    /// Whether sequences are refused too; if so, whether by the narrow mask.
    pub sequences: Option<bool>,
    /// Which unreadable tables an instruction may be in.
    pub may_be: &'a dyn Fn(u32, Instruction) -> TableSet,
    pub alternatives: &'a Alternatives,
}

/// Decodes all code. Returns the start of each section and a bit for every byte, appends instructions that cannot be
/// probed to `sites`, and marks the symbols that return or jump to other functions.
pub fn decode(
    object: &Elf<'_>,
    text: &Text<'_>,
    symbols: &mut [Symbol<'_>],
    rules: &Rules<'_>,
    sites: &mut Vec<SiteFacts>,
) -> Vec<(u32, Vec<u8>)> {
    let starts = symbol_starts(symbols);
    let exits = Exits::new(object, symbols);
    let mut marks: Vec<(u32, u16)> = vec![];
    let mut bits = vec![];
    for section in text.sections().iter().filter(|s| s.is_whole() && s.pcs.len() >= LENGTH as usize) {
        let mut boundaries = vec![0u8; section.pcs.len().div_ceil(8)];
        for offset in (0..section.pcs.len() / 4 * 4).step_by(LENGTH as usize) {
            boundaries[offset / 8] |= 1 << (offset % 8);
        }
        bits.push((section.pcs.start, boundaries));
        let code = Code { section, rules };
        let first = starts.partition_point(|s| *s < section.pcs.start);
        let own = starts[first..].iter().take_while(|s| section.pcs.contains(*s));
        // Code before the first symbol is in no function: the kernel looks back no further than its own symbols.
        let mut start = section.pcs.start;
        for next in own.copied().chain([section.pcs.end]) {
            code.refused(start..next, sites);
            if start < next && starts.binary_search(&start).is_ok() {
                let end = start + extent::of_symbol(symbols, start, next - start);
                marks.push((start, code.exits(object, start..end, &exits)));
            }
            start = next;
        }
    }
    exits::mark(symbols, marks);
    bits
}

/// The instructions in `length` bytes of code that has `before` more before them, each with the reason for which it cannot be
/// probed.
pub fn part(code: &[u8], before: usize, length: usize, rules: &Rules<'_>) -> Vec<(u32, Option<SiteKind>)> {
    let section = CodeSection { name: "", index: 0, pcs: 0..code.len() as u32, bytes: code };
    let mut refused = vec![];
    Code { section: &section, rules }.refused(0..code.len() as u32, &mut refused);
    let first = before.next_multiple_of(LENGTH as usize);
    let of = |pc: u32| {
        let kind = refused.iter().find(|site| site.start == pc).map(|_| SiteKind::Unsupported);
        (pc - before as u32, kind)
    };
    (first as u32..(before + length) as u32).step_by(LENGTH as usize).map(of).collect()
}

/// How far the kernel looks back for the start of a sequence (`MAX_ATOMIC_CONTEXT_SIZE`).
const SEQUENCE: u32 = 128;

struct Code<'a, 'd> {
    section: &'a CodeSection<'d>,
    rules: &'a Rules<'a>,
}

/// Whether something holds, possibly depending on the processor.
#[derive(Clone, Copy, Default)]
struct May {
    yes: bool,
    no: bool,
}

impl May {
    fn add(&mut self, is_so: bool) {
        self.yes |= is_so;
        self.no |= !is_so;
    }
}

impl Code<'_, '_> {
    fn word(&self, pc: u32) -> Option<Instruction> {
        Instruction::first(self.section.bytes.get((pc - self.section.pcs.start) as usize..)?)
    }

    /// The addresses of instructions; a symbol need not be aligned.
    fn words(&self, code: std::ops::Range<u32>) -> impl Iterator<Item = u32> + use<> {
        let section = self.section.pcs.start;
        let first = (code.start - section).next_multiple_of(LENGTH).saturating_add(section);
        (first..code.end).step_by(LENGTH as usize)
    }

    /// All instructions that may be at an address, with `None` for unknown ones.
    fn possible(&self, pc: u32) -> impl Iterator<Item = Option<Instruction>> {
        let others = self.rules.alternatives.get(&pc).map_or(&[][..], Vec::as_slice);
        std::iter::once(self.word(pc)).chain(others.iter().copied())
    }

    /// Appends the instructions of a symbol that cannot be probed.
    fn refused(&self, symbol: std::ops::Range<u32>, sites: &mut Vec<SiteFacts>) {
        // The addresses of exclusive instructions so far.
        let mut exclusive: Vec<u32> = vec![];
        for pc in self.words(symbol) {
            let (mut refused, mut is_exclusive) = (May::default(), false);
            for instruction in self.possible(pc) {
                match instruction {
                    Some(i) => {
                        refused.add((self.rules.refuses)(i));
                        is_exclusive |= self.rules.sequences.is_some_and(|narrow| {
                            i.is_load_exclusive(narrow) || i.is_store_exclusive(narrow)
                        });
                    }
                    None => refused = May { yes: true, no: true },
                }
            }
            if let Some(is_narrow) = self.rules.sequences
                && !exclusive.is_empty()
            {
                let within = self.within_sequence(&exclusive, pc, is_narrow);
                refused = May { yes: refused.yes || within.yes, no: refused.no && within.no };
            }
            let kind = match refused {
                May { yes: false, .. } => None,
                May { no: false, .. } => Some(SiteKind::Unsupported),
                May { .. } => Some(SiteKind::PatchedWhole),
            };
            sites.extend(kind.map(|kind| SiteFacts { start: pc, length: 1, kind: kind as u8 }));
            let may_be = self.word(pc).map_or(TableSet::EMPTY, |word| (self.rules.may_be)(pc, word));
            sites.extend(may_be.iter().map(|table| SiteFacts {
                start: pc,
                length: LENGTH as u8,
                kind: SiteRecord::MAY_BE + table as u8,
            }));
            if is_exclusive {
                exclusive.push(pc);
            }
        }
    }

    /// Whether the last exclusive instruction before an address was a load (`is_probed_address_atomic`).
    fn within_sequence(&self, exclusive: &[u32], pc: u32, is_narrow: bool) -> May {
        let mut within = May::default();
        for at in exclusive.iter().rev().take_while(|at| pc - **at <= SEQUENCE) {
            let mut goes_on = false;
            for instruction in self.possible(*at) {
                match instruction {
                    Some(i) if i.is_store_exclusive(is_narrow) => within.add(false),
                    Some(i) if i.is_load_exclusive(is_narrow) => within.add(true),
                    _ => goes_on = true,
                }
            }
            if !goes_on {
                return within;
            }
        }
        within.add(false);
        within
    }

    /// The flags for the exits of a function.
    fn exits(&self, object: &Elf<'_>, code: std::ops::Range<u32>, exits: &Exits<'_, '_>) -> u16 {
        let jumps = Jumps::new(object, self.section.index);
        let mut flags = 0;
        for pc in self.words(code.clone()) {
            match self.word(pc) {
                Some(i) if i.is_return() => flags |= SymbolRecord::RETURNS,
                Some(i) if i.is_jump() => {
                    let target = jumps.target(pc - self.section.pcs.start, i.target(pc), &code);
                    flags |= target.map_or(0, |target| exits.kind(target, code.start));
                }
                _ => {}
            }
        }
        flags
    }
}
