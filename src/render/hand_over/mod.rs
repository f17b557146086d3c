//! Answers in the words of other tools: text that they take as it is, for all places that they can reach. A comment says which
//! places they cannot, and why.
mod bpftrace;
mod c;
mod fetch;
mod shell;

use super::{kprobe_events, tracepoint, words};
use crate::query::resolve::placement::Placement;
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::spec::Filter;
use crate::query::verdict::Verdict;
use probeidx_format::View;
pub use shell::Recorder;
use std::io::{self, Write};

/// Writes what a tool takes.
pub enum Writer {
    /// Definitions for tracefs.
    KprobeEvents(kprobe_events::Writer),
    /// A script for the shell that records.
    Shell(Box<shell::Writer>),
    /// A program for bpftrace.
    Bpftrace(bpftrace::Writer),
    /// Tables for programs in C.
    C(Box<c::Writer>),
}

/// The tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Tracefs itself.
    KprobeEvents,
    /// A tool that records events of tracefs.
    Recorder(Recorder),
    /// bpftrace.
    Bpftrace,
    /// Programs in C: libbpf, kernel modules.
    C,
}

impl Tool {
    /// Whether the text is one program, so that it is about one kernel.
    pub fn is_program(self) -> bool {
        self != Self::KprobeEvents
    }
}

impl Writer {
    /// Writes the first lines.
    pub fn new(tool: Tool, view: &View<'_>, out: &mut dyn Write) -> io::Result<Self> {
        Ok(match tool {
            Tool::KprobeEvents => Self::KprobeEvents(kprobe_events::Writer::new(view, out)?),
            Tool::Recorder(recorder) => Self::Shell(Box::new(shell::Writer::new(recorder, view)?)),
            Tool::Bpftrace => Self::Bpftrace(bpftrace::Writer::new(view)),
            Tool::C => Self::C(Box::new(c::Writer::new(view))),
        })
    }

    /// Writes a placement; those of one function are consecutive.
    pub fn placement(&mut self, p: &Placement<'_>, filter: Filter, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::KprobeEvents(writer) => writer.placement(p, filter, out),
            Self::Shell(writer) => writer.placement(p, filter),
            Self::Bpftrace(writer) => writer.placement(p, filter),
            Self::C(writer) => writer.placement(p, filter),
        }
    }

    /// Writes a tracepoint.
    pub fn tracepoint(&mut self, traced: &TracepointValues<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::KprobeEvents(writer) => {
                writer.defined += usize::from(tracepoint::definition(traced, out)?);
                Ok(())
            }
            Self::Shell(writer) => writer.tracepoint(traced),
            Self::Bpftrace(writer) => writer.tracepoint(traced),
            Self::C(writer) => writer.tracepoint(traced),
        }
    }

    /// Writes the rest.
    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::KprobeEvents(_) => Ok(()),
            Self::Shell(writer) => writer.finish(out),
            Self::Bpftrace(writer) => writer.finish(out),
            Self::C(writer) => writer.finish(out),
        }
    }

    /// Why the tool has nothing to do; `None` if it has.
    pub fn nothing(&self) -> Option<&'static str> {
        match self {
            Self::KprobeEvents(writer) => (writer.defined == 0)
                .then_some("kprobe_events take none of the places; see: probeidx resolve"),
            Self::Shell(writer) => {
                writer.is_empty().then_some("kprobe_events take none of the places; see: probeidx resolve")
            }
            Self::Bpftrace(writer) => {
                (writer.probes == 0).then_some("bpftrace reaches none of the places; see: probeidx resolve")
            }
            Self::C(writer) => {
                writer.is_empty().then_some("there is no place that C code can probe; see: probeidx resolve")
            }
        }
    }
}

/// Why a place is not to be probed: a mechanism refuses it, or another place stands for it.
fn left_out(p: &Placement<'_>, verdict: Verdict) -> Option<String> {
    if let Some(reason) = verdict.reason() {
        let instead = p.instead.as_ref().map_or(String::new(), |i| format!("; {}", words::instead(i)));
        return Some(format!("{}{instead}", reason.name()));
    }
    if p.source.is_some_and(|s| !s.is_best) {
        return Some("another address of the line is better".to_owned());
    }
    p.is_nested.then(|| "part of the copy that holds it".to_owned())
}

/// Text between double quotes in C and in bpftrace, both of which know these escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
