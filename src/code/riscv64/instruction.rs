//! How kprobes classify an instruction. Masks and values are those of arch/riscv/include/asm/insn.h (6.12, 7.2).

/// An instruction of four bytes, or of two in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u32);

impl Instruction {
    /// The first instruction in `code`; `None` if it is cut off.
    pub fn first(code: &[u8]) -> Option<Self> {
        let low = u16::from_le_bytes(*code.first_chunk()?);
        match Self(low.into()).length() {
            2 => Some(Self(low.into())),
            _ => code.first_chunk().map(|bytes| Self(u32::from_le_bytes(*bytes))),
        }
    }

    /// The length in bytes, by the kernel's rule (`GET_INSN_LENGTH`, arch/riscv/include/asm/bug.h), which knows no
    /// longer ones.
    pub fn length(self) -> u32 {
        if self.0 & 3 == 3 { 4 } else { 2 }
    }

    fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    /// `nop` or `c.nop`.
    pub fn is_nop(self) -> bool {
        self.0 == 0x13 || self.0 == 1
    }

    /// A `nop` of four bytes or `j`, as at a jump label.
    pub fn is_jump_label(self) -> bool {
        self.0 == 0x13 || self.is(0xfff, 0x6f)
    }

    /// `ebreak`, used for BUG and WARN.
    pub fn is_break(self) -> bool {
        self.0 == 0x0010_0073 || self.0 == 0x9002
    }

    /// Whether kprobes refuse it (`riscv_probe_decode_insn`, arch/riscv/kernel/probes/decode-insn.c): all "system"
    /// and "fence" instructions by their lowest seven bits, and `c.ebreak`. Everything else is copied or emulated,
    /// even atomic sequences.
    pub fn is_refused_by_kprobes(self) -> bool {
        self.is(0x7f, 0x73) || self.is(0x7f, 0x0f) || self.0 == 0x9002
    }

    /// `ret`.
    pub fn is_return(self) -> bool {
        self.0 == 0x8082 || self.is(0x000f_ffff, 0x8067)
    }

    /// The target of a `j` at this address; `None` for other instructions.
    pub fn jump(self, pc: u32) -> Option<u32> {
        let bits = |from: u32, count: u32, to: u32| (self.0 >> from & ((1 << count) - 1)) << to;
        let (distance, width) = if self.is(0xfff, 0x6f) {
            (bits(21, 10, 1) | bits(20, 1, 11) | bits(12, 8, 12) | bits(31, 1, 20), 21)
        } else if self.length() == 2 && self.is(0xe003, 0xa001) {
            let low = bits(3, 3, 1) | bits(11, 1, 4) | bits(2, 1, 5) | bits(7, 1, 6) | bits(6, 1, 7);
            (low | bits(9, 2, 8) | bits(8, 1, 10) | bits(12, 1, 11), 12)
        } else {
            return None;
        };
        let unused = 32 - width;
        Some(pc.wrapping_add_signed(((distance << unused) as i32) >> unused))
    }

    /// The target of a far jump: this `auipc` at an address and the next `jr` on the same register.
    pub fn far_jump(self, next: Self, pc: u32) -> Option<u32> {
        let register = self.0 >> 7 & 0x1f;
        let is_pair = self.is(0x7f, 0x17) && next.is(0x7fff, 0x67) && next.0 >> 15 & 0x1f == register;
        is_pair.then(|| pc.wrapping_add(self.0 & 0xffff_f000).wrapping_add_signed(next.0 as i32 >> 20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kprobes_take() {
        let taken = [
            (0x0000_0013, "nop"),
            (0x0001, "c.nop"),
            (0x8082, "ret"),
            (0x9782, "c.jalr a5"),
            (0xa001, "c.j"),
            (0xc111, "c.beqz"),
            (0x2505, "c.addiw, which has the bits of c.jal"),
            (0x0000_0297, "auipc"),
            (0x0000_006f, "j"),
            (0x1005_27af, "lr.w"),
            (0x18e5_27af, "sc.w"),
            (0x0000, "what no processor has"),
        ];
        for (word, name) in taken {
            assert!(!Instruction(word).is_refused_by_kprobes(), "{name}");
        }
        let refused = [
            (0x9002, "c.ebreak"),
            (0x0010_0073, "ebreak"),
            (0x0000_0073, "ecall"),
            (0x1050_0073, "wfi"),
            (0x1000_2573, "csrr a0, sstatus"),
            (0x0ff0_000f, "fence"),
            (0x0000_100f, "fence.i"),
            (0x0100_000f, "pause"),
            (0x0045_200f, "cbo.zero"),
        ];
        for (word, name) in refused {
            assert!(Instruction(word).is_refused_by_kprobes(), "{name}");
        }
    }

    #[test]
    fn lengths_and_ends() {
        assert_eq!(Instruction::first(&[0x82, 0x80]).map(Instruction::length), Some(2));
        assert_eq!(Instruction::first(&[0x13, 0, 0, 0]).map(Instruction::length), Some(4));
        assert_eq!(Instruction::first(&[0x13, 0]), None);
        assert_eq!(Instruction::first(&[0x82]), None);
    }

    /// Targets as binutils 2.40 prints them.
    #[test]
    fn jumps_lead_forth_and_back() {
        assert_eq!(Instruction(0x0080_006f).jump(0x100), Some(0x108));
        assert_eq!(Instruction(0xffdf_f06f).jump(0x100), Some(0xfc));
        assert_eq!(Instruction(0xa021).jump(0x100), Some(0x108));
        assert_eq!(Instruction(0xbff5).jump(0x100), Some(0xfc));
        assert_eq!(Instruction(0x0080_00ef).jump(0x100), None, "jal");
        // auipc t1, 0x1; jr -4(t1)
        assert_eq!(Instruction(0x1317).far_jump(Instruction(0xffc3_0067), 0x100), Some(0x10fc));
        assert_eq!(Instruction(0x1317).far_jump(Instruction(0xffc3_80e7), 0x100), None, "another register");
    }
}
