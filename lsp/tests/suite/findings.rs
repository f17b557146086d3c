//! What is shown as wrong, and where.
use super::support::{Editor, INDEX, NEWER, RELEASE, brief, index, uri};
use serde_json::{Value, json};

#[test]
fn findings_of_bpftrace_are_at_what_they_are_about() {
    let mut editor = Editor::start(INDEX.path());
    let text = "/* 😀 */ kprobe:submti { @ = count(); }\nkprobe:submit { $r = (struct request *)arg0; print(\"😀\", $r->ussers); }\n";
    let found: Vec<String> = editor.findings("a.bt", text).iter().map(brief).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("0:9-22 1 absent the kernel has no such function (ENOENT)"), "{found:?}");
    // Two units of UTF-16 stand for the face.
    let column = "kprobe:submit { $r = (struct request *)arg0; print(\"xx\", $r->".len();
    assert!(found[1].starts_with(&format!("1:{column}-{} 1 field ", column + "ussers".len())), "{found:?}");
    assert!(found[1].contains("instead: users"), "{found:?}");
}

#[test]
fn findings_of_systemtap_are_at_what_they_are_about() {
    let mut editor = Editor::start(INDEX.path());
    let text = "probe kernel.function(\"submit\") { /* é */ println($flogs, $rq->users, twice(1)) }\nprobe kernel.function(\"nowhere\") {}\n";
    let found: Vec<String> = editor.findings("a.stp", text).iter().map(brief).collect();
    assert!(
        found.iter().any(|found| found.starts_with("0:50-56 1 argument ") && found.contains("$flags")),
        "{found:?}"
    );
    assert!(found.iter().any(|found| found.starts_with("1:6-32 1 absent ")), "{found:?}");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(editor.findings("b.stp", "probe work.submit { println(mode) }").is_empty());
}

#[test]
fn an_ambiguous_name_says_where_its_definitions_are() {
    let mut editor = Editor::start(INDEX.path());
    let found = editor.findings("a.bt", "fentry:do_open { }\nkprobe:do_open { }");
    let ambiguous: Vec<&Value> = found.iter().filter(|found| found["code"] == "ambiguous").collect();
    for finding in &ambiguous {
        let related = finding["relatedInformation"].as_array().unwrap();
        let said: Vec<&str> = related.iter().map(|one| one["message"].as_str().unwrap()).collect();
        assert!(
            said.iter().any(|said| said.contains("core.c:"))
                && said.iter().any(|said| said.contains("fs.c:")),
            "{said:?}"
        );
    }
    assert!(!found.is_empty(), "it is static twice, and inlined");
}

#[test]
fn what_is_being_typed_hides_nothing_else() {
    let mut editor = Editor::start(INDEX.path());
    let text = "kprobe:submti { }\nkprobe:submit { $x = (\nkprobe:consmue { }\n";
    let found: Vec<String> = editor.findings("a.bt", text).iter().map(brief).collect();
    assert!(found.iter().any(|found| found.contains(" syntax ")), "{found:?}");
    assert!(found.iter().any(|found| found.starts_with("0:0-13 1 absent")), "{found:?}");
    assert!(found.iter().any(|found| found.starts_with("2:0-14 1 absent")), "{found:?}");
    let text = "probe kernel.function(\"nowhere\") { }\nprobe kernel.function(\"submit\") { if (\n\nprobe kernel.function(\"neither\") { }\n";
    let found: Vec<String> = editor.findings("a.stp", text).iter().map(brief).collect();
    assert!(found.iter().any(|found| found.contains(" syntax ")), "{found:?}");
    assert!(
        found.iter().any(|found| found.starts_with("0:"))
            && found.iter().any(|found| found.starts_with("3:")),
        "{found:?}"
    );
}

#[test]
fn embedded_c_wants_guru_mode() {
    let mut editor = Editor::start(INDEX.path());
    let text = "function f:long () %{ STAP_RETVALUE = 1; %}\nprobe begin { println(f()) }\n";
    assert!(
        editor
            .findings("a.stp", text)
            .iter()
            .any(|found| found["message"].as_str().unwrap().contains("stap -g"))
    );
    assert!(editor.findings("b.stp", &format!("#!/usr/bin/stap -g\n{text}")).is_empty());
    let mut editor = Editor::start_with(INDEX.path(), &["--guru"], &Value::Null);
    assert!(editor.findings("a.stp", text).is_empty());
}

#[test]
fn several_kernels_are_named_where_they_differ() {
    let db = tempfile::tempdir().unwrap();
    let more =
        [("later.c", "__attribute__((noinline)) int added_later(int x) { asm volatile(\"\"); return x; }\n")];
    index(db.path(), RELEASE, &[]);
    index(db.path(), NEWER, &more);
    let mut editor = Editor::start_with(db.path(), &["--kernel", "*"], &Value::Null);
    let found: Vec<String> =
        editor.findings("a.bt", "kprobe:added_later { }\nkprobe:nowhere { }").iter().map(brief).collect();
    assert!(
        found.iter().any(|found| found.starts_with("0:") && found.ends_with("; on 6.1.0-test")),
        "{found:?}"
    );
    assert!(found.iter().any(|found| found.starts_with("1:") && !found.contains("; on ")), "{found:?}");
    // The editor may choose one.
    let mut editor = Editor::start_with(db.path(), &[], &json!({"kernel": NEWER, "colour": 1}));
    assert!(editor.told("window/showMessage")["message"].as_str().unwrap().contains("colour"));
    assert!(editor.findings("a.bt", "kprobe:added_later { }").is_empty());
}

#[test]
fn a_project_and_a_comment_may_name_alternatives() {
    let mut editor = Editor::start(INDEX.path());
    let text = "// probeidx: need kprobe:submit|kprobe:nowhere\nkprobe:submit { }\nkprobe:nowhere { }\n";
    let found: Vec<Value> = editor.findings("a.bt", text);
    assert!(found.iter().all(|found| found["severity"] != 1), "{found:?}");
}

#[test]
fn without_an_index_the_editor_is_told_once() {
    let empty = tempfile::tempdir().unwrap();
    let mut editor = Editor::start(empty.path());
    assert!(editor.findings("a.bt", "kprobe:submit { }").is_empty());
    let said = editor.told("window/showMessage");
    assert!(said["message"].as_str().unwrap().contains("probeidx build"), "{said}");
    // An index that is built in the meantime is taken at the next change.
    index(empty.path(), RELEASE, &[]);
    let change = json!({"textDocument": {"uri": uri("a.bt"), "version": 2}, "contentChanges": [{"text": "kprobe:nowhere { }"}]});
    editor.notify("textDocument/didChange", &change);
    assert_eq!(editor.shown("a.bt", 2).len(), 1);
}
