//! Places that the running x86 kernel rewrites or reserves, from its tables.
use super::decode::{self, is_unsupported};
use crate::code::sites::{ALTERNATIVES, BUGS, Entries, Entry, JUMP_LABELS, Reader, read_all, site, tables};
use crate::code::{Object, Reading, SiteFacts};
use crate::load::symbols::Symbol;
use probeidx_format::record::{CodeTable, SiteKind};

/// Reads all tables.
pub fn sites(of: &Object<'_, '_, '_>, symbols: &[Symbol<'_>], reading: &mut Reading<'_>) {
    let keeps_checks = of.kernel.keeps_type_checks();
    let counts = |reader: &&&Reader| reader.of != CodeTable::CfiTraps || keeps_checks;
    read_all(READERS.iter().filter(counts).copied(), of, reading);
    // Static calls without inline patching go through trampolines that are rewritten
    // (arch/x86/include/asm/static_call.h): a jump or return of 5 bytes, and a trap of 3.
    let trampolines = symbols.iter().filter(|s| s.name.starts_with(b"__SCT__"));
    let patched = trampolines.map(|s| SiteFacts { start: s.pc, length: 8, kind: SiteKind::Patched as u8 });
    reading.facts.sites.extend(patched);
}

tables! {
    STATIC_CALLS = ".static_call_sites" from "__start_static_call_sites" to "__stop_static_call_sites"
        read by "static_call_text_reserved";
    PARAVIRT = ".parainstructions" from "__parainstructions" to "__parainstructions_end" read by "apply_paravirt";
    RETPOLINES = ".retpoline_sites" from "__retpoline_sites" to "__retpoline_sites_end" read by "apply_retpolines";
    CFI_TRAPS = ".kcfi_traps" from "__start___kcfi_traps" to "__stop___kcfi_traps" read by "is_cfi_trap";
}

const READERS: [&Reader; 7] = [
    &Reader {
        of: CodeTable::JumpLabels,
        table: JUMP_LABELS,
        entries: Entries::Struct("jump_entry", &["code"]),
        read: jump_label,
    },
    &Reader {
        of: CodeTable::StaticCalls,
        table: STATIC_CALLS,
        entries: Entries::Struct("static_call_site", &["addr"]),
        read: static_call,
    },
    &Reader {
        of: CodeTable::Bugs,
        table: BUGS,
        entries: Entries::Struct("bug_entry", &["bug_addr_disp|bug_addr"]),
        read: bug,
    },
    &Reader {
        of: CodeTable::Alternatives,
        table: ALTERNATIVES,
        entries: Entries::Struct("alt_instr", &["instr_offset", "repl_offset", "instrlen", "replacementlen"]),
        read: alternative,
    },
    // The last entry of 5.10 lacks its padding (`_paravirt_alt`, arch/x86/include/asm/paravirt_types.h).
    &Reader {
        of: CodeTable::Paravirt,
        table: PARAVIRT,
        entries: Entries::Unpadded("paravirt_patch_site", &["instr", "len"]),
        read: paravirt,
    },
    &Reader { of: CodeTable::Retpolines, table: RETPOLINES, entries: Entries::References, read: retpoline },
    &Reader { of: CodeTable::CfiTraps, table: CFI_TRAPS, entries: Entries::References, read: cfi_trap },
];

/// A jump of 2 or 5 bytes, or a no-op of that length (`arch_jump_entry_size`).
fn jump_label(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    // To 4.18 three addresses, since then two distances and one (CONFIG_HAVE_ARCH_JUMP_LABEL_RELATIVE; seen on Ubuntu's 4.15).
    let start = match entry.shape.size {
        24 => entry.address("code")?,
        _ => entry.relative("code")?,
    };
    let length = decode::length_of_label(entry.text.at(start)?)?;
    found.push(site(start, length, SiteKind::JumpLabel));
    Some(())
}

/// 5 bytes at the site, whatever the instruction (`static_call_text_reserved`).
fn static_call(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("addr").filter(|pc| entry.text.contains(*pc))?;
    found.push(site(start, 5, SiteKind::StaticCall));
    Some(())
}

/// The address of a trap; since 6.19 also that of the instruction after `lea disp(%rip)`, which passes the address of
/// the entry to a call (`__WARN_printf`, arch/x86/include/asm/bug.h). Kprobes refuse any address in the table,
/// whatever the instruction (`find_bug` in `check_kprobe_address_safe`, kernel/kprobes.c).
fn bug(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    // Without CONFIG_GENERIC_BUG_RELATIVE_POINTERS, as on i386, it is absolute (include/asm-generic/bug.h).
    let start = entry.relative("bug_addr_disp").or_else(|| entry.address("bug_addr"))?;
    let is_trap = decode::is_undefined(entry.text.at(start)?, entry.text.bits);
    if is_trap {
        found.push(site(start, 2, SiteKind::Bug));
    } else if entry.is_declared || is_behind_lea(entry, start) {
        found.push(site(start, 1, SiteKind::Bug));
    } else {
        return None;
    }
    Some(())
}

/// Whether an instruction follows a `lea` of the entry's address; in a module, any `lea`.
fn is_behind_lea(entry: &Entry<'_, '_>, pc: u32) -> bool {
    let lea = pc.checked_sub(decode::LEA).and_then(|pc| entry.text.at(pc));
    let Some(distance) = lea.and_then(decode::distance_of_lea) else { return false };
    let own = entry.table.start().and_then(|start| start.checked_add(entry.at as u32));
    entry.table.is_relocated() || own == Some(pc.wrapping_add_signed(distance))
}

/// `struct alt_instr` (arch/x86/include/asm/alternative.h).
fn alternative(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let text = entry.text;
    let start = entry.relative("instr_offset").filter(|pc| text.contains(*pc))?;
    let (length, replaced_by) = (entry.byte("instrlen")?, entry.byte("replacementlen")?);
    // To 5.10 an empty replacement is nowhere: in a module, no relocation gives its place (`_static_cpu_has`,
    // arch/x86/include/asm/cpufeature.h; seen on Ubuntu's 5.4).
    let replacement = match replaced_by {
        0 => None,
        _ => Some(entry.relative("repl_offset").filter(|pc| text.contains(*pc))?),
    };
    if replaced_by > length {
        return None;
    }
    if length > 0 {
        let first = |pc| text.at(pc).is_some_and(|code| is_unsupported(code, text.bits));
        let whole = first(start) || replacement.is_some_and(first);
        found.push(site(start, length, if whole { SiteKind::PatchedWhole } else { SiteKind::Patched }));
    }
    Some(())
}

/// `struct paravirt_patch_site` to 6.7. Its indirect call is always replaced.
fn paravirt(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.address("instr").filter(|pc| entry.text.contains(*pc))?;
    found.push(site(start, entry.byte("len")?, SiteKind::Patched));
    Some(())
}

/// A call or jump to a thunk, which may become an indirect one with a barrier.
fn retpoline(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.reference()?;
    let length = decode::length_of_branch(entry.text.at(start)?, entry.text.bits)?;
    found.push(site(start, length, SiteKind::Patched));
    Some(())
}

/// The two instructions that load and compare the type before a trap must not be probed (`can_probe`, 6.6).
fn cfi_trap(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let trap = entry.reference().filter(|pc| entry.text.contains(*pc))?;
    found.extend(BEFORE_CFI_TRAP.map(|before| site(trap.saturating_sub(before), 1, SiteKind::Unsupported)));
    Some(())
}

/// Distances of those two instructions from the trap.
pub const BEFORE_CFI_TRAP: [u32; 2] = [12, 6];
