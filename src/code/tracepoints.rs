//! The tracepoints of an object, from the data that registers them when it is loaded.
//!
//! `DEFINE_TRACE_FN` (include/linux/tracepoint.h) defines a global `struct tracepoint` named `__tracepoint_NAME`. The
//! table `__tracepoints_ptrs` lists them too, but as pointers or as offsets, which it does not indicate; therefore
//! the symbols are read here. `TRACE_EVENT` (include/trace/trace_events.h) adds a `struct trace_event_call` with a
//! class, and a pointer to it in `_ftrace_events`. Checked against 5.10 to 6.12.
use super::data::Data;
use super::layout::{EventLayout, FieldLayout, Layout};
use super::system_calls;
use super::table::{TableName, Tables};
use crate::error::{Error, ErrorKind};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// The tracepoints of an object by address, and the fields of their events.
#[derive(Default)]
pub struct Tracepoints<'d> {
    pub list: Vec<Tracepoint<'d>>,
    pub fields: Vec<Field<'d>>,
}

/// A tracepoint.
#[derive(Clone, Debug)]
pub struct Tracepoint<'d> {
    pub name: Cow<'d, [u8]>,
    /// The address of its `struct tracepoint`; of an event of a system call, of its `struct syscall_metadata`.
    pub pc: u32,
    pub event: Option<Event<'d>>,
    /// For an event of a system call: see [`system_calls`].
    pub system_call: Option<system_calls::Kind>,
}

impl<'d> Tracepoint<'d> {
    fn new(name: &'d [u8], pc: u32) -> Self {
        Self { name: name.into(), pc, event: None, system_call: None }
    }
}

/// The trace event of a tracepoint.
#[derive(Clone, Debug)]
pub struct Event<'d> {
    pub system: &'d [u8],
    /// The name given to `DECLARE_EVENT_CLASS`; empty if no symbol has it.
    pub class: &'d [u8],
    /// The start of its range of fields.
    pub first_field: u32,
    pub fields: u16,
    /// Whether all fields are known.
    pub is_whole: bool,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'d> {
    pub name: &'d [u8],
    pub type_name: Cow<'d, [u8]>,
    pub offset: u16,
    pub size: u16,
    pub is_signed: bool,
}

const EVENTS: TableName = TableName {
    section: "_ftrace_events",
    start: "__start_ftrace_events",
    stop: "__stop_ftrace_events",
    reader: "trace_event_init",
};

/// The most fields of an event: the largest ones have about sixty, and a record takes at most a page.
const MOST_FIELDS: u16 = 512;
/// The most fields of an object: a kernel with all its modules has a tenth of that.
pub(super) const MOST_FIELDS_OF_OBJECT: usize = 1 << 18;
/// The longest name of a system, field or type.
pub(super) const LONGEST_TEXT: usize = 1024;

/// Whether [`read`] needs symbols of this name.
pub fn is_asked(name: &[u8]) -> bool {
    let known = [EVENTS.start, EVENTS.stop, EVENTS.reader].map(str::as_bytes);
    name.starts_with(TRACEPOINT)
        || name.starts_with(CLASS)
        || known.contains(&name)
        || system_calls::is_asked(name)
}

const TRACEPOINT: &[u8] = b"__tracepoint_";
const CLASS: &[u8] = b"event_class_";

