//! Answers of two small kernels are as their schemas say, those to wrong questions too.
#[path = "../../../tests/small_kernel/mod.rs"]
#[allow(dead_code, reason = "other tests make indexes with it; here the program does")]
mod small_kernel;

use super::validated::Schemas;
use serde_json::{Deserializer, Value};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RELEASES: [&str; 2] = ["6.1.0-test", "6.12.9+x-other"];

/// What the small kernels do not have: the tests of a real kernel ask for the last two; for the first, a kernel has to run.
const NOT_ASKED: [&str; 3] = ["capture", "blacklist", "bpf"];

/// What is asked of a folder of indexes, and what is held against its answers.
struct Asked {
    schemas: Schemas,
    db: PathBuf,
}

impl Asked {
    /// Runs a command line, and holds what it prints against a schema; gives how many lines that are.
    fn ask(&mut self, schema: &str, words: &[&str]) -> usize {
        self.ask_with(schema, words, "")
    }

    fn ask_with(&mut self, schema: &str, words: &[&str], input: &str) -> usize {
        let (printed, said) = run(&self.db, words, input);
        self.schemas.hold(schema, &printed);
        for line in said.lines().filter(|line| line.starts_with('{')) {
            self.schemas.hold("error", line);
        }
        printed.lines().count()
    }
}

