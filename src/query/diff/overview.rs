//! What a comparison of whole kernels reads of each function, found in a pass over all placements, and another along the
//! addresses of all entries. Of a single function this takes a hundredth of what looking for it takes.
use super::Side;
use crate::query::index::functions::{self, Declaration, Placed};
use crate::query::verdict::Verdicts;
use probeidx_format::id::{ObjectId, PlaceId, StrId};
use std::ops::Range;

/// The functions of a kernel.
pub struct Overview {
    /// By function: the placements of its declaration, with the first of the functions that have this.
    tallies: Vec<Tally>,
    /// By position in `judged`: the first entries of declarations.
    judged: Vec<Entry>,
}

/// The placements of a declaration in the objects that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// The number of out-of-line placements, and of inlined ones.
    pub entries: u32,
    pub copies: u32,
    /// The first placement, and the first out-of-line one, or [`NONE`].
    first: u32,
    entry: u32,
    /// Its position in `judged`, or [`NONE`].
    judged: u32,
}

/// Where a function starts.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub object: ObjectId,
    pub pc: u32,
    /// What holds of it, if that is known.
    pub judged: Option<Judged>,
}

/// What holds of the entry of a function.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// The symbol that starts there.
    pub symbol: Option<StrId>,
    pub verdicts: Verdicts,
}

const NONE: u32 = u32::MAX;

impl Tally {
    const EMPTY: Self = Self { entries: 0, copies: 0, first: NONE, entry: NONE, judged: NONE };

    /// Counts the placements of a declaration.
    pub fn of(side: &Side<'_, '_>, declaration: &Declaration, scratch: &mut Vec<Placed>) -> Self {
        let mut tally = Self::EMPTY;
        for place in functions::placed(side.view, declaration, &side.scope, scratch) {
            tally.count(place.id, place.is_inline(side.view));
        }
        tally
    }
    /// Counts a placement, of which those before it are counted.
    fn count(&mut self, place: PlaceId, is_inline: bool) {
        self.first = self.first.min(place.get());
        match is_inline {
            true => self.copies += 1,
            false => {
                self.entries += 1;
                self.entry = self.entry.min(place.get());
            }
        }
    }
    /// The first placement.
    pub fn first(&self) -> Option<PlaceId> {
        Some(self.first).filter(|first| *first != NONE).map(PlaceId::new)
    }
    /// The first entry, in vmlinux if there is one.
    pub fn entry(&self, side: &Side<'_, '_>) -> Option<Entry> {
        let place = Some(self.entry).filter(|entry| *entry != NONE).map(PlaceId::new)?;
        let known = side.overview.and_then(|overview| overview.judged.get(self.judged as usize)).copied();
        let (view, id) = (side.view, place);
        known.or_else(|| {
            let pc = view.places.get(id.index())?.entry.get();
            Some(Entry { object: view.object_of_place(id), pc, judged: None })
        })
    }
}

impl Overview {
    /// Counts the placements of all declarations. Cost: linear in placements and functions.
    pub fn count(side: &Side<'_, '_>) -> Self {
        let view = side.view;
        let firsts = functions::firsts(view);
        let mut tallies = vec![Tally::EMPTY; firsts.len()];
        let Range { start, end } = side.scope.places();
        let places = view.places.part(start as usize..end as usize);
        for (record, id) in places.iter().zip((start..).map(PlaceId::new)) {
            let first = firsts.get(record.function.index()).filter(|_| record.entry.get() != 0);
            if let Some(tally) = first.and_then(|first| tallies.get_mut(*first as usize)) {
                tally.count(id, view.outer(id, record).is_some());
            }
        }
        Self { tallies, judged: vec![] }
    }
    /// As [`count`](Self::count), with what holds of the first entry of each declaration. Cost: a sort of them, and a
    /// walk along all symbols.
    pub fn of(side: &Side<'_, '_>) -> Self {
        let mut overview = Self::count(side);
        let view = side.view;
        // Where entries are, and whose they are.
        let of = |(at, tally): (u32, &Tally)| {
            let place = view.places.get(tally.entry as usize).filter(|_| tally.entry != NONE)?;
            Some((tally.entry, place.entry.get(), at))
        };
        let mut entries: Vec<_> = (0..).zip(&overview.tallies).filter_map(of).collect();
        entries.sort_unstable();
        let mut rest = &mut entries[..];
        for object in side.scope.objects().filter(|object| !view.is_user(*object)) {
            let end = view.places_of(object).end as u32;
            let (own, others) = rest.split_at_mut(rest.partition_point(|(place, ..)| *place < end));
            rest = others;
            own.sort_unstable_by_key(|(_, pc, _)| *pc);
            let mut tallies = own.iter().map(|(.., at)| *at as usize);
            side.judge.along(object, own.iter().map(|(_, pc, _)| *pc), |pc, held, verdicts| {
                let symbol = held.filter(|held| held.offset == 0).map(|held| held.record.name);
                if let Some(tally) = tallies.next().and_then(|at| overview.tallies.get_mut(at)) {
                    tally.judged = overview.judged.len() as u32;
                    overview.judged.push(Entry { object, pc, judged: Some(Judged { symbol, verdicts }) });
                }
            });
        }
        overview
    }
    /// The placements of a declaration.
    pub fn tally(&self, declaration: &Declaration) -> Tally {
        self.tallies.get(declaration.ids().start as usize).copied().unwrap_or(Tally::EMPTY)
    }
}
