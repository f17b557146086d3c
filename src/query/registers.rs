//! Registers by the kernel's names.

/// A DWARF register by the name that kprobe_events take (`regoffset_table` of arch/x86/kernel/ptrace.c, arm64 and riscv): `%di`.
pub fn kernel_register(number: u8, machine: u16) -> Option<&'static str> {
    const X86_64: [&str; 17] = [
        "%ax", "%dx", "%cx", "%bx", "%si", "%di", "%bp", "%sp", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13",
        "%r14", "%r15", "%ip",
    ];
    const ARM64: [&str; 32] = [
        "%x0", "%x1", "%x2", "%x3", "%x4", "%x5", "%x6", "%x7", "%x8", "%x9", "%x10", "%x11", "%x12", "%x13",
        "%x14", "%x15", "%x16", "%x17", "%x18", "%x19", "%x20", "%x21", "%x22", "%x23", "%x24", "%x25",
        "%x26", "%x27", "%x28", "%x29", "%x30", "%sp",
    ];
    // The first is zero always, and has no name.
    const RISCV: [&str; 32] = [
        "", "%ra", "%sp", "%gp", "%tp", "%t0", "%t1", "%t2", "%s0", "%s1", "%a0", "%a1", "%a2", "%a3", "%a4",
        "%a5", "%a6", "%a7", "%s2", "%s3", "%s4", "%s5", "%s6", "%s7", "%s8", "%s9", "%s10", "%s11", "%t3",
        "%t4", "%t5", "%t6",
    ];
    let names: &[&str] = match machine {
        62 => &X86_64,
        183 => &ARM64,
        243 => &RISCV,
        _ => &[],
    };
    names.get(usize::from(number)).copied().filter(|name| !name.is_empty())
}

/// The register in which the address of the probe is, by the same names.
pub fn instruction_pointer(machine: u16) -> Option<&'static str> {
    match machine {
        62 => Some("%ip"),
        183 => Some("%pc"),
        243 => Some("%epc"),
        _ => None,
    }
}
