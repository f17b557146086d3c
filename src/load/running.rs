//! The code of the running kernel and the tables about it, from its memory: what a boot image has, as it runs. x86-64 only.
//!
//! | what | from where |
//! | --- | --- |
//! | code | `/proc/kcore`: alternatives, paravirtual calls and retpolines are patched for this processor, and stay so |
//! | jump labels, static calls, bugs, checks of types | `/proc/kcore` |
//! | alternatives, paravirtual calls, retpolines | freed once they are applied: no table, as nothing is patched any more |
//! | ftrace sites | `available_filter_functions`: where a function of the name starts with ftrace's no-op or call |
//! | functions that kprobes refuse | `kprobes/blacklist` |
//!
//! Init code is freed: its bytes are filler here, and verdicts do not depend on them.
use super::kcore::Kcore;
use super::symbol_table::ListedSymbol;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::path::Path;

/// What was read.
pub struct Running {
    /// From `_stext` to `_etext`.
    pub code: Vec<u8>,
    /// The name, run-time address and bytes of each table.
    pub tables: Vec<(&'static str, u64, Vec<u8>)>,
    /// The run-time addresses of symbols that bound tables, where they are others than the kernel's.
    pub bounds: Vec<(&'static [u8], u64)>,
}

/// A table: section, and the symbols that bound it.
type Name = (&'static str, &'static [u8], &'static [u8]);

/// Tables that are made here of the kernel's lists.
const FTRACE: Name = ("__mcount_loc", b"__start_mcount_loc", b"__stop_mcount_loc");
const BLACKLIST: Name = ("_kprobe_blacklist", b"__start_kprobe_blacklist", b"__stop_kprobe_blacklist");

/// Tables that stay in memory.
const KEPT: [Name; 4] = [
    ("__jump_table", b"__start___jump_table", b"__stop___jump_table"),
    (".static_call_sites", b"__start_static_call_sites", b"__stop_static_call_sites"),
    ("__bug_table", b"__start___bug_table", b"__stop___bug_table"),
    (".kcfi_traps", b"__start___kcfi_traps", b"__stop___kcfi_traps"),
];

/// Tables that are applied and freed.
const APPLIED: [(&[u8], &[u8]); 3] = [
    (b"__alt_instructions", b"__alt_instructions_end"),
    (b"__parainstructions", b"__parainstructions_end"),
    (b"__retpoline_sites", b"__retpoline_sites_end"),
];

/// Areas of code that kprobes refuse as a whole, of which the kernel's list has each function.
const AREAS: [(&[u8], &[u8]); 3] = [
    (b"__noinstr_text_start", b"__noinstr_text_end"),
    (b"__kprobes_text_start", b"__kprobes_text_end"),
    (b"__entry_text_start", b"__entry_text_end"),
];

/// More than the code and tables of any kernel.
const MOST: u64 = 1 << 30;

/// Reads the memory of the kernel below `root`, with these symbols at run-time addresses.
///
/// # Errors
/// What is missing, in a line with the remedy.
pub fn read(root: &Path, symbols: &[ListedSymbol<'_>]) -> Result<Running, String> {
    let bounds: FxHashMap<&[u8], u64> = symbols.iter().map(|s| (s.name, s.address)).collect();
    let area = |start: &[u8], end: &[u8]| {
        let (start, end) = (*bounds.get(start)?, *bounds.get(end)?);
        (start < end && end - start < MOST).then_some(start..end)
    };
    let code =
        area(b"_stext", b"_etext").ok_or("the kernel hides its addresses (kptr_restrict): build as root")?;
    let mut memory = Kcore::open(&root.join("proc/kcore")).map_err(|failed| failed.to_string())?;
    let debug = root.join("sys/kernel/debug");
    refuse_probes(&text(&debug.join("kprobes/list"))?)?;
    let refused = text(&debug.join("kprobes/blacklist"))?;
    let traced = text(&root.join("sys/kernel/tracing/available_filter_functions"))
        .or_else(|_| text(&debug.join("tracing/available_filter_functions")))?;
    let mut bytes = |area: &Range<u64>| {
        let length = (area.end - area.start) as usize;
        let bytes = memory.read(area.start, length);
        let lost = || format!("/proc/kcore does not show the memory at {:#x}", area.start);
        if bytes.len() == length { Ok(bytes) } else { Err(lost()) }
    };
    let mut found = Running { code: bytes(&code)?, tables: vec![], bounds: vec![] };
    unseal(&mut found.code, symbols.iter().filter_map(|s| s.address.checked_sub(code.start)));
    for (section, start, stop) in KEPT {
        if let Some(area) = area(start, stop) {
            found.tables.push((section, area.start, bytes(&area)?));
        }
    }
    for (start, stop) in APPLIED {
        found.bounds.extend(bounds.get(start).map(|address| (stop, *address)));
    }
    let areas: Vec<Range<u64>> = AREAS.into_iter().filter_map(|(start, end)| area(start, end)).collect();
    let refused = addresses(&refused).filter(|at| code.contains(at) && !areas.iter().any(|a| a.contains(at)));
    let (refused, traced) = (refused.collect(), sites(symbols, &code, &found, &traced));
    // Where nothing of the kernel is.
    let mut next =
        symbols.iter().filter(|s| s.address >= code.start).map(|s| s.address).max().unwrap_or(code.end);
    next = next.next_multiple_of(1 << 16);
    let made: [(Name, Vec<u64>); 2] = [(FTRACE, traced), (BLACKLIST, refused)];
    for ((section, start, stop), addresses) in made {
        if !bounds.contains_key(start) {
            continue;
        }
        let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        found.bounds.extend([(start, next), (stop, next + bytes.len() as u64)]);
        let length = bytes.len() as u64;
        found.tables.push((section, next, bytes));
        next += length.next_multiple_of(1 << 16);
    }
    Ok(found)
}

fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|failed| {
        format!("{}: {failed}; mount it: mount -t debugfs none /sys/kernel/debug", path.display())
    })
}

/// Memory has the breakpoints of probes, and the jumps that stand for them, but not of those that go through ftrace.
fn refuse_probes(list: &str) -> Result<(), String> {
    let count = list.lines().filter(|line| !line.is_empty() && !line.contains("[FTRACE]")).count();
    match count {
        0 => Ok(()),
        _ => Err(format!("{count} kprobes are planted, which change the code: build when there are none")),
    }
}

/// The addresses at which lines start: `0xffffffff81001000-0xffffffff81001040 name`.
fn addresses(list: &str) -> impl Iterator<Item = u64> {
    list.lines().filter_map(|line| {
        let word = line.split(['-', ' ', '\t']).next()?;
        u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
    })
}

/// The no-op of five bytes at the entry of a function that ftrace may patch, and the instruction before it where indirect branches
/// are checked. (arch/x86/include/asm/nops.h, `P6_NOP5`)
const NO_OP: [u8; 5] = [0x0f, 0x1f, 0x44, 0, 0];
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
const CALL: u8 = 0xe8;

/// What the kernel puts in the place of `endbr64` where a function is never called through a pointer, whatever the processor has:
/// `osp nopl (%rax)` of 6.12, `nopl -42(%rax)` of 7.2. (`gen_endbr_poison`, arch/x86/include/asm/ibt.h; CONFIG_X86_KERNEL_IBT)
const SEALED: [[u8; 4]; 2] = [[0x66, 0x0f, 0x1f, 0x00], [0x0f, 0x1f, 0x40, 0xd6]];

/// Puts `endbr64` back at these entries: the kernel, too, takes the one for the other when it places a probe (`is_endbr`).
fn unseal(code: &mut [u8], entries: impl Iterator<Item = u64>) {
    for entry in entries {
        let at = usize::try_from(entry).ok().and_then(|at| code.get_mut(at..)?.first_chunk_mut::<4>());
        if let Some(first) = at.filter(|first| SEALED.contains(first)) {
            *first = ENDBR64;
        }
    }
}

/// The ftrace sites: run-time addresses, ascending. The list has names, of which several functions may be; a function of a listed
/// name has a site where it starts with ftrace's no-op that no table of patches has, or with its call if all of the name are listed.
fn sites(symbols: &[ListedSymbol<'_>], code: &Range<u64>, found: &Running, listed: &str) -> Vec<u64> {
    let mut names: FxHashMap<&[u8], usize> = FxHashMap::default();
    for line in listed.lines().filter(|line| !line.contains('[')) {
        *names.entry(line.trim_end().as_bytes()).or_default() += 1;
    }
    let patched = patched(found);
    let mut of_name: FxHashMap<&[u8], Vec<u64>> = FxHashMap::default();
    for symbol in symbols.iter().filter(|s| code.contains(&s.address) && names.contains_key(s.name)) {
        of_name.entry(symbol.name).or_default().push(symbol.address);
    }
    let mut sites = vec![];
    for (name, entries) in of_name {
        let are_all = names.get(name) == Some(&entries.len());
        for entry in entries {
            let at = |address: u64| found.code.get((address - code.start) as usize..).unwrap_or_default();
            let site = if at(entry).starts_with(&ENDBR64) { entry + ENDBR64.len() as u64 } else { entry };
            let is_no_op = at(site).starts_with(&NO_OP) && !patched.contains(&site);
            if is_no_op || are_all && at(site).first() == Some(&CALL) {
                sites.push(site);
            }
        }
    }
    sites.sort_unstable();
    sites.dedup();
    sites
}

/// The run-time addresses of jump labels and static calls. Each entry starts with the distance from itself (`struct jump_entry` of 16
/// bytes, `struct static_call_site` of 8; CONFIG_HAVE_ARCH_JUMP_LABEL_RELATIVE, since 4.19 on x86-64).
fn patched(found: &Running) -> FxHashSet<u64> {
    let mut patched = FxHashSet::default();
    for (section, address, bytes) in &found.tables {
        let size = match *section {
            "__jump_table" => 16,
            ".static_call_sites" => 8,
            _ => continue,
        };
        for (number, entry) in bytes.chunks_exact(size).enumerate() {
            let distance = entry.first_chunk().map_or(0, |d| i32::from_le_bytes(*d));
            patched.insert((address + (number * size) as u64).wrapping_add_signed(distance.into()));
        }
    }
    patched
}

/// Filler for code that is freed: the start of a short jump, which is what a jump label may be at any address.
pub const FREED: u8 = 0xeb;

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &'static str, address: u64) -> ListedSymbol<'static> {
        ListedSymbol { address, letter: b't', name: name.as_bytes() }
    }

    /// Sites of functions at these offsets, with this code; a jump label is at 32.
    fn sites_of(functions: &[(&'static str, u64, &[u8])], listed: &str) -> Vec<u64> {
        const START: u64 = 0x1000;
        let mut code = vec![0x90; 128];
        for (_, at, bytes) in functions {
            code[*at as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        let symbols: Vec<_> = functions.iter().map(|(name, at, _)| symbol(name, START + at)).collect();
        let table = START + 0x800;
        let label = ((START + 32) as i32 - table as i32).to_le_bytes();
        let entry = [&label[..], &[0; 12]].concat();
        let found = Running { code, tables: vec![("__jump_table", table, entry)], bounds: vec![] };
        let found = sites(&symbols, &(START..START + 128), &found, listed);
        found.into_iter().map(|site| site - START).collect()
    }

    #[test]
    fn sealed_entries_start_with_endbr_again() {
        let mut code = [&SEALED[0][..], &NO_OP, &SEALED[1], &SEALED[0][..3]].concat();
        let expected = [&ENDBR64[..], &NO_OP, &ENDBR64, &SEALED[0][..3]].concat();
        unseal(&mut code, [0, 4, 9, 13, 1 << 40].into_iter());
        assert_eq!(code, expected);
    }

    #[test]
    fn sites_are_where_listed_functions_start_with_what_ftrace_patches() {
        let behind_endbr = [&ENDBR64[..], &NO_OP].concat();
        let call = [CALL, 1, 2, 3, 4];
        let functions: [(&str, u64, &[u8]); 6] = [
            ("plain", 0, &NO_OP),
            ("checked", 16, &behind_endbr),
            ("labelled", 32, &NO_OP),
            ("unlisted", 48, &NO_OP),
            ("traced", 64, &call),
            ("without", 80, &[0xc3]),
        ];
        let listed = "plain\nchecked\nlabelled\ntraced\nwithout\nunlisted [module]\n";
        assert_eq!(sites_of(&functions, listed), [0, 20, 64]);
    }

    #[test]
    fn a_call_is_a_site_only_where_all_functions_of_the_name_have_one() {
        let call = [CALL, 1, 2, 3, 4];
        let functions: [(&str, u64, &[u8]); 2] = [("twice", 0, &call), ("twice", 64, &NO_OP)];
        assert_eq!(sites_of(&functions, "twice\n"), [64]);
        assert_eq!(sites_of(&functions, "twice\ntwice\n"), [0, 64]);
    }

    #[test]
    fn planted_probes_are_in_the_way() {
        assert_eq!(refuse_probes(""), Ok(()));
        assert_eq!(refuse_probes("ffffffff81000010  k  vfs_read+0x0    [FTRACE]\n"), Ok(()));
        let refused = refuse_probes("ffffffff81000014  k  vfs_read+0x4    [OPTIMIZED]\n");
        assert!(refused.is_err_and(|why| why.starts_with("1 kprobes are planted")));
    }

    #[test]
    fn the_list_of_refused_functions_has_their_starts() {
        let list =
            "0xffffffff81001000-0xffffffff81001040\tnotify_die\n0xffffffff81002000-0xffffffff81002010\tb\n";
        assert_eq!(addresses(list).collect::<Vec<_>>(), [0xffff_ffff_8100_1000, 0xffff_ffff_8100_2000]);
    }
}
