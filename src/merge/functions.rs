//! Merges functions: one record per distinct name, place of declaration and variables.
use super::types::Types;
use super::{FirstSeen, Resolved, blank};
use crate::dwarf::facts::{FunctionFacts, VariableFacts};
use crate::dwarf::strings::Key;
use probeidx_format::id::{FunctionId, StrId, TypeId};
use probeidx_format::record::{FunctionRecord, VariableRecord};
use probeidx_format::variables as format;
use probeidx_format::zerocopy::byteorder::little_endian::{U16, U32};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The tables `functions`, `function_details` and `variables`. Postings are set later.
pub struct Functions {
    pub records: Vec<FunctionRecord>,
    pub details: Vec<u8>,
    pub variables: Vec<VariableRecord>,
    /// For each batch, the final ids of its functions.
    ids: Vec<Vec<FunctionId>>,
}

impl Functions {
    /// The final id of a function of a batch.
    #[inline]
    pub fn id(&self, batch: usize, local: u32) -> FunctionId {
        self.ids[batch][local as usize]
    }
    /// Sets where the postings of each function start.
    pub(super) fn set_postings(&mut self, starts: &[U32]) {
        self.records.iter_mut().zip(starts).for_each(|(record, start)| record.postings = *start);
    }
}

struct Sorted {
    name: StrId,
    file: StrId,
    line: u32,
    flags: u16,
    key: Key,
    batch: u32,
    local: u32,
}

/// The functions of all batches in their final order, and for each batch the final ids of its functions.
pub(super) struct InOrder {
    all: Vec<Sorted>,
    ids: Vec<Vec<FunctionId>>,
}

pub(super) fn sort(batches: &[Resolved<'_>], first_seen: FirstSeen) -> InOrder {
    let mut all: Vec<Sorted> = first_seen
        .into_all()
        .into_par_iter()
        .map(|(key, batch, local)| {
            let extracted = &batches[batch as usize];
            let facts = &extracted.batch.functions[local as usize];
            Sorted {
                name: extracted.string(facts.name),
                file: extracted.string(facts.file),
                line: facts.line,
                flags: facts.flags,
                key,
                batch,
                local,
            }
        })
        .collect();
    all.par_sort_unstable_by_key(|f| (f.name, f.file, f.line, f.flags, f.key));
    let by_key: FxHashMap<Key, FunctionId> =
        all.iter().enumerate().map(|(at, f)| (f.key, FunctionId::new(at as u32))).collect();
    let ids =
        batches.par_iter().map(|b| b.batch.functions.iter().map(|f| by_key[&f.key]).collect()).collect();
    InOrder { all, ids }
}

pub(super) fn merge(
    batches: &[Resolved<'_>],
    types: &Types,
    InOrder { all, ids: local_ids }: InOrder,
) -> Functions {
    let mut functions = Functions { records: vec![], details: vec![], variables: vec![], ids: local_ids };
    let ranks = rank_variables(batches, types, &all, &mut functions.variables);
    let encoded: Vec<(Vec<FunctionRecord>, Vec<u8>)> =
        all.par_chunks(CHUNK).map(|chunk| encode(batches, types, chunk, &ranks)).collect();
    for (mut records, details) in encoded {
        let base = functions.details.len() as u32;
        for record in &mut records {
            record.details = U32::new(record.details.get() + base);
        }
        functions.records.append(&mut records);
        functions.details.extend(details);
    }
    functions.records.push(FunctionRecord { details: U32::new(functions.details.len() as u32), ..blank() });
    functions
}

/// Number of functions that a thread takes at a time.
const CHUNK: usize = 4096;

/// The name and type of a variable.
type Pair = (StrId, TypeId);

/// The variables of a function, with their final names and types.
fn variables<'b>(
    extracted: &'b Resolved<'_>,
    batch: usize,
    facts: &FunctionFacts,
    types: &'b Types,
) -> impl Iterator<Item = (Pair, &'b VariableFacts)> {
    let first = facts.first_variable as usize;
    extracted.batch.variables[first..first + usize::from(facts.variables)]
        .iter()
        .map(move |v| ((extracted.string(v.name), types.id(batch, v.type_id)), v))
}

/// Ranks the pairs of name and type of variables by frequency: the most frequent gets the shortest number.
fn rank_variables(
    batches: &[Resolved<'_>],
    types: &Types,
    all: &[Sorted],
    table: &mut Vec<VariableRecord>,
) -> FxHashMap<Pair, u32> {
    let counts = all
        .par_chunks(CHUNK)
        .fold(FxHashMap::<Pair, u32>::default, |mut counts, chunk| {
            for f in chunk {
                let extracted = &batches[f.batch as usize];
                let facts = &extracted.batch.functions[f.local as usize];
                for (pair, _) in variables(extracted, f.batch as usize, facts, types) {
                    *counts.entry(pair).or_default() += 1;
                }
            }
            counts
        })
        .reduce(FxHashMap::default, |a, b| {
            let (mut into, from) = if a.len() < b.len() { (b, a) } else { (a, b) };
            for (pair, count) in from {
                *into.entry(pair).or_default() += count;
            }
            into
        });
    let mut ranked: Vec<(Pair, u32)> = counts.into_iter().collect();
    ranked.par_sort_unstable_by_key(|&(pair, count)| (Reverse(count), pair));
    table.extend(ranked.iter().map(|&((name, type_id), _)| VariableRecord { name, type_id }));
    (0..).zip(ranked).map(|(rank, (pair, _))| (pair, rank)).collect()
}

fn encode(
    batches: &[Resolved<'_>],
    types: &Types,
    chunk: &[Sorted],
    ranks: &FxHashMap<Pair, u32>,
) -> (Vec<FunctionRecord>, Vec<u8>) {
    let (mut records, mut details) = (vec![], vec![]);
    for sorted in chunk {
        let batch = sorted.batch as usize;
        let extracted = &batches[batch];
        let facts = &extracted.batch.functions[sorted.local as usize];
        records.push(FunctionRecord {
            name: sorted.name,
            file: sorted.file,
            line: U32::new(sorted.line),
            details: U32::new(details.len() as u32),
            variables: U16::new(facts.variables),
            flags: U16::new(facts.flags),
            ..blank()
        });
        let return_type = types.id(batch, facts.return_type).some();
        let name = extracted.string(facts.linkage_name);
        let mut writer = format::Writer::new(details, return_type, name, sorted.line);
        for (pair, v) in variables(extracted, batch, facts, types) {
            writer.put(ranks[&pair], v.line, v.parameter, v.nested);
        }
        details = writer.finish();
    }
    (records, details)
}
