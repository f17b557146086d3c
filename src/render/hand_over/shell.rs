//! Scripts that define events, record them with perf or trace-cmd, and remove them again.
//!
//! The definitions are written to tracefs: `perf probe --add` refuses `_text+3543965` ("Offset 3543965 is bigger than the size of
//! _text", 6.1.192), takes the symbol of a copy for whichever function has the name, and writes raw addresses without `$retval`.
//! trace-cmd (3.1.6) defines no kprobes. Events in tracefs are events to both.
use super::super::{kprobe_events, lossy, printable_bytes, tracepoint};
use crate::query::index::user_object;
use crate::query::resolve::placement::Placement;
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::spec::Filter;
use crate::query::value::Role;
use probeidx_format::View;
use std::io::{self, Write};

/// A program that records events of tracefs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// `perf record`
    Perf,
    /// `trace-cmd record`
    TraceCmd,
}

impl Recorder {
    fn command(self) -> &'static str {
        match self {
            Self::Perf => "perf record -a",
            Self::TraceCmd => "trace-cmd record",
        }
    }

    fn shows(self) -> &'static str {
        match self {
            Self::Perf => "perf script",
            Self::TraceCmd => "trace-cmd report",
        }
    }
}

/// Collects definitions.
pub struct Writer {
    recorder: Recorder,
    subject: String,
    /// Of the kernel; `None` for a program or shared library.
    release: Option<String>,
    definitions: kprobe_events::Writer,
    /// For `kprobe_events`, or `uprobe_events`.
    probes: Vec<u8>,
    /// For `dynamic_events`.
    dynamic: Vec<u8>,
    /// The events of `dynamic`: `probeidx/sched_switch`.
    dynamic_events: Vec<String>,
    /// The kernel's own events: `sched/sched_switch`.
    own_events: Vec<String>,
    /// What is said of them.
    remarks: Vec<u8>,
}

impl Writer {
    pub fn new(recorder: Recorder, view: &View<'_>) -> io::Result<Self> {
        let release = user_object::path(view).is_none().then(|| lossy(view.release()));
        Ok(Self {
            recorder,
            subject: kprobe_events::subject(view),
            release,
            // The subject is in the script's first lines.
            definitions: kprobe_events::Writer::new(view, &mut io::sink())?,
            probes: vec![],
            dynamic: vec![],
            dynamic_events: vec![],
            own_events: vec![],
            remarks: vec![],
        })
    }

    pub fn is_empty(&self) -> bool {
        self.events().next().is_none()
    }

    pub fn placement(&mut self, p: &Placement<'_>, filter: Filter) -> io::Result<()> {
        self.definitions.placement(p, filter, &mut self.probes)
    }

    /// The event that the kernel has records all its fields; an argument that is none of them needs a definition.
    pub fn tracepoint(&mut self, traced: &TracepointValues<'_>) -> io::Result<()> {
        let t = &traced.tracepoint;
        let is_own = t.has_event() && !traced.values.iter().any(|v| v.is_asked && v.role != Role::Field);
        let name = format!("{}/{}", printable_bytes(t.system()), printable_bytes(t.name()));
        if is_own {
            writeln!(self.remarks, "# {name}: the kernel's own event, with all its fields")?;
            if !self.own_events.contains(&name) {
                self.own_events.push(name);
            }
            return Ok(());
        }
        if tracepoint::definition(traced, &mut self.dynamic)?
            && let Ok(definition) = &traced.definition
        {
            let event = definition.split_once(':').and_then(|(_, rest)| rest.split(' ').next());
            self.dynamic_events.extend(event.map(str::to_owned));
        }
        Ok(())
    }

    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_empty() {
            writeln!(out, "# {}", self.subject)?;
            return [&self.remarks, &self.dynamic, &self.probes]
                .into_iter()
                .try_for_each(|b| out.write_all(b));
        }
        let (command, shows) = (self.recorder.command(), self.recorder.shows());
        writeln!(out, "#!/bin/sh\n# {}", self.subject)?;
        writeln!(
            out,
            "# As root: sh FILE [COMMAND]...; without a COMMAND it records until Ctrl-C. To see it: {shows}"
        )?;
        out.write_all(&self.remarks)?;
        if let Some(release) = &self.release {
            let quoted = quoted(release);
            writeln!(
                out,
                "if [ \"$(uname -r)\" != {quoted} ]; then\n\
                 \techo \"$0: made for kernel \"{quoted}\", and this is $(uname -r)\" >&2\n\
                 \texit 1\n\
                 fi"
            )?;
        }
        self.define(out)?;
        write!(out, "{command}")?;
        self.events().try_for_each(|event| write!(out, " \\\n\t-e {}", quoted(&event.replace('/', ":"))))?;
        writeln!(out, " \\\n\t\"$@\"")
    }

    /// Defines the events, and removes them when the script ends.
    fn define(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = if self.release.is_some() { "kprobe_events" } else { "uprobe_events" };
        let files = [
            (file, &self.definitions.events, &self.probes),
            ("dynamic_events", &self.dynamic_events, &self.dynamic),
        ];
        if files.iter().all(|(_, events, _)| events.is_empty()) {
            return [&self.probes, &self.dynamic].into_iter().try_for_each(|remarks| out.write_all(remarks));
        }
        writeln!(
            out,
            "tracing=/sys/kernel/tracing\n\
             [ -e \"$tracing/README\" ] || tracing=/sys/kernel/debug/tracing"
        )?;
        let all = || files.iter().flat_map(|(_, events, _)| *events);
        let list: Vec<String> = all().map(|event| quoted(event)).collect();
        writeln!(
            out,
            "for event in {}; do\n\
             \tif [ -e \"$tracing/events/$event\" ]; then\n\
             \t\techo \"$0: there is an event $event already\" >&2\n\
             \t\texit 1\n\
             \tfi\n\
             done",
            list.join(" ")
        )?;
        writeln!(out, "remove() {{")?;
        for (file, events, _) in files {
            for event in events {
                let line = quoted(&format!("-:{event}"));
                writeln!(out, "\techo {line} 2>/dev/null >>\"$tracing/{file}\"")?;
            }
        }
        writeln!(out, "}}\ntrap remove EXIT\ntrap 'exit 130' INT\ntrap 'exit 143' HUP TERM")?;
        // The kernel takes the end of a write for that of a line (`trace_parse_run_command`, 6.1): one write a line.
        writeln!(
            out,
            "define() {{\n\
             \twhile IFS= read -r line; do\n\
             \t\tcase $line in '#'*) continue ;; esac\n\
             \t\tprintf '%s\\n' \"$line\" >>\"$tracing/$1\" || {{ echo \"$0: not taken: $line\" >&2; exit 1; }}\n\
             \tdone\n\
             }}"
        )?;
        for (file, events, lines) in files {
            match events.is_empty() {
                true => out.write_all(lines)?,
                false => {
                    writeln!(out, "define {file} <<'END'")?;
                    out.write_all(lines)?;
                    writeln!(out, "END")?;
                }
            }
        }
        Ok(())
    }

    fn events(&self) -> impl Iterator<Item = &String> {
        self.own_events.iter().chain(&self.dynamic_events).chain(&self.definitions.events)
    }
}

/// A word of the shell that means itself.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
