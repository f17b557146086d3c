//! The handshake, and what is said of the tools.
use super::support::{Client, INDEX};
use probeidx::cli::config::Config;
use probeidx::cli::serve::{Answers, Request};
use serde_json::{Value, json};
use std::collections::HashMap;

fn tools(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn it_names_itself_and_says_how_to_be_used() {
    for version in ["2024-11-05", "2025-06-18"] {
        let mut client = Client::spawn(INDEX.path(), &[]);
        let result = client.initialize(version);
        assert_eq!(
            (&result["serverInfo"]["name"], &result["protocolVersion"]),
            (&json!("probeidx"), &json!(version))
        );
        assert!(result["instructions"].as_str().unwrap().contains("resolve"));
        assert!(result["capabilities"]["tools"].is_object());
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn all_tools_only_read_and_no_other_command_is_one() {
    let tools = tools(&mut Client::start(INDEX.path()));
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for tool in &tools {
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["readOnlyHint"], &hints["destructiveHint"]),
            (&json!(true), &json!(false)),
            "{tool}"
        );
        assert!(tool["description"].as_str().unwrap().len() > 60, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(tool["outputSchema"]["type"], "object");
        for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(!property["description"].as_str().unwrap().is_empty(), "{name} of {tool}");
        }
    }
    for other in ["build", "capture", "export", "fleet", "trace", "serve", "web", "verify", "complete"] {
        assert!(!names.contains(&other), "{other}");
    }
}

/// A parameter that the command does not know would be an error with each call.
#[test]
fn parameters_are_those_of_the_methods() {
    let tools = tools(&mut Client::start(INDEX.path()));
    let answers = Answers::new(&Config::new(&probeidx::cli::args::Global::default()).unwrap());
    let listed = answers
        .lines(&Request::parse(br#"{"method":"methods"}"#).unwrap_or_else(|(_, error)| panic!("{error}")));
    let listed = String::from_utf8(listed).unwrap();
    let methods: HashMap<String, Value> = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["item"].clone())
        .filter(Value::is_object)
        .map(|item| (item["method"].as_str().unwrap().to_owned(), item))
        .collect();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let known =
            methods.get(name).unwrap_or_else(|| panic!("{name} is a method"))["params"].as_array().unwrap();
        let required = tool["inputSchema"]["required"].as_array().unwrap();
        for (property, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            if ["limit", "skip", "form", "text"].contains(&property.as_str()) {
                continue;
            }
            let parameter = known.iter().find(|parameter| parameter["name"] == *property);
            let parameter = parameter.unwrap_or_else(|| panic!("{name} has no {property}"));
            let takes = parameter["takes"].as_str().unwrap();
            let expected: &[&str] = match schema["type"].as_str().unwrap() {
                "boolean" => &["bool"],
                "array" => &["strings"],
                _ => &["string", "strings"],
            };
            assert!(expected.contains(&takes), "{name} {property}: {takes}");
            for value in schema["enum"].as_array().into_iter().flatten() {
                assert!(
                    parameter["values"].as_array().unwrap().contains(value),
                    "{name} {property}: {value}"
                );
            }
            if parameter["required"] == true {
                assert!(required.contains(&json!(property)), "{name} needs {property}");
            }
        }
    }
}

#[test]
fn what_is_no_message_does_not_end_it() {
    let mut client = Client::start(INDEX.path());
    client.send("this is no JSON");
    client.send("{\"jsonrpc\":\"2.0\",\"id\":77}");
    client.send("[1,2");
    client.send(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}).to_string());
    let answers = std::iter::repeat_with(|| client.receive());
    assert!(answers.take(8).any(|answer| answer["id"] == "p" && answer["result"].is_object()));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_that_leaves_at_once_is_no_error() {
    assert_eq!(Client::spawn(INDEX.path(), &[]).end(), Some(0));
}

/// The table of docs/editors-and-agents.md has each tool with its parameters and its usual limit.
#[test]
fn the_documented_tools_are_those_there_are() {
    let page = include_str!("../../../docs/editors-and-agents.md");
    let words = |cell: &str| {
        let mut words: Vec<String> = cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        words.sort();
        words
    };
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with("| tool |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut documented: Vec<(String, Vec<String>, Vec<String>, u64)> = table
        .map(|row| row.trim_matches('|').split('|').collect::<Vec<_>>())
        .map(|cells| {
            (words(cells[0])[0].clone(), words(cells[2]), words(cells[3]), cells[4].trim().parse().unwrap())
        })
        .collect();
    documented.sort();
    let mut there: Vec<_> = tools(&mut Client::start(INDEX.path()))
        .iter()
        .map(|tool| {
            let schema = &tool["inputSchema"];
            let required: Vec<&str> =
                schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            let names = schema["properties"].as_object().unwrap().keys().map(String::as_str);
            let (needs, may): (Vec<&str>, Vec<&str>) = names
                .filter(|name| !["kernel", "limit", "skip", "form"].contains(name))
                .partition(|name| required.contains(name));
            let sorted = |names: Vec<&str>| {
                let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
                names.sort();
                names
            };
            let limit = schema["properties"]["limit"]["default"].as_u64().unwrap();
            (tool["name"].as_str().unwrap().to_owned(), sorted(needs), sorted(may), limit)
        })
        .collect();
    there.sort();
    assert_eq!(there, documented);
}
