//! Verdicts against the kernel: what is called ok is accepted and lands there, what is refused is refused; and its lists.
//!
//! A sample is tried, another one in each run. `PROBEIDX_SEED` repeats one; `PROBEIDX_LIVE` is how many addresses to
//! try, or `all`: a thousand requests take a second or two on each processor.
use super::boot::{Address, Answers, Machine, Request};
use super::row::Row;
use super::sample::{self, Place};
use super::trial::{EINVAL, Outcome, Trial};
use super::{entries, listed, traced};
use crate::installed::{self, Kernel, needed};
use crate::sample::{Random, seed};
use probeidx::query::Index;
use probeidx::query::verdict::Judge;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Enough for about 2,000 requests, and twice as many of what the tables of the kernel name. `scripts/test --kernels` tries more.
const ADDRESSES: usize = 600;

/// Modules that come up in the machine, of many kinds of code. Those that they need are tried too.
const MODULES: [&str; 16] = [
    "overlay",
    "libnvdimm",
    "kvm",
    "kvm_amd",
    "nfsd",
    "nfs",
    "xfs",
    "btrfs",
    "dm_crypt",
    "dm_thin_pool",
    "dm_snapshot",
    "raid10",
    "fuse",
    "ceph",
    "squashfs",
    "udf",
];
/// Fewer would prove little of modules.
const MODULES_AT_LEAST: usize = 10;

#[test]
fn verdicts_and_lists_are_those_of_the_kernels() {
    installed::on_one(verdicts_hold);
}

fn verdicts_hold(kernel: &Kernel) {
    let machine = Machine::new(kernel).and_then(|m| m.modules(kernel, &MODULES));
    let Some(machine) = needed(machine) else { return };
    let cannot_register = machine.cannot_register().map(str::to_owned);
    if let Some(why) = &cannot_register {
        installed::say(&format!("skipped: register_kprobe on {}: {why}", kernel.release));
    }
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let names: BTreeSet<&str> = machine.module_names().collect();
    let objects = objects(&view, &names);

    let count = match std::env::var("PROBEIDX_LIVE") {
        Ok(wish) if wish == "all" => None,
        Ok(wish) => Some(wish.parse().expect("PROBEIDX_LIVE is a number or `all`")),
        // 5.10.238 goes through all symbols for each definition: a tenth of a second in an emulator.
        Err(_) => Some(if kernel.release.starts_with("5.") { ADDRESSES / 3 } else { ADDRESSES }),
    };
    let seed = seed();
    let mut places: Vec<Place> = sample::places(&view, &objects, count, seed);
    let kinds = entries::places(kernel, &view, &machine, &objects, count, &mut Random(seed));
    places.extend(kinds.values().flatten());
    places.sort_unstable();
    places.dedup_by_key(|p| (p.object, p.pc));
    let mut trials = vec![];
    let judge = Judge::new(&view);
    for place in places.into_iter().filter(|p| !sample::ends_the_text(&view, *p)) {
        trials.extend(Trial::all(&view, place, judge.verdicts(place.object, place.pc, place.is_inline)));
    }
    // Probes of several places may land at one.
    let mut asked = BTreeSet::new();
    trials.retain(|t| asked.insert((t.mechanism, t.address.clone())));
    trials.retain(|t| cannot_register.is_none() || matches!(t.request, Request::Define { .. }));

    let definitions = listed::definitions(kernel);
    let requests = trials.iter().map(|t| &t.request).chain(&definitions).cloned().collect::<Vec<_>>();
    let answers = machine.print(traced::LIST).boot(&requests).unwrap_or_else(|e| panic!("{e}"));

    let freed_bugs = sample::freed_bugs(&view, &objects[1..]);
    let mut failures = compare(kernel, &trials, &answers, &freed_bugs, seed);
    for (kind, places) in &kinds {
        installed::say(&format!("  {kind}: {} placements at and near what it names", places.len()));
    }
    let loaded: BTreeSet<&str> = loaded(&answers).collect();
    let of_definitions = &answers.answers[trials.len()..];
    failures += &listed::stand(kernel, &definitions, of_definitions, |address| is_there(&loaded, address));
    failures += &listed::blacklist_is(kernel, &answers);
    let objects = self::objects(&view, &loaded);
    failures += &traced::is_listed(kernel, &view, &objects, &answers);
    assert!(failures.is_empty(), "{}, PROBEIDX_SEED={seed}:{failures}", kernel.release);
    assert!(
        kernel.is_own_build() || objects.len() > MODULES_AT_LEAST,
        "too few of these modules are loaded: {:?}",
        answers.modules
    );
}

