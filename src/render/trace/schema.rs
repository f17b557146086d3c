//! The lines that `json` and `table` write byte by byte, as types. Nothing makes values of them: they are what docs/schemas says of
//! a trace, and the tests hold recorded traces against them.
use crate::render::json::Hex;
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// What happened.
#[derive(JsonSchema)]
#[schemars(rename = "Event")]
pub struct Line {
    /// Seconds since the boot, with nanoseconds.
    pub time: f64,
    /// The processor.
    pub cpu: u32,
    /// The task; 0 is an idle processor.
    pub pid: u32,
    /// The name of the task.
    pub comm: String,
    /// What was traced.
    pub function: String,
    /// True if it is its return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#return: Option<bool>,
    /// The function into which the copy is inlined; null out of line, and for tracepoints.
    pub copy: Option<String>,
    /// The address of the copy, as `resolve` prints it; null for tracepoints.
    pub address: Option<Hex>,
    /// The values by name.
    pub args: BTreeMap<String, Value>,
    /// Of those values that are no number in decimal, what a line for people has for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<BTreeMap<String, String>>,
    /// With `--stack`, the return addresses, innermost first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<Vec<Frame>>,
}

/// A value that was read.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// It could not be read.
    Unreadable,
    /// A truth value.
    Boolean(bool),
    /// A signed number.
    Signed(i64),
    /// A number without a sign; a pointer, too.
    Unsigned(u64),
    /// Text, or bytes in hexadecimal.
    Text(String),
    /// An array.
    Array(Vec<Self>),
}

/// A return address.
#[derive(JsonSchema)]
pub struct Frame {
    /// As `resolve` prints it.
    pub address: Hex,
    /// The symbol that holds it, with the offset.
    pub symbol: String,
    /// The functions there, of which each is inlined into the next.
    pub functions: Vec<Level>,
}

/// A function of a frame.
#[derive(JsonSchema)]
pub struct Level {
    /// Its name.
    pub function: String,
    /// The file of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Events that the kernel overwrote before they were read.
#[derive(JsonSchema)]
pub struct Lost {
    /// How many; null if the kernel did not say.
    pub lost: Option<u64>,
    /// Where they would stand, in seconds since the boot.
    pub time: f64,
    /// The processor.
    pub cpu: u32,
}

/// How often each value occurred (`--hist`): `counts` or `ranges`.
#[derive(JsonSchema)]
pub struct Values {
    /// What was traced.
    pub function: String,
    /// The value.
    pub value: String,
    /// Each value by itself, the most frequent first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Vec<Count>>,
    /// Numbers, by ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<Range>>,
    /// How many were not counted, because the table had no room for their values.
    pub dropped: u64,
}

/// How often a value occurred.
#[derive(JsonSchema)]
pub struct Count {
    /// The value.
    pub value: Value,
    /// What people are shown, if that is no number in decimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// How often.
    pub count: u64,
}

/// How often numbers of a range occurred.
#[derive(JsonSchema)]
pub struct Range {
    /// The least of them.
    pub from: u64,
    /// The greatest of them.
    pub to: u64,
    /// How often.
    pub count: u64,
}

/// How long calls took (`--latency`).
#[derive(JsonSchema)]
pub struct Latency {
    /// What was traced.
    pub function: String,
    /// `ns`.
    pub unit: String,
    /// The number of calls.
    pub calls: u64,
    /// The time of all of them.
    pub sum: u64,
    /// The entries and returns that have no counterpart.
    pub unmatched: u64,
    /// By ranges.
    pub ranges: Vec<Range>,
}
