//! How a kernel numbers what it has: its own runs, and those of the kernels that they lead to.
use super::flat::{self, Flat};
use super::runs::{Hint, LEVELS, NEW, Run, Runs, SharedHint, inverse};
use super::segment::{Part, Segment, Source, Space};
use super::shift;
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

/// The levels of a kernel.
pub struct Levels<'a> {
    /// The last of them is the kernel's own.
    all: Vec<Level<'a>>,
    /// By space: there, and back.
    flat: Vec<(Flat, Flat)>,
    /// By space: what was found last, there and back.
    last: Vec<[SharedHint; 2]>,
}

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
        let all = (first..chain.len()).map(level).collect::<Result<Vec<Level<'_>>>>()?;
        let flat = |at: usize| {
            let places = all.iter().map(|level| &level.places[at]);
            let [there, back] = places.fold([0u32; 2], |[there, back], place: &SpaceRecord| {
                [there.saturating_add(place.there_runs.get()), back.saturating_add(place.back_runs.get())]
            });
            // A search in five levels takes as long as reading 64 runs or so; runs back are also sorted.
            (Flat::new(there / 64), Flat::new(there.max(back) / 16))
        };
        let spaces = 0..Space::ALL.len();
        Ok(Self {
            flat: spaces.clone().map(flat).collect(),
            last: spaces.map(|_| Default::default()).collect(),
            all,
        })
    }
    /// How many numbers the kernel has in a space.
    #[inline]
    pub fn length(&self, space: Space) -> u32 {
        self.all.last().map_or(0, |level| level.places[space as usize].length.get())
    }
    /// The shared number of one of the kernel's. Cost: nothing if the hint has it, else a binary search in each level.
    #[inline]
    pub fn there(&self, space: Space, own: u32, hint: &mut Hint) -> Option<u32> {
        match hint.get(own) {
            Some((shared, _)) => Some(shared),
            None => self.last[space as usize][0].find(own, hint, |hint| self.search(space, own, hint)),
        }
    }
    fn search(&self, space: Space, own: u32, hint: &mut Hint) -> Option<u32> {
        let flat = &self.flat[space as usize].0;
        if let Some(runs) = flat.get(|| self.flat_there(space)) {
            let (shared, run) = flat::find(runs, own)?;
            *hint = Hint::new(run.from, run.to, run.length);
            return Some(shared);
        }
        // How many numbers before and from this one on are in one run.
        let (mut at, mut before, mut left) = (own, u32::MAX, u32::MAX);
        for (number, level) in self.all.iter().enumerate().rev() {
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
        let hint = &mut Hint::default();
        self.last[space as usize][1].find(shared, hint, |hint| match space.source() {
            Source::Shifted(_) => self.moved(shared, hint),
            _ => self.search_back(space, shared, hint),
        })
    }
    fn search_back(&self, space: Space, shared: u32, hint: &mut Hint) -> Option<u32> {
        let space_at = space as usize;
        if let Some(runs) = self.flat[space_at].1.get(|| self.flat_back(space)) {
            let (own, run) = flat::find(runs, shared)?;
            *hint = Hint::new(run.from, run.to, run.length);
            return Some(own);
        }
        let only = self.all.last().filter(|_| self.all.len() == 1 || space.source() == Source::Themselves);
        if let Some(only) = only {
            let (own, run) = only.back(space).find(shared)?;
            *hint = Hint::new(run.from, run.to, run.length);
            return Some(own);
        }
        let first = |level: &Level<'_>| level.first[space_at];
        let at = self.all.iter().rposition(|level| first(level) <= shared).unwrap_or(0);
        let mut own = match at {
            0 => shared,
            _ => (shared - first(&self.all[at])).wrapping_add(NEW),
        };
        // How many numbers before and from this one on are in one run.
        let mut before = if at == 0 { shared } else { shared - first(&self.all[at]) };
        let mut left = self.all.get(at + 1).map_or(u32::MAX, |next| first(next) - shared);
        for level in &self.all[at..] {
            let (to, run) = level.back(space).find(own)?;
            let within = own.wrapping_sub(run.from);
            (before, left, own) = (before.min(within), left.min(run.length - within), to);
        }
        *hint = Hint::new(shared - before, own.wrapping_sub(before), before.saturating_add(left));
        Some(own)
    }
    /// As [`back`](Self::back), of an address: from the first level that has it on, each moves it. Cost: nothing if the hint has
    /// it.
    #[inline]
    pub fn address(&self, shared: u32, hint: &mut Hint) -> Option<u32> {
        match hint.get(shared) {
            Some((own, _)) => Some(own),
            None => self.last[Space::Pcs as usize][1].find(shared, hint, |hint| self.moved(shared, hint)),
        }
    }
    fn moved(&self, shared: u32, hint: &mut Hint) -> Option<u32> {
        let space = Space::Pcs as usize;
        if let Some(runs) = self.flat[space].1.get(|| self.flat_back(Space::Pcs)) {
            let (own, run) = flat::find(runs, shared)?;
            *hint = Hint::new(run.from, run.to, run.length);
            return Some(own);
        }
        let at = self.all.iter().rposition(|level| level.first[space] <= shared).unwrap_or(0);
        let (first, others) = self.all[at..].split_first()?;
        let (mut own, run) = first.back(Space::Pcs).find(shared)?;
        let within = shared - run.from;
        // How many numbers before and from this one on are moved as far. A run may go on into what is new in a level.
        let (mut before, mut left) =
            (within.min(shared - first.first[space].min(shared)), run.length - within);
        for level in others {
            let (to, run) = level.back(Space::Pcs).find(shared)?;
            own = own.wrapping_add(shift::distance(shared, to)?);
            let within = shared - run.from;
            before = before.min(within);
            left = left.min(run.length - within).min(level.first[space] - shared);
        }
        *hint = Hint::new(shared - before, own.wrapping_sub(before), before.saturating_add(left));
        Some(own)
    }
    /// The runs of the last levels, the lowest first, from each to the one below; `None` if they lead further.
    pub(super) fn last(&self, levels: usize, space: Space) -> Option<Vec<Runs<'a>>> {
        let kept = self.all.len().checked_sub(levels).filter(|kept| *kept > 0)?;
        Some(self.all[kept..].iter().map(|level| level.there(space)).collect())
    }
    /// The runs from the kernel's numbers to the shared ones.
    pub(super) fn flat_there(&self, space: Space) -> Vec<Run> {
        let mut levels = self.all.iter();
        let first = levels.next().map_or(vec![], |level| level.there(space).iter().collect());
        match space.source() {
            Source::Themselves => self.all.last().map_or(first, |own| own.there(space).iter().collect()),
            _ => levels.fold(first, |lower, level| {
                flat::compose(level.there(space), &lower, level.first[space as usize])
            }),
        }
    }
    /// The runs from shared numbers to the kernel's.
    fn flat_back(&self, space: Space) -> Vec<Run> {
        let own = || self.all.last().map_or(vec![], |own| own.back(space).iter().collect());
        if self.all.len() == 1 || space.source() == Source::Themselves {
            return own();
        }
        if let Source::Shifted(_) = space.source() {
            let mut levels = self.all.iter();
            let lowest = levels.next().map_or(vec![], |level| level.back(space).iter().collect());
            return levels.fold(lowest, |lower, level| {
                shift::compose(level.back(space).iter(), &lower, level.first[space as usize])
            });
        }
        inverse(&self.flat_there(space))
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
            Source::Free(kind) | Source::Shifted(kind) => {
                before.map_or(0, |before| before.header.free[kind as usize].get())
            }
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
