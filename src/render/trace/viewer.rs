//! A file for viewers: the Trace Event Format, in its form as an array, which Perfetto's ui.perfetto.dev and chrome://tracing
//! load ("Trace Event Format", Google, 2016: docs/tracing.md has what is used of it).
//!
//! A function whose entry and return are both traced is a duration (`X`), written when it returns; anything else is an
//! instant (`i`). A viewer accepts an array without its end, so that a file whose writer was killed loads, too.
use super::json::{put_arguments, put_stack, put_text};
use super::put_subject;
use super::text::lost;
use crate::query::trace::calls::Calls;
use crate::query::trace::names::Namer;
use crate::query::trace::record::{Notice, Record};
use rustc_hash::FxHashMap;

/// Writes events one after the other.
#[derive(Debug, Default)]
pub struct Viewer {
    /// For each event of the plan, the function whose entry or return it is: events of a function have the same number.
    functions: Vec<Option<usize>>,
    calls: Calls<Entered>,
    /// The names of tasks that were written.
    named: FxHashMap<i32, Vec<u8>>,
    has_begun: bool,
}

#[derive(Debug)]
struct Entered {
    pid: i32,
    name: Vec<u8>,
    /// Values, as members of a JSON object.
    arguments: Vec<u8>,
}

impl Viewer {
    /// `functions`: for each event of the plan, in its order, the number of the function of which both the entry and the
    /// return are traced ([`calls::functions`](crate::query::trace::calls::functions)).
    pub fn new(functions: Vec<Option<usize>>) -> Self {
        Self { functions, ..Self::default() }
    }

    /// Appends an event, of this position in the plan. Nothing, at the entry of a function that is to return.
    pub fn event(&mut self, position: usize, record: &Record<'_>, names: &mut dyn Namer, out: &mut Vec<u8>) {
        self.name_task(record, out);
        let mut arguments = vec![];
        arguments.extend_from_slice(b"\"args\":{\"values\":");
        put_arguments(record.event, record.values, names, &mut arguments);
        if !record.stack.is_empty() {
            arguments.extend_from_slice(b",\"stack\":");
            put_stack(record, names, &mut arguments);
        }
        arguments.extend_from_slice(format!(",\"cpu\":{}}}", record.cpu).as_bytes());
        let mut name = vec![];
        put_subject(record, &mut name);
        let function = self.functions.get(position).copied().flatten();
        match (function, record.event.kind.is_return()) {
            (Some(function), false) => {
                let entered = Entered { pid: record.pid, name, arguments };
                self.calls.enter(record.pid, record.cpu, function, record.time, entered);
            }
            (Some(function), true) => match self.calls.leave(record.pid, record.cpu, function) {
                Some((start, entered)) => {
                    let duration = record.time.saturating_sub(start);
                    self.begin(out);
                    put_head(&entered.name, "X", start, entered.pid, out);
                    out.extend_from_slice(
                        format!(",\"dur\":{}.{:03},", duration / 1000, duration % 1000).as_bytes(),
                    );
                    // Those of the entry, then those of the return.
                    out.extend_from_slice(&entered.arguments[..entered.arguments.len() - 1]);
                    out.extend_from_slice(b",\"returned\":{\"values\":");
                    put_arguments(record.event, record.values, names, out);
                    out.extend_from_slice(b"}}}");
                }
                None => self.instant(&name, record.time, record.pid, &arguments, out),
            },
            (None, _) => self.instant(&name, record.time, record.pid, &arguments, out),
        }
    }

    /// Appends what was lost, as an instant of all tasks. Calls that are open are no longer known to be.
    pub fn notice(&mut self, notice: &Notice, out: &mut Vec<u8>) {
        let Notice::Lost { time, cpu, count } = notice;
        self.calls.forget();
        self.begin(out);
        put_head(lost(*count).as_bytes(), "i", *time, 0, out);
        out.extend_from_slice(format!(",\"s\":\"g\",\"args\":{{\"cpu\":{cpu}}}}}").as_bytes());
    }

    /// Appends the functions that have not returned, and ends the array. On every exit.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        for (time, entered) in std::mem::take(&mut self.calls).finish() {
            let Entered { pid, name, arguments } = entered;
            self.instant(&name, time, pid, &arguments, out);
        }
        if !self.has_begun {
            out.push(b'[');
        }
        out.extend_from_slice(b"\n]\n");
    }

    fn instant(&mut self, name: &[u8], time: u64, pid: i32, arguments: &[u8], out: &mut Vec<u8>) {
        self.begin(out);
        put_head(name, "i", time, pid, out);
        out.extend_from_slice(b",\"s\":\"t\",");
        out.extend_from_slice(arguments);
        out.push(b'}');
    }

    /// The name of a task, when it is first seen or has a new one.
    fn name_task(&mut self, record: &Record<'_>, out: &mut Vec<u8>) {
        let pid = record.pid;
        if record.comm.is_empty() || self.named.get(&pid).is_some_and(|known| known == record.comm) {
            return;
        }
        self.named.insert(pid, record.comm.to_vec());
        self.begin(out);
        out.extend_from_slice(b"{\"name\":\"thread_name\",\"ph\":\"M\",");
        out.extend_from_slice(format!("\"pid\":{pid},\"tid\":{pid},\"args\":{{\"name\":").as_bytes());
        put_text(record.comm, out);
        out.extend_from_slice(b"}}");
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(if std::mem::replace(&mut self.has_begun, true) { b",\n" } else { b"[\n" });
    }
}

/// Times are in microseconds.
fn put_head(name: &[u8], phase: &str, time: u64, pid: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"name\":");
    put_text(name, out);
    let (micros, rest) = (time / 1000, time % 1000);
    out.extend_from_slice(
        format!(",\"ph\":\"{phase}\",\"ts\":{micros}.{rest:03},\"pid\":{pid},\"tid\":{pid}").as_bytes(),
    );
}
