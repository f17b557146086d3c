//! Numbers as bits: prefix codes of their contexts ([`codes`]), the highest bit of a byte first.
//!
//! Most numbers are small: a symbol of the context's code gives the value, or its magnitude, and the bits below follow.
//! With `2^d` values that have a symbol of their own (`d` is 4, or 6 for columns):
//!
//! | symbol | value |
//! | --- | --- |
//! | below `2^d` | the symbol |
//! | the next `4 * (16 - d)` | 4 for each `e` from `d` to 15: `2^e` plus 0 to 3 times `2^(e - 2)`; `e - 2` bits to add follow |
//! | the next 18 | `2^e` for each `e` from 16 to 33; `e` bits to add follow |
//! | the last | six bits are `e`; `e` bits to add to `2^e` follow |
//!
//! Signed numbers are zigzag ([`varint`](crate::varint)). What is read on its own starts at a byte; zeros fill the last
//! byte before.
use crate::codes::{self, Context};
use crate::varint::{unzigzag, zigzag};

/// Exponents from here on have one symbol each.
const COARSE: u32 = 16;
/// The exponents from here on share a symbol.
const LARGE: u32 = 34;

/// The zeros at the start of the longest exponential Golomb code that is written.
const LONGEST_GOLOMB: u32 = 34;

/// The number of symbols for numbers.
pub(crate) const NUMBER: usize = symbols(4);
/// The number of symbols for columns.
pub(crate) const COLUMN: usize = symbols(6);

const fn symbols(direct: u32) -> usize {
    large(direct) as usize + 1
}

/// The symbol of the largest numbers.
const fn large(direct: u32) -> u32 {
    coarse(direct) + LARGE - COARSE
}

/// The first symbol for a whole power of two.
const fn coarse(direct: u32) -> u32 {
    (1 << direct) + 4 * (COARSE - direct)
}

/// Appends bits to bytes.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    out: Vec<u8>,
    /// The last `count` bits, fewer than 32, are not in `out` yet.
    pending: u64,
    count: u32,
}

