//! Concatenates placements, units, ranges and line sequences, adjusts their references, and sorts them by address
//! where the format requires it.
use super::functions::Functions;
use super::order::{Order, Part};
use super::{Resolved, bases, blank};
use crate::dwarf::facts::{FrameFacts, NO_PLACE};
use probeidx_format::id::{Pc, PlaceId, StrId, UnitId};
use probeidx_format::labels::{self as format, Label};
use probeidx_format::record::{FrameRecord, PlaceRecord, RangeRecord, SequenceRecord, UnitRecord};
use probeidx_format::varint;
use probeidx_format::zerocopy::byteorder::little_endian::{U16, U32};
use rayon::prelude::*;

/// The tables of which every object has a range; details and lines stay in the batches.
pub struct Places {
    pub places: Vec<PlaceRecord>,
    /// Whether each is out of line.
    pub out_of_line: Vec<bool>,
    pub postings: Vec<u8>,
    pub units: Vec<UnitRecord>,
    pub unit_files: Vec<StrId>,
    pub ranges: Vec<RangeRecord>,
    pub sequences: Vec<SequenceRecord>,
    pub frames: Vec<FrameRecord>,
    /// In the format of `probeidx_format::labels`.
    pub labels: Vec<u8>,
    /// The object of each unit, in order.
    pub unit_objects: Vec<u32>,
    /// The object of each range, sequence and frame.
    pub range_objects: Vec<u32>,
    pub sequence_objects: Vec<u32>,
    pub frame_objects: Vec<u32>,
}

