//! x86-64 and i386: instructions of any length, patched over by many tables.
mod candidates;
mod decode;
mod sites;
mod uprobe;

use super::rules::{Evidence, code_of};
use super::table::Tables;
use super::text::Text;
use super::{CodeFacts, Object, Reading, SiteFacts, mark_traced};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use candidates::Candidates;
use iced_x86::Instruction;
use probeidx_format::record::{CodeTable, SiteKind, SymbolRecord};
use std::collections::HashSet;

/// Reads the code and tables of a kernel object.
pub fn read(of: &Object<'_, '_, '_>, symbols: &mut [Symbol<'_>], reading: &mut Reading<'_>) {
    let Object { object, text, tables, .. } = *of;
    let mut traced = tables.ftrace().unwrap_or_else(|error| {
        reading.lacks(CodeTable::Ftrace, error);
        vec![]
    });
    traced.retain(|pc| of.stays(*pc));
    mark_traced(symbols, &traced, text, |pc| {
        let has_endbr = text.at(pc).is_some_and(|code| code.starts_with(&ENDBR64));
        match has_endbr {
            true => (SymbolRecord::ENDBR, pc.saturating_add(ENDBR64.len() as u32)),
            false => (0, pc),
        }
    });
    sites::sites(of, symbols, reading);
    let CodeFacts { sites, unread, .. } = &mut *reading.facts;
    let bug = of.kernel.shapes.get("bug_entry");
    let candidates =
        Candidates::new(*unread, traced, bug.is_none_or(|bug| bug.offset("format_disp").is_some()));
    let refuses = match of.kernel.emulates() {
        true => decode::refuses_to_emulate,
        false => decode::refuses_to_step,
    };
    reading.facts.boundaries = decode::decode(object, text, symbols, refuses, &candidates, sites);
}

/// See [`running::instructions`](super::running::instructions). `code` starts with the part.
pub fn running(code: &[u8], length: usize, bits: u32, emulates: bool) -> Vec<(u32, Option<SiteKind>)> {
    let refuses = if emulates { decode::refuses_to_emulate } else { decode::refuses_to_step };
    decode::part(code, length, bits, refuses)
}

/// Whether a symbol is one of the functions that emulate instructions. They are only called through pointers, so each has a symbol
/// (arch/x86/kernel/kprobes/core.c, 5.13).
pub fn is_emulation(name: &str) -> bool {
    name.starts_with("kprobe_emulate_")
}

/// Decodes the code of a program or shared library.
pub fn read_user(
    object: &Elf<'_>,
    text: &Text<'_>,
    symbols: &mut [Symbol<'_>],
    sites: &mut Vec<SiteFacts>,
) -> Vec<(u32, Vec<u8>)> {
    let refuses = |instruction: &Instruction, bytes: &[u8]| {
        uprobe::refuses(instruction, bytes).then_some(SiteKind::Unsupported)
    };
    decode::decode(object, text, symbols, refuses, &Candidates::default(), sites)
}

/// Which rules the kernel has, from functions of vmlinux (arch/x86/kernel/kprobes/core.c). Emulating functions are
/// only called through pointers, so each has a symbol (5.13). A call of `is_cfi_trap` shows that kCFI checks are
/// refused (6.6). What fills the blacklist names the bounds of the areas that it has ([`blacklist`](super::blacklist)).
pub fn evidence(base: u64, symbols: &[Symbol<'_>], text: &Text<'_>, tables: &Tables<'_, '_>) -> Evidence {
    const LISTING: [&[u8]; 3] =
        [b"arch_populate_kprobe_blacklist", b"populate_kprobe_blacklist", b"init_kprobes"];
    const CHECKS: [&[u8]; 3] = [b"can_probe", b"arch_prepare_kprobe", b"register_kprobe"];
    let has = |name: &[u8]| symbols.iter().any(|s| s.name.starts_with(name));
    let has_kprobes = has(b"arch_prepare_kprobe");
    let trap = symbols.iter().find(|s| s.name == b"is_cfi_trap").map(|s| u64::from(s.pc));
    let codes =
        |names: [&'static [u8]; 3]| names.into_iter().filter_map(|name| code_of(symbols, text, &[name]));
    let calls = |trap: u64| codes(CHECKS).any(|(pc, code)| decode::calls(code, pc, trap, text.bits));
    let named: HashSet<u32> =
        codes(LISTING).flat_map(|(pc, code)| decode::addresses(code, pc, base, text.bits)).collect();
    let are_named = |[start, stop]: [&str; 2]| {
        let bounds = [tables.bound(start)?, tables.bound(stop)?];
        Some(bounds.map(|bound| named.contains(&bound)))
    };
    // Only if the code names what each kernel lists beside an area, it names all that this one does.
    let closes = |area: [&str; 2], beside: [&str; 2]| match are_named(area)? {
        [true, true] => Some(true),
        [false, false] if are_named(beside) == Some([true; 2]) => Some(false),
        _ => None,
    };
    Evidence {
        closes_noinstr: closes(
            ["__noinstr_text_start", "__noinstr_text_end"],
            ["__kprobes_text_start", "__kprobes_text_end"],
        ),
        opens_irq_entries: closes(
            ["__irqentry_text_start", "__irqentry_text_end"],
            ["__entry_text_start", "__entry_text_end"],
        )
        .map(|closes| !closes),
        emulates: has_kprobes.then(|| has(b"kprobe_emulate_")),
        keeps_type_checks: trap.filter(|_| has_kprobes).map(calls),
        ..Evidence::default()
    }
}

/// The landing pad of indirect branches.
pub const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
