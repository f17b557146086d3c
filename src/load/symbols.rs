//! Symbol tables: what the kernel keeps of them at run time, and in which order. Every symbol of a user object is
//! kept.
use super::config::KernelConfig;
use super::elf::{Elf, Section};
use super::object_kind::ObjectKind;
use crate::version::Version;
use object::Endianness;
use object::elf::{STB_GLOBAL, STB_WEAK, STT_FILE, STT_NOTYPE, STT_SECTION, STT_TLS, Sym64};
use probeidx_format::record::SymbolRecord;
use rustc_hash::FxHashSet;

/// A symbol of an object.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'d> {
    pub name: &'d [u8],
    pub pc: u32,
    pub size: u32,
    /// The position among the object's allocated sections.
    pub section: u16,
    /// As in the format's symbol record.
    pub flags: u16,
}

impl Symbol<'_> {
    /// Whether the kernel finds it by address: it is kept and not absolute.
    pub fn is_looked_up(&self) -> bool {
        self.flags & SymbolRecord::KEPT != 0 && self.section != SymbolRecord::ABSOLUTE
    }
    /// Whether it is an `STT_FUNC`.
    pub fn is_function(&self) -> bool {
        self.flags & SymbolRecord::TYPE == SymbolRecord::FUNC
    }
}

/// Which symbols a kernel keeps.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Whether data symbols are kept (CONFIG_KALLSYMS_ALL). Assumed if the configuration is unknown: most kernels
    /// have it.
    pub has_data: bool,
    /// Whether symbols of arm64 hypervisor code are kept: since 6.0.
    has_hypervisor: bool,
    /// Whether the linker promoted local functions under unique names (CONFIG_LTO_CLANG).
    has_promoted: bool,
}

impl Kept {
    pub fn of(version: Option<Version>, config: Option<&KernelConfig>) -> Self {
        Self {
            has_data: config.is_none_or(|c| c.has("KALLSYMS_ALL")),
            has_hypervisor: version.is_none_or(|v| v >= (6, 0)),
            has_promoted: config.is_some_and(|c| c.has("LTO_CLANG")),
        }
    }
}

