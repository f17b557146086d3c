//! Formats the parts of an alias's placement that those of functions and tracepoints lack.
use super::text::Style;
use super::{json_of, printable};
use crate::query::systemtap::alias::Named;
use crate::query::systemtap::alias::explain::{Arm, Explained, Outcome};
use crate::query::systemtap::alias::locals::{Local, Locals};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::io::{Result, Write};

impl Local {
    /// The name in JSON.
    fn state(&self) -> &'static str {
        match (&self.broken, self.kind) {
            (Some(_), _) => "broken",
            (None, "unknown") => "untyped",
            (None, _) => "fine",
        }
    }
}

/// The fields that an alias adds to a placement; see [`object`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AliasFields"))]
pub struct Object<'a> {
    /// Its name.
    pub alias: Cow<'a, str>,
    /// The aliases that led to the point.
    pub through: Cow<'a, [String]>,
    /// The point.
    pub point: Cow<'a, str>,
    /// The variables that it sets.
    pub locals: Vec<Fields<'a>>,
}

/// A local of an alias.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Local"))]
pub struct Fields<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// `long`, `string`, `unknown`, ….
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `fine`, `broken`, `untyped`.
    pub state: &'static str,
    /// The variable that is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<Cow<'a, str>>,
    /// Why it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'a, str>>,
    /// What there is instead.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub instead: Cow<'a, [String]>,
    /// The kernel variable that it is a copy of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<Cow<'a, str>>,
}

fn fields(local: &Local) -> Fields<'_> {
    let broken = local.broken.as_ref();
    Fields {
        name: Cow::Borrowed(&local.name),
        kind: local.kind,
        state: local.state(),
        variable: broken.map(|b| Cow::Borrowed(&*b.variable)),
        why: broken.map(|b| Cow::Borrowed(&*b.why)),
        instead: Cow::Borrowed(broken.map_or(&[], |b| &b.instead)),
        copy_of: local.copy_of.as_deref().map(Cow::Borrowed),
    }
}

/// Adds the fields of an alias to a line of JSON.
pub fn extend(line: &mut Vec<u8>, named: &Named<'_>) -> Result<()> {
    add(line, &object(named))
}

impl Object<'_> {
    /// The same, which keeps its own texts.
    pub fn into_owned(self) -> Object<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let local = |local: Fields<'_>| Fields {
            name: owned(local.name),
            kind: local.kind,
            state: local.state,
            variable: local.variable.map(owned),
            why: local.why.map(owned),
            instead: Cow::Owned(local.instead.into_owned()),
            copy_of: local.copy_of.map(owned),
        };
        Object {
            alias: owned(self.alias),
            through: Cow::Owned(self.through.into_owned()),
            point: owned(self.point),
            locals: self.locals.into_iter().map(local).collect(),
        }
    }
}

/// The fields of an alias.
pub fn object<'n>(named: &Named<'n>) -> Object<'n> {
    let Named { name, through, point, locals } = *named;
    let [alias, point] = [name, point].map(Cow::Borrowed);
    Object { alias, through: Cow::Borrowed(through), point, locals: locals.own.iter().map(fields).collect() }
}

/// A point of an alias that is no place in the indexed kernel, before the fields of the alias are added.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nowhere<'a> {
    /// The release.
    pub kernel: &'a str,
    /// Null.
    pub module: Option<()>,
    /// The point.
    pub probe: &'a str,
    /// `none`, or `unindexed` where the index of a kernel cannot tell.
    pub instance: &'static str,
}

/// Adds the fields of one object to a line of JSON.
pub fn add(line: &mut Vec<u8>, object: &impl Serialize) -> Result<()> {
    let more = serde_json::to_string(object)?;
    while line.pop().is_some_and(|b| b != b'}') {}
    let between = if line.ends_with(b"{") { "" } else { "," };
    writeln!(line, "{between}{}", &more[1..])
}

/// Writes the line above the probes of an alias.
pub fn heading(named: &Named<'_>, style: Style, out: &mut dyn Write) -> Result<()> {
    let through: Vec<_> = named.through.iter().skip(1).map(|name| printable(name)).collect();
    let through = if through.is_empty() { String::new() } else { format!(" through {}", through.join(", ")) };
    writeln!(out, "{}{through}: {}", style.bold(printable(named.name)), printable(named.point))
}

