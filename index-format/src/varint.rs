//! LEB128 numbers, and a reader over them that cannot fail.

/// Appends an unsigned number, seven bits per byte, lowest first.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number as zigzag: 0, -1, 1, -2 … become 0, 1, 2, 3 …
#[inline]
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, zigzag(value));
}

/// Encodes a signed number as an unsigned one.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Decodes a signed number from an unsigned one.
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads numbers from bytes that may be damaged: past the end it yields zeros and sets [`Reader::ended`].
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    ended: bool,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, ended: false }
    }
    /// The bytes not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
    /// Whether a read went past the end.
    #[inline]
    pub fn ended(&self) -> bool {
        self.ended
    }
    /// The next byte, or 0.
    #[inline]
    pub fn byte(&mut self) -> u8 {
        match self.rest {
            [first, rest @ ..] => {
                self.rest = rest;
                *first
            }
            [] => {
                self.ended = true;
                0
            }
        }
    }
    /// The next `count` bytes, or fewer.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        if count > self.rest.len() {
            self.ended = true;
        }
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }
    /// The next unsigned number.
    #[inline]
    pub fn number(&mut self) -> u64 {
        let first = self.byte();
        if first < 0x80 {
            return first.into();
        }
        let mut value = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.byte();
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    /// The low 32 bits of the next unsigned number.
    #[inline]
    pub fn number32(&mut self) -> u32 {
        self.number() as u32
    }
    /// The next signed number.
    #[inline]
    pub fn signed(&mut self) -> i64 {
        unzigzag(self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_read(unsigned: u64, signed: i64) {
            let mut out = vec![];
            put(&mut out, unsigned);
            put_signed(&mut out, signed);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.number(), unsigned);
            prop_assert_eq!(reader.signed(), signed);
            prop_assert!(reader.rest().is_empty() && !reader.ended());
        }
    }

    #[test]
    fn the_end_gives_zeros_and_is_reported() {
        let mut reader = Reader::new(&[0x80]);
        assert_eq!(reader.number(), 0);
        assert!(reader.ended());
        assert_eq!(reader.bytes(3), &[] as &[u8]);
    }
}
