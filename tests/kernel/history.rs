//! Names over the kernels of this machine, against what each of them says by itself.
use crate::installed::{self, needed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A folder with the indexes of the kernels, and their releases.
fn fleet() -> Result<(tempfile::TempDir, Vec<String>), String> {
    let kernels = installed::kernels()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut releases: Vec<String> = vec![];
    for kernel in kernels.iter().filter(|kernel| !kernel.is_own_build()) {
        let index = installed::index(kernel);
        let there = folder.path().join(index.file_name().ok_or("no name")?);
        std::fs::copy(&index, there).map_err(|e| e.to_string())?;
        releases.push(kernel.release.clone());
    }
    releases.sort();
    Ok((folder, releases))
}

fn asked(db: &Path, arguments: &[&str]) -> Vec<Value> {
    let mut command = Command::new(installed::program());
    let out = command.args(["--json", "-q", "--db"]).arg(db).args(arguments).output().unwrap();
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    let out = String::from_utf8(out.stdout).unwrap();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn histories_tell_what_each_kernel_tells() {
    let Some((db, releases)) = needed(fleet()) else { return };
    let db = db.path();
    for name in
        ["vfs_read", "do_open@fs/namei.c", "task_struct.pid", "struct file", "sched:sched_switch", "s_next"]
    {
        let mut seen: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for fact in asked(db, &["history", name]) {
            let kernels = fact["kernels"].as_array().unwrap();
            let has: Vec<String> = kernels.iter().map(|k| k.as_str().unwrap().to_owned()).collect();
            for kernel in &has {
                agrees(db, &fact, kernel);
            }
            let key = [&fact["name"], &fact["fact"]["what"]].map(|text| text.as_str().unwrap().to_owned());
            seen.entry(key.into()).or_default().extend(has);
        }
        assert!(!seen.is_empty(), "{name}");
        for (of, mut kernels) in seen {
            kernels.sort();
            assert_eq!(kernels, releases, "{of:?}");
        }
    }
}

/// Compares a fact with the answer of one of its kernels.
fn agrees(db: &Path, fact: &Value, kernel: &str) {
    let name = fact["name"].as_str().unwrap();
    let (what, value) = (fact["fact"]["what"].as_str().unwrap(), &fact["fact"]["value"]);
    let first = |arguments: &[&str]| asked(db, &[&["--kernel", kernel], arguments].concat()).swap_remove(0);
    match what {
        _ if fact["fact"]["absent"] == true => {}
        "offset" | "size" if fact["kind"] == "member" && name.contains('.') => {
            assert_eq!(*value, first(&["type", name])[what], "{name} {what} of {kernel}");
        }
        "declared" if fact["kind"] == "function" && value.is_object() => {
            let place = first(&["resolve", name]);
            assert_eq!(
                [&value["file"], &value["line"]],
                [&place["file"], &place["line"]],
                "{name} of {kernel}"
            );
        }
        "attach" if fact["kind"] == "function" => {
            let places = asked(db, &["--kernel", kernel, "resolve", name]);
            let entry = places.iter().find(|place| place["instance"] == "out-of-line").unwrap_or(&places[0]);
            assert_eq!(*value, entry["attach"], "{name} of {kernel}");
        }
        "fields" => {
            let fields = first(&["resolve", &format!("kernel.trace(\"{name}\")")])["fields"].clone();
            let names = |fields: &Value| -> Vec<Value> {
                fields.as_array().unwrap().iter().map(|field| field["name"].clone()).collect()
            };
            assert_eq!(names(value), names(&fields), "{name} of {kernel}");
        }
        _ => {}
    }
}
