//! Arguments of a tool to a request of `serve`.
use crate::tools::{Takes, Tool};
use probeidx::cli::serve::Request;
use probeidx::{Error, ErrorKind, Result};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// How many lines an answer in text has if no limit is asked for.
const USUAL_LINES: u64 = 200;
/// The largest number of items of an answer.
pub const MOST_ITEMS: u64 = 500;
/// How many items more are counted than an answer has.
pub const COUNTED: u64 = 1000;

/// A request, and which part of its answer is wanted.
pub struct Question {
    pub request: Request,
    pub skip: u64,
    pub limit: u64,
    /// Items are lines of text.
    pub is_text: bool,
}

impl Question {
    /// Reads the arguments of a tool.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the argument that is wrong and those that there are.
    pub fn new(tool: &Tool, arguments: JsonObject) -> Result<Self> {
        let mut request = Map::new();
        let mut params = Map::new();
        let (mut skip, mut limit, mut is_text) = (0, None, false);
        for (name, value) in arguments {
            if value.is_null() {
                continue;
            }
            let Some(parameter) = tool.parameters().find(|parameter| parameter.name == name) else {
                let known: Vec<&str> = tool.parameters().map(|parameter| parameter.name).collect();
                let what = format!("{} has no argument {}", tool.name, shown(&name));
                return Err(wrong(what).hint(format!("it has {}", known.join(", "))));
            };
            let expected = |what: &str| wrong(format!("{name}: expected {what}"));
            match (parameter.takes, &value) {
                (Takes::Count, _) => {
                    let count = value.as_u64().ok_or_else(|| expected("a number from 0 on"))?;
                    if name == "limit" { limit = Some(count) } else { skip = count }
                }
                (Takes::Form, _) => match value.as_str() {
                    Some("json") => {}
                    Some("text") => is_text = true,
                    _ => return Err(expected("json or text")),
                },
                (Takes::Input, Value::String(_)) => {
                    request.insert("input".to_owned(), value);
                }
                (Takes::Kernel, Value::String(named)) if named.contains('/') && is_path(named) => {
                    return Err(expected("the release of a kernel, not a file"));
                }
                (Takes::OneOf(values), _) if !value.as_str().is_some_and(|value| values.contains(&value)) => {
                    return Err(expected(&format!("one of {}", values.join(", "))));
                }
                // What a tool takes is text.
                (Takes::OneOf(_), _) => {
                    is_text |= name == "format";
                    params.insert(name, value);
                }
                (Takes::Text | Takes::Kernel, Value::String(_))
                | (Takes::Switch, Value::Bool(_))
                | (Takes::Texts, Value::Array(_)) => {
                    params.insert(name, value);
                }
                // One value may be meant for a list of one.
                (Takes::Texts, Value::String(_)) => {
                    params.insert(name, json!([value]));
                }
                (Takes::Texts, _) => return Err(expected("a list of strings")),
                (Takes::Switch, _) => return Err(expected("true or false")),
                (Takes::Text | Takes::Kernel | Takes::Input, _) => return Err(expected("a string")),
            }
        }
        if let Some(absent) = tool.missing(|parameter| match parameter.takes {
            Takes::Input => request.contains_key("input"),
            _ => params.contains_key(parameter.name),
        }) {
            return Err(wrong(format!("{} needs {absent}", tool.name)));
        }
        if tool.name == "check" {
            params.insert("files".to_owned(), json!(["-"]));
        }
        if is_text {
            params.insert("json".to_owned(), false.into());
        }
        let usual = if is_text { USUAL_LINES } else { tool.usual_limit };
        let limit = limit.unwrap_or(usual).clamp(1, MOST_ITEMS);
        request.insert("id".to_owned(), 0.into());
        request.insert("method".to_owned(), tool.name.into());
        request.insert("params".to_owned(), params.into());
        request.insert("skip".to_owned(), skip.into());
        request.insert("limit".to_owned(), (limit + COUNTED).into());
        let line = Value::from(request).to_string();
        let request = Request::parse(line.as_bytes()).map_err(|(_, error)| error)?;
        Ok(Self { request, skip, limit, is_text })
    }
}

/// Whether a kernel is named by a file, as the command line may. `DISTRIBUTION/LINE/FLAVOUR` is a kind of kernels.
fn is_path(named: &str) -> bool {
    named.starts_with(['/', '.', '~']) || named.ends_with(".pidx")
}

fn wrong(what: String) -> Error {
    Error::new(ErrorKind::Usage, what)
}

/// A name from outside, shortened.
fn shown(name: &str) -> String {
    name.chars().take(60).collect()
}
