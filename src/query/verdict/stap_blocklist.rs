//! SystemTap's blocklist: the sections, function names and declaring files that it does not list because probing them
//! may destabilize the kernel (`dwflpp::build_kernel_blocklist`, dwflpp.cxx of SystemTap 4.8 and 5.6). Separate from the
//! kernel's own blacklist.
use crate::tapset::Version;

/// Whether SystemTap blocks code in this section of vmlinux.
pub fn section(name: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 8] = [
        b".init.",
        b".exit.",
        b".devinit.",
        b".devexit.",
        b".cpuinit.",
        b".cpuexit.",
        b".meminit.",
        b".memexit.",
    ];
    PREFIXES.iter().any(|p| name.starts_with(p))
}

/// Whether it blocks return probes of this function.
pub fn return_of(name: &[u8]) -> bool {
    matches!(name, b"do_exit" | b"sys_exit" | b"sys_exit_group")
}

/// Whether it blocks return probes of this function of a program or shared library (`build_user_blocklist`).
pub fn return_in_process(name: &[u8]) -> bool {
    name == b"_start"
        || (name.starts_with(b"__")
            && memchr::memmem::find(name, b".get_pc_thunk.").is_some_and(|at| at >= 2))
}

/// Whether it blocks functions declared in this file.
pub fn file(path: &[u8], version: impl Fn() -> Version) -> bool {
    let under_arch = |file: &[u8]| {
        path.strip_prefix(b"arch/")
            .and_then(|p| p.strip_suffix(file))
            .is_some_and(|p| p.ends_with(b"/kernel/"))
    };
    const HEADERS: [&[u8]; 5] = [
        b"/include/asm/io.h",
        b"/include/asm/io-defs.h",
        b"/include/asm/io_64.h",
        b"/include/asm/bitops.h",
        b"/include/asm/paravirt.h",
    ];
    matches!(path, b"kernel/kprobes.c" | b"drivers/ide/ide-iops.c")
        || (path == b"fs/seq_file.c" && version() < Version::SHORTER_BLOCKLIST)
        || under_arch(b"kprobes.c")
        || under_arch(b"paravirt.c")
        || HEADERS.iter().any(|h| path.ends_with(h))
}

/// Whether it blocks functions of this name.
pub fn function(name: &[u8], machine: u16, version: impl Fn() -> Version) -> bool {
    const EXACT: [&[u8]; 35] = [
        b"HYPERVISOR_event_channel_op",
        b"HYPERVISOR_get_debugreg",
        b"HYPERVISOR_set_debugreg",
        b"__delay",
        b"__die",
        b"atomic_notifier_call_chain",
        b"check_events",
        b"default_do_nmi",
        b"die_nmi",
        b"do_IRQ",
        b"do_debug",
        b"do_general_protection",
        b"do_int3",
        b"do_page_fault",
        b"do_sparc64_fault",
        b"do_trap",
        b"dummy_nmi_callback",
        b"flush_icache_range",
        b"get_bh",
        b"get_current",
        b"hash_64",
        b"hash_ptr",
        b"ia64_bad_break",
        b"ia64_do_page_fault",
        b"ia64_fault",
        b"inat_get_opcode_attribute",
        b"io_check_error",
        b"mem_parity_error",
        b"native_set_pte",
        b"nmi_watchdog_tick",
        b"notifier_call_chain",
        b"oops_begin",
        b"oops_end",
        b"preempt_schedule",
        b"program_check_exception",
    ];
    const MORE_EXACT: [&[u8]; 9] = [
        b"put_bh",
        b"single_step_exception",
        b"sync_regs",
        b"system_call_after_swapgs",
        b"unhandled_fault",
        b"unknown_nmi_error",
        b"xen_adjust_exception_frame",
        b"xen_get_debugreg",
        b"xen_set_debugreg",
    ];
    const PREFIXES: [&[u8]; 7] = [
        b"xen_irq_",
        b"xen_iret",
        b"xen_sysret64",
        b"test_ti_thread_flag",
        b"atomic_",
        b"atomic64_",
        b"current_",
    ];
    let (is_inside, is_of_longer) = inside(name);
    EXACT.contains(&name)
        || MORE_EXACT.contains(&name)
        || PREFIXES.iter().any(|p| name.starts_with(p))
        || (name == b"__switch_to" && machine == X86_64)
        || (name.starts_with(b"xen_") && contains(&name[4..], b"_fl_direct"))
        || is_inside
        || ((is_of_longer || name.starts_with(b"special_mapping_")) && version() < Version::SHORTER_BLOCKLIST)
}

