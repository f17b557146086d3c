//! Formats who reaches a function: a summary and a line per caller; or JSON Lines.
use super::json::Hex;
use super::text::Style;
use super::{lossy, printable_bytes as printable, put_json_line};
use crate::query::callers::{Callee, Caller, Counts, Kind, Site};
use crate::query::index::user_object;
use crate::query::verdict::reason::Reason;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{Result, Write};

/// How text is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Colours.
    pub style: Style,
    /// All callers and sites, however many, each with its symbol and offset.
    pub in_full: bool,
}

/// The most callers of a kind, and the most sites of a caller, that are shown unless all are asked for.
const MOST_CALLERS: usize = 20;
const MOST_SITES: usize = 3;

/// Writes a heading, the summary, and the callers of each kind.
pub fn text(view: &View<'_>, callee: &Callee<'_>, shown: Shown, out: &mut dyn Write) -> Result<()> {
    let declared = &callee.declaration;
    let (name, file) = (view.string(declared.name), view.string(declared.file));
    let place = match (file.is_empty(), declared.line) {
        (true, _) => String::new(),
        (_, 0) => format!("@{}", printable(file)),
        (_, line) => format!("@{}:{line}", printable(file)),
    };
    // Where it has no entry, it is where its copies are.
    let mut objects: BTreeSet<ObjectId> = callee.entries.iter().copied().collect();
    if objects.is_empty() {
        objects.extend(callee.callers.iter().map(|caller| caller.object));
    }
    let first = objects.first().map_or_else(String::new, |object| object_name(view, *object));
    let objects = match objects.len() {
        0 | 1 => first,
        count => format!("{first} and {} more", count - 1),
    };
    writeln!(out, "{}{place}  {objects}", shown.style.bold(printable(name)))?;
    writeln!(out, "  {}", summary(callee))?;
    for kind in [Kind::Call, Kind::TailCall, Kind::Inlined] {
        let callers: Vec<&Caller<'_>> = callee.callers.iter().filter(|c| c.kind == kind).collect();
        let most = if shown.in_full { usize::MAX } else { MOST_CALLERS };
        callers.iter().take(most).try_for_each(|one| caller(view, one, shown, out))?;
        if let Some(more) = callers.len().checked_sub(most).filter(|more| *more > 0) {
            writeln!(out, "  {:9}  and {more} more functions: see all with -v", kind.name())?;
        }
    }
    Ok(())
}

/// `12 calls in 9 functions reach its entry; 3 inlined copies in 2 functions do not`.
fn summary(callee: &Callee<'_>) -> String {
    let Counts { calls, calling, copies, containing, gone } = callee.counts();
    let verb = |n: u32, one: &'static str, many: &'static str| if n == 1 { one } else { many };
    let inlined = match copies {
        0 => "no copies".to_owned(),
        1 => "1 inlined copy in 1 function".to_owned(),
        n => format!("{n} inlined copies in {}", counted(containing, "function")),
    };
    let said = if callee.entries.is_empty() {
        format!("it has no entry, only {inlined}")
    } else {
        let direct = match (callee.has_calls, calls) {
            (false, _) => "direct calls are unknown: the index was made from no call sites".to_owned(),
            (true, 0) => "no direct call reaches its entry".to_owned(),
            (true, n) => {
                let reach = verb(n, "reaches", "reach");
                format!("{} in {} {reach} its entry", counted(n, "call"), counted(calling, "function"))
            }
        };
        match copies {
            0 => format!("{direct}; no code of it is inlined"),
            n => format!("{direct}; {inlined} {} not", verb(n, "does", "do")),
        }
    };
    match gone {
        0 => said,
        n => format!("{said}; {n} more {} in code that a running kernel does not have", verb(n, "is", "are")),
    }
}

