//! Finds what calls lead to, as the linker did: by the symbols of the object, then of the kernel, then of what other
//! modules export.
use super::symbol_name;
use crate::merge::calls::{Call, Named};
use crate::merge::{Functions, Places};
use probeidx_format::calls::{self as format, Call as Found};
use probeidx_format::id::{FunctionId, ObjectId, Pc, StrId};
use probeidx_format::record::{CalledRecord, FunctionRecord, ObjectRecord, SymbolRecord};
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The tables `called` and `calls`.
#[derive(Default)]
pub struct Calls {
    pub records: Vec<CalledRecord>,
    pub bytes: Vec<u8>,
}

/// Makes the tables, given the symbols by name (see `symbols_by_name`).
pub(super) fn link(
    calls: &[Call],
    objects: &[ObjectRecord],
    symbols: &[SymbolRecord],
    by_name: &[u64],
    functions: &Functions,
    places: &Places,
) -> Calls {
    let entries = entries(objects, places);
    let linker = Linker { objects, symbols, by_name, entries: &entries, functions };
    // Calls are in the order of their objects.
    let mut rest = calls;
    let mut parts = vec![];
    for (number, next) in objects.iter().skip(1).enumerate() {
        let end = rest.partition_point(|call| call.place.get() < next.first_place.get());
        let (own, after) = rest.split_at(end);
        rest = after;
        parts.push((ObjectId::new(number as u32), own));
    }
    let found: Vec<(FunctionId, Found)> = parts
        .into_par_iter()
        .flat_map_iter(|(object, calls)| {
            let mut known: FxHashMap<StrId, Option<FunctionId>> = FxHashMap::default();
            let mut bound: FxHashMap<FunctionId, FunctionId> = FxHashMap::default();
            calls.iter().filter_map(move |call| {
                let mut bound = |function: FunctionId| match linker.is_external(function) {
                    true => *bound.entry(function).or_insert_with(|| linker.bound(object, function)),
                    false => function,
                };
                let function = match call.callee {
                    Named::Function(function) => Some(bound(function)),
                    Named::At(pc) => linker.function_at(object, pc, None).map(bound),
                    Named::Symbol(name) => *known.entry(name).or_insert_with(|| linker.called(object, name)),
                };
                Some((function?, Found { object, pc: Pc::new(call.pc), is_tail: call.is_tail }))
            })
        })
        .collect();
    by_callee(&found, functions.records.len())
}

/// Sorts calls by what is called, each function's by object and address, and encodes them.
fn by_callee(found: &[(FunctionId, Found)], functions: usize) -> Calls {
    // Where the calls of each function start: there are so many functions that comparing calls would take longer.
    let mut next = vec![0u32; functions + 1];
    found.iter().for_each(|(function, _)| next[function.index() + 1] += 1);
    let mut sum = 0;
    for count in &mut next {
        sum += *count;
        *count = sum;
    }
    // A call as a number of the same order: the object, the address and the kind.
    let mut sorted = vec![0u64; found.len()];
    for (function, call) in found {
        let at = &mut next[function.index()];
        let place = u64::from(call.object.get()) << 33 | u64::from(call.pc.get()) << 1;
        sorted[*at as usize] = place | u64::from(call.is_tail);
        *at += 1;
    }
    let mut calls = Calls::default();
    let mut rest = &mut sorted[..];
    let mut start = 0;
    for (function, end) in (0..).zip(next) {
        let (own, after) = std::mem::take(&mut rest).split_at_mut((end - start) as usize);
        (rest, start) = (after, end);
        if own.is_empty() {
            continue;
        }
        own.sort_unstable();
        let own = own.chunk_by(|a, b| a >> 1 == b >> 1).map(|same| Found {
            object: ObjectId::new((same[0] >> 33) as u32),
            pc: Pc::new((same[0] >> 1) as u32),
            is_tail: same[0] & 1 != 0,
        });
        let first_call = U32::new(calls.bytes.len() as u32);
        calls.records.push(CalledRecord { function: FunctionId::new(function), first_call });
        format::put(&mut calls.bytes, own);
    }
    let first_call = U32::new(calls.bytes.len() as u32);
    calls.records.push(CalledRecord { function: FunctionId::NONE, first_call });
    calls
}

