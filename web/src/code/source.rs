//! The source lines of a function's code, where the source is on this machine.
use super::listing::SourceLines;
use super::place::Shown;
use crate::lines::{Lines, text};
use probeidx::cli::source::Places;
use probeidx_format::View;
use probeidx_format::id::StrId;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Writes an item for each file that is there: the lines that have code, and those of the declaration. Cost: reads the
/// files.
pub fn write(view: &View<'_>, shown: &Shown, named: Option<&Path>, out: &mut Lines) {
    // The index is a stranger's: it may not name a file by itself.
    let places = Places::new(named, &text(view.release())).below_folders_alone();
    let mut wanted: BTreeMap<StrId, BTreeSet<u32>> = BTreeMap::new();
    for (file, line) in SourceLines::of(view, shown).by_file() {
        wanted.entry(file).or_default().insert(line);
    }
    let mut missing = vec![];
    for (file, lines) in wanted {
        let name = text(view.string(file));
        match places.read(view, file) {
            Ok(Some(source)) => {
                let of_line = |line: &u32| Some((line.to_string(), Value::from(source.line(*line)?)));
                let lines: Map<String, Value> = lines.iter().filter_map(of_line).collect();
                out.item(&json!({ "file": name, "path": source.path.to_string_lossy(), "lines": lines }));
            }
            Ok(None) => missing.push(name),
            Err(differs) => {
                out.note(&format!("{} has other lines than this kernel", differs.path.display()));
            }
        }
    }
    if let Some(first) = missing.first() {
        let others =
            if missing.len() > 1 { format!(" and {} more files", missing.len() - 1) } else { String::new() };
        out.note(&format!(
            "no source of {first}{others} is on this machine: probeidx web --source DIR names it"
        ));
    }
}
