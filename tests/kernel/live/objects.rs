//! BPF programs against the kernel: libbpf loads and attaches each, and `check` has foretold what becomes of it.
//!
//! The programs are those of Debian's `libbpf-tools`: what is installed, and what is unpacked in a folder of
//! target/tmp/libbpf-tools; or in the folder `$PROBEIDX_OBJECTS`. And families of small ones, of tests/fixtures/bpf, a file for
//! each rule. `scripts/prove` tries files that are given.
use super::outcomes::{self, Agreement, Class, Outcome, unexplained};
use super::parts;
use crate::installed::{self, Architecture, Kernel, say, wanted};
use std::path::{Path, PathBuf};
use std::process::Command;

const CLASSES: [Class<Outcome>; 4] = [
    // Its section names no place, or one of user space that only the tool knows: the tool attaches it itself. libbpf has loaded it.
    Class {
        name: "attached by the tool",
        holds: |o| o.loaded.stage == "attach" && o.loaded.errno == EOPNOTSUPP && o.why().is_empty(),
    },
    // It is to be placed in a program or module that neither the index nor the machine has, and `check` says that.
    Class { name: "not indexed", holds: |o| o.state == "unindexed" },
    // `check` notes which module has to be loaded, and none is.
    Class { name: "module not loaded", holds: |o| o.needs_module && o.loaded.errno != 0 },
    // Of a name that several functions have, the kernel takes one: the program runs, and not where it is meant to.
    Class { name: "one of several", holds: |o| o.state == "ambiguous" && o.loaded.errno == 0 },
];

/// Of all programs.
const AS_FORETOLD: f64 = 0.99;
const UNDECIDED: f64 = 0.03;

const EOPNOTSUPP: i32 = 95;

/// Of the fixtures, for each state, on x86-64: this many are foretold.
const OF_EACH_STATE: usize = 20;
const STATES: [&str; 13] = [
    "ok",
    "partial",
    "event-field",
    "field",
    "argument",
    "renamed",
    "ambiguous",
    "no-site",
    "trampoline",
    "inlined",
    "absent",
    "helper",
    "loader",
];

#[test]
fn programs_do_what_check_foretells() {
    installed::on_each(|kernel| {
        let Some(files) = wanted(tools()) else { return };
        let Some(outcomes) = foretold(kernel, &files) else { return };
        let works = outcomes.iter().filter(|outcome| outcome.loaded.errno == 0).count();
        assert!(
            works * 10 > outcomes.len() * 3,
            "{}: only {works} of {} work",
            kernel.release,
            outcomes.len()
        );
    });
}

#[test]
fn fixtures_of_each_rule_do_what_check_foretells() {
    installed::on_each(|kernel| {
        let Some(files) = wanted(fixtures()) else { return };
        let Some(outcomes) = foretold(kernel, &files) else { return };
        // Registers and system calls in them are those of x86-64.
        if kernel.architecture != Architecture::X86_64 {
            return;
        }
        let count = |state: &str| outcomes.iter().filter(|outcome| outcome.state == state).count();
        // No instruction calls a kfunc before 5.13: that is said of most.
        let has_kfuncs = installed::numbers(&kernel.release) >= vec![5, 13];
        let states = STATES.into_iter().chain(has_kfuncs.then_some("kfunc"));
        let few: Vec<_> =
            states.map(|state| (state, count(state))).filter(|(_, n)| *n < OF_EACH_STATE).collect();
        assert!(few.is_empty(), "{}: too few of these to tell: {few:?}", kernel.release);
        let in_modules = outcomes.iter().filter(|outcome| outcome.needs_module).count();
        assert!(in_modules >= OF_EACH_STATE, "{}: {in_modules} in modules", kernel.release);
    });
}

