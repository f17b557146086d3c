//! What the questions of programs cost inside the process. Asks the index of `$PROBEIDX_DB` or the default one; without an
//! index it says so and ends.
use criterion::Criterion;
use probeidx::cli::{args::Global, config::Config};
use probeidx::lookup::Lookup;
use probeidx::query::resolve::placement::Wanted;
use probeidx::query::spec::{self, argument};
use probeidx::query::{Index, resolve};
use std::hint::black_box;

fn main() {
    let indexes = Config::new(&Global::default()).and_then(|config| config.indexes());
    let index = match indexes.and_then(|paths| Index::open(&paths[0])) {
        Ok(index) => index,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let kernel = index.lookup().unwrap();
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("open and look up", |b| {
        b.iter(|| black_box(Index::open(index.path()).unwrap().lookup().unwrap().release().len()))
    });
    for name in ["vfs_read", "do_open", "kmalloc"] {
        criterion.bench_function(&format!("placements of {name}"), |b| {
            b.iter(|| {
                kernel.functions(name.as_bytes()).flat_map(|f| f.placements()).map(|p| p.address()).max()
            })
        });
    }
    let addresses = addresses(kernel);
    let mut next = addresses.iter().cycle();
    criterion.bench_function("frames of an address", |b| {
        b.iter(|| next.next().map(|at| kernel.frames(*at).map(|f| f.function().len()).sum::<usize>()))
    });
    for (text, arguments) in [
        ("vfs_read", ["file->f_mode", "count", "pos"]),
        ("kernel.function(\"do_open@fs/namei.c\").inline", ["nd->flags", "file", "op"]),
    ] {
        criterion.bench_function(&format!("resolve {text} with three arguments"), |b| {
            b.iter(|| black_box(verdicts(kernel, text, &arguments)))
        });
    }
    criterion.final_summary();
}

/// Some thousand addresses all over vmlinux, in no order.
fn addresses(kernel: Lookup<'_>) -> Vec<probeidx::lookup::Address> {
    let object = kernel.kernel().unwrap();
    let mut addresses: Vec<_> = kernel
        .view()
        .ranges_of(object)
        .iter()
        .step_by(16)
        .map(|r| probeidx::lookup::Address { object, pc: r.start.get() + (r.end.get() - r.start.get()) / 2 })
        .collect();
    addresses.sort_by_key(|a| a.pc.wrapping_mul(0x9e37_79b9));
    addresses
}

/// How many places kprobes take, with what is read there.
fn verdicts(kernel: Lookup<'_>, text: &str, arguments: &[&str]) -> usize {
    let arguments: Vec<_> = arguments.iter().map(|a| argument::parse(a).unwrap()).collect();
    let wanted = Wanted { arguments: &arguments, ..Wanted::default() };
    let mut taken = 0;
    for spec in spec::parse(text).unwrap() {
        resolve::resolve(kernel.view(), &spec, wanted, |place, _| {
            let read = place.values.iter().filter(|v| v.fetch.is_some()).count();
            taken += usize::from(place.verdicts.any_address().is_ok()) + read;
            Ok(())
        })
        .unwrap();
    }
    taken
}
