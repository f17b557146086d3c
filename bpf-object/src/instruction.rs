//! Instructions of BPF (`Documentation/bpf/standardization/instruction-set.rst`).
use crate::bytes::ByteOrder;

/// One slot of 8 bytes. A 64-bit load of a constant takes two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Class, operation and operand.
    pub code: u8,
    /// The destination register, 0 to 15.
    pub dst: u8,
    /// The source register, or what `imm` means.
    pub src: u8,
    /// An offset: of memory in bytes, of a jump in slots.
    pub off: i16,
    /// The constant.
    pub imm: i32,
}

/// Classes: the low three bits of `code`.
#[allow(missing_docs)]
pub mod class {
    pub const LD: u8 = 0;
    pub const LDX: u8 = 1;
    pub const ST: u8 = 2;
    pub const STX: u8 = 3;
    pub const ALU: u8 = 4;
    pub const JMP: u8 = 5;
    pub const JMP32: u8 = 6;
    pub const ALU64: u8 = 7;
}

impl Instruction {
    /// The code of a call.
    pub const CALL: u8 = 0x85;
    /// The code of `exit`.
    pub const EXIT: u8 = 0x95;
    /// The code of a load of a 64-bit constant.
    pub const LOAD_IMMEDIATE: u8 = 0x18;
    /// `src` of a call to a subprogram (`BPF_PSEUDO_CALL`).
    pub const PSEUDO_CALL: u8 = 1;
    /// `src` of a call to a kfunc (`BPF_PSEUDO_KFUNC_CALL`).
    pub const PSEUDO_KFUNC: u8 = 2;
    /// `src` of a load of a function's address (`BPF_PSEUDO_FUNC`).
    pub const PSEUDO_FUNCTION: u8 = 4;

    /// The instruction of 8 bytes. Registers are nibbles in the order of the object.
    pub fn decode(bytes: [u8; 8], order: ByteOrder) -> Self {
        let [code, registers, o0, o1, i0, i1, i2, i3] = bytes;
        let (low, high) = (registers & 15, registers >> 4);
        match order {
            ByteOrder::Little => Self {
                code,
                dst: low,
                src: high,
                off: i16::from_le_bytes([o0, o1]),
                imm: i32::from_le_bytes([i0, i1, i2, i3]),
            },
            ByteOrder::Big => Self {
                code,
                dst: high,
                src: low,
                off: i16::from_be_bytes([o0, o1]),
                imm: i32::from_be_bytes([i0, i1, i2, i3]),
            },
        }
    }

    /// The class: the low three bits of the code.
    pub fn class(self) -> u8 {
        self.code & 7
    }

    /// Whether it is the first slot of a load of a 64-bit constant.
    pub fn is_wide(self) -> bool {
        self.code == Self::LOAD_IMMEDIATE
    }

    /// Whether the second operand is a register. Of arithmetic and jumps.
    pub fn is_register_operand(self) -> bool {
        self.code & 8 != 0
    }

    /// How many bytes a load or store moves.
    pub fn width(self) -> u32 {
        match self.code >> 3 & 3 {
            0 => 4,
            1 => 2,
            2 => 1,
            _ => 8,
        }
    }
}
