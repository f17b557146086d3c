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
use crate::render::{SCHEMA, json_of, printable};
use probeidx_format::View;
use probeidx_format::id::PlaceId;
use probeidx_format::record::FunctionRecord;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// An indexed kernel.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Kernel"))]
pub struct KernelLine<'a> {
    /// The release.
    kernel: &'a str,
    /// As `uname -m` prints it.
    architecture: &'a str,
    /// The build id of its vmlinux.
    build_id: Option<&'a str>,
    /// The file of its index.
    index: &'a Path,
    /// The version of the JSON answers.
    schema: u32,
}

/// What is in an index.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Stats"))]
pub struct StatsLine<'a> {
    /// The release; null for a program or shared library.
    kernel: Option<&'a str>,
    /// The file of the index.
    index: &'a Path,
    /// The version of the program that wrote it.
    written_by: &'a str,
    /// `dwarf`, `btf` or `symbols`.
    rests_on: &'static str,
    /// How many records there are of each kind.
    counts: BTreeMap<String, usize>,
    /// The bytes of each section of the file.
    sections: BTreeMap<String, u64>,
    /// The bytes of all of them.
    size: u64,
    /// `memory` if its code is that of the running kernel, as patched for the processor there.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// The path of a program or shared library.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<&'a str>,
    /// How many placements have verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<Verdicts>,
    /// How BTF compares with the debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    btf: Option<BtfCounts>,
    /// With `--btf`, the functions that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Vec<BtfDifference>>,
}

/// How many functions BTF has with the prototypes of the debug information.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BtfCounts {
    /// With the same prototype.
    same: usize,
    /// Those that it does not have.
    missing: usize,
    /// Those of whose name it has several prototypes.
    ambiguous: usize,
    /// With another prototype.
    changed: usize,
}

/// A function that BTF does not have as the debug information does.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BtfDifference {
    /// Its name.
    name: String,
    /// The file of its declaration.
    file: String,
    /// From 1.
    line: u32,
    /// `missing`, `ambiguous` or `changed`.
    btf: &'static str,
}

/// An index whose checksums are right.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Verified"))]
pub struct VerifyLine<'a> {
    /// The file.
    index: &'a Path,
    /// True: damage is an error.
    whole: bool,
}

/// Lists the indexed kernels by release, with their files.
pub fn kernels(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    for path in choose(&config.db, Some(config.kernel.as_deref().unwrap_or("*")), None)? {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let KernelId { release, architecture, build_id } = KernelId::of(view);
        let written = match config.json {
            true => {
                let (kernel, build_id) = (&*release, build_id.as_deref());
                let line = KernelLine { kernel, architecture, build_id, index: &path, schema: SCHEMA };
                writeln!(out, "{}", json_of(&line))
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
        let sizes = view.part_sizes();
        let size: u64 = sizes.iter().map(|s| s.1).sum();
        let object = user_object::path(view).map(|path| String::from_utf8_lossy(path).into_owned());
        let written = (|| {
            if config.json {
                let difference = |f: FunctionRecord| BtfDifference {
                    name: text(f.name),
                    file: text(f.file),
                    line: f.line.get(),
                    btf: btf_vs_dwarf::name(f.in_btf()),
                };
                let line = StatsLine {
                    kernel: object.is_none().then_some(&*meta.release),
                    index: &path,
                    written_by: &meta.written_by,
                    rests_on: provenance::of_index(view).name(),
                    counts: counts.iter().map(|(what, n)| (what.replace(' ', "_"), *n)).collect(),
                    sections: sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect(),
                    size,
                    code: provenance::is_of_memory(view).then_some("memory"),
                    process: object.as_deref(),
                    verdicts: verdicts.as_ref().map(Verdicts::from),
                    btf: in_btf.map(|c| BtfCounts {
                        same: c.same,
                        missing: c.missing,
                        ambiguous: c.ambiguous,
                        changed: c.changed,
                    }),
                    differences: args.btf.then(|| differences().map(|(_, f)| difference(f)).collect()),
                };
                return writeln!(out, "{}", json_of(&line));
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
            let of_store = if view.store().is_some() { " beside what others of the store have" } else { "" };
            writeln!(out, "  {:>10.1}  MB{of_store}, of which", size as f64 / 1e6)?;
            for (name, size) in &sizes {
                writeln!(out, "  {:>10.1}  {name}", *size as f64 / 1e6)?;
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
            writeln!(out, "{}", json_of(&VerifyLine { index: &path, whole: true })).map_err(failed)?;
        } else {
            writeln!(out, "{}: whole", path.display()).map_err(failed)?;
        }
    }
    Ok(Outcome::Done)
}
