//! How kprobes classify an instruction. Opcodes are those of arch/powerpc/include/asm/ppc-opcode.h and the Power ISA 3.1.

/// An instruction of four bytes, or one half of an instruction of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u32);

impl Instruction {
    pub const NOP: Self = Self(0x6000_0000);

    /// The first instruction in `code`; `None` if it is cut off.
    pub fn first(code: &[u8]) -> Option<Self> {
        code.first_chunk().map(|bytes| Self(u32::from_le_bytes(*bytes)))
    }

    fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }
    /// The first six bits.
    fn opcode(self) -> u32 {
        self.0 >> 26
    }
    /// The opcode within those of 19 and 31.
    fn extended(self) -> u32 {
        self.0 >> 1 & 0x3ff
    }

    pub fn is_nop(self) -> bool {
        self == Self::NOP
    }
    /// `b`.
    pub fn is_jump(self) -> bool {
        self.is(0xfc00_0003, 0x4800_0000)
    }
    /// `bl`.
    pub fn is_call(self) -> bool {
        self.is(0xfc00_0003, 0x4800_0001)
    }
    /// `blr`, also under a condition.
    pub fn is_return(self) -> bool {
        self.is(0xfc00_ffff, 0x4c00_0020)
    }
    /// `tw`, `twi`, `td` or `tdi`, used for BUG and WARN.
    pub fn is_trap(self) -> bool {
        matches!(self.opcode(), 2 | 3) || self.opcode() == 31 && matches!(self.extended(), 4 | 68)
    }
    /// The first half of an instruction of eight bytes (Power ISA 3.1, 1.6).
    pub fn is_prefix(self) -> bool {
        self.opcode() == 1
    }
    /// The target of a `b` or `bl` at an address.
    pub fn target(self, pc: u32) -> u32 {
        pc.wrapping_add_signed((self.0 << 6) as i32 >> 6 & !3)
    }
    /// Whether these two stand between the two entries of a function: `addis r2, r12, N` or `lis r2, N`, and `addi r2, r2, N`.
    /// Files of modules have `ld r2, N(r12)` and `add r2, r2, r12`, which become these when they are loaded (`R_PPC64_ENTRY`,
    /// arch/powerpc/kernel/module_64.c).
    pub fn set_toc(self, next: Self) -> bool {
        let sets_high = self.is(0xffff_0000, 0x3c4c_0000) || self.is(0xffff_0000, 0x3c40_0000);
        sets_high && next.is(0xffff_0000, 0x3842_0000)
            || self.is(0xffff_0003, 0xe84c_0000) && next == Self(0x7c42_6214)
    }

    /// Whether kprobes refuse it by itself (`can_single_step`, arch/powerpc/include/asm/probes.h, 5.19 to 7.2): traps, system
    /// calls, returns from interrupts, what stops the processor, and writes of the machine state.
    pub fn is_refused_by_kprobes(self) -> bool {
        match self.opcode() {
            17 => true,
            19 => matches!(
                self.extended(),
                18 | 38 | 39 | 50 | 51 | 82 | 274 | 306 | 370 | 402 | 434 | 466 | 498
            ),
            31 if matches!(self.extended(), 146 | 178) => true,
            _ => self.is_trap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kprobes_take() {
        let taken = [
            (0x6000_0000, "nop"),
            (0x7c08_02a6, "mflr r0"),
            (0x4bb4_15d1, "bl"),
            (0x4e80_0020, "blr"),
            (0x4e80_0420, "bctr"),
            (0x4182_0598, "beq"),
            (0x7c00_04ac, "sync"),
            (0x4c00_012c, "isync"),
            (0x7c00_00a6, "mfmsr r0"),
            (0x7d60_18a8, "ldarx"),
            (0x0610_0000, "the first half of an instruction"),
            (0x0000_0000, "what no processor has"),
        ];
        for (word, name) in taken {
            assert!(!Instruction(word).is_refused_by_kprobes(), "{name}");
        }
        let refused = [
            (0x4400_0002, "sc"),
            (0x4400_0001, "scv"),
            (0x0fe0_0000, "twui r0, 0"),
            (0x0b09_0000, "tdnei r9, 0"),
            (0x7fe0_0008, "trap"),
            (0x7c09_5088, "td"),
            (0x4c00_0024, "rfid"),
            (0x4c00_0224, "hrfid"),
            (0x4c00_00a4, "rfscv"),
            (0x4c00_02e4, "stop"),
            (0x4c00_0364, "nap"),
            (0x7c00_0124, "mtmsr"),
            (0x7c00_0164, "mtmsrd"),
        ];
        for (word, name) in refused {
            assert!(Instruction(word).is_refused_by_kprobes(), "{name}");
        }
    }

    /// Targets as binutils 2.40 prints them.
    #[test]
    fn jumps_lead_forth_and_back() {
        assert_eq!(Instruction(0x4800_0008).target(0x100), 0x108);
        assert_eq!(Instruction(0x4bff_fffc).target(0x100), 0xfc);
        assert!(Instruction(0x4800_0008).is_jump() && !Instruction(0x4800_0009).is_jump());
        assert!(Instruction(0x4e80_0020).is_return() && Instruction(0x4d82_0020).is_return());
        assert!(!Instruction(0x4e80_0021).is_return() && !Instruction(0x4e80_0420).is_return());
    }

    #[test]
    fn what_stands_between_two_entries() {
        let addi = Instruction(0x3842_cc40);
        assert!(Instruction(0x3c4c_00c2).set_toc(addi) && Instruction(0x3c40_c000).set_toc(addi));
        assert!(!Instruction(0x3c4c_00c2).set_toc(Instruction::NOP));
        assert!(!Instruction(0x3c62_00c2).set_toc(addi));
        assert!(Instruction(0xe84c_fff8).set_toc(Instruction(0x7c42_6214)));
        assert!(Instruction(0x0610_0000).is_prefix() && !Instruction::NOP.is_prefix());
    }
}