fn counted(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn caller(view: &View<'_>, caller: &Caller<'_>, shown: Shown, out: &mut dyn Write) -> Result<()> {
    let name = if caller.function.is_empty() { "?".to_owned() } else { printable(caller.function) };
    let module = module(view, caller.object).map_or_else(String::new, |m| format!("  [{}]", printable(m)));
    let count = caller.sites.len();
    let times = if count == 1 { String::new() } else { format!(" {count} times") };
    let kind = format!("{:9}", caller.kind.name());
    let kind = if caller.kind == Kind::Inlined { shown.style.inline(kind) } else { kind };
    if shown.in_full {
        writeln!(out, "  {kind}  {}{times}{module}", shown.style.bold(name))?;
        for site in &caller.sites {
            let (address, symbol) = caller.place(view, site);
            let symbol = symbol
                .map_or_else(String::new, |(name, offset)| format!("{}+{offset:#x}  ", printable(name)));
            writeln!(out, "             {symbol}{address:#x}  {}{}", line(site, None), gone(site))?;
        }
        return Ok(());
    }
    let mut sites: Vec<String> = vec![];
    let mut before = None;
    for site in caller.sites.iter().take(MOST_SITES) {
        sites.push(line(site, before) + &gone(site));
        before = Some(site.file);
    }
    let more = if count > MOST_SITES { ", …" } else { "" };
    writeln!(out, "  {kind}  {}{times}  {}{more}{module}", shown.style.bold(name), sites.join(", "))
}

/// `fs/open.c:12`, or `:12` behind a site of the same file.
fn line(site: &Site<'_>, before: Option<&[u8]>) -> String {
    match (site.file.is_empty(), site.line) {
        (true, _) | (_, 0) => "unknown line".to_owned(),
        (_, line) if before == Some(site.file) => format!(":{line}"),
        (_, line) => format!("{}:{line}", printable(site.file)),
    }
}

fn gone(site: &Site<'_>) -> String {
    site.gone.map_or_else(String::new, |reason| format!(" ({})", reason.name()))
}

/// `vmlinux`, the name of a module, or the path of a program.
fn object_name(view: &View<'_>, object: ObjectId) -> String {
    match (user_object::path(view), module(view, object)) {
        (Some(path), _) => printable(path),
        (None, Some(module)) => format!("module {}", printable(module)),
        (None, None) => "vmlinux".to_owned(),
    }
}

/// The name of a module.
fn module<'a>(view: &View<'a>, object: ObjectId) -> Option<&'a [u8]> {
    let record = view.objects.get(object.index()).filter(|_| !view.is_user(object))?;
    Some(view.string(record.name)).filter(|name| !name.is_empty())
}

/// A function that reaches another one, by one kind of sites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Caller"))]
pub struct Line {
    /// The release; not there for a program or shared library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The module that contains the sites; `None` for vmlinux.
    pub module: Option<String>,
    /// The path of a program or shared library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// The function that is reached.
    pub function: String,
    /// The file of its declaration; empty if unknown.
    pub file: String,
    /// The line of its declaration, from 1; 0 if unknown.
    pub line: u32,
    /// The innermost function that contains the sites; empty if unknown.
    pub caller: String,
    /// The file of its declaration; empty if unknown.
    pub caller_file: String,
    /// The line of its declaration, from 1; 0 if unknown.
    pub caller_line: u32,
    /// `call`, `tail-call`, or `inlined`: a copy, which no probe of the entry sees.
    pub kind: &'static str,
    /// The calls, or the copies.
    pub sites: Vec<At>,
}

/// A call, or an inlined copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Site"))]
pub struct At {
    /// A link address; in a module, an offset within the section.
    pub address: Hex,
    /// The symbol that holds the address.
    pub symbol: Option<String>,
    /// The offset from that.
    pub offset: Option<u32>,
    /// The file of the source line; empty if unknown.
    pub file: String,
    /// That line, from 1; 0 if unknown.
    pub line: u32,
    /// Why the code is not present in a running kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<&'static str>,
}

/// Writes each caller as a line of JSON.
pub fn json(view: &View<'_>, kernel: &str, callee: &Callee<'_>, out: &mut dyn Write) -> Result<()> {
    lines(view, kernel, callee).into_iter().try_for_each(|line| put_json_line(&line, out))
}

/// The callers, as JSON has them.
pub fn lines<'a>(
    view: &'a View<'_>,
    kernel: &'a str,
    callee: &'a Callee<'_>,
) -> impl Iterator<Item = Line> + 'a {
    let declared = &callee.declaration;
    let process = user_object::path(view);
    callee.callers.iter().map(move |caller| {
        let at = |site: &Site<'_>| {
            let (address, symbol) = caller.place(view, site);
            At {
                address: Hex(address),
                symbol: symbol.map(|(name, _)| lossy(name)),
                offset: symbol.map(|(_, offset)| offset),
                file: lossy(site.file),
                line: site.line,
                gone: site.gone.map(Reason::name),
            }
        };
        Line {
            kernel: process.is_none().then(|| kernel.to_owned()),
            module: module(view, caller.object).map(lossy),
            process: process.map(lossy),
            function: lossy(view.string(declared.name)),
            file: lossy(view.string(declared.file)),
            line: declared.line,
            caller: lossy(caller.function),
            caller_file: lossy(caller.file),
            caller_line: caller.line,
            kind: caller.kind.name(),
            sites: caller.sites.iter().map(at).collect(),
        }
    })
}
