//! Formats lines that can be probed, as text.
use super::text::Style;
use super::{printable, printable_bytes as text};
use crate::query::resolve::line_listing::{Line, Listing};
use crate::query::resolve::placement::Placement;
use probeidx_format::View;
use std::io::{Result, Write};
use std::path::Path;

/// Writes the heading of a listing.
pub fn heading(
    view: &View<'_>,
    listing: &Listing,
    source: Option<&Path>,
    style: Style,
    out: &mut dyn Write,
) -> Result<()> {
    let object = super::types::object(view, listing.object);
    let file = text(view.string(listing.file));
    match listing.function {
        Some(f) => write!(out, "{}@{file}:{}  {object}", style.bold(text(view.string(f.name))), f.line)?,
        None => write!(out, "{}  {object}", style.bold(file))?,
    }
    match source {
        Some(source) => writeln!(out, "  {}", style.dim(printable(&source.to_string_lossy()))),
        None => writeln!(out),
    }
}

/// Writes a line that has code: its text if known, some of its addresses, and what is inlined there. `declared` is the
/// line to count relative lines from, or 0.
pub fn line(
    line: &Line,
    declared: u32,
    points: &[Placement<'_>],
    inlined: &[Placement<'_>],
    source: Option<&str>,
    style: Style,
    out: &mut dyn Write,
) -> Result<()> {
    let accepted = points.iter().chain(inlined).any(|p| p.verdicts.any_address().is_ok());
    let number = style.verdict(format_args!("{:WIDTH$}", line.number), accepted);
    write!(out, "{number}{}", relative(line.number, declared))?;
    let indent = " ".repeat(WIDTH + relative(line.number, declared).len() + source.map_or(0, |_| 4));
    let mut starts_line = false;
    if let Some(source) = source {
        writeln!(out, "  {}", expanded(source))?;
        starts_line = true;
    }
    let parts = points.iter().map(|p| (p, None)).chain(inlined.iter().map(|p| (p, Some(p.function))));
    for (p, inlined) in parts {
        if starts_line {
            write!(out, "{indent}")?;
        }
        write!(out, "  {}", point(p, style))?;
        match inlined {
            Some(function) => {
                let (kind, function) = (style.inline("inline"), text(function));
                writeln!(out, "  {kind} {function}@{}:{}", text(p.file), p.line)?;
            }
            None if line.points.len() > points.len() => {
                writeln!(out, "  and {} more", line.points.len() - points.len())?;
            }
            None => writeln!(out)?,
        }
        starts_line = true;
    }
    if starts_line { Ok(()) } else { writeln!(out) }
}

/// Writes a line without code.
pub fn plain(number: u32, declared: u32, source: &str, style: Style, out: &mut dyn Write) -> Result<()> {
    let number_text = style.dim(format_args!("{number:WIDTH$}"));
    writeln!(out, "{number_text}{}  {}", relative(number, declared), expanded(source))
}

const WIDTH: usize = 6;

fn relative(number: u32, declared: u32) -> String {
    match (declared, number.checked_sub(declared)) {
        (0, _) => String::new(),
        (_, Some(relative)) => format!("{:>WIDTH$}", format!("+{relative}")),
        (_, None) => " ".repeat(WIDTH),
    }
}

fn expanded(source: &str) -> String {
    printable(&source.replace('\t', "        ")).into_owned()
}

/// `vfs_read+0x9c  0xffffffff8134ccec  ok  file buf count`
fn point(p: &Placement<'_>, style: Style) -> String {
    let symbol = p.symbol.map_or("no symbol".to_owned(), |(s, o)| format!("{}+{o:#x}", text(s)));
    let verdict = style.verdict(p.verdicts.any_address().words(), p.verdicts.any_address().is_ok());
    let readable = p.values.iter().filter(|v| v.state.is_known()).map(|v| printable(&v.name));
    let readable: String = readable.flat_map(|name| [" ".into(), name]).collect();
    let gap = if readable.is_empty() { "" } else { " " };
    format!("{symbol}  {:#x}  {verdict}{gap}{readable}", p.address)
}
