//! The program: `probeidx export`.
use crate::batches::fill;
use crate::files::Written;
use crate::sink::Sink;
use crate::{files, schema, selection, stream, verify};
use probeidx::cli::args::{Command, Export, Table};
use probeidx::cli::config::Config;
use probeidx::cli::exit::Outcome;
use probeidx::cli::{output, run_as};
use probeidx::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};

/// Runs a command line, starting with the name of the program, and returns the exit code: see [`run_as`].
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    run_as("export", argv, |args| match &args.command {
        Command::Export(asked) => export(asked, &Config::new(&args.global)?),
        _ => Err(Error::new(ErrorKind::Usage, "this program only exports").hint("use: probeidx")),
    })
}

fn export(asked: &Export, config: &Config) -> Result<Outcome> {
    if let Some(folder) = &asked.verify {
        let (files, rows) = verify::verify(folder)?;
        let line = match config.json {
            true => serde_json::json!({ "whole": true, "files": files, "rows": rows }).to_string(),
            false => format!("{}: whole, {files} files, {rows} rows", folder.display()),
        };
        return say(&[line]);
    }
    let (kernels, partitions) = selection::chosen(config)?;
    let views = kernels.iter().map(|kernel| kernel.index.view()).collect::<Result<Vec<_>>>()?;
    if let Some(table) = asked.arrow {
        let fill = |sink: &mut dyn Sink| fill(&kernels, &views, &[table], partitions.len(), sink);
        stream::write(table, io::stdout().lock(), fill)?;
        return Ok(Outcome::Done);
    }
    let Some(folder) = &asked.parquet else {
        return Err(Error::new(ErrorKind::Usage, "there is nothing to export to")
            .hint("name a folder: --parquet DIR"));
    };
    let tables = wanted(&asked.tables, kernels.len());
    let fill = |sink: &mut dyn Sink| fill(&kernels, &views, &tables, partitions.len(), sink);
    let written = files::write(folder, asked.compression, &tables, &partitions, fill)?;
    say(&summary(&written, kernels.len(), config.json))
}

/// The tables to write: those that were named, or all; those of changes if there are several kernels.
fn wanted(named: &[Table], kernels: usize) -> Vec<Table> {
    let is_of_changes = |table: &Table| *table >= Table::FunctionsSince;
    let all = schema::ALL.iter().map(|schema| schema.table);
    all.filter(|table| match named {
        _ if *table == Table::Kernels => true,
        [] => kernels > 1 || !is_of_changes(table),
        named => named.contains(table),
    })
    .collect()
}

/// A line for each table, and one for all.
fn summary(written: &BTreeMap<Table, Written>, kernels: usize, as_json: bool) -> Vec<String> {
    let line = |name: &str, w: &Written| match as_json {
        true => serde_json::json!({ "table": name, "files": w.files, "rows": w.rows, "bytes": w.bytes })
            .to_string(),
        false => format!("{name:<18} {:>10} rows {:>8.1} MB", w.rows, w.bytes as f64 / 1e6),
    };
    let mut lines: Vec<String> =
        written.iter().map(|(table, written)| line(schema::of(*table).name, written)).collect();
    if !as_json {
        let bytes: u64 = written.values().map(|written| written.bytes).sum();
        let files: usize = written.values().map(|written| written.files).sum();
        lines.push(format!("{kernels} kernels, {files} files, {:.1} MB", bytes as f64 / 1e6));
    }
    lines
}

fn say(lines: &[String]) -> Result<Outcome> {
    let mut out = io::stdout().lock();
    let written = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(Outcome::Done),
        written => written.map(|()| Outcome::Done).map_err(output::failed),
    }
}
