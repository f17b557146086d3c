//! What of the instruction set came later than Linux 5.4: older verifiers refuse it where it is reached.
use crate::instruction::{Instruction, class};

/// An extension of the instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Atomic operations other than an addition without a result: Linux 5.12 (`BPF_FETCH` and the like). Before:
    /// "BPF_STX uses reserved fields", `EINVAL` (seen on 5.10).
    Atomic,
    /// The address of a subprogram, for helpers that call it back: Linux 5.13.
    Callback,
    /// A call of a kfunc: Linux 5.13.
    KfuncCall,
    /// Loads and moves that extend the sign, signed division, `bswap`, and jumps of 32 bits (`clang -mcpu=v4`): Linux 6.6.
    Version4,
    /// `may_goto`: Linux 6.9.
    MayGoto,
    /// Casts between address spaces, of arenas: Linux 6.9.
    AddressSpaceCast,
    /// `load_acquire` and `store_release`: Linux 6.15.
    AcquireRelease,
    /// A jump to where a register says: Linux 6.19.
    IndirectJump,
}

impl Feature {
    /// The first release of Linux that has it: major and minor. Distributions may have it earlier.
    pub fn since(self) -> (u32, u32) {
        match self {
            Self::Atomic => (5, 12),
            Self::Callback | Self::KfuncCall => (5, 13),
            Self::Version4 => (6, 6),
            Self::MayGoto | Self::AddressSpaceCast => (6, 9),
            Self::AcquireRelease => (6, 15),
            Self::IndirectJump => (6, 19),
        }
    }

    /// What an instruction needs.
    pub fn of(instruction: Instruction) -> Option<Self> {
        let Instruction { code, src, off, imm, .. } = instruction;
        let (operation, mode) = (code >> 4, code >> 5);
        match instruction.class() {
            // Without BPF_FETCH (1), and (0x50), or (0x40) and xor (0xa0) came with it all the same.
            class::STX if mode == 6 && imm == 0 => None,
            class::STX if mode == 6 && matches!(imm, 0x100 | 0x110) => Some(Self::AcquireRelease),
            class::STX if mode == 6 => Some(Self::Atomic),
            class::LDX if mode == 4 => Some(Self::Version4),
            class::LD if instruction.is_wide() && src == Instruction::PSEUDO_FUNCTION => Some(Self::Callback),
            class::JMP if code == Instruction::CALL && src == Instruction::PSEUDO_KFUNC => {
                Some(Self::KfuncCall)
            }
            class::JMP if operation == 0 && instruction.is_register_operand() => Some(Self::IndirectJump),
            class::JMP if operation == 0xe => Some(Self::MayGoto),
            class::JMP32 if operation == 0 => Some(Self::Version4),
            // Moves extend the sign of so many bits, division is signed with 1; 1 of a 64-bit move with a register is a cast.
            class::ALU64 if operation == 0xb && off == 1 => Some(Self::AddressSpaceCast),
            class::ALU | class::ALU64 if matches!(operation, 0x3 | 0x9 | 0xb) && off != 0 => {
                Some(Self::Version4)
            }
            class::ALU64 if operation == 0xd => Some(Self::Version4),
            _ => None,
        }
    }
}
