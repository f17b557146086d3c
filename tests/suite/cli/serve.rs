//! Requests and answers over `serve --stdio`: the answers are those of the commands, whatever comes in between.
use crate::support::fixture::RELEASE;
use crate::support::program::{KERNEL, Run, command, json, probeidx, run_in};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A process that answers.
struct Serving {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Serving {
    fn start(db: &Path) -> Self {
        let mut c = command(db);
        let c =
            c.args(["serve", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = c.spawn().unwrap();
        let (requests, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, requests, answers }
    }

    fn send(&mut self, line: &[u8]) {
        let requests = self.requests.as_mut().unwrap();
        requests.write_all(&[line, b"\n"].concat()).unwrap();
        requests.flush().unwrap();
    }

    /// The next line.
    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
    }

    /// The lines of the answer to a request that is sent alone.
    fn ask(&mut self, request: &Value) -> Vec<Value> {
        self.send(request.to_string().as_bytes());
        self.answer()
    }

    fn answer(&mut self) -> Vec<Value> {
        let mut lines = vec![];
        loop {
            let line = self.line();
            let is_last = line.get("done").is_some() || line.get("error").is_some();
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    /// The error that a line is answered with, and the id.
    fn refused(&mut self, line: &[u8]) -> (Value, String) {
        self.send(line);
        let answer = self.line();
        let error = &answer["error"];
        assert_eq!(error["kind"], "usage", "{answer}");
        (answer["id"].clone(), error["message"].as_str().unwrap().to_owned())
    }

    /// Sends nothing more: what comes until it ends, and how it ends.
    fn end(mut self) -> (Vec<Value>, Run) {
        drop(self.requests.take());
        let mut rest = String::new();
        self.answers.read_to_string(&mut rest).unwrap();
        let run = Run::of(self.child.wait_with_output().unwrap());
        (rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), run)
    }
}

fn serve() -> Serving {
    Serving::start(KERNEL.db.path())
}

fn items(lines: &[Value]) -> Vec<Value> {
    lines.iter().filter_map(|line| line.get("item")).cloned().collect()
}

#[test]
fn an_answer_is_what_the_command_prints() {
    let mut serving = serve();
    for (method, params, line) in [
        ("find", json!({"patterns": ["gamma_*", "lookup"]}), &["find", "gamma_*", "lookup"][..]),
        (
            "find",
            json!({"patterns": "lookup", "each": true, "locals": true}),
            &["find", "lookup", "--each", "--locals"],
        ),
        (
            "resolve",
            json!({"spec": "lookup", "kernel": RELEASE}),
            &["resolve", "lookup", "--kernel", RELEASE],
        ),
        ("lines", json!({"spec": "lookup"}), &["lines", "lookup"]),
        ("addr", json!({"addresses": ["lookup+1", "lookup"]}), &["addr", "lookup+1", "lookup"]),
        (
            "type",
            json!({"name": "struct node", "users": true, "verbose": 2}),
            &["type", "struct node", "--users", "-vv"],
        ),
        ("kernels", json!({}), &["kernels"]),
        ("stats", json!({"quiet": true}), &["stats"]),
        ("verify", Value::Null, &["verify"]),
        ("complete", json!({"words": ["find", "look"]}), &["complete", "--", "find", "look"]),
    ] {
        let lines = serving.ask(&json!({"id": method, "method": method, "params": params}));
        let expected = json(line);
        assert_eq!(items(&lines), expected, "{method}");
        let done = json!({"code": 0, "end": "complete", "items": expected.len()});
        assert_eq!(*lines.last().unwrap(), json!({"id": method, "done": done}));
    }
    let (rest, run) = serving.end();
    assert_eq!((rest.len(), run.code, run.err.as_str()), (0, 0, ""));
}

#[test]
fn lines_for_people_are_strings() {
    let mut serving = serve();
    let params = json!({"patterns": ["gamma_*"], "args": true, "json": false});
    let lines = serving.ask(&json!({"id": 1, "method": "find", "params": params}));
    let listed = probeidx(&["find", "gamma_*", "--args"]).out;
    assert_eq!(items(&lines), listed.lines().map(Value::from).collect::<Vec<_>>());
    let params = json!({"spec": "lookup", "format": "kprobe-events", "json": false});
    let lines = serving.ask(&json!({"method": "resolve", "params": params}));
    let definitions = probeidx(&["resolve", "lookup", "--format", "kprobe-events"]).out;
    assert_eq!(items(&lines), definitions.lines().map(Value::from).collect::<Vec<_>>());
    assert!(lines.iter().all(|line| line["id"].is_null()));
}

#[test]
fn input_stands_for_stdin() {
    let mut serving = serve();
    let log = " lookup+0x1/0x2000\n[    1.0]  submit+0x1\nnothing\n";
    let lines = serving.ask(&json!({"method": "decode", "input": log, "params": {"json": false}}));
    let mut c = command(KERNEL.db.path());
    let mut child =
        c.arg("decode").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(log.as_bytes()).unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(items(&lines), run.out.lines().map(Value::from).collect::<Vec<_>>());
    let notes: Vec<String> =
        lines.iter().filter_map(|l| Some(format!("probeidx: {}", l.get("note")?.as_str()?))).collect();
    assert_eq!(notes, run.err.lines().collect::<Vec<_>>());
    // Without any, there is none: the requests are not the log.
    let lines = serving.ask(&json!({"method": "addr"}));
    let note = json!({"id": null, "note": "no addresses: give them as arguments or on stdin, one a line"});
    assert_eq!(lines, [note, json!({"id": null, "done": {"code": 1, "end": "complete", "items": 0}})]);
}

#[test]
fn errors_are_those_of_the_command() {
    let mut serving = serve();
    for (request, line, code) in [
        (json!({"method": "find", "params": {"patterns": ["lookpu"]}}), &["find", "lookpu"][..], 1),
        (json!({"method": "find", "params": {"patterns": ["submit+"]}}), &["find", "submit+"], 2),
        (json!({"method": "stats", "params": {"kernel": "5.10"}}), &["stats", "--kernel", "5.10"], 3),
        (json!({"method": "stats", "params": {"db": "/absent"}}), &["stats", "--db", "/absent"], 3),
    ] {
        let mut with_json = vec!["--json"];
        with_json.extend(line);
        let run = probeidx(&with_json);
        assert_eq!(run.code, code);
        let said: Value = serde_json::from_str(&run.err).unwrap();
        assert_eq!(serving.ask(&request), [json!({"id": null, "error": said["error"]})]);
    }
}

#[test]
fn a_part_of_an_answer_and_the_next() {
    let mut serving = serve();
    let all = json(&["find", "*"]);
    assert!(all.len() > 8);
    let mut parts = vec![];
    for skip in (0..).step_by(3) {
        let request =
            json!({"id": skip, "method": "find", "params": {"patterns": "*"}, "limit": 3, "skip": skip});
        let lines = serving.ask(&request);
        let done = &lines.last().unwrap()["done"];
        assert_eq!(done["items"], lines.len() - 1);
        parts.extend(items(&lines));
        if done["end"] == "complete" {
            break;
        }
        assert_eq!((&done["end"], &done["items"]), (&json!("truncated"), &json!(3)));
    }
    assert_eq!(parts, all);
    let none = serving.ask(&json!({"method": "find", "params": {"patterns": "*"}, "limit": 0}));
    assert_eq!(none, [json!({"id": null, "done": {"code": 0, "end": "truncated", "items": 0}})]);
    let beyond = serving.ask(&json!({"method": "find", "params": {"patterns": "*"}, "skip": 1_000_000}));
    assert_eq!(beyond, [json!({"id": null, "done": {"code": 0, "end": "complete", "items": 0}})]);
}

#[test]
fn what_is_wrong_is_answered_and_nothing_ends() {
    let mut serving = serve();
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let deep_params = format!(
        "{{\"id\":1,\"method\":\"find\",\"params\":{{\"patterns\":{}1{}}}}}",
        "[".repeat(9000),
        "]".repeat(9000)
    );
    for (line, id, message) in [
        (&b"{"[..], Value::Null, "this is no JSON"),
        (b"find lookup", Value::Null, "this is no JSON"),
        (b"\x7fELF\x02\x01\x00\xff\xfe", Value::Null, "this is no JSON"),
        (b"{\"id\":1,\"method\":\"stats\"} {\"id\":2}", Value::Null, "this is no JSON"),
        (b"{\"id\":1,\"method\":\"\xc3\x28\"}", Value::Null, "this is no JSON"),
        (&deep, Value::Null, "recursion limit"),
        (deep_params.as_bytes(), Value::Null, "recursion limit"),
        (b"[]", Value::Null, "a request is an object"),
        (b"7", Value::Null, "a request is an object"),
        (b"{\"id\":1.5,\"method\":\"stats\"}", Value::Null, "id: expected"),
        (b"{\"id\":[],\"method\":\"stats\"}", Value::Null, "id: expected"),
        (b"{\"id\":1e999,\"method\":\"stats\"}", Value::Null, "number out of range"),
        (b"{\"id\":1}", json!(1), "there is no method"),
        (b"{\"id\":1,\"method\":1}", json!(1), "method: expected a string"),
        (b"{\"id\":1,\"method\":\"stats\",\"parms\":{}}", json!(1), "parms: a request has no such field"),
        (b"{\"id\":1,\"method\":\"stats\",\"params\":[]}", json!(1), "params: expected an object"),
        (b"{\"id\":1,\"method\":\"stats\",\"limit\":-1}", json!(1), "limit: expected a number"),
        (b"{\"id\":1,\"method\":\"decode\",\"input\":1}", json!(1), "input: expected a string"),
        (b"{\"id\":1,\"method\":\"fnd\"}", json!(1), "there is no method fnd"),
        (b"{\"id\":1,\"method\":\"build\"}", json!(1), "there is no method build"),
        (b"{\"id\":1,\"method\":\"serve\"}", json!(1), "there is no method serve"),
        (b"{\"id\":1,\"method\":\"--help\"}", json!(1), "there is no method --help"),
        (b"{\"id\":1,\"method\":\"cancel\",\"params\":{\"id\":[1]}}", json!(1), "id: expected"),
        (
            b"{\"id\":1,\"method\":\"cancel\",\"params\":{\"all\":1}}",
            json!(1),
            "this method has no parameter all",
        ),
        (b"{\"id\":1,\"method\":\"find\"}", json!(1), "find needs patterns"),
        (b"{\"id\":1,\"method\":\"find\",\"params\":{\"patterns\":[]}}", json!(1), "find needs patterns"),
        (b"{\"id\":1,\"method\":\"resolve\",\"params\":{\"args\":[\"a\"]}}", json!(1), "resolve needs spec"),
        (
            b"{\"id\":1,\"method\":\"find\",\"params\":{\"pattern\":\"a\"}}",
            json!(1),
            "find has no parameter pattern",
        ),
        (
            b"{\"id\":1,\"method\":\"find\",\"params\":{\"help\":true}}",
            json!(1),
            "find has no parameter help",
        ),
        (
            b"{\"id\":1,\"method\":\"find\",\"params\":{\"patterns\":{}}}",
            json!(1),
            "params.patterns: expected a string",
        ),
        (
            b"{\"id\":1,\"method\":\"find\",\"params\":{\"patterns\":\"a\",\"each\":1}}",
            json!(1),
            "params.each: expected true or false",
        ),
        (
            b"{\"id\":1,\"method\":\"find\",\"params\":{\"patterns\":\"a\",\"verbose\":200}}",
            json!(1),
            "params.verbose: expected a number",
        ),
        (
            b"{\"id\":1,\"method\":\"find\",\"params\":{\"patterns\":\"a\",\"json\":\"x\"}}",
            json!(1),
            "params.json: expected true or false",
        ),
        (
            b"{\"id\":1,\"method\":\"resolve\",\"params\":{\"spec\":[\"a\",\"b\"]}}",
            json!(1),
            "params.spec: expected a string",
        ),
        (
            b"{\"id\":1,\"method\":\"resolve\",\"params\":{\"spec\":\"a\",\"format\":\"xml\"}}",
            json!(1),
            "invalid value 'xml'",
        ),
        (
            b"{\"id\":1,\"method\":\"stats\",\"params\":{\"quiet\":true,\"verbose\":1}}",
            json!(1),
            "cannot be used with",
        ),
    ] {
        let (got, said) = serving.refused(line);
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        assert!(got == id && said.contains(message), "{shown}: {got} {said}");
    }
    // What looks like an option is a pattern.
    let error = serving.ask(&json!({"method": "find", "params": {"patterns": ["--args"]}}));
    assert!(error[0]["error"]["message"].as_str().unwrap().contains("no function --args"), "{error:?}");
    serving.send(b"\r\n  \n{\"id\":2,\"method\":\"verify\"}\r");
    assert_eq!(serving.answer().len(), 2);
    let (rest, run) = serving.end();
    assert_eq!((rest.len(), run.code, run.err.as_str()), (0, 0, ""));
}

#[test]
fn a_line_without_end_is_passed_over() {
    let mut serving = serve();
    let piece = vec![b'a'; 1 << 20];
    for _ in 0..100 {
        serving.requests.as_mut().unwrap().write_all(&piece).unwrap();
    }
    let (id, said) = serving.refused(b"");
    assert!(id.is_null() && said.contains("longer than 8388608 bytes"), "{said}");
    let lines = serving.ask(&json!({"id": 1, "method": "kernels"}));
    assert_eq!(lines.len(), 2);
    let mut values = json!({"id": 2, "method": "find", "params": {"patterns": vec!["a"; 10_001]}});
    let (_, said) = serving.refused(values.to_string().as_bytes());
    assert!(said.contains("more than 10000 values"), "{said}");
    values["method"] = json!("x".repeat(1 << 20));
    let (_, said) = serving.refused(values.to_string().as_bytes());
    assert!(said.len() < 200, "{said}");
}

#[test]
fn a_thousand_requests_at_once_are_each_answered_whole() {
    let mut serving = serve();
    let expected = [json(&["resolve", "lookup"]), json(&["find", "gamma_*"]), json(&["addr", "lookup"])];
    let mut requests = serving.requests.take().unwrap();
    let writer = std::thread::spawn(move || {
        for id in 0..1000 {
            let (method, params) = match id % 3 {
                0 => ("resolve", json!({"spec": "lookup"})),
                1 => ("find", json!({"patterns": ["gamma_*"]})),
                _ => ("addr", json!({"addresses": ["lookup"]})),
            };
            writeln!(requests, "{}", json!({"id": id, "method": method, "params": params})).unwrap();
        }
        // The last line has no end.
        write!(requests, "{}", json!({"id": "last", "method": "kernels"})).unwrap();
    });
    let (lines, run) = serving.end();
    writer.join().unwrap();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let mut answers: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in lines {
        let answer = answers.entry(line["id"].to_string()).or_default();
        assert!(answer.last().is_none_or(|last| last.get("done").is_none()), "nothing follows the end");
        answer.push(line);
    }
    assert_eq!(answers.len(), 1001);
    for id in 0..1000 {
        let answer = &answers[&id.to_string()];
        assert_eq!(items(answer), expected[id % 3], "{id}");
        assert_eq!(answer.last().unwrap()["done"]["items"], expected[id % 3].len());
    }
}

#[test]
fn an_answer_that_nobody_reads_is_cancelled() {
    let mut serving = serve();
    // More than pipes hold: as nobody reads, it is still being written when the request to cancel comes.
    let all = json!({"patterns": vec!["*"; 40], "each": true, "locals": true});
    for id in 0..40 {
        serving.send(
            json!({"id": id, "method": "find", "params": all, "limit": 1_000_000}).to_string().as_bytes(),
        );
    }
    for id in 0..40 {
        serving.send(
            json!({"id": format!("end {id}"), "method": "cancel", "params": {"id": id}})
                .to_string()
                .as_bytes(),
        );
    }
    serving.send(br#"{"id":"again","method":"cancel","params":{"id":"nothing"}}"#);
    let (lines, run) = serving.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let ends: Vec<&Value> = lines.iter().filter(|l| l["id"].is_u64() && l.get("done").is_some()).collect();
    assert_eq!(ends.len(), 40);
    let cancelled = ends.iter().filter(|l| l["done"]["end"] == "cancelled").count();
    assert!(cancelled >= 30, "{cancelled} of 40");
    let again = lines.iter().find(|l| l["id"] == "again").unwrap();
    assert_eq!(again["done"]["code"], 1);
    let told = lines.iter().filter(|l| l["id"].as_str().is_some_and(|id| id.starts_with("end ")));
    assert!(told.filter(|l| l["done"]["code"] == 0).count() >= cancelled);
}

#[test]
fn a_replaced_index_is_noticed_and_an_absent_one_named() {
    let db = tempfile::tempdir().unwrap();
    let file = db.path().join(format!("{RELEASE}.pidx"));
    std::fs::copy(KERNEL.db.path().join(format!("{RELEASE}.pidx")), &file).unwrap();
    let mut serving = Serving::start(db.path());
    let ask = json!({"id": 1, "method": "find", "params": {"patterns": ["gamma_calls"]}});
    let first = serving.ask(&ask);
    assert_eq!(items(&first).len(), 1, "{first:?}");
    // The same kernel without its modules.
    let other = tempfile::tempdir().unwrap();
    let vmlinux = KERNEL.tree.vmlinux();
    run_in(other.path(), ["build", vmlinux.to_str().unwrap(), "--no-modules"]).found();
    let next = db.path().join(".next");
    std::fs::copy(other.path().join(format!("{RELEASE}.pidx")), &next).unwrap();
    std::fs::rename(&next, &file).unwrap();
    let second = serving.ask(&ask);
    assert_eq!(second[0]["error"]["kind"], "no-match", "{second:?}");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(serving.ask(&ask)[0]["error"]["kind"], "no-index");
    std::fs::write(&file, "no index").unwrap();
    assert_eq!(serving.ask(&ask)[0]["error"]["kind"], "index-damaged");
    std::fs::copy(KERNEL.db.path().join(format!("{RELEASE}.pidx")), &file).unwrap();
    assert_eq!(serving.ask(&ask), first);
}

#[test]
fn nobody_who_listens_ends_it() {
    let Serving { mut child, requests, answers } = serve();
    drop(answers);
    // stdin stays open.
    let mut requests = requests.unwrap();
    requests.write_all(b"{\"method\":\"stats\"}\n").unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    run_in(KERNEL.db.path(), ["serve"]).refused(
        2,
        "probeidx: error: the following required arguments were not provided: --stdio; see: probeidx --help",
    );
}

/// Whatever the commands take can be asked for, and is told.
#[test]
fn methods_are_the_commands() {
    let lines = serve().ask(&json!({"id": 1, "method": "methods"}));
    let methods = items(&lines);
    let names: Vec<&str> = methods.iter().map(|m| m["method"].as_str().unwrap()).collect();
    let help = probeidx(&["--help"]).found();
    let commands = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    for command in commands.filter_map(|l| l.strip_prefix("  ")?.split(' ').next()).filter(|c| !c.is_empty())
    {
        let others = [
            "build",
            "capture",
            "completions",
            "export",
            "fleet",
            "lsp",
            "man",
            "mcp",
            "serve",
            "trace",
            "web",
        ];
        let is_question = !others.contains(&command);
        assert_eq!(names.contains(&command), is_question, "{command}");
    }
    let resolve = methods.iter().find(|m| m["method"] == "resolve").unwrap();
    let parameter =
        |name: &str| resolve["params"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
    assert_eq!(
        (&parameter("spec")["takes"], &parameter("spec")["required"]),
        (&json!("string"), &json!(true))
    );
    assert_eq!(parameter("args")["takes"], "strings");
    assert_eq!(parameter("locals")["takes"], "bool");
    assert!(parameter("format")["values"].as_array().unwrap().contains(&json!("kprobe-events")));
}
