//! Registers by the kernel's names.
use probeidx_format::machine;

/// A DWARF register by the name that kprobe_events take (arch/x86/kernel/ptrace.c, arch/arm64/kernel/ptrace.c): `%di`.
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
    const I386: [&str; 9] = ["%ax", "%cx", "%dx", "%bx", "%sp", "%bp", "%si", "%di", "%ip"];
    let names: &[&str] = match machine {
        machine::I386 => &I386,
        62 => &X86_64,
        183 => &ARM64,
        _ => &[],
    };
    names.get(usize::from(number)).copied()
}

/// The register in which the address of the probe is, by the same names.
pub fn instruction_pointer(machine: u16) -> Option<&'static str> {
    match machine {
        62 | machine::I386 => Some("%ip"),
        183 => Some("%pc"),
        _ => None,
    }
}
