//! Any bytes as what a running kernel says of itself, laid over the index of a small kernel: it is refused as a whole, or every
//! question is answered.
#![no_main]
use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::file::Unnamed;
use probeidx_fuzz::index::SMALL;
use std::io::Write;
use std::sync::LazyLock;

static INDEX: LazyLock<Unnamed> = LazyLock::new(|| Unnamed::new(SMALL));
/// Addresses as they are in the seeds, and a line of a trace.
const INPUT: &[u8] = b"0xffffffff93000010\n0xffffffffc0400004\n do_open+0x4/0x20 [alpha_mod]\n";

fuzz_target!(|data: &[u8]| {
    let live = Unnamed::new(&packed(data));
    let path = live.path();
    let path = path.to_str().expect("a number");
    let ends = [&["resolve", "*"][..], &["resolve", "*:*"], &["addr"], &["decode"]].map(|words| {
        let command = ask::command(&[words, &["--live", path]].concat());
        let answers =
            [false, true].map(|json| ask::ask(&INDEX.path(), &command, Asked { input: INPUT, json }));
        answers.map(|answer| answer.result.map_err(|error| error.kind()).err())
    });
    // What one question refuses, all refuse.
    assert!(ends.as_flattened().iter().all(|end| *end == ends[0][0]), "{ends:?}");
});

/// As a capture is written: what is fuzzed is its text.
fn packed(text: &[u8]) -> Vec<u8> {
    let mut packing = GzEncoder::new(vec![], Compression::none());
    packing.write_all(text).expect("room in memory");
    packing.finish().expect("room in memory")
}
