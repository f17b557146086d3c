//! How a kernel numbers what it has: its own runs, and those of the kernels that they lead to.
use super::runs::{Hint, LEVELS, NEW, Runs};
use super::segment::{Part, Segment, Source, Space};
use crate::error::{Error, Result};
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The runs of a segment.
struct Level<'a> {
    bytes: &'a [u8],
    places: &'a [SpaceRecord],
    /// By space: the first shared number that is new in the segment.
    first: Vec<u32>,
}

/// How a segment's kernel numbers a space.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SpaceRecord {
    /// Where its runs start in [`Part::Runs`].
    pub there: U32,
    /// How many there are.
    pub there_runs: U32,
    /// Where those back start.
    pub back: U32,
    /// How many there are.
    pub back_runs: U32,
    /// How many numbers the kernel has.
    pub length: U32,
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
        self.0.last().map_or(0, |level| level.places[space as usize].length.get())
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
            let (to, run) = level.there(space).find(at)?;
            let within = at - run.from;
            (before, left) = (before.min(within), left.min(run.length - within));
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
            return only.back(space).find(shared).map(|found| found.0);
        }
        let mut at = self.0.iter().rposition(|level| level.first[space_at] <= shared).unwrap_or(0);
        let mut own = match at {
            0 => shared,
            _ => (shared - self.0[at].first[space_at]).wrapping_add(NEW),
        };
        loop {
            own = self.0[at].back(space).find(own)?.0;
            at += 1;
            if at == self.0.len() {
                return Some(own);
            }
        }
    }
}

impl<'a> Level<'a> {
    fn open(segment: &Segment<'a>, before: Option<&Segment<'_>>) -> Result<Self> {
        let part = Part::RunPlaces;
        let damaged = Error::Section { section: part.text(), offset: 0, what: "it does not name each space" };
        let places = <[SpaceRecord]>::ref_from_bytes(segment.part(part)).ok();
        let places = places.filter(|places| places.len() == Space::ALL.len()).ok_or(damaged)?;
        let first = |space: &Space| match space.source() {
            Source::Rows(part) => segment.entry(part).first.get(),
            Source::Free(kind) => before.map_or(0, |before| before.header.free[kind as usize].get()),
            Source::Themselves => 0,
        };
        Ok(Self { bytes: segment.part(Part::Runs), places, first: Space::ALL.iter().map(first).collect() })
    }
    #[inline]
    fn runs(&self, start: U32, count: U32) -> Runs<'a> {
        Runs::open(self.bytes.get(start.get() as usize..).unwrap_or_default(), count.get())
    }
    /// From the kernel's numbers.
    #[inline]
    fn there(&self, space: Space) -> Runs<'a> {
        let place = &self.places[space as usize];
        self.runs(place.there, place.there_runs)
    }
    /// To the kernel's numbers.
    #[inline]
    fn back(&self, space: Space) -> Runs<'a> {
        let place = &self.places[space as usize];
        self.runs(place.back, place.back_runs)
    }
}
