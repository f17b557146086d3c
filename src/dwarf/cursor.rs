//! Reads debug sections that may be damaged: past the end it yields zeros and sets a flag.

use object::Endian;

/// A position in a section.
#[derive(Clone, Copy)]
pub struct Cursor<'d, E> {
    data: &'d [u8],
    order: E,
    /// The offset of the next byte.
    pub pos: usize,
    /// Whether a read went past the end.
    pub ended: bool,
}

impl<'d, E: Endian> Cursor<'d, E> {
    /// Starts at this offset of a section.
    #[inline]
    pub fn new(data: &'d [u8], pos: usize, order: E) -> Self {
        Self { data, order, pos, ended: pos > data.len() }
    }
    /// Whether nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pos >= self.data.len() || self.ended
    }
    /// The bytes that are left.
    #[inline(always)]
    pub fn rest(&self) -> &'d [u8] {
        self.data.get(self.pos..).unwrap_or_default()
    }
    #[inline(always)]
    fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.data.get(self.pos..).and_then(|d| d.first_chunk::<N>()) {
            Some(bytes) => {
                self.pos += N;
                *bytes
            }
            None => {
                self.end();
                [0; N]
            }
        }
    }
    #[cold]
    fn end(&mut self) {
        self.pos = self.data.len();
        self.ended = true;
    }
    /// The next byte.
    #[inline(always)]
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }
    /// The next two bytes.
    #[inline(always)]
    pub fn u16(&mut self) -> u16 {
        self.order.read_u16(self.array())
    }
    /// The next three bytes.
    #[inline]
    pub fn u24(&mut self) -> u32 {
        let [a, b, c] = self.array();
        match self.order.is_big_endian() {
            true => u32::from_be_bytes([0, a, b, c]),
            false => u32::from_le_bytes([a, b, c, 0]),
        }
    }
    /// The next four bytes.
    #[inline(always)]
    pub fn u32(&mut self) -> u32 {
        self.order.read_u32(self.array())
    }
    /// The next eight bytes.
    #[inline(always)]
    pub fn u64(&mut self) -> u64 {
        self.order.read_u64(self.array())
    }
    /// An offset of this size (4 or 8).
    #[inline]
    pub fn offset(&mut self, size: u8) -> u64 {
        if size == 8 { self.u64() } else { self.u32().into() }
    }
    /// An address of this size.
    #[inline]
    pub fn address(&mut self, size: u8) -> u64 {
        match size {
            8 => self.u64(),
            4 => self.u32().into(),
            2 => self.u16().into(),
            1 => self.u8().into(),
            _ => {
                self.end();
                0
            }
        }
    }
    /// The next unsigned LEB128 number.
    #[inline(always)]
    pub fn uleb(&mut self) -> u64 {
        let first = self.u8();
        if first < 0x80 { first.into() } else { self.uleb_rest(first) }
    }
    #[inline]
    fn uleb_rest(&mut self, first: u8) -> u64 {
        let mut value = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.u8();
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    /// The next signed LEB128 number.
    #[inline]
    pub fn sleb(&mut self) -> i64 {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let byte = self.u8();
            if shift < 64 {
                value |= i64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte < 0x80 {
                if byte & 0x40 != 0 && shift < 64 {
                    value |= -1 << shift;
                }
                return value;
            }
        }
    }
    /// Skips a LEB128 number.
    #[inline(always)]
    pub fn skip_leb(&mut self) {
        while self.u8() >= 0x80 {}
    }
    /// Skips bytes.
    #[inline(always)]
    pub fn skip(&mut self, count: u64) {
        match self.pos.checked_add(count as usize) {
            Some(pos) if pos <= self.data.len() => self.pos = pos,
            _ => self.end(),
        }
    }
    /// The next bytes.
    #[inline]
    pub fn bytes(&mut self, count: u64) -> &'d [u8] {
        let start = self.pos;
        self.skip(count);
        if self.ended { &[] } else { &self.data[start..self.pos] }
    }
    /// The bytes up to a NUL; skips the NUL.
    #[inline]
    pub fn c_string(&mut self) -> &'d [u8] {
        let rest = self.data.get(self.pos..).unwrap_or_default();
        match length_to_nul(rest) {
            Some(length) => {
                self.pos += length + 1;
                &rest[..length]
            }
            None => {
                self.end();
                &[]
            }
        }
    }
}

/// The number of bytes before the first NUL. Most names are so short that starting `memchr` costs more than they do:
/// the first 32 bytes are searched here, eight at a time.
#[inline]
pub fn length_to_nul(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;
    let (words, _) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().take(4).enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest bit that is set is in the first byte that is 0.
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(8 * at + zeros.trailing_zeros() as usize / 8);
        }
    }
    let searched = 8 * words.len().min(4);
    memchr::memchr(0, &bytes[searched..]).map(|more| searched + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_any_length_end_at_their_first_nul() {
        for length in 0..70 {
            for behind in 0..20 {
                let mut bytes = vec![b'\x80'; length];
                bytes.push(0);
                bytes.extend((0..behind).map(|n| n % 3));
                assert_eq!(length_to_nul(&bytes), Some(length), "{bytes:?}");
            }
            assert_eq!(length_to_nul(&vec![1; length]), None);
        }
    }
}
