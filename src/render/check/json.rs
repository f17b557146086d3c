//! JSON Lines: an object for each program on each kernel, and one for each file on each kernel.
use crate::error::Error;
use crate::query::check::grid::{Grid, Row};
use crate::query::check::outcome::{FileOutcome, Finding, ProgramOutcome};
use crate::query::index::kernel_id::KernelId;
use crate::render::json_of;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
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
                Err(error) => unreadable(file, kernel, error),
            };
            each(whole)?;
        }
    }
    Ok(())
}

/// A program of a file on a kernel.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program<'a> {
    /// The file that is checked.
    file: &'a str,
    /// The program: a probe point as written, a function of an object, a line of a list.
    program: &'a str,
    /// The release.
    kernel: &'a str,
    /// The build id of its vmlinux.
    build_id: Option<&'a str>,
    /// `ok`, or the first state that applies.
    state: &'static str,
    /// Whether it fires somewhere.
    reachable: bool,
    /// The line of the program, from 1.
    line: Option<u32>,
    /// Its column, from 1.
    column: Option<u32>,
    /// What is wrong with it.
    findings: Vec<FindingObject<'a>>,
    /// True if it does not work and need not: another one suffices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    forgiven: bool,
    /// Where its probe point is placed.
    #[serde(flatten)]
    placed: Option<PlacedObject>,
}

/// How many addresses a probe point is placed at.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Placed"))]
pub struct PlacedObject {
    /// The number of probes.
    probes: usize,
    /// The number of addresses.
    addresses: usize,
    /// The number of addresses that the kernel accepts.
    accepted: usize,
    /// The number of addresses that are inlined copies.
    inlined: usize,
    /// The number of further copies in code that is gone once the kernel runs.
    left_out: usize,
    /// The number of addresses whose verdict is undecided.
    undecided: usize,
    /// Of those that are refused, how many for which reason.
    refused: BTreeMap<&'static str, u32>,
    /// What is not known about the undecided ones.
    because: Vec<&'static str>,
}

/// A file as a whole on a kernel: it follows its programs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct File<'a> {
    /// The file that is checked.
    file: &'a str,
    /// Null.
    program: Option<()>,
    /// The release.
    kernel: &'a str,
    /// The build id of its vmlinux.
    build_id: Option<&'a str>,
    /// The worst state of its programs; `unreadable` if it cannot be read.
    state: &'static str,
    /// Whether it works.
    reachable: bool,
    /// What is wrong with the file as a whole.
    findings: Vec<FindingObject<'a>>,
}

/// Something that is wrong.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Finding"))]
pub struct FindingObject<'a> {
    /// What it is about: a state of programs, or `unreadable`.
    state: &'static str,
    /// `error`, which breaks the program, `warning` or `note`.
    severity: &'static str,
    /// From 1.
    line: Option<u32>,
    /// From 1.
    column: Option<u32>,
    /// What it is about, as the source has it.
    source: &'a str,
    /// Why it is wrong.
    reason: Cow<'a, str>,
    /// The error that the kernel gives.
    errno: Option<&'static str>,
    /// What to write instead, the likeliest first; of an unreadable file, what to do.
    instead: Instead<'a>,
    /// The file that it is in, if that is another one: a tapset, the source of an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// A finer name of what it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// True if the code is never reached: it changes nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    guarded: bool,
}

/// What helps.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Instead<'a> {
    /// Replacements, the likeliest first.
    Written(&'a [String]),
    /// What to do about a file that cannot be read.
    Done(Option<&'a str>),
}

fn program(file: &str, kernel: &KernelId, program: &ProgramOutcome) -> Value {
    json_of(&Program {
        file,
        program: &program.name,
        kernel: &kernel.release,
        build_id: kernel.build_id.as_deref(),
        state: program.state().name(),
        reachable: program.is_reachable(),
        line: place(program.line),
        column: place(program.column),
        findings: program.findings.iter().map(finding).collect(),
        forgiven: program.forgiven.is_some(),
        placed: program.placed.as_ref().map(|placed| PlacedObject {
            probes: placed.probes,
            addresses: placed.addresses,
            accepted: placed.accepted,
            inlined: placed.inlined,
            left_out: placed.left_out,
            undecided: placed.undecided,
            refused: placed.refused.iter().map(|(reason, count)| (reason.name(), *count)).collect(),
            because: placed.unknown.causes().collect(),
        }),
    })
}

fn of_file(file: &str, kernel: &KernelId, outcome: &FileOutcome) -> Value {
    let state = outcome.state();
    let findings = outcome.findings.iter().map(finding).collect();
    whole(file, kernel, (state.name(), !state.is_failure()), findings)
}

fn unreadable(file: &str, kernel: &KernelId, error: &Error) -> Value {
    let finding = FindingObject {
        state: "unreadable",
        severity: "error",
        line: None,
        column: None,
        source: file,
        reason: error.to_string().into(),
        errno: None,
        instead: Instead::Done(error.remedy()),
        file: None,
        kind: Some(error.kind().name()),
        guarded: false,
    };
    whole(file, kernel, ("unreadable", false), vec![finding])
}

fn whole(
    file: &str,
    kernel: &KernelId,
    (state, reachable): (&'static str, bool),
    findings: Vec<FindingObject<'_>>,
) -> Value {
    let (kernel, build_id) = (&*kernel.release, kernel.build_id.as_deref());
    json_of(&File { file, program: None, kernel, build_id, state, reachable, findings })
}

fn finding(found: &Finding) -> FindingObject<'_> {
    FindingObject {
        state: found.state.name(),
        severity: found.severity.name(),
        line: place(found.line),
        column: place(found.column),
        source: &found.source,
        reason: Cow::Borrowed(&found.reason),
        errno: found.errno,
        instead: Instead::Written(&found.instead),
        file: found.path.as_ref().map(|path| path.display().to_string()),
        kind: found.kind,
        guarded: found.guarded,
    }
}

/// A line or column, if there is one.
fn place(number: u32) -> Option<u32> {
    Some(number).filter(|number| *number > 0)
}
