//! Relocations that modify the value in place. The linkers of RISC-V and LoongArch may shorten code, so their assemblers leave
//! differences of labels to pairs of relocations, one that adds and one that subtracts (RISC-V ELF psABI, "Relocations"; ELF
//! for the LoongArch Architecture, "Relocations").
use object::elf::{self, Machine};

/// What a relocation does to the number in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace {
    width: Width,
    operation: Operation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// The low six bits of a byte: the operand of `DW_CFA_advance_loc`.
    Six,
    Bytes(usize),
    /// As many bytes as the number has already.
    Leb128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Set,
    Add,
    Subtract,
}

impl InPlace {
    /// The operation of a relocation type on a machine; `None` if it modifies nothing in place.
    pub fn of(machine: u16, kind: u32) -> Option<Self> {
        let (width, operation) = match Machine(machine) {
            elf::EM_RISCV => Self::of_riscv(kind)?,
            elf::EM_LOONGARCH => Self::of_loongarch(kind)?,
            _ => return None,
        };
        Some(Self { width, operation })
    }
    fn of_riscv(kind: u32) -> Option<(Width, Operation)> {
        use Operation::{Add, Set, Subtract};
        use Width::{Bytes, Leb128, Six};
        Some(match kind {
            33 => (Bytes(1), Add),
            34 => (Bytes(2), Add),
            35 => (Bytes(4), Add),
            36 => (Bytes(8), Add),
            37 => (Bytes(1), Subtract),
            38 => (Bytes(2), Subtract),
            39 => (Bytes(4), Subtract),
            40 => (Bytes(8), Subtract),
            52 => (Six, Subtract),
            53 => (Six, Set),
            54 => (Bytes(1), Set),
            55 => (Bytes(2), Set),
            56 => (Bytes(4), Set),
            60 => (Leb128, Set),
            61 => (Leb128, Subtract),
            _ => return None,
        })
    }
    fn of_loongarch(kind: u32) -> Option<(Width, Operation)> {
        use Operation::{Add, Subtract};
        use Width::{Bytes, Leb128, Six};
        Some(match kind {
            47 => (Bytes(1), Add),
            48 => (Bytes(2), Add),
            49 => (Bytes(3), Add),
            50 => (Bytes(4), Add),
            51 => (Bytes(8), Add),
            52 => (Bytes(1), Subtract),
            53 => (Bytes(2), Subtract),
            54 => (Bytes(3), Subtract),
            55 => (Bytes(4), Subtract),
            56 => (Bytes(8), Subtract),
            105 => (Six, Add),
            106 => (Six, Subtract),
            107 => (Leb128, Add),
            108 => (Leb128, Subtract),
            _ => return None,
        })
    }

    /// Whether it subtracts: another relocation at the same place sets the minuend.
    pub fn subtracts(self) -> bool {
        self.operation == Operation::Subtract
    }

