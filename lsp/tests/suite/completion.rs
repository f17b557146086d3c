//! What can stand at the cursor, in scripts that are not complete.
use super::support::{Editor, INDEX};
use serde_json::json;

#[test]
fn probe_points() {
    let mut editor = Editor::start(INDEX.path());
    for (name, marked, expected) in [
        ("a.bt", "kprobe:sub|", "kprobe:submit"),
        ("a.bt", "BEGIN { }\nkretprobe:con| { }", "BEGIN { }\nkretprobe:consume { }"),
        ("a.bt", "fentry:find_|", "fentry:find_node"),
        ("a.bt", "kpr|", "kprobe:"),
        ("a.bt", "/* 😀 */ kprobe:sub|", "/* 😀 */ kprobe:submit"),
        ("a.bt", "kprobe:submit { $x = (\nkprobe:con|", "kprobe:submit { $x = (\nkprobe:consume"),
        ("a.stp", "probe ker|", "probe kernel.function(\""),
        ("a.stp", "probe kernel.function(\"sub|", "probe kernel.function(\"submit\")"),
        // Editors close what is opened.
        ("a.stp", "probe kernel.function(\"sub|\")", "probe kernel.function(\"submit\")"),
        ("a.stp", "probe kernel.function(\"submit\").re|", "probe kernel.function(\"submit\").return"),
        ("a.stp", "probe wor|", "probe work."),
        ("a.stp", "probe work.|", "probe work.submit"),
        ("a.stp", "probe begin, work.s|", "probe begin, work.submit"),
        ("a.stp", "probe be|", "probe begin"),
    ] {
        let completed = editor.completed(name, marked);
        assert!(completed.iter().any(|text| text == expected), "{marked}: {completed:?}");
    }
}

#[test]
fn values_and_their_members() {
    let mut editor = Editor::start(INDEX.path());
    for (name, marked, expected) in [
        ("a.stp", "probe kernel.function(\"submit\") { x = $fl|", "$flags"),
        ("a.stp", "probe kernel.function(\"submit\") { x = $rq->us|", "$rq->users"),
        ("a.stp", "probe kernel.function(\"submit\") { x = $rq->list->ne|", "$rq->list->next"),
        ("a.stp", "probe begin { x = @cast(p, \"request\")->us|", "@cast(p, \"request\")->users"),
        ("a.stp", "probe begin { x = tw|", "twice"),
        ("a.bt", "fentry:submit { print(args.fl|", "args.flags"),
        ("a.bt", "fentry:submit { print(args->|", "args->rq"),
        ("a.bt", "fentry:submit { print(args.rq.us|", "args.rq.users"),
        ("a.bt", "fentry:submit { print(args.rq->us|", "args.rq->users"),
        ("a.bt", "fentry:submit /args.fl|", "args.flags"),
        ("a.bt", "kprobe:submit { print(((struct request *)arg0)->us|", "((struct request *)arg0)->users"),
        ("a.bt", "kprobe:submit { $r = (struct request *)arg0; $r->us|", "$r->users"),
        ("a.bt", "kprobe:submit { print(kst|", "kstack"),
    ] {
        let completed = editor.completed(name, marked);
        assert!(completed.iter().any(|text| text.ends_with(expected)), "{marked}: {completed:?}");
    }
    // Nothing of another function, and no locals as arguments.
    assert!(editor.completed("a.bt", "fentry:submit { print(args.ma|").is_empty());
    assert!(editor.completed("a.stp", "probe kernel.function(\"submit\") { x = $nosuch->|").is_empty());
}

#[test]
fn nothing_in_comments_and_texts() {
    let mut editor = Editor::start(INDEX.path());
    for (name, marked) in [
        ("a.bt", "// kprobe:sub|"),
        ("a.bt", "kprobe:submit { printf(\"args.|\") }"),
        ("a.stp", "# probe kernel.function(\"sub|"),
        ("a.stp", "%{ kernel.| %}"),
    ] {
        assert!(editor.completed(name, marked).is_empty(), "{marked}");
    }
}

/// Any start of a script is answered: no panic, and no more items than the bound.
#[test]
fn every_prefix_of_a_script_is_answered() {
    let mut editor = Editor::start(INDEX.path());
    for (name, text) in [
        (
            "a.stp",
            "probe kernel.function(\"sub*\").call ? if (x) { /* é */ y = @cast(p, \"request\")->users[1]; print($rq->list) } # x",
        ),
        (
            "a.bt",
            "#!/usr/bin/bpftrace\ntracepoint:a:b, fentry:submit /args.rq.users == 1/ { $s = (struct request *)args.rq; @[$s->list.next] = 1; } // é",
        ),
    ] {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            for method in ["textDocument/completion", "textDocument/hover", "textDocument/definition"] {
                let answer = editor.ask_at(method, name, &format!("{}|", &text[..end]));
                assert!(answer["items"].as_array().map_or(0, Vec::len) <= 300, "{end}");
            }
        }
    }
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn a_script_that_is_not_open_has_no_completions() {
    let mut editor = Editor::start(INDEX.path());
    let params = json!({"textDocument": {"uri": "file:///other"}, "position": {"line": 3, "character": 9}});
    assert!(editor.request("textDocument/completion", &params)["result"].is_null());
}
