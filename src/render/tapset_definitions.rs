//! Formats tapset definitions: a line for each, one in full, as JSON.
use super::{printable, put_json_line};
use crate::tapset::ast::{Alias, Function, Point, Statement};
use crate::tapset::{Definitions, Macro, Place};
use serde::Serialize;
use std::io::{Result, Write};

/// Writes an alias in full: its position, its comment, its points in order, and the values it provides to handlers.
/// `whole` prints the entire comment instead of its first paragraph.
pub fn alias(definitions: &Definitions<'_>, alias: &Alias, whole: bool, out: &mut dyn Write) -> Result<()> {
    let names: Vec<String> = alias.names.iter().map(Point::to_string).collect();
    writeln!(out, "{}  {}", printable(&names.join(" = ")), place(definitions, alias.body.place))?;
    comment(alias.body.comment.as_deref(), whole, out)
}

/// Writes the values that the bodies of an alias provide to handlers.
pub fn assignments(alias: &Alias, out: &mut dyn Write) -> Result<()> {
    for (body, what) in [(&alias.body.prologue, "before"), (&alias.body.epilogue, "behind")] {
        for (name, value) in body.iter().flat_map(Statement::assignments) {
            writeln!(out, "  {what}: {} = {}", printable(name), printable(&value.to_string()))?;
        }
    }
    Ok(())
}

/// A function in full.
pub fn function(
    definitions: &Definitions<'_>,
    function: &Function,
    whole: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let private = if function.private { "private " } else { "" };
    let (line, place) = (function.to_string(), place(definitions, function.place));
    writeln!(out, "{private}{}  {place}", printable(&line))?;
    comment(function.comment.as_deref(), whole, out)
}

/// A macro: `@name(a, b)`, and in full its replacement.
pub fn named_macro(
    definitions: &Definitions<'_>,
    name: &str,
    of: &Macro<'_>,
    whole: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let parameters = match of.parameters.is_empty() {
        true => String::new(),
        false => format!("({})", of.parameters.join(", ")),
    };
    write!(out, "@{}{}", printable(name), printable(&parameters))?;
    match whole {
        true => writeln!(out, "  {}\n    {}", place(definitions, of.place), printable(&of.text())),
        false => writeln!(out),
    }
}

fn place(definitions: &Definitions<'_>, place: Place) -> String {
    format!("{}:{}", printable(&definitions.path(place.file).to_string_lossy()), place.line)
}

/// Writes a comment without its first line, which repeats the name, up to the first empty line or to the end.
fn comment(comment: Option<&str>, whole: bool, out: &mut dyn Write) -> Result<()> {
    let Some(comment) = comment else { return Ok(()) };
    let (first, rest) = comment.split_once('\n').unwrap_or((comment, ""));
    let first = first.split_once(" - ").map_or(first, |(_, about)| about);
    let rest = rest.lines().take_while(|line| whole || !line.trim().is_empty());
    for line in [first].into_iter().chain(rest) {
        let line = printable(line.trim_end());
        if line.is_empty() { writeln!(out)? } else { writeln!(out, "  {line}")? }
    }
    Ok(())
}

/// An alias as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Alias"))]
pub struct JsonAlias<'a> {
    /// The release.
    kernel: &'a str,
    /// Its names.
    alias: Vec<String>,
    /// The file that defines it.
    file: String,
    /// From 1.
    line: u32,
    /// The comment before it.
    comment: Option<&'a str>,
    /// Its points, in the order in which they are tried.
    points: Vec<JsonPoint>,
    /// What it assigns before a handler runs.
    before: Vec<Assignment<'a>>,
    /// What it assigns after a handler ran.
    behind: Vec<Assignment<'a>>,
}

/// A point of an alias.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Point"))]
pub struct JsonPoint {
    /// The point, without its mark and condition.
    point: String,
    /// Whether it is marked `?`.
    optional: bool,
    /// Whether it is marked `!`: if it resolves, later points are not tried.
    sufficient: bool,
    /// Its condition.
    #[serde(rename = "if")]
    condition: Option<String>,
}

