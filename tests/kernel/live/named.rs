//! Names to attach to against the kernel: perf's kprobes, which BPF uses, take a function by its name.
use super::boot::{Machine, Request};
use crate::installed::{self, Kernel, needed};
use crate::sample::{Random, seed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Of each state; a kernel of 5.10 goes through all symbols for each.
const OF_EACH: usize = 40;

#[test]
fn names_attach_or_do_not_as_is_said() {
    installed::on_one(names_hold);
}

fn names_hold(kernel: &Kernel) {
    if installed::numbers(&kernel.release) < vec![4, 17] {
        return installed::say(&format!("skipped: {}: perf has no kprobes before 4.17", kernel.release));
    }
    let Some(machine) = needed(Machine::new(kernel)) else { return };
    let seed = seed();
    let mut random = Random(seed);
    let mut trials: Vec<(String, &'static str)> = vec![];
    for (state, names) in names(kernel) {
        trials.extend(random.choose(names, OF_EACH).into_iter().map(|name| (name, state)));
    }
    let request = |(function, _): &(String, _)| Request::ByName { function: function.clone() };
    let requests: Vec<Request> = trials.iter().map(request).collect();
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let mut counts = BTreeMap::<_, usize>::new();
    let mut wrong = vec![];
    for ((name, state), answer) in trials.iter().zip(&answers.answers) {
        *counts.entry((*state, answer.errno)).or_default() += 1;
        let agrees = match *state {
            "ok" | "renamed" => answer.errno == 0,
            // 5.10 takes one of them, if kprobes take that.
            "ambiguous" => answer.errno != 0 || kernel.release.starts_with("5."),
            _ => answer.errno != 0,
        };
        if !agrees {
            wrong.push(format!("{name}: {state}, errno {}", answer.errno));
        }
    }
    for ((state, errno), count) in &counts {
        installed::say(&format!("  {}: by name {state:10} errno {errno:3} {count}", kernel.release));
    }
    assert!(wrong.is_empty(), "{}, PROBEIDX_SEED={seed}: {wrong:?}", kernel.release);
    // Only what describes a clone by the function's name makes it another one.
    let has_renamed = counts.keys().any(|(state, _)| *state == "renamed");
    assert!(has_renamed || !kernel.has_debug_information(), "{counts:?}");
}

/// Names of functions of vmlinux that kprobe_events take at their address, by state; and names of functions that have no
/// symbol, as they are inlined everywhere.
fn names(kernel: &Kernel) -> BTreeMap<&'static str, Vec<String>> {
    let index = installed::index(kernel);
    let mut find = Command::new(installed::program());
    find.args(["find", "kernel.function(\"*\")", "--each", "--json", "--db"]).arg(&index);
    let out = find.output().unwrap_or_else(|e| panic!("{e}")).stdout;
    let places = out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let mut found = BTreeMap::<&'static str, Vec<String>>::new();
    for place in places.map(|line| serde_json::from_slice::<Value>(line).unwrap()) {
        let by = &place["by_name"];
        let state = ["ok", "ambiguous", "renamed"].into_iter().find(|state| by["state"] == *state);
        let is_inlined = place["coverage"]["out_of_line"]["instances"] == 0 && by["state"] == "absent";
        let Some(state) = state.or(is_inlined.then_some("absent")) else { continue };
        // No module is loaded that has the name too.
        if place["collides_with"].is_array() {
            continue;
        }
        if is_inlined || place["attach"]["kprobe_events"] == "ok" {
            found.entry(state).or_default().push(by["name"].as_str().unwrap().to_owned());
        }
    }
    found.values_mut().for_each(|names| {
        names.sort_unstable();
        names.dedup();
    });
    // Another function of the name may have a symbol, with or without debug information.
    let with_symbol =
        ["ok", "ambiguous", "renamed"].map(|state| found.get(state).cloned().unwrap_or_default());
    let symbols = super::symbols::of(&kernel.vmlinux, None).unwrap_or_else(|e| panic!("{e}"));
    let has_symbol =
        |name: &String| symbols.contains_key(name) || with_symbol.iter().any(|s| s.contains(name));
    found.entry("absent").or_default().retain(|name| !has_symbol(name));
    found
}
