//! Parses requests.
use crate::cli::exit;
use crate::error::{Error, ErrorKind, Result};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A question, and which part of the answer is wanted.
#[derive(Debug)]
pub struct Request {
    pub id: Id,
    pub method: Method,
    /// The arguments and options of the command, by name.
    pub params: Map<String, Value>,
    /// The input of the command, in place of stdin.
    pub input: Arc<[u8]>,
    /// The number of items to skip at the start of the answer.
    pub skip: u64,
    /// The largest number of items in the answer.
    pub limit: u64,
    pub is_cancelled: AtomicBool,
    /// The length of its line in bytes.
    pub length: usize,
}

/// The default for the largest number of items.
const USUAL_LIMIT: u64 = 10_000;

/// The id of a request: a string, an integer or null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(Value);

impl Id {
    /// The id of a request whose id cannot be read.
    pub fn none() -> Self {
        Self(Value::Null)
    }

    fn of(value: Value) -> Result<Self> {
        const LONGEST: usize = 256;
        match &value {
            Value::Null => Ok(Self(value)),
            Value::Number(number) if number.is_i64() || number.is_u64() => Ok(Self(value)),
            Value::String(text) if text.len() <= LONGEST => Ok(Self(value)),
            _ => Err(wrong(format!("id: expected a whole number or a string of at most {LONGEST} bytes"))),
        }
    }
}

/// As JSON.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Method {
    /// A command of this name.
    Question(String),
    /// List the commands.
    Methods,
    /// Cancel another request.
    Cancel(Id),
    /// Nothing: this is the answer.
    Answered { field: &'static str, value: String },
}

impl Request {
    /// Parses a line.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the id if it could be read.
    pub fn parse(line: &[u8]) -> Result<Self, (Id, Error)> {
        let unread = |error: Error| (Id::none(), error);
        let mut fields = match serde_json::from_slice(line) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err(unread(wrong("a request is an object"))),
            Err(error) => return Err(unread(wrong(format!("this is no JSON: {error}")))),
        };
        let id = Id::of(fields.remove("id").unwrap_or_default()).map_err(unread)?;
        Self::of_fields(id.clone(), fields, line.len()).map_err(|error| (id, error))
    }

    /// Replaces a request that cannot be answered.
    pub fn wrong(id: Id, error: &Error) -> Self {
        let method = Method::Answered { field: "error", value: exit::object(error) };
        Self::new(id, method, Map::new(), 0)
    }

    fn new(id: Id, method: Method, params: Map<String, Value>, length: usize) -> Self {
        let input = Arc::default();
        let is_cancelled = AtomicBool::default();
        Self { id, method, params, input, skip: 0, limit: USUAL_LIMIT, is_cancelled, length }
    }

    fn of_fields(id: Id, mut fields: Map<String, Value>, length: usize) -> Result<Self> {
        let method = match fields.remove("method") {
            Some(Value::String(method)) => method,
            Some(_) => return Err(wrong("method: expected a string")),
            None => return Err(wrong("there is no method")),
        };
        let mut params = match fields.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(wrong("params: expected an object")),
        };
        let input = match fields.remove("input") {
            None | Some(Value::Null) => Arc::default(),
            Some(Value::String(text)) => text.into_bytes().into(),
            Some(_) => return Err(wrong("input: expected a string")),
        };
        let skip = count(&mut fields, "skip")?.unwrap_or(0);
        let limit = count(&mut fields, "limit")?.unwrap_or(USUAL_LIMIT);
        if let Some(name) = fields.keys().next() {
            return Err(wrong(format!("{}: a request has no such field", shown(name)))
                .hint("it has id, method, params, input, skip and limit"));
        }
        let method = match method.as_str() {
            "cancel" => {
                let id = Id::of(params.remove("id").unwrap_or_default())?;
                Method::Cancel(id)
            }
            "methods" => Method::Methods,
            _ => Method::Question(method),
        };
        if let (Method::Cancel(_) | Method::Methods, Some(name)) = (&method, params.keys().next()) {
            return Err(wrong(format!("params: this method has no parameter {}", shown(name))));
        }
        Ok(Self { input, skip, limit, ..Self::new(id, method, params, length) })
    }
}

fn count(fields: &mut Map<String, Value>, name: &str) -> Result<Option<u64>> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) => Ok(Some(count)),
            None => Err(wrong(format!("{name}: expected a number from 0 on"))),
        },
    }
}

/// The error for a request that cannot be answered.
pub fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, what)
}

/// A name from outside, shortened for use in an error.
pub fn shown(name: &str) -> String {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
