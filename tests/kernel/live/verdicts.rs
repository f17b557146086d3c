//! Verdicts against the kernel: what is called ok is accepted and lands there, what is refused is refused.
//!
//! A sample is tried, another one in each run. `PROBEIDX_SEED` repeats one; `PROBEIDX_LIVE` is how many addresses to
//! try, or `all`: a thousand requests take a second or two on each processor.
use super::boot::{Answer, Machine, Request, What};
use super::sample::{self, Place};
use crate::installed::{self, Kernel, needed, wanted};
use crate::sample::seed;
use probeidx::query::verdict::{Judge, Verdicts};
use probeidx::query::{Index, symbols};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SymbolRecord;
use std::collections::BTreeMap;

/// Enough for about 6,000 requests.
const ADDRESSES: usize = 1800;

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
fn verdicts_are_those_of_the_installed_kernel() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    verdicts_hold(&kernel);
}

#[test]
fn verdicts_are_those_of_a_newer_kernel() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    verdicts_hold(&kernel);
}

#[test]
fn verdicts_are_those_of_arm64_kernels() {
    let Some(kernels) = wanted(installed::arm64()) else { return };
    kernels.iter().for_each(verdicts_hold);
}

#[test]
fn verdicts_are_those_of_riscv64_kernels() {
    let Some(kernels) = wanted(installed::riscv64()) else { return };
    kernels.iter().for_each(verdicts_hold);
}

fn verdicts_hold(kernel: &Kernel) {
    let machine = Machine::new(kernel).and_then(|m| m.modules(kernel, &MODULES));
    let Some(machine) = needed(machine) else { return };
    let cannot_register = machine.cannot_register();
    if let Some(why) = cannot_register {
        installed::say(&format!("skipped: register_kprobe on {}: {why}", kernel.release));
    }
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let is_loaded = loaded(&machine);
    let objects = objects(&view, &is_loaded);
    assert!(objects.len() > MODULES_AT_LEAST, "only {} modules are loaded: {is_loaded:?}", objects.len() - 1);

    let count = match std::env::var("PROBEIDX_LIVE") {
        Ok(wish) if wish == "all" => None,
        Ok(wish) => Some(wish.parse().expect("PROBEIDX_LIVE is a number or `all`")),
        Err(_) => Some(ADDRESSES),
    };
    let seed = seed();
    let places = sample::places(&view, &objects, count, seed);
    let mut trials = vec![];
    let judge = Judge::new(view);
    for place in places.into_iter().filter(|p| !sample::ends_the_text(&view, *p)) {
        trials.extend(Trial::all(&view, place, judge.verdicts(place.object, place.pc, place.is_inline)));
    }
    trials.retain(|t| cannot_register.is_none() || matches!(t.request, Request::Define { .. }));

    let requests: Vec<Request> = trials.iter().map(|t| t.request.clone()).collect();
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let mut counts = BTreeMap::<_, usize>::new();
    let mut disagreements = vec![];
    for (trial, answer) in trials.iter().zip(&answers.answers) {
        let outcome = trial.outcome(answer);
        *counts.entry((trial.mechanism, trial.verdict, outcome)).or_default() += 1;
        if outcome == Outcome::Disagrees {
            disagreements.push(format!("{trial}: {answer}"));
        }
    }
    let release = &kernel.release;
    installed::say(&format!(
        "{release}: {} placements in {} objects, PROBEIDX_SEED={seed}",
        trials.len(),
        objects.len()
    ));
    for ((mechanism, verdict, outcome), count) in &counts {
        installed::say(&format!("  {mechanism:14} {verdict:24} {outcome:?} {count}"));
    }
    let shown = disagreements.iter().take(40).map(|d| format!("\n  {d}")).collect::<String>();
    assert!(
        disagreements.is_empty(),
        "{release}, PROBEIDX_SEED={seed}: {} of {} disagree:{shown}",
        disagreements.len(),
        trials.len()
    );
}

/// The modules that a boot without requests finds to load.
fn loaded(machine: &Machine) -> BTreeMap<String, i32> {
    let answers = machine.boot(&[]).unwrap_or_else(|e| panic!("{e}"));
    answers.modules.into_iter().collect()
}

