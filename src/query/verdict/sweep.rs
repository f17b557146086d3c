//! What is known of all placements of an index, found in the order of addresses: sections, symbols, sites and instructions
//! are then walked along, where a single question searches each of them.
use super::along::{Along, NONE};
use super::around::Around;
use super::{Judge, Verdicts};
use crate::query::index::functions::{self, Placed, kernel};
use crate::query::index::symbols::{self, Anchor, Held, Uniqueness};
use probeidx_format::View;
use probeidx_format::id::{ObjectId, PlaceId, SymbolId};
use probeidx_format::record::SectionRecord;

/// The placements of an index, without a running kernel. Memory: five bytes each, and sixteen for each
/// symbol with some; of a symbol whose name is not unique, 32 more.
pub struct Sweep {
    /// By placement: the position in `spots`, or [`NONE`].
    spots_of: Vec<u32>,
    /// By placement: the position in `verdicts`, or [`MOST`].
    verdicts_of: Vec<u8>,
    spots: Vec<Spot>,
    verdicts: Vec<Swept>,
    /// Names that are not unique, the first where no symbol is.
    ambiguous: Vec<Uniqueness>,
}

/// How a placement was judged.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Swept {
    /// The verdicts on its entry.
    pub verdicts: Verdicts,
    /// Whether its code runs.
    pub is_running: bool,
    /// Whether it lies within another placement of the same function.
    pub is_nested: bool,
}

/// A placement with an address.
#[derive(Clone, Copy)]
struct Entry {
    /// By what they are sorted: the address, then whether it is inlined, then whether it is nested.
    key: u64,
    place: u32,
}

impl Entry {
    fn new(pc: u32, is_inline: bool, is_nested: bool, place: u32) -> Self {
        Self { key: u64::from(pc) << 2 | u64::from(is_inline) << 1 | u64::from(is_nested), place }
    }
    fn pc(self) -> u32 {
        (self.key >> 2) as u32
    }
    fn is_inline(self) -> bool {
        self.key & 2 != 0
    }
    fn is_nested(self) -> bool {
        self.key & 1 != 0
    }
}

/// What addresses that lie behind the same symbols have in common.
#[derive(Clone, Copy)]
struct Spot {
    /// The position among the object's sections, or [`NONE`].
    section: u32,
    /// The symbol that holds them, or [`NONE`].
    held: u32,
    /// The symbol of their anchors, or [`NONE`].
    anchor: u32,
    /// The position in `ambiguous` of the name of the symbol that holds them, or [`NONE`] if it is unique.
    ambiguous: u32,
}

/// What is known of the address of a placement.
pub struct Known<'a> {
    /// The section that holds it.
    pub section: Option<SectionRecord>,
    /// The symbol that holds it.
    pub held: Option<Held>,
    /// Whether the name of that symbol is unique.
    pub uniqueness: Uniqueness,
    /// The anchor of the final probe address.
    pub anchor: Option<Anchor<'a>>,
    /// The verdicts on it.
    pub verdicts: Verdicts,
}

/// The most distinct verdicts. Kernels have some dozens; what has others is judged when it is asked for.
const MOST: u8 = u8::MAX;

impl Sweep {
    /// Judges all placements. Cost: a sixth of what describing all of them takes.
    pub fn of(view: &View<'_>) -> Self {
        let around = Around::default();
        let judge = Judge { around: Some(&around), ..Judge::new(view) };
        let mut sweep = Self {
            spots_of: vec![NONE; view.places.len()],
            verdicts_of: vec![MOST; view.places.len()],
            spots: vec![],
            verdicts: vec![],
            ambiguous: vec![Uniqueness::default()],
        };
        let declarations = functions::firsts(view);
        let mut entries = vec![];
        for object in view.object_ids() {
            if view.is_user(object) || symbols::has_names_only(view, object) {
                continue;
            }
            entries.clear();
            read_entries(view, object, &declarations, &mut entries);
            entries.sort_unstable_by_key(|entry| (entry.key, entry.place));
            sweep.add(view, &judge, object, &entries);
        }
        sweep
    }

