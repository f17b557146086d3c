//! The golden files: the present one answers as it always has, all others are refused in one line that says what to do.
use super::{PROGRAM, folder, run};
use probeidx_format::header::Header;
use probeidx_format::strings::Decoded;
use probeidx_format::zerocopy::{FromBytes, IntoBytes};
use probeidx_format::{Error, VERSION, View};
use std::path::Path;

/// Questions that read every section of the kernel's index.
const OF_KERNEL: &[&[&str]] = &[
    &["find", "*", "--args", "--locals"],
    &["find", "kernel.statement(\"*@*:*\")"],
    &["find", "kernel.function(\"walk\").label(\"*\")", "kernel.function(\"walk\").callees"],
    &["find", "kernel.trace(\"*\")", "gold.*", "--args"],
    &["resolve", "walk", "first->next->value", "count", "--format", "json"],
    &["resolve", "inner", "--locals", "--json"],
    &["resolve", "kernel.statement(\"twice@*:*\")", "--locals", "--json"],
    &["resolve", "kernel.trace(\"visit\")", "node->key", "--json"],
    &["resolve", "gold.walk", "--locals", "--json"],
    &["lines", "walk"],
    &["addr", "walk+0x10", "0xffffffff81000040", "twice+0x4/0x20"],
    &["type", "node"],
    &["type", "node", "--users"],
    &["callers", "twice", "--json"],
    &["type", "color"],
    &["tapset", "gold.walk", "--json"],
    &["tapset", "--functions", "twice"],
    &["tapset", "--macros", "member"],
    &["check", "--tapset"],
    &["blacklist", "--all"],
    &["complete", "resolve", "wa"],
    &["verify"],
];

/// And of the library's.
const OF_LIBRARY: &[&[&str]] = &[
    &["find", "process(\"/tmp/golden/libgold.so\").function(\"*\")", "--args", "--locals"],
    &[
        "resolve",
        "process(\"/tmp/golden/libgold.so\").function(\"sum\")",
        "first->value",
        "by",
        "total",
        "--json",
    ],
    &["type", "list"],
    &["verify"],
];

/// What a program says to all questions.
pub fn answers(program: &[&str]) -> String {
    let mut text = String::new();
    for (file, questions) in [("kernel.pidx", OF_KERNEL), ("library.pidx", OF_LIBRARY)] {
        let path = folder(&format!("v{VERSION}")).join(file).display().to_string();
        for question in questions {
            let asked = run(program, &[&["--db", &path], *question].concat());
            let [out, err] = [&asked.stdout, &asked.stderr].map(|said| String::from_utf8_lossy(said));
            let said = format!("{out}{err}").replace(&path, file);
            text += &format!("$ {}: {:?}\n{said}\n", question.join(" "), asked.status.code());
        }
    }
    text
}

#[test]
fn the_present_version_answers_as_ever() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder(&format!("v{VERSION}")));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    // A change of these answers that is meant is a change of the program. If it is one of what the bytes mean, the version
    // goes up, and this file stays as it is.
    settings.bind(|| insta::assert_snapshot!("answers", answers(&[PROGRAM])));
}

#[test]
fn the_golden_files_fill_every_section() {
    let files = ["kernel.pidx", "library.pidx"]
        .map(|file| std::fs::read(folder(&format!("v{VERSION}")).join(file)).unwrap());
    let decoded = [Decoded::new(), Decoded::new()];
    let [kernel, library] = [0, 1].map(|at| View::open(&files[at], &decoded[at]).unwrap());
    for ((name, in_kernel), (_, in_library)) in kernel.section_sizes().zip(library.section_sizes()) {
        assert!(in_kernel + in_library > 0, "{}", name.text());
    }
    assert!(files.iter().all(|bytes| bytes.len() < 8 << 10));
}

#[test]
fn older_versions_are_refused_with_the_remedy() {
    for version in 1..VERSION {
        let path = folder(&format!("v{version}")).join("kernel.pidx");
        let said = format!(
            "index format {version}, this program reads {VERSION}; build it again with: probeidx build --force"
        );
        refused(&path, &said);
    }
}

#[test]
fn newer_versions_are_refused_with_the_remedy() {
    let db = tempfile::tempdir().unwrap();
    let path = db.path().join("6.1.0-gold.pidx");
    for version in [VERSION + 1, u32::MAX] {
        let mut bytes = std::fs::read(folder(&format!("v{VERSION}")).join("kernel.pidx")).unwrap();
        let (mut header, _) = Header::read_from_prefix(&bytes).unwrap();
        header.version.set(version);
        header.seal();
        bytes[..size_of::<Header>()].copy_from_slice(header.as_bytes());
        assert_eq!(
            View::open(&bytes, &Decoded::new()).err(),
            Some(Error::Newer { what: "index", found: version, read: VERSION })
        );
        // Of what a later version has behind the version number nothing is known.
        bytes.truncate(40);
        bytes[12..].fill(0xa5);
        std::fs::write(&path, &bytes).unwrap();
        let said = format!(
            "index format {version}, this program reads {VERSION}; use the program that wrote it, or build it again with: probeidx build --force"
        );
        refused(&path, &said);
    }
}

/// Every command ends so: code 3, and one line.
#[track_caller]
fn refused(path: &Path, said: &str) {
    let path = path.display().to_string();
    for question in OF_KERNEL
        .iter()
        .filter(|question| question[0] != "complete")
        .chain([&["stats"][..], &["kernels"]].iter())
    {
        let asked = run(&[PROGRAM], &[&["--db", &path], *question].concat());
        let err = String::from_utf8_lossy(&asked.stderr);
        assert_eq!(asked.status.code(), Some(3), "{question:?}: {err}");
        let json = question.contains(&"--json");
        assert!(json || err == format!("probeidx: error: {path}: {said}\n"), "{question:?}: {err}");
        assert!(asked.stdout.is_empty() && err.lines().count() == 1, "{question:?}: {err}");
    }
}
