//! The registers that `reg("x")` reads (src/arch/*.cpp of bpftrace, 0.17 to 0.27; a name that some version has is right).
use probeidx_format::machine;

/// Whether a machine's kernels have a register of this name; `None` if the machine's are not known.
pub(super) fn has(machine: u16, name: &str) -> Option<bool> {
    // How many there are by number, as `r0` and `regs[0]`, and the others.
    let (count, others): (u32, &[&str]) = match machine {
        machine::X86_64 => (
            0,
            &[
                "r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si",
                "di", "orig_ax", "orig_rax", "ip", "pc", "cs", "flags", "sp", "ss",
            ],
        ),
        machine::AARCH64 => (31, &["compat_fp", "compat_sp", "compat_lr", "sp", "pc", "pstate"]),
        machine::ARM => (11, &["fp", "ip", "sp", "lr", "pc", "cpsr"]),
        machine::S390 => (16, &["arg", "pswmask", "pswaddr", "pc"]),
        machine::PPC64 => (
            32,
            &[
                "nip",
                "pc",
                "msr",
                "orig_gpr3",
                "ctr",
                "link",
                "xer",
                "ccr",
                "softe",
                "trap",
                "dar",
                "dsisr",
                "result",
            ],
        ),
        machine::RISCV => (
            0,
            &[
                "pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
                "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
                "t5", "t6",
            ],
        ),
        _ => return None,
    };
    let of_array = name.strip_suffix(']').and_then(|name| name.split_once('['));
    let number = of_array.map(|(_, index)| index).or_else(|| name.strip_prefix('r'));
    let is_numbered = number.and_then(|digits| digits.parse().ok()).is_some_and(|number: u32| number < count);
    Some(is_numbered || others.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::has;
    use probeidx_format::machine;

    #[test]
    fn each_machine_has_its_own() {
        for (machine, right, wrong) in [
            (machine::X86_64, "di", "nip"),
            (machine::X86_64, "r15", "r0"),
            (machine::AARCH64, "r30", "r31"),
            (machine::AARCH64, "regs[0]", "di"),
            (machine::PPC64, "nip", "ip"),
            (machine::S390, "r15", "r16"),
            (machine::RISCV, "a0", "r0"),
        ] {
            assert_eq!(
                (has(machine, right), has(machine, wrong)),
                (Some(true), Some(false)),
                "{right} {wrong}"
            );
        }
        assert_eq!(has(0, "di"), None);
    }
}