/// What disagrees; the rest is counted, said and put into the table.
fn compare(
    kernel: &Kernel,
    trials: &[Trial],
    answers: &Answers,
    freed_bugs: &BTreeSet<u64>,
    seed: u64,
) -> String {
    // It refuses kprobes of all kinds. A module's text is loaded first, at the start of a page, as init code was.
    let may_be_left_over = |trial: &Trial| match &trial.address {
        Address::Module { section, offset, .. } => {
            section == ".text"
                && trial.verdict == "ok"
                && trial.mechanism != "fentry"
                && freed_bugs.contains(&(offset % 4096))
        }
        Address::Kernel(_) => false,
    };
    let loaded: BTreeSet<&str> = loaded(answers).collect();
    let mut counts = BTreeMap::<_, usize>::new();
    let mut row = Row::default();
    let mut disagreements = vec![];
    let mut places = BTreeSet::new();
    for (trial, answer) in trials.iter().zip(&answers.answers).filter(|(t, _)| is_there(&loaded, &t.address))
    {
        let outcome = match trial.outcome(answer) {
            Outcome::Disagrees if answer.errno == EINVAL && may_be_left_over(trial) => Outcome::Open,
            outcome => outcome,
        };
        places.insert(&trial.address);
        row.count(trial, outcome);
        *counts.entry((trial.mechanism, trial.verdict, outcome)).or_default() += 1;
        if outcome == Outcome::Disagrees {
            disagreements.push(format!("{trial}: {answer}"));
        }
    }
    row.placements = places.len();
    row.write(kernel);
    let objects = loaded.len() + 1;
    let release = &kernel.release;
    installed::say(&format!(
        "{release}: {} placements in {objects} objects, PROBEIDX_SEED={seed}",
        places.len()
    ));
    for ((mechanism, verdict, outcome), count) in &counts {
        installed::say(&format!("  {mechanism:14} {verdict:24} {outcome:?} {count}"));
    }
    let mut text = String::new();
    if !disagreements.is_empty() {
        let _ = write!(text, "\n{} of {} verdicts disagree:", disagreements.len(), trials.len());
        disagreements.iter().take(40).for_each(|d| text.extend(["\n  ", d]));
    }
    text
}

fn loaded(answers: &Answers) -> impl Iterator<Item = &str> {
    answers.modules.iter().filter(|(_, errno)| *errno == 0).map(|(name, _)| name.as_str())
}

fn is_there(loaded: &BTreeSet<&str>, address: &Address) -> bool {
    match address {
        Address::Kernel(_) => true,
        Address::Module { module, .. } => loaded.contains(module.as_str()),
    }
}

/// vmlinux, then these modules.
fn objects(view: &View<'_>, modules: &BTreeSet<&str>) -> Vec<ObjectId> {
    let name = |object: &ObjectId| view.objects.get(object.index()).map(|o| view.string(o.name));
    let is_wanted = |name: &[u8]| std::str::from_utf8(name).is_ok_and(|name| modules.contains(name));
    let mut found: Vec<(&[u8], ObjectId)> = view
        .object_ids()
        .filter_map(|object| Some((name(&object)?, object)))
        .filter(|(name, _)| name.is_empty() || is_wanted(name))
        .collect();
    found.sort_unstable();
    assert!(found.first().is_some_and(|(name, _)| name.is_empty()), "the index has no vmlinux");
    found.into_iter().map(|(_, object)| object).collect()
}
