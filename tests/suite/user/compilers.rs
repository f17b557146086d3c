//! Programs of other compilers, with their debug information in one piece, in `.dwo` files and in packages.
use super::Place;
use crate::support::fixture::{run_all, skipped};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a fixture with this working folder, into which `.dwo` files go; `None` where the compiler cannot.
fn compile(folder: &Path, compiler: &str, flags: &[&str], source: &str) -> Option<PathBuf> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).unwrap();
    let program = folder.join("program");
    let mut c = Command::new(compiler);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    c.current_dir(folder).args(flags).args(["-g", "-o", "program"]).arg(fixtures.join(source));
    match c.output() {
        Ok(out) if out.status.success() => Some(program),
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr);
            skipped(&format!("{compiler} {}: {}", flags.join(" "), said.lines().next().unwrap_or_default()));
            None
        }
        Err(e) => {
            skipped(&format!("{compiler}: {e}"));
            None
        }
    }
}

/// Everything that is asked of a program.
fn answers(place: &Place, source: &str) -> (Vec<String>, Vec<Value>) {
    let all = format!("process(\"program\").function(\"*@{source}\")");
    (place.find(&[&all]), place.resolve(&[&all, "--locals"]))
}

/// At the address of each function binutils' addr2line finds that function.
fn agrees_with_addr2line(program: &Path, placements: &[Value]) {
    let mut addresses: Vec<&str> = placements.iter().filter_map(|p| p["address"].as_str()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert!(addresses.len() > 2, "{placements:?}");
    let mut c = Command::new("addr2line");
    let out = c.args(["-a", "-i", "-f", "-C", "-e"]).arg(program).args(&addresses).output().unwrap();
    let told = String::from_utf8(out.stdout).unwrap();
    let mut by_address = std::collections::BTreeMap::<u64, Vec<&str>>::new();
    let mut at = 0;
    for line in told.lines() {
        match line.strip_prefix("0x") {
            Some(address) => at = u64::from_str_radix(address, 16).unwrap(),
            None => by_address.entry(at).or_default().push(line),
        }
    }
    for placement in placements {
        // The entry of an inline instance may lie outside of its ranges.
        let is_inline = placement["instance"] != "out-of-line";
        let Some(address) = placement["address"].as_str().filter(|_| !is_inline) else { continue };
        let told = &by_address[&u64::from_str_radix(&address[2..], 16).unwrap()];
        let name = placement["function"].as_str().unwrap();
        let plain = name.split('<').next().unwrap();
        assert!(told.iter().any(|line| line.contains(plain)), "{name} at {address}: {told:?}");
    }
}

#[test]
fn c_programs() {
    let place = Place::new();
    let folder = place.path("bin");
    for (compiler, flags) in [
        ("gcc", &["-O2", "-gdwarf-5"][..]),
        ("gcc", &["-O0", "-gdwarf-4"]),
        ("gcc", &["-O2", "-gdwarf-5", "-flto"]),
        ("clang", &["-O2", "-gdwarf-5"]),
        ("clang", &["-O2", "-gdwarf-4"]),
        ("clang", &["-O0", "-gdwarf-5", "-fuse-ld=lld"]),
        ("clang", &["-O2", "-gdwarf-5", "-flto", "-fuse-ld=lld"]),
    ] {
        let Some(program) = compile(&folder, compiler, flags, "user.c") else { continue };
        place.index(&program);
        let plain = answers(&place, "user.c");
        agrees_with_addr2line(&program, &plain.1);
        let with_lto = flags.contains(&"-flto");
        for split in ["-gsplit-dwarf", "-gsplit-dwarf=single"] {
            // With link-time optimization it is the linker that splits, by options of its own.
            if with_lto || (compiler == "gcc" && split.ends_with("single")) {
                continue;
            }
            let flags = [flags, &[split]].concat();
            let program = link(&folder, compiler, &flags);
            place.index(&program);
            assert_eq!(answers(&place, "user.c"), plain, "{compiler} {flags:?}");
        }
    }
}

/// Compiles and links in two steps, as the entries stay with the object.
fn link(folder: &Path, compiler: &str, flags: &[&str]) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let step = |arguments: &[&str]| {
        let mut c = Command::new(compiler);
        c.current_dir(folder).args(flags).arg("-g").args(arguments);
        c
    };
    let mut first = step(&["-c", "-o", "user.o"]);
    first.arg(fixtures.join("user.c"));
    run_all([first]);
    run_all([step(&["-o", "program", "user.o"])]);
    folder.join("program")
}

/// The compiler makes packages itself.
#[test]
fn rust_programs() {
    let place = Place::new();
    let folder = place.path("bin");
    let rust = |split: &str, more: &[&str]| {
        let split = format!("split-debuginfo={split}");
        compile(&folder, "rustc", &[&["-C", &split, "-C", "codegen-units=1"], more].concat(), "user.rs")
    };
    for more in [&["-C", "opt-level=2"][..], &["-C", "opt-level=0"]] {
        let Some(program) = rust("off", more) else { return };
        place.index(&program);
        let plain = answers(&place, "user.rs");
        let listed = plain.0.join("\n");
        for name in ["main", "sum", "area", "largest"] {
            assert!(listed.contains(&format!("(\"{name}")), "{name}: {listed}");
        }
        agrees_with_addr2line(&program, &plain.1);
        for split in ["packed", "unpacked"] {
            let Some(program) = rust(split, more) else { continue };
            place.index(&program);
            let found = answers(&place, "user.rs");
            assert_eq!(found.0, plain.0, "{split} {more:?}");
            assert_eq!(found.1.len(), plain.1.len(), "{split} {more:?}");
        }
    }
}

/// They have no place in the source, and the same name and size: what they lie in tells them apart.
#[test]
fn types_of_rust_are_those_of_their_modules() {
    let place = Place::new();
    let flags = ["-C", "opt-level=2", "-C", "codegen-units=1"];
    let Some(program) = compile(&place.path("bin"), "rustc", &flags, "modules.rs") else { return };
    place.index(&program);
    let read = |function: &str| {
        let spec = format!("process(\"program\").function(\"{function}\")");
        let resolved = place.resolve(&[&spec, "inner->a"]);
        resolved[0]["vars"][0]["location"].as_str().unwrap_or_default().to_owned()
    };
    let offsets = ["first", "second"].map(|function| read(function).split('(').next().unwrap().to_owned());
    assert_eq!(offsets, ["+0", "+8"]);
}
