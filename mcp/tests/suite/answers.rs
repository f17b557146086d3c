//! What the tools answer: the values of the command line.
use super::support::{Client, INDEX, NEWER, RELEASE, index, printed, text};
use serde_json::{Value, json};

#[test]
fn items_are_the_objects_of_the_command_line() {
    let db = INDEX.path();
    let mut client = Client::start(db);
    for (tool, arguments, words) in [
        ("find", json!({"patterns": ["do_*"], "each": true}), vec!["find", "do_*", "--each"]),
        (
            "resolve",
            json!({"spec": "submit", "args": ["flags", "rq->users"]}),
            vec!["resolve", "submit", "flags", "rq->users"],
        ),
        (
            "resolve",
            json!({"spec": "clamp_value", "locals": true}),
            vec!["resolve", "clamp_value", "--locals"],
        ),
        ("lines", json!({"spec": "submit", "limit": 3}), vec!["lines", "submit"]),
        ("callers", json!({"spec": "consume"}), vec!["callers", "consume"]),
        ("addr", json!({"addresses": ["submit+0", "consume+1"]}), vec!["addr", "submit+0", "consume+1"]),
        ("type", json!({"name": "struct request.users"}), vec!["type", "struct request.users"]),
        ("type", json!({"name": "struct request", "users": true}), vec!["type", "struct request", "--users"]),
        ("kernels", json!({}), vec!["kernels"]),
        ("blacklist", json!({}), vec!["blacklist"]),
        ("history", json!({"name": "submit"}), vec!["history", "submit"]),
    ] {
        let mut expected = printed(db, &words);
        let result = client.call(tool, &arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let answer = &result["structuredContent"];
        let items = answer["items"].as_array().unwrap();
        let left_out = answer["more"].as_u64().unwrap() as usize;
        assert!(!items.is_empty() || expected.is_empty(), "{tool} answers nothing");
        assert_eq!(items.len() + left_out, expected.len(), "{tool}");
        expected.truncate(items.len());
        assert_eq!(*items, expected, "{tool}");
        // The text says the same, for clients that show nothing else.
        let said: Vec<Value> =
            text(&result)[..items.len()].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(said, expected, "{tool}");
    }
}

#[test]
fn scripts_and_logs_come_with_the_call() {
    let mut client = Client::start(INDEX.path());
    let checked = client.call("check", &json!({"text": "kprobe:submit { }\nkprobe:submti { }"}));
    let items = checked["structuredContent"]["items"].as_array().unwrap();
    let states: Vec<_> =
        items.iter().map(|item| (item["program"].as_str(), item["state"].as_str().unwrap())).collect();
    assert_eq!(states, [(Some("kprobe:submit"), "ok"), (Some("kprobe:submti"), "absent"), (None, "absent")]);
    assert_eq!(
        (&items[1]["findings"][0]["line"], &items[1]["findings"][0]["errno"]),
        (&json!(2), &json!("ENOENT"))
    );
    let list = client.call("check", &json!({"text": "submit\n# a comment\nconsume"}));
    assert_eq!(list["structuredContent"]["items"].as_array().unwrap().len(), 3, "{list}");
    let log = "RIP: 0010:submit+0x4/0x100\nhello";
    let decoded = client.call("decode", &json!({"text": log, "form": "text"}));
    let lines = text(&decoded);
    assert!(lines.iter().any(|line| line.contains("core.c:")) && lines.contains(&"hello"), "{lines:?}");
}

#[test]
fn text_is_what_people_read_and_formats_are_text() {
    let mut client = Client::start(INDEX.path());
    let result = client.call("resolve", &json!({"spec": "submit", "form": "text"}));
    assert!(text(&result)[0].starts_with("submit@./core.c:"), "{result}");
    assert_eq!(result["structuredContent"]["items"][0], text(&result)[0]);
    let result =
        client.call("resolve", &json!({"spec": "submit", "args": ["flags"], "format": "kprobe-events"}));
    assert!(text(&result).iter().any(|line| line.starts_with("p:probeidx/submit ")), "{result}");
}

#[test]
fn kernels_are_chosen_and_a_replaced_index_is_opened_again() {
    let db = tempfile::tempdir().unwrap();
    index(db.path(), RELEASE, &[]);
    let mut client = Client::start(db.path());
    let ask = |client: &mut Client, kernel: &str| {
        let result = client.call("resolve", &json!({"spec": "added_later", "kernel": kernel}));
        (result["isError"] == true, result["structuredContent"]["items"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(ask(&mut client, RELEASE), (true, 0));
    let more =
        [("later.c", "__attribute__((noinline)) int added_later(int x) { asm volatile(\"\"); return x; }\n")];
    index(db.path(), RELEASE, &more);
    assert_eq!(ask(&mut client, RELEASE), (false, 1), "the index was replaced");
    index(db.path(), NEWER, &more);
    assert_eq!(ask(&mut client, "*"), (false, 2));
    let unchosen = client.call("resolve", &json!({"spec": "submit"}));
    assert_eq!(unchosen["isError"], true);
    assert!(text(&unchosen).iter().any(|line| line.contains(NEWER)), "{unchosen}");
    let diff = client.call("diff", &json!({"before": RELEASE, "after": NEWER, "pattern": "submit"}));
    assert_eq!(diff["isError"], false, "{diff}");
}

#[test]
fn nothing_is_written() {
    let listed = || {
        let mut names: Vec<_> = std::fs::read_dir(INDEX.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name(), entry.metadata().unwrap().modified().unwrap()))
            .collect();
        names.sort();
        names
    };
    let before = listed();
    let mut client = Client::start(INDEX.path());
    for (tool, arguments) in [
        ("find", json!({"patterns": ["*"]})),
        ("check", json!({"text": "kprobe:submit {}"})),
        ("kernels", json!({})),
    ] {
        client.call(tool, &arguments);
    }
    assert_eq!(client.end(), Some(0));
    assert_eq!(listed(), before);
}
