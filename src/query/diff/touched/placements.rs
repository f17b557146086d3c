//! Where functions have code: out of line, or inlined.
use super::{Both, Names};
use crate::query::index::functions::Placed;
use probeidx_format::id::{FunctionId, PlaceId};
use probeidx_format::record::{PlaceRecord, RangeRecord};
use probeidx_format::store::Space;
use probeidx_format::store::common::{Common, Which};
use probeidx_format::store::record::PostingRecord;
use probeidx_format::store::runs::Hint;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many placements are looked at to find one that both kernels have.
const LOOKED_AT: usize = 64;

/// Functions with other code out of line, or whose order of it may differ; and those that are inlined in one kernel only. What
/// both have keeps its number: see `fleet/add`. Cost: linear in what only one has.
pub fn functions<'a>(both: &Both<'a>) -> Names<'a> {
    let mut names = Names::default();
    let ids = both.common(Space::PlaceIds);
    let mut touched: FxHashSet<u32> = FxHashSet::default();
    // How many inlined copies only the older kernel has, and only the newer one.
    let mut copies: FxHashMap<u32, [u32; 2]> = FxHashMap::default();
    let ranges = both.common(Space::Ranges);
    for which in Which::BOTH {
        let with_ranges = entries(both, &ranges, which, &mut touched);
        let (mut hint, mut of_ids) = (Hint::default(), Hint::default());
        for at in ids.only(which).flatten() {
            let Some(place) = both.row::<PlaceRecord>(which, at, &mut hint) else { break };
            if place.entry.get() == 0 {
                continue;
            }
            let number = both.kernel(which).levels().there(Space::PlaceIds, at, &mut of_ids);
            if number.is_some_and(|number| with_ranges.contains(&number)) {
                continue;
            }
            // An empty function has no range.
            match is_inline(both, which, at, place) {
                true => copies.entry(place.function.get()).or_default()[which as usize] += 1,
                false => drop(touched.insert(place.function.get())),
            }
        }
    }
    for (function, counts) in copies {
        let [old, new] = counts.map(|count| count > 0);
        let has = if new { Which::New } else { Which::Old };
        if old != new && !touched.contains(&function) && !has_common_copy(both, &ids, has, function) {
            touched.insert(function);
        }
    }
    moved(both, &ids, &mut touched);
    for function in touched {
        let found = Which::BOTH.map(|which| both.name_of_function(which, function));
        found.into_iter().for_each(|name| names.push(name));
    }
    names
}

/// Whether a placement is an inlined copy; details say it by a distance, for which no other number is needed.
fn is_inline(both: &Both<'_>, which: Which, at: u32, record: PlaceRecord) -> bool {
    Placed { id: PlaceId::new(at), record }.is_inline(both.view(which))
}

/// The placements with ranges that only this kernel has; their functions are touched.
fn entries(both: &Both<'_>, ranges: &Common, which: Which, touched: &mut FxHashSet<u32>) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    let kernel = both.kernel(which);
    let mut hint = Hint::default();
    for at in ranges.only(which).flatten() {
        let Some(range) = both.row::<RangeRecord>(which, at, &mut hint) else { break };
        if found.insert(range.place.get()) {
            let own = kernel.levels().back(Space::PlaceIds, range.place.get());
            let place = own.and_then(|own| both.row::<PlaceRecord>(which, own, &mut Hint::default()));
            touched.extend(place.map(|place| place.function.get()));
        }
    }
    found
}

/// Whether a function has an inlined copy that is in both kernels. Only the first ones are looked at.
fn has_common_copy(both: &Both<'_>, ids: &Common, which: Which, function: u32) -> bool {
    let (view, other) = (both.view(which), both.view(which.other()));
    let Some(own) = both.kernel(which).levels().back(Space::FunctionIds, function) else { return false };
    let places = view.places_of_function(FunctionId::new(own)).take(LOOKED_AT);
    let copy = |view: &probeidx_format::View<'_>, id: PlaceId| {
        let record = view.places.get(id.index()).filter(|place| place.entry.get() != 0);
        record.is_some_and(|record| view.outer(id, record).is_some())
    };
    let mut in_both = places.filter_map(|id| Some((id, PlaceId::new(ids.other(which, id.get())?))));
    in_both.any(|(own, theirs)| copy(view, own) && copy(other, theirs))
}

/// Functions with several placements, of which one out of line is elsewhere among the others: the first is compared.
fn moved(both: &Both<'_>, ids: &Common, touched: &mut FxHashSet<u32>) {
    let kernel = both.pair.new;
    let firsts = kernel.table::<PostingRecord>();
    let has_several = |function: u32| {
        let own = kernel.levels().back(Space::FunctionIds, function);
        let first = |at: u32| firsts.get(at as usize).map(|posting| posting.first.get());
        let range = own.and_then(|own| first(own).zip(first(own + 1)));
        range.is_none_or(|(first, end)| end.wrapping_sub(first) != 1)
    };
    let mut hint = Hint::default();
    for at in ids.moved().into_iter().flat_map(|run| run.from..run.from + run.length) {
        let Some(place) = both.row::<PlaceRecord>(Which::New, at, &mut hint) else { continue };
        let function = place.function.get();
        if place.entry.get() != 0
            && !touched.contains(&function)
            && !is_inline(both, Which::New, at, place)
            && has_several(function)
        {
            touched.insert(function);
        }
    }
}
