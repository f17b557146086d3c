//! How kprobes and uprobes classify an instruction. Masks and values are those of arch/arm64/include/asm/insn.h. Some
//! are wider than their names suggest; the kernel's own classification counts.

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u32);

impl Instruction {
    pub const NOP: Self = Self(0xd503_201f);

    /// The first instruction in `code`.
    pub fn first(code: &[u8]) -> Option<Self> {
        code.first_chunk().map(|bytes| Self(u32::from_le_bytes(*bytes)))
    }

    fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    pub fn is_nop(self) -> bool {
        self == Self::NOP
    }
    /// A landing pad for indirect branches.
    pub fn is_bti(self) -> bool {
        self.is(0xffff_ff3f, 0xd503_241f)
    }
    /// `bl`: a call.
    pub fn is_call(self) -> bool {
        self.is(0xfc00_0000, 0x9400_0000)
    }
    /// `brk`, used for BUG and WARN.
    pub fn is_break(self) -> bool {
        self.is(0xffe0_001f, 0xd420_0000)
    }
    /// `ret`, `retaa`, `retab`.
    pub fn is_return(self) -> bool {
        self.is(0xffff_fc1f, 0xd65f_0000) || self.is(0xffff_fbff, 0xd65f_0bff)
    }
    /// `b`.
    pub fn is_jump(self) -> bool {
        self.is(0xfc00_0000, 0x1400_0000)
    }
    /// The target of a `b` or `bl` at an address.
    pub fn target(self, pc: u32) -> u32 {
        let words = (self.0 << 6) as i32 >> 6;
        pc.wrapping_add_signed(words.wrapping_mul(4))
    }
    /// Whether kprobes take it for the start of a sequence that must not be interrupted. Kernels without the narrow
    /// mask also include `ldar`, `cas` and similar instructions.
    pub fn is_load_exclusive(self, is_narrow: bool) -> bool {
        self.is(exclusive_mask(is_narrow), 0x0840_0000)
    }
    /// Whether kprobes take it for the end of such a sequence.
    pub fn is_store_exclusive(self, is_narrow: bool) -> bool {
        self.is(exclusive_mask(is_narrow), 0x0800_0000)
    }

    /// Whether kprobes refuse it by itself (`arm_kprobe_decode_insn`, arch/arm64/kernel/probes/decode-insn.c). They
    /// emulate loads of literals.
    pub fn is_refused_by_kprobes(self, refuses_copies: bool) -> bool {
        !self.is_load_of_literal() && self.is_refused_by_probes(refuses_copies)
    }

    /// Whether uprobes refuse it by itself (`arch_uprobe_analyze_insn`, to 6.12).
    pub fn is_refused_by_uprobes(self) -> bool {
        self.is_refused_by_probes(true)
    }

    /// Neither stepped out of line nor emulated (`arm_probe_decode_insn`).
    fn is_refused_by_probes(self, refuses_copies: bool) -> bool {
        let is_emulated = self.is(0xff00_0000, 0x5400_0000) // b.cond
            || self.is(0x7e00_0000, 0x3400_0000) // cbz, cbnz
            || self.is(0x7e00_0000, 0x3600_0000) // tbz, tbnz
            || self.is(0x1f00_0000, 0x1000_0000) // adr, adrp
            || self.is(0x7c00_0000, 0x1400_0000) // b, bl
            || self.is(0xffff_fc1f, 0xd61f_0000) // br
            || self.is(0xffff_fc1f, 0xd63f_0000) // blr
            || self.is(0xffff_fc1f, 0xd65f_0000); // ret
        !is_emulated && !self.is_steppable(refuses_copies)
    }

    /// `aarch64_insn_is_steppable`.
    fn is_steppable(self, refuses_copies: bool) -> bool {
        const DAIF: u32 = 0xda11;
        let is_branch_or_system = self.is(0x1c00_0000, 0x1400_0000);
        if is_branch_or_system {
            let is_authenticated_branch = self.is(0xfeff_f800, 0xd61f_0800)
                || self.is(0xfeff_f800, 0xd63f_0800)
                || self.is(0xffff_fbff, 0xd65f_0bff);
            let is_msr = self.is(0xfff8_f01f, 0xd500_401f) || self.is(0xfff0_0000, 0xd510_0000);
            let is_exception = self.is(0xff00_0000, 0xd400_0000);
            let is_eret = self.0 == 0xd69f_03e0 || self.is(0xffff_fbff, 0xd69f_0bff);
            if is_authenticated_branch || is_msr || is_exception || is_eret {
                return false;
            }
            if self.is(0xfff0_0000, 0xd530_0000) {
                return self.0 >> 5 & 0xffff != DAIF;
            }
            return !self.is_hint() || self.is_steppable_hint();
        }
        let is_literal = self.is_load_of_literal() || self.is(0xff00_0000, 0xd800_0000);
        let is_exclusive = self.is(0x3f80_0000, 0x0800_0000);
        // Copies and fills of memory consist of three instructions each: refused since 6.12.
        let is_in_three = refuses_copies && self.is(COPIES.0, COPIES.1);
        !(is_literal || is_exclusive || is_in_three)
    }

