//! Shared addresses: code that did not change keeps its address, whatever grew before it.
//!
//! An object is cut where its symbols and sections start. A piece that another kernel has too, under the same name and
//! no shorter, has the shared addresses of that one; all others get new ones, which no kernel used before.
use super::buckets::Buckets;
use super::{Adding, tables};
use probeidx_format::View;
use probeidx_format::id::{ObjectId, StrId};
use probeidx_format::store::runs::shift;
use probeidx_format::store::runs::{Run, append, inverse};
use probeidx_format::store::segment::{Free, Space};
use probeidx_format::store::translate::Translate;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// A part of an object that starts with a symbol or section.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The first address.
    pub start: u32,
    /// The number of addresses.
    pub length: u32,
    /// The section's name, and the symbol's.
    pub key: (StrId, StrId),
}

/// Where a piece has no other behind it, or one that is far away.
const FAR: u32 = 1 << 24;

/// The pieces of an object by address. Cost: linear in its symbols.
pub fn pieces(view: &View<'_>, object: ObjectId) -> Vec<Piece> {
    let sections = view.sections_of(object);
    let name_of = |section: usize| sections.get(section).map_or(StrId::new(0), |s| s.name);
    let mut starts: Vec<(u32, u32, (StrId, StrId))> = vec![];
    for section in sections {
        starts.push((section.pc.get(), section.size.get().max(1) as u32, (section.name, StrId::new(0))));
    }
    let own = view.symbols_of(object);
    for symbol in view.symbols.part(own) {
        let key = (name_of(usize::from(symbol.section.get())), symbol.name);
        starts.push((symbol.pc.get(), symbol.size.get().max(1), key));
    }
    // The sort is stable: a section before its first symbol, symbols in the order of the table.
    starts.sort_by_key(|(start, ..)| *start);
    let mut pieces: Vec<Piece> = vec![];
    for (start, length, key) in starts {
        match pieces.last_mut() {
            Some(last) if last.start == start => last.length = last.length.max(length),
            _ => pieces.push(Piece { start, length, key }),
        }
    }
    let ends: Vec<u32> = pieces.iter().skip(1).map(|piece| piece.start).collect();
    for (at, piece) in pieces.iter_mut().enumerate() {
        match ends.get(at).map(|end| end - piece.start) {
            Some(length) if length < FAR => piece.length = length,
            Some(length) => piece.length = piece.length.min(length),
            None => {}
        }
    }
    pieces
}

fn is_near(one: &Piece, other: &Piece) -> bool {
    one.start.abs_diff(other.start) < shift::FAR
}

/// The shared addresses of an object.
#[derive(Default)]
pub struct Pieces {
    /// From its own addresses to the shared ones.
    runs: Vec<Run>,
    last: Cell<usize>,
}

impl Pieces {
    /// Finds the pieces of an object among those of the kernel before, which come with their shared addresses, and
    /// takes new addresses from `free`. Both have keys of shared strings.
    pub fn place(own: &[Piece], before: &[(Piece, u32)], free: &mut u32) -> Self {
        let hash =
            |(section, symbol): (StrId, StrId)| u64::from(section.get()) << 32 | u64::from(symbol.get());
        let mut known = Buckets::of(before.len(), |at| hash(before[at].0.key));
        let mut runs: Vec<Run> = vec![];
        let mut fresh: Option<(u32, u32)> = None;
        for piece in own {
            let same = known.take(hash(piece.key), |at| before[at].0.key == piece.key).map(|at| before[at]);
            let shared = match same {
                Some((other, shared)) if piece.length <= other.length && is_near(piece, &other) => shared,
                _ => {
                    // New neighbours stay neighbours.
                    let start = match fresh {
                        Some((end, next)) if end == piece.start => next,
                        _ => *free,
                    };
                    *free = start + piece.length;
                    fresh = Some((piece.start + piece.length, *free));
                    start
                }
            };
            append(&mut runs, Run { from: piece.start, to: shared, length: piece.length });
        }
        Self { runs, last: Cell::new(0) }
    }
    /// The shared address of an address of the object.
    pub fn shared(&self, pc: u32) -> Option<u32> {
        let within = |at: usize| {
            let run = self.runs.get(at)?;
            let within = pc.wrapping_sub(run.from);
            (within < run.length).then(|| run.to + within)
        };
        within(self.last.get()).or_else(|| {
            let at = self.runs.partition_point(|run| run.from <= pc).checked_sub(1)?;
            self.last.set(at);
            within(at)
        })
    }
    /// From the shared addresses to the object's.
    pub fn back(&self) -> Vec<Run> {
        inverse(&self.runs)
    }
}

impl Adding<'_> {
    /// Shares the addresses of all objects.
    pub(super) fn addresses(&mut self) {
        let mut back = vec![];
        let known: FxHashMap<u32, ObjectId> = self
            .known
            .iter()
            .flat_map(|known| known.object_ids().map(|o| (known.objects[o.index()].name.get(), o)))
            .collect();
        for object in self.view.object_ids() {
            let key = |(section, symbol): (StrId, StrId)| {
                (StrId::new(self.to.string(section.get())), StrId::new(self.to.string(symbol.get())))
            };
            let own: Vec<Piece> = pieces(self.view, object)
                .into_iter()
                .map(|piece| Piece { key: key(piece.key), ..piece })
                .collect();
            let name = self.to.string(self.view.objects[object.index()].name.get());
            let before = match (&self.known, self.before, known.get(&name)) {
                (Some(view), Some(kernel), Some(object)) => tables::shared_pieces(view, kernel, *object),
                _ => vec![],
            };
            let pieces = Pieces::place(&own, &before, &mut self.free[Free::Pcs as usize]);
            back.extend(pieces.back());
            self.to.pieces.push(pieces);
        }
        back.sort_unstable_by_key(|run: &Run| run.from);
        if let Some(base) = self.base {
            match shift::between(&back, &base.levels().addresses(), base.free(Free::Pcs)) {
                Some(runs) => back = runs,
                None => self.to.lose(),
            }
        }
        self.runs[Space::Pcs as usize] = back;
    }
}
