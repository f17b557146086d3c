//! Formats reports: tables of shares and of changes, or JSON Lines. `docs/fleet-report.md` documents the fields.
use super::{SCHEMA, json_of, printable};
use crate::query::history::Families;
use crate::query::report::{Between, Changes, Kind, SUFFIXES, Shares, Step};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// What was counted.
pub struct Report<'r> {
    /// The kernels.
    pub families: &'r Families<'r>,
    /// Whether modules were counted, too.
    pub modules: bool,
    /// Of each kernel, in their order.
    pub shares: &'r [Shares],
    /// Of each kind at each step, updates first.
    pub changes: &'r [(Step, Kind, Changes)],
}

impl Report<'_> {
    fn objects(&self) -> &'static str {
        if self.modules { "vmlinux and modules" } else { "vmlinux" }
    }
}

/// Where the functions of a kernel are inlined, and whether there are several of a name.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Shares"))]
pub struct SharesLine<'a> {
    /// `shares`.
    kind: &'static str,
    /// The release.
    kernel: &'a str,
    /// The build id of its vmlinux.
    build_id: Option<&'a str>,
    /// As `uname -m` prints it.
    architecture: &'a str,
    /// Who built it.
    distribution: &'a str,
    /// The upstream line.
    line: String,
    /// What is behind version and build in the release.
    flavour: &'a str,
    /// What was counted: `vmlinux` or `all`.
    objects: &'static str,
    /// The names of functions that have code.
    functions: usize,
    /// With code of their own only.
    not_inlined: usize,
    /// Without code of their own.
    fully_inlined: usize,
    /// With both.
    selectively_inlined: usize,
    /// With a symbol that has a suffix.
    transformed: usize,
    /// Static, one declaration, in several units.
    duplicated: usize,
    /// One declaration, several functions.
    several_entries: usize,
    /// Several declarations; external ones count as one.
    collided: usize,
    /// Their symbols.
    symbols: usize,
    /// How many of these have each suffix; `others`: several, or another one.
    suffixes: BTreeMap<&'static str, usize>,
    /// The version of the JSON answers.
    schema: u32,
}

/// What changed from a kernel to the next.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Changes"))]
pub struct ChangesLine<'a> {
    /// `changes`.
    kind: &'static str,
    /// `kernels` of a line, or `lines`.
    between: &'static str,
    /// The release of the first kernel.
    before: &'a str,
    /// The release of the second kernel.
    after: &'a str,
    /// The build id of the first one's vmlinux.
    before_build_id: Option<&'a str>,
    /// The build id of the second one's vmlinux.
    after_build_id: Option<&'a str>,
    /// What was counted: `vmlinux` or `all`.
    objects: &'static str,
    /// `function`, `struct`, `union`, `enum` or `tracepoint`.
    of: &'static str,
    /// The number that the first kernel has.
    there_before: usize,
    /// The number that the second kernel has.
    there_after: usize,
    /// The number that only the second one has.
    added: usize,
    /// The number that only the first one has.
    removed: usize,
    /// The number that both have and that differ.
    changed: usize,
    /// How they differ: one may do so in several ways.
    how: BTreeMap<String, usize>,
    /// The version of the JSON answers.
    schema: u32,
}