/// Reads the tracepoints of an object. Damaged ones are left out and reported in `faults`.
pub fn read<'d>(
    object: &Elf<'d>,
    symbols: &[Symbol<'d>],
    is_module: bool,
    layout: Option<&Layout>,
    faults: &mut Vec<Error>,
) -> Tracepoints<'d> {
    let mut found = Tracepoints::default();
    // 6.12 has a function `__tracepoint_probe_module_cb`.
    let data = symbols.iter().filter(|s| !s.is_function());
    let named: Vec<_> = data.filter_map(|s| Some((s.name.strip_prefix(TRACEPOINT)?, s.pc))).collect();
    if named.is_empty() {
        return found;
    }
    let mut fault = |what: &str| {
        faults.push(Error::new(ErrorKind::Damaged, what).section("__tracepoints"));
    };
    const WITHOUT_TYPE: &str = "no type struct tracepoint: tracepoints are left out";
    let Some(layout) = layout else {
        fault(WITHOUT_TYPE);
        return found;
    };
    let is_assumed = layout.is_assumed;
    let data = Data::new(object);
    let is_named = |(name, pc): &(&[u8], u32)| {
        let text = pc.checked_add(layout.tracepoint_name).and_then(|pc| data.pointer(pc));
        text.and_then(|pc| data.text(pc, LONGEST_TEXT)) == Some(*name)
    };
    let (named, others): (Vec<_>, Vec<_>) = named.into_iter().partition(is_named);
    if is_assumed && named.is_empty() {
        fault(WITHOUT_TYPE);
        return found;
    }
    // Kernels with pointers in `__tracepoints_ptrs` name these `__tracepoint_ptr_NAME`; since 6.13
    // `__tracepoint_ext_NAME` holds the functions called when the first listener registers (`struct tracepoint_ext`).
    // Embedded kallsyms may have these symbols without the tracepoint.
    const COMPANIONS: [&[u8]; 2] = [b"ptr_", b"ext_"];
    let known: FxHashSet<&[u8]> = named.iter().map(|(name, _)| *name).collect();
    let is_known = |of: &[u8]| known.is_empty() || known.contains(of);
    let is_companion =
        |name: &[u8]| COMPANIONS.iter().any(|mark| name.strip_prefix(*mark).is_some_and(is_known));
    let lost = others.iter().filter(|(name, _)| !is_companion(name)).count();
    if lost > 0 {
        fault(&format!("{lost} tracepoints are not called as their symbols say, and left out"));
    }
    found.list = named.into_iter().map(|(name, pc)| Tracepoint::new(name, pc)).collect();
    found.list.dedup_by_key(|t| t.pc);
    let (event, system_call) = (layout.event, layout.system_call);
    let Some(layout) = &event else { return found };
    let tables = Tables::new(object, symbols, is_module);
    match tables.table(&EVENTS) {
        Err(error) => faults.push(error),
        Ok(None) => {}
        Ok(Some(table)) => {
            let start = table.start();
            let mut events = Events::new(&data, symbols, layout, is_assumed);
            let (mut damaged, mut entries) = (0, 0);
            for at in (0..table.length()).step_by(object.address_size.into()) {
                entries += 1;
                let call = start.and_then(|start| data.pointer(start.checked_add(at as u32)?));
                damaged += u32::from(call.is_none_or(|call| !events.add(call, &mut found)));
            }
            if is_assumed && damaged > entries / 10 {
                found.list.iter_mut().for_each(|tracepoint| tracepoint.event = None);
                let what = "no type struct trace_event_call: events are left out";
                faults.push(Error::new(ErrorKind::Damaged, what).section(EVENTS.section));
                return found;
            }
            let mut fault = |count: u32, what: String| {
                if count > 0 {
                    faults.push(Error::new(ErrorKind::Damaged, what).section(EVENTS.section));
                }
            };
            fault(damaged, format!("{damaged} of {entries} events are damaged and left out"));
            let classes = events.damaged_classes;
            fault(classes, format!("the fields of {classes} classes of events are damaged and left out"));
        }
    }
    if let Some(layout) = system_call.filter(|_| !is_module) {
        system_calls::read(&data, &tables, symbols, layout, &mut found).unwrap_or_else(|e| faults.push(e));
    }
    found
}

/// Reads events into the tracepoints that they belong to.
struct Events<'r, 'o, 'd> {
    data: &'r Data<'o, 'd>,
    layout: &'r EventLayout,
    /// Whether each class is to have a name, as its place is assumed.
    are_named: bool,
    /// The names of classes by address.
    class_names: FxHashMap<u32, &'d [u8]>,
    /// The classes read so far.
    classes: FxHashMap<u32, Event<'d>>,
    /// Number of classes with invalid fields.
    damaged_classes: u32,
}

