//! What a stranger can plant: links, names, files of others. It stays in its place, and on the terminal it is text.
use crate::support::fixture::{RELEASE, Tree, USUAL, run_all, skipped};
use crate::support::program::{Run, command, run_in};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::compile(&USUAL));

/// All files below a folder, with their lengths.
fn below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let about = entry.metadata().unwrap();
        if about.is_dir() {
            found.extend(below(&entry.path()));
        }
        found.push((entry.path(), about.len()));
    }
    found.sort();
    found
}

/// Gives a file to somebody else; whether that is allowed here.
fn give_away(path: &Path) -> bool {
    std::os::unix::fs::lchown(path, Some(65534), Some(65534)).is_ok()
}

#[test]
fn indexes_are_written_by_their_owner_alone() {
    for (umask, expected) in [("000", 0o644), ("022", 0o644), ("027", 0o640), ("077", 0o600)] {
        let db = tempfile::tempdir().unwrap();
        let made = db.path().join("made");
        let build = command(&made);
        let mut c = Command::new("sh");
        c.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(build.get_program());
        c.args(build.get_args()).arg("build").arg(TREE.path()).env("SYSTEMTAP_TAPSET", "");
        assert_eq!(Run::of(c.output().unwrap()).code, 0);
        let mode = fs::metadata(made.join(format!("{RELEASE}.pidx"))).unwrap().permissions().mode();
        assert_eq!(format!("{:o}", mode & 0o7777), format!("{expected:o}"), "umask {umask}");
    }
}

#[test]
fn planted_links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, db) = (folder.path().join("victim"), folder.path().join("db"));
    fs::write(&victim, "mine").unwrap();
    fs::create_dir(&db).unwrap();
    // The index itself: the link is replaced.
    let index = db.join(format!("{RELEASE}.pidx"));
    symlink(&victim, &index).unwrap();
    assert_eq!(run_in(&db, ["build".as_ref(), TREE.path().as_os_str()]).code, 0);
    assert!(fs::symlink_metadata(&index).unwrap().is_file());
    // The lock, as a link to a file that is there or not, as a second name of one, and as a pipe.
    let lock = db.join(".building.lock");
    let new = folder.path().join("new");
    let plants: [&dyn Fn(); 4] = [
        &|| symlink(&victim, &lock).unwrap(),
        &|| symlink(&new, &lock).unwrap(),
        &|| fs::hard_link(&victim, &lock).unwrap(),
        &|| {
            run_all([{
                let mut c = Command::new("mkfifo");
                c.arg(&lock);
                c
            }])
        },
    ];
    for plant in plants {
        plant();
        let run = run_in(&db, ["build".as_ref(), "--force".as_ref(), TREE.path().as_os_str()]);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (3, "", 1), "{run:?}");
        assert!(run.err.starts_with(&format!("probeidx: error: {}: ", lock.display())), "{run:?}");
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        assert!(!new.exists());
        fs::remove_file(&lock).unwrap();
    }
}

#[test]
fn a_folder_that_a_stranger_linked_into_a_shared_one_is_not_used() {
    let shared = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let db = shared.path().join("x");
    symlink(elsewhere.path(), &db).unwrap();
    let build = || run_in(&db, ["build".as_ref(), TREE.path().as_os_str()]);
    assert_eq!(build().code, 0, "one's own link leads where one wants");
    fs::remove_file(elsewhere.path().join(format!("{RELEASE}.pidx"))).unwrap();
    if !give_away(&db) {
        skipped("a stranger's link: files cannot be given away here");
        return;
    }
    let what = "a symbolic link of user 65534 in a folder where everybody may write is not followed";
    build().refused(3, &format!("probeidx: error: {}: {what}; name another folder with --db", db.display()));
    assert_eq!(below(elsewhere.path()), []);
}

