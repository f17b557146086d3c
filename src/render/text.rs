//! Placements for people.
use crate::query::placement::{Instance, Placement};
use std::io::{Result, Write};

/// How text is to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// With colours.
    pub color: bool,
}

impl Style {
    fn paint(self, code: &str, text: impl std::fmt::Display) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

fn printable(bytes: &[u8]) -> String {
    super::printable(&String::from_utf8_lossy(bytes)).into_owned()
}

/// Writes the line that stands above the placements of one declaration in one object.
pub fn heading(p: &Placement<'_>, style: Style, out: &mut dyn Write) -> Result<()> {
    let object = p.module.map_or("vmlinux".to_owned(), |m| format!("module {}", printable(m)));
    let place = match p.line {
        0 => printable(p.file),
        line => format!("{}:{line}", printable(p.file)),
    };
    let count = match p.instances {
        0 => "no address once the kernel runs".to_owned(),
        1 => "1 address".to_owned(),
        n => format!("{n} addresses"),
    };
    let at = if place.is_empty() { "" } else { "@" };
    writeln!(out, "{}{at}{place}  {object}, {count}", style.paint("1", printable(p.function)))
}

/// Writes one placement, below its heading.
pub fn placement(p: &Placement<'_>, style: Style, out: &mut dyn Write) -> Result<()> {
    let symbol = p.symbol.map_or("no symbol".to_owned(), |(s, o)| format!("{}+{o:#x}", printable(s)));
    let anchor = p.anchor.as_ref().map_or(String::new(), |a| {
        let module = a.module.map_or(String::new(), |m| format!("{}:", printable(m)));
        format!("  probe at {module}{}+{}", printable(a.symbol), a.offset)
    });
    let kind = match p.instance {
        Instance::OutOfLine => style.paint("32", "out-of-line"),
        other => style.paint("36", other.name()),
    };
    writeln!(
        out,
        "  {kind}  {}  {:#x} in {}{anchor}",
        style.paint("1", symbol),
        p.address,
        printable(p.section)
    )?;
    if !p.uniqueness.unique && p.symbol.is_some() {
        writeln!(out, "    the symbol's name is not unique: use the address given by `probe at`")?;
    }
    for call in &p.inlined_into {
        let (function, file) = (printable(call.function), printable(call.file));
        writeln!(out, "    inlined into {function} at {file}:{}", call.line)?;
    }
    let width = |length: fn(&crate::query::placement::VariableAt<'_>) -> usize| {
        p.variables.iter().map(length).max().unwrap_or(0)
    };
    let name_width = width(|v| v.name.len());
    let type_width = width(|v| v.type_name.as_ref().map_or(1, String::len)).min(48);
    for v in &p.variables {
        let location = match &v.location {
            Some(location) if v.state.name() == "unsupported" => format!("not fetchable: {location}"),
            Some(location) => location.clone(),
            None => match v.state.name() {
                "elsewhere" => "not at this address".to_owned(),
                other => other.replace('-', " "),
            },
        };
        let (name, spelled) = (printable(v.name), v.type_name.as_deref().unwrap_or("?"));
        writeln!(out, "    {name:name_width$}  {:type_width$}  {location}", printable(spelled.as_bytes()))?;
    }
    Ok(())
}
