//! Runs: how a kernel numbers what many kernels share.
//!
//! A table of a kernel is a sequence of shared rows. Where consecutive records of the kernel are consecutive rows, they
//! are one run: `own` is the first record, `row` the first row, and it ends where the next one starts. A kernel that
//! shares nothing, or all, has one run; an update has about two for each place where something was added or taken away.
//!
//! An update has them once more, with all updates before it. So the runs of a segment lead not to rows but to the records of
//! another kernel of its chain, its base, whose own runs lead on; what is new since is numbered from [`NEW`] on. The base is
//! the kernel before, or, of every [`LEVELS`]th of a line, the first one: see [`levels`].
//!
//! The same runs lead back, from a shared number to that of this kernel: see [`back`].
//!
//! ```text
//! 0      U32           where the bits start
//! 4      Table         of RunGroups: for each 16 runs, the state before the first of them, and its bit
//! …      …             the runs, as bits
//! ```
//!
//! The state is three numbers: where the run before ended, what would have followed it, and what would have followed the last
//! new numbers. A run is one bit, which is set if it stands for new numbers; how many numbers it passes over, which is 0 on
//! the way there; its length less 1; how far what it stands for is from what would have followed, zigzag. These are
//! exponential Golomb codes of orders 0, 2 and 1 ([`bits`](crate::bits)). A run takes 14 bits in the mean.
pub mod back;
pub(in crate::store) mod flat;
pub(in crate::store) mod found;
pub(in crate::store) mod later;
pub mod levels;
pub mod shift;
mod upper_bits;

use crate::bits::{BitWriter, Bits};
use crate::record::Record;
use crate::table::{Table, pack};
use crate::varint::{unzigzag, zigzag};
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Added to the position of a row, or id, among those that are new in a segment.
pub const NEW: u32 = 1 << 31;
/// How many kernels of a line are gone through at most.
pub const LEVELS: u32 = 8;
/// The orders of a run's codes.
const ORDERS: [u32; 3] = [0, 2, 1];
/// How many runs are read one after another at most.
const GROUP: usize = 16;

/// Consecutive numbers that stand for consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first number that is searched for; runs are sorted by it.
    pub from: u32,
    /// The number that it stands for.
    pub to: u32,
    /// How many.
    pub length: u32,
}

impl Run {
    /// The other way.
    pub fn back(self) -> Self {
        Self { from: self.to, to: self.from, length: self.length }
    }
}

/// The state before a run.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RunGroup {
    /// Where the run before ends.
    from: U32,
    /// What would follow: old numbers and new ones.
    to: [U32; 2],
    /// The bit of the first run.
    bit: U32,
}

impl RunGroup {
    fn start() -> Self {
        Self { to: [U32::ZERO, U32::new(NEW)], ..Self::default() }
    }
    /// What would follow the last old number, or new one.
    #[inline]
    pub fn next(&self, is_new: bool) -> u32 {
        self.to[usize::from(is_new)].get()
    }
}

impl Record for RunGroup {
    const COLUMNS: &'static [usize] = &[4, 4, 4, 4];
}

/// Runs in the order of the numbers that are searched for.
#[derive(Clone, Copy, Default)]
pub struct Runs<'a> {
    groups: Table<'a, RunGroup>,
    bits: &'a [u8],
    count: u32,
}

impl<'a> Runs<'a> {
    /// Reads so many runs, which may be damaged: they then stand for any numbers.
    #[inline]
    pub fn open(bytes: &'a [u8], count: u32) -> Self {
        let opened = bytes.split_first_chunk().and_then(|(start, _)| {
            let (groups, bits) = bytes.split_at_checked(u32::from_le_bytes(*start) as usize)?;
            let groups = Table::open(groups.get(4..)?, (count as usize).div_ceil(GROUP) as u32)?;
            Some(Self { groups, bits, count })
        });
        opened.unwrap_or_default()
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// What a number stands for, and its run; `None` if nothing. Cost: a binary search, and up to 16 runs.
    #[inline]
    pub fn find(&self, number: u32) -> Option<(u32, Run)> {
        let at = self.groups.partition_point(|group| group.from.get() <= number).checked_sub(1)?;
        let mut reader = self.reader(at)?;
        for _ in 0..GROUP.min(self.len() - at * GROUP) {
            let run = reader.next();
            let within = number.wrapping_sub(run.from);
            if within < run.length {
                return Some((run.to.wrapping_add(within), run));
            }
            if number < run.from {
                break;
            }
        }
        None
    }
    /// Reads those of a group, and on.
    #[inline]
    fn reader(&self, group: usize) -> Option<Reader<'a>> {
        Some(Reader::new(&self.groups.get(group)?, self.bits))
    }
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Run> + use<'a> {
        let mut reader = Reader::new(&RunGroup::start(), self.bits);
        // A damaged segment may say any number of runs; none is shorter than three bits.
        let most = self.bits.len().saturating_mul(3);
        (0..self.len().min(most)).map(move |_| reader.next())
    }
}