/// Writes the locals, below a placement.
pub fn locals(locals: &Locals, style: Style, out: &mut dyn Write) -> Result<()> {
    let width = locals.own.iter().map(|l| l.name.len()).max().unwrap_or(0);
    for local in &locals.own {
        let what = match (&local.broken, &local.copy_of) {
            (Some(broken), _) => {
                let instead = match broken.instead.len() {
                    0 => String::new(),
                    _ => format!("; there is {}", broken.instead.join(", ")),
                };
                style.verdict(format!("broken: {}: {}{instead}", broken.variable, broken.why), false)
            }
            (None, Some(variable)) => variable.clone(),
            (None, None) => String::new(),
        };
        let line = format!("    local {:width$}  {:7}  {}", printable(&local.name), local.kind, what);
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Writes the points of an alias in order, with their results on a kernel.
pub fn arms(explained: &Explained, style: Style, out: &mut dyn Write) -> Result<()> {
    explained.arms.iter().try_for_each(|arm| put_arm(arm, 2, style, out))
}

/// Writes the locals of an alias on a kernel, separately for the places where they differ.
pub fn all_locals(explained: &Explained, style: Style, out: &mut dyn Write) -> Result<()> {
    let all: usize = explained.locals.iter().map(|(_, count)| count).sum();
    for (own, count) in explained.locals.iter().filter(|(own, _)| !own.own.is_empty()) {
        if *count != all {
            writeln!(out, "    in {count} of {all} probes:")?;
        }
        locals(own, style, out)?;
    }
    Ok(())
}

fn put_arm(arm: &Arm, depth: usize, style: Style, out: &mut dyn Write) -> Result<()> {
    let what = match &arm.outcome {
        Outcome::Probes { places, reachable, undecided, ends } => {
            let probes = if *places == 1 { "1 probe".to_owned() } else { format!("{places} probes") };
            let places = match (places - undecided, undecided) {
                (decided, 0) if decided == *reachable => probes,
                (_, 0) => format!("{probes}, the kernel takes {reachable}"),
                (0, _) => format!("{probes}, undecided"),
                _ => format!("{probes}, the kernel takes {reachable}, {undecided} undecided"),
            };
            style.verdict(format!("{places}{}", if *ends { ", and no further" } else { "" }), true)
        }
        Outcome::Nothing { why } => style.verdict(printable(why), false),
        Outcome::NotTried => style.dim("not tried"),
        Outcome::Unindexed => style.dim("not in the index"),
    };
    writeln!(out, "{:1$}{2}  {what}", "", 2 * depth, printable(&arm.point.to_string()))?;
    arm.inner.iter().try_for_each(|inner| put_arm(inner, depth + 1, style, out))
}

/// What an alias means on a kernel.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Explained"))]
pub struct ExplainedObject<'a> {
    /// Its points, in the order in which they are tried.
    points: Vec<ArmObject>,
    /// Its locals, separately for the places where they differ.
    locals: Vec<LocalsObject<'a>>,
}

/// The locals of some places.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Locals"))]
pub struct LocalsObject<'a> {
    /// How many places have them.
    places: usize,
    /// The locals.
    locals: Vec<Fields<'a>>,
}

/// A point of an alias, and what came of it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Point"))]
pub struct ArmObject {
    /// The point, as the tapset has it.
    point: String,
    /// `resolved`, `nothing`, `not-tried` or `unindexed`.
    state: &'static str,
    /// The number of probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<usize>,
    /// How many of them the kernel accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    reachable: Option<usize>,
    /// How many of them are undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    undecided: Option<usize>,
    /// Whether it is marked `!`, so that later points are not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<bool>,
    /// Why it has no probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The points of the aliases that it refers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    through: Vec<Self>,
}

/// Like [`arms`] and [`all_locals`], as JSON: `{"points": […], "locals": […]}`.
pub fn explained_json(explained: &Explained) -> Value {
    let locals = explained
        .locals
        .iter()
        .map(|(own, places)| LocalsObject { places: *places, locals: own.own.iter().map(fields).collect() });
    json_of(&ExplainedObject {
        points: explained.arms.iter().map(arm_object).collect(),
        locals: locals.collect(),
    })
}

fn arm_object(arm: &Arm) -> ArmObject {
    let mut object = ArmObject {
        point: arm.point.to_string(),
        state: "resolved",
        places: None,
        reachable: None,
        undecided: None,
        ends: None,
        why: None,
        through: arm.inner.iter().map(arm_object).collect(),
    };
    match &arm.outcome {
        Outcome::Probes { places, reachable, undecided, ends } => {
            (object.places, object.reachable) = (Some(*places), Some(*reachable));
            object.undecided = Some(*undecided).filter(|count| *count > 0);
            object.ends = Some(*ends);
        }
        Outcome::Nothing { why } => (object.state, object.why) = ("nothing", Some(why.clone())),
        Outcome::NotTried => object.state = "not-tried",
        Outcome::Unindexed => object.state = "unindexed",
    }
    object
}
