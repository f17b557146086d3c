//! `find --args` against `stap -L` of the C library: the same probe points, and the same variables at each.
//!
//! Differences beside those of the kernel's listings (`agreement`):
//!
//! | class | what it is | who is right |
//! | --- | --- | --- |
//! | second symbol | Two symbols of one address that the debug information does not describe: each lists one | both |
use crate::agreement::listing::{self, Difference, Listing, parts};
use crate::agreement::{classes, find};
use crate::installed;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARIES: [&str; 2] = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"];

#[test]
fn the_c_library_is_listed_as_stap_lists_it() {
    let Some(library) = installed::wanted(library()) else { return };
    let Some(index) = installed::wanted(indexed(&library)) else { return };
    for suffix in ["", ".call", ".inline"] {
        let pattern = format!("process(\"{}\").function(\"*\"){suffix}", library.display());
        let Some(theirs) = installed::wanted(stap(&pattern)) else { return };
        agrees(&pattern, &find(&index, &pattern), &theirs, &addresses(&index));
    }
    for name in ["mallo*", "malloc", "qsort_r", "memcpy_*", "free*@malloc.c"] {
        let pattern = format!("process(\"{}\").function(\"{name}\")", library.display());
        let Some(theirs) = installed::wanted(stap(&pattern)) else { return };
        agrees(&pattern, &find(&index, &pattern), &theirs, &addresses(&index));
    }
}

fn agrees(pattern: &str, ours: &str, theirs: &str, addresses: &HashMap<String, u64>) {
    let (ours, theirs) = (Listing::new(ours), Listing::new(theirs));
    let mut counts = BTreeMap::<_, usize>::new();
    let mut unexplained = vec![];
    let differences = listing::compare(&ours, &theirs);
    for difference in &differences {
        let class = classes::CLASSES.iter().find(|c| (c.holds)(difference, &ours, &theirs)).map(|c| c.name);
        let second = || second_symbol(difference, addresses).then_some("second symbol");
        match class.or_else(second) {
            Some(name) => *counts.entry(name).or_default() += 1,
            None => unexplained.push(difference.to_string()),
        }
    }
    assert!(
        unexplained.is_empty(),
        "{pattern}: {} differences in no class: {unexplained:#?}",
        unexplained.len()
    );
    installed::say(&format!("{pattern}: {} points, of which differ: {counts:?}", theirs.len()));
}

/// A name without a place that is one of several at its address.
fn second_symbol(difference: &Difference<'_>, addresses: &HashMap<String, u64>) -> bool {
    let (Difference::OnlyOurs(point) | Difference::OnlyTheirs(point)) = difference else { return false };
    let Some((_, name, None)) = parts(point) else { return false };
    let address = addresses.get(name);
    address.is_some() && addresses.values().filter(|a| Some(*a) == address).count() > 1
}

/// The functions of the symbol table.
fn addresses(index: &Path) -> HashMap<String, u64> {
    let index = probeidx::query::Index::open(index).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let functions = view.symbols.iter().filter(|s| s.is_function());
    functions
        .map(|s| (String::from_utf8_lossy(view.string(s.name)).into_owned(), s.pc.get().into()))
        .collect()
}

fn library() -> Result<PathBuf, String> {
    let found = LIBRARIES.iter().find_map(|path| Path::new(path).canonicalize().ok());
    found.ok_or_else(|| "no C library where it is looked for".to_owned())
}

/// The index of the library, with its debug information.
fn indexed(library: &Path) -> Result<PathBuf, String> {
    let folder = installed::scratch("index-user");
    let ran = Command::new(installed::program())
        .args(["build", "--user", "--force", "--json", "--progress", "never", "--db"])
        .args([&folder, library])
        .output()
        .expect("probeidx can be run");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
    if said.contains("no debug information") {
        return Err(format!("no debug information of {}: install libc6-dbg", library.display()));
    }
    let line: serde_json::Value = serde_json::from_slice(&ran.stdout).map_err(|e| e.to_string())?;
    line["index"].as_str().map(PathBuf::from).ok_or_else(|| "no index".to_owned())
}

/// What `stap -L` prints. Without a kernel to build for it prints nothing.
fn stap(pattern: &str) -> Result<String, String> {
    let kernel = installed::kernel()?;
    let ran = Command::new("stap").args(["-r", &kernel.release, "-L", pattern]).output();
    let ran = ran.map_err(|e| format!("cannot run stap: {e}"))?;
    if !ran.status.success() || ran.stdout.is_empty() {
        return Err(format!("stap -L '{pattern}' failed: {}", String::from_utf8_lossy(&ran.stderr).trim()));
    }
    String::from_utf8(ran.stdout).map_err(|e| e.to_string())
}
