//! The code of a function: what the index has, what its image has, what its source has.
use super::support::{HOSTILE, INDEX, MARKUP, Program, RELEASE, Response, compile, index_of};
use serde_json::{Value, json};
use std::path::Path;

fn ask(program: &Program, part: &str, at: &str) -> Response {
    let at = at.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    program.get(&format!("/api/{part}?kernel={RELEASE}&at={at}"))
}

/// The items of a kind.
fn of<'i>(items: &'i [Value], kind: &str) -> Vec<&'i Value> {
    items.iter().filter(|item| item["of"] == kind).collect()
}

#[test]
fn a_listing_has_every_byte_once_and_what_resolve_says_of_it() {
    let program = Program::start(INDEX.path());
    let items = ask(&program, "code", "submit").items();
    let function = of(&items, "function")[0];
    assert_eq!(
        (&function["function"], &function["file"], &function["at"]),
        (&json!("submit"), &json!("./core.c"), &json!(0))
    );
    let instructions = of(&items, "instruction");
    let number = |item: &Value, field: &str| item[field].as_i64().unwrap();
    let parts = of(&items, "part");
    let all: i64 = instructions.iter().map(|item| number(item, "length")).sum();
    assert_eq!(all, parts.iter().map(|part| number(part, "length")).sum::<i64>());
    let ends = instructions.iter().map(|item| number(item, "at") + number(item, "length"));
    let breaks =
        ends.zip(instructions.iter().skip(1)).filter(|(end, next)| *end != number(next, "at")).count();
    assert_eq!(breaks, parts.len() - 1);
    let scopes = of(&items, "scope");
    assert_eq!((&scopes[0]["outer"], &scopes[0]["call"]), (&Value::Null, &Value::Null));
    assert!(scopes[1..].iter().all(|scope| scope["outer"].as_u64() < scope["scope"].as_u64()));
    assert!(
        scopes.iter().any(|scope| scope["function"] == "do_open" && scope["call"]["line"].as_u64() > Some(0))
    );
    // What each address has is what is said of it alone.
    let base = u64::from_str_radix(&parts[0]["address"].as_str().unwrap()[2..], 16).unwrap();
    let base = base.wrapping_add_signed(-number(parts[0], "at"));
    let mut compared = 0;
    for row in instructions.iter().skip(1) {
        let at = number(row, "at");
        let address = base.wrapping_add_signed(at);
        let found = program.get(&format!("/api/resolve?spec={address:#x}&locals=true")).items();
        assert_eq!(row["kprobe"], found[0]["attach"]["kprobe"], "{row}");
        for value in found[0]["vars"].as_array().unwrap() {
            if !matches!(value["state"].as_str(), Some("readable" | "constant")) {
                continue;
            }
            let holds = |place: &&Value| number(place, "from") <= at && at < number(place, "to");
            let same = of(&items, "variable")
                .into_iter()
                .filter(|variable| variable["name"] == value["name"])
                .any(|variable| {
                    let place = variable["places"].as_array().unwrap().iter().find(holds);
                    place.is_some_and(|place| {
                        place["location"] == value["location"] && variable["type"] == value["type"]
                    })
                });
            assert!(same, "{value} at {row}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn an_address_within_leads_to_the_function_around_it() {
    let program = Program::start(INDEX.path());
    let whole = ask(&program, "code", "submit").items();
    let part = of(&whole, "part")[0];
    let address = u64::from_str_radix(&part["address"].as_str().unwrap()[2..], 16).unwrap();
    for asked in [format!("{:#x}", address + 4), "submit+0x4".to_owned(), "submit+4".to_owned()] {
        let items = ask(&program, "code", &asked).items();
        assert_eq!(of(&items, "function")[0]["at"], 4, "{asked}");
        assert_eq!(items.len(), whole.len());
    }
    // An entry that assembly has, and no debug information of variables.
    let assembly = ask(&program, "code", "bare_entry").items();
    assert!(of(&assembly, "variable").is_empty(), "{assembly:?}");
}

#[test]
fn what_cannot_be_shown_says_why() {
    let program = Program::start(INDEX.path());
    let kind = |response: &Response| response.lines().last().unwrap()["error"]["kind"].clone();
    for part in ["code", "instructions", "source"] {
        assert_eq!(kind(&ask(&program, part, "no such")), "usage", "{part}");
        assert_eq!(kind(&ask(&program, part, "no_such")), "no-match", "{part}");
        assert_eq!(kind(&ask(&program, part, "submit+0xfffff")), "no-match", "{part}");
        assert_eq!(kind(&ask(&program, part, "sink")), "no-match", "data is no code");
        assert_eq!(kind(&program.get(&format!("/api/{part}?kernel=9.9&at=submit"))), "no-index", "{part}");
        for query in [
            "",
            "?at=submit",
            "?kernel=6.1",
            "?kernel=6.1&at=submit&db=/etc",
            "?kernel=6.1&at=submit&source=/etc",
        ] {
            assert_eq!(program.get(&format!("/api/{part}{query}")).status, 400, "{part}{query}");
        }
    }
    let absent = ask(&program, "instructions", "submit");
    assert!(absent.items().is_empty() && absent.text().contains("not on this machine"), "{absent:?}");
    let absent = ask(&program, "source", "submit");
    assert!(absent.items().is_empty() && absent.text().contains("--source"), "{absent:?}");
    let named = ask(&Program::start(HOSTILE.path()), "code", MARKUP[0]);
    assert!(!named.head.contains(MARKUP[0]), "{named:?}");
}

#[test]
fn instructions_are_those_of_the_image_with_that_build_id() {
    let folder = tempfile::tempdir().unwrap();
    let vmlinux = compile(folder.path(), &[]);
    let db = index_of(&vmlinux);
    let program = Program::start(db.path());
    let items = ask(&program, "instructions", "consume").items();
    assert_eq!(items[0]["from"], *vmlinux.to_string_lossy());
    let bytes: String = items.iter().filter_map(|item| item["bytes"].as_str()).collect();
    assert!(is_in(&vmlinux, &bytes), "{bytes}");
    let listed = ask(&program, "code", "consume").items();
    let starts = |items: &[Value]| items.iter().filter_map(|item| item["at"].as_i64()).collect::<Vec<_>>();
    let instructions: Vec<Value> = of(&listed, "instruction").into_iter().cloned().collect();
    assert_eq!(starts(&items), starts(&instructions));
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        let text = |item: &Value| item["text"].as_str().unwrap_or_default().to_owned();
        assert!(items.iter().any(|item| text(item).starts_with("ret")), "{items:?}");
        let items = ask(&program, "instructions", "submit").items();
        let call = items.iter().find(|item| text(item).ends_with(" log_event")).unwrap();
        assert!(call["target"].is_i64(), "{call}");
    }
    // Another build at the same path is another kernel.
    drop(program);
    compile(folder.path(), &[("more.c", "int more(int a) { return a + 1; }\n")]);
    let program = Program::start(db.path());
    let absent = ask(&program, "instructions", "consume");
    assert!(absent.items().is_empty() && absent.text().contains("this build id"), "{absent:?}");
    // A file that never ends is not opened.
    std::fs::remove_file(&vmlinux).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &vmlinux).unwrap();
    assert!(ask(&program, "instructions", "consume").items().is_empty());
}

/// Whether a file has these bytes.
fn is_in(path: &Path, hex: &str) -> bool {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(digits).collect();
    let whole = std::fs::read(path).unwrap();
    !bytes.is_empty() && whole.windows(bytes.len()).any(|part| part == bytes)
}

#[test]
fn source_is_read_below_its_folder_alone() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "one\ntwo\nthree\n").unwrap();
    let text = format!("#line 1 \"{}\"\nint elsewhere(int a)\n{{ return a + 1; }}\n", secret.display());
    let vmlinux = compile(folder.path(), &[("more.c", &text)]);
    let db = index_of(&vmlinux);
    let sources = tempfile::tempdir().unwrap();
    std::fs::copy(folder.path().join("core.c"), sources.path().join("core.c")).unwrap();
    let named = sources.path().to_str().unwrap();
    let program = Program::start_with(db.path(), &["--listen", "127.0.0.1:0", "--source", named]);
    let items = ask(&program, "source", "submit").items();
    let core = items.iter().find(|item| item["file"] == "./core.c").unwrap_or_else(|| panic!("{items:?}"));
    let lines = core["lines"].as_object().unwrap();
    assert!(lines.values().any(|line| line.as_str().unwrap().contains("submitted++")), "{core}");
    let elsewhere = ask(&program, "source", "elsewhere");
    assert!(elsewhere.items().is_empty(), "{elsewhere:?}");
    std::fs::write(sources.path().join("core.c"), "/* another */\n".repeat(200)).unwrap();
    let other = ask(&program, "source", "submit");
    assert!(other.text().contains("other lines"), "{other:?}");
}