/// Merges them; returns where the postings of each function start, too.
pub(super) fn merge(batches: &[Resolved<'_>], order: &Order, functions: &Functions) -> (Places, Vec<U32>) {
    let detail_bases = bases(batches.iter().map(|b| b.encoded.details.length as usize));
    let line_bases = bases(batches.iter().map(|b| b.encoded.lines.length as usize));
    let row_bases = bases(batches.iter().map(|b| b.encoded.frame_rows.length as usize));
    let batch = |part: &Part| &batches[part.of.0];

    let own_places = |part: &Part| batch(part).batch.places[part.places.clone()].iter();
    let places: Vec<PlaceRecord> = order
        .parts
        .par_iter()
        .flat_map_iter(|part| {
            let detail_base = detail_bases[part.of.0];
            own_places(part).map(move |p| PlaceRecord {
                function: functions.id(part.of.0, p.function),
                entry: Pc::new(p.entry),
                details: U32::new(p.details + detail_base),
            })
        })
        .collect();
    let (mut units, mut unit_objects, mut unit_files) = (vec![], vec![], vec![]);
    for part in &order.parts {
        let b = batch(part);
        units.extend(b.batch.units[part.units.clone()].iter().map(|u| UnitRecord {
            name: b.string(u.name),
            producer: b.string(u.producer),
            first_place: U32::new(u.first_place.wrapping_add(part.by.place)),
            first_file: U32::new(u.first_file.wrapping_add(part.by.file)),
            language: U16::new(u.language),
            version: U16::new(u.version),
            flags: U32::new(u.flags),
        }));
        unit_objects.resize(units.len(), part.object);
        unit_files.extend(b.batch.files[part.files.clone()].iter().map(|file| b.string(*file)));
    }
    units.push(UnitRecord {
        first_place: U32::new(places.len() as u32),
        first_file: U32::new(unit_files.len() as u32),
        ..blank()
    });

    let ranges = || {
        let mut ranges: Vec<(u32, u32, u32, u32)> = vec![];
        for (at, b) in batches.iter().enumerate() {
            ranges.extend(b.batch.ranges.iter().map(|r| {
                let part = order.part(at, r.object);
                (part.object, r.start, r.end, r.place.wrapping_add(part.by.place))
            }));
        }
        ranges.par_sort_unstable();
        ranges
    };
    let sequences = || {
        let mut sequences: Vec<(u32, u32, u32, u32, u32)> = vec![];
        for (at, b) in batches.iter().enumerate() {
            sequences.extend(b.batch.sequences.iter().map(|s| {
                let part = order.part(at, s.object);
                let unit = s.unit.wrapping_add(part.by.unit);
                (part.object, s.start, s.end, unit, s.rows + line_bases[at])
            }));
        }
        sequences.par_sort_unstable();
        sequences
    };
    let frames = || {
        let mut frames: Vec<(u32, u32, u32, u32)> = vec![];
        for (at, b) in batches.iter().enumerate() {
            let frame =
                |f: &FrameFacts| (b.objects[f.object as usize], f.start, f.end, f.rows + row_bases[at]);
            frames.extend(b.batch.frames.iter().map(frame));
        }
        frames.par_sort_unstable();
        frames
    };
    let (ranges, (sequences, frames)) = rayon::join(ranges, || rayon::join(sequences, frames));
    let range = |&(_, start, end, place): &_| RangeRecord {
        start: Pc::new(start),
        end: Pc::new(end),
        place: PlaceId::new(place),
    };
    let sequence = |&(_, start, end, unit, rows): &_| SequenceRecord {
        start: Pc::new(start),
        end: Pc::new(end),
        unit: UnitId::new(unit),
        rows: U32::new(rows),
    };
    let frame = |&(_, start, end, rows): &_| FrameRecord {
        start: Pc::new(start),
        end: Pc::new(end),
        rows: U32::new(rows),
    };
    let ((postings, starts), labels) =
        rayon::join(|| postings(&places, functions), || labels(batches, order, functions, &places));
    let merged = Places {
        postings,
        out_of_line: order.parts.iter().flat_map(own_places).map(|p| p.outer == NO_PLACE).collect(),
        labels,
        places,
        units,
        unit_files,
        range_objects: ranges.iter().map(|r| r.0).collect(),
        sequence_objects: sequences.iter().map(|s| s.0).collect(),
        frame_objects: frames.iter().map(|f| f.0).collect(),
        frames: frames.iter().map(frame).collect(),
        ranges: ranges.iter().map(range).collect(),
        sequences: sequences.iter().map(sequence).collect(),
        unit_objects,
    };
    (merged, starts)
}

/// The labels of all batches, by placement and address.
fn labels(batches: &[Resolved<'_>], order: &Order, functions: &Functions, places: &[PlaceRecord]) -> Vec<u8> {
    let mut labels = vec![];
    for (at, b) in batches.iter().enumerate() {
        labels.extend(b.batch.labels.iter().map(|l| {
            let number = order.place(at, l.place);
            let place = &places[number as usize];
            let line = l.line.wrapping_sub(functions.records[place.function.index()].line.get()) as i32;
            let distance = l.pc.wrapping_sub(place.entry.get()) as i32;
            let name = b.string(l.name);
            Label { place: PlaceId::new(number), name, line, distance, block: l.block }
        }));
    }
    labels.sort_unstable_by_key(|l| (l.place, l.distance, l.name, l.line));
    let (mut out, mut before) = (vec![], 0);
    labels.into_iter().for_each(|l| format::put(&mut out, &mut before, l));
    out
}

/// The placements by function, ascending, and where those of each function start.
fn postings(places: &[PlaceRecord], functions: &Functions) -> (Vec<u8>, Vec<U32>) {
    let mut next = vec![0u32; functions.records.len()];
    for place in places {
        next[place.function.index()] += 1;
    }
    let mut sum = 0;
    for count in &mut next {
        let own = std::mem::replace(count, sum);
        sum += own;
    }
    let starts = next.clone();
    let mut sorted = vec![0u32; places.len()];
    for (at, place) in (0u32..).zip(places) {
        let slot = &mut next[place.function.index()];
        sorted[*slot as usize] = at;
        *slot += 1;
    }
    let mut postings = Vec::with_capacity(places.len() * 2);
    let mut offsets = Vec::with_capacity(starts.len());
    for (start, end) in starts.into_iter().zip(next) {
        offsets.push(U32::new(postings.len() as u32));
        let mut last = 0;
        for &place in &sorted[start as usize..end as usize] {
            varint::put(&mut postings, (place - last).into());
            last = place;
        }
    }
    (postings, offsets)
}