/// The functions whose code starts at an address, by object: sorted by address.
fn entries(objects: &[ObjectRecord], places: &Places) -> Vec<Vec<(u32, FunctionId)>> {
    let of_object = |pair: &[ObjectRecord]| {
        let own = pair[0].first_place.get() as usize..pair[1].first_place.get() as usize;
        let mut entries: Vec<(u32, FunctionId)> = own
            .filter(|at| places.out_of_line[*at])
            .map(|at| (places.places[at].entry.get(), places.places[at].function))
            .collect();
        entries.sort_unstable();
        entries.dedup();
        entries
    };
    objects.par_windows(2).map(of_object).collect()
}

/// Finds functions by symbols.
#[derive(Clone, Copy)]
struct Linker<'m> {
    objects: &'m [ObjectRecord],
    symbols: &'m [SymbolRecord],
    by_name: &'m [u64],
    entries: &'m [Vec<(u32, FunctionId)>],
    functions: &'m Functions,
}

impl Linker<'_> {
    fn is_external(&self, function: FunctionId) -> bool {
        self.functions.records[function.index()].has(FunctionRecord::EXTERNAL)
    }
    /// What is called in place of an external function that the caller's unit defines: the definition may be weak, and another
    /// unit's be linked.
    fn bound(&self, object: ObjectId, function: FunctionId) -> FunctionId {
        let name = symbol_name(self.functions, function);
        let own = self.range(object);
        let mut named = self.named(name).filter(|at| own.contains(at));
        let symbol = named.find(|at| self.symbols[*at as usize].binding() != 0);
        symbol.and_then(|at| self.function_of(object, at, name)).unwrap_or(function)
    }
    /// The symbols of a name, by their positions.
    fn named(&self, name: StrId) -> impl Iterator<Item = u32> + '_ {
        let first = self.by_name.partition_point(|s| (s >> 32) < name.get().into());
        let named = self.by_name[first..].iter().take_while(move |s| (*s >> 32) as u32 == name.get());
        named.map(|s| *s as u32)
    }
    /// The function that a name means in an object.
    fn called(&self, object: ObjectId, name: StrId) -> Option<FunctionId> {
        let named = || self.named(name);
        let own = self.range(object);
        let is_global = |at: &u32| self.symbols[*at as usize].binding() != 0;
        let in_own = || named().filter(|at| own.contains(at));
        let here = in_own().find(is_global).or_else(|| in_own().next());
        if let Some(at) = here {
            return self.function_of(object, at, name);
        }
        // What a module calls, the kernel or another module exports.
        let is_exported = |at: &u32| self.symbols[*at as usize].has(SymbolRecord::EXPORTED);
        let kernel = self.range(ObjectId::new(0));
        let mut elsewhere = named().filter(is_exported);
        let in_kernel = named().filter(|at| kernel.contains(at) && is_global(at)).find(is_exported);
        let at = match in_kernel {
            Some(at) => at,
            // Two modules that export a name are alternatives: which of them is called depends on what is loaded.
            None => elsewhere.next().filter(|_| elsewhere.next().is_none())?,
        };
        let after = self.objects.partition_point(|o| o.first_symbol.get() <= at);
        self.function_of(ObjectId::new(after as u32 - 1), at, name)
    }
    fn range(&self, object: ObjectId) -> Range<u32> {
        let first = |at: usize| self.objects[at].first_symbol.get();
        first(object.index())..first(object.index() + 1)
    }
    fn function_of(&self, object: ObjectId, symbol: u32, name: StrId) -> Option<FunctionId> {
        self.function_at(object, self.symbols[symbol as usize].pc.get(), Some(name))
    }
    /// The function whose code starts there; of several, the one of this name.
    fn function_at(&self, object: ObjectId, pc: u32, name: Option<StrId>) -> Option<FunctionId> {
        let entries = self.entries.get(object.index())?;
        let first = entries.partition_point(|entry| entry.0 < pc);
        let own = entries[first..].iter().take_while(|entry| entry.0 == pc).map(|entry| entry.1);
        let is_named = |function: &FunctionId| Some(self.functions.records[function.index()].name) == name;
        own.clone().find(is_named).or_else(|| own.clone().next())
    }
}
