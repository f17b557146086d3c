//! Formats the results of checks: a table of files, programs and kernels with the findings below it (`text`), JSON Lines
//! (`json`), SARIF (`sarif`) and annotations for GitHub (`github`).
mod github;
pub mod json;
mod sarif;

pub use github::github;
pub use json::{json, values};
pub use sarif::sarif;

use super::history::{Shown, kernels};
use super::printable;
use crate::query::check::grid::{Grid, Row, Shared};
use crate::query::check::outcome::{Finding, Severity, State};
use crate::query::history::{Families, KernelSet};
use std::collections::HashMap;
use std::io::{self, Write};

/// The most kernels that have a column each; of more, those with the same states share one.
const MOST_COLUMNS: usize = 6;

/// A line of the table: the first cell, and a word for each kernel.
struct Line {
    name: String,
    cells: Vec<&'static str>,
}

/// Writes the table, and below it each finding once. Of the errors, all but the first are written: the caller has that.
pub fn text(grid: &Grid, shown: Shown, out: &mut dyn Write) -> io::Result<()> {
    let families = Families::new(&grid.kernels);
    let lines: Vec<Line> = grid.files.iter().flat_map(table).collect();
    write_table(&lines, &families, shown, out)?;
    let errors = || grid.files.iter().flat_map(|row| &row.outcomes).filter_map(|o| o.as_ref().err());
    let first = errors().next().map(ToString::to_string);
    for row in &grid.files {
        let mut shared = row.findings();
        shared.retain(|shared| !shared.finding.guarded || shown.in_full);
        for (shared, count) in if shown.in_full { each(&shared) } else { noted_once(&shared) } {
            finding(&row.file, shared, count, &families, shown, out)?;
        }
        for (at, error) in row.outcomes.iter().enumerate().filter_map(|(at, o)| Some((at, o.as_ref().err()?)))
        {
            if first != Some(error.to_string()) {
                writeln!(out, "{}: {}", printable(families.name(at as u32)), printable(&error.to_string()))?;
            }
        }
    }
    Ok(())
}

/// The lines of a file: its worst states, then the programs that do not work everywhere, then how many of the others work
/// or are not indexed.
fn table(row: &Row) -> Vec<Line> {
    let cells =
        row.outcomes.iter().map(|outcome| outcome.as_ref().map_or("unreadable", |o| o.state().name()));
    let file = printable(&row.file).into_owned();
    let mut lines = vec![Line { name: file, cells: cells.collect() }];
    let word = |state: &Option<State>| state.map_or("-", State::name);
    let cells = |states: &[Option<State>]| states.iter().map(word).collect::<Vec<_>>();
    let programs = row.programs();
    if let [only] = &programs[..] {
        lines[0].name = format!("{} {}", lines[0].name, printable(only.name));
        lines[0].cells = cells(&only.states);
        return lines;
    }
    let is_fine = |states: &[Option<State>]| states.iter().flatten().all(|state| *state <= State::Unindexed);
    let mut others: Vec<(Vec<&'static str>, Vec<&str>)> = vec![];
    for program in &programs {
        let cells = cells(&program.states);
        if !is_fine(&program.states) {
            lines.push(Line { name: format!("  {}", printable(program.name)), cells });
            continue;
        }
        match others.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, names)) => names.push(program.name),
            None => others.push((cells, vec![program.name])),
        }
    }
    // All programs are in the line of the file.
    if lines.len() == 1 && others.len() <= 1 {
        return lines;
    }
    for (cells, names) in others {
        let name = match names[..] {
            [one] => format!("  {}", printable(one)),
            _ => format!("  {} others", names.len()),
        };
        lines.push(Line { name, cells });
    }
    lines
}

