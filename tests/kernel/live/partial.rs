//! What a probe by name misses of a function that is inlined in part, by events: its entry is run as often as the calls that
//! the index has of it, and what `check` says it misses are copies that run without it.
use super::boot::{Machine, Request};
use crate::installed::{self, Kernel, needed, say};
use probeidx::query::Index;
use probeidx::query::index::functions::{self, Scope};
use probeidx::query::index::{instructions, symbols};
use probeidx::query::spec::ModuleScope;
use probeidx::query::verdict::{Judge, coverage};
use probeidx_format::View;
use probeidx_format::id::{FunctionId, ObjectId};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::Command;

/// What the action runs through.
const FOLDERS: [&str; 9] =
    ["fs/", "kernel/", "mm/", "security/", "net/core/", "net/unix/", "block/", "ipc/", "include/"];

/// The calls and copies of a function, at most.
const MOST: usize = 100;

/// Of these, calls and copies are both run.
const AT_LEAST: usize = 8;

#[test]
fn entries_are_run_by_direct_calls_and_copies_without_them() {
    installed::on_one(holds);
}

/// A function that has an entry and copies; places that can be probed.
struct Partial<'a> {
    name: &'a str,
    entry: String,
    /// All of vmlinux.
    calls: Vec<String>,
    copies: Vec<String>,
    /// How many calls and copies there are, with those of modules and those that cannot be probed.
    of: (usize, usize),
}

/// How often each was run.
#[derive(Default)]
struct Runs {
    entry: u64,
    calls: u64,
    copies: BTreeMap<usize, u64>,
}

fn holds(kernel: &Kernel) {
    if !kernel.has_debug_information() {
        return;
    }
    let Some(machine) = needed(Machine::new(kernel)) else { return };
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let traced = |lines: Vec<String>| {
        let answers = machine.boot(&[Request::Trace { lines, action: "several" }]);
        let answer = answers.unwrap_or_else(|e| panic!("{e}")).answers.swap_remove(0);
        assert_eq!(answer.errno, 0, "{}", kernel.release);
        runs(&answer.traced)
    };
    let all = partials(&view);
    let numbered = all.iter().enumerate();
    let of_entries = traced(numbered.map(|(n, one)| one.definition("e", n, 0, &one.entry)).collect());
    let of = all.len();
    let is_run = |(number, one)| of_entries.contains_key(&number).then_some(one);
    let watched: Vec<_> = all.into_iter().enumerate().filter_map(is_run).collect();
    let numbered = watched.iter().enumerate();
    let runs = traced(numbered.flat_map(|(number, one)| one.definitions(number)).collect());
    let said = said(kernel, &watched);
    let (mut wrong, mut both, mut otherwise) = (String::new(), vec![], vec![]);
    for (number, runs) in &runs {
        let Partial { name, of, .. } = &watched[*number];
        if runs.calls > runs.entry || said[*name] != *of {
            let Runs { entry, calls, .. } = runs;
            let said = said[*name];
            let _ = write!(
                wrong,
                "\n  {name}: its entry is run {entry} times, by {calls} calls; calls and copies: {of:?}, said {said:?}"
            );
        }
        if runs.calls != runs.entry {
            otherwise.push(*name);
        } else if runs.entry > 0 && !runs.copies.is_empty() {
            both.push(format!("{name} {}, {} in copies", runs.entry, runs.copies.values().sum::<u64>()));
        }
    }
    say(&format!(
        "  {}: of {of} functions the entries of {} are run; copies too: {both:?}; other calls too: {otherwise:?}",
        kernel.release,
        watched.len(),
    ));
    assert!(wrong.is_empty(), "{}:{wrong}", kernel.release);
    assert!(both.len() >= AT_LEAST, "{}: too few: {both:?}", kernel.release);
    // What is called through a pointer.
    assert!(otherwise.len() * 4 < watched.len(), "{}: {otherwise:?}", kernel.release);
}

/// By the number of the function.
fn runs(events: &[String]) -> BTreeMap<usize, Runs> {
    let mut runs = BTreeMap::<usize, Runs>::new();
    for event in events {
        let name = event.split(':').next().unwrap_or_default();
        let (number, nth) = name[1..].split_once('_').expect("a name of ours");
        let of = runs.entry(number.parse().expect("a function")).or_default();
        match &name[..1] {
            "e" => of.entry += 1,
            "c" => of.calls += 1,
            _ => *of.copies.entry(nth.parse().expect("a copy")).or_default() += 1,
        }
    }
    runs
}