#[test]
fn a_release_does_not_lead_out_of_the_folder() {
    let above = tempfile::tempdir().unwrap();
    let db = above.path().join("a/b/db");
    fs::create_dir_all(&db).unwrap();
    // So long that the bytes of the banner can be exchanged.
    for hostile in ["6/../../xx", "6./../../x", "../../../x", "/etc/a/b.x", "6.1\0../../"] {
        let tree = Tree::empty();
        let vmlinux = fs::read(TREE.vmlinux()).unwrap();
        let file = tree.file("vmlinux", &exchanged(&vmlinux, RELEASE, hostile.as_bytes()));
        let run = run_in(&db, ["build".as_ref(), "--force".as_ref(), file.as_os_str()]);
        let assert_inside = || {
            let is_outside = |p: &PathBuf| {
                !p.starts_with(&db) || p.parent().is_some_and(|p| p.starts_with(&db) && p != db)
            };
            let mut outside: Vec<_> =
                below(above.path()).into_iter().map(|(p, _)| p).filter(is_outside).collect();
            outside.retain(|p| !db.starts_with(p));
            assert!(outside.is_empty(), "{hostile:?}: {outside:?}");
        };
        assert_inside();
        assert!(run.code == 0, "{hostile:?}: {run:?}");
        // The same from the folder of a build.
        tree.file("include/config/kernel.release", format!("{hostile}\n").as_bytes());
        run_in(&db, ["build".as_ref(), "--force".as_ref(), file.as_os_str()]);
        assert_inside();
    }
}

/// All copies of a text in a file, replaced by one of the same length.
fn exchanged(file: &[u8], text: &str, by: &[u8]) -> Vec<u8> {
    assert_eq!(text.len(), by.len());
    let mut file = file.to_vec();
    let mut at = 0;
    let mut times = 0;
    while let Some(found) = file[at..].windows(text.len()).position(|w| w == text.as_bytes()) {
        file[at + found..][..text.len()].copy_from_slice(by);
        at += found + text.len();
        times += 1;
    }
    assert!(times > 0, "{text} is not there");
    file
}

#[test]
fn where_nobody_named_an_index_a_strangers_is_not_used() {
    let cache = tempfile::tempdir().unwrap();
    let db = cache.path().join("probeidx");
    assert_eq!(run_in(&db, ["build".as_ref(), TREE.path().as_os_str()]).code, 0);
    let index = db.join(format!("{RELEASE}.pidx"));
    let default = |arguments: &[&str]| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_probeidx"));
        c.env_remove("PROBEIDX_DB").env("XDG_CACHE_HOME", cache.path()).args(arguments);
        Run::of(c.output().unwrap())
    };
    let ask = ["find", "clamp_value", "--kernel", RELEASE];
    assert_eq!(default(&ask).code, 0);
    if !give_away(&index) {
        skipped("a stranger's index: files cannot be given away here");
        return;
    }
    let what = "the index belongs to user 65534, not to root or the user who asks";
    let hint = "to use it all the same name it with --db";
    default(&ask).refused(3, &format!("probeidx: error: {}: {what}; {hint}", index.display()));
    assert_eq!(run_in(&db, ask).code, 0, "who names it wants it");
    // A build makes it one's own.
    assert_eq!(default(&["build", "--force", TREE.path().to_str().unwrap()]).code, 0);
    assert_eq!(fs::metadata(&index).unwrap().uid(), fs::metadata(cache.path()).unwrap().uid());
    assert_eq!(default(&ask).code, 0);
}

/// Names that clear the screen, set a title, ring, turn the direction of text, and end lines; as long as those that they
/// take the place of.
const NAMES: [(&str, &str); 6] = [
    ("clamp_value", "c\x1b[2J\x07\u{202e}XY"),
    ("maybe_slow", "m\n\x1b]0;\x07\u{9b}Z"),
    ("/core.c", "/\x1b[1\x7f.c"),
    ("only_one", "o\u{2066}\x1b[3J"),
    ("stamp", "\x1b[5mX"),
    ("limit", "\x1b[8m\r"),
];

