//! Converts `FUNC` records and the symbols of their names to functions and placements.
use super::convention;
use super::record::{Id, Kind, Record};
use super::types::Types;
use crate::dwarf::facts::{FunctionFacts, NO_PLACE, PlaceFacts, RangeFacts, VariableFacts};
use crate::dwarf::strings::{Key, LocalStr};
use crate::load::symbols::Symbol;
use object::elf::STB_GLOBAL;
use probeidx_format::details::{Buffer, DetailWriter, Range};
use probeidx_format::expr::FrameBase;
use probeidx_format::record::{FunctionRecord, SymbolRecord};
use rustc_hash::FxHashMap;

/// Further prototypes of one name are left out: a kernel has up to 40 functions of one name.
const MOST_PROTOTYPES: usize = 64;

/// A function of one name and its prototype.
#[derive(Clone, Copy)]
struct Described {
    /// The function in the batch.
    function: u32,
    prototype: Id,
}

/// The ranges of a function's symbols, and whether they are global.
type Entries = Vec<(Range, bool)>;

/// Describes the functions of an object, and places those with symbols, of their own name or else of clones. Returns the
/// number of names in BTF, and of those with a symbol. `symbols` are those of code, sorted by address.
pub fn functions(types: &mut Types<'_, '_>, symbols: &[Symbol<'_>], machine: u16) -> (usize, usize) {
    let entries = entries(symbols, Some);
    let clones = entries_of_clones(symbols);
    let mut by_name: FxHashMap<&[u8], Vec<Described>> = FxHashMap::default();
    let mut order: Vec<&[u8]> = vec![];
    let mut by_key: FxHashMap<Key, u32> = FxHashMap::default();
    for id in types.btf.own() {
        let Some(record) = types.btf.record(id).filter(|r| r.kind == Kind::Function && !r.name.is_empty())
        else {
            continue;
        };
        let is_global = record.parts == 1
            || entries.get(record.name).is_some_and(|all| all.iter().any(|(_, is_global)| *is_global));
        let Some(described) = describe(types, record, is_global, &mut by_key) else { continue };
        let same = by_name.entry(record.name).or_insert_with(|| {
            order.push(record.name);
            vec![]
        });
        if same.iter().any(|d| d.function == described.function) {
            continue;
        }
        if same.len() < MOST_PROTOTYPES {
            same.push(described);
        } else {
            types.fault("more than 64 prototypes of one name in BTF: the others are left out");
        }
    }
    let mut places: Vec<(Range, Described, bool)> = vec![];
    let mut found = 0;
    for name in &order {
        let own = entries.get(name);
        let Some(entries) = own.or_else(|| clones.get(name)) else { continue };
        found += 1;
        let described = &by_name[name];
        // With several, their pairing is unknown; and which parameters a clone still has.
        let is_sure = own.is_some() && described.len() == 1 && entries.len() == 1;
        places.extend(
            entries.iter().flat_map(|(range, _)| described.iter().map(move |d| (*range, *d, is_sure))),
        );
    }
    places.sort_by_key(|(range, d, _)| (range.start, d.function));
    let mut buffer = Buffer::default();
    for (range, described, is_sure) in places {
        place(types, &mut buffer, range, described, is_sure, machine);
    }
    (order.len(), found)
}

/// The clones of each function by its name: since 1.25 pahole describes functions that have no other symbol, if their
/// parameters are where the convention has them or nowhere (`--btf_gen_optimized`, scripts/Makefile.btf, 6.3; seen in
/// Debian's 7.3, where they are 779 of 53,265, and Ubuntu's 6.17, whose mxl5005s has hardly others).
fn entries_of_clones<'s>(symbols: &[Symbol<'s>]) -> FxHashMap<&'s [u8], Entries> {
    entries(symbols, |name| {
        let dot = memchr::memchr(b'.', name).filter(|dot| *dot > 0)?;
        // The unlikely part of a function is not where it is entered.
        let is_cold = name[dot..].split(|byte| *byte == b'.').any(|word| word == b"cold");
        (!is_cold).then(|| &name[..dot])
    })
}

