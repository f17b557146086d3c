//! Any bytes as a log: nothing of it is taken away, and what is added is the same the second time.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::cli::args::Command;
use probeidx_fuzz::ask::{self, Answer, Asked, ask};
use probeidx_fuzz::file::Unnamed;
use probeidx_fuzz::index::SMALL;
use std::sync::LazyLock;

static INDEX: LazyLock<Unnamed> = LazyLock::new(|| Unnamed::new(SMALL));
static COMMANDS: LazyLock<[Command; 2]> =
    LazyLock::new(|| [ask::command(&["decode"]), ask::command(&["addr"])]);

fuzz_target!(|data: &[u8]| {
    let [decode, addr] = &*COMMANDS;
    let asked = Asked { input: data, json: false };
    let Answer { out, result } = ask(&INDEX.path(), decode, asked);
    assert!(result.is_ok(), "{result:?}");
    let mut rest = out.iter();
    let is_there = data.iter().all(|byte| rest.any(|b| b == byte));
    assert!(is_there, "{} of {}", String::from_utf8_lossy(&out), String::from_utf8_lossy(data));
    let again = ask(&INDEX.path(), decode, Asked { input: &out, json: false }).out;
    assert!(out == again, "{}\nand\n{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&again));

    for command in [decode, addr] {
        ask(&INDEX.path(), command, Asked { json: true, ..asked });
    }
    ask(&INDEX.path(), addr, asked);
});
