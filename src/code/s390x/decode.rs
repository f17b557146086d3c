//! Where instructions start, and which of them can be probed (`can_probe`, `arch_prepare_kprobe`,
//! arch/s390/kernel/kprobes.c): the kernel decodes from the symbol that contains an address.
use super::{Instruction, Opcodes};
use crate::code::exits::{self, Exits, Jumps, Target};
use crate::code::text::{CodeSection, Text};
use crate::code::{SiteFacts, extent, symbol_starts};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use probeidx_format::record::{SiteKind, SiteRecord, SymbolRecord, TableSet};
use std::ops::Range;

/// The kind of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It can be probed.
    Probed,
    /// It cannot be probed.
    Refused,
}

/// The instructions in some code as the kernel decodes them, each with its offset and kind.
pub fn instructions<'a>(
    code: &'a [u8],
    opcodes: Option<&'a Opcodes>,
) -> impl Iterator<Item = (u32, Instruction, Start)> + use<'a> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let at: u32 = next?;
        let instruction = Instruction::first(code.get(at as usize..)?)?;
        next = (!instruction.ends_decoding()).then_some(at + instruction.length());
        let is_known = opcodes.is_none_or(|o| o.knows(instruction));
        let is_probed = is_known && !instruction.is_prohibited();
        Some((at, instruction, if is_probed { Start::Probed } else { Start::Refused }))
    })
}

/// What decides whether an instruction can be probed.
pub struct Rules<'a> {
    /// The known instructions; `None` if the kernel's tables are unavailable, when all count as known.
    pub opcodes: Option<&'a Opcodes>,
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
        let mut boundaries = vec![0u8; section.pcs.len().div_ceil(8)];
        let first = starts.partition_point(|s| *s < section.pcs.start);
        let own = starts[first..].iter().take_while(|s| section.pcs.contains(*s)).copied();
        let ends = own.clone().skip(1).chain([section.pcs.end]);
        // No instruction starts at an odd address.
        for (start, next) in own.zip(ends).filter(|(start, _)| start.is_multiple_of(2)) {
            let code = &section.bytes[(start - section.pcs.start) as usize..section.pcs.len()];
            let own = instructions(code, rules.opcodes).take_while(|i| i.0 < next - start);
            for (offset, instruction, found) in own {
                let (start, bit) = (start + offset, (start - section.pcs.start + offset) as usize);
                boundaries[bit / 8] |= 1 << (bit % 8);
                if found == Start::Refused {
                    sites.push(SiteFacts { start, length: 1, kind: SiteKind::Unsupported as u8 });
                }
                let (may_be, length) = ((rules.may_be)(instruction), instruction.length() as u8);
                let kinds = may_be.iter().map(|table| SiteRecord::MAY_BE + table as u8);
                sites.extend(kinds.map(|kind| SiteFacts { start, length, kind }));
            }
            let end = start + extent::of_symbol(symbols, start, next - start);
            marks.push((start, exits_of(object, section, start..end, &exits)));
        }
        bits.push((section.pcs.start, boundaries));
    }
    exits::mark(symbols, marks);
    bits
}

/// The flags for the exits of a function.
fn exits_of(object: &Elf<'_>, section: &CodeSection<'_>, code: Range<u32>, exits: &Exits<'_, '_>) -> u16 {
    /// A relocation applies to the four bytes after the opcode; the value stored there counts from the opcode.
    const OPERAND: u32 = 2;
    let jumps = Jumps::new(object, section.index);
    let within = (code.start - section.pcs.start) as usize..(code.end - section.pcs.start) as usize;
    let mut flags = 0;
    for (offset, instruction, _) in instructions(section.bytes.get(within).unwrap_or_default(), None) {
        let pc = code.start + offset;
        if instruction.is_return() {
            flags |= SymbolRecord::RETURNS;
        }
        let Some(target) = instruction.jumps_to(pc) else { continue };
        let target = match jumps.target(pc - section.pcs.start + OPERAND, target, &code) {
            Some(Target::Symbol(symbol, addend)) => {
                Target::Symbol(symbol, addend.wrapping_sub(OPERAND.into()))
            }
            Some(target) => target,
            None => continue,
        };
        flags |= exits.kind(target, code.start);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_followed_behind_a_breakpoint() {
        // brcl 0,0; stnsm; breakpoint; br %r14
        let code = [0xc0, 0x04, 0, 0, 0, 0, 0xac, 0xfc, 0xf0, 0xa0, 0x00, 0x02, 0x07, 0xfe];
        let found: Vec<_> = instructions(&code, None).map(|(at, _, start)| (at, start)).collect();
        assert_eq!(found, [(0, Start::Probed), (6, Start::Refused), (10, Start::Probed)]);
    }

    #[test]
    fn an_instruction_that_is_cut_off_is_one() {
        let found: Vec<u32> = instructions(&[0x07, 0x07, 0xc0], None).map(|i| i.0).collect();
        assert_eq!(found, [0]);
        assert_eq!(instructions(&[0xc0, 0x04, 0], None).count(), 1);
    }
}
