//! Reads the units of an object into batches of facts, in parallel.
use super::batch::Stores;
use super::pool::Pool;
use crate::dwarf::{self, Gathered, ObjectSource, Sections, SourceTree, UnitHeader};
use crate::load::Image;
use crate::load::elf::Elf;
use crate::merge::{Extracted, FirstSeen};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Bytes of `.debug_info` per batch: enough that most repeated types fall into one batch, few enough that all threads
/// stay busy to the end. The bytes of an index depend on it, so it must not depend on the machine.
const BATCH: u64 = 4 << 20;

/// Reads one object, its units in batches in parallel. What was read of `image`, which has the debug information, is
/// removed from memory.
pub fn whole(
    source: ObjectSource<'_>,
    stores: Stores<'_>,
    types: &FirstSeen,
    functions: &FirstSeen,
    image: &Image,
) -> Vec<Extracted> {
    // The walk over the headers of the units has mapped most of it.
    let Sections { info, abbrev, line, rnglists, ranges, loclists, loc, .. } = source.sections;
    image.forget(info);
    let memory = Pool::<Gathered>::default();
    let read = |(number, units): (usize, &&[UnitHeader])| {
        let extracted = memory.lend(|gathered| {
            *gathered = dwarf::read_units(std::mem::take(gathered), source, units, &(), &|_| ());
            stores.finish(gathered)
        });
        if let (Some(first), Some(last)) = (units.first(), units.last()) {
            image.forget(info.get(first.start..last.end).unwrap_or_default());
        }
        // Linkers leave these in the order of the units: what other threads are about to need is little.
        for section in [abbrev, line, rnglists, ranges, loclists, loc] {
            image.forget(section);
        }
        extracted.register(number as u32, types, functions);
        extracted
    };
    let own = source.own();
    let length = |unit: &UnitHeader| {
        let with_entries = source.with_entries(*unit);
        (with_entries.end - with_entries.start) as u64
    };
    let batches = cut(&own, length, BATCH);
    let read_all = || batches.par_iter().enumerate().with_max_len(1).map(read).collect::<Vec<_>>();
    let (mut extracted, frames) = rayon::join(read_all, || frames(source, stores));
    extracted.push(frames);
    extracted
}

/// The input of an extractor.
pub fn source<'d>(
    object: &Elf<'_>,
    number: u32,
    sections: Sections<'d>,
    headers: &'d [UnitHeader],
    bodies: Option<&'d FxHashMap<u32, u32>>,
) -> ObjectSource<'d> {
    let (base, first_pc) = (object.base, object.first_pc);
    let (untouched, tree) = (None, SourceTree::NONE);
    ObjectSource { number, base, first_pc, sections, headers, bodies, untouched, tree }
}

/// The frame rules of an object, as a batch without units.
fn frames(source: ObjectSource<'_>, stores: Stores<'_>) -> Extracted {
    stores.finish(&mut dwarf::read_frames(Gathered::default(), source))
}

/// Cuts a list into pieces, each ending where the sum of weights reaches `enough`.
pub fn cut<T>(list: &[T], weight: impl Fn(&T) -> u64, enough: u64) -> Vec<&[T]> {
    let mut pieces = vec![];
    let (mut first, mut sum) = (0, 0);
    for (at, item) in list.iter().enumerate() {
        sum += weight(item);
        if sum >= enough || at + 1 == list.len() {
            pieces.push(&list[first..=at]);
            (first, sum) = (at + 1, 0);
        }
    }
    pieces
}
