//! Formats the differences between two kernels: a line for each difference and each change in it, or JSON Lines.
use super::text::Style;
use super::{json_of, printable, printable_bytes};
use crate::query::diff::{Change, Compared, Difference, Home, State, What};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Result, Write};

/// Writes a difference: `+` was added, `-` removed, `~` is in both.
pub fn text(difference: &Difference<'_>, style: Style, out: &mut dyn Write) -> Result<()> {
    let Difference { before, after, .. } = difference;
    let sign = match (before, after) {
        (None, _) => style.verdict('+', true),
        (_, None) => style.verdict('-', false),
        _ => "~".to_owned(),
    };
    let head = format!("{} {}", difference.subject.name(), printable(&difference.name));
    let home = after.or(*before).map(|home| place(&home)).unwrap_or_default();
    writeln!(out, "{sign} {}{}", style.bold(head), style.dim(home))?;
    for change in &difference.changes {
        writeln!(out, "    {}", printable(&one(change)))?;
    }
    Ok(())
}

/// Writes how much was compared, and how much of it differs.
pub fn summary(compared: &Compared, out: &mut dyn Write) -> Result<()> {
    let Compared { all, added, removed, changed, .. } = compared;
    writeln!(
        out,
        "{added} added, {removed} removed, {changed} changed, of {all} functions, types and tracepoints"
    )
}

fn place(home: &Home<'_>) -> String {
    let mut text = String::new();
    if !home.file.is_empty() {
        let _ = write!(text, "  {}:{}", printable_bytes(home.file), home.line);
    }
    if let Some(module) = home.module {
        let _ = write!(text, "  [{}]", printable_bytes(module));
    }
    text
}

fn one(change: &Change) -> String {
    let Change { what, name, before, after } = change;
    let label = match (what, before, after) {
        (What::Entries, _, Some(State::Number(0))) => "inlined away: entries".to_owned(),
        (What::Symbols, Some(State::Number(1)), _) => "newly duplicated: symbols of the name".to_owned(),
        (What::Symbols, ..) => "unique now: symbols of the name".to_owned(),
        (What::Verdict, ..) => name.clone(),
        _ if name.is_empty() => what.name().to_owned(),
        _ => format!("{} {name}", what.name()),
    };
    match (before, after) {
        (None, Some(state)) => format!("+ {label}: {}", shown(*what, state)),
        (Some(state), None) => format!("- {label}: {}", shown(*what, state)),
        (Some(State::Typed { at: a, bits: x, of: old }), Some(State::Typed { at: b, bits: y, of: new })) => {
            let places = [(*a, *x), (*b, *y)].map(|(at, bits)| position(*what, at, bits));
            match (places[0] == places[1], old == new) {
                (true, _) => format!("{label}: {old} -> {new}"),
                (false, true) => format!("{label}: {} -> {}", places[0], places[1]),
                (false, false) => format!("{label}: {} {old} -> {} {new}", places[0], places[1]),
            }
        }
        (Some(before), Some(after)) => {
            format!("{label}: {} -> {}", shown(*what, before), shown(*what, after))
        }
        (None, None) => label,
    }
}

fn shown(what: What, state: &State) -> String {
    match state {
        State::Typed { at, bits, of } => format!("{} {of}", position(what, *at, *bits)),
        State::Number(number) => number.to_string(),
        State::Word(word) if word.is_empty() => "none".to_owned(),
        State::Word(word) => word.clone(),
    }
}

/// The number of a parameter; for members and fields, the offset in bytes, with the bit and the width of a bit-field.
fn position(what: What, at: u64, bits: Option<u8>) -> String {
    match (what, bits) {
        (What::Member, Some(width)) => format!("{}:{}+{width}", at / 8, at % 8),
        (What::Member, None) => (at / 8).to_string(),
        _ => at.to_string(),
    }
}

/// Like [`text`], as one line of JSON; `kernels` are the two releases.
pub fn json(kernels: [&str; 2], difference: &Difference<'_>, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", value(kernels, difference))
}

