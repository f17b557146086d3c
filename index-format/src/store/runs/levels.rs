//! How a kernel numbers what it has: its own runs, and those of the kernels that they lead to.
//!
//! The runs of a segment lead to the numbers of its **base**, which is the segment before. But of each [`LEVELS`]th of a line it is
//! the first of the line, so that no question goes through more levels than that. What is new in the segment, or was between
//! the two, is numbered from [`NEW`] on.
use super::back::Back;
use super::flat::{self, FEW, Flat, Spread};
use super::found::Found;
use super::shift;
use super::{Hint, LEVELS, NEW, Run, Runs, inverse};
use crate::error::{Error, Result};
use crate::store::kernel::BySegment;
use crate::store::segment::{Part, Segment, Source, Space};
use std::borrow::Cow;
use std::sync::Arc;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The runs of a segment.
struct Level<'a> {
    /// The segment's position in its chain.
    at: usize,
    bytes: &'a [u8],
    places: &'a [SpaceRecord],
    /// By space: the first shared number that was new after the base.
    first: Vec<u32>,
}

/// How a segment's kernel numbers a space.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SpaceRecord {
    /// Where its runs start in [`Part::Runs`]. Those of addresses lead back, all others there.
    pub runs: U32,
    /// How many there are.
    pub count: U32,
    /// Where the ascents of the runs are in [`Part::Runs`], by which they lead [`back`](super::back).
    pub back: U32,
    /// How many there are; none if nothing refers to the space.
    pub ascents: U32,
    /// How many numbers the kernel has.
    pub length: U32,
}

/// How many runs are made one piece in the time of a search in a level; runs back are also sorted. With 13 and 3, `type --users`
/// of a kernel that is seven levels deep took two fifths longer.
const READS: u32 = 8;
const READS_BACK: u32 = 2;

/// The levels of a kernel: its own runs, and the levels of its base.
pub struct Levels<'a> {
    own: Level<'a>,
    below: Option<Arc<Levels<'a>>>,
    /// By space: there, and back.
    flat: Vec<(Flat, Flat)>,
    /// By space, as well.
    found: Vec<(Found, Found)>,
}

/// How many segments before one of this depth its base is.
pub fn steps(depth: u32) -> usize {
    if depth > 0 && depth.is_multiple_of(LEVELS) { depth as usize } else { 1 }
}

