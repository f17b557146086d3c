//! Judges each instruction by itself, as `arch_prepare_kprobe` does (arch/arm/probes/kprobes/core.c). That takes data between
//! functions for instructions too; here none starts there.
use super::sites::Alternatives;
use super::{Decoder, Instruction, LENGTH};
use crate::code::exits::{self, Exits, Jumps, Target};
use crate::code::text::{CodeSection, Text};
use crate::code::{SiteFacts, extent, symbol_starts};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use probeidx_format::record::{SiteKind, SiteRecord, SymbolRecord, TableSet};
use std::ops::Range;

/// What decides whether an instruction can be probed.
pub struct Rules<'a> {
    pub decoder: &'a Decoder,
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
    let mapping = mapping(object);
    let mut marks: Vec<(u32, u16)> = vec![];
    let mut bits = vec![];
    for section in text.sections().iter().filter(|s| s.is_whole()) {
        let code = Code { section, mapping: &mapping };
        bits.push((section.pcs.start, code.judge(rules, sites)));
        let first = starts.partition_point(|s| *s < section.pcs.start);
        let own = starts[first..].iter().take_while(|s| section.pcs.contains(*s));
        for (at, start) in (first..).zip(own) {
            let next = starts.get(at + 1).map_or(section.pcs.end, |next| section.pcs.end.min(*next));
            let end = start + extent::of_symbol(symbols, *start, next - start);
            marks.push((*start, code.exits(object, *start..end, &exits)));
        }
    }
    exits::mark(symbols, marks);
    bits
}

/// Where data and where code starts, sorted: mapping symbols (ELF for the Arm Architecture, 5.5.5).
fn mapping(object: &Elf<'_>) -> Vec<(u32, bool)> {
    let mut found: Vec<(u32, bool)> = vec![];
    for symbol in object.symbols {
        let is_data = match object.symbol_name(symbol) {
            b"$d" | [b'$', b'd', b'.', ..] => true,
            b"$a" | [b'$', b'a', b'.', ..] => false,
            _ => continue,
        };
        let pc = match object.is_relocatable {
            true => Some(object.symbol_address(symbol)),
            false => symbol.st_value.get(object.order).checked_sub(object.base),
        };
        found.extend(pc.and_then(|pc| u32::try_from(pc).ok()).map(|pc| (pc, is_data)));
    }
    found.sort_unstable();
    found
}

struct Code<'a, 'd> {
    section: &'a CodeSection<'d>,
    mapping: &'a [(u32, bool)],
}

impl Code<'_, '_> {
    /// The aligned instructions in a range, without the data between them.
    fn instructions(&self, code: Range<u32>) -> impl Iterator<Item = (u32, Instruction)> {
        let section = self.section.pcs.start;
        let first = (code.start - section).next_multiple_of(LENGTH);
        let bytes = self.section.bytes.get(first as usize..(code.end - section) as usize).unwrap_or_default();
        let words = bytes.chunks_exact(LENGTH as usize).filter_map(Instruction::first);
        let first = first.saturating_add(section);
        let mut next = self.mapping.partition_point(|(pc, _)| *pc <= first);
        let before = next.checked_sub(1).map(|at| self.mapping[at]);
        let mut is_data = before.is_some_and(|(pc, is_data)| is_data && pc >= section);
        (first..).step_by(LENGTH as usize).zip(words).filter(move |(pc, _)| {
            while let Some((_, is)) = self.mapping.get(next).filter(|(start, _)| start <= pc) {
                is_data = *is;
                next += 1;
            }
            !is_data
        })
    }

    /// Appends the instructions that cannot be probed, and returns a bit for every byte: whether an instruction starts there.
    fn judge(&self, rules: &Rules<'_>, sites: &mut Vec<SiteFacts>) -> Vec<u8> {
        let mut boundaries = vec![0u8; self.section.pcs.len().div_ceil(8)];
        for (pc, instruction) in self.instructions(self.section.pcs.clone()) {
            let offset = (pc - self.section.pcs.start) as usize;
            boundaries[offset / 8] |= 1 << (offset % 8);
            let refused = rules.decoder.refuses(instruction);
            let other = rules.alternatives.get(&pc).map(|other| rules.decoder.refuses(*other));
            let kind = match (refused, other) {
                (refused, Some(other)) if other != refused => Some(SiteKind::PatchedWhole),
                (true, _) => Some(SiteKind::Unsupported),
                (false, _) if instruction.is_conditional() => Some(SiteKind::Conditional),
                (false, _) => None,
            };
            sites.extend(kind.map(|kind| SiteFacts { start: pc, length: 1, kind: kind as u8 }));
            sites.extend((rules.may_be)(instruction).iter().map(|table| SiteFacts {
                start: pc,
                length: LENGTH as u8,
                kind: SiteRecord::MAY_BE + table as u8,
            }));
        }
        boundaries
    }

    /// The flags for the exits of a function.
    fn exits(&self, object: &Elf<'_>, code: Range<u32>, exits: &Exits<'_, '_>) -> u16 {
        let jumps = Jumps::new(object, self.section.index);
        let mut flags = 0;
        for (pc, instruction) in self.instructions(code.clone()) {
            if instruction.is_return() {
                flags |= SymbolRecord::RETURNS;
            } else if instruction.is_jump() {
                let target = match jumps.target(pc - self.section.pcs.start, instruction.target(pc), &code) {
                    // The addend is from where the program counter is read (R_ARM_JUMP24, ELF for the Arm Architecture).
                    Some(Target::Symbol(index, addend)) => Some(Target::Symbol(index, addend + 8)),
                    target => target,
                };
                flags |= target.map_or(0, |target| exits.kind(target, code.start));
            }
        }
        flags
    }
}
