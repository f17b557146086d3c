//! The events of system calls, `syscalls:sys_enter_openat` and `syscalls:sys_exit_openat`: they have no tracepoint.
//!
//! `SYSCALL_METADATA` (include/linux/syscalls.h) defines a `struct syscall_metadata` with the name, and the types and names
//! of the arguments; `__start_syscalls_metadata` lists pointers to them. An event is made of those whose function is in
//! `sys_call_table` (`init_ftrace_syscalls`, `init_syscall_trace`, kernel/trace/trace_syscalls.c, 5.10 to 7.3).
//!
//! `openat` of 6.1.192 worked by hand: the name `sys_openat`, 4 arguments, types `int`, `const char *`, `int`, `umode_t`,
//! names `dfd`, `filename`, `flags`, `mode`; `__x64_sys_openat` is entry 257 of the table. The record of `sys_enter_openat`
//! is `struct syscall_trace_enter`: 8 bytes of `struct trace_entry`, the number, and an `unsigned long` for each argument:
//!
//! ```text
//! int __syscall_nr    8, 4 bytes, signed
//! int dfd            16, 8 bytes, not signed
//! const char * filename 24, int flags 32, umode_t mode 40
//! ```
//!
//! `sys_exit_openat` has the number, and `long ret` at 16.
use super::data::Data;
use super::layout::SystemCallLayout;
use super::table::{TableName, Tables};
use super::tracepoints::{Event, Field, LONGEST_TEXT, MOST_FIELDS_OF_OBJECT, Tracepoint, Tracepoints};
use crate::error::{Error, ErrorKind, Result};
use crate::load::symbols::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

/// What an event of a system call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All of its fields are known.
    Whole,
    /// The kernel may add fields when it starts, for what arguments point to (`__filename_val`, 7.2).
    Extended,
}

const METADATA: TableName = TableName {
    section: "__syscalls_metadata",
    start: "__start_syscalls_metadata",
    stop: "__stop_syscalls_metadata",
    reader: "init_ftrace_syscalls",
};
const TABLE: &str = "sys_call_table";
/// What architectures put before the name of a system call (`arch_syscall_match_sym_name`, asm/ftrace.h).
const PREFIXES: [&[u8]; 7] =
    [b"__x64_", b"__arm64_", b"__riscv_", b"__s390x_", b"__powerpc_", b"__loongarch_", b"__se_"];
/// More system calls than any architecture has.
const MOST: u32 = 2048;
/// More arguments than a system call can have.
const MOST_ARGUMENTS: i32 = 6;

/// Whether [`read`] needs symbols of this name.
pub fn is_asked(name: &[u8]) -> bool {
    let known = [METADATA.start, METADATA.stop, TABLE].map(str::as_bytes);
    plain(name).starts_with(b"sys_") || known.contains(&name)
}

/// The name without an architecture's prefix.
fn plain(name: &[u8]) -> &[u8] {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(*prefix)).unwrap_or(name)
}

/// Adds the events of system calls. Cost: a look at each symbol, and at each entry of two tables.
///
/// # Errors
/// [`ErrorKind::Damaged`] if a table is not in the file, or entries are left out.
pub fn read<'d>(
    data: &Data<'_, 'd>,
    tables: &Tables<'_, 'd>,
    symbols: &[Symbol<'d>],
    layout: SystemCallLayout,
    found: &mut Tracepoints<'d>,
) -> Result<()> {
    let damaged = |what: String| Error::new(ErrorKind::Damaged, what).section(METADATA.section);
    let Some(table) = tables.table(&METADATA)? else { return Ok(()) };
    let called = called(data, symbols, table.address_size())
        .ok_or_else(|| damaged("no sys_call_table: events of system calls are left out".to_owned()))?;
    let (mut lost, mut all) = (0, 0);
    for metadata in table.addresses()? {
        all += 1;
        match System::read(data, metadata, layout, table.address_size()) {
            Some(system) if !called.contains(system.name) => {}
            Some(system) if found.fields.len() < MOST_FIELDS_OF_OBJECT => system.add(found),
            _ => lost += 1,
        }
    }
    match lost {
        0 => Ok(()),
        lost => Err(damaged(format!("{lost} of {all} system calls are damaged: their events are left out"))),
    }
}

