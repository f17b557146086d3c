//! The installed tapsets against SystemTap: every file as it prints it after parsing, every alias and every function.
use crate::installed::{self, Kernel, needed, wanted};
use probeidx::render;
use probeidx::tapset::target::{Privilege, Runtime, architecture};
use probeidx::tapset::{Definitions, Library, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "/usr/share/systemtap/tapset";

/// What SystemTap prints with these options.
fn stap(kernel: &Kernel, options: &[&str]) -> Result<String, String> {
    let mut command = Command::new("stap");
    // The headers are enough, and need not be installed.
    command.arg("-r").arg(&kernel.headers).args(options).env_remove("SYSTEMTAP_TAPSET");
    let ran = command.output().map_err(|e| format!("cannot run stap: {e}"))?;
    if ran.stdout.is_empty() {
        return Err(format!("stap {options:?} failed: {}", String::from_utf8_lossy(&ran.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// The options of the kernel as its headers have them, which is where SystemTap looks.
fn configuration(kernel: &Kernel) -> Result<HashMap<String, String>, String> {
    let path = kernel.headers.join(".config");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let set = text.lines().filter(|l| l.starts_with("CONFIG_")).filter_map(|l| l.split_once('='));
    Ok(set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// The installed library for a target.
fn read(kernel: &Kernel, change: fn(&mut Target<'_>)) -> Result<Library, String> {
    if !PathBuf::from(FOLDER).is_dir() {
        return Err(format!("no tapsets in {FOLDER}"));
    }
    let set = configuration(kernel)?;
    let config = |name: &str| set.get(name).cloned();
    let mut target = Target::new(architecture(std::env::consts::ARCH), &kernel.release, &config);
    change(&mut target);
    Ok(Library::load(&[FOLDER.into()], &target))
}

/// The first lines that only one side has, and how many there are.
fn difference<'a>(
    ours: impl IntoIterator<Item = &'a str>,
    theirs: impl IntoIterator<Item = &'a str>,
) -> String {
    let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) =
        (ours.into_iter().collect(), theirs.into_iter().collect());
    let only = |of: &BTreeSet<&str>, not: &BTreeSet<&str>| {
        let lines: Vec<_> = of.difference(not).copied().collect();
        format!("{} lines: {:#?}", lines.len(), &lines[..lines.len().min(20)])
    };
    format!("only here {}\nonly there {}", only(&ours, &theirs), only(&theirs, &ours))
}

/// For whom the library is read: options of SystemTap, and the same to ours.
type Variant = (&'static [&'static str], fn(&mut Target<'_>));

const VARIANTS: [Variant; 10] = [
    (&[], |_| ()),
    (&["-a", "arm64"], |t| t.arch = "arm64"),
    (&["-a", "powerpc"], |t| t.arch = "powerpc"),
    (&["-a", "s390"], |t| t.arch = "s390"),
    (&["-a", "i386"], |t| t.arch = "i386"),
    (&["-a", "riscv"], |t| t.arch = "riscv"),
    (&["--runtime=bpf"], |t| t.runtime = Runtime::Bpf),
    (&["--compatible=1.5"], |t| t.systemtap = "1.5"),
    (&["--privilege=stapusr"], |t| t.privilege = Privilege::Stapusr),
    (&["-g"], |t| t.guru = true),
];

#[test]
fn every_file_is_read_as_systemtap_reads_it() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    VARIANTS.iter().for_each(|variant| compare_files(&kernel, *variant));
}

#[test]
fn every_file_is_read_for_a_newer_kernel_as_systemtap_reads_it() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    compare_files(&kernel, VARIANTS[0]);
}

fn compare_files(kernel: &Kernel, (options, change): Variant) {
    let Some(library) = needed(read(kernel, change)) else { return };
    let all = [&["-v", "-p1", "-e", "probe begin {}"], options].concat();
    let Some(tree) = needed(stap(kernel, &all)) else { return };
    assert!(library.errors.is_empty(), "{options:?}: {:#?}", library.errors);
    let ours = library.scripts.iter();
    let ours: BTreeMap<&Path, String> =
        ours.map(|script| (library.path(script.file), render::tapset::script(script))).collect();
    let theirs: BTreeMap<&Path, &str> = tree
        .split("# file ")
        .filter_map(|file| file.split_once('\n'))
        .filter(|(path, _)| path.ends_with(".stp"))
        .map(|(path, text)| (Path::new(path), text))
        .collect();
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{options:?}");
    for (path, text) in &theirs {
        let (ours, text) = (ours[path].trim_end(), text.trim_end());
        let difference = || difference(ours.lines(), text.lines());
        assert!(ours == text, "{options:?} {}: {}", path.display(), difference());
    }
}

/// The expectation of a hermetic test, made anew.
#[test]
fn the_example_of_the_language_is_what_systemtap_makes_of_it() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tapset");
    let script = folder.join("language.stp");
    let Some(tree) = needed(stap(&kernel, &["-g", "-p1", &script.to_string_lossy()])) else { return };
    let tree: Vec<&str> = tree.lines().skip(2).collect();
    let kept = std::fs::read_to_string(folder.join("language.tree")).unwrap();
    assert!(tree.iter().copied().eq(kept.lines()), "{}", difference(kept.lines(), tree.iter().copied()));
}

#[test]
fn aliases_are_those_that_systemtap_dumps() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    for (options, change) in VARIANTS {
        let Some(library) = needed(read(&kernel, change)) else { return };
        let all = [&["--dump-probe-aliases"], options].concat();
        let Some(dump) = needed(stap(&kernel, &all)) else { return };
        let ours = render::tapset::aliases(library.aliases());
        let theirs: Vec<&str> = dump.lines().collect();
        let difference = || difference(ours.iter().map(String::as_str), theirs.iter().copied());
        assert!(ours.iter().eq(&theirs), "{options:?}: {}", difference());
    }
}

#[test]
fn functions_are_those_that_systemtap_dumps() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some(library) = needed(read(&kernel, |_| ())) else { return };
    // The name, as the dump needs more than the headers: it resolves what tapsets probe by themselves.
    let dump = Command::new("stap").args(["-r", &kernel.release, "--dump-functions"]).output();
    let dump = dump.map_err(|e| format!("cannot run stap: {e}"));
    let Some(dump) = needed(dump) else { return };
    let dump = String::from_utf8_lossy(&dump.stdout);
    let ours = render::tapset::functions(library.functions());
    let theirs: Vec<&str> = dump.lines().collect();
    assert!(ours == theirs, "{}", difference(ours.iter().map(String::as_str), theirs));
}

/// The same from the index alone, by the command.
#[test]
fn the_index_dumps_what_systemtap_dumps() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some(aliases) = needed(stap(&kernel, &["--dump-probe-aliases"])) else { return };
    let index = installed::index(&kernel);
    let dumped = |arguments: &[&str]| {
        let mut command = Command::new(installed::program());
        let ran = command.arg("--db").arg(&index).arg("tapset").args(arguments).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    let ours = dumped(&[]);
    assert!(ours == aliases, "{}", difference(ours.lines(), aliases.lines()));
    let Some(library) = needed(read(&kernel, |_| ())) else { return };
    let functions = render::tapset::functions(library.functions());
    assert!(dumped(&["--functions"]).lines().eq(&functions));
    let macros = dumped(&["--macros"]);
    let names = macros.lines().map(|line| line.split('(').next().unwrap_or_default().trim_start_matches('@'));
    assert!(names.eq(library.macros().into_keys().filter(|name| !name.starts_with('_'))));
}

/// In points that begin as those do that SystemTap knows by itself. Some tapsets of 4.8 name aliases that are not there
/// (`nd2_syscall.clock_adjtime`), which nobody notices because they are optional.
#[test]
fn every_alias_of_the_installed_library_ends() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some(library) = needed(read(&kernel, |_| ())) else { return };
    let Some(types) = needed(stap(&kernel, &["--dump-probe-types"])) else { return };
    let first = |point: &str| point.split(['.', '(']).next().unwrap_or_default().to_owned();
    let known: BTreeSet<String> = types.lines().map(first).collect();
    let definitions = Definitions::new(&library);
    let mut leaves = 0;
    for name in library.aliases().flat_map(|alias| &alias.names) {
        let found = definitions.expand(name, |leaf| {
            leaves += 1;
            assert!(leaf.optional || known.contains(&leaf.components[0].name), "{name}: {leaf:?}");
            false
        });
        assert!(!found.unwrap_or_else(|e| panic!("{name}: {e}")));
    }
    assert!(leaves > library.aliases().count(), "{leaves}");
}
