//! What `decode` adds to logs of every form, and that it changes nothing else.
use crate::support::program::run_in;
use crate::support::traced::{TRACED, fed};
use probeidx::query::Index;
use probeidx::query::symbolize::locate::Absent;
use probeidx::query::symbolize::log;
use probeidx::query::symbolize::log_decoder::Decoder;
use probeidx::query::symbolize::user_objects::Further;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

fn decoded(arguments: &[&str], log: &[u8]) -> (i32, String, String) {
    let mut line = vec!["decode"];
    line.extend(arguments);
    let (code, out, err) = fed(TRACED.db.path(), &line, log);
    (code, String::from_utf8(out).unwrap(), err)
}

fn logs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/logs");
    let mut logs: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    logs.sort();
    assert!(logs.len() >= 9, "{}", logs.len());
    logs
}

#[test]
fn each_form_of_log() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots/decode");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (name, log) in logs() {
        let (code, out, err) = decoded(&[], log.as_bytes());
        assert_eq!(code, 0, "{name}: {err}");
        settings.bind(|| insta::assert_snapshot!(name, format!("{out}---\n{err}")));
    }
}

/// What was there is there still: without what is added every log is what it was.
#[test]
fn nothing_is_taken_away_and_nothing_is_added_twice() {
    for (name, log) in logs() {
        let (_, out, _) = decoded(&[], log.as_bytes());
        let (_, again, _) = decoded(&[], out.as_bytes());
        assert_eq!(again, out, "{name}");
        let mut added = out.lines();
        for line in log.lines() {
            let rest = loop {
                let next = added.next().unwrap_or_else(|| panic!("{name}: {line}"));
                if line.contains("inlined into") || !next.contains("  inlined into ") {
                    break next;
                }
            };
            let mut rest = rest.as_bytes().iter();
            assert!(line.bytes().all(|b| rest.any(|r| *r == b)), "{name}: {line}");
        }
    }
}

#[test]
fn lines_end_as_they_did() {
    let (_, out, _) = decoded(&[], b" call_it+0xa/0x20\r\n read_it+0x15/0x40\r\nend");
    assert_eq!(
        out,
        " call_it+0xa/0x20 (fs/trace.c:31:2)\r\n read_it+0x15/0x40 count (fs/trace.c:5:3)\r\n   \
         inlined into check (fs/trace.c:12:3)\n   inlined into read_it (fs/trace.c:22:9)\nend"
    );
}

