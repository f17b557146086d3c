//! Formats histories: for each kind of fact, a line for each state with the kernels that have it; or JSON Lines.
use super::printable;
use super::text::Style;
use crate::query::history::{Fact, Families, Field, History, KernelSet, Run, Value, What};
use crate::query::verdict::mechanism::Mechanism;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::io::{Result, Write};

/// How text is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Colours.
    pub style: Style,
    /// All runs and all words, however many.
    pub in_full: bool,
}

/// The most runs of a state, and the most words of a list, that are shown unless all are asked for.
const MOST_RUNS: usize = 6;
const MOST_WORDS: usize = 8;
/// The width of the names of kinds; and of states, up to which they stand in a column.
const LABEL: usize = 12;
const WIDTH: usize = 40;

/// Writes a history: a heading, and a table of the states of each kind.
pub fn text(
    kind: &str,
    history: &History,
    families: &Families<'_>,
    shown: Shown,
    out: &mut dyn Write,
) -> Result<()> {
    let all = families.kernels().len();
    let present = history.present();
    write!(out, "{}  {kind}", shown.style.bold(printable(&history.name)))?;
    if present.len() < all {
        let absent: KernelSet =
            KernelSet::all(all as u32).iter().filter(|at| !present.contains(*at)).collect();
        write!(out, ", in {} of {all} kernels; not in {}", present.len(), kernels(&absent, families, shown))?;
    }
    writeln!(out)?;
    for facts in history.by_kind() {
        let says_nothing = |fact: &Fact| match fact.value {
            Value::None | Value::Absent => true,
            Value::Number(count) => count == 0 && matches!(fact.what, What::Calls | What::Copies),
            _ => false,
        };
        if shown.in_full || !facts.iter().all(says_nothing) {
            table((&facts[0].what.name().replace('_', " "), LABEL), facts, families, shown, out)?;
        }
    }
    Ok(())
}

/// Writes the members of a type that differ, after the type itself: a table for each.
pub fn members(
    root: &str,
    members: &[History],
    families: &Families<'_>,
    shown: Shown,
    out: &mut dyn Write,
) -> Result<()> {
    let (same, differ): (Vec<_>, Vec<_>) = members.iter().partition(|member| member.facts.len() == 1);
    let name = |member: &History| member.name.strip_prefix(root).unwrap_or(&member.name).to_owned();
    let label = differ.iter().map(|member| name(member).len()).max().unwrap_or(0).max(LABEL);
    for member in differ {
        table((&name(member), label), &member.facts, families, shown, out)?;
    }
    match same.len() {
        0 => Ok(()),
        1 => writeln!(out, "  {}", shown.style.dim("1 member has one type everywhere")),
        count => {
            writeln!(out, "  {}", shown.style.dim(format!("{count} members have one type each everywhere")))
        }
    }
}

/// The states of one kind of fact, behind its name, which has this width. That a kernel lacks the name is no state.
fn table(
    (name, label): (&str, usize),
    facts: &[Fact],
    families: &Families<'_>,
    shown: Shown,
    out: &mut dyn Write,
) -> Result<()> {
    let states: Vec<(String, &Fact)> = facts
        .iter()
        .filter(|fact| fact.value != Value::Absent)
        .map(|fact| (state(fact.what, &fact.value, shown), fact))
        .collect();
    let narrow = states.iter().map(|(text, _)| text.chars().count()).filter(|width| *width <= WIDTH);
    let width = narrow.max().unwrap_or(0);
    for (at, (text, fact)) in states.iter().enumerate() {
        let name = if at == 0 { printable(name) } else { "".into() };
        let runs = shown.style.dim(kernels(&fact.kernels, families, shown));
        writeln!(out, "  {name:label$}  {text:width$}   {runs}")?;
    }
    Ok(())
}

