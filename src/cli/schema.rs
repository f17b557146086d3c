//! JSON Schemas of all that is printed as JSON, from the types that print it. `book/` writes them to docs/schemas, and holds real
//! answers against them.
#![expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "nobody makes values of these: their schemas are what is wanted"
)]
use super::{build, capture, complete, exit, fleet, index, trace};
use crate::render::{
    address, aliases, callers, check, diff, health, history, json, offers, report, tapset_definitions,
    tracepoint, types_json,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// What is printed by one command, or written on one stream.
pub struct Answer {
    /// The name of the file in docs/schemas.
    pub name: &'static str,
    /// The words of the command line that prints such lines, as people write them.
    pub command: &'static str,
    /// The schema of a line.
    pub schema: Schema,
}

/// All of them, by name. A line is an object with the fields that its schema has, and may have more: new fields and new values of a
/// field do not change the version of the answers ([`SCHEMA`](crate::render::SCHEMA)).
pub fn all() -> Vec<Answer> {
    vec![
        of::<Addr>("addr", "addr"),
        of::<json::RefusedRange>("blacklist", "blacklist"),
        of::<offers::Line>("bpf", "bpf"),
        of::<build::Line<'_>>("build", "build"),
        of::<callers::Line>("callers", "callers"),
        of::<capture::Line<'_>>("capture", "capture"),
        of::<Check>("check", "check"),
        of::<CheckTapset>("check-tapset", "check --tapset"),
        of::<complete::Line<'_>>("complete", "complete"),
        of::<Frame>("decode", "decode"),
        of::<Diff>("diff", "diff"),
        of::<Failure>("error", "any command, on stderr"),
        of::<Fleet>("fleet", "fleet add, list, remove, verify"),
        of::<Report>("fleet-report", "fleet report"),
        of::<history::Line<'_>>("history", "history"),
        of::<index::KernelLine<'_>>("kernels", "kernels"),
        of::<Place>("placement", "find, resolve, lines"),
        of::<json::DefinedAt<'_>>("resolve-defined", "resolve --defined"),
        of::<Reply>("serve-reply", "serve, on stdout"),
        of::<Request>("serve-request", "serve, on stdin"),
        of::<index::StatsLine<'_>>("stats", "stats"),
        of::<Tapset>("tapset", "tapset"),
        of::<Trace>("trace", "trace"),
        of::<Type>("type", "type"),
        of::<index::VerifyLine<'_>>("verify", "verify"),
    ]
}

fn of<T: JsonSchema>(name: &'static str, command: &'static str) -> Answer {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), format!("A line of: probeidx --json {command}").into());
    Answer { name, command, schema }
}

/// A placement, a tracepoint, or a point of an alias.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Place {
    Code(json::Object<'static>),
    Tracepoint(tracepoint::Object<'static>),
    CodeOfAlias(OfAlias<json::Object<'static>>),
    TracepointOfAlias(OfAlias<tracepoint::Object<'static>>),
    Nowhere(OfAlias<aliases::Nowhere<'static>>),
}

/// A place that an alias of a tapset leads to.
#[derive(JsonSchema)]
#[schemars(rename = "{T}OfAlias")]
struct OfAlias<T> {
    #[serde(flatten)]
    place: T,
    #[serde(flatten)]
    alias: aliases::Object<'static>,
}

/// What is at an address, or why that is not known.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Addr {
    There(address::Object<'static>),
    Absent(address::AbsentObject<'static>),
}

/// A frame of a log: what is there, or why that is not known.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Frame {
    There(OfLog<address::Object<'static>>),
    Absent(OfLog<address::AbsentObject<'static>>),
}

/// A place of a log.
#[derive(JsonSchema)]
#[schemars(rename = "{T}OfLog")]
struct OfLog<T> {
    /// The line of the log that has the frame, from 1.
    log_line: u64,
    #[serde(flatten)]
    place: T,
}

/// A program of a file on a kernel, or the file as a whole.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Check {
    Program(check::json::Program<'static>),
    File(check::json::File<'static>),
}

/// An alias, a finding, or a point that no kernel has.
#[derive(JsonSchema)]
#[serde(untagged)]
enum CheckTapset {
    Alias(health::AliasLine<'static>),
    Finding(health::FindingLine<'static>),
    Untaken(health::UntakenLine),
}

/// A difference, or how many there are.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Diff {
    Difference(diff::Line<'static>),
    Summary(diff::Summary<'static>),
}

/// A failure, on stderr.
#[derive(JsonSchema)]
struct Failure {
    /// Why it failed.
    error: exit::Fields<'static>,
}

/// A kernel that was added or is there, kernels that were removed, or that all is whole.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Fleet {
    List(fleet::ListLine<'static>),
    Add(fleet::AddLine<'static>),
    Remove(fleet::RemoveLine<'static>),
    Verify(fleet::VerifyLine),
}

/// Shares of a kernel, or changes from one to the next.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Report {
    Shares(report::SharesLine<'static>),
    Changes(report::ChangesLine<'static>),
}

/// An alias, a function, or a macro.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Tapset {
    Alias(AliasHere),
    Function(tapset_definitions::JsonFunction<'static>),
    Macro(tapset_definitions::JsonMacro<'static>),
}

/// An alias; if a pattern was given, with what it means on this kernel.
#[derive(JsonSchema)]
struct AliasHere {
    #[serde(flatten)]
    alias: tapset_definitions::JsonAlias<'static>,
    /// What it means on this kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    here: Option<aliases::ExplainedObject<'static>>,
}

/// An event, a loss, a row of a table, or a step of `--dry-run`.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Trace {
    Event(crate::render::trace::schema::Line),
    Lost(crate::render::trace::schema::Lost),
    Copies(crate::render::trace::table::CopyCount<'static>),
    Values(crate::render::trace::schema::Values),
    Latency(crate::render::trace::schema::Latency),
    Step(trace::Step<'static>),
}

/// A type, a member, or a function that takes or returns a type.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Type {
    Layout(types_json::Type<'static>),
    Member(types_json::AtPath<'static>),
    User(types_json::UserObject<'static>),
}

/// A request. Nothing else may stand in it; a field that is null counts as left out.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Request {
    /// It comes back with each line of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Id>,
    /// A command that asks the index, `methods` or `cancel`.
    method: String,
    /// Its arguments and options by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Map<String, Value>>,
    /// What the command would read from stdin.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// How many items the answer has at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// How many items are left out before them.
    #[serde(skip_serializing_if = "Option::is_none")]
    skip: Option<u64>,
}

/// A whole number, or a string of at most 256 bytes.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Id {
    Number(i64),
    Text(String),
}

/// A line of an answer: `item` or `note`, and at the end `done` or `error`.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Reply {
    Item {
        /// That of the request.
        id: Option<Id>,
        /// What the command prints as a line with `--json`; without, the line as a string.
        item: Item,
    },
    Note {
        /// That of the request.
        id: Option<Id>,
        /// What the command would say on stderr.
        note: String,
    },
    Done {
        /// That of the request.
        id: Option<Id>,
        /// It is answered.
        done: Done,
    },
    Error {
        /// That of the request, as far as it could be read.
        id: Option<Id>,
        /// It failed.
        error: exit::Fields<'static>,
    },
}

/// A line of the command, whose own schema says what is in it.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Item {
    Text(String),
    Object(Map<String, Value>),
}

/// The end of an answer.
#[derive(JsonSchema)]
struct Done {
    /// The exit code of the command: 0 or 1.
    code: u8,
    /// How many items the answer had.
    items: u64,
    /// `complete`, `truncated` or `cancelled`.
    end: String,
}
