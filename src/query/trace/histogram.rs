//! Counts by powers of two, as the kernel's `.log2` makes them (kernel/trace/trace_events_hist.c).

/// How many values are in each range: the range of number k ends with 2^k, and starts behind 2^(k-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log2 {
    ranges: [u64; 65],
}

impl Default for Log2 {
    fn default() -> Self {
        Self { ranges: [0; 65] }
    }
}

impl Log2 {
    /// Counts a value. A negative one, as two's complement, is in the last range.
    pub fn add(&mut self, value: u64) {
        // 0 and 1 are in the first range.
        self.add_to((64 - value.saturating_sub(1).leading_zeros()) as usize, 1);
    }
    /// Counts so many values in the range that ends with 2^`power`.
    pub fn add_to(&mut self, power: usize, count: u64) {
        let range = &mut self.ranges[power.min(64)];
        *range = range.saturating_add(count);
    }
    /// Adds all counts of another one.
    pub fn join(&mut self, other: &Self) {
        other.ranges.iter().enumerate().for_each(|(power, count)| self.add_to(power, *count));
    }
    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
    /// The ranges from the first to the last that is not empty: the first value, the last one, and the count.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let first = self.ranges.iter().position(|count| *count > 0).unwrap_or(0);
        let end = self.ranges.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        (first..end.max(first)).map(|power| {
            let start = if power == 0 { 0 } else { (1 << (power - 1)) + 1 };
            let last = if power == 64 { u64::MAX } else { 1 << power };
            (start, last, self.ranges[power])
        })
    }
    /// A value below which so many percent of all are, as the end of its range; `None` if there are none.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let wanted = (u128::from(self.count()) * u128::from(percent)).div_ceil(100).max(1);
        let mut sum = 0;
        self.ranges().find_map(|(_, last, count)| {
            sum += u128::from(count);
            (sum >= wanted).then_some(last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_kernel() {
        let mut log2 = Log2::default();
        for value in [0, 1, 2, 3, 4, 5, 8, 9, 512, 513, u64::MAX] {
            log2.add(value);
        }
        let filled: Vec<_> = log2.ranges().filter(|(.., count)| *count > 0).collect();
        let expected = [
            (0, 1, 2),
            (2, 2, 1),
            (3, 4, 2),
            (5, 8, 2),
            (9, 16, 1),
            (257, 512, 1),
            (513, 1024, 1),
            ((1 << 63) + 1, u64::MAX, 1),
        ];
        assert_eq!((filled, log2.count()), (expected.to_vec(), 11));
        assert_eq!([50, 91, 100].map(|p| log2.percentile(p)), [Some(8), Some(u64::MAX), Some(u64::MAX)]);
        assert_eq!((Log2::default().percentile(50), Log2::default().ranges().count()), (None, 0));
    }
}
