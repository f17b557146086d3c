//! `probeidx trace` in booted kernels. The program under trace knows the truth: it makes so many calls with known arguments
//! from known callers (guest.c), and what is printed is compared with that, line by line. After each trace tracefs is as
//! before.
mod cases;

use super::boot::{Answer, Answers, Machine, Request};
use super::parts;
use crate::installed::{self, Kernel, needed};
use cases::{Case, Truth};
use serde_json::Value;
use std::fmt::Write;

/// How often a trace is killed.
const KILLS: u64 = 50;

#[test]
fn traces_of_the_kernels_see_what_happens() {
    installed::on_each(traces_hold);
}

#[test]
fn a_trace_that_is_killed_leaves_nothing_to_the_next() {
    installed::on_each(kills_hold);
}

/// A line that was printed: what it is of, the copy, and the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub function: String,
    pub copy: Option<String>,
    pub values: serde_json::Map<String, Value>,
}

fn machine(kernel: &Kernel) -> Result<Machine, String> {
    let index = installed::index(kernel);
    let read = |path: &std::path::Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    Ok(Machine::new(kernel)?
        .running(parts::guest(kernel.architecture)?)
        .file("probeidx", parts::probeidx(kernel.architecture)?)
        .file(&format!("db/{}.pidx", kernel.release), read(&index)?))
}

fn traces_hold(kernel: &Kernel) {
    let Some(machine) = needed(machine(kernel)) else { return };
    let cases = cases::of(kernel);
    let requests: Vec<Request> =
        cases.iter().map(|case| Request::Session { line: case.line(), times: 1 }).collect();
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let mut wrong = String::new();
    for (number, (case, answer)) in cases.iter().zip(&answers.answers).enumerate() {
        if let Err(why) = check(case, number, answer, &answers) {
            let _ = write!(wrong, "\n{}: {why}", case.line().replace('\t', " "));
        }
    }
    let held = cases.len() - wrong.matches("\ns ").count() - wrong.matches("\ni ").count();
    installed::say(&format!("{}: {held} of {} traces saw what happened", kernel.release, cases.len()));
    assert!(wrong.is_empty(), "{}:{wrong}", kernel.release);
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
            let first = seen.iter().zip(&expected).find(|(s, e)| !is_same(s, e));
            Err(format!(
                "{} events, expected {}; the first that differs: {first:?}; {said}",
                seen.len(),
                expected.len()
            ))
        }
    }
}

fn kills_hold(kernel: &Kernel) {
    let Some(machine) = needed(machine(kernel)) else { return };
    let line = format!("k {KILLS}\tvfs_*");
    let requests = [Request::Session { line, times: 2 * KILLS + 2 }];
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let known = |name: &str| answers.answers[0].known.get(name).and_then(|v| v.parse::<u64>().ok());
    let left = answers.printed.get("left/0").cloned().unwrap_or_default();
    let said = answers.printed.get("stderr/0").cloned().unwrap_or_default();
    let planted = known("planted").unwrap_or_default();
    installed::say(&format!("{}: {planted} of {} killed traces left something", kernel.release, KILLS + 1));
    assert_eq!(known("dirty"), Some(0), "{}: the next trace left\n{left}\n{said}", kernel.release);
    assert_eq!(known("removed"), Some(KILLS + 1), "{}: {said}", kernel.release);
    assert!(planted > 2, "{}: only {planted} were killed while something was planted", kernel.release);
}
