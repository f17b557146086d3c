//! `probeidx trace` in booted kernels. The program under trace knows the truth: it makes so many calls with known arguments
//! from known callers (guest.c), and what is printed is compared with that, line by line. After each trace tracefs is as
//! before.
mod cases;
mod forms;
mod questions;

use super::boot::{Answer, Answers, Machine, Request};
use super::parts;
use crate::installed::{self, Architecture, Kernel, needed, wanted};
use crate::sample::{is_whole, seed, some};
use cases::{Case, Truth};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// One in so many of the cases is traced in a run, others in each.
const SHARE: usize = 3;
/// How often a trace is killed, each time at another moment: that takes ten seconds of an emulated machine, and four times as often in a
/// run that is whole.
const KILLS: u64 = 12;

#[test]
fn traces_of_the_kernels_see_what_happens() {
    installed::on_one(traces_hold);
}

#[test]
fn a_trace_that_is_killed_leaves_nothing_to_the_next() {
    installed::on_one(kills_hold);
}

/// A line that was printed: what it is of, the copy, and the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub function: String,
    pub copy: Option<String>,
    pub values: serde_json::Map<String, Value>,
}

/// A machine that can be traced; none where the program cannot be had for its architecture.
fn machine(kernel: &Kernel) -> Option<Machine> {
    let program = parts::probeidx(kernel.architecture);
    let program = match kernel.architecture {
        Architecture::X86_64 => needed(program),
        _ => wanted(program),
    };
    needed(carrying(kernel, program?))
}

fn carrying(kernel: &Kernel, program: Vec<u8>) -> Result<Machine, String> {
    let index = installed::index(kernel);
    let read = |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let folder = parts::folder("guest")?;
    let path = folder.join("guest");
    let guest = parts::guest(&path, kernel.architecture)?;
    let built = Command::new(installed::program())
        .args(["build", "--user", "-q", "--db"])
        .args([&folder, &path])
        .output()
        .map_err(|e| e.to_string())?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    let users = std::fs::read_dir(folder.join("user")).map_err(|e| e.to_string())?;
    let user = users.flatten().next().ok_or("no index of the program")?.path();
    // The program has the path in the machine that it has in its index.
    let path = path.display().to_string();
    let mut machine = Machine::new(kernel)?
        .running(guest.clone())
        .file(path.trim_start_matches('/'), guest)
        .file("program", path.clone().into_bytes())
        .file("probeidx", program)
        .file("db/user/guest.pidx", read(&user)?)
        .file(&format!("db/{}.pidx", kernel.release), read(&index)?);
    // That of another architecture is linked statically.
    if kernel.architecture == Architecture::X86_64 {
        machine = machine.files(parts::libraries(&installed::program())?);
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(machine)
}

fn traces_hold(kernel: &Kernel) {
    // Among them are inlined copies and lines.
    if !kernel.has_debug_information() {
        return;
    }
    let Some(machine) = machine(kernel) else { return };
    let (cases, seed) = (cases::of(kernel), seed());
    let count = cases.len() / SHARE;
    let cases = some(cases, count, seed);
    let requests: Vec<Request> =
        cases.iter().map(|case| Request::Session { line: case.line(), times: 1 }).collect();
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let (mut wrong, mut failed) = (String::new(), 0);
    for (number, (case, answer)) in cases.iter().zip(&answers.answers).enumerate() {
        if let Err(why) = check(case, number, answer, &answers) {
            failed += 1;
            let _ = write!(wrong, "\n{}: {why}", case.line().replace('\t', " "));
        }
    }
    let held = cases.len() - failed;
    installed::say(&format!("{}: {held} of {} traces saw what happened", kernel.release, cases.len()));
    assert!(wrong.is_empty(), "{}, PROBEIDX_SEED={seed}:{wrong}", kernel.release);
}

/// What is wrong with a trace.
fn check(case: &Case, number: usize, answer: &Answer, answers: &Answers) -> Result<(), String> {
    let told = |name: &str| answers.printed.get(&format!("{name}/{number}")).cloned().unwrap_or_default();
    let (said, left) = (told("stderr"), told("left"));
    let known = |name: &str| answer.known.get(name).and_then(|v| v.parse::<i64>().ok());
    let code = known("code").ok_or("the end is not known")?;
    if !left.is_empty() {
        return Err(format!("it left\n{left}"));
    }
    if code != case.code {
        return Err(format!("it ended with {code}, not {}: {said}", case.code));
    }
    if let Some(missing) = case.says.iter().find(|part| !said.contains(**part)) {
        return Err(format!("it does not say '{missing}': {said}"));
    }
    if let Some(prints) = case.prints {
        let truth = Truth { known: &known, count: case.count };
        return prints(&truth, &answer.traced)
            .map_err(|why| format!("printed:\n{}\n{why}\n{said}", answer.traced.join("\n")));
    }
    let Some(expected) = case.expected else { return Ok(()) };
    let pid = known("pid").ok_or("the actor is not known")?;
    let mut seen = vec![];
    for line in &answer.traced {
        let event: Value = serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))?;
        let text = |name: &str| event[name].as_str().map(str::to_owned);
        let is_whole = ["time", "cpu"].iter().all(|name| event[*name].is_number());
        if event["pid"].as_i64() != Some(pid) || !is_whole {
            return Err(format!("not of the actor {pid}: {line}"));
        }
        let values = event["args"].as_object().cloned().unwrap_or_default();
        seen.push(Seen { function: text("function").unwrap_or_default(), copy: text("copy"), values });
    }
    let expected = expected(&Truth { known: &known, count: case.count });
    let is_same = |seen: &Seen, expected: &Seen| {
        let has = |(name, value): (&String, &Value)| seen.values.get(name) == Some(value);
        seen.function == expected.function
            && expected
                .copy
                .as_deref()
                .is_none_or(|part| seen.copy.as_ref().is_some_and(|c| c.contains(part)))
            && expected.values.iter().all(has)
    };
    match seen.len() == expected.len() && seen.iter().zip(&expected).all(|(s, e)| is_same(s, e)) {
        true => Ok(()),
        false => {
            let list = |all: &[Seen]| {
                let one = |s: &Seen| {
                    let copy = s.copy.as_ref().map_or(String::new(), |copy| format!(" in {copy}"));
                    format!("\n    {}{copy} {}", s.function, Value::Object(s.values.clone()))
                };
                all.iter().map(one).collect::<String>()
            };
            Err(format!("seen:{}\n  expected:{}\n  {said}", list(&seen), list(&expected)))
        }
    }
}

fn kills_hold(kernel: &Kernel) {
    let Some(machine) = machine(kernel) else { return };
    let kills = if is_whole() { 4 * KILLS } else { KILLS };
    let line = format!("k {kills}\tvfs_*");
    let requests = [Request::Session { line, times: 2 * kills + 2 }];
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let known = |name: &str| answers.answers[0].known.get(name).and_then(|v| v.parse::<u64>().ok());
    let left = answers.printed.get("left/0").cloned().unwrap_or_default();
    let said = answers.printed.get("stderr/0").cloned().unwrap_or_default();
    let planted = known("planted").unwrap_or_default();
    installed::say(&format!("{}: {planted} of {} killed traces left something", kernel.release, kills + 1));
    assert_eq!(known("dirty"), Some(0), "{}: the next trace left\n{left}\n{said}", kernel.release);
    assert_eq!(known("removed"), Some(kills + 1), "{}: {said}", kernel.release);
    assert!(
        planted * 2 > kills,
        "{}: only {planted} were killed while something was planted",
        kernel.release
    );
}
