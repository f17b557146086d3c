//! Samples, another one in each run.
use std::time::{SystemTime, UNIX_EPOCH};

/// `$PROBEIDX_SEED`, which repeats a run, or the time.
pub fn seed() -> u64 {
    let asked = std::env::var("PROBEIDX_SEED").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() % 1_000_000)
    })
}

/// Whether a run tries all of what takes minutes, and not a sample: `$PROBEIDX_ALL` is set.
pub fn is_whole() -> bool {
    std::env::var_os("PROBEIDX_ALL").is_some()
}

/// So many of these, others by another seed, or all in a [whole](is_whole) run.
pub fn some<T>(all: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    if is_whole() { all } else { Random(seed).choose(all, count) }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }
    /// So many of these, or all if there are fewer.
    pub fn choose<T>(&mut self, mut all: Vec<T>, count: usize) -> Vec<T> {
        let count = count.min(all.len());
        for i in 0..count {
            let left = (all.len() - i) as u64;
            all.swap(i, i + self.below(left) as usize);
        }
        all.truncate(count);
        all
    }
}
