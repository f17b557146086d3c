//! The places that SystemTap leaves out of its listings, for fear of the kernel's stability: by section, function
//! name and declaring file (`dwflpp::build_kernel_blocklist`, dwflpp.cxx of SystemTap 4.8). The kernel's own list of
//! what it refuses is another matter.

/// Whether SystemTap leaves out code in this section of vmlinux.
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

/// Whether it leaves out return probes of this function.
pub fn return_of(name: &[u8]) -> bool {
    matches!(name, b"do_exit" | b"sys_exit" | b"sys_exit_group")
}

/// Whether it leaves out functions declared in this file.
pub fn file(path: &[u8]) -> bool {
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
    matches!(path, b"kernel/kprobes.c" | b"drivers/ide/ide-iops.c" | b"fs/seq_file.c")
        || under_arch(b"kprobes.c")
        || under_arch(b"paravirt.c")
        || HEADERS.iter().any(|h| path.ends_with(h))
}

/// Whether it leaves out functions of this name.
pub fn function(name: &[u8], machine: u16) -> bool {
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
    const PREFIXES: [&[u8]; 8] = [
        b"xen_irq_",
        b"xen_iret",
        b"xen_sysret64",
        b"test_ti_thread_flag",
        b"atomic_",
        b"atomic64_",
        b"current_",
        b"special_mapping_",
    ];
    const INSIDE: [&[u8]; 20] = [
        b"read_lock",
        b"read_unlock",
        b"read_trylock",
        b"write_lock",
        b"write_unlock",
        b"write_trylock",
        b"write_seqlock",
        b"write_sequnlock",
        b"spin_lock",
        b"spin_unlock",
        b"spin_trylock",
        b"spin_is_locked",
        b"apic",
        b"APIC",
        b"softirq",
        b"IRQ",
        b"_intr",
        b"kernel_text",
        b"exception_tables",
        b"setup_rt_frame",
    ];
    /// `first.*second` within the name.
    fn then(name: &[u8], first: &[u8], second: &[u8]) -> bool {
        position(name, first).is_some_and(|at| position(&name[at + first.len()..], second).is_some())
    }
    let starts = |p: &&[u8]| name.starts_with(p);
    EXACT.contains(&name)
        || MORE_EXACT.contains(&name)
        || PREFIXES.iter().any(starts)
        || (name == b"__switch_to" && machine == X86_64)
        || INSIDE.iter().any(|i| position(name, i).is_some())
        || [&b"preempt_count"[..], b"_pte_"].iter().any(|i| position(name, i).is_some())
        || [&b"_lock"[..], b"_unlock", b"_trylock"].iter().any(|second| then(name, b"raw_", second))
        || then(name, b"mutex_", b"lock")
        || (name.starts_with(b"xen_") && position(&name[4..], b"_fl_direct").is_some())
        || (name.starts_with(b"rwsem_") && position(&name[6..], b"lock").is_some())
}

const X86_64: u16 = 62;

fn position(name: &[u8], part: &[u8]) -> Option<usize> {
    name.windows(part.len()).position(|w| w == part)
}

#[cfg(test)]
mod tests {
    use super::*;

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