/// The symbols of an object by address; symbols at one address are in the order of the kernel's own table.
pub fn symbols<'d>(object: &Elf<'d>, of: ObjectKind<'_>, kept: &Kept) -> Vec<Symbol<'d>> {
    let (is_module, is_user) = (matches!(of, ObjectKind::Module(_)), matches!(of, ObjectKind::User(_)));
    let mut positions = vec![SymbolRecord::ABSOLUTE; object.sections.len()];
    for (position, (index, _)) in
        object.sections.iter().enumerate().filter(|(_, s)| s.pc.is_some()).enumerate()
    {
        positions[index] = position as u16;
    }
    let cuts_promoted = of == ObjectKind::Vmlinux && kept.has_promoted && cuts_promoted(object);
    let named = |s: &&object::elf::Sym64<_>| !object.symbol_name(s).is_empty();
    let exported: FxHashSet<&[u8]> = object
        .symbols
        .iter()
        .filter(named)
        .filter_map(|s| object.symbol_name(s).strip_prefix(b"__ksymtab_"))
        .collect();
    let mut found: Vec<(u32, Rank<'_>, Symbol<'d>)> = vec![];
    for (order, symbol) in object.symbols.iter().enumerate() {
        let whole = object.symbol_name(symbol);
        // `memcpy@@GLIBC_2.14`: the linker's spelling of a versioned name.
        let name = match of {
            ObjectKind::User(_) => whole.split(|b| *b == b'@').next().unwrap_or_default(),
            ObjectKind::Vmlinux if cuts_promoted => without_promotion(whole),
            _ => whole,
        };
        let index = symbol.st_shndx.get(object.order).0;
        let (kind, binding) = (symbol.st_info.0 & 0xf, symbol.st_info.0 >> 4);
        let is_absolute = index == SymbolRecord::ABSOLUTE;
        if name.is_empty() || index == 0 || kind == STT_SECTION.0 || kind == STT_FILE.0 {
            continue;
        }
        // RISC-V's modules have millions of labels.
        let is_label = kind == STT_NOTYPE.0 && !is_no_label(name);
        if (is_user && kind == STT_TLS.0) || (is_module && is_label) {
            continue;
        }
        let section = object.sections.get(usize::from(index));
        if is_module && only_loads(name, section.map(|s| s.name)) {
            continue;
        }
        let pc = match section {
            _ if is_absolute => u32::try_from(symbol.st_value.get(object.order)).ok(),
            section => section.and_then(|section| place(object, section, symbol)),
        };
        let Some(pc) = pc else { continue };
        let mut flags = u16::from(kind) | u16::from(binding.min(3)) << SymbolRecord::BIND_SHIFT;
        if exported.contains(name) {
            flags |= SymbolRecord::EXPORTED;
        }
        let is_kept = match of {
            // Functions of Swift start with `$s`; labels have no type.
            ObjectKind::User(_) => kind != STT_NOTYPE.0 || is_no_label(name),
            _ => is_kept(name, section.map(|s| s.name), is_module, kept),
        };
        if is_kept {
            flags |= SymbolRecord::KEPT;
        }
        // The kernel image has many symbols that only its build needed. A module's `.init` symbols exist while it
        // loads.
        if !is_module && flags & SymbolRecord::KEPT == 0 {
            continue;
        }
        let section = if is_absolute { SymbolRecord::ABSOLUTE } else { positions[usize::from(index)] };
        let size = symbol.st_size.get(object.order).try_into().unwrap_or(u32::MAX);
        let rank = match of {
            ObjectKind::Vmlinux => Rank::kernel(name, binding == STB_WEAK.0),
            ObjectKind::Module(_) => Rank::Module(order),
            ObjectKind::User(_) => Rank::user(name, size, binding),
        };
        found.push((pc, rank, Symbol { name, pc, size, section, flags }));
    }
    found.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    if of == ObjectKind::Vmlinux && !kept.has_data {
        keep_code_only(found.iter_mut().map(|f| &mut f.2));
    }
    // Names that differed only in their version.
    found.dedup_by(|a, b| is_user && (a.0, a.2.name) == (b.0, b.2.name));
    found.into_iter().map(|(_, _, symbol)| symbol).collect()
}

/// Suffix, followed by a number, that clang's linker (LTO) gives to local functions called from another unit.
const PROMOTED: &[u8] = b".llvm.";

/// Whether the kernel cuts that suffix wherever it prints or looks up its own names (`cleanup_symbol_name`,
/// kernel/kallsyms.c, 5.13 to 6.10; before 6.6 mainline cut at the first dot). Such a kernel contains the suffix as a
/// string.
fn cuts_promoted(object: &Elf<'_>) -> bool {
    let text = [PROMOTED, b"\0"].concat();
    let constants = object.sections.iter().filter(|s| s.name.starts_with(".rodata"));
    constants.filter_map(|s| s.data().ok()).any(|data| memchr::memmem::find(&data, &text).is_some())
}

/// The name without clang's suffix.
fn without_promotion(name: &[u8]) -> &[u8] {
    memchr::memmem::find(name, PROMOTED).map_or(name, |at| &name[..at])
}

/// Marks the symbols of vmlinux outside of the two code areas as not kept (`symbol_valid`, scripts/kallsyms.c, 5.10
/// to 6.12). On arm64 `_text` is one of them.
fn keep_code_only<'s, 'd: 's>(symbols: impl Iterator<Item = &'s mut Symbol<'d>>) {
    const AREAS: [[&[u8]; 2]; 2] = [[b"_stext", b"_etext"], [b"_sinittext", b"_einittext"]];
    let mut symbols: Vec<_> = symbols.collect();
    let bound = |name: &[u8]| symbols.iter().find(|s| s.name == name).map(|s| s.pc);
    let areas = AREAS.map(|[start, end]| bound(start).zip(bound(end)));
    if areas[0].is_none() {
        return;
    }
    for symbol in &mut symbols {
        let is_within = |(area, [_, end_name]): (&Option<(u32, u32)>, &[&[u8]; 2])| {
            area.is_some_and(|(start, end)| {
                (start..end).contains(&symbol.pc) || (symbol.pc == end && symbol.name == *end_name)
            })
        };
        if !areas.iter().zip(&AREAS).any(is_within) {
            symbol.flags &= !SymbolRecord::KEPT;
        }
    }
}

