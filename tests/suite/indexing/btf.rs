//! A kernel without debug information: its BTF, made by pahole, tells what the debug information tells of functions.
use crate::support::fixture::{Tree, run_all};
use crate::support::image::Image;
use crate::support::program::{Indexed, Run, run_in};
use crate::support::tables::{self, OLD, text, try_index};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// The kernel with its debug information, and the same with BTF instead; or why there is none.
static BOTH: LazyLock<Result<(Indexed, Indexed), String>> = LazyLock::new(|| {
    Command::new("pahole").arg("--version").output().map_err(|e| format!("cannot run pahole: {e}"))?;
    let (with, without) = (OLD.compile(), OLD.compile());
    with_btf_alone(&without);
    Ok((tables::index(with), tables::index(without)))
});

/// Puts BTF in the place of the debug information.
fn with_btf_alone(tree: &Tree) {
    let (vmlinux, module) = (OLD.vmlinux(tree), OLD.module(tree));
    let command = |name: &str, arguments: &[&std::ffi::OsStr]| {
        let mut c = Command::new(name);
        c.args(arguments);
        c
    };
    run_all([command("pahole", &["-J".as_ref(), vmlinux.as_ref()])]);
    run_all([command("pahole", &["-J".as_ref(), "--btf_base".as_ref(), vmlinux.as_ref(), module.as_ref()])]);
    run_all([&vmlinux, &module].map(|file| command("objcopy", &["--strip-debug".as_ref(), file.as_ref()])));
}

fn both() -> Option<&'static (Indexed, Indexed)> {
    match &*BOTH {
        Ok(both) => Some(both),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

/// The entries of functions by module and symbol.
fn entries(indexed: &Indexed) -> BTreeMap<(String, String), Value> {
    let all = indexed.json(&["find", "*"]).into_iter();
    let entries = all.filter(|p| p["instance"] == "out-of-line" && p["offset"] == 0);
    entries.map(|p| ((p["module"].to_string(), text(&p, "symbol").to_owned()), p)).collect()
}

fn parameters(place: &Value) -> Vec<(String, String, Value)> {
    let vars = place["vars"].as_array().unwrap().iter().filter(|v| v["kind"] == "param");
    vars.map(|v| (text(v, "name").to_owned(), v["type"].to_string(), v["fetch"].clone())).collect()
}

#[test]
fn btf_tells_of_functions_what_debug_information_tells() {
    let Some((with, without)) = both() else { return };
    let (with, without) = (entries(with), entries(without));
    let mut compared = 0;
    for (name, place) in without.iter().filter(|(_, p)| p["rests_on"] == "btf") {
        let other = &with[name];
        assert_eq!(other["rests_on"], "dwarf", "{other}");
        for field in ["function", "section", "address", "anchor", "attach", "symbol_unique"] {
            assert_eq!(place[field], other[field], "{field} of {name:?}");
        }
        assert_eq!((text(place, "file"), &place["line"]), ("", &Value::from(0)), "{place}");
        let (own, others) = (parameters(place), parameters(other));
        let declared = |all: &[(String, String, Value)]| {
            all.iter().map(|p| (p.0.clone(), p.1.clone())).collect::<Vec<_>>()
        };
        assert_eq!(declared(&own), declared(&others), "{name:?}");
        for (own, other) in own.iter().zip(&others).filter(|(own, _)| !own.2.is_null()) {
            assert!(other.2.is_null() || own.2 == other.2, "{name:?}: {own:?} {other:?}");
        }
        compared += 1;
    }
    assert!(compared > 10, "{compared} functions");
    assert!(without.values().any(|p| p["rests_on"] == "symbols"), "assembly");
}

#[test]
fn a_question_for_lines_is_told_what_it_needs() {
    let Some((_, without)) = both() else { return };
    let function =
        entries(without).into_values().find(|p| p["rests_on"] == "btf" && p["module"].is_null()).unwrap();
    let name = text(&function, "function");
    for spec in [format!("{name}:1"), format!("{name}@kernel.c")] {
        let run = without.run(&["resolve", &spec]);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.err.contains("rests on BTF") && run.err.contains("for the rest:"), "{run:?}");
    }
    let shown = without.run(&["resolve", name]).found();
    assert!(shown.lines().next().unwrap().ends_with("from BTF"), "{shown}");
}

