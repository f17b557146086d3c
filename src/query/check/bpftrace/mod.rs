//! Judges bpftrace scripts: each attach point is a program, with what its handler reads there.
//!
//! | module | content |
//! | --- | --- |
//! | `points` | what the kernel does with an attach point, and what can be read there |
//! | `handler` | what a handler reads: arguments, members, types, symbols |
//! | `values` | types of values, and members of them |
mod handler;
mod points;
mod values;

use super::attach::Attacher;
use super::outcome::{FileOutcome, ProgramOutcome, Severity, State};
use crate::bpftrace::ast::{Kind, Missing, Point, Probe, Script};
use probeidx_format::View;
use values::Types;

/// Judges a script on the kernel of an index. `text` is that of the script. Cost: a few look-ups for each attach point, and
/// for each member that its handler reads.
pub fn judge(view: &View<'_>, script: &Script, text: &str) -> FileOutcome {
    let attacher = Attacher::new(view);
    let judged = Judged { view, attacher, types: Types::new(view, script), lines: text.lines().collect() };
    let programs = script.probes.iter().flat_map(|probe| judged.probe(probe, script.missing)).collect();
    FileOutcome { programs, findings: vec![] }
}

struct Judged<'a, 's> {
    view: &'a View<'a>,
    attacher: Attacher<'a>,
    types: Types<'a, 's>,
    lines: Vec<&'s str>,
}

impl Judged<'_, '_> {
    fn probe(&self, probe: &Probe, missing: Missing) -> Vec<ProgramOutcome> {
        let mut programs: Vec<ProgramOutcome> =
            probe.points.iter().map(|point| self.point(point, probe)).collect();
        // bpftrace goes on without those of a list that are not there (`missing_probes`), and without kprobes that the kernel
        // refuses.
        let works = programs.iter().find(|program| !program.state().is_failure());
        if let Some(works) = works.map(|program| program.name.clone())
            && missing != Missing::Error
        {
            let why = format!("bpftrace goes on without it, as {works} works");
            for (program, point) in programs.iter_mut().zip(&probe.points) {
                let goes_on = match point.kind {
                    Kind::Kprobe | Kind::Kretprobe => true,
                    Kind::Fentry | Kind::Fexit => is_missing(program.state()),
                    // Of a pattern it reads the events that there are, and refuses the script if there is none (0.17).
                    Kind::Tracepoint => {
                        program.state() == State::Absent
                            && !point.parts.iter().any(|part| points::has_wildcards(part))
                    }
                    _ => false,
                };
                if goes_on && is_refused(program) {
                    program.forgive(&why);
                }
            }
        }
        programs
    }

    fn point(&self, point: &Point, probe: &Probe) -> ProgramOutcome {
        let (mut findings, readable) = self.attach(point);
        for finding in &mut findings {
            (finding.line, finding.column) = (point.place.line, point.place.column);
            finding.source.clone_from(&point.text);
        }
        findings.extend(handler::read(self, probe, &readable));
        ProgramOutcome {
            name: point.text.clone(),
            line: point.place.line,
            column: point.place.column,
            findings,
            ..ProgramOutcome::default()
        }
    }

    /// The line of the script at a place, for findings.
    fn line(&self, line: u32) -> String {
        const LONGEST: usize = 160;
        let line = self.lines.get(line.saturating_sub(1) as usize).map_or("", |line| line.trim());
        line.chars().take(LONGEST).collect()
    }
}

/// Whether BTF does not have a function.
fn is_missing(state: State) -> bool {
    matches!(state, State::Absent | State::Renamed | State::Inlined)
}

/// Whether it is the kernel alone that refuses the program. A handler that is wrong ends it: bpftrace compiles all before it
/// attaches any.
fn is_refused(program: &ProgramOutcome) -> bool {
    let mut errors = program.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.all(|finding| finding.errno.is_some())
}
