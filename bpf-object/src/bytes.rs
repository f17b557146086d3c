//! Bounded reads of numbers and strings in either byte order.

/// The byte order of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first: `clang -target bpfel`.
    Little,
    /// Most significant byte first: `clang -target bpfeb`.
    Big,
}

/// So that a table of strings without an end costs no more than its length, however often it is referred to. Names have
/// at most 512 bytes in the kernel, lines of source seldom more than some hundreds.
const MAX_STRING: usize = 4096;

/// Bytes with the order of their numbers. Every read past the end gives `None`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    /// All bytes.
    pub(crate) data: &'a [u8],
    /// How numbers are stored.
    pub(crate) order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(data: &'a [u8], order: ByteOrder) -> Self {
        Self { data, order }
    }

    fn array<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.data.get(offset..)?.first_chunk().copied()
    }

    pub(crate) fn u16(&self, offset: usize) -> Option<u16> {
        let bytes = self.array(offset)?;
        Some(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    pub(crate) fn u32(&self, offset: usize) -> Option<u32> {
        let bytes = self.array(offset)?;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    pub(crate) fn u64(&self, offset: usize) -> Option<u64> {
        let bytes = self.array(offset)?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// All bytes, at most 8, as one number.
    pub(crate) fn number(&self) -> u64 {
        let add = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        match self.order {
            ByteOrder::Little => self.data.iter().rev().fold(0, add),
            ByteOrder::Big => self.data.iter().fold(0, add),
        }
    }

    /// `length` bytes from `offset` on.
    pub(crate) fn slice(&self, offset: u64, length: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        self.data.get(start..end)
    }

    /// The string that starts at `offset` and ends with a zero byte. A longer one than [`MAX_STRING`] is cut there.
    pub(crate) fn string(&self, offset: usize) -> Option<&'a [u8]> {
        let rest = self.data.get(offset..)?;
        let near = &rest[..rest.len().min(MAX_STRING)];
        match memchr::memchr(0, near) {
            Some(end) => Some(&near[..end]),
            None => (near.len() < rest.len()).then_some(near),
        }
    }
}
