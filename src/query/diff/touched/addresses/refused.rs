//! The blacklist, which each kernel has with its own addresses.
use super::Found;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::RefusedRecord;
use probeidx_format::store::Space;
use probeidx_format::store::common::{Common, Which};
use std::ops::Range;

/// A range of the blacklist by the symbols in it.
#[derive(Clone, PartialEq, Eq)]
struct Listed {
    /// The positions of its symbols in the older kernel; empty if they are not those of one run.
    symbols: Range<u32>,
    /// How far before the first of them it starts, or how far within the symbol before.
    offset: (u32, u32),
    length: u32,
    source: u32,
}

impl Found<'_, '_> {
    /// Functions of ranges that only one kernel refuses, or that hold other functions.
    pub(super) fn refused(&mut self, symbols: &Common) {
        let ids = self.both.common(Space::ObjectIds);
        for run in ids.runs(Which::New) {
            for (new, old) in (run.from..run.from + run.length).zip(run.to..) {
                self.refused_of([old, new].map(ObjectId::new), symbols);
            }
        }
    }
    fn refused_of(&mut self, objects: [ObjectId; 2], symbols: &Common) {
        let own = |which: Which| self.both.kernel(which).refused_of(objects[which as usize]);
        let [old, new] = Which::BOTH.map(own);
        if old.is_empty() && new.is_empty() {
            return;
        }
        let listed = Which::BOTH.map(|which| {
            let (view, object) = (self.both.view(which), objects[which as usize]);
            let all = if which == Which::Old { old } else { new };
            all.iter().map(|range| listed(view, object, range, symbols, which)).collect::<Vec<_>>()
        });
        let [mine, theirs] = &listed;
        // They are in the same order, but for those that only one has.
        let is_in = |one: &Option<Listed>, all: &[Option<Listed>]| one.is_some() && all.contains(one);
        let common = |own: &[Option<Listed>], all: &[Option<Listed>]| {
            own.iter().filter(|one| is_in(one, all)).cloned().collect::<Vec<_>>()
        };
        let has_order = mine == theirs || common(mine, theirs) == common(theirs, mine);
        for (which, all) in Which::BOTH.into_iter().zip([old, new]) {
            let (own, other) = (&listed[which as usize], &listed[which.other() as usize]);
            if own == other && own.iter().all(Option::is_some) {
                continue;
            }
            for (range, one) in all.iter().zip(own) {
                if !has_order || !is_in(one, other) {
                    self.refused_range(which, objects[which as usize], range);
                }
            }
        }
    }
    fn refused_range(&mut self, which: Which, object: ObjectId, range: &RefusedRecord) {
        let window = range.start.get()..range.end.get();
        let view = self.both.view(which);
        let symbols = view.symbols.part(view.symbols_of(object));
        let first = symbols.partition_point(|s| s.pc.get() < window.start);
        let within = symbols.from(first);
        let names: Vec<_> = within.iter().take_while(|s| s.pc.get() < window.end).map(|s| s.name).collect();
        for name in names {
            self.with_suffixes(self.both.text(name));
        }
        self.window(which, object, window);
    }
}

/// A range by its symbols; `None` if the other kernel does not have them in one run.
fn listed(
    view: &View<'_>,
    object: ObjectId,
    range: &RefusedRecord,
    common: &Common,
    which: Which,
) -> Option<Listed> {
    let own = view.symbols_of(object);
    let symbols = view.symbols.part(own.clone());
    let first = symbols.partition_point(|s| s.pc.get() < range.start.get());
    let count = symbols.from(first).partition_point(|s| s.pc.get() < range.end.get());
    let before = first.checked_sub(1).and_then(|at| symbols.get(at));
    let after = symbols.get(first);
    let offset = match after.filter(|_| count > 0) {
        Some(after) => (after.pc.get().wrapping_sub(range.start.get()), 0),
        None => (0, before.map_or(0, |before| range.start.get().wrapping_sub(before.pc.get()))),
    };
    // Without a symbol in it, it is told by the one before.
    let (start, count) = if count == 0 { (first.checked_sub(1)?, 1) } else { (first, count) };
    let start = (own.start + start) as u32;
    let last = start + (count as u32 - 1);
    let [to, last_to] = [start, last].map(|at| common.other(which, at));
    let (to, last_to) = to.zip(last_to)?;
    // One run has both ends, so that all between are in it.
    let run_of = |at: u32| common.runs(which).partition_point(|run| run.from <= at);
    let is_one_run = run_of(start) == run_of(last) && last_to.wrapping_sub(to) == last - start;
    let in_old = if which == Which::Old { start } else { to };
    is_one_run.then_some(Listed {
        symbols: in_old..in_old + count as u32,
        offset,
        length: range.end.get().wrapping_sub(range.start.get()),
        source: range.source.get(),
    })
}
