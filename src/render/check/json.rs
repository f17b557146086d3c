//! JSON Lines: an object for each program on each kernel, and one for each file on each kernel.
use crate::query::check::grid::{Grid, Row};
use crate::query::check::outcome::{FileOutcome, Finding, ProgramOutcome};
use crate::query::index::kernel_id::KernelId;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes the objects. That of a file follows those of its programs: `program` is null, the state is the worst, and the
/// findings are those of the file as a whole.
pub fn json(grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    values(grid, |value| writeln!(out, "{value}"))
}

/// Calls `each` with the objects, in the order of [`json`].
///
/// # Errors
/// Any that `each` returns.
pub fn values<E>(grid: &Grid, mut each: impl FnMut(Value) -> Result<(), E>) -> Result<(), E> {
    for Row { file, outcomes } in &grid.files {
        for (kernel, outcome) in grid.kernels.iter().zip(outcomes) {
            let kernel = &kernel.id;
            let whole = match outcome {
                Ok(outcome) => {
                    for program in &outcome.programs {
                        each(self::program(file, kernel, program))?;
                    }
                    of_file(file, kernel, outcome)
                }
                Err(error) => {
                    let finding = json!({"state": "unreadable", "severity": "error", "line": null, "column": null,
                        "source": file, "reason": error.to_string(), "errno": null, "instead": error.remedy(),
                        "kind": error.kind().name()});
                    json!({"file": file, "program": null, "kernel": kernel.release, "build_id": kernel.build_id,
                        "state": "unreadable", "reachable": false, "findings": [finding]})
                }
            };
            each(whole)?;
        }
    }
    Ok(())
}

fn program(file: &str, kernel: &KernelId, program: &ProgramOutcome) -> Value {
    let findings: Vec<Value> = program.findings.iter().map(finding).collect();
    let mut object = json!({"file": file, "program": program.name, "kernel": kernel.release,
        "build_id": kernel.build_id, "state": program.state().name(), "reachable": program.is_reachable(),
        "line": place(program.line), "column": place(program.column), "findings": findings});
    if program.forgiven.is_some() {
        object["forgiven"] = json!(true);
    }
    if let (Some(placed), Some(object)) = (&program.placed, object.as_object_mut()) {
        let counts = [
            ("probes", placed.probes),
            ("addresses", placed.addresses),
            ("accepted", placed.accepted),
            ("inlined", placed.inlined),
            ("left_out", placed.left_out),
            ("undecided", placed.undecided),
        ];
        object.extend(counts.map(|(name, count)| (name.to_owned(), json!(count))));
        let refused = placed.refused.iter().map(|(reason, count)| (reason.name().to_owned(), json!(count)));
        object.insert("refused".to_owned(), Value::Object(refused.collect()));
        object.insert("because".to_owned(), json!(placed.unknown.causes().collect::<Vec<_>>()));
    }
    object
}

fn of_file(file: &str, kernel: &KernelId, outcome: &FileOutcome) -> Value {
    let findings: Vec<Value> = outcome.findings.iter().map(finding).collect();
    let state = outcome.state();
    json!({"file": file, "program": null, "kernel": kernel.release, "build_id": kernel.build_id,
        "state": state.name(), "reachable": !state.is_failure(), "findings": findings})
}

fn finding(found: &Finding) -> Value {
    let mut object = Map::new();
    let mut add = |name: &str, value: Value| object.insert(name.to_owned(), value);
    add("state", json!(found.state.name()));
    add("severity", json!(found.severity.name()));
    add("line", place(found.line));
    add("column", place(found.column));
    add("source", json!(found.source));
    add("reason", json!(found.reason));
    add("errno", json!(found.errno));
    add("instead", json!(found.instead));
    if let Some(path) = &found.path {
        add("file", json!(path.display().to_string()));
    }
    if let Some(kind) = found.kind {
        add("kind", json!(kind));
    }
    if found.guarded {
        add("guarded", json!(true));
    }
    Value::Object(object)
}

/// A line or column, or null if there is none.
fn place(number: u32) -> Value {
    if number == 0 { Value::Null } else { json!(number) }
}
