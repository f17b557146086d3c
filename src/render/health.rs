//! Formats the health of a tapset library: counts, then what is dead or broken, and JSON Lines.
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use std::path::Path;

use super::{json_of, printable};
use crate::query::check::State;
use crate::query::check::tapset_health::{AliasHealth, Broken, Health};

/// The points of aliases that match nothing on any of the kernels, each with its alias and place.
fn untaken(all: &[Health]) -> Vec<(String, String, String)> {
    let mut arms: BTreeMap<(String, String, String), bool> = BTreeMap::new();
    for alias in all.iter().flat_map(|health| &health.aliases) {
        for (arm, matches) in &alias.arms {
            *arms.entry((place(alias), alias.name.clone(), arm.clone())).or_default() |= matches;
        }
    }
    arms.into_iter().filter(|(_, taken)| !taken).map(|(arm, _)| arm).collect()
}

fn place(alias: &AliasHealth) -> String {
    format!("{}:{}:{}", alias.path.display(), alias.line, alias.column)
}

/// Writes the counts for each kernel; then for each what is dead or broken; then the points that no kernel has.
pub fn text(kernels: &[String], all: &[Health], out: &mut dyn Write) -> io::Result<()> {
    for (kernel, health) in kernels.iter().zip(all) {
        let aliases = &health.aliases;
        let of = |state: State| aliases.iter().filter(|a| a.state == state).count();
        let broken = aliases.iter().filter(|a| !a.broken.is_empty()).count();
        let locals: usize = aliases.iter().map(|a| a.broken.len()).sum();
        writeln!(out, "{kernel}")?;
        writeln!(out, "  {:>6}  aliases resolve", of(State::Resolves))?;
        writeln!(out, "  {:>6}  are of programs or modules that are not in the index", of(State::Unindexed))?;
        writeln!(out, "  {:>6}  are dead: none of their points matches", of(State::Fails))?;
        writeln!(out, "  {broken:>6}  have broken locals, {locals} in all")?;
        writeln!(out, "  {:>6}  functions, {} findings in them", health.functions, health.findings.len())?;
    }
    for (kernel, health) in kernels.iter().zip(all) {
        for alias in &health.aliases {
            let (place, name) = (place(alias), printable(&alias.name));
            if alias.state == State::Fails {
                writeln!(out, "{kernel}: {}: {name}: dead", printable(&place))?;
            }
            for broken in &alias.broken {
                let (local, variable, why) =
                    (printable(&broken.local), printable(&broken.variable), printable(&broken.why));
                writeln!(
                    out,
                    "{kernel}: {}: {name}: {local} is broken: {variable}: {why}",
                    printable(&place)
                )?;
            }
        }
        for f in &health.findings {
            let (path, what, why) = (f.path.display(), printable(&f.what), printable(&f.why));
            writeln!(out, "{kernel}: {path}:{}:{}: {what}: {why}", f.line, f.column)?;
        }
    }
    for (place, alias, arm) in untaken(all) {
        writeln!(out, "{}: {}: no kernel has {}", printable(&place), printable(&alias), printable(&arm))?;
    }
    Ok(())
}

/// An alias of a tapset on a kernel.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Alias"))]
pub struct AliasLine<'a> {
    /// The release.
    kernel: &'a str,
    /// Its name.
    alias: &'a str,
    /// The file that defines it.
    file: &'a Path,
    /// From 1.
    line: u32,
    /// From 1.
    column: u32,
    /// `resolves`, `dead` if none of its points matches, or `unindexed`.
    state: &'static str,
    /// Its points, as written.
    arms: Vec<ArmObject<'a>>,
    /// Its locals that cannot be read somewhere.
    broken: Vec<BrokenObject<'a>>,
}

/// A point of an alias.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Point"))]
pub struct ArmObject<'a> {
    /// As it is written.
    point: &'a str,
    /// Whether it matches something on this kernel.
    matches: bool,
}

/// A local that cannot be read.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Broken"))]
pub struct BrokenObject<'a> {
    /// Its name.
    local: &'a str,
    /// The part of the kernel's variable that is missing.
    variable: &'a str,
    /// Why it is missing.
    why: &'a str,
    /// What there is instead, the likeliest first.
    instead: &'a [String],
}

/// Something that is wrong in a function of a tapset.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Finding"))]
pub struct FindingLine<'a> {
    /// The release.
    kernel: &'a str,
    /// The file.
    file: &'a Path,
    /// From 1.
    line: u32,
    /// From 1.
    column: u32,
    /// The kind of what is wrong: `variable`, `function`, `arity`, ….
    finding: &'static str,
    /// What it is about.
    what: &'a str,
    /// Why it is wrong.
    why: &'a str,
    /// What there is instead, the likeliest first.
    instead: &'a [String],
}

/// A point of an alias that no kernel has.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Untaken"))]
pub struct UntakenLine {
    /// The point.
    untaken: String,
    /// The alias.
    alias: String,
    /// File, line and column of that.
    place: String,
}

/// Writes an object for each alias and finding of a kernel, and one for each point that no kernel has.
pub fn json(kernels: &[String], all: &[Health], out: &mut dyn Write) -> io::Result<()> {
    for (kernel, health) in kernels.iter().zip(all) {
        for a in &health.aliases {
            let line = AliasLine {
                kernel,
                alias: &a.name,
                file: &a.path,
                line: a.line,
                column: a.column,
                state: if a.state == State::Fails { "dead" } else { a.state.name() },
                arms: a.arms.iter().map(|(point, matches)| ArmObject { point, matches: *matches }).collect(),
                broken: a.broken.iter().map(broken_object).collect(),
            };
            writeln!(out, "{}", json_of(&line))?;
        }
        for f in &health.findings {
            let line = FindingLine {
                kernel,
                file: &f.path,
                line: f.line,
                column: f.column,
                finding: f.trouble.name(),
                what: &f.what,
                why: &f.why,
                instead: &f.instead,
            };
            writeln!(out, "{}", json_of(&line))?;
        }
    }
    for (place, alias, untaken) in untaken(all) {
        writeln!(out, "{}", json_of(&UntakenLine { untaken, alias, place }))?;
    }
    Ok(())
}

fn broken_object(broken: &Broken) -> BrokenObject<'_> {
    let Broken { local, variable, why, instead } = broken;
    BrokenObject { local, variable, why, instead }
}
