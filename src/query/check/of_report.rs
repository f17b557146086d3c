//! The answer for SystemTap scripts and lists of probe points, from what is found in them.
use super::outcome::{FileOutcome, Finding, Placed, ProgramOutcome, Severity, State};
use super::{Located, Point, Report, State as PointState};
use crate::tapset::handler::Trouble;
use std::path::Path;

impl Report {
    /// The answer for the file that was checked. Whatever breaks a handler breaks the whole script: SystemTap compiles it
    /// as one.
    ///
    /// SystemTap leaves out the addresses that the kernel refuses, with a warning, and runs. A line of a list is attached by
    /// itself: if all of its addresses are refused, it fails.
    pub fn outcome(&self, file: &Path, is_list: bool) -> FileOutcome {
        FileOutcome {
            programs: self.points.iter().map(|point| program(point, file, is_list)).collect(),
            findings: self.findings.iter().map(|finding| of_handler(finding, file)).collect(),
        }
    }
}

fn program(point: &Point, file: &Path, is_list: bool) -> ProgramOutcome {
    let mut findings = findings(point, is_list);
    for finding in &mut findings {
        (finding.line, finding.column) = (point.place.line, point.place.column);
        finding.path = (point.path != file).then(|| point.path.clone());
    }
    ProgramOutcome {
        forgiven: None,
        name: point.point.clone(),
        line: point.place.line,
        column: point.place.column,
        findings,
        placed: Some(Placed {
            probes: point.probes,
            addresses: point.addresses,
            accepted: point.reachable,
            inlined: point.inlined,
            left_out: point.left_out,
            refused: point.refused.clone(),
            undecided: point.undecided,
            unknown: point.unknown,
        }),
    }
}

fn findings(point: &Point, is_list: bool) -> Vec<Finding> {
    let of = |state, reason: String| Finding::new(state, &point.point, reason);
    match point.state {
        PointState::Skipped => vec![],
        PointState::Fails if is_list && point.inlined > 0 => vec![of(State::Inlined, reasons(point))],
        PointState::Fails => vec![of(State::Absent, reasons(point)).instead(point.instead.iter().cloned())],
        PointState::Unindexed => vec![of(State::Unindexed, "it is not indexed".to_owned())],
        PointState::Nothing => {
            let reason = format!("{}, and may", reasons(point));
            vec![of(State::Absent, reason).severity(Severity::Note)]
        }
        PointState::Resolves => {
            let found = [refused(point, is_list), undecided(point), inlined(point)];
            let found = found.into_iter().flatten();
            found.map(|(state, severity, reason)| of(state, reason).severity(severity)).collect()
        }
    }
}

type Told = (State, Severity, String);

/// What the kernel refuses.
fn refused(point: &Point, is_list: bool) -> Option<Told> {
    let (refused, all) = (point.refused.iter().map(|(_, count)| count).sum::<u32>(), point.addresses);
    let why: Vec<_> =
        point.refused.iter().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
    let reason = || format!("the kernel refuses {refused} of {all} addresses: {}", why.join(", "));
    let (state, severity) = match is_list && refused as usize == all {
        true => (State::NoSite, Severity::Error),
        false => (State::Partial, Severity::Warning),
    };
    (refused > 0).then(|| (state, severity, reason()))
}

/// What is undecided: if nothing else is left, so is the point.
fn undecided(point: &Point) -> Option<Told> {
    let (undecided, all, unknown) = (point.undecided, point.addresses, point.unknown);
    let severity = if point.reachable == 0 { Severity::Error } else { Severity::Note };
    let reason = || format!("undecided at {undecided} of {all} addresses, as not known: {unknown}");
    (undecided > 0).then(|| (State::Undecided, severity, reason()))
}

/// What a probe on the symbol, as other tools place it, would miss; and what no probe can reach.
fn inlined(point: &Point) -> Option<Told> {
    let (inlined, all) = (point.inlined, point.addresses);
    let more = match point.left_out {
        0 => String::new(),
        1 => "; 1 more is gone once the kernel runs, and left out".to_owned(),
        more => format!("; {more} more are gone once the kernel runs, and left out"),
    };
    let reason = || format!("{inlined} of {all} addresses are inlined copies{more}");
    (inlined > 0).then(|| (State::Inlined, Severity::Note, reason()))
}

fn reasons(point: &Point) -> String {
    match point.why.is_empty() {
        true => "nothing matches".to_owned(),
        false => point.why.join("; "),
    }
}

fn of_handler(found: &Located, file: &Path) -> Finding {
    let state = match found.trouble {
        Trouble::Variable if found.what.contains("->") => State::Field,
        Trouble::Variable => State::Argument,
        Trouble::Assumed => State::Undecided,
        _ => State::Loader,
    };
    let severity = match found.trouble {
        Trouble::Assumed => Severity::Note,
        other if other.breaks() => Severity::Error,
        _ => Severity::Warning,
    };
    let path = (found.path != file).then(|| found.path.clone());
    let finding = Finding::new(state, &found.what, &found.why).severity(severity);
    let finding = finding.at(found.line, found.column).instead(found.instead.iter().cloned());
    Finding { path, kind: Some(found.trouble.name()), ..finding }
}