fn write_table(lines: &[Line], families: &Families<'_>, shown: Shown, out: &mut dyn Write) -> io::Result<()> {
    let columns = columns(lines, families, shown);
    let first = lines.iter().map(|line| line.name.chars().count()).chain([4]).max().unwrap_or(4);
    let cell = |line: &Line, set: &KernelSet| {
        set.iter().next().and_then(|at| line.cells.get(at as usize)).copied().unwrap_or_default()
    };
    let widths: Vec<usize> = columns
        .iter()
        .map(|(name, set)| {
            let cells = lines.iter().map(|line| cell(line, set).len());
            cells.chain([name.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let mut write = |name: &str, cells: Vec<&str>| {
        let cells: String =
            cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:width$}")).collect();
        writeln!(out, "{}", format!("{name:first$}{cells}").trim_end())
    };
    write("file", columns.iter().map(|(name, _)| &**name).collect())?;
    for line in lines {
        write(&line.name, columns.iter().map(|(_, set)| cell(line, set)).collect())?;
    }
    Ok(())
}

/// The columns: a kernel each or, if there are many, kernels on which everything is the same.
fn columns(lines: &[Line], families: &Families<'_>, shown: Shown) -> Vec<(String, KernelSet)> {
    let all = 0..families.kernels().len() as u32;
    if all.len() <= MOST_COLUMNS {
        let one = |at| (printable(families.name(at)).into_owned(), KernelSet::from_iter([at]));
        return all.map(one).collect();
    }
    let mut columns: Vec<(Vec<&str>, KernelSet)> = vec![];
    for at in all {
        let states: Vec<&str> = lines.iter().map(|line| line.cells[at as usize]).collect();
        match columns.iter_mut().find(|(known, _)| *known == states) {
            Some((_, set)) => set.insert(at),
            None => columns.push((states, KernelSet::from_iter([at]))),
        }
    }
    columns.into_iter().map(|(_, set)| (kernels(&set, families, shown), set)).collect()
}

/// Each finding, for one program.
fn each<'f, 'g>(all: &'f [Shared<'g>]) -> Vec<(&'f Shared<'g>, usize)> {
    all.iter().map(|shared| (shared, 1)).collect()
}

/// Of notes that say the same of many programs, the first, with their number.
fn noted_once<'f, 'g>(all: &'f [Shared<'g>]) -> Vec<(&'f Shared<'g>, usize)> {
    let mut kept: Vec<(&Shared<'g>, usize)> = vec![];
    let mut known = HashMap::new();
    for shared in all {
        let Finding { severity, state, reason, .. } = shared.finding;
        let is_of_point = shared.program.is_none_or(|program| program == shared.finding.source);
        if *severity != Severity::Note || !is_of_point {
            kept.push((shared, 1));
            continue;
        }
        let at = *known.entry((state, reason, &shared.kernels)).or_insert(kept.len());
        match kept.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => kept.push((shared, 1)),
        }
    }
    kept
}

/// `biolatency.bt:21:1: kprobe:blk_account_io_start: all copies are inlined (ENOENT)`, on which kernels, what instead.
fn finding(
    file: &str,
    shared: &Shared<'_>,
    count: usize,
    families: &Families<'_>,
    shown: Shown,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Shared { program, finding, kernels: set } = shared;
    let place = place(file, finding);
    let severity = match finding.severity {
        Severity::Error => "",
        Severity::Warning => "warning: ",
        Severity::Note => "note: ",
    };
    // The source may be that of the attach point itself.
    let within = program.filter(|program| !program.is_empty() && **program != finding.source);
    let within = within.map_or(String::new(), |program| format!("{}: ", printable(program)));
    let errno = finding.errno.map_or(String::new(), |errno| format!(" ({errno})"));
    let guarded = if finding.guarded { "; never reached" } else { "" };
    let (source, reason) = (printable(&finding.source), printable(&finding.reason));
    let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    writeln!(out, "{place}: {severity}{within}{source}{more}: {reason}{errno}{guarded}")?;
    if families.kernels().len() > 1 {
        writeln!(out, "  on {}", kernels(set, families, shown))?;
    }
    if !finding.instead.is_empty() {
        writeln!(out, "  instead: {}", printable(&finding.instead.join(", ")))?;
    }
    Ok(())
}

/// `file:line:column`, as far as it is known.
fn place(file: &str, finding: &Finding) -> String {
    let own = finding.path.as_ref().map(|path| path.display().to_string());
    let mut place = printable(own.as_deref().unwrap_or(file)).into_owned();
    for part in [finding.line, finding.column].into_iter().take_while(|part| *part > 0) {
        place.push_str(&format!(":{part}"));
    }
    place
}

/// What a finding says, for forms that have one text: the reason, on which kernels, what instead.
fn message(shared: &Shared<'_>, families: &Families<'_>) -> String {
    let Shared { program, finding, kernels: set } = shared;
    let within = program.filter(|program| !program.is_empty() && **program != finding.source);
    let within = within.map_or(String::new(), |program| format!("{program}: "));
    let mut text = format!("{within}{}: {}", finding.source, finding.reason);
    if let Some(errno) = finding.errno {
        text.push_str(&format!(" ({errno})"));
    }
    text.push_str(&format!("; on {}", kernels(set, families, Shown::default())));
    if !finding.instead.is_empty() {
        text.push_str(&format!("; instead: {}", finding.instead.join(", ")));
    }
    text
}
