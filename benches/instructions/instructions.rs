//! A build and ten questions, counted by callgrind: `benches/instructions/run` compares the counts with `figures`. The kernel
//! is committed, so that no compiler of this machine has a part in it.
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use probeidx::cli::args::{self, Command, Global, Request};
use probeidx::cli::config::Config;
use probeidx::pipeline::{self, Options};
use std::hint::black_box;
use std::path::{Path, PathBuf};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The index that is asked. It is built before the first question, at full speed.
fn index() -> PathBuf {
    folder("asked").join("6.1.0-gold.pidx")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions").join(name)
}

/// One thread, because the order of several decides what each has to do.
fn build(folder: PathBuf) {
    let tapsets = vec![Path::new(HERE).join("../../tests/compat/golden/tapset")];
    let options = Options { db: folder, modules: true, tapsets, force: true, jobs: 1 };
    let report = pipeline::build(&[Path::new(HERE).join("kernel")], &options, &()).expect("a report");
    assert_eq!((report.built[0].objects, report.skipped.len()), (5, 0), "{:?}", report.skipped);
}

// Its thread is not the one that asks for it: the whole process is counted.
#[library_benchmark(config = LibraryBenchmarkConfig::default().tool(callgrind().entry_point(EntryPoint::None)))]
fn the_build() {
    build(folder("built"));
}

/// A question as it is typed.
fn question(words: &str) -> (Command, Config) {
    let Ok(Request::Run(args)) = args::parse(std::iter::once("probeidx").chain(words.split(' '))) else {
        panic!("no command: {words}");
    };
    let global = Global { db: Some(index()), ..args.global };
    (args.command, Config::new(&global).expect("a configuration"))
}

#[library_benchmark(setup = question)]
#[bench::find_one("find walk --args")]
#[bench::find_glob("find device_*_1? --args --locals")]
#[bench::find_all("find kernel.function(\"*\") module(\"*\").function(\"*\") --args")]
#[bench::resolve("resolve device_open_7 device->nodes->next->value flags device->state --json")]
#[bench::resolve_inlined("resolve inner --locals")]
#[bench::statement("resolve kernel.statement(\"device_ioctl_7@*:*\") command --json")]
#[bench::lines("lines device_ioctl_7")]
#[bench::addr("addr walk+0x10 device_open_7+0x20 unit_41:device_copy_41+0x4")]
#[bench::type_users("type node --users")]
#[bench::tapset("find gold.* --args")]
fn ask((command, config): (Command, Config)) -> Vec<u8> {
    let mut out = vec![];
    probeidx::cli::answer(black_box(&command), &config, &mut out).expect("an answer");
    assert!(!out.is_empty());
    out
}

fn callgrind() -> Callgrind {
    let mut callgrind = Callgrind::with_args(["cache-sim=no"]);
    callgrind.format([EventKind::Ir]);
    callgrind
}

library_benchmark_group!(name = counts, benchmarks = [the_build, ask]);
main!(
    config = LibraryBenchmarkConfig::default().tool(callgrind()),
    setup = build(folder("asked")),
    library_benchmark_groups = counts
);