/// A set of kernels: `all 4 kernels`, `6.1.0-53-amd64 .. 6.1.0-56-amd64 (4 kernels), 7.3.4-amd64`.
pub(super) fn kernels(set: &KernelSet, families: &Families<'_>, shown: Shown) -> String {
    let all = families.kernels().len();
    match set.len() {
        1 => {}
        count if count == all => return format!("all {all} kernels"),
        _ => {}
    }
    let runs = families.runs(set);
    let most = if shown.in_full { usize::MAX } else { MOST_RUNS };
    let mut text: Vec<String> = runs.iter().take(most).map(|one| run(one, families)).collect();
    if let Some(more) = runs.len().checked_sub(most).filter(|more| *more > 0) {
        text.push(format!("and {more} more runs ({} kernels in all)", set.len()));
    }
    text.join(", ")
}

fn run(run: &Run, families: &Families<'_>) -> String {
    let count = match run.count {
        1 => String::new(),
        count => format!(" ({count} kernels)"),
    };
    let ends = [run.first, run.last];
    if run.families.len() == 1 {
        let [first, last] = ends.map(|at| printable(families.name(at)));
        return if first == last { first.into_owned() } else { format!("{first} .. {last}{count}") };
    }
    // The part of the release before the flavour is the same in all of the families.
    let [first, last] = ends.map(|at| {
        let kernel = &families.kernels()[at as usize];
        let whole = &kernel.id.release;
        let length = whole.len() - kernel.release().flavour.len();
        printable(whole[..length].trim_end_matches(['-', '.'])).into_owned()
    });
    let kernel = |at: &u32| &families.kernels()[*at as usize];
    let mut flavours: Vec<&str> = run.families.iter().map(|at| kernel(at).release().flavour).collect();
    flavours.sort_unstable();
    flavours.dedup();
    // Where the flavour does not say the architecture, this does.
    if flavours.len() < run.families.len() || flavours.contains(&"") {
        flavours = run.families.iter().map(|at| kernel(at).id.architecture).collect();
        flavours.dedup();
    }
    let span = if first == last { first } else { format!("{first} .. {last}") };
    format!("{span} of {}{count}", printable(&flavours.join(", ")))
}

/// A state for people.
fn state(what: What, value: &Value, shown: Shown) -> String {
    let most = if shown.in_full { usize::MAX } else { MOST_WORDS };
    let some = |mut words: Vec<String>, between: &str| {
        let more = words.len().saturating_sub(most);
        words.truncate(most);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        printable(&words.join(between)).into_owned() + &rest
    };
    match value {
        Value::Absent => "absent".to_owned(),
        Value::Unknown => "unknown".to_owned(),
        Value::None => "none".to_owned(),
        Value::Word(word) => printable(word).into_owned(),
        Value::Number(number) => number.to_string(),
        Value::Place { file, line } => printable(&format!("{file}:{line}")).into_owned(),
        Value::Bits { first, width } => format!("{width} from bit {first}"),
        Value::List(words) => some(words.clone(), ", "),
        Value::Named(named) if what == What::Attach => {
            let mut by: Vec<(&str, Vec<&str>)> = vec![];
            let named = folded(named);
            for (name, word) in &named {
                match by.iter_mut().find(|(known, _)| known == word) {
                    Some((_, names)) => names.push(name),
                    None => by.push((word, vec![name])),
                }
            }
            let said = |(word, names): &(&str, Vec<&str>)| match names.len() == named.len() {
                true => format!("all {word}"),
                false => format!("{} {word}", names.join(", ")),
            };
            printable(&by.iter().map(said).collect::<Vec<_>>().join("; ")).into_owned()
        }
        Value::Named(named) => {
            let sign = if what == What::Parameters { " in " } else { " " };
            some(named.iter().map(|(name, word)| format!("{name}{sign}{word}")).collect(), ", ")
        }
        Value::Homes(homes) => {
            let count: usize = homes.iter().map(|(_, objects)| objects.len()).sum();
            let home = |(file, objects): &(String, Vec<String>)| {
                let mut text = file.clone();
                if text.is_empty() {
                    text += "no file";
                }
                match &objects[..] {
                    [object] if object.is_empty() => {}
                    [object] => _ = write!(text, " [{object}]"),
                    objects => _ = write!(text, " ({} times)", objects.len()),
                }
                text
            };
            format!("{count} functions: {}", some(homes.iter().map(home).collect(), ", "))
        }
        Value::Fields(fields) => {
            let field = |f: &Field| format!("{} {} at {}+{}", f.type_name, f.name, f.offset, f.size);
            some(fields.iter().map(field).collect(), "; ")
        }
        Value::Several(states) => some(states.iter().map(|one| state(what, one, shown)).collect(), " or "),
    }
}

