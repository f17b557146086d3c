//! What the program says is what stands in docs/.
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn schemas_and_references_are_those_of_the_program() {
    let generated = probeidx_book::generated();
    let root = probeidx_book::root();
    if std::env::var_os("UPDATE").is_some() {
        for (path, text) in &generated {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
    }
    for (path, text) in &generated {
        let there = fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(
            there == *text,
            "{path}: write it anew with: UPDATE=1 cargo test -p probeidx-book --test suite"
        );
    }
    let known: BTreeSet<_> = generated.iter().map(|(path, _)| root.join(path)).collect();
    for entry in fs::read_dir(root.join("docs/schemas")).unwrap() {
        let path = entry.unwrap().path();
        assert!(known.contains(&path), "{} is a schema of nothing", path.display());
    }
}

#[test]
fn every_field_of_every_answer_is_described() {
    fn undescribed(at: &str, schema: &Value, found: &mut Vec<String>) {
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // A word that says which form it is, and the only field of a form, are what the form is.
            let is_form = property.get("const").is_some()
                || schema["properties"].as_object().is_some_and(|all| all.len() == 1)
                    && schema.get("description").is_some();
            if property.get("description").is_none() && !is_form {
                found.push(format!("{at}.{name}"));
            }
        }
        match schema {
            Value::Object(parts) => {
                parts.iter().for_each(|(key, part)| undescribed(&format!("{at}.{key}"), part, found))
            }
            Value::Array(parts) => parts.iter().for_each(|part| undescribed(at, part, found)),
            _ => {}
        }
    }
    let mut found = vec![];
    for answer in probeidx::cli::schema::all() {
        undescribed(answer.name, answer.schema.as_value(), &mut found);
    }
    assert!(found.is_empty(), "without a description:\n{}", found.join("\n"));
}

#[test]
fn every_command_says_what_it_is_for() {
    use clap::CommandFactory;
    let mut root = probeidx::cli::args::Args::command();
    root.build();
    for command in root.get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(about.starts_with(char::is_uppercase), "{}: {about:?}", command.get_name());
    }
}

/// The commands that answer, each with its schema.
#[test]
fn every_command_that_answers_has_a_schema() {
    use clap::CommandFactory;
    let command = probeidx::cli::args::Args::command();
    let silent = ["completions", "man", "web", "export", "lsp", "mcp"];
    let documented: Vec<&str> = probeidx::cli::schema::all().iter().map(|answer| answer.command).collect();
    for command in
        command.get_subcommands().map(clap::Command::get_name).filter(|name| !silent.contains(name))
    {
        let is_there = documented.iter().any(|d| d.split([',', ' ']).any(|word| word == command));
        assert!(is_there, "{command} has no schema");
    }
}