/// What became of the programs of files on a kernel, which is as foretold: no `ok` is wrong, almost nothing else is, and little is
/// undecided.
fn foretold(kernel: &Kernel, files: &[PathBuf]) -> Option<Vec<Outcome>> {
    if kernel.is_own_build() {
        say(&format!("skipped: {}: it has no BTF", kernel.release));
        return None;
    }
    let outcomes = wanted(outcomes::of_files(kernel, &[], files))?;
    let wrong = unexplained(&kernel.release, &outcomes, Outcome::agreement, &CLASSES);
    let listed: String = wrong.iter().map(|outcome| format!("\n{outcome}")).collect();
    let count = |agreement| wrong.iter().filter(|o| o.agreement() == agreement).count();
    assert_eq!(count(Agreement::WrongOk), 0, "{}: these fail:{listed}", kernel.release);
    let share = |count: usize| count as f64 / outcomes.len() as f64;
    let undecided = count(Agreement::Undecided);
    assert!(share(undecided) < UNDECIDED, "{}: undecided:{listed}", kernel.release);
    assert!(
        share(outcomes.len() - wrong.len() + undecided) >= AS_FORETOLD,
        "{}: these disagree:{listed}",
        kernel.release
    );
    Some(outcomes)
}

/// The objects of tests/fixtures/bpf, compiled.
fn fixtures() -> Result<Vec<PathBuf>, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bpf");
    let folder = parts::folder("fixtures")?;
    let entries = std::fs::read_dir(&sources).map_err(|e| format!("{}: {e}", sources.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".bpf.c")).collect();
    names.sort();
    let compiled = names.iter().map(|name| {
        let object = folder.join(name.replace(".c", ".o"));
        let mut clang = Command::new("clang");
        clang.args(["-g", "-O2", "-mcpu=v3", "-w", "-target", "bpfel", "-c"]);
        let ran = clang.arg(sources.join(name)).arg("-o").arg(&object).output();
        let ran = ran.map_err(|e| format!("cannot run clang: {e}"))?;
        match ran.status.success() {
            true => Ok(object),
            false => panic!("{name}: {}", String::from_utf8_lossy(&ran.stderr)),
        }
    });
    compiled.collect()
}

/// Files with objects in them.
fn tools() -> Result<Vec<PathBuf>, String> {
    let given = std::env::var_os("PROBEIDX_OBJECTS").map(PathBuf::from);
    let unpacked = std::fs::read_dir(installed::scratch("libbpf-tools")).into_iter().flatten().flatten();
    let folders = unpacked.flat_map(|folder| ["usr/sbin", "usr/bin"].map(|below| folder.path().join(below)));
    let folders = ["/usr/sbin", "/usr/bin"].into_iter().map(PathBuf::from).chain(folders).chain(given);
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| with_objects(&folder)).collect();
    files.sort();
    match files.is_empty() {
        true => Err("no programs of libbpf-tools here: run scripts/test-packages".to_owned()),
        false => Ok(files),
    }
}

fn with_objects(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let has =
        |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| !probeidx_bpf::embedded(&bytes).is_empty());
    // What carries more than this is no tool: bpftrace carries a compiler.
    let is_small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() < 4 << 20);
    files.map(|entry| entry.path()).filter(is_small).filter(has).collect()
}

/// For `scripts/prove`: the files of `$PROBEIDX_PROVE`, one a line, on the kernel `$PROBEIDX_TEST_RELEASE`, with the modules of
/// `$PROBEIDX_PROVE_MODULES`. The table goes into the file `$PROBEIDX_PROVE_TABLE`.
#[test]
fn files_that_are_given_do_what_check_foretells() {
    let value = |name: &str| std::env::var(name).unwrap_or_default();
    let Ok(files) = std::env::var("PROBEIDX_PROVE") else { return };
    let files: Vec<PathBuf> = files.lines().map(PathBuf::from).collect();
    let release = value("PROBEIDX_TEST_RELEASE");
    let kernels = installed::kernels().unwrap_or_else(|e| panic!("{e}"));
    let kernel = kernels.iter().find(|kernel| kernel.release == release);
    let kernel = kernel.unwrap_or_else(|| panic!("no kernel {release} here: see scripts/kernels"));
    let modules = value("PROBEIDX_PROVE_MODULES");
    let modules: Vec<&str> = modules.split(',').filter(|name| !name.is_empty()).collect();
    let outcomes = outcomes::of_files(kernel, &modules, &files).unwrap_or_else(|e| panic!("{e}"));
    let table: String = outcomes.iter().map(|outcome| format!("{outcome}\n")).collect();
    std::fs::write(value("PROBEIDX_PROVE_TABLE"), &table).unwrap_or_else(|e| panic!("{e}"));
    let differs = |outcome: &&Outcome| outcome.agreement() != Agreement::AsForetold;
    assert_eq!(outcomes.iter().filter(differs).count(), 0);
}
