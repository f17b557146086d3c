//! Completion while typing: what a word can become, and what the shells make of it.
use crate::support::fixture::{RELEASE, skipped};
use crate::support::program::{KERNEL, command, run_in, source};
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the last word can become.
#[track_caller]
fn completed(words: &[&str]) -> Vec<String> {
    let run = run_in(KERNEL.db.path(), ["complete", "--"].iter().chain(words));
    assert_eq!((run.err.as_str(), run.code), ("", i32::from(run.out.is_empty())), "{run:?}");
    run.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// What bash is to put in place of the word at the end of the line.
#[track_caller]
fn typed(line: &str) -> Vec<String> {
    let run = run_in(KERNEL.db.path(), ["complete", "--line", line]);
    run.out.lines().map(str::to_owned).collect()
}

#[test]
fn functions_modules_and_files() {
    assert_eq!(completed(&["find", "gamma_c"]), ["gamma_calls"]);
    assert_eq!(completed(&["find", "bet"]), ["beta:"]);
    assert_eq!(completed(&["find", "gamma_mod:gamma_c"]), ["gamma_mod:gamma_calls"]);
    assert_eq!(completed(&["find", "gamma_mod:look"]), [""; 0], "that is in vmlinux");
    assert_eq!(completed(&["find", "a", "--args", "looku"]), ["lookup"]);
    // do_open is in two files and a module: by the end of the path, or the whole of it.
    let fs = source("fs.c").display().to_string();
    assert_eq!(completed(&["find", "lookup@"]), [format!("lookup@{fs}")]);
    assert_eq!(completed(&["find", "do_open@fs"]), ["do_open@fs.c"]);
    assert_eq!(completed(&["resolve", "do_open@fixtures/"]).len(), 3);
    assert_eq!(completed(&["lines", &fs[..fs.len() - 2]]), [fs]);
    assert_eq!(completed(&["blacklist", "al"]), ["alpha_mod"]);
    assert_eq!(completed(&["addr", "beta:submit_"]), ["beta:submit_beta"]);
}

#[test]
fn probe_points_of_systemtap() {
    assert_eq!(completed(&["find", "kernel.f"]), ["kernel.function(\""]);
    assert_eq!(completed(&["find", "kernel.function(\"looku"]), ["kernel.function(\"lookup\")"]);
    assert_eq!(completed(&["find", "kernel.function(\"gamma_c"]), [""; 0], "that is in a module");
    assert_eq!(completed(&["find", "kernel.function(\"lookup@fs"]), ["kernel.function(\"lookup@fs.c\")"]);
    assert_eq!(
        completed(&["find", "kernel.function(\"lookup\").ret"]),
        ["kernel.function(\"lookup\").return"]
    );
    assert_eq!(completed(&["find", "module(\"gam"]), ["module(\"gamma_mod\").function(\""]);
    let point = "module(\"gamma_mod\").function(\"gamma_calls\")";
    assert_eq!(completed(&["find", "module(\"gamma_mod\").function(\"gamma_c"]), [point]);
    assert_eq!(completed(&["resolve", "kernel.statement(\"looku"]), ["kernel.statement(\"lookup"]);
}

#[test]
fn types_and_members() {
    assert_eq!(completed(&["type", "str"])[0], "struct ");
    let structs = completed(&["type", "struct "]);
    assert!(
        structs.len() > 5 && structs.iter().all(|s| s.len() > 7 && s.starts_with("struct ")),
        "{structs:?}"
    );
    assert!(completed(&["type", "struct no"]).contains(&"struct node".to_owned()));
    assert!(completed(&["type", "nod"]).contains(&"node".to_owned()));
    assert!(!completed(&["type", "union no"]).contains(&"union node".to_owned()));
    assert_eq!(completed(&["type", "struct opaque.se"]), ["struct opaque.seed"]);
    assert_eq!(completed(&["type", "struct opaque->se"]), ["struct opaque->seed"]);
    // What has members goes on.
    assert_eq!(completed(&["type", "struct opaque.cou"]), ["struct opaque.count", "struct opaque.count."]);
    assert_eq!(completed(&["type", "struct opaque.count.co"]), ["struct opaque.count.counter"]);
    assert_eq!(
        completed(&["type", "struct opaque.pend"]),
        ["struct opaque.pending", "struct opaque.pending->"]
    );
    assert_eq!(completed(&["type", "struct opaque.pending."]), [""; 0], "a pointer");
    assert!(!completed(&["type", "struct opaque.pending->"]).is_empty());
    for damaged in ["struct ", ".", "->", "struct opaque..", "struct opaque.count[", "struct .a", "x->y->z."]
    {
        completed(&["type", damaged]);
    }
}

#[test]
fn what_can_be_read_at_a_place() {
    assert_eq!(completed(&["resolve", "find_node", "r"]), ["root", "root->"]);
    let members = completed(&["resolve", "find_node", "root->"]);
    assert_eq!(members, ["root->key", "root->left", "root->right"]);
    assert_eq!(completed(&["resolve", "find_node", "root->left->k"]), ["root->left->key"]);
    assert_eq!(completed(&["resolve", "find_node", "x=$k"]), ["x=$key"]);
    assert_eq!(completed(&["resolve", "find_node", "key:u1"]), ["key:u16"]);
    assert_eq!(completed(&["resolve", "find_node", "--defined", "ke"]), ["key"]);
    assert!(completed(&["resolve", "find_node%return", "$ret"]).contains(&"$retval".to_owned()));
    for nothing in
        [&["resolve", "no_such", "a"][..], &["resolve", "a b(", ""], &["resolve", "find_node", "root->x->y"]]
    {
        assert_eq!(completed(nothing), [""; 0]);
    }
}

#[test]
fn commands_options_and_releases() {
    assert_eq!(completed(&["bla"]), ["blacklist"]);
    assert_eq!(
        completed(&["resolve", "--format="]),
        [
            "--format=bpftrace",
            "--format=c",
            "--format=json",
            "--format=kprobe-events",
            "--format=perf",
            "--format=stap",
            "--format=text",
            "--format=trace-cmd"
        ]
    );
    assert_eq!(completed(&["--kernel", ""]), [RELEASE]);
    assert_eq!(completed(&["find", "--kernel=6"]), [format!("--kernel={RELEASE}")]);
    assert_eq!(completed(&["build", "/us"]), [":files"]);
    assert_eq!(completed(&["find", "--db", "/absent", "loo"]), [""; 0]);
    let db = KERNEL.db.path().to_str().unwrap();
    let run = run_in(Path::new("/absent"), ["complete", "--", "find", "--db", db, "looku"]);
    assert_eq!(run.found(), "lookup\t\t+\n");
}

#[test]
fn bash_replaces_what_is_behind_the_last_break() {
    assert_eq!(typed("probeidx find lookup@fs"), ["@fs.c "]);
    assert_eq!(typed("probeidx find beta:submit_"), ["submit_beta"]);
    assert_eq!(typed("probeidx find 'kernel.function(\"looku"), ["kernel.function(\"lookup\")"]);
    assert_eq!(typed("probeidx find kernel.function\\(\\\"looku"), ["kernel.function\\(\\\"lookup\\\"\\) "]);
    assert_eq!(typed("probeidx type 'struct opaque.se"), ["struct opaque.seed"]);
    assert_eq!(typed("probeidx type struct\\ opaque.se"), ["struct\\ opaque.seed "]);
    assert_eq!(typed("probeidx resolve find_node r"), ["root", "root-\\>"]);
    assert_eq!(typed("probeidx resolve find_node root->k"), [":files"], "a redirection");
    for line in
        ["", " ", "'", "\\", "probeidx find \"$(", "probeidx \u{1b}[31m", "probeidx find \u{fffd}\u{e4}'"]
    {
        typed(line);
    }
}

/// Not more than one can look at, and what they share is what all share.
#[test]
fn all_are_not_too_many() {
    let all = completed(&["find", ""]);
    assert!((10..=200).contains(&all.len()), "{}", all.len());
    let mut long = String::new();
    for _ in 0..20_000 {
        long.push_str("a->");
    }
    for word in [&long[..], &"(\"".repeat(10_000), &"\u{e4}".repeat(5_000), &"'".repeat(5_000)] {
        for words in
            [["find", word].as_slice(), &["type", word], &["resolve", "lookup", word], &["resolve", word, ""]]
        {
            assert_eq!(completed(words), [""; 0], "{}", words[0]);
        }
    }
}

/// A folder with the program under its name, and a command with that in its PATH.
fn shell(program: &str, arguments: &[&str]) -> (tempfile::TempDir, Command) {
    let bin = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_probeidx"), bin.path().join("probeidx")).unwrap();
    let mut c = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    c.args(arguments).env("PATH", format!("{}:{path}", bin.path().display()));
    c.env("PROBEIDX_DB", KERNEL.db.path()).env("TERM", "dumb").env("HOME", bin.path()).env_remove("NO_COLOR");
    (bin, c)
}

fn is_there(program: &str) -> bool {
    let is_there =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    is_there || skipped(&format!("{program} is not installed"))
}

/// What a shell on a terminal prints when these keys are pressed.
fn pressed(program: &str, arguments: &str, prepared: &str, keys: &str) -> String {
    let (_bin, mut c) = shell("script", &["-qec", &format!("{program} {arguments}"), "/dev/null"]);
    let c = c.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = c.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    write!(stdin, "{prepared}\n{keys}\nexit\n").unwrap();
    // The terminal stays until the shell has ended.
    let out = child.wait_with_output().unwrap();
    drop(stdin);
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Lines as they are begun, where the tab key is pressed, and what the command then is asked.
const PRESSED: [(&str, &[&str]); 8] = [
    ("probeidx find gamma_cal\t", &["find", "gamma_calls"]),
    ("probeidx find lookup@fs\t", &["find", "lookup@fs.c"]),
    ("probeidx find gamma_mod:gamma_cal\t", &["find", "gamma_mod:gamma_calls"]),
    ("probeidx find 'kernel.function(\"looku\t", &["find", "kernel.function(\"lookup\")"]),
    ("probeidx type 'struct opaque.se\t", &["type", "struct opaque.seed"]),
    ("probeidx type struct\\ opaque.se\t", &["type", "struct opaque.seed"]),
    ("probeidx resolve find_node 'root->ke\t", &["resolve", "find_node", "root->key"]),
    ("probeidx --kernel=6.1\t stat\t", &["--kernel", RELEASE, "stats"]),
];

#[track_caller]
fn completes(out: &str, db: &Path, arguments: &[&str]) {
    let expected = run_in(db, arguments).found();
    let last = expected.lines().last().unwrap();
    assert!(out.lines().any(|line| line.trim_end() == last), "{arguments:?}: {last:?} is not in {out}");
}

#[test]
fn the_tab_key_in_bash() {
    for (keys, arguments) in PRESSED {
        let prepared = "bind 'set enable-bracketed-paste off'; source <(probeidx completions bash)";
        completes(&pressed("bash", "--norc --noprofile -i", prepared, keys), KERNEL.db.path(), arguments);
    }
    // Elsewhere names of files are completed.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("only.pidx");
    std::fs::copy(KERNEL.db.path().join(format!("{RELEASE}.pidx")), &file).unwrap();
    let keys = format!("probeidx stats --db {}/on\t", folder.path().display());
    let prepared = "bind 'set enable-bracketed-paste off'; source <(probeidx completions bash)";
    completes(&pressed("bash", "--norc --noprofile -i", prepared, &keys), &file, &["stats"]);
}

/// What bash's own function finds, without a terminal.
#[test]
fn the_function_of_bash() {
    let script = r#"source <(probeidx completions bash)
        COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
        _probeidx; printf '%s\n' "${COMPREPLY[@]}""#;
    let reply = |line: &str| {
        let (_bin, mut c) = shell("bash", &["--norc", "-c", script, "bash", line]);
        let out = c.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stderr), "");
        String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(reply("probeidx find gamma_cal"), ["gamma_calls"]);
    assert_eq!(reply("probeidx find 'kernel.function(\"looku"), ["kernel.function(\"lookup\")"]);
    assert_eq!(reply("probeidx resolve find_node 'root->"), ["root->key", "root->left", "root->right"]);
}

#[test]
fn the_tab_key_in_zsh() {
    if !is_there("zsh") {
        return;
    }
    let prepared = "unsetopt zle_bracketed_paste; PS1=; autoload -Uz compinit; compinit -D -u; source <(probeidx completions zsh)";
    for (keys, arguments) in PRESSED {
        completes(&pressed("zsh", "-f -i", prepared, keys), KERNEL.db.path(), arguments);
    }
}

#[test]
fn what_fish_offers() {
    if !is_there("fish") {
        return;
    }
    for (keys, arguments) in &PRESSED[..7] {
        let script = "probeidx completions fish | source; complete -C $argv[1]";
        let line = keys.trim_end();
        let (_bin, mut c) = shell("fish", &["--no-config", "-c", script, line]);
        let out = c.output().unwrap();
        let offered = String::from_utf8_lossy(&out.stdout).into_owned();
        let words: Vec<&str> = offered.lines().filter_map(|l| l.split('\t').next()).collect();
        let word = *arguments.last().unwrap();
        assert!(
            words.contains(&word),
            "{line}: {word} is not in {offered}, {}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
}

/// Nothing to complete from is no noise on the terminal.
#[test]
fn no_index_is_quiet() {
    for db in ["/absent", "/etc/passwd"] {
        let run = run_in(Path::new(db), ["complete", "--", "find", "a"]);
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (1, "", ""));
    }
    let run =
        command(KERNEL.db.path()).args([OsStr::new("complete"), OsStr::new("--help")]).output().unwrap();
    assert!(run.status.success(), "it is hidden, not gone");
}
