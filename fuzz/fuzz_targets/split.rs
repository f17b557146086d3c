//! Any bytes as the file that has the entries of a module's units: a package or a `.dwo` file, of DWARF 5 and 4. The first byte
//! says which.
//!
//! Whatever that file is, the module and all other objects are indexed, and the index is whole and answers.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::cli::args::Command;
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::build;
use std::sync::LazyLock;

/// The fixture's module `alpha`, compiled with `-gsplit-dwarf`. `scripts/fuzz-seeds` makes both.
const NEW: &[u8] = include_bytes!("../objects/split-5.ko");
const OLD: &[u8] = include_bytes!("../objects/split-4.ko");

static VERIFY: LazyLock<Command> = LazyLock::new(|| ask::command(&["verify"]));
static QUESTIONS: LazyLock<[Command; 2]> = LazyLock::new(|| {
    [&["find", "strange:*", "--each", "--args", "--locals"][..], &["resolve", "strange:*"]]
        .map(|words| ask::command(words))
});

fuzz_target!(|data: &[u8]| {
    let Some((form, file)) = data.split_first() else { return };
    let module = if form & 1 == 0 { NEW } else { OLD };
    let name = if form & 2 == 0 { "strange.ko.dwp" } else { "alpha_main.dwo" };
    build::files_beside(&[("strange.ko", module), (name, file)], |index| {
        let result = ask::ask(index, &VERIFY, Asked::default()).result;
        assert!(result.is_ok(), "{result:?}");
        for command in &*QUESTIONS {
            ask::ask(index, command, Asked { json: true, ..Asked::default() });
        }
    });
});