/// The ranges of the functions of each name that `named` makes of a symbol's, and whether they are global.
fn entries<'s>(
    symbols: &[Symbol<'s>],
    named: impl Fn(&'s [u8]) -> Option<&'s [u8]>,
) -> FxHashMap<&'s [u8], Entries> {
    let mut by_name: FxHashMap<&[u8], Entries> = FxHashMap::default();
    for symbol in symbols.iter().filter(|s| s.is_function()) {
        let Some(name) = named(symbol.name) else { continue };
        let range = Range { start: symbol.pc, end: symbol.pc.saturating_add(symbol.size.max(1)) };
        let is_global = symbol.flags >> SymbolRecord::BIND_SHIFT & 3 == u16::from(STB_GLOBAL.0);
        let same = by_name.entry(name).or_default();
        if !same.iter().any(|(r, _)| r.start == range.start) {
            same.push((range, is_global));
        }
    }
    by_name
}

fn describe(
    types: &mut Types<'_, '_>,
    record: Record<'_>,
    is_global: bool,
    by_key: &mut FxHashMap<Key, u32>,
) -> Option<Described> {
    let prototype = record.target();
    let Some(declared) = types.btf.record(prototype).filter(|r| r.kind == Kind::Prototype) else {
        types.fault("a function of BTF has no prototype");
        return None;
    };
    let name = types.batch.strings.intern(record.name);
    let return_type = types.at(declared.target());
    let mut flags = FunctionRecord::PROTOTYPED | if is_global { FunctionRecord::EXTERNAL } else { 0 };
    let mut variables = vec![];
    for [name, id, _] in declared.rows().take(usize::from(u16::MAX)) {
        // A last parameter without type is `...`.
        if Id(id) == Id::VOID {
            flags |= FunctionRecord::VARIADIC;
            continue;
        }
        let name = types.batch.strings.intern(types.btf.string(name));
        let type_id = types.at(Id(id));
        variables.push(VariableFacts { name, type_id, line: 0, parameter: true, nested: false });
    }
    types.insides();
    let hash = |s| types.batch.strings.hash(s);
    let mut key = Key::new(u64::from(flags)).with(hash(name)).and(types.key(return_type));
    for v in &variables {
        key = key.with(hash(v.name)).and(types.key(v.type_id));
    }
    let function = *by_key.entry(key).or_insert_with(|| {
        let first_variable = types.batch.variables.len() as u32;
        let count = variables.len() as u16;
        types.batch.variables.extend(variables);
        types.batch.functions.push(FunctionFacts {
            key,
            name,
            linkage_name: LocalStr::EMPTY,
            file: LocalStr::EMPTY,
            line: 0,
            return_type,
            flags,
            first_variable,
            variables: count,
        });
        types.batch.functions.len() as u32 - 1
    });
    Some(Described { function, prototype })
}

/// Adds a placement: at its entry only, parameters are where the convention passes them.
fn place(
    types: &mut Types<'_, '_>,
    buffer: &mut Buffer,
    range: Range,
    described: Described,
    is_sure: bool,
    machine: u16,
) {
    let registers =
        if is_sure { convention::registers(types.btf, described.prototype, machine) } else { vec![] };
    let mut writer = DetailWriter::new(buffer, range.start, FrameBase::default(), &[range], None);
    let entry = Range { start: range.start, end: range.start + 1 };
    let count = types.batch.functions[described.function as usize].variables;
    for index in 0..u32::from(count) {
        match registers.get(index as usize) {
            Some(operation) => writer.list(index, &[(entry, &[*operation])]),
            None => writer.nowhere(index),
        }
    }
    writer.end();
    let batch = &mut *types.batch;
    let details = batch.details.len() as u32;
    batch.details.extend_from_slice(buffer.bytes());
    let place = batch.places.len() as u32;
    batch.places.push(PlaceFacts {
        function: described.function,
        entry: range.start,
        outer: NO_PLACE,
        details,
    });
    batch.ranges.push(RangeFacts { object: types.object, start: range.start, end: range.end, place });
}
