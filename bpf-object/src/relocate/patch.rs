//! Writing the number into the instruction (`bpf_core_patch_insn`).
use crate::instruction::{Instruction, class};
use crate::relocate::value::Outcome;
use crate::relocate::{Decision, Failure, Poison};

/// The instruction that the verifier refuses: a call of a helper that does not exist. It says
/// `invalid func unknown#195896080`.
pub const POISON: Instruction =
    Instruction { code: Instruction::CALL, dst: 0, src: 0, off: 0, imm: 195_896_080 };

/// The slots that replace an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The instruction.
    pub first: Instruction,
    /// The second slot of a load of a 64-bit constant.
    pub second: Option<Instruction>,
}

/// What becomes of the first of these instructions.
pub(super) fn apply(outcome: &Outcome, code: &[Instruction]) -> Decision {
    match applied(outcome, code) {
        Ok(decision) => decision,
        Err(failure) => Decision::Failed(failure),
    }
}

fn applied(outcome: &Outcome, code: &[Instruction]) -> Result<Decision, Failure> {
    let mut first = *code.first().ok_or(Failure::BadInstruction)?;
    let mut second = None;
    if outcome.poison {
        return Ok(Decision::Poisoned(Poison::NoMatch));
    }
    let (expected, new) = (outcome.original.value, outcome.new.value);
    let check = |found: u64| {
        if outcome.validate && found != expected {
            Err(Failure::UnexpectedValue { found, expected })
        } else {
            Ok(())
        }
    };
    let original;
    match first.class() {
        class::ALU | class::ALU64 => {
            if first.is_register_operand() {
                return Err(Failure::BadInstruction);
            }
            original = i64::from(first.imm).cast_unsigned();
            check(original)?;
            first.imm = (new as u32).cast_signed();
        }
        class::LDX | class::ST | class::STX => {
            original = i64::from(first.off).cast_unsigned();
            check(original)?;
            let off = i16::try_from(new).map_err(|_| Failure::TooFar(new))?;
            let (from, to) = (outcome.original.width, outcome.new.width);
            if outcome.bad_width {
                return Ok(Decision::Poisoned(Poison::Width { original: from, new: to }));
            }
            first.off = off;
            if from != to {
                if first.width() != from {
                    return Err(Failure::UnexpectedWidth);
                }
                let size = match to {
                    4 => 0,
                    2 => 1,
                    1 => 2,
                    8 => 3,
                    _ => return Err(Failure::UnexpectedWidth),
                };
                first.code = first.code & !0x18 | size << 3;
            }
        }
        class::LD => {
            let next = code.get(1).filter(|next| {
                let is_plain = first.src == 0 && first.off == 0 && next.code == 0;
                first.is_wide() && is_plain && next.dst == 0 && next.src == 0 && next.off == 0
            });
            let mut next = *next.ok_or(Failure::BadInstruction)?;
            original = u64::from(first.imm.cast_unsigned()) | u64::from(next.imm.cast_unsigned()) << 32;
            check(original)?;
            first.imm = (new as u32).cast_signed();
            next.imm = ((new >> 32) as u32).cast_signed();
            second = Some(next);
        }
        _ => return Err(Failure::BadInstruction),
    }
    Ok(Decision::Applied { original, new, patch: Patch { first, second } })
}