/// A value that a body assigns to a name visible in handlers.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Assignment<'a> {
    /// The name.
    name: &'a str,
    /// The expression.
    value: String,
    /// From 1.
    line: u32,
}

/// An alias as a line of JSON.
pub fn alias_json(
    definitions: &Definitions<'_>,
    kernel: &str,
    alias: &Alias,
    out: &mut dyn Write,
) -> Result<()> {
    let point = |point: &Point| JsonPoint {
        point: Point { optional: false, sufficient: false, condition: None, ..point.clone() }.to_string(),
        optional: point.optional,
        sufficient: point.sufficient,
        condition: point.condition.as_ref().map(|condition| condition.to_string()),
    };
    fn assignments(body: &Option<Statement>) -> Vec<Assignment<'_>> {
        let all = body.iter().flat_map(Statement::assignments);
        all.map(|(name, value)| Assignment { name, value: value.to_string(), line: value.place.line })
            .collect()
    }
    put_json_line(
        &JsonAlias {
            kernel,
            alias: alias.names.iter().map(Point::to_string).collect(),
            file: file(definitions, alias.body.place),
            line: alias.body.place.line,
            comment: alias.body.comment.as_deref(),
            points: alias.points.iter().map(point).collect(),
            before: assignments(&alias.body.prologue),
            behind: assignments(&alias.body.epilogue),
        },
        out,
    )
}

/// A function as JSON. Types are those inferred by SystemTap.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Function"))]
pub struct JsonFunction<'a> {
    /// The release.
    kernel: &'a str,
    /// Its name.
    function: &'a str,
    /// Whether only its file knows it.
    private: bool,
    /// Its parameters.
    parameters: Vec<JsonParameter<'a>>,
    /// The type of its result.
    result: String,
    /// What is noted in its code: `pure`, `unprivileged`, `guru`, ….
    marks: Vec<&'a str>,
    /// The file that defines it.
    file: String,
    /// From 1.
    line: u32,
    /// The comment before it.
    comment: Option<&'a str>,
}

/// A parameter of a function.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Parameter"))]
pub struct JsonParameter<'a> {
    /// Its name.
    name: &'a str,
    /// Its type.
    #[serde(rename = "type")]
    of: String,
}

/// A function as a line of JSON.
pub fn function_json(
    definitions: &Definitions<'_>,
    kernel: &str,
    function: &Function,
    out: &mut dyn Write,
) -> Result<()> {
    let inferred = &function.signature.parameters;
    let parameters = function.parameters.iter().enumerate().map(|(i, parameter)| JsonParameter {
        name: &parameter.name,
        of: inferred.get(i).unwrap_or(&parameter.declared).to_string(),
    });
    put_json_line(
        &JsonFunction {
            kernel,
            function: &function.name,
            private: function.private,
            parameters: parameters.collect(),
            result: function.signature.result.to_string(),
            marks: function.marks(),
            file: file(definitions, function.place),
            line: function.place.line,
            comment: function.comment.as_deref(),
        },
        out,
    )
}

/// A macro as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Macro"))]
pub struct JsonMacro<'a> {
    /// The release.
    kernel: &'a str,
    /// Its name, without `@`.
    #[serde(rename = "macro")]
    name: &'a str,
    /// Its parameters.
    parameters: Vec<&'a str>,
    /// What it is replaced by.
    body: String,
    /// The file that defines it.
    file: String,
    /// From 1.
    line: u32,
}

/// A macro as a line of JSON.
pub fn macro_json(
    definitions: &Definitions<'_>,
    kernel: &str,
    name: &str,
    of: &Macro<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let parameters = of.parameters.iter().map(|parameter| &**parameter).collect();
    let (file, number) = (file(definitions, of.place), of.place.line);
    put_json_line(&JsonMacro { kernel, name, parameters, body: of.text(), file, line: number }, out)
}

fn file(definitions: &Definitions<'_>, place: Place) -> String {
    definitions.path(place.file).to_string_lossy().into_owned()
}
