//! What programs read of their context: arguments that the function has, registers that hold parameters, bytes that the
//! record of an event has.
use super::super::outcome::{Finding, State};
use super::{Checking, pointees};
use crate::query::types::lookup;
use probeidx_bpf::reach::{ContextRead, Reached};
use probeidx_bpf::section::{AttachType, Point, ProgramType, Section};
use probeidx_format::id::{FunctionId, TypeId};
use probeidx_format::record::FunctionRecord;
use probeidx_format::{View, machine};

/// A slot of the context of programs with typed arguments: they are read as numbers of 8 bytes.
pub(super) const SLOT: i32 = 8;

/// Bytes that the kernel adds to the record of a system call at most: for each text one field of 4 bytes, of three texts
/// (`syscall_metadata`, kernel/trace/trace_syscalls.c, 7.3).
const EXTENSION: i32 = 12;

/// What is read that is not there.
pub fn findings(
    checking: &Checking<'_, '_, '_>,
    section: Option<&Section<'_>>,
    reached: &Reached,
) -> Vec<Finding> {
    let Some(section) = section else { return vec![] };
    let Ok(point) = &section.point else { return vec![] };
    let reads = &reached.context;
    if let Some(finding) = shape(checking, section, reads) {
        return vec![finding];
    }
    let finding = match *point {
        Point::Kprobe { function, offset: 0, is_return } => registers(checking, function, is_return, reads),
        Point::Tracepoint { category, name } => record(checking, category, name, reads),
        Point::RawTracepoint { name } => parameters(checking, name, reads, "EINVAL"),
        Point::Btf { name, prefix: "btf_trace_", .. } => parameters(checking, name, reads, "EACCES"),
        Point::Btf { name, prefix: "", .. } => arguments(checking, name, section.definition.attach, reads),
        Point::Btf { name, prefix: "bpf_lsm_", .. } => {
            arguments(checking, &[b"bpf_lsm_", name].concat(), section.definition.attach, reads)
        }
        Point::Btf { name, prefix: "bpf_iter_", .. } => {
            arguments(checking, &[b"bpf_iter_", name].concat(), section.definition.attach, reads)
        }
        _ => None,
    };
    finding.into_iter().collect()
}

/// The function of a name, if all that have it have one prototype.
fn function(view: &View<'_>, name: &[u8]) -> Option<(FunctionId, FunctionRecord)> {
    let all = view.functions_named(view.name(name)?);
    let ids = || all.clone().map(|at| FunctionId::new(at as u32));
    let known: Vec<_> = ids()
        .filter_map(|id| Some((id, view.functions.get(id.index())?)))
        .filter(|(_, record)| record.has(FunctionRecord::PROTOTYPED) && !record.has(FunctionRecord::VARIADIC))
        .collect();
    let count = |record: FunctionRecord| view.variables(record).parameters().count();
    let (first, rest) = known.split_first()?;
    rest.iter().all(|(_, record)| count(*record) == count(first.1)).then_some(*first)
}

/// The types of a function's parameters, if all that have the name have one prototype. Those behind a struct are not told: it
/// takes slots of its own.
pub(super) fn parameters_of(view: &View<'_>, name: &[u8]) -> Option<Vec<Option<TypeId>>> {
    let (_, record) = function(view, name)?;
    let types = view.variables(record).parameters().map(|v| v.type_id);
    let is_one_slot = |id: &Option<TypeId>| {
        id.is_some_and(|id| lookup::size_of(view, id).is_none_or(|size| size <= SLOT as u64))
    };
    Some(types.take_while(is_one_slot).collect())
}

/// The slots that each parameter takes: a struct counts its words.
fn slots(view: &View<'_>, record: FunctionRecord) -> i32 {
    let parameters = view.variables(record).parameters();
    let words = parameters
        .map(|v| v.type_id.and_then(|id| lookup::size_of(view, id)).unwrap_or(8).div_ceil(8).max(1));
    words.sum::<u64>().min(64) as i32
}

