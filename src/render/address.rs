//! Formats what is known about an address, as text and JSON.
use super::json::Hex;
use super::{lossy, printable_bytes};
use crate::query::index::symbols;
use crate::query::index::user_object;
use crate::query::symbolize::frames::{Ground, Level, Where};
use crate::query::symbolize::locate::Absent;
use crate::query::systemtap::probe_point::put_decimal;
use crate::query::verdict::reason::Reason;
use probeidx_format::View;
use serde::Serialize;
use std::borrow::Cow;

/// For an address with several possible places: the number of this one, and how many there are.
pub type Candidate = (usize, usize);

/// Appends a line with the symbol, the innermost function and its line, and a line for each function it is inlined
/// into.
pub fn text(view: &View<'_>, asked: &[u8], of: Candidate, at: &Where<'_>, out: &mut Vec<u8>) {
    put_name(asked, out);
    if of.1 > 1 {
        out.extend_from_slice(format!("  {} of {}", of.0, of.1).as_bytes());
    }
    out.extend_from_slice(b"  ");
    put_symbol(view, at, out);
    let section = at.section.map_or(&b""[..], |s| view.string(s.name));
    match at.ground {
        Ground::Code => {
            if let Some((innermost, outer)) = at.chain.split_first() {
                out.extend_from_slice(b"  ");
                put_level(innermost, out);
                if innermost.line > 0 && !at.is_stmt {
                    out.extend_from_slice(b", no statement");
                }
                if let Some(gone) = at.gone {
                    out.extend_from_slice(b", ");
                    out.extend_from_slice(gone.phrase().as_bytes());
                }
                for level in outer {
                    out.extend_from_slice(b"\n    inlined into ");
                    put_level(level, out);
                }
            }
        }
        Ground::Padding => {
            out.extend_from_slice(b"  ");
            out.extend_from_slice(no_function(section).as_bytes());
        }
        Ground::Data => {
            out.extend_from_slice(b"  no code, in ");
            put_name(section, out);
        }
        Ground::Nothing => out.extend_from_slice(b"  in no section"),
    }
    out.push(b'\n');
}

/// The description of code without a known function.
fn no_function(section: &[u8]) -> &'static str {
    if section.starts_with(b".altinstr") {
        "instructions that are copied over others"
    } else {
        "padding between functions"
    }
}

/// Appends a line with the reason why an address does not resolve.
pub fn absent(asked: &[u8], why: &Absent, out: &mut Vec<u8>) {
    const LONGEST: usize = 256;
    put_name(&asked[..asked.len().min(LONGEST)], out);
    out.extend_from_slice(b": ");
    out.extend_from_slice(reason(why).as_bytes());
    out.push(b'\n');
}

/// Why an address does not resolve.
pub fn reason(why: &Absent) -> String {
    match why {
        Absent::Number => "no section is there".to_owned(),
        Absent::Object => "no module or library of this name is indexed".to_owned(),
        Absent::Kernel => "no kernel is indexed".to_owned(),
        Absent::BuildId => "it is indexed with another build id".to_owned(),
        Absent::Symbol => "there is no such symbol".to_owned(),
        Absent::Beyond(size) => format!("the offset lies beyond it, which has {size:#x} bytes"),
        Absent::Size(size) => format!("it has {size:#x} bytes here: this is of another build"),
        Absent::Unreadable => "this is no address".to_owned(),
    }
}

/// `path_openat+0x14d/0x1180 [module]`
fn put_symbol(view: &View<'_>, at: &Where<'_>, out: &mut Vec<u8>) {
    match &at.symbol {
        Some((held, reach)) => {
            put_name(view.string(held.record.name), out);
            out.push(b'+');
            put_hex(held.offset.into(), out);
            out.push(b'/');
            put_hex(reach.size.into(), out);
        }
        None => out.extend_from_slice(b"no symbol"),
    }
    let module = view.objects.get(at.object.index()).map_or(&b""[..], |o| view.string(o.name));
    if !module.is_empty() {
        out.extend_from_slice(b" [");
        put_name(module, out);
        out.push(b']');
    }
}

/// `do_open at fs/namei.c:3640:10`
fn put_level(level: &Level<'_>, out: &mut Vec<u8>) {
    put_name(level.function, out);
    if level.line > 0 {
        out.extend_from_slice(b" at ");
        put_position(level, out);
    }
}

/// `fs/namei.c:3640:10`
pub(super) fn put_position(level: &Level<'_>, out: &mut Vec<u8>) {
    put_name(level.file, out);
    out.push(b':');
    put_decimal(level.line, out);
    if level.column > 0 {
        out.push(b':');
        put_decimal(level.column, out);
    }
}

pub(super) fn put_name(name: &[u8], out: &mut Vec<u8>) {
    // All are compared, which takes less time than to stop at the first.
    if name.iter().fold(true, |all, b| all & (0x20..0x7f).contains(b)) {
        out.extend_from_slice(name);
    } else {
        out.extend_from_slice(printable_bytes(name).as_bytes());
    }
}

fn put_hex(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0x");
    let digits = (16 - number.leading_zeros() / 4).max(1);
    out.extend((0..digits).rev().map(|at| b"0123456789abcdef"[(number >> (at * 4) & 15) as usize]));
}