/// A position to return to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    length: usize,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Appends to these bytes.
    pub fn new(out: Vec<u8>) -> Self {
        Self { out, pending: 0, count: 0 }
    }
    /// Removes everything.
    pub fn clear(&mut self) {
        self.out.clear();
        (self.pending, self.count) = (0, 0);
    }
    /// The bytes; [`align`](Self::align) first.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }
    /// Fills the last byte, and gives all.
    pub fn finish(mut self) -> Vec<u8> {
        self.align();
        self.out
    }
    /// The number of bits so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.out.len() * 8 + self.count as usize
    }
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { length: self.out.len(), pending: self.pending, count: self.count }
    }
    /// Removes what follows a position.
    pub fn back(&mut self, to: Mark) {
        self.out.truncate(to.length);
        (self.pending, self.count) = (to.pending, to.count);
    }
    /// Appends up to 32 bits; those above are 0.
    #[inline]
    fn put(&mut self, bits: u64, count: u32) {
        self.pending = self.pending << count | bits;
        self.count += count;
        if self.count >= 32 {
            self.count -= 32;
            self.out.extend_from_slice(&((self.pending >> self.count) as u32).to_be_bytes());
        }
    }
    fn put_long(&mut self, bits: u64, count: u32) {
        if count > 32 {
            self.put(bits >> 32, count - 32);
            self.put(bits & u64::from(u32::MAX), 32);
        } else {
            self.put(bits, count);
        }
    }
    /// Appends these bits; those above are 0.
    #[inline]
    pub fn bits(&mut self, bits: u32, count: u32) {
        self.put(bits.into(), count);
    }
    /// Appends a number, at most 2^33: its exponential Golomb code. Of the order `o`, a number below `2^o` takes `o + 1` bits,
    /// and each further power of two two bits more.
    pub fn golomb(&mut self, order: u32, value: u64) {
        let value = value + (1 << order);
        let exponent = value.ilog2();
        self.put(0, exponent - order);
        self.put_long(value, exponent + 1);
    }
    /// Appends so many of the next bits.
    pub fn copy(&mut self, mut from: Bits<'_>, count: usize) {
        for _ in 0..count / 32 {
            self.put(from.take(32), 32);
        }
        let left = (count % 32) as u32;
        self.put(from.take(left), left);
    }
    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) {
        self.copy(Bits::new(&[]), count);
    }
    /// Fills the last byte with zeros.
    pub fn align(&mut self) {
        let bytes = ((self.pending << (32 - self.count)) as u32).to_be_bytes();
        self.out.extend_from_slice(&bytes[..self.count.div_ceil(8) as usize]);
        (self.pending, self.count) = (0, 0);
    }
    /// Fills the last byte, and appends bytes.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.align();
        self.out.extend_from_slice(bytes);
    }
    /// Appends a symbol.
    #[inline]
    pub fn symbol(&mut self, context: Context, symbol: u32) {
        let (bits, count) = codes::encode(context, symbol);
        self.put(bits, count);
    }
    /// Appends a number.
    #[inline]
    pub fn number(&mut self, context: Context, value: u64) {
        self.scaled::<4>(context, value);
    }
    /// Appends a signed number.
    #[inline]
    pub fn signed(&mut self, context: Context, value: i64) {
        self.number(context, zigzag(value));
    }
    /// Appends a column.
    #[inline]
    pub fn column(&mut self, context: Context, value: u32) {
        self.scaled::<6>(context, value.into());
    }
    #[inline]
    fn scaled<const DIRECT: u32>(&mut self, context: Context, value: u64) {
        if value < 1 << DIRECT {
            return self.symbol(context, value as u32);
        }
        let exponent = value.ilog2();
        if exponent < COARSE {
            let (extra, symbol) = (exponent - 2, (exponent - DIRECT) * 4 + (1 << DIRECT));
            let (bits, count) = codes::encode(context, symbol + (value >> extra) as u32 - 4);
            // At most 15 and 13 bits.
            self.put(bits << extra | value & ((1 << extra) - 1), count + extra);
        } else {
            self.coarse(context, value, coarse(DIRECT), large(DIRECT));
        }
    }
    #[inline(never)]
    fn coarse(&mut self, context: Context, value: u64, first: u32, large: u32) {
        let exponent = value.ilog2();
        if exponent < LARGE {
            self.symbol(context, first + exponent - COARSE);
        } else {
            self.symbol(context, large);
            self.put(exponent.into(), 6);
        }
        self.put_long(value ^ 1 << exponent, exponent);
    }
}