/// fentry and its like: the verifier refuses a slot that the function does not have (`btf_ctx_access`, kernel/bpf/btf.c).
fn arguments(
    checking: &Checking<'_, '_, '_>,
    name: &[u8],
    attach: Option<AttachType>,
    reads: &[ContextRead],
) -> Option<Finding> {
    let view = checking.view;
    let (_, record) = function(view, name)?;
    let count = slots(view, record);
    // What the function returned follows its arguments; of one that returns nothing, there is nothing to read.
    let returns = view.variables(record).return_type.is_some();
    // Hooks get what was returned before, too (`btf_ctx_access`, 5.10 to 6.1).
    let is_after = matches!(
        attach,
        Some(AttachType::TraceFexit | AttachType::ModifyReturn | AttachType::LsmMac | AttachType::LsmCgroup)
    );
    let readable = count + i32::from(is_after && returns);
    let text = String::from_utf8_lossy(name);
    let types: Vec<_> = view.variables(record).parameters().map(|v| v.type_id).collect();
    if let Some(finding) = pointees::finding(checking, &text, &types, reads) {
        return Some(finding);
    }
    let read = reads.iter().find(|read| read.offset / SLOT >= readable)?;
    let number = read.offset / SLOT + 1;
    let why = match is_after && read.offset / SLOT == count {
        true => format!("it reads what {text} returns, which returns nothing"),
        false => format!("it reads argument {number}, and {text} has {count}"),
    };
    let finding = Finding::new(State::Argument, checking.text(read.place, &text), why).errno("EACCES");
    Some(checking.at(finding, read.place))
}

/// Reads that no program of the type may make, wherever it is attached (`kprobe_prog_is_valid_access` and the like,
/// kernel/trace/bpf_trace.c; `btf_ctx_access`, kernel/bpf/btf.c).
fn shape(checking: &Checking<'_, '_, '_>, section: &Section<'_>, reads: &[ContextRead]) -> Option<Finding> {
    let is_misaligned = |read: &&ContextRead| read.offset % read.size.max(1) as i32 != 0;
    let (read, why) = match section.definition.program {
        ProgramType::Kprobe => {
            let registers = lookup::find(checking.view, "pt_regs")
                .into_iter()
                .find_map(|id| lookup::size_of(checking.view, id));
            let end = registers.map_or(i32::MAX, |size| size as i32);
            match reads.iter().find(is_misaligned) {
                Some(read) => (read, "it reads registers across their borders".to_owned()),
                None => {
                    let read = reads.iter().find(|read| read.offset + read.size as i32 > end)?;
                    (read, format!("it reads at {}, and struct pt_regs has {end} bytes", read.offset))
                }
            }
        }
        ProgramType::Tracepoint => match reads.iter().find(is_misaligned) {
            Some(read) => (read, "it reads fields across their borders".to_owned()),
            // The first is a pointer of the kernel's own.
            None => (
                reads.iter().find(|read| read.offset < SLOT)?,
                "it reads the first 8 bytes, which are no field".to_owned(),
            ),
        },
        ProgramType::RawTracepoint | ProgramType::RawTracepointWritable => {
            (reads.iter().find(is_misaligned)?, "it reads arguments across their borders".to_owned())
        }
        ProgramType::Tracing | ProgramType::Lsm => {
            let read = reads.iter().find(|read| read.offset % SLOT != 0)?;
            (read, "it reads within an argument, which is read from its start alone".to_owned())
        }
        _ => return None,
    };
    let finding = Finding::new(State::Argument, checking.text(read.place, "ctx"), why).errno("EACCES");
    Some(checking.at(finding, read.place))
}