/// Writes a line for each kernel, and one for each kind and step.
pub fn json(report: &Report<'_>, out: &mut dyn Write) -> Result<()> {
    let objects = if report.modules { "all" } else { "vmlinux" };
    for (kernel, shares) in report.families.kernels().iter().zip(report.shares) {
        let release = kernel.release();
        let line = SharesLine {
            kind: "shares",
            kernel: &kernel.id.release,
            build_id: kernel.id.build_id.as_deref(),
            architecture: kernel.id.architecture,
            distribution: kernel.distribution,
            line: release.line().to_string(),
            flavour: release.flavour,
            objects,
            functions: shares.functions,
            not_inlined: shares.not_inlined,
            fully_inlined: shares.fully_inlined,
            selectively_inlined: shares.selectively_inlined,
            transformed: shares.transformed,
            duplicated: shares.duplicated,
            several_entries: shares.several_entries,
            collided: shares.collided,
            symbols: shares.symbols,
            suffixes: SUFFIXES.into_iter().chain(["others"]).zip(shares.suffixes).collect(),
            schema: SCHEMA,
        };
        writeln!(out, "{}", json_of(&line))?;
    }
    for (step, kind, changes) in report.changes {
        let [before, after] = [step.before, step.after].map(|at| &report.families.kernels()[at as usize].id);
        let line = ChangesLine {
            kind: "changes",
            between: step.between.name(),
            before: &before.release,
            after: &after.release,
            before_build_id: before.build_id.as_deref(),
            after_build_id: after.build_id.as_deref(),
            objects,
            of: kind.name(),
            there_before: changes.before,
            there_after: changes.after,
            added: changes.added,
            removed: changes.removed,
            changed: changes.changed,
            how: changes.how.iter().map(|(how, count)| (how.to_string(), *count)).collect(),
            schema: SCHEMA,
        };
        writeln!(out, "{}", json_of(&line))?;
    }
    Ok(())
}

/// Writes the tables. In full, a changed kind has a line for each way in which its things differ.
pub fn text(report: &Report<'_>, in_full: bool, out: &mut dyn Write) -> Result<()> {
    let kernel = |at: u32| printable(report.families.name(at)).into_owned();
    let mut rows = vec![
        ["", "functions", "not inlined", "fully", "selectively", "transformed", "duplicated", "collided"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (at, shares) in (0..).zip(report.shares) {
        let of = |count| part(count, shares.functions);
        rows.push(vec![
            kernel(at),
            shares.functions.to_string(),
            of(shares.not_inlined),
            of(shares.fully_inlined),
            of(shares.selectively_inlined),
            of(shares.transformed),
            of(shares.duplicated),
            of(shares.collided),
        ]);
    }
    writeln!(
        out,
        "Functions of {}: where they are inlined, and whether there are several",
        report.objects()
    )?;
    table(&rows, 1, out)?;
    for (between, heading) in
        [(Between::Kernels, "From kernel to kernel of a line"), (Between::Lines, "From line to line")]
    {
        let mut rows =
            vec![["", "", "there were", "added", "removed", "changed"].map(str::to_owned).to_vec()];
        let mut last = None;
        for (step, kind, changes) in report.changes.iter().filter(|(step, ..)| step.between == between) {
            let of = |count| part(count, changes.before);
            let is_first = last.replace(step) != Some(step);
            rows.push(vec![
                if is_first {
                    format!("{} .. {}", kernel(step.before), kernel(step.after))
                } else {
                    String::new()
                },
                kind.name().to_owned(),
                changes.before.to_string(),
                of(changes.added),
                of(changes.removed),
                of(changes.changed),
            ]);
            for (how, count) in changes.how.iter().filter(|_| in_full) {
                let of = part(*count, changes.changed);
                rows.push(vec![
                    String::new(),
                    format!("  {how}"),
                    String::new(),
                    String::new(),
                    String::new(),
                    of,
                ]);
            }
        }
        if rows.len() > 1 {
            writeln!(out, "\n{heading}")?;
            table(&rows, 2, out)?;
        }
    }
    Ok(())
}

/// A count, and its share in all.
fn part(count: usize, all: usize) -> String {
    match all {
        0 => format!("{count}      -"),
        _ => format!("{count} {:5.1}%", count as f64 * 100.0 / all as f64),
    }
}

/// Writes rows whose first columns are text, and whose others are numbers.
fn table(rows: &[Vec<String>], texts: usize, out: &mut dyn Write) -> Result<()> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line += "  ";
            line += &match column < texts {
                true => format!("{cell:width$}"),
                false => format!("{cell:>width$}"),
            };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