/// Reads bits from bytes that may be damaged: past the end there are zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    /// Starts at the first byte.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// The number of bits before the next one.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }
    /// Another position in the same bytes.
    #[inline]
    pub fn to(self, at: usize) -> Self {
        Self { at, ..self }
    }
    /// Whether a read went past the end.
    #[inline]
    pub fn ended(&self) -> bool {
        self.at > self.bytes.len() * 8
    }
    /// The next 57 bits or more, from the highest bit on.
    #[inline(always)]
    fn word(&self) -> u64 {
        let first = self.at / 8;
        let word = match self.bytes.get(first..first + 8).and_then(<[u8]>::first_chunk) {
            Some(word) => u64::from_be_bytes(*word),
            None => self.last_word(),
        };
        word << (self.at % 8)
    }
    #[cold]
    fn last_word(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        u64::from_be_bytes(word)
    }
    /// The next bits, at most 56.
    fn take(&mut self, count: u32) -> u64 {
        let bits = self.word() >> 1 >> (63 - count);
        self.at += count as usize;
        bits
    }
    /// The next bit, and three exponential Golomb codes of these orders.
    #[inline(always)]
    pub fn flag_and_golombs(&mut self, orders: [u32; 3]) -> (bool, [u64; 3]) {
        let word = self.word();
        let (mut rest, mut length) = (word << 1, 1);
        let numbers = orders.map(|order| {
            let own = 2 * rest.leading_zeros() + 1 + order;
            length += own;
            let number = rest.wrapping_shr(64u32.wrapping_sub(own)).wrapping_sub(1 << order);
            rest = rest.wrapping_shl(own);
            number
        });
        let flag = word >> 63 == 1;
        // The word has at least 57 bits.
        if length > 57 {
            self.at += 1;
            return (flag, orders.map(|order| self.golomb(order)));
        }
        self.at += length as usize;
        (flag, numbers)
    }
    #[cold]
    fn golomb(&mut self, order: u32) -> u64 {
        let zeros = self.word().leading_zeros();
        if zeros > LONGEST_GOLOMB {
            *self = self.past_the_end();
            return 0;
        }
        self.at += zeros as usize;
        self.take_long(zeros + 1 + order).wrapping_sub(1 << order)
    }
    fn take_long(&mut self, count: u32) -> u64 {
        let high = if count > 32 { self.take(count - 32) << 32 } else { 0 };
        high | self.take(count.min(32))
    }
    /// The bytes from the next whole one on, at most `count`.
    pub fn raw(&mut self, count: usize) -> &'a [u8] {
        let rest = self.bytes.get(self.at.div_ceil(8)..).unwrap_or_default();
        if count > rest.len() {
            *self = self.past_the_end();
        } else {
            self.at = (self.at.div_ceil(8) + count) * 8;
        }
        &rest[..count.min(rest.len())]
    }
    /// The same, with everything read.
    #[inline]
    pub fn past_the_end(self) -> Self {
        Self { bytes: &[], at: 1 }
    }
    /// The next symbol.
    #[inline(always)]
    pub fn symbol(&mut self, context: Context) -> u32 {
        let (symbol, count) = codes::decode(context, self.word());
        self.at += count as usize;
        symbol
    }
    /// The next number.
    #[inline]
    pub fn number(&mut self, context: Context) -> u64 {
        self.number_here(context)
    }
    /// Like [`number`](Self::number), compiled into the caller.
    #[inline(always)]
    pub fn number_here(&mut self, context: Context) -> u64 {
        self.scaled::<4>(context)
    }
    /// Passes over a number, and returns what it is: 0, 1 or 2 for any other.
    #[inline(always)]
    pub fn skip_number(&mut self, context: Context) -> u32 {
        let symbol = self.symbol(context);
        if symbol >= coarse(4) {
            self.coarse(symbol - coarse(4));
        } else if symbol >= 16 {
            self.at += (symbol / 4 - 2) as usize;
        }
        symbol.min(2)
    }
    /// Passes over symbols, each in the context that the one before gives.
    pub fn skip_symbols(&mut self, mut left: u32, first: Context, after: impl Fn(u32) -> Context) {
        // Of at most 15 bits each.
        const IN_A_WORD: u32 = 3;
        let mut context = first;
        while left > 0 && !self.ended() {
            let mut word = self.word();
            for _ in 0..left.min(IN_A_WORD) {
                let (symbol, count) = codes::decode(context, word);
                word <<= count;
                self.at += count as usize;
                context = after(symbol);
            }
            left = left.saturating_sub(IN_A_WORD);
        }
    }
    /// The low 32 bits of the next number.
    #[inline]
    pub fn number32(&mut self, context: Context) -> u32 {
        self.number(context) as u32
    }
    /// The next signed number.
    #[inline]
    pub fn signed(&mut self, context: Context) -> i64 {
        unzigzag(self.number(context))
    }
    /// The next column.
    #[inline]
    pub fn column(&mut self, context: Context) -> u32 {
        self.scaled::<6>(context) as u32
    }
    #[inline(always)]
    fn scaled<const DIRECT: u32>(&mut self, context: Context) -> u64 {
        let word = self.word();
        let (symbol, count) = codes::decode(context, word);
        self.at += count as usize;
        if symbol < 1 << DIRECT {
            return symbol.into();
        }
        if symbol < coarse(DIRECT) {
            let within = symbol - (1 << DIRECT);
            let extra = within / 4 + DIRECT - 2;
            self.at += extra as usize;
            // At most 15 and 13 of the word's 57 bits.
            return u64::from(4 + within % 4) << extra | word << count >> 1 >> (63 - extra);
        }
        self.coarse(symbol - coarse(DIRECT))
    }
    #[inline(never)]
    fn coarse(&mut self, symbol: u32) -> u64 {
        let mut exponent = symbol + COARSE;
        if exponent >= LARGE {
            exponent = self.take(6) as u32;
        }
        1 << exponent | self.take_long(exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
    }

    proptest! {
        #[test]
        fn what_is_put_is_read(
            numbers in prop::collection::vec((any_number(), any_number(), any::<u32>()), 0..20),
            bytes: [u8; 3],
        ) {
            let mut writer = BitWriter::new(vec![1, 2]);
            for (unsigned, signed, column) in &numbers {
                writer.number(codes::OUTER, *unsigned);
                writer.signed(codes::CALL_LINE, *signed as i64);
                writer.column(codes::CALL_COLUMN, *column);
            }
            writer.raw(&bytes);
            let out = writer.finish();
            let mut reader = Bits::new(&out[2..]);
            let mut skipping = reader;
            for (unsigned, signed, column) in numbers {
                prop_assert_eq!(skipping.skip_number(codes::OUTER), unsigned.min(2) as u32);
                skipping.skip_number(codes::CALL_LINE);
                skipping.column(codes::CALL_COLUMN);
                prop_assert_eq!(reader.number(codes::OUTER), unsigned);
                prop_assert_eq!(reader.signed(codes::CALL_LINE), signed as i64);
                prop_assert_eq!(reader.column(codes::CALL_COLUMN), column);
            }
            prop_assert_eq!(skipping.position(), reader.position());
            prop_assert_eq!(reader.raw(3), bytes);
            prop_assert!(!reader.ended());
            reader.symbol(codes::OUTER);
            prop_assert!(reader.ended());
        }
    }

    proptest! {
        #[test]
        fn golomb_codes_are_read_as_they_were_put(
            all in prop::collection::vec((any::<bool>(), prop::array::uniform3((any::<u32>(), 0u32..34))), 0..40),
            orders in prop::array::uniform3(0u32..4),
        ) {
            let value = |(number, bits): (u32, u32)| u64::from(number) << 2 >> (34 - bits);
            let mut writer = BitWriter::default();
            for (flag, numbers) in &all {
                writer.bits((*flag).into(), 1);
                orders.iter().zip(numbers).for_each(|(order, number)| writer.golomb(*order, value(*number)));
            }
            let out = writer.finish();
            let mut reader = Bits::new(&out);
            for (flag, numbers) in all {
                prop_assert_eq!(reader.flag_and_golombs(orders), (flag, numbers.map(value)));
            }
            prop_assert_eq!(out.len(), reader.position().div_ceil(8));
        }

        #[test]
        fn damaged_golomb_codes_end(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Bits::new(&bytes);
            while !reader.ended() {
                let at = reader.position();
                reader.flag_and_golombs([0, 2, 1]);
                prop_assert!(reader.ended() || reader.position() > at);
            }
        }
    }

    #[test]
    fn what_follows_a_mark_can_be_removed() {
        let mut writer = BitWriter::default();
        writer.number(codes::OUTER, 1000);
        let mark = writer.mark();
        for value in 0..100 {
            writer.number(codes::OUTER, value);
        }
        writer.back(mark);
        writer.number(codes::OUTER, 7);
        let out = writer.finish();
        let mut reader = Bits::new(&out);
        assert_eq!((reader.number(codes::OUTER), reader.number(codes::OUTER)), (1000, 7));
        assert_eq!(out.len(), reader.position().div_ceil(8));
    }
}