/// Reads runs one after another.
struct Reader<'a> {
    from: u32,
    to: [u32; 2],
    bits: Bits<'a>,
}

impl<'a> Reader<'a> {
    #[inline]
    fn new(group: &RunGroup, bits: &'a [u8]) -> Self {
        let bits = Bits::new(bits).to(group.bit.get() as usize);
        Self { from: group.from.get(), to: group.to.map(U32::get), bits }
    }
    #[inline(always)]
    pub fn next(&mut self) -> Run {
        let (is_new, [gap, length, beyond]) = self.bits.flag_and_golombs(ORDERS);
        let from = self.from.wrapping_add(gap as u32);
        let length = (length as u32).wrapping_add(1);
        let to = self.to[usize::from(is_new)].wrapping_add(unzigzag(beyond) as u32);
        self.from = from.wrapping_add(length);
        self.to[usize::from(is_new)] = to.wrapping_add(length);
        Run { from, to, length }
    }
}

/// Runs as they are stored. They are sorted by their first numbers.
pub fn encode(runs: &[Run]) -> Vec<u8> {
    let mut state = RunGroup::start();
    let (mut groups, mut bits) = (vec![], BitWriter::default());
    for (at, run) in runs.iter().enumerate() {
        if at.is_multiple_of(GROUP) {
            state.bit.set(bits.position() as u32);
            groups.push(state);
        }
        let is_new = run.to >= NEW;
        let to = &mut state.to[usize::from(is_new)];
        let gap = run.from.wrapping_sub(state.from.get());
        let beyond = zigzag(i64::from(run.to.wrapping_sub(to.get()) as i32));
        bits.bits(is_new.into(), 1);
        for (order, number) in ORDERS.into_iter().zip([gap.into(), u64::from(run.length) - 1, beyond]) {
            bits.golomb(order, number);
        }
        state.from.set(run.from.wrapping_add(run.length));
        to.set(run.to.wrapping_add(run.length));
    }
    let groups = pack(&groups).bytes;
    let start = U32::new(4 + groups.len() as u32);
    [start.as_bytes(), &groups, &bits.finish()].concat()
}

/// The run that was found last, of one space of one kernel. Neighbours are mostly in one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint {
    from: u32,
    to: u32,
    length: u32,
}

impl Hint {
    /// Numbers from `from` on stand for those from `to` on.
    pub fn new(from: u32, to: u32, length: u32) -> Self {
        Self { from, to, length }
    }
    /// What a number stands for, and how many from it on are in the run.
    #[inline]
    pub fn get(&self, number: u32) -> Option<(u32, u32)> {
        let within = number.wrapping_sub(self.from);
        (within < self.length).then(|| (self.to.wrapping_add(within), self.length - within))
    }
    /// The first number, what it stands for, and how many.
    #[inline]
    pub fn parts(&self) -> (u32, u32, u32) {
        (self.from, self.to, self.length)
    }
    /// What is between the start of the run and a number in it, and from it to the end.
    #[inline]
    pub fn around(&self, number: u32) -> (u32, u32) {
        let within = number.wrapping_sub(self.from);
        (within, self.length.wrapping_sub(within))
    }
    /// The run of a number that stands for another: so many numbers before it are in it, and so many from it on.
    #[inline]
    pub fn at(number: u32, to: u32, (before, left): (u32, u32)) -> Self {
        let before = before.min(number);
        Self::new(number - before, to.wrapping_sub(before), before.saturating_add(left))
    }
}

impl From<Run> for Hint {
    fn from(run: Run) -> Self {
        Self::new(run.from, run.to, run.length)
    }
}

/// What a reader of rows found last: the run of its table, and the run of addresses. One search after another in the same
/// run costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints {
    /// The run of rows.
    pub rows: Hint,
    /// The run of addresses.
    pub pcs: Hint,
}

