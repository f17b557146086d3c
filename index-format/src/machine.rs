//! Properties of machines by `e_machine`.

/// `EM_386`
pub const I386: u16 = 3;
/// `EM_MIPS`: mips64.
pub const MIPS: u16 = 8;
/// `EM_PPC64`
pub const PPC64: u16 = 21;
/// `EM_S390`: s390x.
pub const S390: u16 = 22;
/// `EM_ARM`: 32-bit ARM.
pub const ARM: u16 = 40;
/// `EM_X86_64`
pub const X86_64: u16 = 62;
/// `EM_AARCH64`: arm64.
pub const AARCH64: u16 = 183;
/// `EM_RISCV`
pub const RISCV: u16 = 243;
/// `EM_LOONGARCH`
pub const LOONGARCH: u16 = 258;

/// Bytes per address and pointer: 4 on i386 and ARM, 8 on all other machines that are indexed.
pub fn address_size(machine: u16) -> u8 {
    if matches!(machine, I386 | ARM) { 4 } else { 8 }
}

/// The DWARF numbers of the registers that pass arguments, in order; empty if the machine's convention is unknown.
///
/// Sources: System V ABI for x86-64 (3.2.3), AAPCS64 (6.4), the ELF ABI s390x supplement (1.2.3), the 64-bit ELF V2 ABI for
/// Power (2.2.3), RISC-V ELF psABI ("Integer Calling Convention"), `-mregparm=3` with which all i386 kernels are built
/// (arch/x86/Makefile), AAPCS32 (6.5), the n64 ABI of MIPS, which all 64-bit kernels of MIPS follow (arch/mips/Makefile:
/// `-mabi=64`), the LoongArch psABI ("Procedure Calling Convention").
pub fn argument_registers(machine: u16) -> &'static [u8] {
    match machine {
        X86_64 => &[5, 4, 1, 2, 8, 9],
        AARCH64 => &[0, 1, 2, 3, 4, 5, 6, 7],
        I386 => &[0, 2, 1],
        ARM => &[0, 1, 2, 3],
        S390 => &[2, 3, 4, 5, 6],
        PPC64 => &[3, 4, 5, 6, 7, 8, 9, 10],
        RISCV => &[10, 11, 12, 13, 14, 15, 16, 17],
        MIPS | LOONGARCH => &[4, 5, 6, 7, 8, 9, 10, 11],
        _ => &[],
    }
}

/// Whether a function of C returns a struct or union of so many bytes in memory; `None` if that is not known.
///
/// Sources: those of [`argument_registers`] (on values that functions return). i386 kernels are built with `-freg-struct-return`.
pub fn is_returned_in_memory(machine: u16, bytes: u64) -> Option<bool> {
    match machine {
        AARCH64 => Some(bytes > 16),
        I386 => Some(bytes > 8),
        ARM => Some(bytes > 4),
        _ => is_returned_through_a_pointer(machine, bytes),
    }
}

/// Whether a function of C that returns a struct or union of so many bytes gets the address to write it to as its first argument,
/// which no variable describes; `None` if that is not known. Those with floating-point numbers in them are another matter on Power.
///
/// Sources: those of [`argument_registers`] (on values that functions return); AArch64 has a register for it that passes nothing
/// else (x8), s390x returns all of them so.
pub fn is_returned_through_a_pointer(machine: u16, bytes: u64) -> Option<bool> {
    match machine {
        AARCH64 => Some(false),
        S390 => Some(true),
        X86_64 | RISCV | PPC64 | MIPS | LOONGARCH => Some(bytes > 16),
        _ => None,
    }
}

/// Whether a function gets its caller's value in a register, and has to leave it there, by DWARF number: it passes nothing, and is the
/// base of a frame only once the function has set it. `false` if the machine's convention is unknown.
///
/// Sources: those of [`argument_registers`]; r6 of s390x is kept too, but passes an argument.
pub fn is_preserved(machine: u16, register: u8) -> bool {
    match machine {
        X86_64 => matches!(register, 3 | 6 | 12..=15),
        AARCH64 => matches!(register, 19..=29),
        I386 => matches!(register, 3 | 5..=7),
        ARM => matches!(register, 4..=11),
        S390 => matches!(register, 7..=13),
        PPC64 => matches!(register, 14..=31),
        RISCV => matches!(register, 8 | 9 | 18..=27),
        MIPS => matches!(register, 16..=23 | 30),
        LOONGARCH => matches!(register, 22..=31),
        _ => false,
    }
}

/// The name of a machine as `uname -m` prints it; empty for one that is not known.
pub fn name(machine: u16) -> &'static str {
    match machine {
        I386 => "i686",
        MIPS => "mips64",
        PPC64 => "ppc64le",
        S390 => "s390x",
        ARM => "armv7l",
        X86_64 => "x86_64",
        AARCH64 => "aarch64",
        RISCV => "riscv64",
        LOONGARCH => "loongarch64",
        _ => "",
    }
}
