//! `probeidx kernels`, `stats`, `verify`.
use super::args::Stats;
use super::build::{Verdicts, verdicts};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::processes;
use crate::error::Result;
use crate::kernels::choose;
use crate::query::callers;
use crate::query::diff::btf_vs_dwarf;
use crate::query::index::kernel_id::KernelId;
use crate::query::index::provenance::{self, Provenance};
use crate::query::index::user_object;
use crate::query::verdict::decided::Decided;
use crate::render::{SCHEMA, printable};
use probeidx_format::View;
use probeidx_format::id::PlaceId;
use probeidx_format::record::FunctionRecord;
use serde_json::json;
use std::io::Write;

/// Lists the indexed kernels by release, with their files.
pub fn kernels(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    for path in choose(&config.db, Some(config.kernel.as_deref().unwrap_or("*")), None)? {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let KernelId { release, architecture, build_id } = KernelId::of(view);
        let written = match config.json {
            true => {
                let kernel = json!({"kernel": release, "architecture": architecture, "build_id": build_id,
                    "index": path, "schema": SCHEMA});
                writeln!(out, "{kernel}")
            }
            false => writeln!(out, "{}  {architecture}  {}", printable(&release), path.display()),
        };
        written.map_err(failed)?;
    }
    Ok(Outcome::Done)
}

/// Prints statistics of the index.
pub fn stats(args: &Stats, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    for path in processes::every(config)? {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let meta = view.meta().map_err(|e| index.error(e))?;
        let count = |table: usize| table.saturating_sub(1);
        let inline = (0u32..)
            .map(PlaceId::new)
            .zip(view.places)
            .filter(|(id, p)| view.outer(*id, *p).is_some())
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
            ("tracepoints", view.tracepoints().len()),
            ("labels", view.labels().count()),
            ("direct calls", callers::count(view)),
            ("line sequences", view.sequences.len()),
            ("definitions of tapsets", view.tapset.definitions()),
            ("parts that could not be read", meta.skipped.len()),
        ];
        let verdicts = object_verdicts(view);
        let in_btf = btf_vs_dwarf::compared(view);
        let told = in_btf.map_or([("", 0); 4], |c| {
            [
                ("functions that BTF has with the same prototype", c.same),
                ("that BTF does not have", c.missing),
                ("of whose name BTF has several prototypes", c.ambiguous),
                ("that BTF has with another prototype", c.changed),
            ]
        });
        let differences = || btf_vs_dwarf::differences(view).filter(|_| args.btf);
        let text = |id| String::from_utf8_lossy(view.string(id)).into_owned();
        let size: u64 = view.section_sizes().map(|s| s.1).sum();
        let object = user_object::path(view).map(|path| String::from_utf8_lossy(path).into_owned());
        let written = (|| {
            if config.json {
                let counts: serde_json::Map<_, _> =
                    counts.iter().map(|(what, n)| (what.replace(' ', "_"), json!(n))).collect();
                let sections: serde_json::Map<_, _> =
                    view.section_sizes().map(|(name, size)| (name.text().to_owned(), json!(size))).collect();
                let kernel = object.is_none().then_some(&meta.release);
                let mut line = json!({"kernel": kernel, "index": path, "written_by": meta.written_by,
                    "rests_on": provenance::of_index(view).name(),
                    "counts": counts, "sections": sections, "size": size});
                if provenance::is_of_memory(view) {
                    line["code"] = json!("memory");
                }
                if let Some(path) = &object {
                    line["process"] = json!(path);
                }
                if let Some(counts) = &verdicts {
                    line["verdicts"] = json!(Verdicts::from(counts));
                }
                if let Some(c) = in_btf {
                    line["btf"] = json!({"same": c.same, "missing": c.missing, "ambiguous": c.ambiguous,
                        "changed": c.changed});
                }
                if args.btf {
                    let difference = |f: FunctionRecord| {
                        json!({"name": text(f.name), "file": text(f.file), "line": f.line.get(),
                            "btf": btf_vs_dwarf::name(f.in_btf())})
                    };
                    line["differences"] = differences().map(|(_, f)| difference(f)).collect();
                }
                return writeln!(out, "{line}");
            }
            let name = object.as_ref().unwrap_or(&meta.release);
            writeln!(out, "{name}  {}  written by probeidx {}", path.display(), meta.written_by)?;
            match provenance::of_index(view) {
                Provenance::Dwarf => {}
                Provenance::Btf => {
                    writeln!(out, "  rests on BTF: no files, lines, inline instances and local variables")?
                }
                Provenance::Symbols => writeln!(out, "  rests on symbols only")?,
            }
            if provenance::is_of_memory(view) {
                writeln!(
                    out,
                    "  its code is that of the running kernel, as patched for the processor there"
                )?;
            }
            for (what, n) in counts {
                writeln!(out, "  {n:>10}  {what}")?;
            }
            if let Some(counts) = &verdicts {
                writeln!(out, "  {}", verdicts::line(counts))?;
            }
            for (what, n) in told.into_iter().filter(|(what, _)| !what.is_empty()) {
                writeln!(out, "  {n:>10}  {what}")?;
            }
            writeln!(out, "  {:>10.1}  MB, of which", size as f64 / 1e6)?;
            for (name, size) in view.section_sizes() {
                writeln!(out, "  {:>10.1}  {}", size as f64 / 1e6, name.text())?;
            }
            for skipped in &meta.skipped {
                writeln!(out, "  skipped: {}: {} ({} times)", skipped.path, skipped.message, skipped.count)?;
            }
            for (_, f) in differences() {
                let (name, file) = (text(f.name), text(f.file));
                let place = format!("{}@{}:{}", printable(&name), printable(&file), f.line.get());
                writeln!(out, "  {:>10}  {place}", btf_vs_dwarf::name(f.in_btf()))?;
            }
            Ok(())
        })();
        written.map_err(failed)?;
    }
    Ok(Outcome::Done)
}

/// Counts the decided verdicts; `None` for a program or shared library.
fn object_verdicts(view: &View<'_>) -> Option<Decided> {
    user_object::path(view).is_none().then(|| Decided::of(view))
}

/// Checks that no byte of the index has changed: checksums cover all of them.
pub fn verify(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    for path in processes::every(config)? {
        config.open(&path)?.verify()?;
        if config.json {
            writeln!(out, "{}", json!({"index": path, "whole": true})).map_err(failed)?;
        } else {
            writeln!(out, "{}: whole", path.display()).map_err(failed)?;
        }
    }
    Ok(Outcome::Done)
}
