//! Which details of placements are patches: for walks, one list of all segments, in which a search costs a tenth.
use crate::store::record::PatchedRecord;
use crate::store::runs::Run;
use crate::store::runs::flat::{FEW, Spread};
use crate::store::runs::later::Later;
use crate::store::segment::{Part, Segment};
use crate::table::Table;

/// The patches among the details of placements of a chain.
pub struct Patched(Later<Spread>);

/// A search among the patches of a segment takes the time of listing so many.
const WORTH: u32 = 10;
/// The most patches that are listed. What a kernel has is a tenth of it; only a damaged segment has more.
const MOST: u32 = 1 << 22;

impl Patched {
    /// Not listed yet.
    pub fn of(chain: &[Segment<'_>]) -> Self {
        let all: u32 =
            chain.iter().map(|s| s.entry(Part::Patched).records.get()).fold(0, u32::saturating_add);
        let is_usual = all <= MOST;
        Self(Later::after(if is_usual { FEW.saturating_add(all / WORTH) } else { u32::MAX }))
    }
    /// Whether the bytes at this number, which are of this segment, are a patch.
    #[inline]
    pub fn has(&self, chain: &[Segment<'_>], segment: &Segment<'_>, part: Part, number: u32) -> bool {
        if segment.entry(Part::Patched).records.get() == 0 {
            return false;
        }
        match Some(&self.0).filter(|_| part == Part::PlaceDetails).and_then(|all| all.get(|| list(chain))) {
            Some(all) => all.find(number).is_some(),
            None => segment.is_patch(part, number),
        }
    }
}

fn list(chain: &[Segment<'_>]) -> Spread {
    let mut runs = vec![];
    for segment in chain {
        let all: Table<'_, PatchedRecord> = segment.rows(Part::Patched);
        let own = all.iter().filter(|patched| patched.part.get() == Part::PlaceDetails as u32);
        runs.extend(own.map(|patched| Run { from: patched.number.get(), to: 0, length: 1 }));
    }
    // Those of forged segments may not be sorted.
    runs.sort_by_key(|run| run.from);
    Spread::new(runs)
}
