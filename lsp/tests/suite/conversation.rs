//! The protocol: the beginning, changes, the end, and what is wrong.
use super::support::{Editor, INDEX, uri};
use serde_json::{Value, json};

#[test]
fn changes_of_a_part_are_followed() {
    let mut editor = Editor::start(INDEX.path());
    assert_eq!(editor.findings("a.bt", "// 😀 a\nkprobe:submit { }").len(), 0);
    let place = |line: u32, character: u32| json!({"line": line, "character": character});
    let change = json!({"textDocument": {"uri": uri("a.bt"), "version": 2}, "contentChanges": [
        {"range": {"start": place(0, 3), "end": place(0, 5)}, "text": "é"},
        {"range": {"start": place(1, 7), "end": place(1, 13)}, "text": "nowhere"},
    ]});
    editor.notify("textDocument/didChange", &change);
    let found = editor.shown("a.bt", 2);
    assert_eq!((found.len(), &found[0]["range"]["end"]["character"]), (1, &json!(14)));
    // What was typed quickly is checked once, as it is at the end.
    for version in 3..20 {
        let text = if version == 19 { "kprobe:submit { }" } else { "kprobe:nowhere { }" };
        let change = json!({"textDocument": {"uri": uri("a.bt"), "version": version}, "contentChanges": [{"text": text}]});
        editor.notify("textDocument/didChange", &change);
    }
    assert!(editor.shown("a.bt", 19).is_empty());
    editor.notify("textDocument/didClose", &json!({"textDocument": {"uri": uri("a.bt")}}));
    let told = editor.told("textDocument/publishDiagnostics");
    assert!(told["version"].is_null() && told["diagnostics"] == json!([]), "{told}");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn the_language_is_known_by_its_name_or_what_it_looks_like() {
    let mut editor = Editor::start(INDEX.path());
    for (name, language, text) in [
        ("untitled", "bpftrace", "kprobe:nowhere { }"),
        ("none", "plaintext", "kprobe:nowhere { }"),
        ("x.stp", "", "probe kernel.function(\"nowhere\") { }"),
    ] {
        let document = json!({"uri": uri(name), "languageId": language, "version": 1, "text": text});
        editor.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        let found = editor.shown(name, 1);
        assert_eq!((found.len(), &found[0]["code"]), (1, &json!("absent")), "{name}: {found:?}");
    }
}

#[test]
fn what_is_not_understood_is_an_error_and_no_end() {
    let mut editor = Editor::start(INDEX.path());
    assert_eq!(editor.request("textDocument/rename", &json!({}))["error"]["code"], -32601);
    assert_eq!(editor.request("textDocument/hover", &json!({"position": 3}))["error"]["code"], -32602);
    editor.notify("textDocument/didOpen", &json!({"nonsense": true}));
    editor.notify("$/cancelRequest", &json!({"id": 1}));
    editor.notify(
        "textDocument/didChange",
        &json!({"textDocument": {"uri": "file:///never", "version": 1}, "contentChanges": []}),
    );
    assert!(editor.findings("a.bt", "kprobe:submit { }").is_empty());
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn an_editor_that_leaves_ends_it() {
    assert_eq!(Editor::spawn(INDEX.path(), &[]).leave(), Some(0));
    let editor = Editor::start(INDEX.path());
    assert_eq!(editor.leave(), Some(3));
    assert_eq!(Editor::start_with(INDEX.path(), &[], &Value::Null).end(), Some(0));
}
