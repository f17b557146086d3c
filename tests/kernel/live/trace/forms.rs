//! The forms in which a trace prints: values by name, stacks, tables, files for viewers.
use super::cases::{Case, Prints, Truth, plain};
use crate::installed::{Architecture, Kernel};
use serde_json::{Value, json};

/// The cases of a kernel.
pub fn all(kernel: &Kernel) -> Vec<Case> {
    // At the entry of a function the caller is in the link register alone, which the old unwinder of arm64 does not know.
    let is_cut = kernel.architecture == Architecture::Arm64 && kernel.version() < (6, 0);
    let stacks: Prints = if is_cut { stacks_without_caller } else { stacks };
    let mut cases = vec![
        prints("open", 4, &["do_sys_openat2%return", "$return"], results),
        prints("sleep", 3, &["hrtimer_nanosleep", "mode", "rqtp"], enumerators),
        prints("open", 3, &["do_sys_openat2", "filename:ustring", "--stack", "--json"], stacks),
        prints("open", 3, &["do_sys_openat2%return", "--stack", "--json"], callers),
        prints("read", 7, &["--latency", "vfs_read", "--json"], latency),
        // Not reads: who reads what is printed is in one, which is all that kernels before 5.17 have room for (see `together`).
        prints("write", 5, &["vfs_write", "count", "-o", "/proc/self/fd/1"], viewer),
    ];
    // Of one process from records; of a name by the kernel, if it can.
    for only in [["--pid", "@PID@"], ["--comm", "actor"]] {
        let mut counts = |action, count, arguments: &[&str], prints| {
            let arguments = [arguments, &["--json"], &only].concat();
            cases.push(plain(action, count, &arguments).prints(prints));
        };
        counts("read", 7, &["--count", "vfs_read"], count);
        counts("read", 7, &["--hist", "count", "vfs_read"], ranges);
        counts("open", 4, &["--hist", "$return", "do_sys_openat2%return"], values);
        counts("open", 2, &["--hist", "filename:ustring", "do_sys_openat2"], texts);
    }
    cases
}

fn prints(action: &'static str, count: u32, arguments: &[&str], prints: Prints) -> Case {
    plain(action, count, &[arguments, &["--pid", "@PID@"]].concat()).prints(prints)
}

/// Each line ends with this, and there are as many as calls.
fn lines(truth: &Truth<'_>, printed: &[String], end: impl Fn(u32) -> String) -> Result<(), String> {
    let expected: Vec<String> = (0..truth.count).map(end).collect();
    let is_right =
        printed.len() == expected.len() && printed.iter().zip(&expected).all(|(p, e)| p.ends_with(e));
    is_right.then_some(()).ok_or_else(|| format!("expected: {expected:#?}"))
}

fn results(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    lines(truth, printed, |_| " do_sys_openat2.return $return=-ENOENT".to_owned())
}

fn enumerators(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    lines(truth, printed, |nth| format!(" hrtimer_nanosleep mode=HRTIMER_MODE_REL rqtp={}", 100_000 + nth))
}

fn objects(printed: &[String]) -> Result<Vec<Value>, String> {
    printed.iter().map(|line| serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))).collect()
}

/// The functions around are those of the system call, with what is inlined into it.
fn stacks(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    stacks_through(truth, printed, "do_sys_open\"")
}

fn stacks_without_caller(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    stacks_through(truth, printed, "invoke_syscall\"")
}

/// Each stack starts in the function, and passes another one that is inlined.
fn stacks_through(truth: &Truth<'_>, printed: &[String], inlined: &str) -> Result<(), String> {
    let objects = objects(printed)?;
    let is_right = |object: &Value| {
        let frames = object["stack"].as_array().map_or(&[][..], Vec::as_slice);
        let levels = |frame: &Value| frame["functions"].as_array().map_or(0, Vec::len);
        let has = |frame: &Value, name: &str| frame["functions"].to_string().contains(name);
        let first = frames.first().is_some_and(|frame| has(frame, "\"do_sys_openat2\""));
        first
            && frames.iter().any(|frame| has(frame, inlined) && levels(frame) > 1)
            && frames.iter().all(|frame| frame["symbol"].as_str().is_some_and(|s| s.contains('+')))
    };
    let are_right = objects.len() == truth.count as usize && objects.iter().all(is_right);
    are_right.then_some(()).ok_or_else(|| "expected: the stack of each call".to_owned())
}

/// The stack of a return starts in the caller: neither in the function nor in what the kernel returns to instead.
fn callers(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    let objects = objects(printed)?;
    let is_right = |object: &Value| {
        let first = object["stack"].as_array().and_then(|frames| frames.first()).map(Value::to_string);
        first.is_some_and(|first| first.contains("sys_open"))
    };
    let are_right = objects.len() == truth.count as usize && objects.iter().all(is_right);
    are_right.then_some(()).ok_or_else(|| "expected: stacks that start in sys_openat".to_owned())
}

fn count(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    let objects = objects(printed)?;
    let is_right =
        matches!(&objects[..], [one] if one["count"] == truth.count && one["function"] == "vfs_read");
    is_right.then_some(()).ok_or_else(|| format!("expected: {} calls", truth.count))
}

/// 1000 and a little more are in one range.
fn ranges(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    same(printed, "ranges", json!([{"from": 513, "to": 1024, "count": truth.count}]))
}

fn values(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    same(printed, "counts", json!([{"value": -2, "shown": "-ENOENT", "count": truth.count}]))
}

fn texts(_: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    let text = |nth| json!({"value": format!("/t/none-{nth}"), "count": 1});
    same(printed, "counts", json!([text(0), text(1)]))
}

fn same(printed: &[String], name: &str, expected: Value) -> Result<(), String> {
    let objects = objects(printed)?;
    let is_right = matches!(&objects[..], [one] if one[name] == expected && one["dropped"] == 0);
    is_right.then_some(()).ok_or_else(|| format!("expected: {expected}"))
}

fn latency(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    let objects = objects(printed)?;
    let is_right = |one: &Value| {
        one["calls"] == truth.count && one["unmatched"] == 0 && one["sum"].as_u64().is_some_and(|sum| sum > 0)
    };
    let is_right = matches!(&objects[..], [one] if is_right(one));
    is_right.then_some(()).ok_or_else(|| format!("expected: {} calls, all matched", truth.count))
}

/// Each call is a duration, with what was passed and returned.
fn viewer(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    let all: Value = serde_json::from_str(&printed.concat()).map_err(|e| e.to_string())?;
    let all = all.as_array().ok_or("no array")?;
    let calls = all.iter().filter(|event| event["ph"] == "X");
    let of = |event: &Value| {
        (event["args"]["values"]["count"].clone(), event["args"]["returned"]["values"].clone())
    };
    let seen: Vec<(Value, Value)> = calls.map(of).collect();
    let is_right = seen.len() == truth.count as usize
        && seen.iter().zip(2000..).all(|((count, _), nth)| *count == nth)
        && all.iter().any(|event| event["ph"] == "M" && event["args"]["name"] == "actor");
    is_right.then_some(()).ok_or_else(|| format!("expected: a duration for each call, seen {seen:?}"))
}
