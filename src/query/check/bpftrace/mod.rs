//! Judges bpftrace scripts: each attach point is a program, with what its handler reads there.
//!
//! | module | content |
//! | --- | --- |
//! | `forgiven` | without which attach points bpftrace goes on |
//! | `points` | what the kernel does with an attach point, and what can be read there |
//! | `handler` | what a handler reads: arguments, members, types, symbols |
//! | `registers` | names of registers |
//! | `values` | types of values, and members of them |
mod forgiven;
mod handler;
mod points;
mod registers;
mod values;

use super::attach::Attacher;
use super::outcome::{FileOutcome, Finding, ProgramOutcome, Severity, State};
use crate::bpftrace::Version;
use crate::bpftrace::ast::{Point, Probe, Script};
use probeidx_format::View;
use values::Types;

/// Judges a script on the kernel of an index, as this version of bpftrace would run it; without one, an attach point works that
/// works with some, and findings say where they differ. `text` is that of the script. Cost: a few look-ups for each attach point,
/// and for each member that its handler reads.
pub fn judge(view: &View<'_>, script: &Script, text: &str, version: Option<Version>) -> FileOutcome {
    let attacher = Attacher::new(view);
    let judged =
        Judged { view, attacher, types: Types::new(view, script), lines: text.lines().collect(), version };
    let of_probe = |probe: &Probe| probe.points.iter().map(|point| judged.point(point, probe)).collect();
    let mut probes: Vec<Vec<ProgramOutcome>> = script.probes.iter().map(of_probe).collect();
    forgiven::forgive(script, version, &mut probes);
    FileOutcome { programs: probes.into_iter().flatten().collect(), findings: vec![] }
}

struct Judged<'a, 's> {
    view: &'a View<'a>,
    attacher: Attacher<'a>,
    types: Types<'a, 's>,
    lines: Vec<&'s str>,
    version: Option<Version>,
}

impl Judged<'_, '_> {
    fn point(&self, point: &Point, probe: &Probe) -> ProgramOutcome {
        let (mut findings, readable) = self.attach(point, probe);
        for finding in &mut findings {
            (finding.line, finding.column) = (point.place.line, point.place.column);
            finding.source.clone_from(&point.text);
        }
        findings.extend(handler::read(self, point, probe, &readable));
        ProgramOutcome {
            name: point.text.clone(),
            line: point.place.line,
            column: point.place.column,
            findings,
            ..ProgramOutcome::default()
        }
    }

    /// What bpftrace refuses from a version on: an error if such a one runs the script, a warning if that is not known.
    fn refused_from(&self, first: Version, what: &str, reason: &str) -> Option<Finding> {
        let severity = match self.version {
            Some(version) if version < first => return None,
            Some(_) => Severity::Error,
            None => Severity::Warning,
        };
        let reason = format!("bpftrace refuses it from {first} on: {reason}");
        Some(Finding::new(State::Loader, what, reason).severity(severity))
    }

    /// The line of the script at a place, for findings.
    fn line(&self, line: u32) -> String {
        const LONGEST: usize = 160;
        let line = self.lines.get(line.saturating_sub(1) as usize).map_or("", |line| line.trim());
        line.chars().take(LONGEST).collect()
    }
}
