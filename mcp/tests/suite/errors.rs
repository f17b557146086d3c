//! What goes wrong is the tool's error, in the words of the command line.
use super::support::{Client, INDEX, text};
use serde_json::json;

#[test]
fn errors_have_the_words_and_the_remedy() {
    let mut client = Client::start(INDEX.path());
    for (tool, arguments, said) in [
        ("resolve", json!({"spec": "no_such_function"}), "no function no_such_function"),
        ("resolve", json!({}), "resolve needs spec"),
        ("resolve", json!({"spec": 7}), "spec: expected a string"),
        ("resolve", json!({"spec": "submit", "specs": "x"}), "hint: it has spec"),
        ("resolve", json!({"spec": "submit", "format": "xml"}), "expected one of kprobe-events"),
        ("resolve", json!({"spec": "kernel.function("}), "kernel.function("),
        ("find", json!({"patterns": "submit", "each": "yes"}), "each: expected true or false"),
        ("find", json!({"patterns": ["submit"], "limit": -1}), "limit: expected a number"),
        ("find", json!({"patterns": ["submit"], "form": "yaml"}), "form: expected json or text"),
        (
            "diff",
            json!({"before": "/etc/passwd", "after": "6.1.0-test"}),
            "before: expected the release of a kernel",
        ),
        ("find", json!({"patterns": ["submit"], "kernel": "9.9"}), "no index of kernel 9.9"),
        ("check", json!({}), "check needs text"),
        ("type", json!({"name": "struct nothing"}), "nothing"),
    ] {
        let result = client.call(tool, &arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(text(&result).join("\n").contains(said), "{tool} {arguments}: {result}");
        assert!(result["structuredContent"]["error"]["kind"].is_string());
    }
    // One value stands for a list of one.
    assert_eq!(client.call("find", &json!({"patterns": "submit"}))["isError"], false);
    let unknown = client.request("tools/call", &json!({"name": "trace", "arguments": {"spec": "submit"}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("there is no tool trace"), "{unknown}");
}

#[test]
fn without_an_index_the_answer_says_how_to_make_one() {
    let empty = tempfile::tempdir().unwrap();
    let mut client = Client::start(empty.path());
    let result = client.call("resolve", &json!({"spec": "submit"}));
    assert_eq!(result["isError"], true);
    assert!(text(&result).join("\n").contains("probeidx build"), "{result}");
}