/// A bzImage around a kernel.
pub fn bzimage(kernel: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    gzip.write_all(kernel).unwrap();
    let payload = gzip.finish().unwrap();
    let mut image = vec![0; 1024];
    image[0x1f1] = 1;
    image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
    image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    image.extend(payload);
    image
}

fn build(db: &Path, arguments: &[&Path]) -> Run {
    let line = ["build".as_ref()].into_iter().chain(arguments.iter().map(|p| p.as_os_str()));
    run_in(db, line)
}

#[test]
fn an_index_of_a_boot_image_does_not_replace_a_better_one() {
    let Some(_) = both() else { return };
    let (with, without) = (OLD.compile(), OLD.compile());
    with_btf_alone(&without);
    let root = tempfile::tempdir().unwrap();
    let image = root.path().join(format!("boot/vmlinuz-{}", OLD.release));
    std::fs::create_dir_all(image.parent().unwrap()).unwrap();
    std::fs::write(&image, bzimage(&std::fs::read(OLD.vmlinux(&without)).unwrap())).unwrap();
    let db = tempfile::tempdir().unwrap();
    let basis = || {
        let run = run_in(db.path(), ["--json", "find", "*"]);
        run.found().lines().any(|l| l.contains(r#""rests_on":"dwarf""#))
    };
    assert_eq!(build(db.path(), &[root.path()]).code, 0);
    assert!(!basis(), "a root file system with a boot image");
    let (vmlinux, modules) = (OLD.vmlinux(&with), OLD.module(&with));
    assert_eq!(build(db.path(), &[&vmlinux, &modules, root.path()]).code, 0);
    assert!(basis(), "debug information is preferred, and replaces");
    let kept = build(db.path(), &[root.path()]);
    assert!(kept.code == 0 && kept.err.contains("kept") && kept.err.contains("--force"), "{kept:?}");
    assert!(basis());
    assert_eq!(build(db.path(), &["--force".as_ref(), root.path()]).code, 0);
    assert!(!basis());
}

/// What tapsets say of it is read while it is unpacked.
#[test]
fn tapsets_hold_for_the_kernel_in_a_boot_image() {
    const TAPSET: &str = "%( arch == \"x86_64\" %? probe of.x86 = begin {} %: probe of.another = begin {} %)\n\
                          %( CONFIG_HZ == \"250\" %? probe of.config = begin {} %)";
    let Some(_) = both() else { return };
    let tree = OLD.compile();
    with_btf_alone(&tree);
    let mut kernel = Image::read(&OLD.vmlinux(&tree));
    let root = Tree::empty();
    root.file("tapset/of.stp", TAPSET.as_bytes());
    let held = |kernel: &Image| {
        let name = format!("boot/vmlinuz-{}", OLD.release);
        root.file(&name, &bzimage(&kernel.0));
        let db = tempfile::tempdir().unwrap();
        let [tapset, image] = ["tapset", &name].map(|name| root.path().join(name));
        let run = build(db.path(), &["--tapset".as_ref(), &tapset, &image]);
        assert_eq!(run.code, 0, "{run:?}");
        run_in(db.path(), ["tapset"]).found()
    };
    assert_eq!(held(&kernel), "of.x86 = begin\n");
    root.file(&format!("boot/config-{}", OLD.release), b"CONFIG_HZ=250\n");
    assert_eq!(held(&kernel), "of.config = begin\nof.x86 = begin\n");
    // A machine that no bzImage is for.
    kernel.put(18, &183_u16.to_le_bytes());
    assert_eq!(held(&kernel), "of.another = begin\nof.config = begin\n");
}

#[test]
fn a_stripped_image_has_the_symbols_of_its_system_map() {
    let Some(_) = both() else { return };
    let tree = OLD.compile();
    with_btf_alone(&tree);
    let vmlinux = OLD.vmlinux(&tree);
    let root = tempfile::tempdir().unwrap();
    let [image, map] = ["vmlinuz", "System.map"].map(|n| root.path().join(format!("{n}-{}", OLD.release)));
    let index = || {
        std::fs::write(&image, bzimage(&std::fs::read(&vmlinux).unwrap())).unwrap();
        let db = tempfile::tempdir().unwrap();
        let run = build(db.path(), &[&image]);
        (run_in(db.path(), ["--json", "find", "*"]), run)
    };
    let (with_symbols, _) = index();
    let listed = Command::new("nm").arg("-n").arg(&vmlinux).output().unwrap().stdout;
    run_all([{
        let mut c = Command::new("objcopy");
        c.arg("--strip-all").arg(&vmlinux);
        c
    }]);
    std::fs::write(&map, "ffffffffffffffff B The real System.map is elsewhere\n").unwrap();
    let (without, _) = index();
    assert_ne!(without.out, with_symbols.out);
    std::fs::write(&map, &listed).unwrap();
    let (with_map, run) = index();
    assert_eq!(run.code, 0, "{run:?}");
    let places = |run: Run| -> Vec<Value> {
        let all = run.found().lines().map(|l| serde_json::from_str(l).unwrap()).collect::<Vec<Value>>();
        let of_btf = all.into_iter().filter(|p| p["rests_on"] == "btf");
        of_btf
            .map(|p| [&p["probe"], &p["address"], &p["anchor"], &p["attach"]].into_iter().cloned().collect())
            .collect()
    };
    let told = places(with_map);
    assert!(told.len() > 10);
    assert_eq!(told, places(with_symbols));
}

/// Every word of the records, and every byte of the header, made to be what it should not be: an answer or an error, and an
/// end.
#[test]
fn damaged_btf_ends() {
    let Some(_) = both() else { return };
    let tree = OLD.compile();
    with_btf_alone(&tree);
    let vmlinux = OLD.vmlinux(&tree);
    let whole = Image::read(&vmlinux);
    let btf = whole.section(".BTF").bytes;
    let word = |at: usize| u32::from_le_bytes(whole.0[at..at + 4].try_into().unwrap()) as usize;
    let types = btf.start + 24..btf.start + 24 + word(btf.start + 12);
    let cases =
        (btf.start..btf.start + 24).chain((types.start..types.end).step_by(4 * (1 + types.len() / 4 / 150)));
    let mut said = 0;
    for (number, at) in cases.enumerate() {
        let mut changed = whole.clone();
        let value: [u8; 4] = [[0xff; 4], [0; 4], [0xff, 0xff, 0, 0x84], [1, 0, 0, 0]][number % 4];
        changed.put(at, &value);
        changed.write(&vmlinux);
        let (indexed, run) = try_index_again(&tree);
        assert!([0, 3, 4].contains(&run.code), "{at:#x}: {run:?}");
        said += usize::from(run.err.contains("BTF"));
        if run.code == 0 {
            let listed = run_in(indexed.path(), ["--json", "resolve", "*"]);
            assert!([0, 1].contains(&listed.code), "{at:#x}: {listed:?}");
        }
    }
    assert!(said > 20, "{said} of the changes were noticed");
}

fn try_index_again(tree: &Tree) -> (tempfile::TempDir, Run) {
    let db = tempfile::tempdir().unwrap();
    let run = build(db.path(), &[&tree.path()]);
    (db, run)
}

#[test]
fn btf_of_another_build_is_told() {
    let Some(_) = both() else { return };
    let tree = OLD.compile();
    with_btf_alone(&tree);
    let vmlinux = OLD.vmlinux(&tree);
    let mut image = Image::read(&vmlinux);
    // The strings of which the names of functions are made, one letter further.
    let btf = image.section(".BTF").bytes;
    let start = btf.start + 24 + image.number::<4>(btf.start + 16) as usize;
    for at in start + 1..btf.end {
        if image.0[at].is_ascii_lowercase() {
            image.0[at] = if image.0[at] == b'z' { b'a' } else { image.0[at] + 1 };
        }
    }
    image.write(&vmlinux);
    let (_, run) = try_index(tree);
    assert!(run.err.contains("of another build"), "{run:?}");
}
