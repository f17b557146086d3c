//! The installed tapsets against SystemTap: every file as it prints it after parsing, every alias and every function.
use crate::installed::{self, Kernel, needed};
use probeidx::render;
use probeidx::tapset::{Library, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::process::Command;

const FOLDER: &str = "/usr/share/systemtap/tapset";

/// What SystemTap prints with these options.
fn stap(kernel: &Kernel, options: &[&str]) -> Result<String, String> {
    let mut command = Command::new("stap");
    command.args(["-r", &kernel.release]).args(options).env_remove("SYSTEMTAP_TAPSET");
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

/// The installed library, and each of its files as it is printed.
fn read(kernel: &Kernel) -> Result<(Library, BTreeMap<PathBuf, String>), String> {
    if !PathBuf::from(FOLDER).is_dir() {
        return Err(format!("no tapsets in {FOLDER}"));
    }
    let set = configuration(kernel)?;
    let config = |name: &str| set.get(name).cloned();
    let target = Target::new(std::env::consts::ARCH, &kernel.release, &config);
    let mut printed = BTreeMap::new();
    let library = Library::load(&[FOLDER.into()], &target, |path, script| {
        printed.insert(path.to_owned(), render::tapset::script(script));
    });
    Ok((library, printed))
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

#[test]
fn every_file_is_read_as_systemtap_reads_it() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some((library, ours)) = needed(read(&kernel)) else { return };
    let Some(tree) = needed(stap(&kernel, &["-v", "-p1", "-e", "probe begin {}"])) else { return };
    assert!(library.errors.is_empty(), "{:#?}", library.errors);
    let theirs: BTreeMap<PathBuf, &str> = tree
        .split("# file ")
        .filter_map(|file| file.split_once('\n'))
        .filter(|(path, _)| path.ends_with(".stp"))
        .map(|(path, text)| (path.into(), text))
        .collect();
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (path, text) in &theirs {
        let (ours, text) = (ours[path].trim_end(), text.trim_end());
        assert!(ours == text, "{}: {}", path.display(), difference(ours.lines(), text.lines()));
    }
}

#[test]
fn aliases_are_those_that_systemtap_dumps() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some((library, _)) = needed(read(&kernel)) else { return };
    let Some(dump) = needed(stap(&kernel, &["--dump-probe-aliases"])) else { return };
    let ours = render::tapset::aliases(&library.aliases);
    let theirs: Vec<&str> = dump.lines().collect();
    assert!(ours.iter().eq(&theirs), "{}", difference(ours.iter().map(String::as_str), theirs));
}

#[test]
fn functions_are_those_that_systemtap_dumps() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some((library, _)) = needed(read(&kernel)) else { return };
    let Some(dump) = needed(stap(&kernel, &["--dump-functions"])) else { return };
    let ours = render::tapset::functions(&library.functions);
    let theirs: Vec<&str> = dump.lines().collect();
    assert!(ours == theirs, "{}", difference(ours.iter().map(String::as_str), theirs));
}
