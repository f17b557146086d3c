//! Formats the health of a tapset library: counts, then what is dead or broken, and JSON Lines.
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::json;

use super::printable;
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

/// Writes an object for each alias and finding of a kernel, and one for each point that no kernel has.
pub fn json(kernels: &[String], all: &[Health], out: &mut dyn Write) -> io::Result<()> {
    for (kernel, health) in kernels.iter().zip(all) {
        for a in &health.aliases {
            let arms: Vec<_> = a.arms.iter().map(|(arm, m)| json!({"point": arm, "matches": m})).collect();
            let broken: Vec<_> = a.broken.iter().map(broken_json).collect();
            let state = if a.state == State::Fails { "dead" } else { a.state.name() };
            let line = json!({"kernel": kernel, "alias": a.name, "file": a.path, "line": a.line,
                "column": a.column, "state": state, "arms": arms, "broken": broken});
            writeln!(out, "{line}")?;
        }
        for f in &health.findings {
            let line = json!({"kernel": kernel, "file": f.path, "line": f.line, "column": f.column,
                "finding": f.trouble.name(), "what": f.what, "why": f.why, "instead": f.instead});
            writeln!(out, "{line}")?;
        }
    }
    for (place, alias, arm) in untaken(all) {
        writeln!(out, "{}", json!({"untaken": arm, "alias": alias, "place": place}))?;
    }
    Ok(())
}

fn broken_json(broken: &Broken) -> serde_json::Value {
    json!({"local": broken.local, "variable": broken.variable, "why": broken.why, "instead": broken.instead})
}