/// The names of the functions in the table of system calls, such as `sys_openat`; `None` if there is no table.
fn called<'d>(data: &Data<'_, 'd>, symbols: &[Symbol<'d>], address_size: u8) -> Option<FxHashSet<&'d [u8]>> {
    let table = symbols.iter().find(|s| !s.is_function() && s.name == TABLE.as_bytes())?;
    let mut names: FxHashMap<u32, Vec<&[u8]>> = FxHashMap::default();
    for symbol in symbols.iter().filter(|s| s.is_function()) {
        names.entry(symbol.pc).or_default().push(plain(symbol.name));
    }
    // Without a size, it ends where no function is pointed to.
    let size = u32::from(address_size);
    let count = if table.size == 0 { MOST } else { (table.size / size).min(MOST) };
    let entry = |number: u32| data.pointer(table.pc.checked_add(number * size)?);
    let entries = (0..count).map(entry).take_while(|entry| entry.is_some() || table.size != 0);
    let mut called: FxHashSet<&[u8]> =
        entries.flatten().filter_map(|pc| names.get(&pc)).flatten().copied().collect();
    // What is called where there is no system call has metadata too, and no event (`find_syscall_meta`; seen on 5.3 to 6.1).
    called.remove(&b"sys_ni_syscall"[..]);
    Some(called)
}

/// A system call.
struct System<'d> {
    pc: u32,
    /// `sys_openat`
    name: &'d [u8],
    /// The type and name of each argument.
    arguments: Vec<(&'d [u8], &'d [u8])>,
    layout: SystemCallLayout,
    address_size: u8,
}

impl<'d> System<'d> {
    fn read(data: &Data<'_, 'd>, pc: u32, layout: SystemCallLayout, address_size: u8) -> Option<Self> {
        let at = |offset: u32| pc.checked_add(offset);
        let text = |at: u32| data.text(data.pointer(at)?, LONGEST_TEXT);
        let count = data.number(at(layout.arguments)?)?;
        let count = if layout.has_user_mask { count & 0x7f } else { count };
        if !(0..=MOST_ARGUMENTS).contains(&count) {
            return None;
        }
        let list = |member: u32| {
            let first = || data.pointer(at(member)?);
            let one = |number| text(first()?.checked_add(number as u32 * u32::from(address_size))?);
            (0..count).map(one).collect::<Option<Vec<_>>>()
        };
        let (types, names) = (list(layout.types)?, list(layout.names)?);
        let arguments = types.into_iter().zip(names).collect();
        Some(Self { pc, name: text(at(layout.name)?)?, arguments, layout, address_size })
    }

    fn add(&self, found: &mut Tracepoints<'d>) {
        const NUMBER: u16 = 4;
        let word = u16::from(self.address_size);
        let first = self.layout.first as u16;
        let values = (first + NUMBER).next_multiple_of(word);
        let number = Field {
            name: b"__syscall_nr",
            type_name: b"int"[..].into(),
            offset: first,
            size: NUMBER,
            is_signed: true,
        };
        let argument = |(at, (type_name, name)): (u16, &(&'d [u8], &'d [u8]))| Field {
            name,
            type_name: (*type_name).into(),
            offset: values + at * word,
            size: word,
            is_signed: false,
        };
        let returned = Field {
            name: b"ret",
            type_name: b"long"[..].into(),
            offset: values,
            size: word,
            is_signed: true,
        };
        let rest = self.name.strip_prefix(b"sys_").unwrap_or(self.name);
        let kind = if self.layout.has_user_mask { Kind::Extended } else { Kind::Whole };
        let enter = (0..).zip(&self.arguments).map(argument).collect();
        for (start, kind, fields) in
            [(&b"sys_enter_"[..], kind, enter), (b"sys_exit_", Kind::Whole, vec![returned])]
        {
            let first_field = found.fields.len() as u32;
            found.fields.push(number.clone());
            found.fields.extend(fields);
            let event = Event {
                system: b"syscalls",
                class: b"",
                first_field,
                fields: (found.fields.len() as u32 - first_field) as u16,
                is_whole: true,
            };
            let name = [start, rest].concat().into();
            found.list.push(Tracepoint { name, pc: self.pc, event: Some(event), system_call: Some(kind) });
        }
    }
}
