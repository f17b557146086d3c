//! SARIF 2.1.0 (OASIS standard of March 2020), as code scanning services read it: a result for each finding.
use super::message;
use crate::query::check::grid::{Grid, Row};
use crate::query::check::outcome::{Finding, State};
use crate::query::history::Families;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// Writes one document. The rules are the states; what is never reached is left out.
pub fn sarif(grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    let families = Families::new(&grid.kernels);
    let rules: Vec<Value> = State::ALL
        .iter()
        .filter(|state| **state != State::Ok)
        .map(|state| json!({"id": state.name(), "shortDescription": {"text": format!("{}.", state.description())}}))
        .chain([json!({"id": "unreadable", "shortDescription": {"text": "The file cannot be read."}})])
        .collect();
    let results: Vec<Value> = grid.files.iter().flat_map(|row| results(row, &families)).collect();
    let driver = json!({"name": "probeidx", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    let document = json!({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}]});
    writeln!(out, "{document}")
}

fn results(row: &Row, families: &Families<'_>) -> Vec<Value> {
    let shared = row.findings();
    let found = shared.iter().filter(|shared| !shared.finding.guarded).map(|shared| {
        let kernels: Vec<&str> = shared.kernels.iter().map(|at| families.name(at)).collect();
        json!({"ruleId": shared.finding.state.name(), "level": shared.finding.severity.name(),
            "message": {"text": message(shared, families)}, "locations": [location(&row.file, shared.finding)],
            "properties": {"kernels": kernels, "program": shared.program}})
    });
    let mut results: Vec<Value> = found.collect();
    let mut errors: Vec<String> =
        row.outcomes.iter().filter_map(|o| Some(o.as_ref().err()?.to_string())).collect();
    errors.dedup();
    results.extend(errors.into_iter().map(|error| {
        let place = json!({"physicalLocation": {"artifactLocation": {"uri": uri(&row.file)}}});
        json!({"ruleId": "unreadable", "level": "error", "message": {"text": error}, "locations": [place]})
    }));
    results
}

fn location(file: &str, finding: &Finding) -> Value {
    let own = finding.path.as_ref().map(|path| path.display().to_string());
    let mut place = json!({"artifactLocation": {"uri": uri(own.as_deref().unwrap_or(file))}});
    if finding.line > 0 {
        let mut region = json!({"startLine": finding.line});
        if finding.column > 0 {
            region["startColumn"] = json!(finding.column);
        }
        place["region"] = region;
    }
    json!({"physicalLocation": place})
}

/// A path as a URI (RFC 3986): relative, or of a file.
fn uri(path: &str) -> String {
    let mut uri = if Path::new(path).is_absolute() { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("tools/a b.bt"), "tools/a%20b.bt");
        assert_eq!(uri("/tmp/ü:1"), "file:///tmp/%C3%BC%3A1");
    }
}
