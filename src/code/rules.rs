//! Which rules the kernel has, as its symbols and its version tell.
use super::Opcodes;
use crate::link::Symbol;
use crate::load::config::KernelConfig;
use probeidx_format::record::ObjectRecord;
use std::collections::HashSet;

/// Version and patch level of a kernel: (6, 12).
pub type Version = (u32, u32);

/// The version with which a release starts: 6.1 of `6.1.0-56-cloud-amd64`.
pub fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The kernel that code belongs to, as far as it matters for its code.
#[derive(Clone, Copy, Default)]
pub struct Kernel<'a> {
    pub version: Option<Version>,
    /// Its configuration, where it is at hand.
    pub config: Option<&'a KernelConfig>,
    /// Of s390x: which instructions it knows.
    pub opcodes: Option<&'a Opcodes>,
}

/// The rules that the configuration or the functions of vmlinux tell, as an object's flags. Functions that are always
/// inlined have no symbol: linking adds what these tell, from the debug information.
pub fn of_kernel(symbols: &[Symbol<'_>], config: Option<&KernelConfig>) -> u32 {
    const WITNESSES: [&[u8]; 3] = [b"start_kernel", b"register_kprobe", b"arch_adjust_kprobe_addr"];
    let found: HashSet<&[u8]> = symbols.iter().map(|s| s.name).filter(|n| WITNESSES.contains(n)).collect();
    let has_kprobes = match config {
        Some(config) => config.has("KPROBES"),
        None => !found.contains(WITNESSES[0]) || found.contains(WITNESSES[1]),
    };
    let mut flags = if has_kprobes { 0 } else { ObjectRecord::NO_KPROBES };
    // `within_notrace_func`, kernel/trace/trace_kprobe.c
    if config.is_some_and(|c| c.has("DYNAMIC_FTRACE") && !c.has("KPROBE_EVENTS_ON_NOTRACE")) {
        flags |= ObjectRecord::REFUSES_NOTRACE;
    }
    if found.contains(WITNESSES[2]) {
        flags |= ObjectRecord::SKIPS_ENDBR;
    }
    flags
}
