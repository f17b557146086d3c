//! The values of a column as numbers: each is written once for a group of rows, and all rows refer to it. That is what a
//! dictionary of Parquet is, made where the rows are: most values are the one of the row before.
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::borrow::Cow;
use std::hash::Hasher;

/// The number of null.
pub const NULL: u32 = u32::MAX;

/// Some rows of a column.
#[derive(Debug, Default)]
#[cfg_attr(not(feature = "program"), allow(dead_code, reason = "only files are made of it"))]
pub struct Numbered {
    /// For each row, the number of its value, or [`NULL`].
    pub numbers: Vec<u32>,
    /// The values that no row of the group had before, in the order of their numbers: Parquet's encoding PLAIN.
    pub new: Vec<u8>,
    /// How many these are.
    pub count: u32,
}

/// A column that grows.
#[derive(Debug)]
pub struct Numbering {
    /// Whether the length of each value stands before it.
    has_lengths: bool,
    known: HashTable<Known>,
    /// All values of the group, as PLAIN has them.
    values: Vec<u8>,
    /// How many they are.
    count: u32,
    /// That of the last row that has one.
    last: Option<Known>,
    numbers: Vec<u32>,
    /// What of the values the rows had that were taken: bytes and count.
    taken: (usize, u32),
}

/// A value of the group. In one piece: what is looked for is rarely in a cache of the processor.
#[derive(Clone, Copy, Debug)]
struct Known {
    hash: u32,
    number: u32,
    /// Where it starts in the values.
    start: u32,
    length: u32,
}

impl Numbering {
    /// A column of texts, or of numbers.
    pub fn new(is_of_texts: bool) -> Self {
        Self {
            has_lengths: is_of_texts,
            known: HashTable::new(),
            values: vec![],
            count: 0,
            last: None,
            numbers: vec![],
            taken: (0, 0),
        }
    }

    /// A row without a value.
    pub fn null(&mut self) {
        self.numbers.push(NULL);
    }

    /// A row with a text. What is not UTF-8 in it is replaced.
    pub fn text(&mut self, text: &[u8]) {
        let number = match self.find(text) {
            Ok(number) => number,
            Err(hash) => match String::from_utf8_lossy(text) {
                Cow::Borrowed(_) => self.add(text, hash),
                Cow::Owned(replaced) => {
                    let replaced = replaced.as_bytes();
                    self.find(replaced).unwrap_or_else(|hash| self.add(replaced, hash))
                }
            },
        };
        self.numbers.push(number);
    }

    /// A row with a number, in its little-endian bytes.
    pub fn number(&mut self, bytes: &[u8]) {
        let number = self.find(bytes).unwrap_or_else(|hash| self.add(bytes, hash));
        self.numbers.push(number);
    }

    /// The bytes of all values of the group.
    pub fn size(&self) -> usize {
        self.values.len()
    }

    /// The rows since the last that were taken. The next ones are of another group if `ends_group`.
    pub fn take(&mut self, ends_group: bool) -> Numbered {
        let (bytes, count) = self.taken;
        let taken = Numbered {
            numbers: std::mem::take(&mut self.numbers),
            new: self.values[bytes..].to_vec(),
            count: self.count - count,
        };
        self.numbers.reserve(taken.numbers.len());
        if ends_group {
            self.known.clear();
            self.values.clear();
            self.count = 0;
            self.last = None;
        }
        self.taken = (self.values.len(), self.count);
        taken
    }

    /// The number of a value.
    ///
    /// # Errors
    /// The hash of one that no row had.
    fn find(&mut self, value: &[u8]) -> Result<u32, u32> {
        if let Some(last) = &self.last
            && last.is(value, &self.values)
        {
            return Ok(last.number);
        }
        let hash = hash(value);
        let is_it = |known: &Known| known.hash == hash && known.is(value, &self.values);
        let known = *self.known.find(spread(hash), is_it).ok_or(hash)?;
        self.last = Some(known);
        Ok(known.number)
    }

    /// Adds a value that no row had.
    fn add(&mut self, value: &[u8], hash: u32) -> u32 {
        let number = self.count;
        self.count += 1;
        if self.has_lengths {
            self.values.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        let known = Known { hash, number, start: self.values.len() as u32, length: value.len() as u32 };
        self.values.extend_from_slice(value);
        self.known.insert_unique(spread(hash), known, |known| spread(known.hash));
        self.last = Some(known);
        number
    }
}

impl Known {
    fn is(&self, value: &[u8], values: &[u8]) -> bool {
        self.length as usize == value.len() && values[self.start as usize..].starts_with(value)
    }
}

fn hash(value: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(value);
    (hasher.finish() >> 32) as u32
}

/// The table takes the place from the lowest bits, and what it compares first from the highest.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_once_in_a_group() {
        let mut column = Numbering::new(true);
        for text in [&b"ok"[..], b"ok", b"inline", b"ok", b"\xff", b"\xfe", b""] {
            column.text(text);
        }
        column.null();
        let first = column.take(false);
        assert_eq!(first.numbers, [0, 0, 1, 0, 2, 2, 3, NULL]);
        assert_eq!(first.new, b"\x02\0\0\0ok\x06\0\0\0inline\x03\0\0\0\xef\xbf\xbd\0\0\0\0");
        column.text(b"inline");
        column.text(b"new");
        let second = column.take(true);
        assert_eq!((second.numbers, &*second.new, second.count), (vec![1, 4], &b"\x03\0\0\0new"[..], 1));
        column.text(b"new");
        let other_group = column.take(false);
        assert_eq!((other_group.numbers, other_group.count), (vec![0], 1));
    }

    #[test]
    fn numbers_have_no_lengths() {
        let mut column = Numbering::new(false);
        for number in [7u32, 7, 9] {
            column.number(&number.to_le_bytes());
        }
        let taken = column.take(true);
        assert_eq!((taken.numbers, &*taken.new), (vec![0, 0, 1], &[7, 0, 0, 0, 9, 0, 0, 0][..]));
    }
}