#[test]
fn names_never_command_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("d\x1b[2J\u{202e}");
    let tree = Tree::empty();
    let root = tree.path().join("t\x1b]0;x\x07");
    for (name, source) in [
        (format!("vmlinux-{RELEASE}"), TREE.vmlinux()),
        ("n\x1b[31m.ko".to_owned(), TREE.module("alpha-mod")),
    ] {
        let mut content = fs::read(source).unwrap();
        for (text, by) in NAMES {
            if content.windows(text.len()).any(|w| w == text.as_bytes()) {
                content = exchanged(&content, text, by.as_bytes());
            }
        }
        tree.file(root.join(name).to_str().unwrap(), &content);
    }
    tree.file(root.join("bad\x1b[2J\u{202e}.ko").to_str().unwrap(), b"nothing");
    let tapset = root.join("tapset");
    let script = "/**\n * probe a.b - \x1b[2J\u{202e}\n */\nprobe a.b = kernel.function(\"fs_\x1b[2J*\") ? { n = \"\x1b[2J\" }\n\
                  function f:long(x:long) { return \x1b }\nprobe c.\x1b = never {}\n@define m %( \"\x1b[2J\" %)\n";
    tree.file(tapset.join("a\x1b.stp").to_str().unwrap(), script.as_bytes());
    let script = tree.file(
        "s\x1b.stp",
        b"probe kernel.function(\"\x1b[2J*\") { print($x\x1b) }\nprobe a.b { print(n) }\n",
    );
    let specs = tree.file("l\x1b.txt", "c\u{1b}[2J\nclamp\u{202e}*\n".as_bytes());
    let log = "BUG: \x1b[31m 0x10\n RIP: 0010:c\x1b[2J\x07\u{202e}XY+0x1/0x20\n";

    let mut shown = 0;
    let mut check = |arguments: &[&str]| {
        for more in [&[][..], &["--json"], &["-v", "--color", "always"]] {
            let mut c = command(&db);
            c.args(more).args(arguments).current_dir(tree.path());
            c.stdin(fs::File::open(tree.file("log", log.as_bytes())).unwrap());
            let out = c.output().unwrap();
            let decoded = arguments[0] == "decode" && !more.contains(&"--json");
            for (stream, bytes) in [("stdout", &out.stdout), ("stderr", &out.stderr)] {
                let text = String::from_utf8(bytes.clone())
                    .unwrap_or_else(|e| panic!("{arguments:?} {stream}: {e}"));
                // The log is to leave as it came, where no terminal reads it.
                let text = if decoded && stream == "stdout" { text.replace(log, "") } else { text };
                let own = ["0", "1", "2", "31", "32", "36"].map(|code| format!("\x1b[{code}m"));
                let text = own.iter().fold(text, |text, colour| text.replace(colour, ""));
                assert!(!text.contains(commands_a_terminal), "{arguments:?} {more:?} {stream}: {text:?}");
                shown += usize::from(text.contains("\\u"));
            }
        }
    };
    let root = root.to_str().unwrap();
    check(&["build", "--force", "--tapset", tapset.to_str().unwrap(), "--progress", "always", root]);
    let (script, specs) = (script.to_str().unwrap(), specs.to_str().unwrap());
    let commands: &[&[&str]] = &[
        &["build", "--tapset", tapset.to_str().unwrap(), root],
        &["build", "/nowhere\x1b[2J\u{202e}"],
        &["find", "*"],
        &["find", "*", "--args"],
        &["find", "*", "--each"],
        &["find", "kernel.function(\"*\")", "--args"],
        &["find", "c\x1b[2J"],
        &["find", "module(\"*\").statement(\"*@*:*\")"],
        &["resolve", "*"],
        &["resolve", "*", "--format", "kprobe-events"],
        &["resolve", "*", "--format", "stap"],
        &["resolve", "*", "--format", "json"],
        &["resolve", "c*", "\x1b[2J"],
        &["resolve", "a.b"],
        &["lines", "c*"],
        &["lines", "fs.c"],
        &["lines", "\x1b[1\x7f.c"],
        &["addr", "c\x1b[2J\x07\u{202e}XY+0x1", "0xffffffff81000000", "o*"],
        &["decode"],
        &["type", "*"],
        &["type", "\x1b"],
        &["type", "*", "--users"],
        &["tapset"],
        &["tapset", "*"],
        &["tapset", "--functions"],
        &["tapset", "--macros"],
        &["check", script, specs],
        &["check", "--tapset"],
        &["blacklist"],
        &["kernels"],
        &["stats"],
        &["verify"],
        &["complete", "bash", "1", "probeidx", "c"],
        &["--kernel", "\x1b[2J", "stats"],
        &["\x1b[2J"],
    ];
    commands.iter().for_each(|arguments| check(arguments));
    assert!(shown > 40, "the names were there: {shown}");
}

