//! Answers held against their schemas: as they are published, and without the fields that these do not have.
use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeMap;

/// The validators of all answers.
pub struct Schemas {
    by_name: BTreeMap<&'static str, [Validator; 2]>,
    /// How many lines were held against each.
    pub counted: BTreeMap<&'static str, usize>,
}

impl Schemas {
    /// Those of [`probeidx::cli::schema::all`].
    pub fn all() -> Self {
        let made = |schema: &Value| jsonschema::validator_for(schema).unwrap();
        let both = |schema: &Value| {
            let mut closed = schema.clone();
            close(&mut closed);
            [made(schema), made(&closed)]
        };
        let all = probeidx::cli::schema::all();
        let by_name = all.iter().map(|answer| (answer.name, both(answer.schema.as_value()))).collect();
        Self { by_name, counted: BTreeMap::new() }
    }

    /// Holds lines of JSON against a schema.
    pub fn hold(&mut self, name: &str, lines: &str) {
        for line in lines.lines() {
            let value: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
            self.hold_one(name, &value);
        }
    }

    pub fn hold_one(&mut self, name: &str, value: &Value) {
        let (name, [open, closed]) =
            self.by_name.get_key_value(name).unwrap_or_else(|| panic!("no schema {name}"));
        for (validator, how) in [(open, "as published"), (closed, "with these fields alone")] {
            let wrong: Vec<String> = validator
                .iter_errors(value)
                .map(|error| format!("{} at {}", error, error.instance_path()))
                .collect();
            assert!(wrong.is_empty(), "{name}, {how}: {}\n{value}", wrong.join("\n"));
        }
        *self.counted.entry(name).or_default() += 1;
    }
}

/// Allows no fields but those that are described.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            parts.values_mut().for_each(close);
            let is_whole = parts.contains_key("properties") && !parts.contains_key("additionalProperties");
            if is_whole {
                // What is beside `allOf` or `anyOf` counts, too.
                parts.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(close),
        _ => {}
    }
}
