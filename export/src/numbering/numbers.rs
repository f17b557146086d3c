//! A column of numbers: each has one number in a group.
use super::{Group, NULL, Numbered};
use rustc_hash::FxHashMap;

/// A column of numbers that grows.
#[derive(Debug)]
pub struct Numbers {
    group: Group,
    /// The bytes of each.
    width: usize,
    /// The numbers of the values below [`SMALL`], or [`NULL`]: most are.
    small: Vec<u32>,
    known: FxHashMap<i64, u32>,
}

/// Lines and offsets within functions, with few exceptions.
const SMALL: usize = 1 << 16;

impl Numbers {
    /// A column of numbers of so many bytes.
    pub fn new(width: usize) -> Self {
        Self { group: Group::default(), width, small: vec![], known: FxHashMap::default() }
    }

    /// A row without a number.
    pub fn null(&mut self) {
        self.group.numbers.push(NULL);
    }

    /// A row with a number, which has no more bytes than the column.
    pub fn number(&mut self, value: i64) {
        let number = match usize::try_from(value) {
            Ok(small @ ..SMALL) => {
                if small >= self.small.len() {
                    self.small.resize((small + 1).next_power_of_two(), NULL);
                }
                &mut self.small[small]
            }
            _ => self.known.entry(value).or_insert(NULL),
        };
        if *number == NULL {
            *number = self.group.next();
            self.group.values.extend_from_slice(&value.to_le_bytes()[..self.width]);
        }
        self.group.numbers.push(*number);
    }

    /// The bytes of all numbers of the group.
    pub fn size(&self) -> usize {
        self.group.values.len()
    }

    /// The rows since the last that were taken. The next ones are of another group if `ends_group`.
    pub fn take(&mut self, ends_group: bool) -> Numbered {
        if ends_group {
            self.known.clear();
            self.small.fill(NULL);
        }
        self.group.take(ends_group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_lengths() {
        let mut column = Numbers::new(4);
        for number in [7, 7, 9, -1, 1 << 20, -1, 0] {
            column.number(number);
        }
        column.null();
        let taken = column.take(true);
        assert_eq!(taken.numbers, [0, 0, 1, 2, 3, 2, 4, NULL]);
        assert_eq!(taken.new, b"\x07\0\0\0\x09\0\0\0\xff\xff\xff\xff\0\0\x10\0\0\0\0\0");
        column.number(9);
        assert_eq!(column.take(true).numbers, [0]);
    }
}