/// What is known about an address, as JSON; see [`object`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Place"))]
pub struct Object<'a> {
    /// The release; `None` for a program or shared library.
    pub kernel: Option<Cow<'a, str>>,
    /// The address as requested.
    pub asked: String,
    /// The module; `None` for vmlinux.
    pub module: Option<String>,
    /// The path of a program or shared library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// A link address; in a module, an offset within the section.
    pub address: Hex,
    /// The symbol that the kernel prints for it.
    pub symbol: Option<String>,
    /// The offset from that.
    pub offset: Option<u32>,
    /// The size of the symbol, in bytes.
    pub size: Option<u32>,
    /// Whether the symbol's name stands once.
    pub symbol_unique: bool,
    /// The section's name.
    pub section: Option<String>,
    /// The innermost function.
    pub function: Option<String>,
    /// The file of the source line.
    pub file: Option<String>,
    /// That line, from 1.
    pub line: Option<u32>,
    /// Its column, from 1; 0 if unknown.
    pub column: Option<u32>,
    /// Whether the compiler recommends the address for breakpoints.
    pub is_stmt: bool,
    /// The functions that the code belongs to, innermost first.
    pub chain: Vec<Step>,
    /// Whether the address itself was looked up; else the call before it.
    pub exact: bool,
    /// Why the code is not present in a running kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<&'static str>,
    /// Why no function is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// The number of this place among those that the address can mean, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<usize>,
    /// The number of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
}

/// A function, with the line within it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The function's name.
    pub function: String,
    /// The file of the line.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
    /// From 1; 0 if unknown.
    pub column: Option<u32>,
    /// Where the function is declared.
    pub declared: Option<Declared>,
}

/// The place of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Declared {
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u32,
}

impl From<&Level<'_>> for Step {
    fn from(level: &Level<'_>) -> Self {
        let is_known = level.line > 0;
        let (file, line) = level.declared;
        Self {
            function: lossy(level.function),
            file: is_known.then(|| lossy(level.file)),
            line: is_known.then_some(level.line),
            column: is_known.then_some(level.column),
            declared: (line > 0).then(|| Declared { file: lossy(file), line }),
        }
    }
}

/// What to print about a place besides the address.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The kernel's release.
    pub kernel: &'a str,
    /// The address as requested.
    pub asked: &'a [u8],
    /// The number of this place among those that the address can mean.
    pub of: Candidate,
    /// Whether the address itself was looked up; else, as for a return address, the call before it.
    pub exact: bool,
}

/// Appends a JSON object on a line of its own.
pub fn json(view: &View<'_>, context: Context<'_>, at: &Where<'_>, out: &mut Vec<u8>) {
    put_json(&object(view, context.kernel, context, at), out);
}

/// What is known about an address, as an object; `kernel` is that of the context.
pub fn object<'k>(
    view: &View<'_>,
    kernel: impl Into<Cow<'k, str>>,
    context: Context<'_>,
    at: &Where<'_>,
) -> Object<'k> {
    let module = view.objects.get(at.object.index()).map_or(&b""[..], |o| view.string(o.name));
    let mut chain: Vec<Step> = at.chain.iter().map(Step::from).collect();
    let first = chain.first_mut();
    let process = user_object::path(view);
    Object {
        kernel: process.is_none().then(|| kernel.into()),
        asked: lossy(context.asked),
        module: (!module.is_empty() && process.is_none()).then(|| lossy(module)),
        process: process.map(lossy),
        address: Hex(symbols::address(view, at.object, at.pc)),
        symbol: at.symbol.map(|(held, _)| lossy(view.string(held.record.name))),
        offset: at.symbol.map(|(held, _)| held.offset),
        size: at.symbol.map(|(_, reach)| reach.size),
        symbol_unique: at
            .symbol
            .is_some_and(|(held, _)| symbols::uniqueness(view, at.object, held.record.name).unique),
        section: at.section.map(|s| lossy(view.string(s.name))),
        function: first.as_ref().map(|s| s.function.clone()),
        file: first.as_ref().and_then(|s| s.file.clone()),
        line: first.as_ref().and_then(|s| s.line),
        column: first.as_ref().and_then(|s| s.column),
        is_stmt: at.is_stmt,
        chain,
        exact: context.exact,
        gone: at.gone.map(Reason::name),
        why: match at.ground {
            Ground::Code => None,
            Ground::Padding => Some(no_function(at.section.map_or(&[], |s| view.string(s.name)))),
            Ground::Data => Some("no code"),
            Ground::Nothing => Some("in no section"),
        },
        candidate: (context.of.1 > 1).then_some(context.of.0),
        candidates: (context.of.1 > 1).then_some(context.of.1),
    }
}

/// Appends a JSON object with the reason why an address does not resolve.
pub fn absent_json(kernel: &str, asked: &[u8], why: &Absent, out: &mut Vec<u8>) {
    put_json(&absent_object(kernel, asked, why), out);
}

/// An address that does not resolve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NoPlace"))]
pub struct AbsentObject<'a> {
    /// The release; `None` if no kernel is indexed.
    pub kernel: Option<Cow<'a, str>>,
    /// The address as requested.
    pub asked: String,
    /// Why it does not resolve.
    pub why: String,
}

/// An address that does not resolve, as an object.
pub fn absent_object<'k>(kernel: impl Into<Cow<'k, str>>, asked: &[u8], why: &Absent) -> AbsentObject<'k> {
    let kernel = Some(kernel.into()).filter(|k| !k.is_empty());
    AbsentObject { kernel, asked: lossy(asked), why: reason(why) }
}

fn put_json(object: &impl Serialize, out: &mut Vec<u8>) {
    // Strings and numbers are always JSON, and memory takes them.
    let _ = serde_json::to_writer(&mut *out, object);
    out.push(b'\n');
}
