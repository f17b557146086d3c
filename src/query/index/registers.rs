//! The kernel's names of registers.
use probeidx_format::machine;

/// The name of a DWARF register in kprobe_events: `%di`. (arch/x86/kernel/ptrace.c, arch/arm64/kernel/ptrace.c,
/// arch/s390/kernel/ptrace.c, arch/powerpc/kernel/ptrace/ptrace.c, arch/riscv/kernel/ptrace.c, arch/arm/kernel/ptrace.c,
/// arch/mips/kernel/ptrace.c, arch/loongarch/kernel/ptrace.c: `regs_query_register_offset`)
pub fn kernel_register(number: u8, machine: u16) -> Option<&'static str> {
    let names = names(machine);
    let at = usize::from(number) * WIDTH;
    let general = names.get(at..at + WIDTH).map(str::trim_ascii_end).filter(|name| !name.is_empty());
    general.or_else(|| special(number, machine))
}

/// Registers whose numbers are far above those of the others. (GCC 14: gcc/config/mips/mips.h; 64-bit ELF V2 ABI for Power 1.5, 2.4)
fn special(number: u8, machine: u16) -> Option<&'static str> {
    match (machine, number) {
        (machine::MIPS, 64) => Some("%hi"),
        (machine::MIPS, 65) => Some("%lo"),
        (machine::PPC64, 65) => Some("%link"),
        (machine::PPC64, 66) => Some("%ctr"),
        _ => None,
    }
}

/// Whether the kernel's names of a machine's registers are known.
pub fn are_named(machine: u16) -> bool {
    !names(machine).is_empty()
}

/// The width of a column: a name and the blanks behind it.
const WIDTH: usize = 7;

/// By DWARF number, in columns of [`WIDTH`]: in a table, each would have a pointer, which is relocated at each start.
fn names(machine: u16) -> &'static str {
    match machine {
        machine::X86_64 => {
            "%ax    %dx    %cx    %bx    %si    %di    %bp    %sp    %r8    %r9    %r10   %r11   %r12   \
             %r13   %r14   %r15   %ip    "
        }
        machine::I386 => "%ax    %cx    %dx    %bx    %sp    %bp    %si    %di    %ip    ",
        machine::AARCH64 => {
            "%x0    %x1    %x2    %x3    %x4    %x5    %x6    %x7    %x8    %x9    %x10   %x11   %x12   \
             %x13   %x14   %x15   %x16   %x17   %x18   %x19   %x20   %x21   %x22   %x23   %x24   %x25   \
             %x26   %x27   %x28   %x29   %x30   %sp    "
        }
        machine::ARM => {
            "%r0    %r1    %r2    %r3    %r4    %r5    %r6    %r7    %r8    %r9    %r10   %fp    %ip    \
             %sp    %lr    %pc    "
        }
        machine::S390 => {
            "%r0    %r1    %r2    %r3    %r4    %r5    %r6    %r7    %r8    %r9    %r10   %r11   %r12   \
             %r13   %r14   %r15   "
        }
        machine::MIPS | machine::LOONGARCH => {
            "%r0    %r1    %r2    %r3    %r4    %r5    %r6    %r7    %r8    %r9    %r10   %r11   %r12   \
             %r13   %r14   %r15   %r16   %r17   %r18   %r19   %r20   %r21   %r22   %r23   %r24   %r25   \
             %r26   %r27   %r28   %r29   %r30   %r31   "
        }
        machine::PPC64 => {
            "%gpr0  %gpr1  %gpr2  %gpr3  %gpr4  %gpr5  %gpr6  %gpr7  %gpr8  %gpr9  %gpr10 %gpr11 %gpr12 \
             %gpr13 %gpr14 %gpr15 %gpr16 %gpr17 %gpr18 %gpr19 %gpr20 %gpr21 %gpr22 %gpr23 %gpr24 %gpr25 \
             %gpr26 %gpr27 %gpr28 %gpr29 %gpr30 %gpr31 "
        }
        // The first, which is always zero, has no name.
        machine::RISCV => {
            "       %ra    %sp    %gp    %tp    %t0    %t1    %t2    %s0    %s1    %a0    %a1    %a2    \
             %a3    %a4    %a5    %a6    %a7    %s2    %s3    %s4    %s5    %s6    %s7    %s8    %s9    \
             %s10   %s11   %t3    %t4    %t5    %t6    "
        }
        _ => "",
    }
}

/// The kernel's name of the instruction pointer, which holds the probe's address.
pub fn instruction_pointer(machine: u16) -> Option<&'static str> {
    match machine {
        machine::X86_64 | machine::I386 => Some("%ip"),
        machine::AARCH64 | machine::ARM => Some("%pc"),
        machine::MIPS => Some("%c0_epc"),
        machine::LOONGARCH => Some("%csr_era"),
        machine::PPC64 => Some("%nip"),
        machine::RISCV => Some("%epc"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_numbers() {
        let all = |machine| (0..=255).filter_map(|n| kernel_register(n, machine)).collect::<Vec<_>>();
        for (machine, count, first, last) in [
            (machine::X86_64, 17, "%ax", "%ip"),
            (machine::I386, 9, "%ax", "%ip"),
            (machine::AARCH64, 32, "%x0", "%sp"),
            (machine::ARM, 16, "%r0", "%pc"),
            (machine::S390, 16, "%r0", "%r15"),
            (machine::MIPS, 34, "%r0", "%lo"),
            (machine::LOONGARCH, 32, "%r0", "%r31"),
            (machine::PPC64, 34, "%gpr0", "%ctr"),
            (machine::RISCV, 31, "%ra", "%t6"),
        ] {
            let all = all(machine);
            assert_eq!((all.len(), all[0], all[count - 1]), (count, first, last), "{machine}");
            assert!(all.iter().all(|name| name.starts_with('%') && !name.contains(' ')), "{all:?}");
        }
        assert_eq!(kernel_register(5, machine::X86_64), Some("%di"));
        assert_eq!(kernel_register(0, machine::RISCV), None);
        assert!(all(0).is_empty() && !are_named(0));
    }
}
