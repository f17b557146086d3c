//! The values of a column as numbers: each is written once for a group of rows, and all rows refer to it. That is what a
//! dictionary of Parquet is, made where the rows are: most values are the one of the row before.
mod numbers;
mod texts;

pub use numbers::Numbers;
pub use texts::{KnownBy, Texts};

/// The number of null.
pub const NULL: u32 = u32::MAX;

/// Some rows of a column.
#[derive(Debug, Default)]
pub struct Numbered {
    /// For each row, the number of its value, or [`NULL`].
    pub numbers: Vec<u32>,
    /// The values that no row of the group had before, in the order of their numbers: Parquet's encoding PLAIN.
    pub new: Vec<u8>,
    /// How many these are.
    #[cfg_attr(
        not(feature = "program"),
        allow(dead_code, reason = "only files have groups of several batches")
    )]
    pub count: u32,
}

/// What columns of texts and of numbers have in common: the rows that were not taken yet, and the values of the group.
#[derive(Debug, Default)]
struct Group {
    numbers: Vec<u32>,
    /// All values of the group, as PLAIN has them.
    values: Vec<u8>,
    /// How many they are.
    count: u32,
    /// What of the values the rows had that were taken: bytes and count.
    taken: (usize, u32),
}

impl Group {
    fn take(&mut self, ends_group: bool) -> Numbered {
        let (bytes, count) = self.taken;
        let taken = Numbered {
            numbers: std::mem::take(&mut self.numbers),
            new: self.values[bytes..].to_vec(),
            count: self.count - count,
        };
        self.numbers.reserve(taken.numbers.len());
        if ends_group {
            self.values.clear();
            self.count = 0;
        }
        self.taken = (self.values.len(), self.count);
        taken
    }

    /// The number of a value that is added now.
    fn next(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }
}
