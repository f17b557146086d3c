//! Annotations of GitHub Actions: workflow commands, a line for each finding.
use super::message;
use crate::query::check::grid::Grid;
use crate::query::check::outcome::{Finding, Severity};
use crate::query::history::Families;
use std::io::{self, Write};

/// Writes the commands. What is never reached is left out.
pub fn github(grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    let families = Families::new(&grid.kernels);
    for row in &grid.files {
        for shared in row.findings().iter().filter(|shared| !shared.finding.guarded) {
            let Finding { severity, path, line, column, state, .. } = shared.finding;
            let command = match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            let own = path.as_ref().map(|path| path.display().to_string());
            let mut properties = format!("file={}", property(own.as_deref().unwrap_or(&row.file)));
            let places = [("line", *line), ("col", *column)];
            for (name, number) in places.into_iter().take_while(|(_, number)| *number > 0) {
                properties.push_str(&format!(",{name}={number}"));
            }
            let text = data(&message(shared, &families));
            writeln!(out, "::{command} {properties},title={}::{text}", state.name())?;
        }
        let mut errors: Vec<String> =
            row.outcomes.iter().filter_map(|outcome| Some(outcome.as_ref().err()?.to_string())).collect();
        errors.dedup();
        for error in errors {
            writeln!(out, "::error file={},title=unreadable::{}", property(&row.file), data(&error))?;
        }
    }
    Ok(())
}

/// Escapes a message (`escapeData`, actions/toolkit, packages/core/src/command.ts).
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property (`escapeProperty`).
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn what_has_a_meaning_is_escaped() {
        assert_eq!(data("50 %:\nx"), "50 %25:%0Ax");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
    }
}
