//! Where instructions start and which can be probed, by the kernel's own rules: it decodes from the symbol that
//! contains an address (`arch_check_kprobe`, arch/riscv/kernel/probes/kprobes.c).
use super::Instruction;
use super::entry;
use super::sites::Alternatives;
use crate::code::exits::{self, Exits, Jumps};
use crate::code::text::{CodeSection, Text};
use crate::code::{SiteFacts, extent, symbol_starts};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use probeidx_format::record::{SiteKind, SiteRecord, SymbolRecord, TableSet};
use std::ops::Range;

/// What the running kernel patches.
pub struct Patched<'a> {
    /// The ranges of no-ops that become two instructions of four bytes; sorted.
    pub entries: &'a [(u32, u32)],
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
    patched: &Patched<'_>,
    sites: &mut Vec<SiteFacts>,
) -> Vec<(u32, Vec<u8>)> {
    let starts = symbol_starts(symbols);
    let exits = Exits::new(object, symbols);
    let mut marks: Vec<(u32, u16)> = vec![];
    let mut bits = vec![];
    for section in text.sections().iter().filter(|s| s.is_whole() && s.pcs.len() >= 2) {
        let code = Code { section, patched };
        let mut boundaries = vec![0u8; section.pcs.len().div_ceil(8)];
        let first = starts.partition_point(|s| *s < section.pcs.start);
        let own = starts[first..].iter().take_while(|s| section.pcs.contains(*s));
        let mut start = section.pcs.start;
        for next in own.copied().chain([section.pcs.end]) {
            for (pc, instruction) in code.instructions(start..next) {
                let offset = (pc - section.pcs.start) as usize;
                boundaries[offset / 8] |= 1 << (offset % 8);
                let Some(instruction) = instruction else { continue };
                sites.extend(code.refused(pc, instruction));
                let length = instruction.length() as u8;
                let may_be = (patched.may_be)(instruction);
                sites.extend(may_be.iter().map(|table| SiteFacts {
                    start: pc,
                    length,
                    kind: SiteRecord::MAY_BE + table as u8,
                }));
            }
            if start < next && starts.binary_search(&start).is_ok() {
                let end = start + extent::of_symbol(symbols, start, next - start);
                marks.push((start, code.exits(object, start..end, &exits)));
            }
            start = next;
        }
        bits.push((section.pcs.start, boundaries));
    }
    sites.extend(&patched.alternatives.unlike);
    exits::mark(symbols, marks);
    bits
}

struct Code<'a, 'd> {
    section: &'a CodeSection<'d>,
    patched: &'a Patched<'a>,
}

impl Code<'_, '_> {
    fn at(&self, pc: u32) -> Option<Instruction> {
        Instruction::first(self.section.bytes.get((pc - self.section.pcs.start) as usize..)?)
    }

    /// The instructions in a symbol as the kernel counts them; `None` for those that ftrace writes or that are cut
    /// off.
    fn instructions(&self, symbol: Range<u32>) -> impl Iterator<Item = (u32, Option<Instruction>)> {
        const HALF: u32 = entry::LENGTH / 2;
        let entries = self.patched.entries;
        let mut next = entries.partition_point(|e| e.0 < symbol.start);
        let mut pc = symbol.start;
        std::iter::from_fn(move || {
            while entries.get(next).is_some_and(|e| e.0.saturating_add(HALF) < pc) {
                next += 1;
            }
            let at = Some(pc).filter(|pc| *pc < symbol.end)?;
            let is_patched = entries.get(next).is_some_and(|e| pc == e.0 || pc - HALF == e.0);
            let instruction = if is_patched { None } else { self.at(pc) };
            pc = pc.saturating_add(instruction.map_or(HALF, Instruction::length));
            Some((at, instruction))
        })
    }

    /// The site of an instruction that cannot be probed, or only on some processors.
    fn refused(&self, pc: u32, instruction: Instruction) -> Option<SiteFacts> {
        let refused = instruction.is_refused_by_kprobes();
        let others = self.patched.alternatives.by_address.get(&pc).map_or(&[][..], Vec::as_slice);
        let is_sure = others.iter().all(|other| other.is_refused_by_kprobes() == refused);
        let kind = match (refused, is_sure) {
            (false, true) => return None,
            (true, true) => SiteKind::Unsupported,
            (_, false) => SiteKind::PatchedWhole,
        };
        Some(SiteFacts { start: pc, length: 1, kind: kind as u8 })
    }

    /// The flags for the exits of a function.
    fn exits(&self, object: &Elf<'_>, code: Range<u32>, exits: &Exits<'_, '_>) -> u16 {
        let jumps = Jumps::new(object, self.section.index);
        let target = |pc: u32, plain: u32| jumps.target(pc - self.section.pcs.start, plain, &code);
        let mut flags = 0;
        for (pc, instruction) in self.instructions(code.clone()) {
            let Some(instruction) = instruction else { continue };
            if instruction.is_return() {
                flags |= SymbolRecord::RETURNS;
                continue;
            }
            let next = || self.at(pc.checked_add(4)?);
            let far = || next().and_then(|next| instruction.far_jump(next, pc));
            if let Some(target) = instruction.jump(pc).or_else(far).and_then(|plain| target(pc, plain)) {
                flags |= exits.kind(target, code.start);
            }
        }
        flags
    }
}