/// The symbols in sections whose names match, by address. Cost: one look at each name.
pub fn symbols_where<'d>(object: &Elf<'d>, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<Symbol<'d>> {
    sorted(object, |symbol| is_wanted(object.symbol_name(symbol)))
}

/// The functions of an object, by address. Cost: one look at each symbol.
pub fn functions<'d>(object: &Elf<'d>) -> Vec<Symbol<'d>> {
    sorted(object, |symbol| {
        let is_function = u16::from(symbol.st_info.0) & SymbolRecord::TYPE == SymbolRecord::FUNC;
        is_function && !object.symbol_name(symbol).is_empty()
    })
}

fn sorted<'d>(object: &Elf<'d>, is_wanted: impl Fn(&Sym64<Endianness>) -> bool) -> Vec<Symbol<'d>> {
    let wanted = object.symbols.iter().filter(|s| is_wanted(s)).filter_map(|symbol| {
        let section = symbol.st_shndx.get(object.order).0;
        let pc = place(object, object.sections.get(usize::from(section))?, symbol)?;
        let size = symbol.st_size.get(object.order).try_into().unwrap_or(u32::MAX);
        let (kind, binding) = (symbol.st_info.0 & 0xf, symbol.st_info.0 >> 4);
        let flags = u16::from(kind) | u16::from(binding.min(3)) << SymbolRecord::BIND_SHIFT;
        Some(Symbol { name: object.symbol_name(symbol), pc, size, section, flags })
    });
    let mut found: Vec<_> = wanted.collect();
    found.sort_unstable_by_key(|s| (s.pc, s.name));
    found
}

/// The address of a symbol in the object's address space.
fn place(object: &Elf<'_>, section: &Section<'_>, symbol: &Sym64<Endianness>) -> Option<u32> {
    let value = symbol.st_value.get(object.order);
    let within = if object.is_relocatable { value } else { value.wrapping_sub(section.address()) };
    u32::try_from(u64::from(section.pc?).wrapping_add(within)).ok()
}

