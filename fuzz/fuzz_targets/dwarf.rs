//! Debug information that no compiler would write, in a module among a kernel's: see `probeidx_fuzz::dwarf`.
//!
//! The build ends, says what it left out, the other objects are whole, and what was understood can be asked for.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::cli::args::Command;
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::build;
use probeidx_fuzz::dwarf::Described;
use std::sync::LazyLock;

static ASKED: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let lines: &[&[&str]] = &[
        &["verify"],
        &["find", "strange:*", "--each", "--args", "--locals"],
        &["resolve", "strange:*", "$retval", "--locals"],
        &["find", "module(\"strange\").statement(\"*@*:*\")"],
        &["type", "a->a.b"],
    ];
    lines.iter().map(|line| ask::command(line)).collect()
});

fuzz_target!(|described: Described| {
    let Some(module) = described.module() else { return };
    build::beside(&module, |index| {
        let whole = ask::ask(index, &ASKED[0], Asked::default()).result;
        assert!(whole.is_ok(), "{whole:?}");
        for command in &ASKED[1..] {
            ask::ask(index, command, Asked { input: b"", json: true });
        }
    });
});
