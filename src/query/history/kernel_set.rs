//! Sets of kernels, by their positions in a list, as runs.
use std::ops::Range;

/// A set of positions. Neighbours take no room of their own: of a thousand kernels, most facts have a few runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KernelSet {
    /// In order, and none touches the next.
    runs: Vec<Range<u32>>,
}

impl KernelSet {
    /// All positions below a number.
    pub fn all(count: u32) -> Self {
        Self { runs: (count > 0).then_some(0..count).into_iter().collect() }
    }

    /// Adds a position. Cost: none to speak of if they come in order.
    pub fn insert(&mut self, at: u32) {
        let next = self.runs.partition_point(|run| run.end < at);
        match self.runs.get_mut(next) {
            Some(run) if run.contains(&at) => return,
            Some(run) if run.end == at => run.end += 1,
            Some(run) if at + 1 == run.start => run.start = at,
            _ => self.runs.insert(next, at..at + 1),
        }
        if let [one, other, ..] = &mut self.runs[next..]
            && one.end == other.start
        {
            one.end = other.end;
            self.runs.remove(next + 1);
        }
    }

    /// Whether it has a position.
    pub fn contains(&self, at: u32) -> bool {
        let next = self.runs.partition_point(|run| run.end <= at);
        self.runs.get(next).is_some_and(|run| run.contains(&at))
    }

    /// The positions, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().cloned().flatten()
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

impl FromIterator<u32> for KernelSet {
    fn from_iter<T: IntoIterator<Item = u32>>(positions: T) -> Self {
        let mut set = Self::default();
        positions.into_iter().for_each(|at| set.insert(at));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_any_order_make_the_same_runs() {
        let mut orders = vec![vec![0, 1, 2, 5, 6, 9], vec![9, 6, 5, 2, 1, 0], vec![5, 0, 2, 9, 1, 6, 5]];
        orders.push(vec![2, 0, 1, 6, 9, 5]);
        for order in orders {
            let set: KernelSet = order.iter().copied().collect();
            assert_eq!(set.runs, [0..3, 5..7, 9..10], "{order:?}");
            assert_eq!((set.len(), set.iter().collect::<Vec<_>>()), (6, vec![0, 1, 2, 5, 6, 9]));
            assert_eq!((0..11).filter(|at| set.contains(*at)).count(), 6);
        }
        assert_eq!(KernelSet::all(3), [2, 1, 0].into_iter().collect());
        assert!(KernelSet::all(0).is_empty());
    }
}
