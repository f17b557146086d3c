//! Registers by the kernel's names.

/// A DWARF register by the name that kprobe_events take (arch/x86/kernel/ptrace.c, arch/arm64/kernel/ptrace.c): `%di`.
pub fn kernel_register(number: u8, machine: u16) -> Option<String> {
    const X86_64: [&str; 17] = [
        "ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        "ip",
    ];
    match machine {
        62 => X86_64.get(usize::from(number)).map(|name| format!("%{name}")),
        183 if number < 31 => Some(format!("%x{number}")),
        183 if number == 31 => Some("%sp".to_owned()),
        _ => None,
    }
}

/// The register in which the address of the probe is, by the same names.
pub fn instruction_pointer(machine: u16) -> Option<&'static str> {
    match machine {
        62 => Some("%ip"),
        183 => Some("%pc"),
        _ => None,
    }
}
