//! What bpftrace forgives: attach points that the kernel does not have or refuses, where others work.
use super::points::has_wildcards;
use crate::bpftrace::Version;
use crate::bpftrace::ast::{Kind, Missing, Point, Script};
use crate::query::check::outcome::{ProgramOutcome, Severity, State};

/// Forgives the programs of a script without which bpftrace goes on: one list for each probe, in the order of the script.
pub(super) fn forgive(script: &Script, version: Option<Version>, probes: &mut [Vec<ProgramOutcome>]) {
    let is_later = version.is_none_or(|version| version >= Version::ALL_ATTACH);
    match script.missing {
        Some(Missing::Ends) => {}
        Some(Missing::GoesOn) if is_later => in_script(script, probes),
        None if version.is_some() && is_later => {}
        missing => {
            // Of which version the script is may not be known.
            let until = match missing {
                None if version.is_none() => {
                    format!("; from {} on it ends, unless missing_probes is warn", Version::ALL_ATTACH)
                }
                _ => String::new(),
            };
            for (probe, programs) in script.probes.iter().zip(probes.iter_mut()) {
                in_probe(&probe.points, &until, programs);
            }
        }
    }
    if is_later {
        let since =
            if version.is_none() { format!("from {} on ", Version::ALL_ATTACH) } else { String::new() };
        for (probe, programs) in script.probes.iter().zip(probes) {
            of_patterns(&probe.points, &since, programs);
        }
    }
}

/// From 0.24 on, whatever the script says: a pattern that matches nothing, if another one of the list is left.
fn of_patterns(points: &[Point], since: &str, programs: &mut [ProgramOutcome]) {
    let Some(works) = programs.iter().find(|program| !program.state().is_failure()) else { return };
    let why = format!("{since}bpftrace goes on without it, as {} works", works.name);
    for (program, point) in programs.iter_mut().zip(points) {
        let is_pattern = point.parts.iter().any(|part| has_wildcards(part));
        if is_pattern && program.state() == State::Absent && is_refused(program) {
            program.forgive(&why);
        }
    }
}

/// Up to 0.23, of a list: what is not there, and kprobes that the kernel refuses, if another one of the list works.
fn in_probe(points: &[Point], until: &str, programs: &mut [ProgramOutcome]) {
    let Some(works) = programs.iter().find(|program| !program.state().is_failure()) else { return };
    let why = format!("bpftrace goes on without it, as {} works{until}", works.name);
    for (program, point) in programs.iter_mut().zip(points) {
        let goes_on = match point.kind {
            Kind::Kprobe | Kind::Kretprobe => true,
            Kind::Fentry | Kind::Fexit => is_missing(program.state()),
            // Of a pattern it reads the events that there are, and refuses the script if there is none (0.17).
            Kind::Tracepoint => {
                program.state() == State::Absent && !point.parts.iter().any(|part| has_wildcards(part))
            }
            _ => false,
        };
        if goes_on && is_refused(program) {
            program.forgive(&why);
        }
    }
}

/// From 0.24 on, of a script that says so: what is not there, and what the kernel refuses when it is attached, if any other
/// one works. What the kernel does not load ends the script: all programs are loaded at once.
fn in_script(script: &Script, probes: &mut [Vec<ProgramOutcome>]) {
    let works = probes.iter().flatten().find(|program| !program.state().is_failure());
    let Some(why) = works.map(|works| format!("bpftrace goes on without it, as {} works", works.name)) else {
        return;
    };
    for (probe, programs) in script.probes.iter().zip(probes) {
        for (program, point) in programs.iter_mut().zip(&probe.points) {
            let goes_on = match point.kind {
                // A module that is not loaded ends the script.
                Kind::Kprobe | Kind::Kretprobe => program.state() != State::Module,
                Kind::Fentry | Kind::Fexit => {
                    is_missing(program.state()) || program.state() == State::NoSite || is_without_btf(program)
                }
                Kind::Tracepoint | Kind::RawTracepoint => program.state() == State::Absent,
                _ => false,
            };
            if goes_on && is_refused(program) {
                program.forgive(&why);
            }
        }
    }
}

/// Whether BTF does not have a function.
fn is_missing(state: State) -> bool {
    matches!(state, State::Absent | State::Renamed | State::Inlined)
}

/// Whether a function is there, and not in BTF: its program is not loaded.
fn is_without_btf(program: &ProgramOutcome) -> bool {
    program.findings.iter().any(|found| found.state == State::Trampoline && found.errno == Some("ESRCH"))
}

/// Whether it is the kernel alone that refuses the program. A handler that is wrong ends it: bpftrace compiles all before it
/// attaches any.
fn is_refused(program: &ProgramOutcome) -> bool {
    let mut errors = program.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.all(|finding| finding.errno.is_some())
}
