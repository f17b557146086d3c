//! Text as a script, and as a tapset: it is checked on a small kernel, and kept in an index of it.
//!
//! The last byte chooses: a script for one of the runtimes, with arguments or in guru mode; or a tapset. A line break is a
//! script for a kernel module, so that any script is an input.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::cli::args::{Check, Command, Runs};
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::build;
use probeidx_fuzz::file::Unnamed;
use probeidx_fuzz::index::SMALL;
use std::sync::LazyLock;

static INDEX: LazyLock<Unnamed> = LazyLock::new(|| Unnamed::new(SMALL));

/// What is asked of an index that keeps the text as a tapset.
static KEPT: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let lines: &[&[&str]] = &[
        &["check", "--tapset"],
        &["tapset", "**", "--all"],
        &["tapset", "--functions", "*", "--all"],
        &["tapset", "--macros", "*"],
        &["find", "**", "--args"],
        &["resolve", "**"],
    ];
    lines.iter().map(|line| ask::command(line)).collect()
});

fuzz_target!(|data: &[u8]| {
    let Some((&last, text)) = data.split_last() else { return };
    let what = last ^ b'\n';
    let json = what & 1 == 1;
    if what & 6 == 6 {
        return build::with_tapset(text, |index| {
            for command in KEPT.iter() {
                ask::ask(index, command, Asked { input: b"", json });
            }
        });
    }
    let check = Check {
        files: vec!["-".into()],
        arg: if what & 8 == 0 { vec![] } else { vec!["7".to_owned(), "task_exit".to_owned()] },
        guru: what & 16 != 0,
        runtime: [Runs::Kernel, Runs::Dyninst, Runs::Bpf][usize::from(what >> 1 & 3) % 3],
        compatible: (what & 32 != 0).then(|| "2.4".to_owned()),
        ..Check::default()
    };
    ask::ask(&INDEX.path(), &Command::Check(check), Asked { input: text, json });
});
