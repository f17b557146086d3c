//! Formats histories: for each kind of fact, a line for each state with the kernels that have it; or JSON Lines.
use super::text::Style;
use super::{json_of, printable};
use crate::query::history::{Fact, Families, Field, History, KernelSet, Run, Value, What};
use crate::query::verdict::mechanism::Mechanism;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
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

/// A fact of a name, and the kernels that have it. The facts of one kind have each kernel once.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "History"))]
pub struct Line<'h> {
    /// What it is a fact of: `function`, `type`, `member`, `tracepoint`, `alias` or `line`.
    kind: &'h str,
    /// Its name.
    name: &'h str,
    /// The fact.
    fact: FactObject,
    /// The kernels that have it, by release or build id.
    kernels: Vec<&'h str>,
    /// The first of them, by version; some in between may lack it.
    since: Option<&'h str>,
    /// The last of them.
    until: Option<&'h str>,
}

/// A fact: `value`, `values`, `absent` or `unknown` says what it is.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Fact"))]
pub struct FactObject {
    /// The kind of fact: `prototype`, `declared`, `inlined`, `attach`, `offset`, ….
    what: &'static str,
    /// The value; null if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<ValueObject>,
    /// Values that differ within a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<ValueObject>>,
    /// True if the kernels do not have the name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    absent: bool,
    /// True if the indexes do not say, because they were made without debug information.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unknown: bool,
}

/// The value of a fact: its form follows from `what`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Value"))]
#[serde(untagged)]
pub enum ValueObject {
    /// There is none.
    None,
    /// A word, a type or a declaration.
    Word(String),
    /// A count, an offset or a size.
    Number(u64),
    /// Where it is declared.
    Place {
        /// The file.
        file: String,
        /// From 1.
        line: u32,
    },
    /// A bit-field.
    Bits {
        /// The first bit in the storage unit.
        first: u32,
        /// The number of bits.
        width: u32,
    },
    /// Words.
    List(Vec<String>),
    /// The verdict of each mechanism.
    Verdicts(BTreeMap<String, String>),
    /// Parameters, with their places at the entry.
    Parameters(Vec<ParameterObject>),
    /// Words by name.
    Named(Vec<NamedObject>),
    /// The functions of a name.
    Homes(Vec<HomeObject>),
    /// The fields of an event's record.
    Fields(Vec<FieldObject>),
    /// Several values.
    Several(Vec<Self>),
}

/// A parameter.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Parameter"))]
pub struct ParameterObject {
    /// Its name.
    name: String,
    /// Where it is at the entry.
    location: String,
}

/// A word by name.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Named"))]
pub struct NamedObject {
    /// The name.
    name: String,
    /// The word.
    is: String,
}

/// Functions of one file.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Home"))]
pub struct HomeObject {
    /// The file; empty if unknown.
    file: String,
    /// The modules that have one each; null for vmlinux.
    modules: Vec<Option<String>>,
}

/// A field of an event's record.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Field"))]
pub struct FieldObject {
    /// Its name.
    name: String,
    /// Its type, as tracefs prints it.
    #[serde(rename = "type")]
    type_name: String,
    /// In bytes.
    offset: u32,
    /// In bytes.
    size: u32,
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
        let fact = fact(*what, value);
        let [since, until] = [0, 1].map(|at| span.map(|ends| ends[at]));
        json_of(&Line { kind, name: &history.name, fact, kernels: named, since, until })
    })
}

/// `{"what": "offset", "value": 2416}`; `{"what": "offset", "absent": true}` where a kernel lacks the name.
fn fact(what: What, value: &Value) -> FactObject {
    let mut fact = FactObject { what: what.name(), value: None, values: None, absent: false, unknown: false };
    match value {
        Value::Absent => fact.absent = true,
        Value::Unknown => fact.unknown = true,
        Value::Several(states) => {
            fact.values = Some(states.iter().map(|state| object(what, state)).collect());
        }
        value => fact.value = Some(object(what, value)),
    }
    fact
}

fn object(what: What, value: &Value) -> ValueObject {
    match value {
        Value::Absent | Value::Unknown | Value::None => ValueObject::None,
        Value::Word(word) => ValueObject::Word(word.clone()),
        Value::Number(number) => ValueObject::Number(*number),
        Value::Place { file, line } => ValueObject::Place { file: file.clone(), line: *line },
        Value::Bits { first, width } => ValueObject::Bits { first: *first, width: *width },
        Value::List(words) => ValueObject::List(words.clone()),
        Value::Named(named) if what == What::Attach => ValueObject::Verdicts(named.iter().cloned().collect()),
        Value::Named(named) if what == What::Parameters => {
            let one = |(name, location): &(String, String)| ParameterObject {
                name: name.clone(),
                location: location.clone(),
            };
            ValueObject::Parameters(named.iter().map(one).collect())
        }
        Value::Named(named) => {
            let one = |(name, is): &(String, String)| NamedObject { name: name.clone(), is: is.clone() };
            ValueObject::Named(named.iter().map(one).collect())
        }
        Value::Homes(homes) => {
            let module = |object: &String| Some(object.clone()).filter(|name| !name.is_empty());
            let home = |(file, objects): &(String, Vec<String>)| HomeObject {
                file: file.clone(),
                modules: objects.iter().map(module).collect(),
            };
            ValueObject::Homes(homes.iter().map(home).collect())
        }
        Value::Fields(fields) => {
            let field = |f: &Field| FieldObject {
                name: f.name.clone(),
                type_name: f.type_name.clone(),
                offset: f.offset,
                size: f.size,
            };
            ValueObject::Fields(fields.iter().map(field).collect())
        }
        Value::Several(states) => {
            ValueObject::Several(states.iter().map(|state| object(what, state)).collect())
        }
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