/// vmlinux, then the modules that are loaded.
fn objects(view: &View<'_>, is_loaded: &BTreeMap<String, i32>) -> Vec<ObjectId> {
    let name = |object: &ObjectId| {
        view.objects.get(object.index()).map(|o| String::from_utf8_lossy(view.string(o.name)).into_owned())
    };
    let mut found: Vec<(String, ObjectId)> = view
        .object_ids()
        .filter_map(|object| Some((name(&object)?, object)))
        .filter(|(name, _)| name.is_empty() || is_loaded.get(name) == Some(&0))
        .collect();
    found.sort_unstable();
    assert!(found.first().is_some_and(|(name, _)| name.is_empty()), "the index has no vmlinux");
    found.into_iter().map(|(_, object)| object).collect()
}

/// A mechanism asked for one address.
struct Trial {
    mechanism: &'static str,
    verdict: &'static str,
    symbol: String,
    /// An ftrace site lies within the symbol, if not at its entry: that of a function behind it which lost at link time.
    /// ftrace takes the start of the symbol for that site.
    has_foreign_site: bool,
    request: Request,
}

/// How a verdict stands to what the kernel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Agrees,
    /// The verdict leaves it open.
    Open,
    /// The kernel accepts what is of no use.
    Stricter,
    Disagrees,
}

impl Trial {
    fn all(view: &View<'_>, place: Place, verdicts: Verdicts) -> Vec<Self> {
        let Some(address) = sample::address(view, place) else { return vec![] };
        let held = symbols::holding(view, place.object, place.pc);
        let symbol = held.map_or_else(String::new, |held| {
            format!("{}+{:#x}", String::from_utf8_lossy(view.string(held.record.name)), held.offset)
        });
        let has = |flag| held.is_some_and(|h| h.record.has(flag));
        let has_foreign_site = has(SymbolRecord::TRACED) && !has(SymbolRecord::FTRACE_ENTRY);
        let trial = |mechanism, verdict, request| {
            let symbol = symbol.clone();
            Self { mechanism, verdict, symbol, has_foreign_site, request }
        };
        let register = |what| Request::Register { what, address: address.clone() };
        let mut trials = vec![];
        // An inlined copy has no entry and no return; the function that may start at its address is another matter.
        let is_function = !place.is_inline;
        if !sample::is_freed(&address) {
            trials.push(trial("kprobe", verdicts.kprobe.name(), register(What::Kprobe)));
            // ftrace takes any address within a site for the site.
            if is_function && held.is_some_and(|h| h.offset == 0) {
                trials.push(trial("fentry", verdicts.fentry.name(), register(What::Ftrace)));
            }
        }
        if let Some(anchor) = symbols::anchor(view, place.object, place.pc) {
            let define =
                |event: &str| Request::Define { line: format!("{event} {anchor}"), expect: address.clone() };
            trials.push(trial("kprobe_events", verdicts.kprobe_events.name(), define("p:probeidx/p")));
            if is_function {
                trials.push(trial("kretprobe", verdicts.kretprobe.name(), define("r:probeidx/r")));
            }
        }
        trials
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        let is_accepted = answer.errno == 0 && answer.landed.as_ref().is_some_and(|l| l.is_as_wanted());
        let errors: &[i32] = match self.verdict {
            // EINVAL within a return that was patched: the bytes behind it are breakpoints (up to v6.8).
            "not-boundary" => &[EILSEQ, EINVAL],
            // What nothing reaches may be padding, which is breakpoints.
            "dead-code" | "discarded" => &[EILSEQ, EINVAL],
            // The symbol is gone with the code; without CONFIG_KALLSYMS_ALL exit code had none.
            "init-text" | "exit-text" => &[ENOENT, EINVAL],
            "patched" | "undecided" | "unsupported-instruction" => &[EINVAL, EILSEQ, EOPNOTSUPP],
            _ => &[EINVAL],
        };
        let is_refused = errors.contains(&answer.errno);
        match self.verdict {
            "ok" if is_accepted => Outcome::Agrees,
            "ok" => Outcome::Disagrees,
            "patched" | "undecided" if is_accepted || is_refused => Outcome::Open,
            // Nothing there ever runs, or there is no return to be seen.
            "dead-code" | "discarded" | "no-symbol" if is_accepted => Outcome::Stricter,
            "no-ftrace-site" if is_accepted && self.mechanism == "fentry" && self.has_foreign_site => {
                Outcome::Stricter
            }
            "not-entry" if is_accepted && self.symbol.ends_with(".cold+0x0") => Outcome::Stricter,
            _ if is_refused => Outcome::Agrees,
            _ => Outcome::Disagrees,
        }
    }
}

const ENOENT: i32 = 2;
const EINVAL: i32 = 22;
const EILSEQ: i32 = 84;
const EOPNOTSUPP: i32 = 95;

impl std::fmt::Display for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} at {}: {}", self.mechanism, self.verdict, self.symbol, self.request)
    }
}