/// A difference between two kernels.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Difference"))]
pub struct Line<'a> {
    /// Their releases, the older one first.
    kernels: [&'a str; 2],
    /// What differs: `function`, `struct`, `union`, `enum`, `typedef`, `tracepoint`, ….
    subject: &'static str,
    /// Its name.
    name: &'a str,
    /// `added`, `removed` or `changed`.
    change: &'static str,
    /// Where the first kernel has it; null if it does not.
    before: Option<HomeObject>,
    /// Where the second kernel has it; null if it does not.
    after: Option<HomeObject>,
    /// What changed in it.
    changes: Vec<ChangeObject<'a>>,
}

/// Where something is declared.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Home"))]
pub struct HomeObject {
    /// The module; null for vmlinux.
    module: Option<String>,
    /// The file; empty if unknown.
    file: String,
    /// From 1; 0 if unknown.
    line: u32,
}

/// A part that changed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Change"))]
pub struct ChangeObject<'a> {
    /// What it is: `parameter`, `member`, `verdict`, ….
    what: &'static str,
    /// Its name.
    name: Option<&'a str>,
    /// As the first kernel has it; null if it does not.
    before: Option<StateObject<'a>>,
    /// As the second kernel has it; null if it does not.
    after: Option<StateObject<'a>>,
}

/// How a kernel has a part.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "State"))]
#[serde(untagged)]
pub enum StateObject<'a> {
    /// A parameter.
    Parameter {
        /// From 1.
        position: u64,
        /// In C.
        #[serde(rename = "type")]
        of: &'a str,
    },
    /// A member, or a field of a record.
    Member {
        /// In bytes.
        offset: u64,
        /// In C.
        #[serde(rename = "type")]
        of: &'a str,
        /// The first bit of a bit-field, in the byte at the offset.
        #[serde(skip_serializing_if = "Option::is_none")]
        bit: Option<u64>,
        /// The number of bits of a bit-field.
        #[serde(skip_serializing_if = "Option::is_none")]
        width: Option<u8>,
    },
    /// A count or a size.
    Number(i64),
    /// A verdict, a type, ….
    Word(&'a str),
}

/// How much was compared, and how much of it differs: the last line.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary<'a> {
    /// The releases, the older one first.
    kernels: [&'a str; 2],
    /// `summary`.
    subject: &'static str,
    /// The number of functions, types and tracepoints in both kernels together, common ones counted once.
    compared: u64,
    /// The number that only the second kernel has.
    added: u64,
    /// The number that only the first kernel has.
    removed: u64,
    /// The number that both have and that differ.
    changed: u64,
    /// What of all that was asked for was not compared, and why; not there if nothing was left out.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    left_out: &'a [String],
}

/// A difference as JSON.
pub fn value(kernels: [&str; 2], difference: &Difference<'_>) -> Value {
    let Difference { subject, name, before, after, changes } = difference;
    let change = match (before, after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let [before, after] = [before, after].map(|home| home.as_ref().map(home_object));
    let changes = changes.iter().map(change_object).collect();
    json_of(&Line { kernels, subject: subject.name(), name, change, before, after, changes })
}

/// [`summary`] as one line of JSON.
pub fn summary_json(kernels: [&str; 2], compared: &Compared, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", summary_value(kernels, compared))
}

/// The number of differences as JSON.
pub fn summary_value(kernels: [&str; 2], compared: &Compared) -> Value {
    let Compared { all, added, removed, changed, ref left_out } = *compared;
    json_of(&Summary { kernels, subject: "summary", compared: all, added, removed, changed, left_out })
}

fn home_object(home: &Home<'_>) -> HomeObject {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    HomeObject { module: home.module.map(text), file: text(home.file), line: home.line }
}

fn change_object(change: &Change) -> ChangeObject<'_> {
    let Change { what, name, before, after } = change;
    let [before, after] = [before, after].map(|state| state.as_ref().map(|state| state_object(*what, state)));
    let name = Some(&**name).filter(|name| !name.is_empty());
    ChangeObject { what: what.name(), name, before, after }
}

fn state_object(what: What, state: &State) -> StateObject<'_> {
    match state {
        State::Typed { at, of, .. } if what == What::Parameter => {
            StateObject::Parameter { position: *at, of }
        }
        State::Typed { at, bits, of } if what == What::Member => {
            StateObject::Member { offset: at / 8, of, bit: bits.map(|_| at % 8), width: *bits }
        }
        State::Typed { at, of, .. } => StateObject::Member { offset: *at, of, bit: None, width: None },
        State::Number(number) => StateObject::Number(*number),
        State::Word(word) => StateObject::Word(word),
    }
}
