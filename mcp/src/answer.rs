//! The lines of an answer to what a tool returns: bounded, as values and as text.
use crate::question::{COUNTED, Question};
use probeidx::cli::serve;
use probeidx::render::printable;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// The largest size of the items of an answer, in bytes of JSON: some ten thousand tokens of a language model.
pub const MOST_BYTES: usize = 24 << 10;

/// The schema of what tools return.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "items": {"type": "array"},
            "notes": {"type": "array", "items": {"type": "string"}},
            "more": {"type": "integer", "description": "How many items were left out after these"},
            "next_skip": {"type": ["integer", "null"], "description": "skip for the next items"},
        },
        "required": ["items", "notes", "more", "next_skip"],
    })
}

/// What a tool returns for the lines that `serve` answered with.
pub fn returned(question: &Question, lines: &[u8]) -> CallToolResult {
    let mut items: Vec<&[u8]> = vec![];
    let (mut notes, mut size, mut more) = (vec![], 0, 0);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if let Some(item) = serve::item(&question.request, line) {
            size += item.len();
            match more == 0 && (items.len() as u64) < question.limit && size <= MOST_BYTES {
                true => items.push(item),
                false => more += 1,
            }
            continue;
        }
        let mut line: Value = serde_json::from_slice(line).unwrap_or_default();
        match line["note"].take() {
            Value::String(note) => notes.push(note),
            _ if line["error"].is_object() => return failed(&line["error"]),
            _ => {}
        }
    }
    if items.is_empty() && more > 0 {
        return too_large(question, size);
    }
    let values: Vec<Value> =
        items.iter().map(|item| serde_json::from_slice(item).unwrap_or_default()).collect();
    let shown: Vec<String> = match question.is_text {
        true => values.iter().map(|value| escaped(value.as_str().unwrap_or_default(), false)).collect(),
        false => items.iter().map(|item| escaped(&String::from_utf8_lossy(item), true)).collect(),
    };
    let next_skip = (more > 0).then(|| question.skip + items.len() as u64);
    let mut remarks = notes.clone();
    match next_skip {
        Some(skip) => {
            let counted = if more >= COUNTED { format!("{COUNTED} or more") } else { more.to_string() };
            remarks.push(format!("{counted} more: pass skip: {skip} for the next ones, or ask narrower"));
        }
        None if items.is_empty() && question.skip == 0 => remarks.push("nothing matches".to_owned()),
        None => {}
    }
    let texts = [shown.join("\n"), remarks.join("\n")];
    let content = texts.into_iter().filter(|text| !text.is_empty()).map(ContentBlock::text);
    let mut result = CallToolResult::success(content.collect());
    result.structured_content =
        Some(json!({"items": values, "notes": notes, "more": more, "next_skip": next_skip}));
    result
}

/// An error as a tool returns it: the words of the command line, and its remedy.
pub fn failed(error: &Value) -> CallToolResult {
    let text = |name: &str| error[name].as_str();
    let mut said = text("message").unwrap_or("it failed").to_owned();
    if let Some(path) = text("path") {
        said = format!("{path}: {said}");
    }
    if let Some(hint) = text("hint") {
        said.push_str("\nhint: ");
        said.push_str(hint);
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(said)]);
    result.structured_content = Some(json!({ "error": error }));
    result
}

/// The first item alone is more than an answer may have.
fn too_large(question: &Question, size: usize) -> CallToolResult {
    let hint = match question.is_text {
        true => "ask narrower",
        false => "ask narrower, such as for a member of a type, or for form: text, which comes line by line",
    };
    let message = format!("an item of this answer is larger than {MOST_BYTES} bytes: {size}");
    failed(&json!({"kind": "usage", "message": message, "path": null, "hint": hint}))
}

/// A line without what commands a terminal or turns text around: names come from strangers' files. In JSON, such characters
/// are in strings alone, where they may stand as escapes.
fn escaped(line: &str, is_json: bool) -> String {
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        let plain = c == '\t' || printable(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8();
        match plain {
            true => escaped.push(c),
            false if is_json => escaped.push_str(&format!("\\u{:04x}", c as u32)),
            false => escaped.extend(c.escape_default()),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_escaped() {
        assert_eq!(escaped("a\tb \u{1b}[31m \u{202e}é", false), "a\tb \\u{1b}[31m \\u{202e}é");
        let json = escaped("{\"name\":\"\u{202e}é\"}", true);
        assert_eq!(json, "{\"name\":\"\\u202eé\"}");
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["name"], "\u{202e}é");
    }
}
