//! Values against the kernel: what an argument fetches is what was passed.
//!
//! Each case plants the program's definitions in the booted kernel, which stands at a random address, does something of
//! which the values are known (act.c), and looks for them in the trace.
use super::boot::{Answer, Machine, Request};
use super::fetches::{At, CASES, Case, OF_RETURNS};
use super::parts;
use crate::installed::{self, Architecture, Kernel, needed};
use serde_json::Value;
use std::fmt::Write;
use std::process::Command;

/// What only x86-64 has: its registers, what its compiler inlines or keeps in the frame, and how flags are numbered there.
const OF_X86: [&str; 6] = [
    "__x64_sys_kill",
    "ksys_lseek%return",
    "kill_something_info%return",
    "set_task_comm",
    "vfs_llseek",
    "do_sys_open",
];

#[test]
fn values_are_those_of_the_kernels() {
    // The cases name functions and registers of these.
    installed::on_each(|kernel| {
        if kernel.is_of_cases() {
            values_hold(kernel);
        }
    });
}

fn values_hold(kernel: &Kernel) {
    let machine = Machine::new(kernel).and_then(|m| m.modules(kernel, &["overlay"]));
    let Some(machine) = needed(machine) else { return };
    let has_overlay = parts::modules(kernel, &["overlay"]).is_ok_and(|found| !found.is_empty());
    if !has_overlay {
        installed::say(&format!("skipped: values in modules on {}: overlay is none", kernel.release));
    }
    let mut requests = vec![];
    let mut failures = String::new();
    let (mut planted, mut absent) = (vec![], vec![]);
    let kept = run(kernel, &["resolve", "vfs_write%return", "count", "--json"]);
    let keeps_arguments = kept.is_ok_and(|printed| printed.contains("\"fetch\""));
    let is_here = |c: &&Case| match c.at {
        At::Function(spec) if kernel.architecture != Architecture::X86_64 => {
            !OF_X86.contains(&spec) && !c.arguments.iter().any(|argument| argument.contains("=%"))
        }
        _ => true,
    };
    let cases = CASES.iter().filter(is_here).filter(|c| has_overlay || c.action != "overlay");
    for case in cases.chain(OF_RETURNS.iter().filter(|_| keeps_arguments)) {
        match definitions(kernel, case) {
            Ok(lines) => {
                planted.push(case);
                requests.push(Request::Trace { lines, action: case.action });
            }
            Err(why) => absent.push(format!("{case}: {why}")),
        }
    }
    let answers = machine.moved().boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let mut proved = 0;
    for ((case, request), answer) in planted.iter().zip(&requests).zip(&answers.answers) {
        let mut expected = expected(case, answer);
        // O_LARGEFILE (arch/*/include/uapi/asm/fcntl.h), which 32-bit programs do not get unasked; and half of 64 bits in a word.
        let flags = match kernel.architecture {
            Architecture::Arm64 => &[("=0x8002", "=0x20002"), ("=0x80c1", "=0x200c1")][..],
            Architecture::Powerpc64 => &[("=0x8002", "=0x10002"), ("=0x80c1", "=0x100c1")],
            Architecture::Arm => {
                &[("=0x8002", "=0x20002"), ("=0x80c1", "=0xc1"), ("=0x1122334455667788", "=0x55667788")]
            }
            _ => &[],
        };
        let changed = |field: &String| flags.iter().fold(field.clone(), |f, (from, to)| f.replace(from, to));
        expected = expected.iter().map(changed).collect();
        if kernel.is_own_build() {
            // Files in memory may be of another file system.
            expected.iter_mut().for_each(|field| *field = field.replace("=shmem_", "=generic_"));
        }
        let has = |line: &String| {
            // GCC of riscv64 says that `optval` of sk_setsockopt is in the frame, which is not there yet.
            // ARM has numbers of 64 bits and larger structs in two registers each, which no probe of kprobe_events reads as one.
            let keeps_less = kernel.is_own_build()
                || [Architecture::Riscv64, Architecture::Arm].contains(&kernel.architecture);
            if keeps_less { has_some(line, &expected) } else { has(line, &expected) }
        };
        if answer.errno == 0 && answer.traced.iter().any(has) {
            proved += 1;
        } else if kernel.is_own_build() && answer.errno == 0 && answer.traced.is_empty() {
            absent.push(format!("{case}: another compiler inlined it, or calls it not"));
        } else if kernel.architecture == Architecture::Powerpc64
            && answer.errno == 0
            && answer.traced.is_empty()
        {
            absent.push(format!("{case}: pages of 64 KB, of which the mapping is no multiple"));
        } else {
            let traced = answer.traced.iter().take(12).map(|l| format!("\n    {l}")).collect::<String>();
            let _ = write!(failures, "\n{case}: {request}\n  expected: {}", expected.join(" "));
            let _ = write!(failures, "\n  found:    {answer}; {} events{traced}", answer.traced.len());
        }
    }
    installed::say(&format!("{}: {proved} definitions fetch what was passed", kernel.release));
    for why in &absent {
        installed::say(&format!(
            "  {}: not there: {}",
            kernel.release,
            why.lines().next().unwrap_or_default()
        ));
    }
    assert!(absent.len() <= planted.len(), "{}: more is absent than there", kernel.release);
    assert!(failures.is_empty(), "{}: {proved} of {} hold:{failures}", kernel.release, planted.len());
}

