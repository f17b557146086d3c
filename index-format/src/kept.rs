//! Records that are put together once, each when it is first asked for.
use std::sync::OnceLock;

/// How many records have their memory together.
const BLOCK: usize = 16;

/// The records of a table, by position.
pub struct Kept<R>(OnceLock<Box<[Block<R>]>>);

type Block<R> = OnceLock<Box<[OnceLock<R>; BLOCK]>>;

impl<R> Default for Kept<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> Kept<R> {
    /// No record yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }
    /// The record of this position, of so many.
    pub fn get(&self, at: u32, length: u32, make: impl FnOnce() -> R) -> Option<&R> {
        let blocks =
            self.0.get_or_init(|| (0..(length as usize).div_ceil(BLOCK)).map(|_| OnceLock::new()).collect());
        let block = blocks.get(at as usize / BLOCK)?;
        let block = block.get_or_init(|| Box::new(std::array::from_fn(|_| OnceLock::new())));
        Some(block[at as usize % BLOCK].get_or_init(make))
    }
}
