//! Builds the tables of tracepoints, with the function that has their parameters, and a system for those without an
//! event.
use super::ObjectFacts;
use crate::code::layout::Layout;
use crate::code::system_calls::Kind;
use crate::code::tracepoints as read;
use crate::error::Error;
use crate::load::elf::Elf;
use crate::load::object_kind::ObjectKind;
use crate::load::symbols;
use crate::merge::intern::{GlobalStr, Interner, SortedStrings, StringIds};
use crate::merge::{Functions, Places};
use probeidx_format::id::{FunctionId, ObjectId, Pc, StrId};
use probeidx_format::record::{EventFieldRecord, ObjectRecord, TracepointRecord};
use probeidx_format::varint::Reader;
use probeidx_format::zerocopy::byteorder::little_endian::{U16, U32};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The tracepoints of an object, with unranked texts.
#[derive(Default)]
pub struct TracepointFacts {
    pub list: Vec<OneTracepoint>,
    pub fields: Vec<FieldFacts>,
}

/// A tracepoint.
pub struct OneTracepoint {
    pub name: GlobalStr,
    pub pc: u32,
    /// Names of functions with its parameters, the best first.
    pub prototypes: [Vec<u8>; 3],
    pub event: Option<EventFacts>,
    pub system_call: Option<Kind>,
}

/// The trace event of a tracepoint.
pub struct EventFacts {
    pub system: GlobalStr,
    pub first_field: u32,
    pub fields: u16,
    pub is_whole: bool,
}

/// A field of a record.
pub struct FieldFacts {
    pub name: GlobalStr,
    pub type_name: GlobalStr,
    pub offset: u16,
    pub size: u16,
    pub is_signed: bool,
}

impl ObjectFacts {
    /// Adds the tracepoints, read with this layout of the kernel's structs. `with_code` is as in [`Self::new`].
    pub fn with_tracepoints(
        mut self,
        object: &Elf<'_>,
        with_code: &Elf<'_>,
        kind: ObjectKind<'_>,
        layout: Option<&Layout>,
        interner: &Interner,
        faults: &mut Vec<Error>,
    ) -> Self {
        let with_symbols = if with_code.symbols.is_empty() { object } else { with_code };
        let symbols = symbols::symbols_where(with_symbols, read::is_asked);
        let is_module = matches!(kind, ObjectKind::Module(_));
        let found = read::read(with_code, &symbols, is_module, layout, faults);
        let text = |text: &[u8]| interner.intern(text);
        let function = |before: &[u8], name: &[u8]| match name {
            [] => vec![],
            _ => [before, name].concat(),
        };
        let list = found.list.iter().map(|t| OneTracepoint {
            name: text(&t.name),
            pc: t.pc,
            // 5.10 introduced the first; the others may exist only as inlined copies.
            prototypes: match t.system_call {
                Some(_) => Default::default(),
                None => [
                    function(b"__traceiter_", &t.name),
                    function(b"trace_", &t.name),
                    function(b"trace_event_raw_event_", t.event.as_ref().map_or(&[], |e| e.class)),
                ],
            },
            system_call: t.system_call,
            event: t.event.as_ref().map(|e| EventFacts {
                system: text(e.system),
                first_field: e.first_field,
                fields: e.fields,
                is_whole: e.is_whole,
            }),
        });
        let fields = found.fields.iter().map(|f| FieldFacts {
            name: text(f.name),
            type_name: text(&f.type_name),
            offset: f.offset,
            size: f.size,
            is_signed: f.is_signed,
        });
        self.tracepoints = TracepointFacts { list: list.collect(), fields: fields.collect() };
        self
    }
}

/// Builds the tables of tracepoints and fields.
pub(super) fn link(
    facts: &[ObjectFacts],
    objects: &[ObjectRecord],
    ids: &StringIds,
    strings: &SortedStrings,
    functions: &Functions,
    places: &Places,
) -> (Vec<TracepointRecord>, Vec<EventFieldRecord>) {
    let (mut records, mut fields) = (vec![], vec![]);
    for (number, object) in facts.iter().enumerate() {
        let base = fields.len() as u32;
        let own = objects[number].first_place.get()..objects[number + 1].first_place.get();
        for one in &object.tracepoints.list {
            let prototypes = one.prototypes.iter().filter(|name| !name.is_empty());
            let prototype =
                prototypes.into_iter().find_map(|name| prototype(name, &own, strings, functions, places));
            let event = one.event.as_ref();
            let of_call = match one.system_call {
                None => 0,
                Some(Kind::Whole) => TracepointRecord::SYSTEM_CALL,
                Some(Kind::Extended) => TracepointRecord::SYSTEM_CALL | TracepointRecord::EXTENDED,
            };
            let flags = event.map_or(0, |e| {
                of_call | TracepointRecord::EVENT | if e.is_whole { TracepointRecord::FIELDS } else { 0 }
            });
            records.push(TracepointRecord {
                name: ids.get(one.name),
                system: event.map_or(StrId::new(0), |e| ids.get(e.system)),
                object: ObjectId::new(number as u32),
                pc: Pc::new(one.pc),
                prototype: prototype.unwrap_or(FunctionId::NONE),
                first_field: U32::new(event.map_or(0, |e| e.first_field + base)),
                fields: U16::new(event.map_or(0, |e| e.fields)),
                flags: U16::new(flags),
            });
        }
        fields.extend(object.tracepoints.fields.iter().map(|f| EventFieldRecord {
            name: ids.get(f.name),
            type_name: ids.get(f.type_name),
            offset: U16::new(f.offset),
            size: U16::new(f.size),
            flags: U32::new(if f.is_signed { EventFieldRecord::SIGNED } else { 0 }),
        }));
    }
    name_systems(&mut records, functions);
    records.sort_unstable_by_key(|t| (t.name, t.system, t.object, t.pc));
    (records, fields)
}

/// The first function of this name with a placement in the range of an object.
fn prototype(
    name: &[u8],
    own: &Range<u32>,
    strings: &SortedStrings,
    functions: &Functions,
    places: &Places,
) -> Option<FunctionId> {
    let declared = &functions.records[..functions.records.len() - 1];
    let first = declared.partition_point(|f| strings.get(f.name) < name);
    let same = declared[first..].iter().take_while(|f| strings.get(f.name) == name).count();
    let has_place = |at: &usize| {
        let [start, end] = [*at, at + 1].map(|at| functions.records[at].postings.get() as usize);
        let mut postings = Reader::new(&places.postings[start..end]);
        let mut place = 0u32;
        while !postings.rest().is_empty() {
            place += postings.number32();
            if own.contains(&place) {
                return true;
            }
        }
        false
    };
    (first..first + same).find(has_place).map(|at| FunctionId::new(at as u32))
}

/// Assigns tracepoints without an event to the system of other events in the same header (`TRACE_SYSTEM` serves no
/// other purpose, include/trace/define_trace.h).
fn name_systems(records: &mut [TracepointRecord], functions: &Functions) {
    let file = |t: &TracepointRecord| Some(functions.records.get(t.prototype.some()?.index())?.file);
    let mut of_files: FxHashMap<StrId, StrId> = FxHashMap::default();
    for t in records.iter().filter(|t| t.has(TracepointRecord::EVENT)) {
        if let Some(file) = file(t) {
            of_files.entry(file).or_insert(t.system);
        }
    }
    for t in records.iter_mut().filter(|t| !t.has(TracepointRecord::EVENT)) {
        if let Some(system) = file(t).and_then(|file| of_files.get(&file)) {
            t.system = *system;
        }
    }
}