    /// `ldr` and `ldrsw`, except into vector registers.
    fn is_load_of_literal(self) -> bool {
        self.is(0xbf00_0000, 0x1800_0000) || self.is(0xff00_0000, 0x9800_0000)
    }

    fn is_hint(self) -> bool {
        self.is(0xffff_f01f, 0xd503_201f)
    }

    /// `aarch64_insn_is_steppable_hint`: nop, xpaclri, pacia1716, pacib1716, paciaz, paciasp, pacibz, pacibsp, all bti.
    fn is_steppable_hint(self) -> bool {
        let number = self.0 >> 5 & 0x7f;
        matches!(number, 0 | 0x07 | 0x08 | 0x0a | 0x18..=0x1b | 0x20 | 0x22 | 0x24 | 0x26)
    }
}

/// The mask by which `aarch64_insn_is_load_ex` and `_store_ex` recognize exclusive loads and stores.
pub const fn exclusive_mask(is_narrow: bool) -> u32 {
    if is_narrow { 0x3fc0_0000 } else { 0x3f40_0000 }
}

/// The mask and value of memory copies and fills (`aarch64_insn_is_mops`).
pub const COPIES: (u32, u32) = (0x3b20_0c00, 0x1900_0400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kprobes_take() {
        let taken = [
            (0xd503_201f, "nop"),
            (0xd503_233f, "paciasp"),
            (0xd503_245f, "bti c"),
            (0xaa1e_03e9, "mov x9, x30"),
            (0xd538_4104, "mrs x4, sp_el0"),
            (0x5400_0041, "b.ne"),
            (0xb400_0040, "cbz"),
            (0x3700_0040, "tbnz"),
            (0x1400_0001, "b"),
            (0x9400_0001, "bl"),
            (0xd65f_03c0, "ret"),
            (0xd63f_0060, "blr x3"),
            (0xd61f_0200, "br x16"),
            (0x9000_0000, "adrp"),
            (0x5800_0040, "ldr x0, literal"),
            (0x9800_0040, "ldrsw x0, literal"),
            (0xd503_3bbf, "dmb ish"),
            (0xd503_3fdf, "isb"),
            (0xb860_0020, "ldadd-like atomics"),
            (0x0000_0000, "udf"),
        ];
        for (word, name) in taken {
            assert!(!Instruction(word).is_refused_by_kprobes(false), "{name}");
        }
        let refused = [
            (0xd420_0000, "brk"),
            (0xd400_0001, "svc"),
            (0xd400_0002, "hvc"),
            (0xd69f_03e0, "eret"),
            (0xd65f_0bff, "retaa"),
            (0xd71f_0a00, "braa"),
            (0xd51b_4200, "msr nzcv"),
            (0xd503_42df, "msr daifset"),
            (0xd53b_4220, "mrs x0, daif"),
            (0xd503_203f, "yield"),
            (0xd503_207f, "wfi"),
            (0xd503_23bf, "autiasp"),
            (0xd503_22df, "clearbhb"),
            (0xd503_229f, "csdb"),
            (0x885f_7c20, "ldxr"),
            (0x8802_7c20, "stxr"),
            (0x885f_fc20, "ldaxr"),
            (0xd800_0040, "prfm literal"),
        ];
        for (word, name) in refused {
            assert!(Instruction(word).is_refused_by_kprobes(false), "{name}");
        }
        // `ldar` and `stlr` can be probed, but count as start and end of a sequence.
        let (ldar, stlr) = (Instruction(0x88df_fc20), Instruction(0x889f_fc20));
        assert!(!ldar.is_refused_by_kprobes(true) && ldar.is_load_exclusive(false));
        assert!(!stlr.is_refused_by_kprobes(true) && stlr.is_store_exclusive(false));
        assert!(!ldar.is_load_exclusive(true) && !stlr.is_store_exclusive(true));
        assert!(Instruction(0x885f_7c20).is_load_exclusive(true));
        let copy = Instruction(0x1901_0440);
        assert!(!copy.is_refused_by_kprobes(false) && copy.is_refused_by_kprobes(true));
    }

    #[test]
    fn uprobes_do_not_emulate_loads_of_literals() {
        assert!(Instruction(0x5800_0040).is_refused_by_uprobes());
        assert!(!Instruction(0x9400_0001).is_refused_by_uprobes());
    }

    #[test]
    fn jumps_lead_forth_and_back() {
        assert_eq!(Instruction(0x1400_0002).target(0x100), 0x108);
        assert_eq!(Instruction(0x17ff_ffff).target(0x100), 0xfc);
    }
}
