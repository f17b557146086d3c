//! Probe points as SystemTap spells them.
use crate::query::index::user_object;
use crate::query::resolve::placement::{Placement, Within};
use crate::query::spec::Filter;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::FunctionRecord;

/// The spelling of a function's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `kernel.function("NAME")`.
    Function,
    /// `kernel.statement("NAME")`.
    Statement {
        /// With `.nearest`, which has no effect there.
        nearest: bool,
    },
}

/// Writes `kernel.function("NAME@FILE:LINE")`, `module("M").function("…")` or `process("PATH").function("…")` with its
/// suffix. A function whose file is unknown is spelled by name only.
pub fn put(
    view: &View<'_>,
    object: ObjectId,
    name: &[u8],
    file: &[u8],
    line: u32,
    filter: Filter,
    out: &mut Vec<u8>,
) {
    put_object(view, object, out);
    out.extend_from_slice(b".function(\"");
    put_place(name, file, line, out);
    put_filter(filter, out);
}

fn put_filter(filter: Filter, out: &mut Vec<u8>) {
    out.extend_from_slice(match filter {
        Filter::Any => b"",
        Filter::Call => b".call",
        Filter::Inline => b".inline",
        Filter::Exported => b".exported",
        Filter::Return => b".return",
    });
}

/// Writes `kernel.function("NAME@FILE:LINE").label("L")`, with the line of the label.
pub fn put_label(
    view: &View<'_>,
    object: ObjectId,
    name: &[u8],
    file: &[u8],
    line: u32,
    label: &[u8],
    out: &mut Vec<u8>,
) {
    put(view, object, name, file, line, Filter::Any, out);
    out.extend_from_slice(b".label(\"");
    out.extend_from_slice(label);
    out.extend_from_slice(b"\")");
}

/// Writes `kernel.function("CALLER@FILE:LINE").callee("CALLEE@FILE:LINE")` with the callee's suffix.
pub fn put_callee(
    view: &View<'_>,
    object: ObjectId,
    caller: FunctionRecord,
    (name, file, line): (&[u8], &[u8], u32),
    filter: Filter,
    out: &mut Vec<u8>,
) {
    let [own, own_file] = [caller.name, caller.file].map(|s| view.string(s));
    put(view, object, own, own_file, caller.line.get(), Filter::Any, out);
    out.extend_from_slice(b".callee(\"");
    put_place(name, file, line, out);
    put_filter(filter, out);
}

/// Writes `kernel.statement("NAME@FILE:LINE")`, with a line of the function and the file of its declaration.
pub fn put_statement(
    view: &View<'_>,
    object: ObjectId,
    name: &[u8],
    file: &[u8],
    line: u32,
    nearest: bool,
    out: &mut Vec<u8>,
) {
    put_object(view, object, out);
    out.extend_from_slice(b".statement(\"");
    put_place(name, file, line, out);
    put_nearest(nearest, out);
}

/// Writes the probe point of a placement; one that was found for a line is a statement.
pub fn put_placement(view: &View<'_>, p: &Placement<'_>, filter: Filter, out: &mut Vec<u8>) {
    match (p.source, p.within) {
        (_, Some(Within::Label { name, line })) => {
            put_label(view, p.object, p.function, p.file, line, name, out);
        }
        (_, Some(Within::Caller(caller))) => {
            let callee = (p.function, p.file, p.line);
            put_callee(view, p.object, caller, callee, filter, out);
        }
        (Some(source), None) => put_statement(view, p.object, p.function, p.file, source.line, false, out),
        (None, None) => put(view, p.object, p.function, p.file, p.line, filter, out),
    }
}

/// Writes `kernel.statement(0xADDR)`.
pub fn put_address(view: &View<'_>, object: ObjectId, address: u64, nearest: bool, out: &mut Vec<u8>) {
    put_object(view, object, out);
    out.extend_from_slice(format!(".statement({address:#x})").as_bytes());
    put_nearest(nearest, out);
}

fn put_nearest(nearest: bool, out: &mut Vec<u8>) {
    if nearest {
        out.extend_from_slice(b".nearest");
    }
}

fn put_object(view: &View<'_>, object: ObjectId, out: &mut Vec<u8>) {
    let module = view.objects.get(object.index()).map_or(&b""[..], |o| view.string(o.name));
    if let Some(path) = user_object::path(view) {
        out.extend_from_slice(b"process(\"");
        out.extend_from_slice(path);
        out.extend_from_slice(b"\")");
    } else if module.is_empty() {
        out.extend_from_slice(b"kernel");
    } else {
        out.extend_from_slice(b"module(\"");
        out.extend_from_slice(module);
        out.extend_from_slice(b"\")");
    }
}

fn put_place(name: &[u8], file: &[u8], line: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    if !file.is_empty() {
        out.push(b'@');
        out.extend_from_slice(file);
        if line > 0 {
            out.push(b':');
            put_decimal(line, out);
        }
    }
    out.extend_from_slice(b"\")");
}

/// Writes a number.
pub(crate) fn put_decimal(mut number: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
