//! How kprobes classify an instruction.

/// The bytes of an instruction, with zeros past the end of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction([u8; 6]);

impl Instruction {
    /// The first instruction in `code`; `None` for less than two bytes.
    pub fn first(code: &[u8]) -> Option<Self> {
        let mut bytes = [0; 6];
        let there = code.len().min(6);
        bytes[..there].copy_from_slice(&code[..there]);
        (there >= 2).then_some(Self(bytes))
    }

    pub fn bytes(self) -> [u8; 6] {
        self.0
    }
    /// The length in bytes, by its first two bits (`insn_length`, arch/s390/include/asm/dis.h).
    pub fn length(self) -> u32 {
        match self.0[0] >> 6 {
            0 => 2,
            1 | 2 => 4,
            _ => 6,
        }
    }
    /// The opcode and first operands.
    fn start(self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]])
    }
    /// Whether it is a breakpoint. It hides the original instruction, so the kernel decodes no further (`can_probe`,
    /// arch/s390/kernel/kprobes.c).
    pub fn ends_decoding(self) -> bool {
        self.0[0] == 0
    }
    /// Refused even if known to the kernel's disassembler (`probe_is_prohibited_opcode`, arch/s390/lib/probes.c, 5.10
    /// to 7.2): it saves or loads state that single-stepping changes, executes another instruction, or belongs to a
    /// transaction.
    pub fn is_prohibited(self) -> bool {
        match self.start() {
            // pr, bsa, bakr, bsg, pc, pt, epsw, tbegin, tbeginc, tend
            0x0101 | 0xb25a | 0xb240 | 0xb258 | 0xb218 | 0xb228 | 0xb98d | 0xe560 | 0xe561 | 0xb2f8 => true,
            // exrl
            start if start & 0xff0f == 0xc600 => true,
            // bassm, bsm, diag, ex, stnsm, stosm
            start => matches!(start >> 8, 0x0c | 0x0b | 0x83 | 0x44 | 0xac | 0xad),
        }
    }

    /// `brcl`: a jump, or a no-op if it has no condition, as at ftrace sites and jump labels.
    pub fn is_jump_or_nop(self) -> bool {
        self.start() & 0xff0f == 0xc004
    }
    /// `brasl`: a call.
    pub fn is_call(self) -> bool {
        self.start() & 0xff0f == 0xc005
    }
    /// `mc`, a monitor call, used for BUG and WARN.
    pub fn is_monitor_call(self) -> bool {
        self.0[0] == 0xaf
    }
    /// `larl`: loads an address.
    pub fn is_load_of_address(self) -> bool {
        self.start() & 0xff0f == 0xc000
    }
    /// `br %r14`, with any condition.
    pub fn is_return(self) -> bool {
        self.0[0] == 0x07 && self.0[1] & 0x0f == 14 && self.0[1] >> 4 != 0
    }
    /// The target of a relative jump: `brc`, `brcl`.
    pub fn jumps_to(self, pc: u32) -> Option<u32> {
        match self.start() & 0xff0f {
            _ if self.0[1] >> 4 == 0 => None,
            0xa704 => {
                let halfwords = i16::from_be_bytes([self.0[2], self.0[3]]);
                Some(pc.wrapping_add_signed(i32::from(halfwords) * 2))
            }
            0xc004 => Some(self.relative_long(pc)),
            _ => None,
        }
    }
    /// The target in the last four bytes, in halfwords relative to the instruction.
    pub fn relative_long(self, pc: u32) -> u32 {
        let [_, _, halfwords @ ..] = self.0;
        pc.wrapping_add_signed(i32::from_be_bytes(halfwords).wrapping_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Instruction {
        Instruction::first(bytes).unwrap()
    }

    #[test]
    fn the_first_two_bits_are_the_length() {
        assert_eq!(of(&[0x07, 0xfe]).length(), 2);
        assert_eq!(of(&[0xa7, 0xf4, 0, 4]).length(), 4);
        assert_eq!(of(&[0xc0, 0x04, 0, 0, 0, 0]).length(), 6);
        assert_eq!(Instruction::first(&[7]), None);
    }

    #[test]
    fn what_single_steps_would_break_is_prohibited() {
        for bytes in [[0x83, 0x12], [0x44, 0x10], [0xc6, 0x10], [0xb9, 0x8d], [0xe5, 0x60], [0x01, 0x01]] {
            assert!(of(&bytes).is_prohibited(), "{bytes:x?}");
        }
        // larl; pfdrl, next to exrl; lpswe
        for bytes in [[0xc0, 0x10], [0xc6, 0x12], [0xb2, 0xb2], [0xe5, 0x48], [0x01, 0x02]] {
            assert!(!of(&bytes).is_prohibited(), "{bytes:x?}");
        }
    }

    #[test]
    fn jumps_count_halfwords() {
        assert_eq!(of(&[0xa7, 0xf4, 0xff, 0xfe]).jumps_to(100), Some(96));
        assert_eq!(of(&[0xc0, 0xf4, 0, 0, 0, 8]).jumps_to(100), Some(116));
        assert_eq!(of(&[0xc0, 0x04, 0, 0, 0, 8]).jumps_to(100), None);
        assert!(
            of(&[0x07, 0xfe]).is_return() && of(&[0x07, 0x8e]).is_return() && !of(&[0x07, 0x0e]).is_return()
        );
    }
}