    /// Applies a symbol's value, plus addend, to the number at the start of `data`; `None` if the data ends within
    /// it.
    pub fn apply(self, data: &mut [u8], value: u64) -> Option<()> {
        let change = |old: u64| match self.operation {
            Operation::Set => value,
            Operation::Add => old.wrapping_add(value),
            Operation::Subtract => old.wrapping_sub(value),
        };
        match self.width {
            Width::Six => {
                let byte = data.first_mut()?;
                *byte = *byte & 0xc0 | change(u64::from(*byte)) as u8 & 0x3f;
            }
            Width::Bytes(width) => {
                let place = data.get_mut(..width)?;
                let mut old = [0; 8];
                old[..width].copy_from_slice(place);
                place.copy_from_slice(&change(u64::from_le_bytes(old)).to_le_bytes()[..width]);
            }
            Width::Leb128 => {
                const LONGEST: usize = 10;
                let last = data.iter().take(LONGEST).position(|byte| byte & 0x80 == 0)?;
                let place = &mut data[..=last];
                let shift = |at: usize| 7 * at as u32;
                let bits = |(at, byte): (usize, &u8)| u64::from(byte & 0x7f).wrapping_shl(shift(at));
                let new = change(place.iter().enumerate().map(bits).fold(0, |all, bits| all | bits));
                for (at, byte) in place.iter_mut().enumerate() {
                    *byte = *byte & 0x80 | (new >> shift(at)) as u8 & 0x7f;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies relocation types of RISC-V in order, by their numbers in the specification.
    fn applied(data: Vec<u8>, kinds: &[(u32, u64)]) -> Option<Vec<u8>> {
        applied_on(elf::EM_RISCV, data, kinds)
    }
    fn applied_on(machine: Machine, mut data: Vec<u8>, kinds: &[(u32, u64)]) -> Option<Vec<u8>> {
        for (kind, value) in kinds {
            InPlace::of(machine.0, *kind)?.apply(&mut data, *value)?;
        }
        Some(data)
    }

    #[test]
    fn a_difference_of_labels() {
        const SET6: u32 = 53;
        const SUB6: u32 = 52;
        const SET16: u32 = 55;
        const SUB16: u32 = 38;
        const SET_ULEB128: u32 = 60;
        const SUB_ULEB128: u32 = 61;
        // DW_CFA_advance_loc keeps its upper two bits; the next byte is left unchanged.
        assert_eq!(applied(vec![0x40, 9], &[(SET6, 0x1234), (SUB6, 0x1220)]), Some(vec![0x54, 9]));
        assert_eq!(
            applied(vec![1, 1, 9], &[(SET16, 0x1_2345), (SUB16, 0x1_1111)]),
            Some(vec![0x34, 0x12, 9])
        );
        let difference = [(SET_ULEB128, 0x12_3456), (SUB_ULEB128, 0x12_3321)];
        assert_eq!(applied(vec![0x80, 0x00, 9], &difference), Some(vec![0xb5, 0x02, 9]));
        // Three bytes stay three.
        assert_eq!(applied(vec![0x80, 0x80, 0x00], &difference), Some(vec![0xb5, 0x82, 0x00]));
    }

    /// The assembler leaves zeros.
    #[test]
    fn a_difference_of_labels_of_loongarch() {
        let difference = |add: u32, subtract: u32| [(add, 0x12_3456), (subtract, 0x12_3321)];
        let applied = |data: &[u8], kinds: [_; 2]| applied_on(elf::EM_LOONGARCH, data.to_vec(), &kinds);
        for (width, add, subtract) in [(1, 47, 52), (2, 48, 53), (3, 49, 54), (4, 50, 55), (8, 51, 56)] {
            let mut wanted = [0, 0, 0, 0, 0, 0, 0, 0, 9];
            wanted[..2.min(width)].copy_from_slice(&[0x35, 0x01][..2.min(width)]);
            assert_eq!(
                applied(&[0, 0, 0, 0, 0, 0, 0, 0, 9], difference(add, subtract)).unwrap(),
                wanted,
                "{add}"
            );
        }
        assert_eq!(applied(&[0x40, 9], [(105, 0x1234), (106, 0x1220)]), Some(vec![0x54, 9]));
        assert_eq!(applied(&[0x80, 0x80, 0x00, 9], difference(107, 108)), Some(vec![0xb5, 0x82, 0x00, 9]));
        assert_eq!(applied(&[0; 8], [(1, 1), (1, 1)]), None);
    }

    #[test]
    fn what_ends_within_a_number_is_told() {
        assert_eq!(applied(vec![0x80; 12], &[(60, 1)]), None);
        assert_eq!(applied(vec![0x80], &[(60, 1)]), None);
        assert_eq!(applied(vec![], &[(53, 1)]), None);
        assert_eq!(applied(vec![0; 3], &[(56, 1)]), None);
        assert_eq!(InPlace::of(elf::EM_X86_64.0, 53), None);
    }
}