/// Whether any part of the name is blocked, and whether one is by the longer list. A single pass, because it runs for every
/// function.
fn inside(name: &[u8]) -> (bool, bool) {
    let (mut has_lock, mut is_of_longer) = (false, false);
    for at in 0..name.len() {
        let rest = &name[at..];
        let left_out = match rest[0] {
            b'l' => {
                has_lock |= rest.starts_with(b"lock");
                false
            }
            b'a' => rest.starts_with(b"apic"),
            b'A' => rest.starts_with(b"APIC"),
            b'I' => rest.starts_with(b"IRQ"),
            b'_' => {
                is_of_longer |= rest.starts_with(b"_pte_");
                rest.starts_with(b"_intr")
            }
            b's' => {
                rest.starts_with(b"softirq")
                    || rest.starts_with(b"setup_rt_frame")
                    || rest.starts_with(b"spin_is_locked")
            }
            b'e' => rest.starts_with(b"exception_tables"),
            b'k' => rest.starts_with(b"kernel_text"),
            b'p' => rest.starts_with(b"preempt_count"),
            _ => false,
        };
        if left_out {
            return (true, is_of_longer);
        }
    }
    (has_lock && is_lock(name), is_of_longer)
}

/// Whether a name that contains `lock` is that of a lock function.
fn is_lock(name: &[u8]) -> bool {
    const KINDS: [&[u8]; 3] = [b"read_", b"write_", b"spin_"];
    const DEEDS: [&[u8]; 3] = [b"lock", b"unlock", b"trylock"];
    let kinds = || KINDS.iter().flat_map(|kind| DEEDS.iter().map(move |deed| [*kind, *deed].concat()));
    /// `first.*second` within the name.
    fn then(name: &[u8], first: &[u8], second: &[u8]) -> bool {
        position(name, first).is_some_and(|at| contains(&name[at + first.len()..], second))
    }
    kinds().any(|part| contains(name, &part))
        || [&b"write_seqlock"[..], b"write_sequnlock"].iter().any(|part| contains(name, part))
        || [&b"_lock"[..], b"_unlock", b"_trylock"].iter().any(|deed| then(name, b"raw_", deed))
        || then(name, b"mutex_", b"lock")
        || (name.starts_with(b"rwsem_") && contains(&name[6..], b"lock"))
}

const X86_64: u16 = 62;

fn contains(name: &[u8], part: &[u8]) -> bool {
    position(name, part).is_some()
}

fn position(name: &[u8], part: &[u8]) -> Option<usize> {
    name.windows(part.len()).position(|w| w == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: fn() -> Version = || Version::SHORTER_BLOCKLIST;
    const OLD: fn() -> Version = || Version::OLDEST;

    fn function(name: &[u8], machine: u16) -> bool {
        super::function(name, machine, OLD)
    }
    fn file(path: &[u8]) -> bool {
        super::file(path, OLD)
    }

    #[test]
    fn later_versions_leave_out_less() {
        for name in ["smaps_pte_range", "special_mapping_close"] {
            assert!(
                function(name.as_bytes(), X86_64) && !super::function(name.as_bytes(), X86_64, NEW),
                "{name}"
            );
        }
        assert!(super::function(b"do_softirq", X86_64, NEW));
        assert!(file(b"fs/seq_file.c") && !super::file(b"fs/seq_file.c", NEW));
        assert!(super::file(b"kernel/kprobes.c", NEW));
    }

    #[test]
    fn names_are_left_out_as_systemtap_does() {
        for name in [
            "do_softirq",
            "__switch_to",
            "_raw_spin_lock_irq",
            "raw_notifier_lock",
            "native_set_pte",
            "mutex_lock_nested",
            "xen_x_fl_direct",
            "rwsem_down_read_lock",
            "smaps_pte_range",
            "current_time",
        ] {
            assert!(function(name.as_bytes(), X86_64), "{name}");
        }
        for name in ["vfs_read", "do_exit", "lock_raw_x", "concurrent_time", "hash_64x", "mutexlock", "_pte"]
        {
            assert!(!function(name.as_bytes(), X86_64), "{name}");
        }
        assert!(!function(b"__switch_to", 183));
        assert!(
            file(b"fs/seq_file.c")
                && file(b"arch/x86/kernel/kprobes.c")
                && file(b"arch/x86/include/asm/io.h")
        );
        assert!(
            !file(b"fs/seq_file.h")
                && !file(b"arch/x86/kernel/kprobes/core.c")
                && !file(b"include/asm/io.hx")
        );
        assert!(section(b".init.text") && !section(b".text"));
    }
}