/// Writes each fact of a history as a line of JSON.
pub fn json(kind: &str, history: &History, families: &Families<'_>, out: &mut dyn Write) -> Result<()> {
    values(kind, history, families).try_for_each(|line| writeln!(out, "{line}"))
}

/// Each fact of a history as JSON.
pub fn values<'h>(
    kind: &'h str,
    history: &'h History,
    families: &'h Families<'_>,
) -> impl Iterator<Item = Json> + use<'h> {
    history.facts.iter().map(move |Fact { what, value, kernels }| {
        let named: Vec<&str> = kernels.iter().map(|at| families.name(at)).collect();
        let span = families.span(kernels).map(|(first, last)| [first, last].map(|at| families.name(at)));
        json!({
            "kind": kind, "name": history.name, "fact": fact(*what, value), "kernels": named,
            "since": span.map(|s| s[0]), "until": span.map(|s| s[1]),
        })
    })
}

/// `{"what": "offset", "value": 2416}`; `{"what": "offset", "absent": true}` where a kernel lacks the name.
fn fact(what: What, value: &Value) -> Json {
    match value {
        Value::Absent => json!({"what": what.name(), "absent": true}),
        Value::Unknown => json!({"what": what.name(), "unknown": true}),
        Value::Several(states) => {
            let states: Vec<Json> = states.iter().map(|state| state_json(what, state)).collect();
            json!({"what": what.name(), "values": states})
        }
        value => json!({"what": what.name(), "value": state_json(what, value)}),
    }
}

fn state_json(what: What, value: &Value) -> Json {
    match value {
        Value::Absent | Value::Unknown | Value::None => Json::Null,
        Value::Word(word) => json!(word),
        Value::Number(number) => json!(number),
        Value::Place { file, line } => json!({"file": file, "line": line}),
        Value::Bits { first, width } => json!({"first": first, "width": width}),
        Value::List(words) => json!(words),
        Value::Named(named) if what == What::Attach => named
            .iter()
            .map(|(name, word)| (name.clone(), json!(word)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Named(named) => {
            let key = if what == What::Parameters { "location" } else { "is" };
            named.iter().map(|(name, word)| json!({"name": name, key: word})).collect()
        }
        Value::Homes(homes) => {
            let module = |object: &String| if object.is_empty() { Json::Null } else { json!(object) };
            let home = |(file, objects): &(String, Vec<String>)| json!({"file": file, "modules": objects.iter().map(module).collect::<Vec<_>>()});
            homes.iter().map(home).collect()
        }
        Value::Fields(fields) => {
            let field =
                |f: &Field| json!({"name": f.name, "type": f.type_name, "offset": f.offset, "size": f.size});
            fields.iter().map(field).collect()
        }
        Value::Several(states) => states.iter().map(|state| state_json(what, state)).collect(),
    }
}

/// The verdicts without those of the mechanisms that `fentry` stands for, if they agree; else without it.
fn folded(named: &[(String, String)]) -> Vec<&(String, String)> {
    let word = |name: &str| named.iter().find(|(known, _)| known == name).map(|(_, word)| word);
    let parts = [Mechanism::Ftrace, Mechanism::Trampoline].map(Mechanism::name);
    let agree = word(parts[0]) == word(parts[1]);
    let is_shown = |name: &str| if agree { !parts.contains(&name) } else { name != Mechanism::FENTRY };
    named.iter().filter(|(name, _)| is_shown(name)).collect()
}
