//! Functions: one record for each that differs in name, place of declaration or variables.
use super::intern::StringIds;
use super::types::Types;
use super::{Extracted, Firsts, blank};
use crate::dwarf::facts::NO_TYPE;
use crate::dwarf::strings::Key;
use probeidx_format::id::{FunctionId, StrId, TypeId};
use probeidx_format::record::FunctionRecord;
use probeidx_format::variables::{self, Variable};
use probeidx_format::zerocopy::byteorder::little_endian::{U16, U32};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The tables `functions` and `function_details`. Postings are not set yet.
pub struct Functions {
    pub records: Vec<FunctionRecord>,
    pub details: Vec<u8>,
    /// For each batch the final ids of its functions.
    ids: Vec<Vec<FunctionId>>,
}

impl Functions {
    /// The final id of a function of a batch.
    #[inline]
    pub fn id(&self, batch: usize, local: u32) -> FunctionId {
        self.ids[batch][local as usize]
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

pub(super) fn merge(batches: &[Extracted], ids: &StringIds, types: &Types, firsts: Firsts) -> Functions {
    let mut all: Vec<Sorted> = firsts
        .into_all()
        .into_par_iter()
        .map(|(key, batch, local)| {
            let extracted = &batches[batch as usize];
            let facts = &extracted.batch.functions[local as usize];
            Sorted {
                name: extracted.string(ids, facts.name),
                file: extracted.string(ids, facts.file),
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
    let local_ids =
        batches.par_iter().map(|b| b.batch.functions.iter().map(|f| by_key[&f.key]).collect()).collect();
    let mut functions =
        Functions { records: Vec::with_capacity(all.len() + 1), details: vec![], ids: local_ids };
    for sorted in &all {
        let batch = sorted.batch as usize;
        let extracted = &batches[batch];
        let facts = &extracted.batch.functions[sorted.local as usize];
        functions.records.push(FunctionRecord {
            name: sorted.name,
            file: sorted.file,
            line: U32::new(sorted.line),
            return_type: types.id(batch, facts.return_type),
            details: U32::new(functions.details.len() as u32),
            variables: U16::new(facts.variables),
            flags: U16::new(facts.flags),
            linkage_name: extracted.string(ids, facts.linkage_name),
            ..blank()
        });
        let mut line = sorted.line;
        let first = facts.first_variable as usize;
        for v in &extracted.batch.variables[first..first + usize::from(facts.variables)] {
            let variable = Variable {
                name: extracted.string(ids, v.name),
                type_id: (v.type_id != NO_TYPE).then(|| types.id(batch, v.type_id)).and_then(TypeId::some),
                line: v.line,
                parameter: v.parameter,
                nested: v.nested,
            };
            variables::put(&mut functions.details, &mut line, &variable);
        }
    }
    let end = FunctionRecord { details: U32::new(functions.details.len() as u32), ..blank() };
    functions.records.push(end);
    functions
}