/// Raw tracepoints: how many parameters the tracepoint has.
fn parameters(
    checking: &Checking<'_, '_, '_>,
    name: &[u8],
    reads: &[ContextRead],
    errno: &'static str,
) -> Option<Finding> {
    let (tracepoint, _) = checking.attacher.raw_tracepoint(name, errno).ok()?;
    tracepoint.prototype()?;
    let types: Vec<_> = tracepoint.parameters().map(|parameter| parameter.type_id).collect();
    if errno == "EACCES"
        && let Some(finding) = pointees::finding(checking, &String::from_utf8_lossy(name), &types, reads)
    {
        return Some(finding);
    }
    let count = types.len() as i32;
    let read = reads.iter().find(|read| read.offset / SLOT >= count)?;
    let text = String::from_utf8_lossy(name);
    let why = format!("it reads argument {}, and the tracepoint has {count}", read.offset / SLOT + 1);
    let finding = Finding::new(State::Argument, checking.text(read.place, &text), why).errno(errno);
    Some(checking.at(finding, read.place))
}

/// Events: reads behind the record are refused when the program is attached (`perf_event_set_bpf_prog`,
/// kernel/events/core.c).
fn record(
    checking: &Checking<'_, '_, '_>,
    category: &[u8],
    name: &[u8],
    reads: &[ContextRead],
) -> Option<Finding> {
    let (tracepoint, _) = checking.attacher.event(category, name).ok()?;
    let fields = tracepoint.fields()?;
    let end = fields.iter().map(|field| i32::from(field.offset.get()) + i32::from(field.size.get())).max()?;
    let read = reads.iter().max_by_key(|read| read.offset + read.size as i32)?;
    let (read_end, most) =
        (read.offset + read.size as i32, if tracepoint.is_extended() { EXTENSION } else { 0 });
    let text = String::from_utf8_lossy(name);
    if read_end > end && read_end <= end + most {
        let why = format!(
            "the kernel adds fields behind {end} when it starts: whether {read_end} is among them is not known"
        );
        let finding = Finding::new(State::Undecided, checking.text(read.place, &text), why);
        return Some(checking.at(finding, read.place));
    }
    if read_end <= end {
        return None;
    }
    let why =
        format!("it reads {} bytes at {}, and the record of the event has {end}", read.size, read.offset);
    let finding = Finding::new(State::EventField, checking.text(read.place, &text), why).errno("EACCES");
    Some(checking.at(finding, read.place))
}

/// kprobes: registers in which the function has no parameter.
fn registers(
    checking: &Checking<'_, '_, '_>,
    name: &[u8],
    is_return: bool,
    reads: &[ContextRead],
) -> Option<Finding> {
    let view = checking.view;
    let (_, record) = function(view, name)?;
    let count = slots(view, record);
    let parameter = |read: &ContextRead| parameter_of(view, read.offset);
    let text = String::from_utf8_lossy(name);
    let (read, why) = match is_return {
        true => {
            // The first register of arm64 holds what the function returns.
            let first = i32::from(view.machine() == machine::AARCH64);
            let read = reads.iter().find(|read| parameter(read).is_some_and(|number| number >= first))?;
            (read, "arguments are not preserved until the function returns".to_owned())
        }
        false => {
            let read = reads.iter().find(|read| parameter(read).is_some_and(|number| number >= count))?;
            (read, format!("it reads parameter {}, and {text} has {count}", parameter(read)? + 1))
        }
    };
    let finding = Finding::new(State::Argument, checking.text(read.place, &text), why);
    Some(checking.at(finding, read.place))
}

/// The number of the parameter, from 0, that the register at an offset of `struct pt_regs` holds at the entry.
fn parameter_of(view: &View<'_>, offset: i32) -> Option<i32> {
    // arch/x86/include/asm/ptrace.h and arch/arm64/include/asm/ptrace.h: part of the interface to user space.
    const X86_64: [i32; 6] = [112, 104, 96, 88, 72, 64];
    let position = match view.machine() {
        machine::X86_64 => X86_64.iter().position(|at| *at == offset)?,
        machine::AARCH64 if offset % SLOT == 0 => usize::try_from(offset / SLOT).ok().filter(|at| *at < 8)?,
        _ => return None,
    };
    Some(position as i32)
}
