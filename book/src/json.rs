//! The schemas as files, and the reference of all JSON answers.
use super::cell;
use probeidx::cli::schema::Answer;
use serde_json::{Map, Value};
use std::fmt::Write;

const HEAD: &str = "# JSON answers

`--json` prints JSON Lines: an object on each line. Here stands every answer with its fields, and beside it a
[JSON Schema](https://json-schema.org/draft/2020-12) of a line. The schemas are derived from the types that print the answers, and
tests hold real answers against them.

What holds of all: a field that is described without *may be missing* is always there, and may be null only where that is said.
Programs have to bear further fields, and further values where words are listed: neither changes the version of the answers, which
`kernels --json` prints as `schema`. A field that is removed, or whose meaning or type changes, does.

This page is made from the program: `UPDATE=1 cargo test -p probeidx-book --test suite` writes it anew.
";

/// The file of a schema.
pub fn file(answer: &Answer) -> String {
    let mut schema = answer.schema.as_value().clone();
    reword(&mut schema);
    // Maps and strings are always JSON.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Puts all descriptions into words for those who do not read Rust.
fn reword(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            if let Some(Value::String(text)) = parts.get_mut("description") {
                *text = plain(text);
            }
            parts.values_mut().for_each(reword);
        }
        Value::Array(parts) => parts.iter_mut().for_each(reword),
        _ => {}
    }
}

/// Text of Rust's documentation, without references to Rust.
fn plain(text: &str) -> String {
    let text = text.replace("[`", "`").replace("`]", "`").replace("`None`", "null").replace('\n', " ");
    text.split_once("; see `").map_or(text.clone(), |(before, _)| format!("{before}."))
}

/// The page.
pub fn reference(answers: &[Answer]) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n| answer of | schema |\n| --- | --- |\n");
    for Answer { name, command, .. } in answers {
        let _ = writeln!(page, "| [{command}](#{name}) | [{name}.json](../schemas/{name}.json) |");
    }
    for answer in answers {
        put(answer, &mut page);
    }
    page
}

fn put(Answer { name, command, schema }: &Answer, page: &mut String) {
    let schema = schema.as_value();
    let _ = write!(page, "\n## {name}\n\nOf: {command}. ");
    let _ = writeln!(page, "{} [Schema](../schemas/{name}.json).", description(schema));
    object(schema, page);
    let definitions = schema.get("$defs").and_then(Value::as_object);
    for (name, definition) in definitions.into_iter().flatten() {
        if name == "Hex" {
            continue;
        }
        let _ = write!(page, "\n**{name}**: {}\n", description(definition));
        object(definition, page);
    }
}

/// The fields of an object, or those of the forms that it may have.
fn object(schema: &Value, page: &mut String) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        fields(schema, properties, page);
    }
    let forms = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    for form in forms.flatten() {
        let _ = write!(page, "\n- {}", kind(form));
        let about = description(form);
        let _ = writeln!(page, "{}{about}", if about.is_empty() { "" } else { ": " });
        if form.get("properties").is_some() {
            object(form, page);
        }
    }
}

fn fields(schema: &Value, properties: &Map<String, Value>, page: &mut String) {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    page.push_str("\n| field | type | meaning |\n| --- | --- | --- |\n");
    for (name, property) in properties {
        let missing = if required.contains(&&**name) { "" } else { " *May be missing.*" };
        let _ =
            writeln!(page, "| `{name}` | {} | {}{missing} |", kind(property), cell(&description(property)));
    }
}

/// What a schema says of itself.
fn description(schema: &Value) -> String {
    plain(schema.get("description").and_then(Value::as_str).unwrap_or_default())
}

/// The type in words.
fn kind(schema: &Value) -> String {
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        return if name == "Hex" { "hexadecimal number as string".to_owned() } else { name.to_owned() };
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(forms) = schema.get(key).and_then(Value::as_array) {
            return forms.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    let one = |name: &str| match name {
        "array" => {
            let items = schema.get("items").map(kind).filter(|items| !items.is_empty());
            items.map_or_else(|| "array".to_owned(), |items| format!("array of {items}"))
        }
        "object" => match schema.get("additionalProperties") {
            Some(of @ Value::Object(_)) => format!("object of {}", kind(of)),
            _ => "object".to_owned(),
        },
        "integer" => "number".to_owned(),
        "number" => "decimal number".to_owned(),
        other => other.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => one(name),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
