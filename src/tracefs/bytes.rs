//! Numbers in the byte order of the kernel that wrote them.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

impl Order {
    /// That of the running machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

/// A number of at most eight bytes; `None` if there are more or none.
pub fn number(bytes: &[u8], order: Order) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 8 {
        return None;
    }
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    Some(match order {
        Order::Little => bytes.iter().rev().fold(0, add),
        Order::Big => bytes.iter().fold(0, add),
    })
}

/// Four bytes at an offset.
#[inline]
pub(super) fn word(bytes: &[u8], at: usize, order: Order) -> Option<u32> {
    let four = *bytes.get(at..)?.first_chunk()?;
    Some(match order {
        Order::Little => u32::from_le_bytes(four),
        Order::Big => u32::from_be_bytes(four),
    })
}
