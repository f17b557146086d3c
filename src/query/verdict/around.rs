//! What is around the last address that was judged: for who judges one address after another.
use probeidx_format::View;
use probeidx_format::boundaries::Starts;
use probeidx_format::id::ObjectId;
use probeidx_format::record::{RefusedRecord, SectionRecord};
use std::cell::{Cell, RefCell};

/// Instructions and refused ranges of an object.
#[derive(Default)]
pub(super) struct Around {
    /// Whether only entries of functions are asked for, of which a block has few.
    is_of_entries: bool,
    starts: Cell<Option<(ObjectId, Starts)>>,
    refused: RefCell<Refused>,
}

/// The refused ranges of an object.
#[derive(Default)]
struct Refused {
    of: Option<ObjectId>,
    ranges: Vec<RefusedRecord>,
    /// For each range, the highest end of it and those before.
    ends: Vec<u32>,
    is_sorted: bool,
    /// The first range that ended behind the address that was asked for last.
    last: usize,
}

impl Around {
    /// For who judges the entries of functions.
    pub fn of_entries() -> Self {
        Self { is_of_entries: true, ..Self::default() }
    }
    /// Whether an instruction starts at an address in a section: see [`View::is_boundary`].
    pub fn is_boundary(
        &self,
        view: &View<'_>,
        object: ObjectId,
        section: impl FnOnce() -> Option<SectionRecord>,
        pc: u32,
    ) -> Option<Option<bool>> {
        let known =
            || self.starts.get().filter(|(of, _)| *of == object).and_then(|(_, starts)| starts.at(pc));
        if let Some(is_start) = known() {
            return Some(Some(is_start));
        }
        let section = section()?;
        let offset = pc - section.pc.get();
        // In a store, functions start blocks of their own.
        if self.is_of_entries && view.store().is_some() {
            return Some(view.is_boundary(object, section, offset));
        }
        self.starts.set(view.starts_around(object, section, offset).map(|starts| (object, starts)));
        Some(known().map_or_else(|| view.is_boundary(object, section, offset), Some))
    }

    /// The first of the refused ranges of an object that holds an address.
    pub fn refused(&self, view: &View<'_>, object: ObjectId, pc: u32) -> Option<RefusedRecord> {
        let refused = &mut *self.refused.borrow_mut();
        if refused.of != Some(object) {
            *refused = Refused::read(view, object);
        }
        let holds = |range: &RefusedRecord| range.start.get() <= pc && pc < range.end.get();
        if !refused.is_sorted {
            return refused.ranges.iter().find(|range| holds(range)).copied();
        }
        let ends = &refused.ends;
        let is_first = |at: usize| {
            ends.get(at).is_none_or(|end| pc < *end)
                && at.checked_sub(1).is_none_or(|before| ends[before] <= pc)
        };
        if !is_first(refused.last) {
            refused.last = ends.partition_point(|end| *end <= pc);
        }
        refused.ranges.get(refused.last).filter(|range| holds(range)).copied()
    }
}

impl Refused {
    fn read(view: &View<'_>, object: ObjectId) -> Self {
        let ranges: Vec<RefusedRecord> = view.refused_of(object).iter().copied().collect();
        let ends = ranges.iter().scan(0, |highest, range| {
            *highest = range.end.get().max(*highest);
            Some(*highest)
        });
        Self {
            of: Some(object),
            ends: ends.collect(),
            is_sorted: ranges.is_sorted_by_key(|range| range.start.get()),
            ranges,
            last: 0,
        }
    }
}
