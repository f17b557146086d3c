//! Records that are put together once, each when it is first asked for.
use std::sync::OnceLock;

/// The records of a table, by position; so many have their memory together.
pub struct Kept<R, const TOGETHER: usize = 16>(OnceLock<Box<[Part<R, TOGETHER>]>>);

type Part<R, const TOGETHER: usize> = OnceLock<Box<[OnceLock<R>; TOGETHER]>>;

impl<R, const TOGETHER: usize> Default for Kept<R, TOGETHER> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R, const TOGETHER: usize> Kept<R, TOGETHER> {
    /// No record yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }
    /// The record of this position, of so many.
    pub fn get(&self, at: u32, length: u32, make: impl FnOnce() -> R) -> Option<&R> {
        let parts = self
            .0
            .get_or_init(|| (0..(length as usize).div_ceil(TOGETHER)).map(|_| OnceLock::new()).collect());
        let part = parts.get(at as usize / TOGETHER)?;
        let part = part.get_or_init(|| Box::new(std::array::from_fn(|_| OnceLock::new())));
        Some(part[at as usize % TOGETHER].get_or_init(make))
    }
}
