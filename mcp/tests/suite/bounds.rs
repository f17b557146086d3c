//! No answer is larger than what a language model reads, and nothing of it is lost.
use super::support::{Client, INDEX, index, printed, text};
use serde_json::{Value, json};

/// All items of a question, asked for part by part; and how many parts there were.
fn in_parts(client: &mut Client, tool: &str, mut arguments: Value) -> (Vec<Value>, usize) {
    let (mut all, mut parts) = (vec![], 0);
    loop {
        let result = client.call(tool, &arguments);
        assert_eq!(result["isError"], false, "{result}");
        let answer = &result["structuredContent"];
        let items = answer["items"].as_array().unwrap();
        all.extend(items.iter().cloned());
        parts += 1;
        match answer["next_skip"].as_u64() {
            Some(next) => {
                assert_eq!(next as usize, all.len());
                assert!(text(&result).last().unwrap().contains(&format!("skip: {next}")), "{result}");
                arguments["skip"] = next.into();
            }
            None => {
                assert_eq!(answer["more"], 0);
                return (all, parts);
            }
        }
    }
}

#[test]
fn parts_are_the_whole() {
    let mut client = Client::start(INDEX.path());
    let expected = printed(INDEX.path(), &["find", "*"]);
    let (all, parts) = in_parts(&mut client, "find", json!({"patterns": ["*"], "limit": 7}));
    assert_eq!(all, expected);
    assert_eq!(parts, expected.len().div_ceil(7));
}

#[test]
fn an_answer_has_so_many_bytes_at_most() {
    let mut client = Client::start(INDEX.path());
    let result = client.call("find", &json!({"patterns": ["*"], "args": true, "limit": 500}));
    let answer = &result["structuredContent"];
    assert!(answer["items"].to_string().len() < 26 << 10, "{}", answer["items"].to_string().len());
    assert!(answer["more"].as_u64().unwrap() > 0, "the small kernel has more than that");
    let (all, parts) = in_parts(&mut client, "find", json!({"patterns": ["*"], "args": true, "limit": 500}));
    assert_eq!(all, printed(INDEX.path(), &["find", "*", "--args"]));
    assert!(parts > 1);
}

#[test]
fn an_item_that_is_too_large_comes_as_text_line_by_line() {
    let db = tempfile::tempdir().unwrap();
    let members: String = (0..900).map(|n| format!("int member_{n};\n")).collect();
    let huge = format!(
        "struct huge {{ {members} }};\n__attribute__((noinline)) int use_huge(struct huge *h) {{ asm volatile(\"\"); return h->member_3; }}\n"
    );
    index(db.path(), super::support::RELEASE, &[("huge.c", &huge)]);
    let mut client = Client::start(db.path());
    let result = client.call("type", &json!({"name": "struct huge"}));
    assert_eq!(result["isError"], true);
    assert!(text(&result).iter().any(|line| line.contains("form: text")), "{result}");
    let (lines, parts) =
        in_parts(&mut client, "type", json!({"name": "struct huge", "form": "text", "limit": 400}));
    assert!(
        parts > 1 && lines.iter().filter(|line| line.as_str().unwrap().contains("member_")).count() == 900
    );
    let one = client.call("type", &json!({"name": "struct huge.member_7"}));
    assert_eq!(one["structuredContent"]["items"].as_array().unwrap().len(), 1);
}
