//! `probeidx fleet`: a store of many kernels.
mod add;
#[cfg(feature = "debuginfod")]
mod fetch;
mod given;

use super::args::{Action, Fleet};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::report;
use crate::error::{Error, ErrorKind, Result};
use crate::fleet;
use crate::render::{SCHEMA, printable};
use crate::store;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(asked: &Fleet, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    match &asked.action {
        Action::Add { paths, from } => add::run(paths, from, config, out),
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