/// The order of symbols at one address.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'a> {
    /// As in the symbol table (`find_kallsyms_symbol`, kernel/module/kallsyms.c).
    Module(usize),
    /// Weak ones after others, linker-script names last, fewer leading underscores first, then by name
    /// (`compare_symbols`, scripts/kallsyms.c, 5.10 to 6.12).
    Kernel { weak: bool, from_linker: bool, underscores: usize, name: &'a [u8] },
    /// With a size before without, global before weak before local, fewer leading underscores first, then by name:
    /// the first is most often the name that other objects call.
    User { no_size: bool, binding: u8, underscores: usize, name: &'a [u8] },
}

impl<'a> Rank<'a> {
    fn user(name: &'a [u8], size: u32, binding: u8) -> Self {
        let binding = [STB_GLOBAL.0, STB_WEAK.0].iter().position(|b| *b == binding).unwrap_or(2) as u8;
        Self::User { no_size: size == 0, binding, underscores: underscores(name), name }
    }
    fn kernel(name: &'a [u8], weak: bool) -> Self {
        let from_linker = name.len() >= 8
            && ([&b"__start_"[..], b"__stop_", b"__end_"].iter().any(|p| name.starts_with(p))
                || (name.starts_with(b"__") && (name.ends_with(b"_start") || name.ends_with(b"_end"))));
        Self::Kernel { weak, from_linker, underscores: underscores(name), name }
    }
}

fn underscores(name: &[u8]) -> usize {
    name.iter().take_while(|b| **b == b'_').count()
}

/// Whether a name is not a mere label: `.L42` is an assembler's label; `$x`, `$d` and on RISC-V `$xrv64i2p1_m2p0…`
/// separate code from data (`is_mapping_symbol`, include/linux/module_symbol.h; scripts/mksysmap).
fn is_no_label(name: &[u8]) -> bool {
    !name.starts_with(b".L") && !name.starts_with(b"$")
}

/// Whether the running kernel keeps the symbol, given CONFIG_KALLSYMS_ALL (scripts/mksysmap and scripts/kallsyms.c;
/// `is_core_symbol` of kernel/module/kallsyms.c).
fn is_kept(name: &[u8], section: Option<&str>, is_module: bool, kept: &Kept) -> bool {
    let starts = |prefixes: &[&[u8]]| prefixes.iter().any(|p| name.starts_with(p));
    if !is_no_label(name) || starts(&[b"L0\x01"]) {
        return false;
    }
    if is_module {
        return section.is_some_and(|s| !s.starts_with(".init") && s != ".modinfo" && s != "__versions");
    }
    !starts(&[
        b"__crc_",
        b"__kstrtab_",
        b"__kstrtabns_",
        b"__kcfi_typeid_",
        b"__efistub_",
        b"__kvm_nvhe_$",
        b"__kvm_nvhe_.L",
        b"__kvm_nvhe___kcfi_typeid_",
        b"__pi_$",
        b"__pi_.L",
        b"__pi___kcfi_typeid_",
        b"__AArch64ADRPThunk_",
    ]) && (kept.has_hypervisor || !name.starts_with(b"__kvm_nvhe_"))
        && !name.ends_with(b"_veneer")
        && !starts(&[b"kallsyms_offsets", b"kallsyms_names", b"kallsyms_markers", b"kallsyms_token_"])
        && !starts(&[b"kallsyms_num_syms", b"kallsyms_relative_base", b"kallsyms_seqs_of_names"])
}

/// Whether only the module loader uses the symbol: it describes an export, which has a flag of its own, or data that
/// the kernel reads and does not keep (`layout_sections`, `rewrite_section_headers` of kernel/module/main.c, 6.1).
fn only_loads(name: &[u8], section: Option<&str>) -> bool {
    [&b"__ksymtab_"[..], b"__kstrtab_", b"__kstrtabns_", b"__crc_"].iter().any(|p| name.starts_with(p))
        || matches!(section, Some(".modinfo" | "__versions"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_one_address_is_the_one_that_the_kernel_prints() {
        let mut ranks = [
            Rank::kernel(b"__irqentry_text_end", false),
            Rank::kernel(b"__x64_sys_ni_syscall", true),
            Rank::kernel(b"common_interrupt_return", false),
            Rank::kernel(b"_stext", false),
        ];
        ranks.sort();
        let names: Vec<_> = ranks
            .iter()
            .map(|r| match r {
                Rank::Kernel { name, .. } => *name,
                _ => unreachable!("none was made"),
            })
            .collect();
        assert_eq!(
            names,
            [&b"common_interrupt_return"[..], b"_stext", b"__irqentry_text_end", b"__x64_sys_ni_syscall"]
        );
    }

    #[test]
    fn promoted_functions_have_the_names_of_their_source() {
        for (name, is) in [
            ("vfs_read", "vfs_read"),
            ("next.llvm.8812", "next"),
            ("next.cold.llvm.12.cold", "next.cold"),
            ("next.isra.0", "next.isra.0"),
        ] {
            assert_eq!(without_promotion(name.as_bytes()), is.as_bytes());
        }
    }

    #[test]
    fn what_only_the_build_needs_is_not_kept() {
        let kept = |name: &[u8], section, is_module| {
            is_kept(
                name,
                Some(section),
                is_module,
                &Kept { has_data: true, has_hypervisor: true, has_promoted: false },
            )
        };
        assert!(!kept(b"__crc_vfs_read", "__kcrctab", false));
        assert!(kept(b"kallsyms_lookup_name", ".text", false));
        assert!(!kept(b"init_module", ".init.text", true));
        assert!(kept(b"cleanup_module", ".exit.text", true));
        assert!(kept(b"__pi_memcpy", ".text", false) && !kept(b"__pi_$x", ".text", false));
        let before = Kept { has_data: true, has_hypervisor: false, has_promoted: false };
        assert!(kept(b"__kvm_nvhe_memcpy", ".text", false));
        assert!(!is_kept(b"__kvm_nvhe_memcpy", Some(".text"), false, &before));
        assert!(only_loads(b"__ksymtab_usb_submit_urb", Some("___ksymtab_gpl+usb_submit_urb")));
        assert!(only_loads(b"__UNIQUE_ID_license300", Some(".modinfo")));
        assert!(!only_loads(b"init_module", Some(".init.text")));
    }
}
