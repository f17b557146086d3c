//! The byte and bit order of the objects in an index. The index itself is little-endian.

/// The byte order of a number in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The unsigned number in these bytes of memory; `None` for more than eight.
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        let mut value = [0; 8];
        let (room, length) = (value.len(), bytes.len());
        Some(match self {
            Self::Little => {
                value.get_mut(..length)?.copy_from_slice(bytes);
                u64::from_le_bytes(value)
            }
            Self::Big => {
                value.get_mut(room.checked_sub(length)?..)?.copy_from_slice(bytes);
                u64::from_be_bytes(value)
            }
        })
    }

    /// The lowest bit, by weight, of a field of `width` bits in a number of `whole` bits whose first bit in memory is
    /// `first`. `None` if the field exceeds a big-endian number, in which it then has no position.
    pub fn lowest_bit(self, first: u64, width: u64, whole: u64) -> Option<u64> {
        match self {
            Self::Little => Some(first),
            Self::Big => whole.checked_sub(first.checked_add(width)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ByteOrder::{Big, Little};

    #[test]
    fn bytes_and_bits_of_both_orders() {
        let bytes = [0x12, 0x34, 0x56];
        assert_eq!((Little.number(&bytes), Big.number(&bytes)), (Some(0x56_3412), Some(0x12_3456)));
        assert_eq!((Little.number(&[]), Big.number(&[])), (Some(0), Some(0)));
        assert_eq!((Little.number(&[1; 9]), Big.number(&[1; 9])), (None, None));
        // struct { unsigned a:3, b:7; }: b is 0x3ff & x >> 3 of one, and 0x7f & x >> 22 of the other.
        assert_eq!((Little.lowest_bit(3, 7, 32), Big.lowest_bit(3, 7, 32)), (Some(3), Some(22)));
        assert_eq!(Big.lowest_bit(28, 7, 32), None);
    }
}
