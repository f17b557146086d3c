//! Any bytes as an index file: it is opened or refused, and every command gets an answer or an error.
//!
//! Mutations change one section at a time and make the checksums right again: see `probeidx_fuzz::index`.
#![no_main]
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use probeidx::cli::args::Command;
use probeidx_format::View;
use probeidx_format::header::Header;
use probeidx_format::strings::Decoded;
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::file::Unnamed;
use probeidx_fuzz::index;
use std::sync::LazyLock;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    index::mutate(data, size, max_size, seed)
});

/// Questions that need no names: they go through all of a table.
static ALL: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let lines: &[&[&str]] = &[
        &["verify"],
        &["stats"],
        &["find", "*", "--args"],
        &["find", "*", "--each", "--args", "--locals"],
        &["find", "kernel.statement(\"*@*:*\")"],
        &["find", "module(\"*\").function(\"*\").call"],
        &["find", "kernel.trace(\"*\")", "--args"],
        &["find", "kernel.function(\"*\").callees(3)"],
        &["find", "kernel.function(\"*\").label(\"*\")"],
        &["find", "**", "--args"],
        &["resolve", "*", "$retval", "--locals"],
        &["resolve", "*%return", "--format", "kprobe-events"],
        &["resolve", "kernel.trace(\"*\")"],
        &["resolve", "process(\"*\").function(\"*\")", "--locals"],
        &["tapset"],
        &["tapset", "--functions", "*"],
        &["tapset", "--macros", "*"],
        &["tapset", "**"],
        &["check", "--tapset"],
        &["blacklist", "--all"],
        &["callers", "*"],
    ];
    lines.iter().map(|line| ask::command(line)).collect()
});

/// Questions by a log.
static BY_LOG: LazyLock<[Command; 2]> =
    LazyLock::new(|| [ask::command(&["decode"]), ask::command(&["addr"])]);

/// Where it is in the file.
const HEADER_CHECKSUM: usize = std::mem::offset_of!(Header, checksum);

/// How many names of each table are asked for.
const NAMES: usize = 4;

/// Questions by what the index itself says that it has, in the forms that can be asked.
fn of_names(view: &View<'_>) -> Vec<Command> {
    let text = |id| String::from_utf8_lossy(view.string(id)).into_owned();
    let functions = view.functions.iter().take(NAMES).zip(0..).flat_map(|(function, at)| {
        let name = text(function.name);
        let in_file = format!("{name}@{}", text(function.file));
        [ask::resolve(name, vec!["$retval".to_owned()], at), ask::lines(in_file)]
    });
    let types = view.types.iter().take(NAMES).flat_map(|record| {
        let name = text(record.name);
        [ask::type_of(name.clone(), false), ask::type_of(name, true)]
    });
    functions.chain(types).collect()
}

/// Frames of a log, by its symbols and addresses.
fn log(view: &View<'_>) -> Vec<u8> {
    let symbols = view
        .symbols
        .iter()
        .take(NAMES)
        .flat_map(|symbol| [&b"RIP: 0010:"[..], view.string(symbol.name), b"+0x1/0x10\n"].concat());
    let base = view.objects.first().map_or(0, |o| o.base.get());
    let addresses = view.ranges.iter().take(NAMES).flat_map(|range| {
        let address = base.wrapping_add(range.start.get().into());
        format!("[<{address:016x}>]\n0x{address:x}\n").into_bytes()
    });
    symbols.chain(addresses).collect()
}

fuzz_target!(|data: &[u8]| {
    let file = Unnamed::new(data);
    let path = file.path();
    let decoded = Decoded::new();
    let Ok(view) = View::open(data, &decoded) else {
        // Refused by all in the same way: once is enough.
        assert!(ask::ask(&path, &ALL[0], Asked::default()).result.is_err());
        return;
    };
    // All questions take a third of a second. The checksum of the header decides which quarter is asked: it is another one
    // for each change.
    let turn = usize::from(data[HEADER_CHECKSUM]);
    let json = turn & 4 != 0;
    for command in ALL.iter().skip(turn % 4).step_by(4) {
        ask::ask(&path, command, Asked { input: b"", json });
    }
    for command in of_names(&view).into_iter().skip(turn % 4).step_by(4) {
        ask::ask(&path, &command, Asked { input: b"", json });
    }
    for command in BY_LOG.iter().skip(turn % 4) {
        ask::ask(&path, command, Asked { input: &log(&view), json });
    }
});
