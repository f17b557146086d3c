//! Where things are defined, as far as their source is on this machine.
use crate::document::{Document, Language};
use crate::kernels::Kernels;
use crate::points;
use crate::scan::Scan;
use lsp_types::{Location, Position, Range, Uri};
use probeidx::cli::source::Places;
use probeidx::lookup::Function;
use probeidx::query::spec::{self, Point};
use probeidx::tapset::Definitions;
use probeidx_format::View;
use std::path::Path;
use std::str::FromStr;

/// How many definitions of a name are shown.
const MOST: usize = 50;

/// Where a function is declared.
pub struct Origin {
    /// `fs/read_write.c:450`
    pub text: String,
    /// That in a file of this machine.
    pub location: Option<Location>,
}

/// Where a function is declared. `source` is a folder with the kernel's source; else it is searched where distributions
/// install it.
pub fn origin(view: &View<'_>, function: &Function<'_>, source: Option<&Path>) -> Origin {
    let file = String::from_utf8_lossy(function.file());
    let line = function.line();
    let release = String::from_utf8_lossy(view.release()).into_owned();
    let found = Places::new(source, &release).below_folders_alone().find(function.file());
    let location = found.and_then(|path| location(&path, line));
    Origin { text: format!("{file}:{line}"), location }
}

/// The definitions of what is at a byte of a script: the functions that a probe point names, the aliases of tapsets.
pub fn definitions(
    document: &Document,
    at: usize,
    kernels: &Kernels,
    source: Option<&Path>,
) -> Vec<Location> {
    let scan = Scan::new(&document.text, document.language);
    let Some(range) = scan.point_at(at) else { return vec![] };
    let Some(written) = points::spec(&scan.text[range], document.language) else { return vec![] };
    let Ok((_, index)) = kernels.newest() else { return vec![] };
    let Ok(kernel) = index.lookup() else { return vec![] };
    let specs = spec::parse(&written).unwrap_or_default();
    let mut found = vec![];
    for spec in &specs {
        if let Point::Function(asked) = &spec.point {
            let functions = kernel.matching(&asked.declared.name).take(MOST);
            found.extend(functions.filter_map(|function| origin(kernel.view(), &function, source).location));
        }
    }
    if found.is_empty()
        && document.language == Language::SystemTap
        && let Ok(definitions) = Definitions::of_index(kernel.view())
    {
        let aliases = definitions.alias(&written).take(MOST);
        found
            .extend(aliases.filter_map(|alias| {
                location(definitions.path(alias.body.place.file), alias.body.place.line)
            }));
    }
    found.dedup();
    found
}

/// A line, from 1, of a file that is there.
fn location(path: &Path, line: u32) -> Option<Location> {
    let start = Position { line: line.saturating_sub(1), character: 0 };
    let path = path.canonicalize().ok()?;
    let uri = Uri::from_str(&format!("file://{}", escaped(path.to_str()?))).ok()?;
    Some(Location { uri, range: Range { start, end: start } })
}

/// A path as it stands in a URI (RFC 3986, 3.3).
fn escaped(path: &str) -> String {
    let mut escaped = String::new();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => escaped.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => escaped.push(byte.into()),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}