fn run(db: &Path, words: &[&str], input: &str) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probeidx-documented"));
    command.arg("--json").arg("--db").arg(db).args(words).env_remove("PROBEIDX_DB");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may not read all of it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let ran = child.wait_with_output().unwrap();
    (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn answers_are_as_their_schemas_say() {
    let folders: Vec<_> = RELEASES.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    let db = tempfile::tempdir().unwrap();
    let tapset = tempfile::tempdir().unwrap();
    let text = "/** probe t.open - opens */\nprobe t.open = kernel.function(\"do_open\") ?, t.none ! { key = $key\n nosuch = $nosuch }\n\
                probe t.none = kernel.function(\"no_such\"), timer.s(1) {}\nfunction twice:long(x:long) /* pure */ { return 2 * x }\n";
    std::fs::write(tapset.path().join("t.stp"), text).unwrap();
    std::fs::write(tapset.path().join("t.stpm"), "@define one(a) %( @a + 1 %)\n").unwrap();
    let mut asked = Asked { schemas: Schemas::all(), db: db.path().to_owned() };
    for ((folder, release), level) in folders.iter().zip(RELEASES).zip(["-O2", "-O1"]) {
        let vmlinux = small_kernel::compile(folder.path(), release, level, &[]);
        let words = ["build", "--tapset", tapset.path().to_str().unwrap(), vmlinux.to_str().unwrap()];
        assert_eq!(asked.ask("build", &words), 1, "{}", run(db.path(), &words, "").1);
    }
    let [first, second] = RELEASES;
    let one = |words: &[&'static str]| [&["--kernel", first], words].concat();

    assert_eq!(asked.ask("kernels", &["kernels", "--kernel", "*"]), 2);
    assert_eq!(asked.ask("stats", &one(&["stats", "--btf"])), 1);
    assert_eq!(asked.ask("verify", &one(&["verify"])), 1);
    for words in [
        &["find", "*"][..],
        &["find", "*", "--locals"],
        &["find", "*%return"],
        &["find", "kernel.trace(\"*\")"],
        &["find", "t.*"],
        &["resolve", "do_open", "root->key", "key"],
        &["resolve", "clamp_value", "--locals"],
        &["resolve", "do_open@fs.c:*"],
        &["lines", "lookup"],
        &["resolve", "t.open"],
    ] {
        let lines = asked.ask("placement", &one(words));
        assert!(lines > 0 || words[1].contains("trace"), "{words:?}: {:?}", run(db.path(), &one(words), ""));
    }
    assert_eq!(asked.ask("resolve-defined", &one(&["resolve", "do_open", "--defined", "$key"])), 1);
    assert!(asked.ask("callers", &one(&["callers", "consume"])) > 0);
    assert!(asked.ask("callers", &one(&["callers", "do_open"])) > 0);
    for words in [
        &["type", "struct node"][..],
        &["type", "node.left->key"],
        &["type", "struct node", "--users"],
        &["type", "struct request"],
    ] {
        assert!(asked.ask("type", &one(words)) > 0, "{words:?}");
    }
    assert!(asked.ask("addr", &one(&["addr", "find_node+0x1", "lookup", "0x1", "no_such+0x1"])) >= 4);
    let log = "[ 1.0] RIP: 0010:find_node+0x1/0x10\n[ 1.0] Call Trace:\n[ 1.0]  lookup+0x4/0x20\n";
    assert!(asked.ask_with("decode", &one(&["decode"]), log) > 0);
    for words in [&["tapset"][..], &["tapset", "t.*"], &["tapset", "--functions"], &["tapset", "--macros"]] {
        assert!(asked.ask("tapset", &one(words)) > 0, "{words:?}");
    }
    assert!(asked.ask("check-tapset", &["check", "--tapset", "--kernel", "*"]) > 0);
    let list = "do_open\nno_such\nfentry:find_node\nkprobe:lookup\n";
    assert!(asked.ask_with("check", &["check", "-", "--kernel", "*"], list) > 8);
    let script = folders[0].path().join("s.stp");
    std::fs::write(
        &script,
        "probe kernel.function(\"do_open\") { println($no, $key) }\nprobe t.open { println(nosuch) }\n",
    )
    .unwrap();
    assert!(
        asked.ask("check", &["check", script.to_str().unwrap(), "/nonexistent.stp", "--kernel", "*"]) > 3
    );
    assert!(asked.ask("diff", &["diff", first, second]) > 1);
    for name in ["do_open", "lookup", "struct node", "struct node.key", "t.open", "fs.c:25"] {
        assert!(asked.ask("history", &["history", name, "--kernel", "*"]) > 0, "{name}");
    }
    for line in ["probeidx resolve look", "probeidx check "] {
        asked.ask("complete", &one(&["complete", "--line", line]));
    }
    serve(&mut asked);
    recorded(&mut asked.schemas);
    in_a_store(&mut asked);
    for words in
        [&["find", "no_such"][..], &["find", "["], &["nonsense"], &["resolve", "do_open", "--kernel", "5.0"]]
    {
        assert_eq!(asked.ask("error", words), 0, "{words:?}");
    }
    let schemas = asked.schemas;
    for answer in probeidx::cli::schema::all() {
        let count = schemas.counted.get(answer.name).copied().unwrap_or_default();
        assert_eq!(count == 0, NOT_ASKED.contains(&answer.name), "{}: {count} lines", answer.name);
    }
}

fn serve(asked: &mut Asked) {
    let requests = [
        r#"{"id":1,"method":"resolve","params":{"spec":"do_open","kernel":"6.1.0-test"}}"#,
        r#"{"id":"a","method":"find","params":{"patterns":["*"],"json":false,"kernel":"6.1.0-test"},"limit":2,"skip":1}"#,
        r#"{"method":"decode","params":{"kernel":"6.1.0-test"},"input":"lookup+0x4/0x20"}"#,
        r#"{"id":2,"method":"methods"}"#,
        r#"{"id":3,"method":"cancel","params":{"id":7}}"#,
        r#"{"id":4,"method":"resolve","params":{"spec":"no_such"}}"#,
    ];
    requests.iter().for_each(|request| asked.schemas.hold("serve-request", request));
    let (printed, _) = run(&asked.db, &["serve", "--stdio"], &(requests.join("\n") + "\nno json\n"));
    asked.schemas.hold("serve-reply", &printed);
    // What an item is, its own schema says.
    let items = printed.lines().filter_map(|line| {
        let reply: Value = serde_json::from_str(line).unwrap();
        reply.get("item").filter(|_| reply["id"] == 1).cloned()
    });
    let items: Vec<Value> = items.collect();
    assert!(!items.is_empty(), "{printed}");
    items.iter().for_each(|item| asked.schemas.hold_one("placement", item));
}

/// The lines of traces that docs/tracing.md has from booted kernels.
fn recorded(schemas: &mut Schemas) {
    let page = std::fs::read_to_string(probeidx_book::root().join("docs/tracing.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        for line in Deserializer::from_str(block).into_iter::<Value>() {
            schemas.hold_one("trace", &line.unwrap());
        }
    }
    assert!(schemas.counted["trace"] >= 5);
}

fn in_a_store(asked: &mut Asked) {
    let store = tempfile::tempdir().unwrap();
    let indexes =
        RELEASES.map(|release| asked.db.join(format!("{release}.pidx")).to_str().unwrap().to_owned());
    asked.db = store.path().to_owned();
    assert_eq!(asked.ask("fleet", &["fleet", "add", &indexes[0], &indexes[1]]), 2);
    assert_eq!(asked.ask("fleet", &["fleet", "list"]), 2);
    assert_eq!(asked.ask("fleet", &["fleet", "verify"]), 1);
    assert!(asked.ask("fleet-report", &["fleet", "report"]) > 1);
    assert_eq!(asked.ask("fleet", &["fleet", "remove", RELEASES[1]]), 1);
}
