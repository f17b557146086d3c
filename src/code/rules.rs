//! Which rules the kernel has, as its symbols and its version tell.
use crate::link::Symbol;
use probeidx_format::record::ObjectRecord;
use std::collections::HashSet;

/// Version and patch level of a kernel: (6, 12).
pub type Version = (u32, u32);

/// The version with which a release starts: 6.1 of `6.1.0-56-cloud-amd64`.
pub fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The rules that the functions of vmlinux betray, as an object's flags. Those that are always inlined have no symbol:
/// linking adds them from the debug information.
pub fn of_kernel(symbols: &[Symbol<'_>]) -> u32 {
    const WITNESSES: [&[u8]; 3] = [b"start_kernel", b"register_kprobe", b"arch_adjust_kprobe_addr"];
    let found: HashSet<&[u8]> = symbols.iter().map(|s| s.name).filter(|n| WITNESSES.contains(n)).collect();
    let mut flags = 0;
    if found.contains(WITNESSES[0]) && !found.contains(WITNESSES[1]) {
        flags |= ObjectRecord::NO_KPROBES;
    }
    if found.contains(WITNESSES[2]) {
        flags |= ObjectRecord::SKIPS_ENDBR;
    }
    flags
}
