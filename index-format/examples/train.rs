//! Finds the lengths of the codes (`src/codes/lengths.rs`) for what is in some indexes, each of which counts as much as
//! the others. Reads everything that has codes, and writes it again, which also shows that the same bytes come out.
//!
//! ```text
//! cargo run --release -p probeidx-format --features train --example train -- *.pidx > lengths.rs
//! mv lengths.rs index-format/src/codes/lengths.rs
//! ```
//!
//! The present lengths are from seven kernels: Debian's 6.1 (counted thrice: given three times) and 7.3 (twice) for x86-64,
//! 7.3 for arm64 (thrice), 7.2 for riscv64, 7.3 for s390x, 6.1 for i686, and 6.1 built by clang. One set of lengths for all
//! costs 2 to 7 % more than one for each machine. New lengths make a new version of the format.
use probeidx_format::codes::train;
use probeidx_format::details::{Block, Buffer, DetailWriter, Details, Item, Location};
use probeidx_format::expr::FrameBase;
use probeidx_format::id::{PlaceId, StrId, TypeId};
use probeidx_format::strings::Decoded;
use probeidx_format::variables::{Variable, Variables};
use probeidx_format::{SectionName, View, lines, variables};
use std::collections::BTreeMap;

/// What the symbols of an index count together.
const WEIGHT: f64 = 1e8;

fn main() {
    let mut weighted: Vec<u64> = vec![];
    let mut before = train::counts();
    for path in std::env::args().skip(1) {
        let file = std::fs::read(&path).unwrap();
        let decoded = Decoded::new();
        let view = View::open(&file, &decoded).unwrap();
        let changed = [details(&view), rows(&view), functions(&view)];
        let counts = train::counts();
        let own: Vec<u64> = counts.iter().zip(&before).map(|(now, before)| now - before).collect();
        eprintln!("{path}: {changed:?} records of details, lines, functions change");
        for (name, symbols, bytes) in train::sizes(&own) {
            eprintln!("    {name:16} {symbols:10} symbols {bytes:10} bytes");
        }
        let scale = WEIGHT / own.iter().sum::<u64>() as f64;
        weighted.resize(own.len(), 0);
        weighted.iter_mut().zip(own).for_each(|(sum, own)| *sum += (own as f64 * scale) as u64);
        before = counts;
    }
    print!("{}", train::lengths_file(&weighted));
}

/// Writes the details of all placements; returns how many are not as they were.
fn details(view: &View<'_>) -> usize {
    let bytes = view.checked(SectionName::PlaceDetails).unwrap();
    // Equal details are stored once.
    let places = (0..).map(PlaceId::new).zip(view.places.iter());
    let distinct: BTreeMap<u32, _> = places.map(|(id, place)| (place.details.get(), (id, place))).collect();
    let mut buffer = Buffer::default();
    let changed = distinct.into_iter().filter(|(at, (id, place))| {
        rewrite(&mut buffer, view.details(*id, *place), place.entry.get());
        !bytes[*at as usize..].starts_with(buffer.bytes())
    });
    changed.count()
}

fn rewrite(buffer: &mut Buffer, details: Details<'_>, entry: u32) {
    let ranges: Vec<_> = details.ranges.collect();
    let inlined = details.call.map(|call| (details.outer, call));
    let mut writer = DetailWriter::new(buffer, entry, FrameBase::Cfa, &ranges, inlined);
    let mut blocks: Vec<Block> = vec![];
    for item in details.items {
        match item {
            Item::Block(ranges) => blocks.push(writer.block(&ranges.collect::<Vec<_>>())),
            Item::End => drop(writer.end_block(blocks.pop().unwrap())),
            Item::Variable(index, Location::None) => writer.nowhere(index),
            Item::Variable(index, Location::Everywhere(expr)) => writer.everywhere(index, &expr.operations()),
            Item::Variable(index, Location::Constant(value)) => writer.constant(index, value),
            Item::Variable(index, Location::Bytes(value)) => writer.bytes(index, value),
            Item::Variable(index, Location::Within(range, expr)) => {
                writer.list(index, &[(range, &expr.operations())]);
            }
            Item::Variable(index, Location::List(list)) => {
                let entries: Vec<_> = list.map(|(range, expr)| (range, expr.operations())).collect();
                writer
                    .list(index, &entries.iter().map(|(range, expr)| (*range, &**expr)).collect::<Vec<_>>());
            }
        }
    }
    writer.end();
}

fn rows(view: &View<'_>) -> usize {
    let bytes = view.checked(SectionName::Lines).unwrap();
    let sequences = view.object_ids().flat_map(|object| view.sequences_of(object).iter());
    let changed = sequences.filter(|sequence| {
        let rows: Vec<_> = view.rows(*sequence).collect();
        let mut out = vec![];
        lines::Writer::default().put(&mut out, sequence.start.get(), &rows);
        !bytes[sequence.rows.get() as usize..].starts_with(&out)
    });
    changed.count()
}

fn functions(view: &View<'_>) -> usize {
    let bytes = view.checked(SectionName::FunctionDetails).unwrap();
    let pair = |name: StrId, type_id: Option<TypeId>| (name.get(), type_id.map(TypeId::get));
    let table = view.variable_table();
    let ranks: BTreeMap<_, u32> = table.iter().map(|v| pair(v.name, v.type_id.some())).zip(0..).collect();
    let rank = |v: &Variable| ranks[&pair(v.name, v.type_id)];
    let changed = view.functions.owners().iter().filter(|function| {
        let read: Variables<'_> = view.variables(*function);
        let mut writer =
            variables::Writer::new(vec![], read.return_type, read.linkage_name, function.line.get());
        for variable in read {
            writer.put(rank(&variable), variable.line, variable.parameter, variable.nested);
        }
        !bytes[function.details.get() as usize..].starts_with(&writer.finish())
    });
    changed.count()
}
