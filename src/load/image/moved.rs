//! Finds where a flat image was linked, from the relocations by which it moves itself.
use std::ops::Range;

/// arm64 and riscv kernels are linked at a multiple of this.
pub(super) const LINKED_TO: u64 = 2 << 20;

/// The fewest relocations in a table; a kernel has a hundred thousand.
pub(super) const FEWEST: usize = 64;

/// A place that a kernel relocates: its address and its value; `None` if the image already holds the value.
struct Place(u64, Option<u64>);

/// Size of a record: place, type, value.
const RECORD: usize = 24;

/// The address of an image's first byte, from its relocations of this type (`.rela.dyn`), else from RELR bitmaps
/// (`.relr.dyn`, CONFIG_RELR). `None` if neither reveals it.
pub(super) fn linked_at(image: &[u8], relative: u64) -> Option<u64> {
    fitting(image, &longest_run(image, relative)).or_else(|| {
        runs_of_bitmaps(image).into_iter().find_map(|run| fitting(image, &places_of_bitmaps(&image[run])))
    })
}

/// Fills all places that are still zero. With RELR, the few remaining records do not form a table: any record counts
/// whose place and value lie within the kernel.
pub(super) fn put_pointers(image: &[u8], relative: u64, linked: u64, bytes: &mut [u8]) {
    let whole = in_memory(image);
    for at in (0..image.len().saturating_sub(RECORD - 1)).step_by(8) {
        if word(image, at + 8) != Some(relative) {
            continue;
        }
        let Some(Place(address, Some(value))) = record(image, at) else { continue };
        let to = usize::try_from(address.wrapping_sub(linked)).unwrap_or(usize::MAX);
        let is_free = word(image, to) == Some(0);
        let place = bytes.get_mut(to..).and_then(|rest| rest.first_chunk_mut());
        if let Some(place) = place.filter(|_| is_free && value.wrapping_sub(linked) <= whole) {
            *place = u64::to_le_bytes(value);
        }
    }
}

fn record(image: &[u8], at: usize) -> Option<Place> {
    Some(Place(word(image, at)?, Some(word(image, at + 16)?)))
}

/// The longest run of records of this type.
fn longest_run(image: &[u8], relative: u64) -> Vec<Place> {
    let is_one = |at: usize| word(image, at + 8) == Some(relative);
    let (mut at, mut longest) = (0, 0..0);
    while at + RECORD <= image.len() {
        let start = at;
        while is_one(at) {
            at += RECORD;
        }
        if at - start > longest.len() {
            longest = start..at.min(image.len());
        }
        at = at.max(start + 8);
    }
    longest.step_by(RECORD).filter_map(|at| record(image, at)).collect()
}

/// The address of the image's first byte for which at least nine in ten places are zero or already hold their value.
fn fitting(image: &[u8], places: &[Place]) -> Option<u64> {
    /// Number of places checked per candidate address.
    const SAMPLE: usize = 1024;
    (places.len() >= FEWEST).then_some(())?;
    let first = places.iter().map(|place| place.0).min()?;
    let last = places.iter().map(|place| place.0).max()?;
    let (length, whole) = (image.len() as u64, in_memory(image));
    (last.checked_sub(first)? < length).then_some(())?;
    let lowest = last.saturating_sub(length).checked_next_multiple_of(LINKED_TO)?;
    let sample = || places.iter().step_by(places.len().div_ceil(SAMPLE));
    let fitting = |start: u64| {
        let fits = |Place(at, value): &&Place| {
            let there = at.checked_sub(start).and_then(|at| word(image, at as usize));
            there.is_some_and(|there| match value {
                Some(value) => there == 0 || there == *value,
                None => there.wrapping_sub(start) < whole,
            })
        };
        sample().filter(fits).count()
    };
    let candidates = (lowest..=first).step_by(LINKED_TO as usize);
    let (fitting, start) = candidates.map(|start| (fitting(start), start)).max_by_key(|c| c.0)?;
    (fitting * 10 >= sample().count() * 9).then_some(start)
}

/// The size of an image in memory: `image_size` includes what is not in the file.
fn in_memory(image: &[u8]) -> u64 {
    let length = image.len() as u64;
    word(image, 0x10).map_or(length, |size| size.clamp(length, 2 * length))
}

/// Where an image may have RELR, the longest first: even, ascending addresses, each followed by odd bitmaps (ELF
/// gABI, "Relocation Table").
fn runs_of_bitmaps(image: &[u8]) -> Vec<Range<usize>> {
    /// Runs shorter than this are ignored, and at most this many are tried.
    const SHORTEST: usize = 128;
    const MOST: usize = 64;
    let (mut runs, mut run, mut last) = (vec![], 0..0, 0_u64);
    for (n, word) in words(image).enumerate() {
        let is_address = word & 7 == 0 && word >> 63 == 1;
        let follows = match is_address {
            true => (last..last.saturating_add(image.len() as u64)).contains(&word),
            false => word & 1 == 1,
        };
        if run.is_empty() || !follows {
            let ended = std::mem::replace(&mut run, 8 * n..8 * n);
            runs.extend((ended.len() >= SHORTEST).then_some(ended));
        }
        if is_address {
            last = word;
        }
        if is_address || !run.is_empty() {
            run.end = 8 * (n + 1);
        }
    }
    runs.extend((run.len() >= SHORTEST).then_some(run));
    runs.sort_by_key(|run| std::cmp::Reverse(run.len()));
    runs.truncate(MOST);
    runs
}

/// Decodes RELR: each address, and among the 63 words after the last one covered, those marked in a bitmap.
fn places_of_bitmaps(relr: &[u8]) -> Vec<Place> {
    let (mut places, mut next) = (vec![], 0_u64);
    for word in words(relr) {
        if word & 1 == 0 {
            places.push(Place(word, None));
            next = word.wrapping_add(8);
        } else {
            let marked = (0..63).filter(|bit| word >> (bit + 1) & 1 == 1);
            places.extend(marked.map(|bit| Place(next.wrapping_add(8 * bit), None)));
            next = next.wrapping_add(8 * 63);
        }
    }
    places
}

fn words(data: &[u8]) -> impl Iterator<Item = u64> {
    data.chunks_exact(8).filter_map(|b| b.first_chunk()).map(|b| u64::from_le_bytes(*b))
}

/// The 8 bytes at an offset.
pub(super) fn word(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}