/// Lines of JSON that a program reads and may show: of answers, and of errors that repeat what was asked.
#[test]
fn serve_escapes_what_names_have() {
    use std::io::Write;
    let tree = Tree::empty();
    let mut content = fs::read(TREE.vmlinux()).unwrap();
    for (text, by) in NAMES {
        if content.windows(text.len()).any(|w| w == text.as_bytes()) {
            content = exchanged(&content, text, by.as_bytes());
        }
    }
    tree.file(&format!("vmlinux-{RELEASE}"), &content);
    let db = tempfile::tempdir().unwrap();
    assert_eq!(run_in(db.path(), ["build".as_ref(), tree.path().as_os_str()]).code, 0);
    let hostile = "c\u{1b}[2J\u{7}\u{202e}XY";
    let requests = [
        serde_json::json!({"id": hostile, "method": "find", "params": {"patterns": ["*"], "each": true}}),
        serde_json::json!({"id": 2, "method": "find", "params": {"patterns": ["*"], "json": false}}),
        serde_json::json!({"id": 3, "method": "resolve", "params": {"spec": hostile}}),
        serde_json::json!({"id": 4, "method": "resolve", "params": {"spec": format!("{hostile}x")}}),
        serde_json::json!({"id": 5, "method": "lines", "params": {"spec": "fs.c", "json": false}}),
        serde_json::json!({"id": 6, "method": "type", "params": {"name": hostile}}),
        serde_json::json!({"id": 7, "method": hostile}),
        serde_json::json!({"id": 8, "method": "find", "params": {hostile: true}}),
        serde_json::json!({"id": 9, "method": "complete", "params": {"words": ["resolve", "c"]}}),
        serde_json::json!({"id": 10, "method": "decode", "params": {"json": false}, "input": format!("RIP: 0010:{hostile}+0x1/0x2\n")}),
    ];
    let mut process = command(db.path());
    process.args(["serve", "--stdio"]).stdin(std::process::Stdio::piped());
    process.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut process = process.spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    for request in &requests {
        writeln!(stdin, "{request}").unwrap();
    }
    // What is no request at all, and no text.
    stdin.write_all(b"\x1b[2J\x9b{\n{\"id\":1,\"method\":\"\xe2\x80\xae\xff\"}\n").unwrap();
    drop(stdin);
    let out = process.wait_with_output().unwrap();
    let (mut ended, mut escaped) = (0, 0);
    for (stream, bytes) in [("stdout", out.stdout), ("stderr", out.stderr)] {
        let text = String::from_utf8(bytes).unwrap_or_else(|e| panic!("{stream}: {e}"));
        assert!(!text.contains(commands_a_terminal), "{stream}: {text:?}");
        for line in text.lines().filter(|_| stream == "stdout") {
            let line: serde_json::Value =
                serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            ended += usize::from(line["done"].is_object() || line["error"].is_object());
        }
        escaped += text.matches("\\u001b").count();
    }
    assert_eq!(ended, requests.len() + 2, "each has its answer");
    assert!(escaped > 10, "the names were there: {escaped}");
}

/// Whether a terminal would do something for it, or turn what follows.
fn commands_a_terminal(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Damage behind a header that is whole: a build finds it, and makes the index again.
#[test]
fn a_build_does_not_call_a_damaged_index_unchanged() {
    let db = tempfile::tempdir().unwrap();
    let index = db.path().join(format!("{RELEASE}.pidx"));
    let build = || run_in(db.path(), ["build".as_ref(), TREE.path().as_os_str()]);
    assert_eq!(build().code, 0);
    let whole = fs::read(&index).unwrap();
    let again = build();
    assert!(again.out.contains("nothing had changed"), "{again:?}");
    for at in [whole.len() / 4, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(&index, &damaged).unwrap();
        let run = build();
        assert_eq!(run.code, 0, "{run:?}");
        assert!(fs::read(&index).unwrap() == whole, "{at:#x}: {run:?}");
    }
}

/// A line of what goes to tracefs is one line, whatever a name has in it.
#[test]
fn names_do_not_end_the_line_of_a_definition() {
    let tree = Tree::empty();
    let content = exchanged(&fs::read(TREE.vmlinux()).unwrap(), "maybe_slow", b"m\np:x sa b");
    tree.file(&format!("vmlinux-{RELEASE}"), &content);
    let db = tempfile::tempdir().unwrap();
    assert_eq!(run_in(db.path(), ["build".as_ref(), tree.path().as_os_str()]).code, 0);
    let run = run_in(db.path(), ["resolve", "*", "--format", "kprobe-events"]);
    assert!(run.out.contains("p:x sa b"), "it is there: {run:?}");
    for line in run.out.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.starts_with("p:probeidx/"), "{line}");
    }
}
