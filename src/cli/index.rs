//! `probeidx stats`, `verify`, `completions`; and what to say where nothing matched.
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use crate::error::Result;
use crate::query::absence::{Absence, absence};
use crate::query::spec::{Filter, ModuleScope, Point, Spec};
use crate::query::{Index, pattern::Pattern, suggest};
use clap::CommandFactory;
use probeidx_format::SectionName;
use probeidx_format::id::PlaceId;
use serde_json::json;
use std::io::Write;

/// What is in the index.
pub fn stats(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    for path in config.indexes()? {
        let index = Index::open(&path)?;
        let view = index.view()?;
        let meta = view.meta().map_err(|e| index.error(e))?;
        let count = |table: usize| table.saturating_sub(1);
        let inline = (0u32..)
            .map(PlaceId::new)
            .zip(view.places)
            .filter(|(id, p)| view.outer(*id, p).is_some())
            .count();
        let counts = [
            ("objects", count(view.objects.len())),
            ("units", count(view.units.len())),
            ("functions", count(view.functions.len())),
            ("placements", view.places.len()),
            ("inline instances", inline),
            ("symbols", view.symbols.len()),
            ("names", count(view.names.len())),
            ("types", count(view.types.len())),
            ("line sequences", view.sequences.len()),
            ("parts that could not be read", meta.skipped.len()),
        ];
        let size: u64 = view.section_sizes().map(|s| s.1).sum();
        let written = (|| {
            if config.json {
                let counts: serde_json::Map<_, _> =
                    counts.iter().map(|(what, n)| (what.replace(' ', "_"), json!(n))).collect();
                let sections: serde_json::Map<_, _> =
                    view.section_sizes().map(|(name, size)| (name.text().to_owned(), json!(size))).collect();
                let line = json!({"kernel": meta.release, "index": path, "written_by": meta.written_by,
                    "counts": counts, "sections": sections, "size": size});
                return writeln!(out, "{line}");
            }
            writeln!(out, "{}  {}  written by probeidx {}", meta.release, path.display(), meta.written_by)?;
            for (what, n) in counts {
                writeln!(out, "  {n:>10}  {what}")?;
            }
            writeln!(out, "  {:>10.1}  MB, of which", size as f64 / 1e6)?;
            for (name, size) in view.section_sizes() {
                writeln!(out, "  {:>10.1}  {}", size as f64 / 1e6, name.text())?;
            }
            for skipped in &meta.skipped {
                writeln!(out, "  skipped: {}: {} ({} times)", skipped.path, skipped.message, skipped.count)?;
            }
            Ok(())
        })();
        written.map_err(failed)?;
    }
    Ok(Outcome::Done)
}

/// Whether the bytes of the index are whole: the checksum of every section.
pub fn verify(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    for path in config.indexes()? {
        let index = Index::open(&path)?;
        let view = index.view()?;
        for name in SectionName::ALL {
            view.checked(*name).map_err(|e| index.error(e))?;
        }
        view.meta().map_err(|e| index.error(e))?;
        if config.json {
            writeln!(out, "{}", json!({"index": path, "whole": true})).map_err(failed)?;
        } else {
            writeln!(out, "{}: whole", path.display()).map_err(failed)?;
        }
    }
    Ok(Outcome::Done)
}

/// A script that completes the command line in this shell.
pub fn completions(shell: clap_complete::Shell, out: &mut dyn Write) -> Result<Outcome> {
    let mut script = vec![];
    clap_complete::generate(shell, &mut super::args::Args::command(), "probeidx", &mut script);
    out.write_all(&script).map_err(failed)?;
    Ok(Outcome::Done)
}

/// Says why nothing matched, where that can be told, or which names are near.
pub fn suggest(specs: &[Spec], index: &Index, config: &Config) -> Result<()> {
    let view = index.view()?;
    for spec in specs {
        let (module, name, filter) = match &spec.point {
            Point::Function(f) => (&f.module, Some(&f.declared.name), f.filter),
            Point::Statement(s) => (&s.module, s.function.as_ref(), Filter::Any),
            Point::Address(a) => {
                note(config, &format!("no code is at {:#x}", a.address));
                continue;
            }
            _ => continue,
        };
        if let ModuleScope::Module(Pattern::Literal(module)) = module {
            let names = || view.object_ids().map(|o| view.string(view.objects[o.index()].name));
            if !names().any(|n| n == module.as_bytes()) {
                let texts: Vec<&str> = names().filter_map(|n| std::str::from_utf8(n).ok()).collect();
                let near = suggest::nearest(module, texts.into_iter(), 3);
                note(config, &with_near(&format!("module {module} is not indexed"), &near));
                continue;
            }
        }
        let Some(Pattern::Literal(name)) = name else {
            note(config, "nothing matches");
            continue;
        };
        match view.name(name.as_bytes()) {
            Some(id) => note(config, &explain(name, &absence(&view, id, module, filter))),
            None => {
                let count = view.names.len().saturating_sub(1);
                let of_functions =
                    |n: &usize| !view.functions_named(probeidx_format::id::NameId::new(*n as u32)).is_empty();
                let texts = (0..count).filter(of_functions).map(|n| view.string(view.names[n].name));
                let near = suggest::nearest(name, texts.filter_map(|n| std::str::from_utf8(n).ok()), 5);
                note(config, &with_near(&format!("no function {name}"), &near));
            }
        }
    }
    Ok(())
}

/// What to say of a name that exists and was not listed.
fn explain(text: &str, why: &Absence) -> String {
    let list = |names: &[String]| {
        let shown: Vec<&str> =
            names.iter().take(5).map(|n| if n.is_empty() { "vmlinux" } else { n }).collect();
        let more = if names.len() > shown.len() { ", and others" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    match why {
        Absence::SymbolOnly => format!("{text} is a symbol, but no function with debug information"),
        Absence::Merged => {
            format!("{text} was merged with a function that does the same; see: probeidx find {text}")
        }
        Absence::NoCode => format!("{text} exists, but the compiler kept no code of it"),
        Absence::InOthers(objects) => format!("{text} runs in {}, not where it was asked for", list(objects)),
        Absence::Refused => {
            format!(
                "{text} is a function that SystemTap refuses by name or file; see: probeidx resolve {text}"
            )
        }
        Absence::Discarded(section) => format!(
            "{text} exists only in {section}, which is gone once the kernel runs; see: probeidx resolve {text}"
        ),
        Absence::OnlyInline(1) => format!("{text} is only inlined, at 1 place"),
        Absence::OnlyInline(places) => format!("{text} is only inlined, at {places} places"),
        Absence::NeverInline => format!("{text} is never inlined"),
        Absence::InOtherFiles(files) => format!("{text} is declared in {}", list(files)),
    }
}

fn with_near(what: &str, near: &[String]) -> String {
    if near.is_empty() { what.to_owned() } else { format!("{what}; did you mean {}?", near.join(", ")) }
}