/// The segments of a chain through which the runs of its last kernel lead: that one, its base, the base of that, and so on.
pub(in crate::store) fn path(chain: &[Segment<'_>]) -> impl Iterator<Item = usize> {
    let base = |at: &usize| at.checked_sub(steps(chain[*at].header.depth.get()));
    std::iter::successors(chain.len().checked_sub(1), base)
}

impl<'a> Levels<'a> {
    /// Those of a chain that are gone through, with those of them that are open.
    ///
    /// # Errors
    /// [`Error::Section`] if a segment does not name each space, or the chain has none.
    pub(in crate::store) fn open(chain: &[Segment<'a>], open: &BySegment<Self>) -> Result<Arc<Self>> {
        let mut path: Vec<usize> = path(chain).collect();
        path.reverse();
        let (mut below, mut base): (Option<Arc<Self>>, _) = (None, None);
        for at in path {
            let segment = &chain[at];
            let levels = match open.get(segment.id()) {
                Some(known) => known,
                None => open.keep(segment.id(), Self::new(Level::open(chain, at, base)?, below)),
            };
            (below, base) = (Some(levels), Some(at));
        }
        below.ok_or(Error::NotAnIndex)
    }
    fn new(own: Level<'a>, below: Option<Arc<Self>>) -> Self {
        let levels = Self { own, below, flat: vec![], found: vec![] };
        let all = levels.all();
        let flat = |at: usize| {
            let places = all.iter().map(|level| &level.places[at]);
            let runs = places.fold(0u32, |runs, place: &SpaceRecord| runs.saturating_add(place.count.get()));
            let after = |reads: u32| Flat::after(FEW.saturating_add(runs / (reads * all.len() as u32)));
            (after(READS), after(READS_BACK))
        };
        let flat = (0..Space::ALL.len()).map(flat).collect();
        Self { flat, found: Space::ALL.iter().map(|_| Default::default()).collect(), ..levels }
    }
    /// The lowest first.
    fn all(&self) -> Vec<&Level<'a>> {
        let mut all: Vec<_> = std::iter::successors(Some(self), |levels| levels.below.as_deref()).collect();
        all.reverse();
        all.into_iter().map(|levels| &levels.own).collect()
    }
    /// The levels that the numbers of a space lead to.
    #[inline]
    fn below(&self, space: Space) -> Option<&Self> {
        self.below.as_deref().filter(|_| space.source() != Source::Themselves)
    }
    /// How many numbers the kernel has in a space.
    #[inline]
    pub fn length(&self, space: Space) -> u32 {
        self.own.places[space as usize].length.get()
    }
    /// The shared number of one of the kernel's. Cost: nothing if the hint has it, else a binary search in each level.
    #[inline]
    pub fn there(&self, space: Space, own: u32, hint: &mut Hint) -> Option<u32> {
        match hint.get(own) {
            Some((shared, _)) => Some(shared),
            None => self.found[space as usize].0.find(own, hint, |hint| {
                let flat = self.flat[space as usize].0.get(|| Spread::new(self.flat_there(space)));
                self.search_there(space, own, flat, hint)
            }),
        }
    }
    fn search_there(&self, space: Space, own: u32, flat: Option<&Spread>, hint: &mut Hint) -> Option<u32> {
        let (to, run) = match flat {
            Some(runs) => runs.find(own)?,
            None => self.own.runs(space).find(own)?,
        };
        *hint = run.into();
        let Some(below) = self.below(space).filter(|_| flat.is_none()) else { return Some(to) };
        let around = hint.around(own);
        let (shared, around) = match to.checked_sub(NEW) {
            Some(new) => (new.wrapping_add(self.own.first[space as usize]), around),
            None => {
                let (found, flat) = (&below.found[space as usize].0, &below.flat[space as usize].0);
                let shared = found.find(to, hint, |hint| below.search_there(space, to, flat.made(), hint))?;
                (shared, narrower(around, hint.around(to)))
            }
        };
        *hint = Hint::at(own, shared, around);
        Some(shared)
    }
    /// The kernel's number of a shared one; `None` if it has not that. Cost: a binary search in each level.
    #[inline]
    pub fn back(&self, space: Space, shared: u32) -> Option<u32> {
        self.number(space, shared, &mut Hint::default())
    }
    /// As [`back`](Self::back), of an address. Cost: nothing if the hint has it.
    #[inline]
    pub fn address(&self, shared: u32, hint: &mut Hint) -> Option<u32> {
        match hint.get(shared) {
            Some((own, _)) => Some(own),
            None => self.number(Space::Pcs, shared, hint),
        }
    }
    fn number(&self, space: Space, shared: u32, hint: &mut Hint) -> Option<u32> {
        self.found[space as usize].1.find(shared, hint, |hint| {
            let flat = self.flat[space as usize].1.get(|| Spread::new(self.flat_back(space)));
            self.search_back(space, shared, flat, hint)
        })
    }
    /// From the first level that has the number on. Addresses lead to addresses, each level moves them; others lead to those of
    /// the level above.
    fn search_back(&self, space: Space, shared: u32, flat: Option<&Spread>, hint: &mut Hint) -> Option<u32> {
        if let Some(runs) = flat {
            let (own, run) = runs.find(shared)?;
            *hint = run.into();
            return Some(own);
        }
        let is_moved = matches!(space.source(), Source::Shifted(_));
        let back = |number: u32| match is_moved {
            true => self.own.runs(space).find(number),
            false => self.own.back(space).find(number),
        };
        let below = self.below(space);
        let first = below.map_or(0, |_| self.own.first[space as usize]);
        let Some(below) = below.filter(|_| shared < first) else {
            // What is new here, or all.
            let is_new = !is_moved && below.is_some();
            let from = if is_new { (shared - first).wrapping_add(NEW) } else { shared };
            let (own, run) = back(from)?;
            let (before, left) = Hint::from(run).around(from);
            *hint = Hint::at(shared, own, (before.min(shared - first), left));
            return Some(own);
        };
        let (found, flat) = (&below.found[space as usize].1, &below.flat[space as usize].1);
        let lower = found.find(shared, hint, |hint| below.search_back(space, shared, flat.made(), hint))?;
        let (before, left) = hint.around(shared);
        let from = if is_moved { shared } else { lower };
        let (to, run) = back(from)?;
        let own = if is_moved { lower.wrapping_add(shift::distance(shared, to)?) } else { to };
        let (before, left) = narrower((before, left), Hint::from(run).around(from));
        *hint = Hint::at(shared, own, (before, left.min(first - shared)));
        Some(own)
    }
    /// The runs of the levels above a segment of the chain, the lowest first, from each to the one below; `None` if they do not
    /// lead to it.
    pub(in crate::store) fn above(&self, at: usize, space: Space) -> Option<Vec<Runs<'a>>> {
        let mut all = self.all();
        let above = all.split_off(all.partition_point(|level| level.at <= at));
        all.last().filter(|level| level.at == at)?;
        Some(above.into_iter().map(|level| level.runs(space)).collect())
    }
    /// The runs from the kernel's numbers to the shared ones. Cost: linear in those of all levels below the first whose runs are
    /// made already.
    pub(in crate::store) fn flat_there(&self, space: Space) -> Vec<Run> {
        if let Some(made) = self.flat[space as usize].0.made() {
            return made.runs().to_vec();
        }
        let own = self.own.runs(space);
        let Some(below) = self.below(space) else { return own.iter().collect() };
        let lower = runs_below(&below.flat[space as usize].0, || below.flat_there(space));
        flat::compose(own, &lower, self.own.first[space as usize])
    }
    /// Makes the runs from the kernel's numbers one piece, for who walks along all of them.
    pub(in crate::store) fn flatten(&self, space: Space) {
        self.flat[space as usize].0.now(|| Spread::new(self.flat_there(space)));
    }
    /// The runs from shared addresses to the kernel's, sorted. Cost: linear in the runs of all levels.
    pub fn addresses(&self) -> Vec<Run> {
        self.flat_back(Space::Pcs)
    }
    /// The runs from shared numbers to the kernel's. Cost: as for [`flat_there`](Self::flat_there).
    fn flat_back(&self, space: Space) -> Vec<Run> {
        let Source::Shifted(_) = space.source() else { return inverse(&self.flat_there(space)) };
        let own = self.own.runs(space).iter();
        let Some(below) = self.below(space) else { return own.collect() };
        let lower = runs_below(&below.flat[space as usize].1, || below.flat_back(space));
        shift::compose(own, &lower, self.own.first[space as usize])
    }
}

