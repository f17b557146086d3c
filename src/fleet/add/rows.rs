//! Finds the rows of a kernel among those of the kernel before it.
use super::buckets::Buckets;
use probeidx_format::store::Kernel;
use probeidx_format::store::runs::Builder;
use probeidx_format::store::translate::Shared;
use probeidx_format::zerocopy::IntoBytes;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The rows of a table: which of them are shared, and those that are new.
pub struct Placed<R> {
    /// From the kernel's records to rows.
    pub runs: Builder,
    /// The row of each record.
    pub rows: Vec<u32>,
    /// Those to be appended.
    pub new: Vec<R>,
    /// The row of the first of them.
    pub first: u32,
}

/// Finds each record, in shared numbers, among the rows of the kernel before. A row stands for one record only.
pub fn place<R: Shared + PartialBytes>(records: &[R], before: Option<&Kernel<'_>>) -> Placed<R> {
    let known: Known<R> = before.map(Known::read).unwrap_or_default();
    let first = before.map_or(0, |kernel| kernel.end(R::PART));
    let mut placed =
        Placed { runs: Builder::default(), rows: Vec::with_capacity(records.len()), new: vec![], first };
    let mut used = vec![false; known.rows.len()];
    let mut next = 0;
    for (at, record) in records.iter().enumerate() {
        let is_free = |at: usize| used.get(at).is_some_and(|used| !used);
        let found = if is_free(next) && known.rows[next].same(record) {
            Some(next)
        } else {
            known.find(record, next, is_free, &records[at + 1..])
        };
        let row = match found {
            Some(at) => {
                used[at] = true;
                next = at + 1;
                known.numbers[at]
            }
            None => {
                placed.new.push(*record);
                first + placed.new.len() as u32 - 1
            }
        };
        placed.runs.push(row);
        placed.rows.push(row);
    }
    placed
}

/// Rows compare by their bytes.
pub trait PartialBytes: IntoBytes + probeidx_format::zerocopy::Immutable + Copy {
    /// Whether all bytes are the same.
    fn same(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
    /// A hash of the bytes.
    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(self.as_bytes());
        hasher.finish()
    }
}

impl<R: IntoBytes + probeidx_format::zerocopy::Immutable + Copy> PartialBytes for R {}

/// The rows of the kernel before, in its order.
struct Known<R> {
    rows: Vec<R>,
    numbers: Vec<u32>,
    by_hash: Buckets,
}

impl<R> Default for Known<R> {
    fn default() -> Self {
        Self { rows: vec![], numbers: vec![], by_hash: Buckets::of(0, |_| 0) }
    }
}

/// How many of those that follow equal rows are compared.
const COMPARED: usize = 12;
/// How many equal rows are looked at.
const LOOKED_AT: usize = 64;

impl<R: Shared + PartialBytes> Known<R> {
    fn read(kernel: &Kernel<'_>) -> Self {
        let (numbers, rows): (Vec<u32>, Vec<R>) = kernel.all_stored::<R>().unzip();
        let by_hash = Buckets::of(rows.len(), |at| rows[at].hash());
        Self { rows, numbers, by_hash }
    }
    /// A free row that is equal: if there are several, the one that is followed by most of what follows the record, and of
    /// those the next one.
    fn find(
        &self,
        record: &R,
        next: usize,
        is_free: impl Fn(usize) -> bool,
        following: &[R],
    ) -> Option<usize> {
        let found = self.by_hash.get(record.hash());
        let equal = || found.clone().filter(|at| self.rows[*at].same(record));
        let mut some = equal();
        let only = some.next().filter(|_| some.next().is_none());
        if only.is_some() {
            return only.filter(|at| is_free(*at));
        }
        let fits = |at: usize| {
            let rows = self.rows[at + 1..].iter().take(COMPARED);
            rows.zip(following).take_while(|(row, own)| row.same(*own)).count()
        };
        let free = |at: &usize| is_free(*at);
        let behind = equal().skip_while(|at| *at < next).filter(free).take(LOOKED_AT);
        let (mut best, mut most) = (None, 0);
        for at in behind.chain(equal().take_while(|at| *at < next).filter(free).take(LOOKED_AT)) {
            let fits = fits(at);
            if fits > most {
                (best, most) = (Some(at), fits);
            }
            if fits == COMPARED {
                break;
            }
        }
        best
    }
}
