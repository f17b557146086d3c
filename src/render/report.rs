//! Formats reports: tables of shares and of changes, or JSON Lines. `docs/fleet-report.md` documents the fields.
use super::{SCHEMA, printable};
use crate::query::history::Families;
use crate::query::report::{Between, Changes, Kind, SUFFIXES, Shares, Step};
use serde_json::{Map, Value, json};
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

/// Writes a line for each kernel, and one for each kind and step.
pub fn json(report: &Report<'_>, out: &mut dyn Write) -> Result<()> {
    let objects = if report.modules { "all" } else { "vmlinux" };
    for (kernel, shares) in report.families.kernels().iter().zip(report.shares) {
        let Shares { functions, not_inlined, fully_inlined, selectively_inlined, .. } = shares;
        let Shares { transformed, duplicated, several_entries, collided, symbols, .. } = shares;
        let names = SUFFIXES.into_iter().chain(["others"]);
        let suffixes: Map<String, Value> =
            names.zip(shares.suffixes).map(|(name, count)| (name.to_owned(), count.into())).collect();
        let release = kernel.release();
        let line = json!({"kind": "shares", "kernel": kernel.id.release, "build_id": kernel.id.build_id,
            "architecture": kernel.id.architecture, "distribution": kernel.distribution, "line": release.line(),
            "flavour": release.flavour, "objects": objects, "functions": functions, "not_inlined": not_inlined,
            "fully_inlined": fully_inlined, "selectively_inlined": selectively_inlined,
            "transformed": transformed, "duplicated": duplicated, "several_entries": several_entries,
            "collided": collided, "symbols": symbols, "suffixes": suffixes, "schema": SCHEMA});
        writeln!(out, "{line}")?;
    }
    for (step, kind, changes) in report.changes {
        let [before, after] = [step.before, step.after].map(|at| &report.families.kernels()[at as usize].id);
        let how: Map<String, Value> =
            changes.how.iter().map(|(how, count)| (how.to_string(), (*count).into())).collect();
        let line = json!({"kind": "changes", "between": step.between.name(), "before": before.release,
            "after": after.release, "before_build_id": before.build_id, "after_build_id": after.build_id,
            "objects": objects, "of": kind.name(), "there_before": changes.before, "there_after": changes.after,
            "added": changes.added, "removed": changes.removed, "changed": changes.changed, "how": how,
            "schema": SCHEMA});
        writeln!(out, "{line}")?;
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
