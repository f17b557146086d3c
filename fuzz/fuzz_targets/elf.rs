//! Any bytes as a module among a kernel's, and as a program: it is indexed, in part or not at all, and the others whole.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::build;
use std::sync::LazyLock;

static VERIFY: LazyLock<probeidx::cli::args::Command> = LazyLock::new(|| ask::command(&["verify"]));

fuzz_target!(|data: &[u8]| {
    // Each by itself is twice as quick, and mutations change the length often enough.
    if data.len() % 4 == 3 {
        return build::user(data);
    }
    build::beside(data, |index| {
        let result = ask::ask(index, &VERIFY, Asked::default()).result;
        assert!(result.is_ok(), "{result:?}");
    });
});
