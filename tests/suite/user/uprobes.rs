//! Where uprobes go, what they take, and what they read.
use super::{Place, address, build_id, point, symbols};
use crate::support::fixture::skipped;
use crate::support::program::run_in;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

#[cfg(target_arch = "x86_64")]
#[test]
fn uprobes_count_from_the_start_of_the_file() {
    let place = Place::new();
    // Here addresses are no offsets in the file.
    let program = place.compile("fixed", &["-no-pie", "-fno-pie", "-Wl,-Ttext-segment=0x7000000"]);
    place.index(&program);
    let marked = place.place(&[&point(&program, "marked")]);
    let offset = marked["anchor"]["offset"].as_u64().unwrap();
    let bytes = std::fs::read(&program).unwrap();
    assert_eq!(bytes[offset as usize..][..5], [0xb8, 0x78, 0x56, 0x34, 0x12]);
    assert_eq!(marked["anchor"]["path"], program.to_str().unwrap());
    let start = address(&program, "marked");
    assert!(start > 0x700_0000 && marked["address"] == format!("{start:#x}"), "{marked}");
    assert_eq!(marked["definition"], format!("p:probeidx/marked {}:{offset:#x}", program.display()));
    assert_eq!((&marked["kernel"], &marked["module"]), (&Value::Null, &Value::Null));
    assert_eq!(marked["process"], program.to_str().unwrap());
    assert_eq!(marked["attach"], json!({"uprobe": "ok", "uretprobe": "ok"}));
    assert_eq!(marked["coverage"]["by"], json!({"uprobe": 1, "uretprobe": 1}));

    for (distance, verdict) in [
        (1, "not-boundary"),
        (5, "unsupported-instruction"),
        (9, "unsupported-instruction"),
        (11, "ok"),
        (13, "ok"),
    ] {
        let address = format!("{:#x}", start + distance);
        let out = run_in(&place.indexes()[0], ["--json", "-q", "resolve", &address]).found();
        let found: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(found["attach"]["uprobe"], verdict, "{distance}: {found}");
        assert_eq!(found["attach"]["uretprobe"], if verdict == "ok" { "not-entry" } else { verdict });
        assert_eq!(found["definition"].is_string(), verdict == "ok", "{found}");
        if verdict != "ok" {
            let instead = found["instead"]["anchor"]["offset"].as_u64().unwrap();
            assert!([offset, offset + 11].contains(&instead), "{distance}: {found}");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_uprobes_read() {
    let place = Place::new();
    let program = place.compile("user", &["-pie", "-fPIE"]);
    place.index(&program);
    let sum = |arguments: &[&str]| {
        let mut line = vec!["process(\"user\").function(\"sum\")"];
        line.extend(arguments);
        let place = place.place(&line);
        let text = place["definition"].as_str().unwrap().to_owned();
        let start = format!(
            "p:probeidx/sum {}:{:#x} ",
            program.display(),
            place["anchor"]["offset"].as_u64().unwrap()
        );
        (text.strip_prefix(&start).unwrap_or_else(|| panic!("{text}")).to_owned(), place)
    };
    assert_eq!(
        sum(&["first->value", "by", "next=first->next->value"]).0,
        "value=+0(%di):s32 by=%si:s32 next=+0(+8(%di)):s32"
    );
    // Data moves with the code.
    let (definition, _) = sum(&["calls"]);
    let away = definition.strip_prefix("calls=+").and_then(|d| d.strip_suffix("(%ip):s32")).unwrap();
    let symbol = symbols(&program).into_iter().find(|s| s.0.starts_with("calls.")).unwrap();
    assert_eq!(away.parse::<u64>().unwrap(), symbol.1 - address(&program, "sum"));

    let numbered = place.place(&["process(\"user\").function(\"sum\")", "$arg1"]);
    assert_eq!(numbered["vars"][0]["state"], "unsupported", "{numbered}");
    let returned = place.place(&["process(\"user\").function(\"sum\").return", "$retval"]);
    let definition = returned["definition"].as_str().unwrap();
    assert!(
        definition.starts_with("r:probeidx/sum__return /") && definition.ends_with(" retval=$retval:s32"),
        "{definition}"
    );
    for inline in place.resolve(&["process(\"user\").function(\"twice\").inline"]) {
        assert_eq!(inline["attach"], json!({"uprobe": "ok", "uretprobe": "inline"}));
    }

    let run = run_in(
        &place.db(),
        ["-q", "resolve", "process(\"user\").function(\"sum\")", "--format", "kprobe-events"],
    );
    let said = run.found();
    let first = format!("# {}, build id {}: for uprobe_events", program.display(), build_id(&program));
    assert_eq!(said.lines().next(), Some(&first[..]));
    assert!(!said.contains("kprobe_events"), "{said}");

    // The kernel ends the path at a blank.
    let blank = place.compile("a b", &["-pie", "-fPIE"]);
    place.index(&blank);
    let found = place.place(&["process(\"a b\").function(\"sum\")"]);
    assert_eq!(
        (&found["definition"], &found["anchor"]["path"]),
        (&Value::Null, &blank.to_str().unwrap().into())
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn parameters_of_code_that_is_not_optimized() {
    let place = Place::new();
    let program = place.compile("user", &["-pie", "-fPIE", "-O0"]);
    place.index(&program);
    let sum = place.place(&["process(\"user\").function(\"sum\")", "by"]);
    let by = &sum["vars"][0];
    assert_eq!((&by["state"], &by["fetch"]), (&"elsewhere".into(), &Value::Null), "{sum}");
    // Behind the prologue it is where the debug information says.
    let address = by["elsewhere"]["address"].as_str().unwrap();
    let out = run_in(&place.indexes()[0], ["--json", "-q", "resolve", address, "by"]).found();
    let behind: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(behind["vars"][0]["state"], "readable", "{behind}");
    assert!(behind["offset"].as_u64().unwrap() > 8 && by["elsewhere"]["line"].is_u64(), "{behind}");
}

#[test]
fn code_of_arm64() {
    let place = Place::new();
    let library = place.path("libarm.so");
    let mut c = Command::new("clang");
    c.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
    c.args(["--target=aarch64-linux-gnu", "-g", "-O2", "-shared", "-fPIC", "-nostdlib", "-fuse-ld=lld"]);
    c.args(["-Wl,--build-id=sha1", "-o"]).arg(&library).arg("user.c");
    if !c.output().is_ok_and(|out| out.status.success()) {
        skipped("clang and lld for arm64");
        return;
    }
    place.index(&library);
    let sum = place.place(&["process(\"libarm.so\").function(\"sum\")", "first->value", "by"]);
    assert_eq!(sum["attach"], json!({"uprobe": "ok", "uretprobe": "ok"}));
    assert_eq!(sum["vars"][0]["fetch"], "value=+0(%x0):s32", "{sum}");
    assert_eq!(sum["vars"][1]["fetch"], "by=%x1:s32", "{sum}");
    let offset = sum["anchor"]["offset"].as_u64().unwrap();
    let address = u64::from_str_radix(sum["address"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    assert_ne!(offset, address, "lld maps code elsewhere than it stands in the file");
}
