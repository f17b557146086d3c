//! Masks and shifts, which keep some bits of a number.
use super::super::plan::Bits;
use super::opcodes::{AND, SHL, SHR, SHRA};

/// The bits of a number that masks and shifts keep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    lowest: u32,
    pub width: u32,
    /// How many bits they are above their final position.
    raised: u32,
    /// Whether the highest bit fills those above it.
    is_signed: bool,
    /// The number of bits in the number.
    whole: u32,
}

impl Kept {
    pub fn all(word: u8) -> Self {
        let whole = u32::from(word) * 8;
        Self { lowest: 0, width: whole, raised: 0, is_signed: false, whole }
    }

    pub fn after(self, operation: u8, number: u64) -> Option<Self> {
        let shift = || u32::try_from(number).ok().filter(|n| *n < self.whole && !self.is_signed);
        Some(match operation {
            // A mask of the low bits, without gaps.
            AND if self.raised == 0
                && !self.is_signed
                && number != 0
                && number & number.wrapping_add(1) == 0 =>
            {
                Self { width: self.width.min(number.trailing_ones()), ..self }
            }
            SHL if self.raised == 0 => {
                let raised = shift()?;
                Self { raised, width: self.width.min(self.whole - raised), ..self }
            }
            SHR | SHRA if shift()? >= self.raised => {
                let dropped = shift()? - self.raised;
                let is_signed = operation == SHRA && self.width + self.raised == self.whole;
                let width = self.width.checked_sub(dropped).filter(|w| *w > 0)?;
                Self { lowest: self.lowest + dropped, width, raised: 0, is_signed, ..self }
            }
            _ => return None,
        })
    }

    /// `None` if the bits do not end at the lowest position.
    pub fn bits(self) -> Option<Option<Bits>> {
        let bits = Bits { lowest: self.lowest, width: self.width, is_signed: self.is_signed };
        (self.raised == 0).then_some((self != Self::all((self.whole / 8) as u8)).then_some(bits))
    }
}
