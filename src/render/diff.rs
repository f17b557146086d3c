//! Formats the differences between two kernels: a line for each difference and each change in it, or JSON Lines.
use super::text::Style;
use super::{printable, printable_bytes};
use crate::query::diff::{Change, Compared, Difference, Home, State, What};
use serde_json::{Value, json};
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
    let Compared { all, added, removed, changed } = compared;
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

/// A difference as JSON.
pub fn value(kernels: [&str; 2], difference: &Difference<'_>) -> Value {
    let Difference { subject, name, before, after, changes } = difference;
    let change = match (before, after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let changes: Vec<Value> = changes.iter().map(change_json).collect();
    json!({
        "kernels": kernels, "subject": subject.name(), "name": name, "change": change,
        "before": before.map(|home| home_json(&home)), "after": after.map(|home| home_json(&home)),
        "changes": changes,
    })
}

/// [`summary`] as one line of JSON.
pub fn summary_json(kernels: [&str; 2], compared: &Compared, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", summary_value(kernels, compared))
}

/// The number of differences as JSON.
pub fn summary_value(kernels: [&str; 2], compared: &Compared) -> Value {
    let Compared { all, added, removed, changed } = compared;
    json!({"kernels": kernels, "subject": "summary", "compared": all, "added": added,
        "removed": removed, "changed": changed})
}

fn home_json(home: &Home<'_>) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    json!({"module": home.module.map(text), "file": text(home.file), "line": home.line})
}

fn change_json(change: &Change) -> Value {
    let Change { what, name, before, after } = change;
    let [before, after] = [before, after].map(|state| state.as_ref().map(|state| state_json(*what, state)));
    let name = Some(name).filter(|name| !name.is_empty());
    json!({"what": what.name(), "name": name, "before": before, "after": after})
}

fn state_json(what: What, state: &State) -> Value {
    match state {
        State::Typed { at, of, .. } if what == What::Parameter => json!({"position": at, "type": of}),
        State::Typed { at, bits, of } if what == What::Member => {
            let mut state = json!({"offset": at / 8, "type": of});
            if let Some(width) = bits {
                (state["bit"], state["width"]) = (json!(at % 8), json!(width));
            }
            state
        }
        State::Typed { at, of, .. } => json!({"offset": at, "type": of}),
        State::Number(number) => json!(number),
        State::Word(word) => json!(word),
    }
}
