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
        Some(Missing::GoesOn) => in_script(script, is_later, probes),
        None if version.is_some() && is_later => {}
        None => {
            // Of which version the script is may not be known.
            let until = match version {
                None => {
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
        if is_pattern(point) && program.state() == State::Absent && is_refused(program) {
            program.forgive(&why);
        }
    }
}

/// Up to 0.23, of a list: what is not there, and kprobes that the kernel refuses, if another one of the list works.
fn in_probe(points: &[Point], until: &str, programs: &mut [ProgramOutcome]) {
    let Some(works) = programs.iter().find(|program| !program.state().is_failure()) else { return };
    let why = format!("bpftrace goes on without it, as {} works{until}", works.name);
    for (program, point) in programs.iter_mut().zip(points) {
        if is_skipped(point, program) && is_refused(program) {
            program.forgive(&why);
        }
    }
}

/// Of a script that says so: what is not there, and what the kernel refuses when it is attached, if any other one works. What
/// the kernel does not load ends the script: all programs are loaded at once.
fn in_script(script: &Script, is_later: bool, probes: &mut [Vec<ProgramOutcome>]) {
    let works = probes.iter().flatten().find(|program| !program.state().is_failure());
    let Some(works) = works.map(|works| works.name.clone()) else { return };
    let why = format!("bpftrace goes on without it, as {works} works");
    for (probe, programs) in script.probes.iter().zip(probes) {
        for (program, point) in programs.iter_mut().zip(&probe.points) {
            let goes_on = match is_later {
                true => is_pruned(point, program),
                // 0.22 and 0.23 end where one that stands alone cannot be attached.
                false => {
                    let is_alone = probe.points.len() == 1 && !is_pattern(point);
                    !is_alone && is_skipped(point, program)
                }
            };
            if goes_on && is_refused(program) {
                program.forgive(&why);
            }
        }
    }
}

/// Whether a version up to 0.23 leaves it out, which asks the kernel for each.
fn is_skipped(point: &Point, program: &ProgramOutcome) -> bool {
    match point.kind {
        Kind::Kprobe | Kind::Kretprobe => true,
        Kind::Fentry | Kind::Fexit => is_missing(program.state()),
        // Of a pattern it reads the events that there are, and refuses the script if there is none (0.17).
        Kind::Tracepoint => program.state() == State::Absent && !is_pattern(point),
        _ => false,
    }
}

/// Whether a version from 0.24 on leaves it out, which looks for each before it compiles the script.
fn is_pruned(point: &Point, program: &ProgramOutcome) -> bool {
    match point.kind {
        // A module that is not loaded ends the script.
        Kind::Kprobe | Kind::Kretprobe => program.state() != State::Module,
        Kind::Fentry | Kind::Fexit => {
            is_missing(program.state()) || program.state() == State::NoSite || is_only_loaded(program)
        }
        Kind::Tracepoint | Kind::RawTracepoint => program.state() == State::Absent,
        _ => false,
    }
}

fn is_pattern(point: &Point) -> bool {
    point.parts.iter().any(|part| has_wildcards(part))
}

/// Whether BTF does not have a function.
fn is_missing(state: State) -> bool {
    matches!(state, State::Absent | State::Renamed | State::Inlined)
}

/// Whether a function is there, and its program is loaded, but not attached, or left out: without BTF, with more arguments than
/// trampolines take (6.1). For its prototype it is not loaded.
fn is_only_loaded(program: &ProgramOutcome) -> bool {
    let at_attaching = |errno| matches!(errno, Some("ESRCH" | "ENOTSUPP"));
    program.findings.iter().any(|found| found.state == State::Trampoline && at_attaching(found.errno))
}

/// Whether it is the kernel alone that refuses the program. A handler that is wrong ends it: bpftrace compiles all before it
/// attaches any.
fn is_refused(program: &ProgramOutcome) -> bool {
    let mut errors = program.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.all(|finding| finding.errno.is_some())
}
