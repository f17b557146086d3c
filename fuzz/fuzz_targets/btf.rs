//! Any bytes as a kernel without debug information: BTF, an object that has it, what boots. It is indexed or refused, and an
//! index of it is whole and answers.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::cli::args::Command;
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::build;
use std::sync::LazyLock;

static QUESTIONS: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let lines: &[&[&str]] =
        &[&["find", "*", "--args"], &["resolve", "*"], &["type", "struct *"], &["blacklist", "--all"]];
    lines.iter().map(|line| ask::command(line)).collect()
});
static VERIFY: LazyLock<Command> = LazyLock::new(|| ask::command(&["verify"]));

fuzz_target!(|data: &[u8]| {
    build::bare(data, |index| {
        let result = ask::ask(index, &VERIFY, Asked::default()).result;
        assert!(result.is_ok(), "{result:?}");
        for command in QUESTIONS.iter() {
            ask::ask(index, command, Asked { json: true, ..Asked::default() });
        }
    });
});
