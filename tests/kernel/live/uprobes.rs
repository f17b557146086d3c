//! A program against the kernel: what we call ok is planted, what we refuse is refused, and an argument fetches what was
//! passed. The program is uprobed.c, which stands at a random address.
use super::boot::{Machine, Request};
use super::parts;
use crate::installed::{self, Kernel, needed};
use probeidx::query::Index;
use probeidx::query::index::symbols;
use probeidx::query::verdict::Judge;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SiteKind;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// So many addresses of each verdict.
const SAMPLE: usize = 600;

#[test]
fn uprobes_of_the_kernels() {
    installed::on_each(uprobes_hold);
}

fn uprobes_hold(kernel: &Kernel) {
    let Some(machine) = needed(Machine::new(kernel)) else { return };
    let folder = parts::folder("uprobed").unwrap_or_else(|e| panic!("{e}"));
    let program = folder.join("uprobed");
    let Some(bytes) = needed(parts::uprobed(&program, kernel.architecture)) else { return };
    let index = index(&folder, &program);
    let sampled = sample(&index);
    let mut requests: Vec<Request> = sampled
        .iter()
        .map(|(offset, _)| Request::Uprobe { line: format!("p:probeidx/e /init:{offset:#x}") })
        .collect();
    let arguments =
        ["by", "first->number", "first->next->number", "first->next->name:string", "sum", "calls=sum"];
    let entry = defined(&index, &program, "process(\"uprobed\").function(\"probed\")", &arguments);
    let returns = defined(&index, &program, "process(\"uprobed\").function(\"probed\").return", &["$retval"]);
    requests.push(Request::Trace { lines: vec![entry, returns], action: "call" });
    let answers = machine.running(bytes.clone()).boot(&requests).unwrap_or_else(|e| panic!("{e}")).answers;

    let mut wrong = vec![];
    for ((offset, is_ok), answer) in sampled.iter().zip(&answers) {
        let code = &bytes[*offset as usize..];
        if *is_ok != (answer.errno == 0) && !(answer.errno == 0 && may_be_taken(code)) {
            wrong.push(format!(
                "{offset:#x} {:02x?}: ok {is_ok}, errno {}",
                &code[..15.min(code.len())],
                answer.errno
            ));
        }
    }
    let count = |ok: bool| sampled.iter().filter(|s| s.1 == ok).count();
    installed::say(&format!(
        "{}: {} uprobes taken and {} refused as foretold",
        kernel.release,
        count(true),
        count(false)
    ));
    assert!(wrong.is_empty(), "{}: {} of {}: {wrong:#?}", kernel.release, wrong.len(), sampled.len());
    assert!(count(true) > SAMPLE / 2 && count(false) > SAMPLE / 10, "{} and {}", count(true), count(false));

    let traced = &answers[sampled.len()].traced;
    let has = |what: &str| traced.iter().any(|line| line.contains(what));
    assert!(has("by=1000 number=5 number_2=-8 name=\"the second\" sum=77 calls=77"), "{traced:#?}");
    // 77 + 1000 + 5 - 8, and 1235 calls.
    assert!(has("retval=2309"), "{traced:#?}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// What we refuse and this kernel takes: an answer for a program is one for every kernel that it may run on, and newer ones take
/// no-ops whatever their prefixes (seen on 7.3; `xchg %ax,%ax` alone on 6.1); and some of what is coded with VEX or EVEX, which
/// the kernel takes for jumps, and the program would not survive.
fn may_be_taken(code: &[u8]) -> bool {
    let is_prefix = |b: &u8| matches!(b, 0x2e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf2 | 0xf3);
    let prefixes = code.iter().take_while(|b| is_prefix(b)).count();
    let is_no_op = matches!(code[prefixes..], [0x90, ..] | [0x0f, 0x1f, ..]);
    is_no_op || matches!(code.get(prefixes), Some(0xc4 | 0xc5 | 0x62)) && !code[..prefixes].contains(&0x2e)
}

/// Offsets in the file of instructions, and whether a uprobe there is ok by what we say.
fn sample(index: &Path) -> Vec<(u64, bool)> {
    let index = Index::open(index).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let object = ObjectId::new(0);
    let judge = Judge::new(&view);
    let offset =
        |pc: u32| view.file_offset(symbols::address(&view, object, pc)).expect("code is in the file");
    let refused: Vec<u32> = view
        .sites_of(object)
        .iter()
        .filter(|s| s.kind == SiteKind::Unsupported as u8)
        .map(|s| s.start.get())
        .collect();
    let code = view.ranges_of(object).iter().flat_map(|r| r.start.get()..r.end.get());
    let of_symbols = view.symbols.iter().filter(|s| s.is_function());
    let code = code.chain(of_symbols.flat_map(|s| s.pc.get()..s.pc.get() + s.size.get()));
    let mut taken: Vec<u32> = code.filter(|pc| judge.kprobe(object, *pc).is_ok()).collect();
    taken.sort_unstable();
    taken.dedup();
    let some = |all: Vec<u32>, ok: bool| {
        let step = all.len().div_ceil(SAMPLE).max(1);
        all.into_iter().step_by(step).map(move |pc| (offset(pc), ok)).collect::<Vec<_>>()
    };
    [some(taken, true), some(refused, false)].concat()
}

fn index(folder: &Path, program: &Path) -> PathBuf {
    run(folder, &["build".as_ref(), "--user".as_ref(), program.as_os_str()]);
    let mut files = std::fs::read_dir(folder.join("user")).expect("the folder of the index");
    files.next().expect("an index").expect("its name").path()
}

/// The definition of a point's one place, for the program where it is in the machine.
fn defined(index: &Path, program: &Path, spec: &str, arguments: &[&str]) -> String {
    let mut line = vec!["resolve", spec, "--format", "kprobe-events"];
    line.extend(arguments);
    let line: Vec<&OsStr> = line.into_iter().map(OsStr::new).collect();
    let printed = run(index, &line);
    let definitions: Vec<&str> = printed.lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(definitions.len(), 1, "{printed}");
    definitions[0].replace(&program.display().to_string(), "/init")
}

fn run(db: &Path, arguments: &[&OsStr]) -> String {
    let ran = Command::new(installed::program()).arg("--db").arg(db).args(arguments).output();
    let ran = ran.expect("probeidx can be run");
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("paths and names are text")
}