/// Makes runs of numbers that come one by one, in order.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    runs: Vec<Run>,
    next: u32,
}

impl Builder {
    /// No runs yet, and memory for so many.
    pub fn with_capacity(runs: usize) -> Self {
        Self { runs: Vec::with_capacity(runs), next: 0 }
    }
    /// The next number of the kernel stands for this one.
    pub fn push(&mut self, to: u32) {
        self.extend(to, 1);
    }
    /// The next `length` numbers of the kernel stand for these.
    pub fn extend(&mut self, to: u32, length: u32) {
        if length == 0 {
            return;
        }
        append(&mut self.runs, Run { from: self.next, to, length });
        self.next = self.next.wrapping_add(length);
    }
    /// The numbers up to this one stand for nothing.
    pub fn skip_to(&mut self, next: u32) {
        self.next = self.next.max(next);
    }
    /// The runs.
    pub fn finish(self) -> Vec<Run> {
        self.runs
    }
    /// From the kernel's numbers to the shared ones.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
}

/// Appends a run, or makes the last one longer if this continues it.
#[inline]
pub fn append(runs: &mut Vec<Run>, run: Run) {
    let is_continued = |last: &&mut Run| {
        last.from.wrapping_add(last.length) == run.from && last.to.wrapping_add(last.length) == run.to
    };
    match runs.last_mut().filter(is_continued) {
        Some(last) => last.length = last.length.wrapping_add(run.length),
        None => runs.push(run),
    }
}

/// The same pairs, the other way.
pub fn inverse(runs: &[Run]) -> Vec<Run> {
    let mut back: Vec<Run> = runs.iter().map(|run| run.back()).collect();
    // Most of what runs lead to ascends, which this sort finds.
    back.sort_by_key(|run| run.from);
    back
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn opened(runs: &[Run], test: impl FnOnce(Runs<'_>)) {
        test(Runs::open(&encode(runs), runs.len() as u32));
    }

    #[test]
    fn numbers_lead_there_and_back() {
        let mut builder = Builder::default();
        let numbers = [7, 8, 9, NEW, NEW + 1, 100, 101, 10, 11, NEW + 2, 3];
        numbers.iter().for_each(|to| builder.push(*to));
        assert_eq!(builder.runs().len(), 6);
        opened(builder.runs(), |there| {
            for (own, to) in numbers.into_iter().enumerate() {
                assert_eq!(there.find(own as u32).map(|found| found.0), Some(to));
            }
            assert!(there.find(numbers.len() as u32).is_none());
        });
        opened(&inverse(builder.runs()), |back| {
            for (own, to) in numbers.into_iter().enumerate() {
                assert_eq!(back.find(to).map(|found| found.0), Some(own as u32));
            }
            assert!(
                [0, 12, 99, NEW - 1, NEW + 3, u32::MAX].iter().all(|number| back.find(*number).is_none())
            );
        });
    }

    /// What replaces as many old rows is a few bits.
    #[test]
    fn what_is_frequent_is_short() {
        let mut builder = Builder::default();
        for at in 0..GROUP as u32 / 2 {
            builder.extend(100 * at, 99);
            builder.extend(NEW + at, 1);
        }
        let bytes = encode(builder.runs());
        let start = u32::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        // 99 takes 11 bits and 1 takes 3; what would have followed 2, and one beyond it 4; and each run two more.
        assert_eq!(bytes.len() - start, (GROUP / 2 * (2 + 11 + 4 + 2 + 3 + 2) - 2).div_ceil(8));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_found(
            parts in prop::collection::vec((0u32..3, 1u32..2000, any::<bool>(), any::<u32>()), 0..100),
            far: u32,
        ) {
            let mut runs: Vec<Run> = vec![];
            let mut from = 0u32;
            for (gap, length, is_far, to) in parts {
                from += gap + if is_far { far / 1000 } else { 0 };
                runs.push(Run { from, to: to / 2, length });
                from += length;
            }
            let bytes = encode(&runs);
            let table = Runs::open(&bytes, runs.len() as u32);
            for run in &runs {
                prop_assert_eq!(table.find(run.from), Some((run.to, *run)));
                prop_assert_eq!(table.find(run.from + run.length - 1), Some((run.to + run.length - 1, *run)));
            }
            prop_assert_eq!(table.iter().collect::<Vec<_>>(), runs);
        }

        #[test]
        fn damaged_runs_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), count: u32, number: u32) {
            Runs::open(&bytes, count).find(number);
        }
    }
}