/// The runs of the kernel before: what two kernels need is made once.
fn runs_below(flat: &Flat, make: impl Fn() -> Vec<Run>) -> Cow<'_, [Run]> {
    match flat.if_asked(|| Spread::new(make())) {
        Some(made) => Cow::Borrowed(made.runs()),
        None => Cow::Owned(make()),
    }
}

/// What is in both of two runs, before a number and from it on.
fn narrower(one: (u32, u32), other: (u32, u32)) -> (u32, u32) {
    (one.0.min(other.0), one.1.min(other.1))
}

impl<'a> Level<'a> {
    fn open(chain: &[Segment<'a>], at: usize, base: Option<usize>) -> Result<Self> {
        let (segment, part) = (&chain[at], Part::RunPlaces);
        let damaged = Error::Section { section: part.text(), offset: 0, what: "it does not name each space" };
        let places = <[SpaceRecord]>::ref_from_bytes(segment.part(part)).ok();
        let places = places.filter(|places| places.len() == Space::ALL.len()).ok_or(damaged)?;
        let first = |space: &Space| match space.source() {
            Source::Rows(part) => chain[base.map_or(at, |base| base + 1)].entry(part).first.get(),
            Source::Free(kind) | Source::Shifted(kind) => {
                base.map_or(0, |base| chain[base].header.free[kind as usize].get())
            }
            Source::Themselves => 0,
        };
        let first = Space::ALL.iter().map(first).collect();
        Ok(Self { at, bytes: segment.part(Part::Runs), places, first })
    }
    /// From the kernel's numbers; of addresses, to them.
    #[inline]
    fn runs(&self, space: Space) -> Runs<'a> {
        let place = &self.places[space as usize];
        Runs::open(self.from(place.runs), place.count.get())
    }
    /// To the kernel's numbers.
    #[inline]
    fn back(&self, space: Space) -> Back<'a> {
        let place = &self.places[space as usize];
        Back::open(self.runs(space), self.from(place.back), place.ascents.get())
    }
    #[inline]
    fn from(&self, start: U32) -> &'a [u8] {
        self.bytes.get(start.get() as usize..).unwrap_or_default()
    }
}
