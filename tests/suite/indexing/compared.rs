//! Debug information and BTF of one kernel: `stats` tells where they differ. BTF is what the kernel itself goes by.
use crate::support::fixture::{Tree, run_all};
use crate::support::image::Image;
use crate::support::program::Indexed;
use crate::support::tables::{self, OLD, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// A kernel and its module with both; `None` and a word without pahole.
fn with_both() -> Option<Tree> {
    if let Err(why) = Command::new("pahole").arg("--version").output() {
        eprintln!("skipped: cannot run pahole: {why}");
        return None;
    }
    let tree = OLD.compile();
    let (vmlinux, module) = (OLD.vmlinux(&tree), OLD.module(&tree));
    let mut c = Command::new("pahole");
    c.arg("-J").arg(&vmlinux);
    run_all([c]);
    let mut c = Command::new("pahole");
    c.args(["-J", "--btf_base"]).args([&vmlinux, &module]);
    run_all([c]);
    Some(tree)
}

/// Puts another name in the place of a whole one, as long as it, among the strings of a kernel's BTF, if it is there.
fn rename(tree: &Tree, from: &str, to: &str) -> bool {
    let vmlinux = OLD.vmlinux(tree);
    let mut image = Image::read(&vmlinux);
    let btf = image.section(".BTF").bytes;
    let (from, to) = (format!("\0{from}\0"), format!("\0{to}\0"));
    let found = image.0[btf.clone()].windows(from.len()).position(|w| w == from.as_bytes());
    if let Some(at) = found {
        image.put(btf.start + at, to.as_bytes());
        image.write(&vmlinux);
    }
    found.is_some()
}

fn stats(indexed: &Indexed) -> Value {
    indexed.json(&["stats", "--btf"]).remove(0)
}

fn differences(stats: &Value) -> BTreeSet<(String, String)> {
    let all = stats["differences"].as_array().unwrap().iter();
    all.map(|d| (text(d, "name").to_owned(), text(d, "btf").to_owned())).collect()
}

#[test]
fn what_btf_tells_otherwise_is_named() {
    let Some(tree) = with_both() else { return };
    let whole = tables::index(tree);
    let told = stats(&whole);
    let count = |told: &Value, what: &str| told["btf"][what].as_u64().unwrap();
    assert!(count(&told, "same") > 10, "{told}");
    // What pahole 1.24 leaves out of such a small kernel.
    let left_out = differences(&told);
    assert!(left_out.len() < 3 && left_out.iter().all(|(_, what)| what == "missing"), "{left_out:?}");

    // A function, and the functions that have a parameter of one name.
    let entries: Vec<Value> = whole.json(&["find", "*"]);
    let entries = || {
        entries.iter().filter(|p| p["instance"] == "out-of-line" && p["offset"].as_u64().unwrap_or(0) == 0)
    };
    let parameters = |place: &Value| -> BTreeSet<String> {
        let vars = place["vars"].as_array().unwrap().iter().filter(|v| v["kind"] == "param");
        vars.map(|v| text(v, "name").to_owned()).collect()
    };
    let renamed = entries().flat_map(&parameters).max_by_key(String::len).unwrap();
    let is_told = |name: &&str| !left_out.iter().any(|(left_out, _)| left_out == name);
    let with_renamed = entries().filter(|p| parameters(p).contains(&renamed));
    let changed: Vec<&str> = with_renamed.map(|p| text(p, "function")).filter(is_told).collect();
    let gone = changed[0];

    let tree = with_both().unwrap();
    assert!(rename(&tree, gone, &gone.to_uppercase()) && rename(&tree, &renamed, &renamed.to_uppercase()));
    let told = stats(&tables::index(tree));
    let mut due: BTreeSet<_> =
        changed[1..].iter().map(|name| ((*name).to_owned(), "changed".to_owned())).collect();
    assert!(!due.is_empty());
    due.extend(left_out.into_iter().chain([(gone.to_owned(), "missing".to_owned())]));
    assert_eq!(differences(&told), due);
    assert_eq!(count(&told, "changed") + count(&told, "missing"), due.len() as u64);
}

#[test]
fn without_both_nothing_is_compared() {
    let told = stats(&OLD.index());
    assert!(told["btf"].is_null() && differences(&told).is_empty(), "{told}");
}