impl Partial<'_> {
    fn definitions(&self, number: usize) -> Vec<String> {
        let all = [("e", std::slice::from_ref(&self.entry)), ("c", &self.calls), ("i", &self.copies)];
        let each = all.into_iter().flat_map(|(letter, places)| {
            places.iter().enumerate().map(move |(nth, place)| self.definition(letter, number, nth, place))
        });
        each.collect()
    }

    fn definition(&self, letter: &str, number: usize, nth: usize, place: &str) -> String {
        format!("p:probeidx/{letter}{number}_{nth} {place}")
    }
}

/// All of the kernel, of which every place can be probed.
fn partials<'a>(view: &'a View<'a>) -> Vec<Partial<'a>> {
    let judge = Judge::new(view);
    let object = functions::kernel(view).expect("vmlinux is indexed");
    let all = (0..view.functions.owners().len() as u32).map(FunctionId::new);
    all.filter_map(|id| partial(view, &judge, object, id)).collect()
}

fn partial<'a>(
    view: &'a View<'a>,
    judge: &Judge<'_, '_>,
    object: ObjectId,
    id: FunctionId,
) -> Option<Partial<'a>> {
    let record = view.functions.get(id.index())?;
    let file = view.string(record.file);
    let name = std::str::from_utf8(view.string(record.name)).ok()?;
    if !FOLDERS.iter().any(|folder| file.starts_with(folder.as_bytes())) {
        return None;
    }
    // One function of the name, in vmlinux alone.
    let declarations = functions::declarations(view, view.name(name.as_bytes())?, None);
    let [declaration] = &declarations[..] else { return None };
    let (mut entries, mut copies) = (BTreeSet::new(), BTreeSet::new());
    functions::places(
        view,
        declaration,
        &Scope::new(view, &ModuleScope::Any),
        &mut vec![],
        |object, places| {
            for place in places {
                let pc = place.record.entry.get();
                match place.is_inline(view) {
                    _ if !judge.is_running(object, pc) => {}
                    false => drop(entries.insert((object, pc))),
                    true if !coverage::is_nested(view, *place) => drop(copies.insert((object, pc))),
                    true => {}
                }
            }
        },
    );
    let [(of, entry)] = entries.into_iter().collect::<Vec<_>>()[..] else { return None };
    let held = symbols::holding(view, object, entry)?;
    let is_named = held.offset == 0 && view.string(held.record.name) == name.as_bytes();
    if of != object || !is_named || copies.is_empty() {
        return None;
    }
    // What jumps conditionally is run without calling.
    let all_calls: Vec<_> = view.calls(id).collect();
    if all_calls.is_empty()
        || all_calls.iter().any(|call| call.is_tail)
        || all_calls.len().max(copies.len()) > MOST
    {
        return None;
    }
    let place = |pc: u32, is_inline| {
        let verdicts = judge.verdicts(object, pc, is_inline);
        let anchor = symbols::anchor(view, object, pc + verdicts.shift);
        let is_ok = verdicts.definition(false).is_ok();
        Some(anchor.filter(|anchor| is_ok && anchor.is_definable())?.to_string())
    };
    let of = (all_calls.len(), copies.len());
    // No module is loaded.
    let calls = all_calls.iter().filter(|call| call.object == object);
    let calls = calls.map(|call| place(instructions::start_of(view, object, call.pc.get())?, true));
    let copies = copies.iter().filter(|copy| copy.0 == object).filter_map(|copy| place(copy.1, true));
    Some(Partial {
        name,
        entry: place(entry, false)?,
        calls: calls.collect::<Option<_>>()?,
        copies: copies.collect(),
        of,
    })
}

/// What `check` says of probes by the names: how many calls they see, and how many copies they miss.
fn said<'w>(kernel: &Kernel, watched: &'w [Partial<'_>]) -> BTreeMap<&'w str, (usize, usize)> {
    let script = installed::scratch("partial.bt");
    let text: String =
        watched.iter().fold(String::new(), |text, one| text + "kprobe:" + one.name + " { @ = count(); }\n");
    std::fs::write(&script, text).unwrap();
    let mut check = Command::new(installed::program());
    check.args(["check", "--json", "--db"]).arg(installed::index(kernel)).arg(&script);
    let out = check.output().unwrap_or_else(|e| panic!("{e}")).stdout;
    let programs = out.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut said = BTreeMap::new();
    for program in programs.filter(|program| program["program"].is_string()) {
        let finding = &program["findings"][0];
        assert_eq!(finding["state"], "partial", "{program}");
        let words: Vec<&str> = finding["reason"].as_str().unwrap().split(' ').collect();
        // It misses N inlined copies in F functions; it sees M direct calls
        let number = |at: usize| words[at].parse().unwrap_or_else(|_| panic!("{words:?}"));
        let name = program["program"].as_str().unwrap().trim_start_matches("kprobe:");
        let one = watched.iter().find(|one| one.name == name).expect("what was asked");
        said.insert(one.name, (number(10), number(2)));
    }
    said
}
