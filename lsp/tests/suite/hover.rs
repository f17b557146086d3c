//! What things are, and where they are defined.
use super::support::{Editor, INDEX, RELEASE, index};
use serde_json::{Value, json};
use std::fs;

fn text(hover: &Value) -> &str {
    hover["contents"]["value"].as_str().unwrap_or_default()
}

#[test]
fn probe_points_have_their_places_verdicts_and_parameters() {
    let mut editor = Editor::start(INDEX.path());
    for (name, marked, width) in [
        ("a.bt", "kprobe:sub|mit { }", 13),
        ("a.bt", "/* 😀 */ fentry:submit| { }", 13),
        ("a.stp", "probe kernel.fun|ction(\"submit\") ? { }", 25),
        ("a.stp", "probe work.sub|mit { }", 11),
    ] {
        let hover = editor.ask_at("textDocument/hover", name, marked);
        let said = text(&hover);
        assert!(
            said.contains("kprobe ok") && said.contains("flags") && said.contains(RELEASE),
            "{marked}: {hover}"
        );
        let range = &hover["range"];
        let found =
            range["end"]["character"].as_u64().unwrap() - range["start"]["character"].as_u64().unwrap();
        assert_eq!(found, width, "{marked}");
    }
    assert!(editor.ask_at("textDocument/hover", "a.bt", "kprobe:now|here { }").is_null());
    assert!(editor.ask_at("textDocument/hover", "a.bt", "// kprobe:sub|mit").is_null());
}

#[test]
fn values_and_members_have_their_types() {
    let mut editor = Editor::start(INDEX.path());
    for (name, marked, said) in [
        ("a.stp", "probe kernel.function(\"submit\") { x = $fl|ags }", "%si"),
        ("a.bt", "kprobe:submit { $r = (struct request *)arg0; print($r->us|ers) }", "offset"),
        ("a.stp", "probe begin { x = twi|ce(1) }", "twice"),
    ] {
        let hover = editor.ask_at("textDocument/hover", name, marked);
        assert!(text(&hover).contains(said) || cfg!(not(target_arch = "x86_64")), "{marked}: {hover}");
    }
}

#[test]
fn definitions_are_in_the_source_that_is_there() {
    let db = tempfile::tempdir().unwrap();
    index(db.path(), RELEASE, &[]);
    let source = tempfile::tempdir().unwrap();
    let core = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/core.c")).unwrap();
    fs::write(source.path().join("core.c"), &core).unwrap();
    let mut editor = Editor::start_with(db.path(), &[], &json!({"source": source.path()}));
    let found = editor.ask_at("textDocument/definition", "a.bt", "kprobe:sub|mit { }");
    let line = core.lines().position(|line| line.contains("int submit(")).unwrap();
    assert_eq!(found[0]["range"]["start"]["line"], line, "{found}");
    assert!(found[0]["uri"].as_str().unwrap().ends_with("/core.c"), "{found}");
    // Its source is not there.
    assert_eq!(editor.ask_at("textDocument/definition", "a.bt", "kprobe:find|_node { }"), json!([]));
}