/// Broken UTF-8, control characters, NULs, lines without end: all of it passes.
#[test]
fn what_is_no_text_passes() {
    let mut log: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    log.extend_from_slice(b"\n call_it+0xa/0x20\xff\n");
    let frame = b" call_it+0xa/0x20";
    log.extend_from_slice(&frame.repeat(70_000));
    log.extend_from_slice(b"\n\x1b[31m\0 [<\n=> \n#\n#1 [\n+0x/0x+0x1/0x\n[exception RIP: +\n");
    log.extend_from_slice(&vec![b'['; 60_000]);
    let (code, out, err) = fed(TRACED.db.path(), &["decode"], &log);
    let added = b" call_it+0xa/0x20 (fs/trace.c:31:2)\xff\n";
    let at = out.windows(added.len()).position(|w| w == added).expect("the frame of a short line");
    let mut same = out[..at + frame.len()].to_vec();
    same.extend_from_slice(&out[at + added.len() - 2..]);
    assert!(same == log, "{} {}", out.len(), log.len());
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn pieces_of_any_size_are_the_same() {
    // Much longer than what is read at once.
    let log: String = logs().into_iter().map(|(_, log)| log).collect();
    let frames = " call_it+0xa/0x20\nother text\n".repeat(300_000);
    let (_, out, _) = decoded(&[], (log + &frames).as_bytes());
    assert_eq!(out.matches(" call_it+0xa/0x20 (fs/trace.c:31:2)\nother text\n").count(), 300_000);
}

#[test]
fn objects_of_the_frames_alone() {
    let (code, out, _) =
        fed(TRACED.db.path(), &["--json", "decode"], b"x\n call_it+0xa/0x20\n nosuch+0x1/0x2\n");
    let lines: Vec<Value> =
        String::from_utf8(out).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let [call, nosuch] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(
        (code, &call["log_line"], &call["line"], &call["exact"]),
        (0, &2.into(), &31.into(), &false.into())
    );
    assert_eq!((&call["address"], &call["function"]), (&"0xffffffff81000089".into(), &"call_it".into()));
    assert_eq!((&nosuch["log_line"], &nosuch["why"]), (&3.into(), &"there is no such symbol".into()));
}

#[test]
fn where_the_kernel_lies_can_be_given() {
    let log = b"[<ffffffff9f00008a>]\n";
    assert_eq!(decoded(&[], log), (1, "[<ffffffff9f00008a>]\n".to_owned(), String::new()));
    let (code, out, _) = decoded(&["--base", "0xffffffff9f000000"], log);
    assert_eq!((code, out.as_str()), (0, "[<ffffffff9f00008a>] (fs/trace.c:31:2)\n"));
}

/// Two kernels of which only the release differs.
fn two_kernels() -> tempfile::TempDir {
    let db = tempfile::tempdir().unwrap();
    std::fs::copy(TRACED.db.path().join("6.1.0-test.pidx"), db.path().join("6.1.0-test.pidx")).unwrap();
    let vmlinux = std::fs::read(TRACED.tree.vmlinux()).unwrap();
    let at = vmlinux.windows(10).position(|w| w == b"6.1.0-test").expect("a banner");
    let mut other = vmlinux;
    other[at..at + 10].copy_from_slice(b"6.1.0-else");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vmlinux-6.1.0-else");
    std::fs::write(&file, other).unwrap();
    assert_eq!(run_in(db.path(), [OsStr::new("build"), file.as_ref()]).code, 0);
    db
}

#[test]
fn the_log_tells_which_kernel_wrote_it() {
    let db = two_kernels();
    let run = |arguments: &[&str], log: &str| {
        let (code, out, err) = fed(db.path(), arguments, log.as_bytes());
        (code, String::from_utf8(out).unwrap(), err)
    };
    let frames = " call_it+0xa/0x20\n mod_cold+0x8/0x10 [trace_mod]\n";
    let with = " call_it+0xa/0x20 (fs/trace.c:31:2)\n mod_cold+0x8/0x10 [trace_mod] (fs/trace.c:51:2)\n";
    let without = " call_it+0xa/0x20 (fs/trace.c:31:2)\n mod_cold+0x8/0x10 [trace_mod]\n";
    let told = |release: &str| format!("CPU: 0 PID: 1 Comm: cat Not tainted {release} #1\n");
    let (test, other) = (told("6.1.0-test"), told("6.1.0-else"));
    assert_eq!(run(&["decode"], &(test.clone() + frames)), (0, test.clone() + with, String::new()));
    // Frames that stand before it too, and one log after another.
    let log = format!("{frames}{test}{frames}[    0.000000] Linux version 6.1.0-else (a@b) #1\n{frames}");
    let expected = format!("{with}{test}{with}[    0.000000] Linux version 6.1.0-else (a@b) #1\n{without}");
    assert_eq!(run(&["decode"], &log), (0, expected, String::new()));
    let unknown = told("6.2.0") + frames;
    let said = "probeidx: the log is of kernel 6.2.0, which is not indexed: its frames stay as they are\n";
    assert_eq!(run(&["decode"], &unknown), (1, unknown.clone(), said.to_owned()));
    // Nobody says which.
    let (code, out, err) = run(&["decode"], frames);
    assert_eq!((code, out.as_str()), (2, frames));
    assert!(err.contains("several kernels are indexed: 6.1.0-else, 6.1.0-test"), "{err}");
    // Whoever asks knows better, and is told.
    let (code, out, err) = run(&["--kernel", "6.1.0-test", "decode"], &(other.clone() + frames));
    assert_eq!((code, out), (0, other + with));
    assert_eq!(err, "probeidx: the log is of kernel 6.1.0-else, not of 6.1.0-test\n");
}

#[test]
fn frames_of_another_build_stay_and_that_is_said_once() {
    let log = " call_it+0xa/0x30\n call_it+0xb/0x30\n mod_cold+0x8/0x10 [trace_mod 0123456789abcdef0123456789abcdef01234567]\n";
    let said = "probeidx: frames that do not fit stay as they are, such as call_it+0xa/0x30: \
                it has 0x20 bytes here: this is of another build\n";
    assert_eq!(decoded(&[], log.as_bytes()), (1, log.to_owned(), said.to_owned()));
    let built =
        |id: &str| format!("CPU: 0 PID: 1 Comm: cat Not tainted 6.1.0-test #1 {id}\n call_it+0xa/0x20\n");
    let other = built("0123456789abcdef0123456789abcdef01234567");
    let (code, out, err) = decoded(&[], other.as_bytes());
    assert_eq!((code, &out), (1, &other));
    assert!(err.starts_with("probeidx: the log is of a vmlinux with build id 0123456789abcdef"), "{err}");
    // It is not forgotten where a line does not tell it.
    let (_, out, _) = decoded(&[], (other.clone() + &built("").replace(" \n", "\n")).as_bytes());
    assert!(!out.contains("fs/trace.c"), "{out}");
    let own = built(&build_id(&TRACED.tree.vmlinux()));
    assert!(decoded(&[], own.as_bytes()).1.ends_with(" call_it+0xa/0x20 (fs/trace.c:31:2)\n"));
    let module = format!(" mod_cold+0x8/0x10 [trace_mod {}]", build_id(&TRACED.tree.module("trace-mod")));
    assert_eq!(decoded(&[], module.as_bytes()).1, format!("{module} (fs/trace.c:51:2)"));
}

fn build_id(file: &Path) -> String {
    let out = std::process::Command::new("readelf").arg("-n").arg(file).output().unwrap();
    let out = String::from_utf8(out.stdout).unwrap();
    out.lines().find_map(|l| l.trim().strip_prefix("Build ID: ")).expect("a build id").to_owned()
}

/// Frames of programs and libraries are located in indexes of their own.
#[test]
fn frames_of_user_space_are_located_by_the_name_of_the_file() {
    let index = Index::open(&TRACED.db.path().join("6.1.0-test.pidx")).unwrap();
    let view = index.view().unwrap();
    let libc = [Further { names: vec![b"/usr/lib/libc.so.6".to_vec()], view }];
    let mut decoder = Decoder::new(&view, None, &libc);
    let mut located = |line: &[u8]| {
        let mut frames = vec![];
        log::Reader::default().frames(line, &mut frames);
        let [frame] = &frames[..] else { panic!("{frames:?}") };
        decoder.locate(frame).map(|l| (l.further, l.spots, l.exact))
    };
    let object = probeidx::query::index::functions::kernel(&view).unwrap();
    let pc = |address: u64| (address - view.objects[object.index()].base.get()) as u32;
    let call = pc(0xffff_ffff_8100_008a);
    let first = Ok((Some(0), vec![(object, call)], true));
    for name in ["libc.so.6", "/usr/lib/libc.so.6"] {
        assert_eq!(located(format!(" 0x7f3c2a1f5e15 : call_it+0xa/0x20 [{name}]").as_bytes()), first);
    }
    assert_eq!(located(b" 0x7f3c2a1f5e15 [/usr/lib/libc.so.6+0xffffffff8100008a]"), first);
    let called = Ok((Some(0), vec![(object, call - 1)], false));
    assert_eq!(located(b"#1  call_it+0xa/0x20 [libc.so.6]"), called);
    assert_eq!(located(b"#1  call_it+0xa/0x20 [/opt/libc.so.6]"), Err(Absent::Object));
    assert_eq!(located(b"#1  call_it+0xa/0x20 [libm.so.6]"), Err(Absent::Object));
}