impl<'r, 'o, 'd> Events<'r, 'o, 'd> {
    fn new(data: &'r Data<'o, 'd>, symbols: &[Symbol<'d>], layout: &'r EventLayout, are_named: bool) -> Self {
        let class = |s: &Symbol<'d>| Some((s.pc, s.name.strip_prefix(CLASS)?));
        Self {
            data,
            layout,
            are_named,
            class_names: symbols.iter().filter_map(class).collect(),
            classes: FxHashMap::default(),
            damaged_classes: 0,
        }
    }

    /// Adds the event at an address; false if it is invalid. Events without a tracepoint of this object are skipped:
    /// those of system calls, of ftrace itself, of other objects' tracepoints.
    fn add(&mut self, call: u32, found: &mut Tracepoints<'d>) -> bool {
        let at = |offset: u32| self.data.pointer(call.checked_add(offset)?);
        let (Some(class), named) = (at(self.layout.class), at(self.layout.tracepoint)) else { return false };
        let Some(tracepoint) = named.and_then(|pc| found.list.binary_search_by_key(&pc, |t| t.pc).ok())
        else {
            return true;
        };
        if found.list[tracepoint].event.is_some() {
            return true;
        }
        if self.are_named && !self.class_names.contains_key(&class) {
            return false;
        }
        let event = match self.classes.get(&class) {
            Some(known) => known.clone(),
            None => {
                let Some(read) = self.class(class, &mut found.fields) else { return false };
                self.classes.insert(class, read.clone());
                read
            }
        };
        found.list[tracepoint].event = Some(event);
        true
    }

    fn class(&mut self, class: u32, fields: &mut Vec<Field<'d>>) -> Option<Event<'d>> {
        let system = self.data.pointer(class.checked_add(self.layout.system)?)?;
        let system = self.data.text(system, LONGEST_TEXT)?;
        let first_field = fields.len();
        let is_whole = match &self.layout.fields {
            None => false,
            Some((array, layout)) => {
                let array = class.checked_add(*array).and_then(|pc| self.data.pointer(pc));
                let read = array.and_then(|array| self.fields(array, layout, fields));
                self.damaged_classes += u32::from(read.is_none());
                if read != Some(true) {
                    fields.truncate(first_field);
                }
                read == Some(true)
            }
        };
        Some(Event {
            system,
            class: self.class_names.get(&class).copied().unwrap_or_default(),
            first_field: first_field as u32,
            fields: (fields.len() - first_field) as u16,
            is_whole,
        })
    }

    /// Reads the fields of an array, with the offsets that `event_define_fields` assigns
    /// (kernel/trace/trace_events.c, 5.10 to 6.12). Returns whether these are all: a function may define more
    /// (`TRACE_FUNCTION_TYPE`). `None` if the array has no proper end.
    fn fields(&self, array: u32, layout: &FieldLayout, fields: &mut Vec<Field<'d>>) -> Option<bool> {
        let mut offset = layout.first;
        for number in 0..MOST_FIELDS {
            let field = array.checked_add(layout.stride.checked_mul(number.into())?)?;
            let at = |member: u32| field.checked_add(member);
            let text = |member| self.data.text(self.data.pointer(at(member)?)?, LONGEST_TEXT);
            let type_at = at(layout.type_name)?;
            if self.data.is_null(type_at) {
                return Some(true);
            }
            if self.data.is_mark(type_at) {
                return Some(false);
            }
            if fields.len() >= MOST_FIELDS_OF_OBJECT {
                return None;
            }
            let number = |member| self.data.number(at(member)?);
            let align = u32::try_from(number(layout.align)?).ok()?.max(1);
            let size = number(layout.size)?;
            offset = offset.checked_next_multiple_of(align)?;
            let length = layout.length.and_then(number).unwrap_or(0);
            fields.push(Field {
                name: text(layout.name)?,
                type_name: spelled(text(layout.type_name)?, length),
                offset: offset.try_into().ok()?,
                size: size.try_into().ok()?,
                is_signed: number(layout.is_signed)? != 0,
            });
            offset = offset.checked_add(u32::try_from(size).ok()?)?;
        }
        None
    }
}

/// A type as `f_show` (kernel/trace/trace_events.c, 6.1) prints it: an array with its number of elements, for which
/// the source may use a name.
fn spelled(text: &[u8], length: i32) -> Cow<'_, [u8]> {
    match memchr::memchr(b'[', text) {
        Some(bracket) if length > 0 && !text.starts_with(b"__data_loc") => {
            [&text[..bracket], format!("[{length}]").as_bytes()].concat().into()
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_elements_takes_the_place_of_its_name() {
        assert_eq!(spelled(b"char[TASK_COMM_LEN]", 16), &b"char[16]"[..]);
        assert_eq!(spelled(b"__data_loc char[]", 0), &b"__data_loc char[]"[..]);
        assert_eq!(spelled(b"pid_t", 0), &b"pid_t"[..]);
    }
}
