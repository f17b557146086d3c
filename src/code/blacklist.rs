//! The kernel's own list of areas closed to kprobes, as `/sys/kernel/debug/kprobes/blacklist` prints it.
use super::rules::Kernel;
use super::table::{TableName, Tables};
use super::{RefusedFacts, symbol_starts};
use crate::error::{Error, Result};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, Machine};
use probeidx_format::record::RefusedBy;
use std::ops::Range;

const NOKPROBE: TableName = TableName {
    section: "_kprobe_blacklist",
    start: "__start_kprobe_blacklist",
    stop: "__stop_kprobe_blacklist",
    reader: "within_kprobe_blacklist",
};

/// An area: the reason for refusal, the symbols that bound it in vmlinux, its section in a module.
struct Area(RefusedBy, &'static str, &'static str, &'static str);

const AREAS: [Area; 2] = [
    Area(RefusedBy::KprobesText, "__kprobes_text_start", "__kprobes_text_end", ".kprobes.text"),
    Area(RefusedBy::NoinstrText, "__noinstr_text_start", "__noinstr_text_end", ".noinstr.text"),
];

/// The areas that `arch_populate_kprobe_blacklist` adds (arch/x86/kernel/kprobes/core.c,
/// arch/arm64/kernel/probes/kprobes.c, arch/s390/kernel/kprobes.c, 5.4 to 6.12). `.idmap.text` is left out because
/// it lies behind the text (6.4). Kernels that run in hypervisor mode leave out `.hyp.idmap.text`; the mode is
/// unknown here, but there its code never runs.
fn areas_of(machine: u16, kernel: &Kernel<'_>) -> &'static [(&'static str, &'static str)] {
    match Machine(machine) {
        EM_X86_64 | EM_386 if kernel.opens_irq_entries() => &[("__entry_text_start", "__entry_text_end")],
        EM_X86_64 | EM_386 => {
            &[("__irqentry_text_start", "__irqentry_text_end"), ("__entry_text_start", "__entry_text_end")]
        }
        EM_AARCH64 => &[
            ("__entry_text_start", "__entry_text_end"),
            ("__irqentry_text_start", "__irqentry_text_end"),
            ("__idmap_text_start", "__idmap_text_end"),
            ("__hyp_text_start", "__hyp_text_end"),
            ("__hyp_idmap_text_start", "__hyp_idmap_text_end"),
        ],
        // arch/riscv/kernel/probes/kprobes.c, 6.12 and 7.2
        EM_S390 | EM_RISCV => &[("__irqentry_text_start", "__irqentry_text_end")],
        _ => &[],
    }
}

/// The areas that are refused without being listed (`arch_within_kprobe_blacklist`; arch/powerpc/kernel/kprobes.c, 6.1 to 7.2;
/// arch/arm/probes/kprobes/core.c, 5.10 to 7.2).
fn unlisted_of(machine: u16) -> &'static [(&'static str, &'static str)] {
    match Machine(machine) {
        EM_PPC64 => &[("_stext", "__head_end")],
        EM_ARM => &[
            ("__irqentry_text_start", "__irqentry_text_end"),
            ("__entry_text_start", "__entry_text_end"),
            ("__idmap_text_start", "__idmap_text_end"),
        ],
        _ => &[],
    }
}

/// The ranges, in the order of the list (`populate_kprobe_blacklist`, `add_module_kprobe_blacklist`,
/// kernel/kprobes.c); and the error of the table of functions, without which the areas are still known.
pub fn refused(
    object: &Elf<'_>,
    tables: &Tables<'_, '_>,
    symbols: &[Symbol<'_>],
    is_module: bool,
    kernel: &Kernel<'_>,
) -> (Vec<RefusedFacts>, Option<Error>) {
    let mut starts = symbol_starts(symbols);
    if is_module {
        // The last symbol of a section ends with it: the next section here is not the next in memory.
        starts.extend(object.sections.iter().filter_map(|s| s.pc?.checked_add(s.size() as u32)));
        starts.sort_unstable();
        starts.dedup();
    }
    let (named, fault) = match functions(tables) {
        Ok(entries) => (entries, None),
        Err(error) => (vec![], Some(error)),
    };
    // Symbols outside of all text are skipped (`kernel_text_address`): arm64 has some in `.rodata.text`.
    let core = tables.area("_stext", "_etext", "");
    let init = tables.area("_sinittext", "_einittext", "");
    let is_text = |pc: u32| {
        core.as_ref().is_none_or(|core| core.contains(&pc) || init.as_ref().is_some_and(|i| i.contains(&pc)))
    };
    let named = named.into_iter().filter(|entry| is_text(*entry));
    let mut found: Vec<_> =
        named.filter_map(|entry| whole_symbol(&starts, entry, RefusedBy::Nokprobe)).collect();
    for Area(source, start, stop, section) in AREAS {
        if source == RefusedBy::NoinstrText && !kernel.closes_noinstr() {
            continue;
        }
        found.extend(
            tables.area(start, stop, section).into_iter().flat_map(|a| symbols_of(&starts, a, source)),
        );
    }
    let areas = if is_module { &[] } else { areas_of(object.machine, kernel) };
    for (start, stop) in areas {
        let area = tables.area(start, stop, "").filter(|area| is_text(area.start)).into_iter();
        found.extend(area.flat_map(|a| symbols_of(&starts, a, RefusedBy::EntryText)));
    }
    let unlisted = if is_module { &[] } else { unlisted_of(object.machine) };
    for (start, stop) in unlisted {
        let area = tables.area(start, stop, "").into_iter();
        let source = RefusedBy::Head as u32;
        found.extend(area.map(|Range { start, end }| RefusedFacts { start, end, source }));
    }
    (found, fault)
}

/// The functions marked with `NOKPROBE_SYMBOL`.
fn functions(tables: &Tables<'_, '_>) -> Result<Vec<u32>> {
    let Some(table) = tables.table(&NOKPROBE)? else { return Ok(vec![]) };
    Ok(table.addresses()?.collect())
}

/// An entry and the extent of the symbol that contains it, up to the next symbol (`kprobe_add_ksym_blacklist`).
fn whole_symbol(starts: &[u32], entry: u32, source: RefusedBy) -> Option<RefusedFacts> {
    let after = starts.partition_point(|s| *s <= entry);
    let start = *starts.get(after.checked_sub(1)?)?;
    let end = entry.checked_add(starts.get(after)? - start)?;
    Some(RefusedFacts { start: entry, end, source: source as u32 })
}

/// The symbols of an area (`kprobe_add_area_blacklist`).
fn symbols_of(starts: &[u32], area: Range<u32>, source: RefusedBy) -> impl Iterator<Item = RefusedFacts> {
    let mut entry = area.start;
    std::iter::from_fn(move || {
        let found = whole_symbol(starts, entry, source).filter(|_| entry < area.end)?;
        entry = found.end;
        Some(found)
    })
}
