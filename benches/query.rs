//! What questions cost inside the process, once the index is open. Asks the index of `$PROBEIDX_DB` or the default
//! one; without an index it says so and ends. What a question costs from process start is in `benches/table`.
use criterion::Criterion;
use probeidx::cli::{args::Global, config::Config};
use probeidx::query::systemtap::listing::listed::listed;
use probeidx::query::systemtap::listing::{Lines, Lister};
use probeidx::query::{Index, resolve, spec};
use std::hint::black_box;
use std::time::Duration;

fn main() {
    let indexes = Config::new(&Global::default()).and_then(|config| config.indexes());
    let index = match indexes.and_then(|paths| Index::open(&paths[0])) {
        Ok(index) => index,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("open", |b| b.iter(|| black_box(Index::open(index.path()).unwrap())));
    for pattern in ["kmem_cache_alloc", "vfs_*", "*_alloc", "vfs_*@fs/read_write.c"] {
        criterion.bench_function(&format!("find --args {pattern}"), |b| {
            b.iter(|| black_box(find(&index, pattern)))
        });
    }
    for text in ["vfs_read", "do_open@fs/namei.c"] {
        criterion
            .bench_function(&format!("resolve {text}"), |b| b.iter(|| black_box(placements(&index, text))));
    }
    let mut group = criterion.benchmark_group("whole");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for pattern in ["kernel.function(\"*\")", "module(\"*\").function(\"*\")"] {
        group.bench_function(pattern, |b| b.iter(|| black_box(find(&index, pattern))));
    }
    group.finish();
    criterion.final_summary();
}

/// How many lines `find --args` prints.
fn find(index: &Index, pattern: &str) -> usize {
    let view = index.view().unwrap();
    let mut lister = Lister::new(&view, true);
    let mut lines = Lines::default();
    for spec in spec::parse(pattern).unwrap() {
        lister.list(&listed(&view, &spec).unwrap(), spec.spelled, &mut lines).unwrap();
    }
    lines.sort();
    lines.len()
}

/// How many placements `resolve` shows.
fn placements(index: &Index, text: &str) -> usize {
    let mut count = 0;
    for spec in spec::parse(text).unwrap() {
        resolve::resolve(&index.view().unwrap(), &spec, Default::default(), |_, _| {
            count += 1;
            Ok(())
        })
        .unwrap();
    }
    count
}
