//! Which instructions can be probed, by the kernel's own rules (`arch_prepare_kprobe`, arch/powerpc/kernel/kprobes.c, 5.19 to
//! 7.2): each is judged by itself, and refused behind the first half of an instruction of eight bytes.
use super::sites::Alternatives;
use super::{Instruction, LENGTH, entry};
use crate::code::exits::{self, Exits, Jumps};
use crate::code::text::{CodeSection, Text};
use crate::code::{SiteFacts, extent, symbol_starts};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use probeidx_format::record::{SiteKind, SiteRecord, SymbolRecord, TableSet};
use std::ops::Range;

/// What decides whether an instruction can be probed.
pub struct Rules<'a> {
    pub alternatives: &'a Alternatives,
    /// Which unreadable tables an instruction may be in.
    pub may_be: &'a dyn Fn(Instruction) -> TableSet,
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
    for section in text.sections().iter().filter(|s| s.is_whole()) {
        let code = Code { section, rules };
        bits.push((section.pcs.start, code.judge(sites)));
        let first = starts.partition_point(|s| *s < section.pcs.start);
        let own = starts[first..].iter().take_while(|s| section.pcs.contains(*s));
        for (at, start) in (first..).zip(own) {
            let next = starts.get(at + 1).map_or(section.pcs.end, |next| section.pcs.end.min(*next));
            let end = start + extent::of_symbol(symbols, *start, next - start);
            marks.push((*start, code.exits((object, text), *start..end, &exits)));
        }
    }
    exits::mark(symbols, marks);
    bits
}

struct Code<'a, 'd> {
    section: &'a CodeSection<'d>,
    rules: &'a Rules<'a>,
}

impl Code<'_, '_> {
    fn word(&self, pc: u32) -> Option<Instruction> {
        let offset = pc.checked_sub(self.section.pcs.start)?;
        Instruction::first(self.section.bytes.get(offset as usize..)?)
    }

    /// The addresses of instructions in a range; a symbol need not be aligned.
    fn words(&self, code: Range<u32>) -> impl Iterator<Item = u32> + use<> {
        let section = self.section.pcs.start;
        let first = (code.start - section).next_multiple_of(LENGTH).saturating_add(section);
        (first..code.end).step_by(LENGTH as usize)
    }

    /// All instructions that may be at an address, with `None` for unknown ones.
    fn possible(&self, pc: u32) -> impl Iterator<Item = Option<Instruction>> {
        let others = self.rules.alternatives.get(&pc).map_or(&[][..], Vec::as_slice);
        self.word(pc).map(Some).into_iter().chain(others.iter().copied())
    }

    /// Appends the instructions that cannot be probed, and returns a bit for every byte: whether an instruction starts there.
    fn judge(&self, sites: &mut Vec<SiteFacts>) -> Vec<u8> {
        let mut boundaries = vec![0u8; self.section.pcs.len().div_ceil(8)];
        let mut is_second = false;
        for pc in self.words(self.section.pcs.clone()) {
            let Some(word) = self.word(pc) else { continue };
            let offset = (pc - self.section.pcs.start) as usize;
            boundaries[offset / 8] |= 1 << (offset % 8);
            let refuses = |i: Instruction| is_second || i.is_refused_by_kprobes();
            // An unknown instruction may be either.
            let (mut yes, mut no) = (false, false);
            for instruction in self.possible(pc) {
                yes |= instruction.is_none_or(refuses);
                no |= instruction.is_none_or(|i| !refuses(i));
            }
            let kind = match (yes, no) {
                (false, _) => None,
                (true, false) => Some(SiteKind::Unsupported),
                (true, true) => Some(SiteKind::PatchedWhole),
            };
            sites.extend(kind.map(|kind| SiteFacts { start: pc, length: 1, kind: kind as u8 }));
            sites.extend((self.rules.may_be)(word).iter().map(|table| SiteFacts {
                start: pc,
                length: LENGTH as u8,
                kind: SiteRecord::MAY_BE + table as u8,
            }));
            is_second = word.is_prefix();
        }
        boundaries
    }

    /// The flags for the exits of a function.
    fn exits(&self, (object, text): (&Elf<'_>, &Text<'_>), code: Range<u32>, exits: &Exits<'_, '_>) -> u16 {
        let jumps = Jumps::new(object, self.section.index);
        let mut flags = 0;
        for pc in self.words(code.clone()) {
            match self.word(pc) {
                Some(i) if i.is_return() => flags |= SymbolRecord::RETURNS,
                Some(i) if i.is_jump() => {
                    // Jumps go to local entries.
                    let plain = entry::global(text, i.target(pc));
                    let target = jumps.target(pc - self.section.pcs.start, plain, &code);
                    flags |= target.map_or(0, |target| exits.kind(target, code.start));
                }
                _ => {}
            }
        }
        flags
    }
}