    /// What is known of the entry of a placement; `None` if it was left out.
    pub fn known<'a>(&self, view: &View<'a>, object: ObjectId, placed: Placed) -> Option<Known<'a>> {
        let spot = self.spots.get(*self.spots_of.get(placed.id.index())? as usize)?;
        let verdicts = self.swept(placed.id)?.verdicts;
        let pc = placed.record.entry.get();
        let symbol = |at: u32| functions::symbol(view, SymbolId::new(at));
        let held = symbol(spot.held)
            .and_then(|record| Some(Held { offset: pc.checked_sub(record.pc.get())?, record }));
        let unique = || Uniqueness { unique: true, collides_with: vec![] };
        let uniqueness = self.ambiguous.get(spot.ambiguous as usize).map_or_else(unique, Uniqueness::clone);
        let probed = pc.saturating_add(verdicts.shift);
        let anchor = match symbol(spot.anchor) {
            Some(record) => symbols::anchor_at(view, object, record, probed),
            None => None,
        };
        let anchor = anchor.or_else(|| symbols::anchor(view, object, probed));
        let section = view.sections_of(object).get(spot.section as usize);
        Some(Known { section, held, uniqueness, anchor, verdicts })
    }

    /// How a placement was judged; `None` if it was left out.
    pub(super) fn swept(&self, place: PlaceId) -> Option<&Swept> {
        self.verdicts.get(usize::from(*self.verdicts_of.get(place.index())?))
    }

    /// Adds the placements of an object, which are in the order of their addresses.
    fn add(&mut self, view: &View<'_>, judge: &Judge<'_, '_>, object: ObjectId, entries: &[Entry]) {
        let text = (Some(object) == kernel(view)).then(|| symbols::text(view, object)).flatten();
        let is_module = Some(object) != kernel(view);
        let first = view.symbols_of(object).start;
        let position = |at: Option<usize>| at.map_or(NONE, |at| (first + at) as u32);
        let mut along = Along::new(view, object);
        // What the spot of the address before depends on.
        let mut last = None;
        // The entry before, and the number of its verdicts.
        let mut before = (None, MOST);
        for entry in entries {
            let (pc, place) = (entry.pc(), entry.place as usize);
            if before.0 == Some(entry.key) {
                self.spots_of[place] = (self.spots.len() - 1) as u32;
                self.verdicts_of[place] = before.1;
                continue;
            }
            let (section, held) = along.to(pc);
            let (verdicts, is_running) = judge.judged_in(object, pc, entry.is_inline(), section, held);
            let judged = Swept { verdicts, is_running, is_nested: entry.is_nested() };
            // Behind `endbr64` there may be another symbol.
            let probed = pc.saturating_add(verdicts.shift);
            let key = (along.section, along.after, along.has_symbol_up_to(probed));
            if last != Some(key) {
                last = Some(key);
                let anchor = section.filter(|_| is_module && !key.2);
                let anchor = anchor.and_then(|s| symbols::anchor_behind(view, object, s, along.after));
                let uniqueness = held.map(|h| symbols::uniqueness(view, object, h.record.name));
                let ambiguous = self.number_of(uniqueness.unwrap_or_default());
                self.spots.push(Spot {
                    section: along.section,
                    held: position(held.and_then(|_| symbols::printed_behind(view, object, along.after))),
                    anchor: text.map_or_else(|| position(anchor), SymbolId::get),
                    ambiguous,
                });
            }
            self.spots_of[place] = (self.spots.len() - 1) as u32;
            let known = self.verdicts.iter().position(|other| *other == judged);
            let number = known.unwrap_or(self.verdicts.len()).min(MOST.into());
            if number == self.verdicts.len() && number < MOST.into() {
                self.verdicts.push(judged);
            }
            self.verdicts_of[place] = number as u8;
            before = (Some(entry.key), number as u8);
        }
    }

    /// The position of a name that is not unique.
    fn number_of(&mut self, name: Uniqueness) -> u32 {
        match name {
            Uniqueness { unique: true, .. } => NONE,
            name if name == Uniqueness::default() => 0,
            name => {
                self.ambiguous.push(name);
                (self.ambiguous.len() - 1) as u32
            }
        }
    }
}

/// Appends the placements of an object that have an address, in their order.
fn read_entries(view: &View<'_>, object: ObjectId, declarations: &[u32], entries: &mut Vec<Entry>) {
    let all = view.places_of(object);
    // Of each placement, the position of the one before it that it is inlined into, and its declaration.
    let mut seen: Vec<(usize, u32)> = Vec::with_capacity(all.len());
    for (at, record) in all.clone().zip(view.places.part(all.clone())) {
        let outer = view.outer(PlaceId::new(at as u32), record);
        let position = |outer: PlaceId| outer.index().checked_sub(all.start);
        let own = declarations.get(record.function.index()).copied().unwrap_or(NONE);
        let first = outer.and_then(position).unwrap_or(usize::MAX);
        let mut outwards = std::iter::successors(seen.get(first), |(outer, _)| seen.get(*outer));
        let is_nested = outwards.any(|(_, declaration)| *declaration == own);
        seen.push((first, own));
        if record.entry.get() != 0 {
            entries.push(Entry::new(record.entry.get(), outer.is_some(), is_nested, at as u32));
        }
    }
}