/// The fields, with the values that only the action knows.
fn expected(case: &Case, answer: &Answer) -> Vec<String> {
    let fill = |field: String| {
        let known = answer.known.iter().find(|(name, _)| field.ends_with(&format!("={{{name}}}")));
        known.map_or(field.clone(), |(name, value)| field.replace(&format!("{{{name}}}"), value))
    };
    fields(case.expect).into_iter().map(fill).collect()
}

/// Whether a line of the trace, `EVENT: (PLACE) FIELD...`, has these fields and no other.
fn has(line: &str, expected: &[String]) -> bool {
    let found = values(line);
    found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| is_same(f, e))
}

/// Whether it has some of them and no other: another compiler keeps other variables.
fn has_some(line: &str, expected: &[String]) -> bool {
    let found = values(line);
    !found.is_empty() && found.iter().all(|found| expected.iter().any(|e| is_same(found, e)))
}

fn values(line: &str) -> Vec<String> {
    line.split_once(") ").map_or(vec![], |(_, found)| fields(found))
}

/// `a=1 b="x y"`, taken apart at blanks outside of strings.
fn fields(text: &str) -> Vec<String> {
    let mut is_quoted = false;
    let parts = text.split(|c: char| {
        is_quoted ^= c == '"';
        c == ' ' && !is_quoted
    });
    parts.filter(|p| !p.is_empty()).map(str::to_owned).collect()
}

/// Numbers by value: whether one is printed in hexadecimal is of no importance here. Of a symbol the size is left out.
fn is_same(found: &str, expected: &str) -> bool {
    let (Some((name, found)), Some((wanted, expected))) = (found.split_once('='), expected.split_once('='))
    else {
        return false;
    };
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let values = number(found).zip(number(expected));
    let is_symbol = || found.split_once("/0x").is_some_and(|(symbol, _)| symbol == expected);
    name == wanted && values.map_or_else(|| found == expected || is_symbol(), |(f, e)| f == e)
}

/// Whether the kernel takes no probe where a function begins: riscv64 up to 6.15, where ftrace patches.
fn is_refused_at_entry(kernel: &Kernel, spec: &str) -> bool {
    let printed = run(kernel, &["resolve", spec, "--json"]).unwrap_or_default();
    printed.lines().any(|line| line.contains("\"ftrace-site\""))
}

/// As the program prints them.
fn definitions(kernel: &Kernel, case: &Case) -> Result<Vec<String>, String> {
    let spec = match case.at {
        At::Function(spec) => spec.to_owned(),
        At::Renamed { spec, before } => match run(kernel, &["resolve", spec, "--json"]) {
            Ok(_) => spec.to_owned(),
            Err(_) => before.to_owned(),
        },
        At::Before { function, inlined } => before(kernel, function, inlined)?,
    };
    // Behind what ftrace patches variables are where they are at the entry.
    let is_plain = matches!(case.at, At::Function(_)) && !spec.contains(['%', '+', '@']);
    let spec = if is_plain && is_refused_at_entry(kernel, &spec) { spec + "+8" } else { spec };
    let mut asked = vec!["resolve", &spec];
    asked.extend(case.arguments);
    asked.extend(["--format", "kprobe-events"]);
    let printed = run(kernel, &asked)?;
    let lines: Vec<String> = printed.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect();
    if lines.is_empty() { Err(format!("no definition: {printed}")) } else { Ok(lines) }
}

/// The last place in a function before the copy of another: `FUNCTION+OFFSET`.
fn before(kernel: &Kernel, function: &str, inlined: &str) -> Result<String, String> {
    let places = |spec: &str| -> Result<Vec<Value>, String> {
        let printed = run(kernel, &["resolve", spec, "--json"])?;
        printed.lines().map(|l| serde_json::from_str(l).map_err(|e| format!("{l}: {e}"))).collect()
    };
    let copies = places(inlined)?;
    let copy = copies.iter().find(|p| p["symbol"] == function);
    let end = copy.and_then(|p| p["offset"].as_u64()).ok_or(format!("no copy of {inlined} in {function}"))?;
    for offset in (end.saturating_sub(32)..end).rev() {
        let spec = format!("{function}+{offset:#x}");
        let is_own = |p: &Value| p["function"] == function && p["attach"]["kprobe_events"] == "ok";
        if places(&spec).is_ok_and(|places| places.iter().any(is_own)) {
            return Ok(spec);
        }
    }
    Err(format!("no place before {inlined} in {function}"))
}

pub(super) fn run(kernel: &Kernel, arguments: &[&str]) -> Result<String, String> {
    let index = installed::index(kernel);
    let ran = Command::new(installed::program()).arg("--db").arg(&index).args(arguments).output();
    let ran = ran.map_err(|e| e.to_string())?;
    if ran.status.success() {
        return String::from_utf8(ran.stdout).map_err(|e| e.to_string());
    }
    Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr).trim()))
}
