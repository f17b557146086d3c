//! `find --args` against `stap -L` of the same kernel: the same probe points, and the same variables at each.
//!
//! The order of variables is free: where several placements are merged in a line, SystemTap takes them in the order
//! of their addresses in its own memory, which differs from run to run.
//!
//! At least 99.5 % of all points must agree, and each that does not must be of one of these classes
//! ([`classes::CLASSES`]; SystemTap 4.8):
//!
//! | class | what it is | who is right |
//! | --- | --- | --- |
//! | second label | Assembly with two names for one address and a DIE for each. SystemTap lists the one that it meets first. | both: we list every name |
//!
//! Copied from SystemTap, so that it is no difference:
//!
//! - Among merged placements it counts how often each `$name:type` occurs and prints those that occur as often as
//!   there are placements. One that occurs twice in a placement is lost, or found by chance.
//! - The symbol of a clone that is split in a hot and a cold part is listed although its function is, at the same
//!   address; that of a `.part` although it is left out as a function.
//! - A function that GCC merged with an equal one (`-fipa-icf`), or the stub of a system call that is not built in,
//!   keeps its symbol and some code; its DIE has no address. SystemTap takes the symbol for described by the DIE
//!   (`update_symtab`) and finds nothing at the DIE: by its name the function can not be probed, `no match`. We are
//!   right to know it, and list it under a bare name: `find null_setkey`.
mod aliases;
pub mod classes;
pub mod listing;
mod statements;

use super::installed;
use crate::sample::{seed, some};
use listing::{Difference, Listing};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// First letters of functions, a third of vmlinux each: one third is listed in a run, which takes SystemTap half a minute.
const FUNCTIONS: [&str; 3] = ["[a-f]*", "[g-q]*", "[r-z_0-9A-Z]*"];

/// First letters of modules, a sixth of them each. In their names stap 4.8 takes `-` for `_`, that of a range too: `[g-q]*` has
/// those that start with g, _ or q.
const MODULES: [&str; 6] = ["[abc]*", "[defghij]*", "[klm]*", "[nopq]*", "[rst]*", "[uvwxyz0123456789]*"];

#[test]
fn vmlinux_is_listed_as_stap_lists_it() {
    for letters in some(FUNCTIONS.to_vec(), 1, seed()) {
        agrees(&format!("kernel.function(\"{letters}\")"));
    }
}

#[test]
fn modules_are_listed_as_stap_lists_them() {
    for letters in some(MODULES.to_vec(), 1, seed()) {
        agrees(&format!("module(\"{letters}\").function(\"*\")"));
    }
}

fn agrees(pattern: &str) {
    let Some(kernel) = installed::needed(installed::kernel()) else { return };
    let Some(theirs) = installed::needed(installed::stap_listing(&kernel, pattern)) else { return };
    let ours = find(&installed::index(&kernel), pattern);
    let (ours, theirs) = (Listing::new(&ours), Listing::new(&theirs));
    let repeated: Vec<&str> = ours.repeated().collect();
    assert!(repeated.is_empty(), "listed twice: {repeated:?}");

    let differences = listing::compare(&ours, &theirs);
    let points = theirs.len() + differences.iter().filter(|d| matches!(d, Difference::OnlyOurs(_))).count();
    let agreement = 100.0 * (points - differences.len()) as f64 / points as f64;
    let mut counts = BTreeMap::<_, usize>::new();
    let mut unexplained = vec![];
    for difference in &differences {
        match classes::CLASSES.iter().find(|c| (c.holds)(difference, &ours, &theirs)) {
            Some(class) => *counts.entry(class.name).or_default() += 1,
            None => unexplained.push(difference),
        }
    }
    installed::say(&format!(
        "{} {pattern}: {points} points, {agreement:.3} % agree with stap -L; of {} that do not: {counts:?}",
        kernel.release,
        differences.len(),
    ));
    let shown: String = unexplained.iter().take(20).map(|d| format!("\n{d}")).collect();
    assert!(unexplained.is_empty(), "{} differences in no class:{shown}", unexplained.len());
    assert!(agreement >= 99.5, "{agreement:.3} %");
}

pub fn find(index: &Path, pattern: &str) -> String {
    let found = Command::new(installed::program())
        .args(["find", "--args", pattern, "--db"])
        .arg(index)
        .output()
        .expect("probeidx can be run");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).expect("names are ASCII")
}
