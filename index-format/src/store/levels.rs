//! How a kernel numbers what it has: its own runs, and those of the kernels that they lead to.
use super::runs::{Hint, LEVELS, NEW, Run, Runs};
use super::segment::{Part, Segment, Source, Space};
use crate::error::{Error, Result};
use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::U32;

/// The runs of a segment.
struct Level<'a> {
    /// By space: there, and back.
    runs: Vec<(Runs<'a>, Runs<'a>)>,
    /// By space: the first shared number that is new in the segment.
    first: Vec<u32>,
    /// By space: how many numbers its kernel has.
    lengths: Vec<u32>,
}

/// The levels of a kernel, the last of them its own.
pub struct Levels<'a>(Vec<Level<'a>>);

/// Whether the runs of a segment at this depth lead to shared numbers at once.
pub fn is_absolute(depth: u32) -> bool {
    depth.is_multiple_of(LEVELS)
}

impl<'a> Levels<'a> {
    /// Those of a chain that are gone through.
    ///
    /// # Errors
    /// [`Error::Section`] if a segment does not name each space.
    pub fn open(chain: &[Segment<'a>]) -> Result<Self> {
        let is_first = |segment: &Segment<'_>| is_absolute(segment.header.depth.get());
        let first = chain.iter().rposition(is_first).unwrap_or(0);
        let level = |at: usize| Level::open(&chain[at], at.checked_sub(1).map(|before| &chain[before]));
        (first..chain.len()).map(level).collect::<Result<_>>().map(Self)
    }
    /// How many numbers the kernel has in a space.
    #[inline]
    pub fn length(&self, space: Space) -> u32 {
        self.0.last().map_or(0, |level| level.lengths[space as usize])
    }
    /// The shared number of one of the kernel's. Cost: nothing if the hint has it, else a binary search in each level.
    #[inline]
    pub fn there(&self, space: Space, own: u32, hint: &mut Hint) -> Option<u32> {
        match hint.get(own) {
            Some((shared, _)) => Some(shared),
            None => self.search(space, own, hint),
        }
    }
    fn search(&self, space: Space, own: u32, hint: &mut Hint) -> Option<u32> {
        // How many numbers before and from this one on are in one run.
        let (mut at, mut before, mut left) = (own, u32::MAX, u32::MAX);
        for (number, level) in self.0.iter().enumerate().rev() {
            let (to, run) = level.runs[space as usize].0.find(at)?;
            let within = at - run.from.get();
            (before, left) = (before.min(within), left.min(run.length.get() - within));
            let shared = match to.checked_sub(NEW) {
                _ if number == 0 || space.source() == Source::Themselves => to,
                Some(new) => new.wrapping_add(level.first[space as usize]),
                None => {
                    at = to;
                    continue;
                }
            };
            *hint = Hint::new(own - before, shared.wrapping_sub(before), before.saturating_add(left));
            return Some(shared);
        }
        None
    }
    /// The kernel's number of a shared one; `None` if it has not that. Cost: a binary search in each level.
    #[inline]
    pub fn back(&self, space: Space, shared: u32) -> Option<u32> {
        let space_at = space as usize;
        if let Some(only) =
            self.0.last().filter(|_| self.0.len() == 1 || space.source() == Source::Themselves)
        {
            return only.runs[space_at].1.find(shared).map(|found| found.0);
        }
        let mut at = self.0.iter().rposition(|level| level.first[space_at] <= shared).unwrap_or(0);
        let mut own = match at {
            0 => shared,
            _ => (shared - self.0[at].first[space_at]).wrapping_add(NEW),
        };
        loop {
            own = self.0[at].runs[space_at].1.find(own)?.0;
            at += 1;
            if at == self.0.len() {
                return Some(own);
            }
        }
    }
}

impl<'a> Level<'a> {
    fn open(segment: &Segment<'a>, before: Option<&Segment<'_>>) -> Result<Self> {
        let (spaces, part) = (Space::ALL.len(), Part::RunPlaces);
        let damaged = Error::Section { section: part.text(), offset: 0, what: "it does not name each space" };
        let places = <[U32]>::ref_from_bytes(segment.part(part)).ok();
        let places = places.filter(|places| places.len() == 3 * spaces + 1).ok_or(damaged)?;
        let table = segment.rows::<Run>(Part::Runs);
        let runs = |at: usize| {
            let (start, end) = (places[at].get() as usize, places[at + 1].get() as usize);
            Runs::new(table.part(start..end))
        };
        let first = |space: &Space| match space.source() {
            Source::Rows(part) => segment.entry(part).first.get(),
            Source::Free(kind) => before.map_or(0, |before| before.header.free[kind as usize].get()),
            Source::Themselves => 0,
        };
        Ok(Self {
            runs: (0..spaces).map(|at| (runs(2 * at), runs(2 * at + 1))).collect(),
            first: Space::ALL.iter().map(first).collect(),
            lengths: places[2 * spaces + 1..].iter().map(|length| length.get()).collect(),
        })
    }
}
