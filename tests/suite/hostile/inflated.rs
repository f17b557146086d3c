//! Compressed modules that are small and claim to be large: what inflates to more than 64 times its length and 64 MiB is left
//! out with that bound, whatever it promises; many members, frames or streams one after another are one file.
use crate::support::fixture::{Tree, USUAL, run_all};
use crate::support::index::build;
use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::LazyLock;

static WHOLE: LazyLock<Tree> = LazyLock::new(|| Tree::compile(&USUAL));

/// Indexes these files as modules beside whole ones, which must be there; gives what was left out.
fn skipped(files: &[(&str, Vec<u8>)]) -> Vec<String> {
    let tree = WHOLE.copy();
    for (name, content) in files {
        tree.file(&format!("lib/modules/6.1.0-test/kernel/{name}"), content);
    }
    let index = build(&[tree.path()], 2);
    for (name, object) in build(&[WHOLE.path()], 2).facts().objects {
        assert_eq!(index.facts().objects[&name].functions, object.functions, "{name}");
    }
    index.skipped(&tree.modules())
}

/// What a tool makes of some bytes.
fn packed(tool: &str, arguments: &[&str], content: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("plain"), folder.path().join("packed"));
    fs::write(&plain, content).unwrap();
    let mut c = Command::new(tool);
    c.args(arguments).args(["-q", "-c"]).arg(&plain).stdout(fs::File::create(&packed).unwrap());
    run_all([c]);
    fs::read(packed).unwrap()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
    out.write_all(content).unwrap();
    out.finish().unwrap()
}

#[test]
fn bombs_are_left_out_with_the_bound() {
    let zeros = vec![0; 32 << 20];
    // Ten members of 32 MiB, streams likewise, and 2000 blocks of 128 KiB that say one byte.
    let member = gzip(&zeros);
    let stream = packed("xz", &["-6"], &zeros);
    let block = [&((1u32 << 1 | 0x1_ffff << 3).to_le_bytes())[..3], &[0]].concat();
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x38][..], &block.repeat(2000)].concat();
    let files = [("a.ko.gz", member.repeat(10)), ("b.ko.xz", stream.repeat(10)), ("c.ko.zst", frame)];
    let lines = skipped(&files);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for ((name, content), line) in files.iter().zip(&lines) {
        let format = match &name[5..] {
            "gz" => "gzip",
            "xz" => "xz",
            _ => "zstd",
        };
        let length = content.len();
        assert!(length < 512 << 10, "{length}");
        let most = length * 64 + (64 << 20);
        let what = format!("{length} bytes of {format} inflate to more than the {most} bytes allowed");
        let hint = "unpack the file yourself and give the result if it is genuine";
        assert_eq!(*line, format!("{name}: {what}; {hint}"));
    }
}

#[test]
fn many_empty_members_are_an_empty_file() {
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x80, 1, 0, 0].repeat(50_000);
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0].repeat(50_000);
    let files = [
        ("a.ko.gz", gzip(&[]).repeat(50_000)),
        ("b.ko.xz", packed("xz", &["-0"], &[]).repeat(20_000)),
        // Each asks for a window of 64 MiB.
        ("c.ko.zst", frame),
        ("d.ko.zst", skippable),
    ];
    let lines = skipped(&files);
    assert_eq!(lines.len(), files.len(), "{lines:?}");
    for ((name, _), line) in files.iter().zip(&lines) {
        assert!(line.starts_with(&format!("{name}: the file is empty")), "{line}");
    }
}

/// A dictionary of 1.5 GiB is promised, and 1000 bytes come.
#[test]
fn what_a_header_promises_costs_nothing() {
    let zeros = [0; 1000];
    let files = [
        ("a.ko.xz", packed("xz", &["--lzma2=preset=0,dict=1536MiB"], &zeros)),
        ("b.ko.zst", packed("zstd", &["--ultra", "--long=27", "-19"], &zeros)),
    ];
    let lines = skipped(&files);
    let said: Vec<_> = lines.iter().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(said, ["a.ko.xz", "b.ko.zst"], "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("not an ELF object")), "{lines:?}");
}

/// Modules in several members, whole and cut off in each.
#[test]
fn members_one_after_another_are_one_file() {
    let module = fs::read(WHOLE.module("beta")).unwrap();
    let half = module.len() / 2;
    for (extension, tool) in [("gz", "gzip"), ("xz", "xz"), ("zst", "zstd")] {
        let [first, second] = [&module[..half], &module[half..]].map(|part| packed(tool, &["-1"], part));
        let whole = format!("gamma.ko.{extension}");
        assert_eq!(skipped(&[(&whole, [&first[..], &second].concat())]), [] as [&str; 0]);
        for length in [1, second.len() / 2, second.len() - 1] {
            let cut = [&first[..], &second[..length]].concat();
            let lines = skipped(&[(&whole, cut)]);
            let [line] = &lines[..] else { panic!("{extension} {length}: {lines:?}") };
            assert!(line.starts_with(&whole) && line.contains("damaged or cut off"), "{length}: {line}");
        }
    }
}
