//! Facts of source lines.
use super::fact::{About, Value, What};
use super::function::list;
use super::text;
use crate::error::{ErrorKind, Result};
use crate::query::resolve::placement::{Placement, Wanted};
use crate::query::resolve::resolve;
use crate::query::spec::Spec;
use probeidx_format::View;
use std::collections::{BTreeMap, BTreeSet};

/// What one file has of a line.
#[derive(Default)]
struct Line {
    functions: BTreeSet<String>,
    verdicts: BTreeSet<&'static str>,
    addresses: Vec<String>,
}

/// A line, in each file of the name. Cost: that of resolving it.
///
/// # Errors
/// Those of resolving it, other than that nothing matches.
pub(super) fn facts(view: &View<'_>, spec: &Spec, name: &str) -> Result<Vec<About>> {
    let mut files: BTreeMap<String, Line> = BTreeMap::new();
    let found = resolve(view, spec, Wanted::default(), |placement, _| {
        let file = placement.source.map_or(placement.file, |source| source.file);
        files.entry(text(file)).or_default().add(&placement);
        Ok(())
    });
    match found {
        Err(error) if error.kind() != ErrorKind::NoMatch => return Err(error),
        _ => {}
    }
    let about = |(file, line): (String, Line)| {
        let verdicts = line.verdicts.into_iter().collect::<Vec<_>>().join("/");
        let facts = vec![
            (What::Functions, list(line.functions.into_iter())),
            (What::Kprobe, Value::Word(verdicts)),
            (What::Addresses, list(line.addresses.into_iter())),
        ];
        About { full_name: format!("{name} in {file}"), name: name.to_owned(), part: Some(file), facts }
    };
    Ok(files.into_iter().map(about).collect())
}

impl Line {
    fn add(&mut self, placement: &Placement<'_>) {
        self.functions.insert(text(placement.function));
        self.verdicts.insert(placement.verdicts.any_address().name());
        if let Some((symbol, offset)) = placement.symbol {
            let module = placement.module.map(|module| text(module) + ":").unwrap_or_default();
            let address = format!("{module}{}+{offset:#x}", text(symbol));
            if !self.addresses.contains(&address) {
                self.addresses.push(address);
            }
        }
    }
}
