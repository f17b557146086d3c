//! `probeidx fleet`: a store of many kernels.
use super::args::{self, Action, Command, Fleet, Request};
use super::build;
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::report;
use crate::error::{Error, ErrorKind, Result};
use crate::fleet;
use crate::query::Index;
use crate::render::{SCHEMA, printable};
use crate::store;
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(asked: &Fleet, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    match &asked.action {
        Action::Add { paths } => add(paths, config, out),
        Action::Merge { stores } => {
            let stores: Vec<&Path> = stores.iter().map(PathBuf::as_path).collect();
            fleet::merge(&config.db, &stores, &())?;
            list(config, out)
        }
        Action::Remove { kernels } => {
            let bytes = fleet::remove(there(config)?, kernels, &())?;
            let written = match config.json {
                true => writeln!(out, "{}", json!({"removed": kernels, "bytes": bytes, "schema": SCHEMA})),
                false => writeln!(out, "{} removed, {} less", kernels.join(", "), size(bytes)),
            };
            written.map_err(failed)?;
            Ok(Outcome::Done)
        }
        Action::List => list(config, out),
        Action::Report { modules } => report::run(*modules, config, out),
        Action::Verify => {
            let kernels = fleet::verify(there(config)?)?;
            let written = match config.json {
                true => writeln!(out, "{}", json!({"whole": true, "kernels": kernels, "schema": SCHEMA})),
                false => writeln!(out, "{}: whole, {kernels} kernels", config.db.display()),
            };
            written.map_err(failed)?;
            Ok(Outcome::Done)
        }
    }
}

fn add(paths: &[PathBuf], config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    if config.db.is_dir() && !store::is_store(&config.db) && !crate::kernels::releases(&config.db)?.is_empty()
    {
        let what = "this folder has indexes, and a store is a folder of its own";
        return Err(Error::new(ErrorKind::Usage, what).at(&config.db).hint("name another with --db DIR"));
    }
    let (indexes, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        paths.iter().partition(|path| path.extension().is_some_and(|e| e == "pidx") || store::is_store(path));
    let mut outcome = Outcome::Done;
    for path in indexes {
        let each = match store::is_store(path) {
            true => store::names(path)?.iter().map(|name| store::path_of(path, name.as_bytes())).collect(),
            false => vec![path.clone()],
        };
        for path in each {
            one(&path, config, out)?;
        }
    }
    if !others.is_empty() {
        // Their indexes are needed only until they are added.
        let folder =
            tempfile::tempdir().map_err(|e| Error::io(&std::env::temp_dir(), "make a folder in", e))?;
        let argv = ["probeidx", "build", "--"].map(OsString::from).into_iter();
        let request = args::parse(argv.chain(others.iter().map(|path| path.as_os_str().to_owned())))?;
        let Request::Run(request) = request else { return Ok(outcome) };
        let Command::Build(args) = &request.command else { return Ok(outcome) };
        let report = build::index(args, &Config { db: folder.path().to_owned(), ..config.clone() })?;
        for built in &report.built {
            one(&built.index, config, out)?;
        }
        if report.skipped.iter().any(|skipped| skipped.whole_object) {
            outcome = Outcome::LeftOut;
        }
    }
    Ok(outcome)
}

fn one(path: &Path, config: &Config, out: &mut dyn Write) -> Result<()> {
    let index = Index::open(path)?;
    let added = fleet::add(&config.db, &index, &())?;
    let release = printable(&added.release).to_string();
    let written = match (config.json, added.bytes, &added.after) {
        (true, bytes, after) => {
            writeln!(out, "{}", json!({"kernel": release, "bytes": bytes, "after": after, "schema": SCHEMA}))
        }
        (_, 0, _) => writeln!(out, "{release}  is there already"),
        (_, bytes, None) => writeln!(out, "{release}  {}", size(bytes)),
        (_, bytes, Some(after)) => writeln!(out, "{release}  {} after {}", size(bytes), printable(after)),
    };
    written.map_err(failed)
}

fn list(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let kernels = fleet::list(there(config)?)?;
    let width = kernels.iter().map(|kernel| kernel.kernel.len()).max().unwrap_or(0);
    for kernel in &kernels {
        let written = match config.json {
            true => {
                let mut line = serde_json::to_value(kernel).unwrap_or_default();
                line["schema"] = SCHEMA.into();
                writeln!(out, "{line}")
            }
            false => writeln!(
                out,
                "{:width$}  {}  {}  {:>8}  {}",
                printable(&kernel.kernel).to_string(),
                kernel.build_id,
                kernel.architecture,
                size(kernel.bytes),
                printable(&kernel.compiler)
            ),
        };
        written.map_err(failed)?;
    }
    Ok(Outcome::Done)
}

/// The store, if there is one.
fn there(config: &Config) -> Result<&Path> {
    if store::is_store(&config.db) {
        return Ok(&config.db);
    }
    let hint = "make one with: probeidx --db DIR fleet add INDEX...";
    Err(Error::new(ErrorKind::NoIndex, "there is no store here").at(&config.db).hint(hint))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000_000 => format!("{:.2} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
