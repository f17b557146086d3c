//! Formats the results of checking scripts: a table of scripts and kernels, the failures below it, and JSON Lines.
use std::io::{self, Write};

use serde_json::json;

use super::printable;
use crate::error::Error;
use crate::query::check::{Located, Point, Report, State, Verdict};

/// The result for one script on one kernel.
pub type Outcome = Result<Report, Error>;

/// One script on all kernels.
pub struct Row {
    /// The name as given.
    pub script: String,
    /// The outcomes, in the order of the kernels.
    pub outcomes: Vec<Outcome>,
}

/// Writes the table, the failures below it, then further notes. The first error is left to the caller.
pub fn text(kernels: &[String], rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let names = rows.iter().map(|row| printable(&row.script).chars().count()).chain([6]).max().unwrap_or(6);
    let widths: Vec<usize> = kernels
        .iter()
        .enumerate()
        .map(|(at, kernel)| {
            let cells = rows.iter().map(|row| row.outcomes.get(at).map_or(0, |o| cell(o).len()));
            cells.chain([kernel.len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |first: &str, cells: Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:width$}"));
        format!("{first:names$}{}", cells.collect::<String>()).trim_end().to_owned()
    };
    writeln!(out, "{}", line("script", kernels.to_vec()))?;
    for row in rows {
        writeln!(out, "{}", line(&printable(&row.script), row.outcomes.iter().map(cell).collect()))?;
    }
    let errors = || rows.iter().flat_map(|row| &row.outcomes).filter_map(|outcome| outcome.as_ref().err());
    let first = errors().next().map(ToString::to_string);
    for row in rows {
        for (at, outcome) in row.outcomes.iter().enumerate() {
            // Name the kernel if there are several.
            let kernel = if kernels.len() > 1 { format!("{}: ", kernels[at]) } else { String::new() };
            match outcome {
                Ok(report) => lines(report, &kernel, out)?,
                Err(error) if first == Some(error.to_string()) => {}
                Err(error) => writeln!(out, "{kernel}{}", printable(&error.to_string()))?,
            }
        }
    }
    Ok(())
}

fn cell(outcome: &Outcome) -> String {
    let Ok(report) = outcome else { return "unreadable".to_owned() };
    match report.verdict() {
        Verdict::Resolves => "ok".to_owned(),
        Verdict::Unindexed => "not indexed".to_owned(),
        Verdict::Fails => {
            let points = report.points.iter().filter(|p| p.state == State::Fails).count();
            format!("fails ({})", points + report.failures().count())
        }
    }
}

fn lines(report: &Report, kernel: &str, out: &mut dyn Write) -> io::Result<()> {
    for point in &report.points {
        let place = format!(
            "{kernel}{}:{}:{}",
            printable(&point.path.display().to_string()),
            point.place.line,
            point.place.column
        );
        let name = printable(&point.point);
        match point.state {
            State::Fails => writeln!(out, "{place}: {name}: {}{}", reasons(point), instead(&point.instead))?,
            State::Unindexed => writeln!(out, "{place}: note: {name}: it is not in the index")?,
            State::Resolves => {
                refused(point, &place, &name, out)?;
                undecided(point, &place, &name, out)?;
                inlined(point, &place, &name, out)?;
            }
            State::Nothing => writeln!(out, "{place}: note: {name}: {}, and may", reasons(point))?,
            State::Skipped => {}
        }
    }
    for finding in &report.findings {
        let Located { path, line, column, what, why, .. } = finding;
        let warning = if finding.trouble.breaks() { "" } else { "warning: " };
        let path = path.display().to_string();
        let place = printable(&path);
        let (what, instead) = (printable(what), instead(&finding.instead));
        writeln!(out, "{kernel}{place}:{line}:{column}: {warning}{what}: {}{instead}", printable(why))?;
    }
    Ok(())
}

/// Writes what the kernel refuses.
fn refused(point: &Point, place: &str, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let (refused, all) = (point.refused.iter().map(|(_, count)| count).sum::<u32>(), point.addresses);
    if refused == 0 {
        return Ok(());
    }
    let why: Vec<_> =
        point.refused.iter().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
    let why = why.join(", ");
    writeln!(out, "{place}: warning: {name}: the kernel refuses {refused} of {all} addresses: {why}")
}

/// Writes how many verdicts are undecided.
fn undecided(point: &Point, place: &str, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let (undecided, all, unknown) = (point.undecided, point.addresses, point.unknown);
    if undecided == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "{place}: note: {name}: undecided at {undecided} of {all} addresses, as not known: {unknown}"
    )
}

/// Writes what a probe on the symbol, as other tools place it, would miss; and what no probe can reach.
fn inlined(point: &Point, place: &str, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let (inlined, all) = (point.inlined, point.addresses);
    if inlined == 0 {
        return Ok(());
    }
    let more = match point.left_out {
        0 => String::new(),
        1 => "; 1 more is gone once the kernel runs, and left out".to_owned(),
        more => format!("; {more} more are gone once the kernel runs, and left out"),
    };
    writeln!(out, "{place}: note: {name}: {inlined} of {all} addresses are inlined copies{more}")
}

fn reasons(point: &Point) -> String {
    match point.why.is_empty() {
        true => "nothing matches".to_owned(),
        false => printable(&point.why.join("; ")).into_owned(),
    }
}

fn instead(instead: &[String]) -> String {
    match instead.is_empty() {
        true => String::new(),
        false => format!("; instead: {}", printable(&instead.join(", "))),
    }
}

/// Writes an object for each probe point and finding of a script, and one for the script.
pub fn json(kernels: &[String], rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    for row in rows {
        for (kernel, outcome) in kernels.iter().zip(&row.outcomes) {
            let script = &row.script;
            let verdict = match outcome {
                Ok(report) => {
                    for point in &report.points {
                        writeln!(out, "{}", point_json(script, kernel, point))?;
                    }
                    for finding in &report.findings {
                        writeln!(out, "{}", finding_json(script, kernel, finding))?;
                    }
                    report.verdict().name()
                }
                Err(error) => {
                    let finding = json!({"script": script, "kernel": kernel, "finding": error.kind().name(),
                        "why": error.to_string(), "breaks": true});
                    writeln!(out, "{finding}")?;
                    "unreadable"
                }
            };
            writeln!(out, "{}", json!({"script": script, "kernel": kernel, "verdict": verdict}))?;
        }
    }
    Ok(())
}

fn point_json(script: &str, kernel: &str, p: &Point) -> serde_json::Value {
    let refused: serde_json::Map<_, _> =
        p.refused.iter().map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect();
    json!({"script": script, "kernel": kernel, "file": p.path, "line": p.place.line, "column": p.place.column,
        "probe": p.point, "state": p.state.name(), "probes": p.probes, "addresses": p.addresses,
        "reachable": p.reachable, "inlined": p.inlined, "left_out": p.left_out,
        "refused": refused, "undecided": p.undecided, "because": p.unknown.causes().collect::<Vec<_>>(),
        "why": p.why, "instead": p.instead})
}

fn finding_json(script: &str, kernel: &str, f: &Located) -> serde_json::Value {
    json!({"script": script, "kernel": kernel, "file": f.path, "line": f.line, "column": f.column,
        "finding": f.trouble.name(), "what": f.what, "why": f.why, "instead": f.instead,
        "breaks": f.trouble.breaks()})
}
