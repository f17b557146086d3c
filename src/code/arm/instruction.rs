//! Instructions of ARM as the kernel's tables and its checks of the stack look at them (Arm ARM, A5; arch/arm/probes/).

/// An instruction of four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u32);

impl Instruction {
    /// The first instruction in `code`, of a little-endian kernel; `None` if it is cut off.
    pub fn first(code: &[u8]) -> Option<Self> {
        code.first_chunk().map(|bytes| Self(u32::from_le_bytes(*bytes)))
    }

    fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    /// `nop`, or `mov r0, r0` as the assembler writes it for older processors.
    pub fn is_nop(self) -> bool {
        self.0 == 0xe320_f000 || self.0 == 0xe1a0_0000
    }

    /// `b`, under any condition.
    pub fn is_jump(self) -> bool {
        self.is(0x0f00_0000, 0x0a00_0000) && self.0 >> 28 != 0xf
    }

    /// `bl`, under any condition.
    pub fn is_call(self) -> bool {
        self.is(0x0f00_0000, 0x0b00_0000) && self.0 >> 28 != 0xf
    }

    /// `udf`, used for BUG and WARN.
    pub fn is_undefined(self) -> bool {
        self.is(0xfff0_00f0, 0xe7f0_00f0)
    }

    /// Whether it runs under a condition. Where that does not hold, the kernel steps over it without calling the probe's handler
    /// (`kprobe_handler`, arch/arm/probes/kprobes/core.c; seen on 6.1).
    pub fn is_conditional(self) -> bool {
        self.0 >> 28 < 0xe
    }

    /// The target of a `b` or `bl` at this address.
    pub fn target(self, pc: u32) -> u32 {
        pc.wrapping_add(8).wrapping_add_signed((self.0 << 8) as i32 >> 6)
    }

    /// Whether it returns: `bx lr`, `mov pc, lr`, or a load of the program counter from the stack or the frame.
    pub fn is_return(self) -> bool {
        let loads_many = self.is(0x0e10_8000, 0x0810_8000) && matches!(self.register(16), 11 | 13);
        let is_unconditional = self.0 >> 28 == 0xf;
        let is_plain = self.is(0x0fff_ffff, 0x012f_ff1e) || self.is(0x0fff_ffff, 0x01a0_f00e);
        !is_unconditional && (is_plain || loads_many || self.is(0x0fff_ffff, 0x049d_f004))
    }

    /// The register whose number is at this bit.
    pub fn register(self, bit: u32) -> u32 {
        self.0 >> bit & 0xf
    }

    /// Whether a load or store changes its base register (`is_writeback`, arch/arm/probes/decode.h).
    pub fn writes_back(self) -> bool {
        !self.is(0x0120_0000, 0x0100_0000)
    }

    /// Whether it may store further below the stack than kprobes allow, which handle it on the same stack: 64 bytes, or a distance that
    /// a register has (`arm_check_stack`, arch/arm/probes/kprobes/checkers-arm.c; `arch_prepare_kprobe`).
    pub fn stores_below_stack(self) -> bool {
        const MOST: u32 = 64;
        // str, strb; strd, strh: with a register as distance, which is the stack pointer, or from it.
        let by_register = self.is(0x0e10_001f, 0x0600_000d)
            || self.is(0x0e1f_0010, 0x060d_0000)
            || self.is(0x0e50_00bf, 0x0000_00bd)
            || self.is(0x0e5f_00b0, 0x000d_00b0);
        let distance = if self.is(0x0edf_0000, 0x080d_0000) {
            // stmda, stmdb
            let before = self.0 >> 24 & 1;
            (self.0 & 0xffff).count_ones().wrapping_sub(1 - before).wrapping_mul(4)
        } else if self.is(0x0f9f_0000, 0x050d_0000) {
            self.0 & 0xfff
        } else if self.is(0x0fdf_00b0, 0x014d_00b0) {
            self.0 >> 4 & 0xf0 | self.0 & 0xf
        } else {
            0
        };
        by_register || distance > MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as binutils 2.40 assembles them.
    #[test]
    fn what_reaches_below_the_stack() {
        for (word, text) in [
            (0xe78d_1002, "str r1, [sp, r2]"),
            (0xe781_200d, "str r2, [r1, sp]"),
            (0xe18d_20b3, "strh r2, [sp, r3]"),
            (0xe18d_20f4, "strd r2, [sp, r4]"),
            (0xe50d_1044, "str r1, [sp, #-68]"),
            (0xe52d_1044, "str r1, [sp, #-68]!"),
            (0xe14d_24f8, "strd r2, [sp, #-72]"),
        ] {
            assert!(Instruction(word).stores_below_stack(), "{text}");
        }
        for (word, text) in [
            (0xe92d_ffff, "push {r0-pc}"),
            (0xe52d_e004, "push {lr}"),
            (0xe58d_1044, "str r1, [sp, #68]"),
            (0xe50d_1040, "str r1, [sp, #-64]"),
            (0xe79d_1002, "ldr r1, [sp, r2]"),
            (0xe51d_1044, "ldr r1, [sp, #-68]"),
            (0xe6bd_1072, "sxtah r1, sp, r2"),
            (0xe14d_24d8, "ldrd r2, [sp, #-72]"),
        ] {
            assert!(!Instruction(word).stores_below_stack(), "{text}");
        }
    }

    #[test]
    fn jumps_and_ends() {
        assert_eq!(Instruction(0xea00_0000).target(0x100), 0x108);
        assert_eq!(Instruction(0xeaff_fffe).target(0x100), 0x100);
        assert_eq!(Instruction(0x0aff_fffd).target(0x100), 0xfc);
        assert!(Instruction(0x1a00_0000).is_conditional() && !Instruction(0xea00_0000).is_conditional());
        assert!(!Instruction(0xf57f_f05b).is_conditional(), "dmb ish");
        assert!(Instruction(0x1a00_0000).is_jump() && !Instruction(0xfa00_0000).is_jump(), "blx");
        for (word, text) in [
            (0xe12f_ff1e, "bx lr"),
            (0x112f_ff1e, "bxne lr"),
            (0xe1a0_f00e, "mov pc, lr"),
            (0xe8bd_8010, "pop {r4, pc}"),
            (0xe49d_f004, "pop {pc}"),
            (0xe89d_a800, "ldm sp, {fp, sp, pc}"),
            (0xe91b_a800, "ldmdb fp, {fp, sp, pc}"),
        ] {
            assert!(Instruction(word).is_return(), "{text}");
        }
        for word in [0xe8bd_4010, 0xe12f_ff33, 0xe1a0_e00f, 0xea00_0000] {
            assert!(!Instruction(word).is_return(), "{word:x}");
        }
        assert!(Instruction(0xe7f0_01f2).is_undefined());
    }
}
