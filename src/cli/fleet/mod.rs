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
use crate::render::{SCHEMA, json_of, printable, words};
use crate::store;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A kernel that was added to a store.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Added"))]
pub struct AddLine<'a> {
    /// The release.
    kernel: &'a str,
    /// What the store grew by; 0 if it was there already.
    bytes: u64,
    /// The kernel with which it shares most; null if it stands alone.
    after: Option<&'a str>,
    /// The version of the JSON answers.
    schema: u32,
}

/// Kernels that were removed from a store.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Removed"))]
pub struct RemoveLine<'a> {
    /// As they were named.
    removed: &'a [String],
    /// What the store shrank by.
    bytes: u64,
    /// The version of the JSON answers.
    schema: u32,
}

/// A store whose checksums are right.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Verified"))]
pub struct VerifyLine {
    /// True: damage is an error.
    whole: bool,
    /// The number of its kernels.
    kernels: usize,
    /// The version of the JSON answers.
    schema: u32,
}

/// A kernel of a store.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Kernel"))]
pub struct ListLine<'a> {
    #[serde(flatten)]
    kernel: &'a fleet::Listed,
    /// The version of the JSON answers.
    schema: u32,
}

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
                true => {
                    writeln!(out, "{}", json_of(&RemoveLine { removed: kernels, bytes, schema: SCHEMA }))
                }
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
                true => {
                    writeln!(out, "{}", json_of(&VerifyLine { whole: true, kernels, schema: SCHEMA }))
                }
                false => writeln!(out, "{}: whole, {kernels} kernels", config.db.display()),
            };
            written.map_err(failed)?;
            Ok(Outcome::Done)
        }
    }
}

fn list(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let kernels = fleet::list(there(config)?)?;
    let widest = |of: fn(&fleet::Listed) -> usize| kernels.iter().map(of).max().unwrap_or(0);
    let (name, distribution) = (widest(|k| k.kernel.len()), widest(|k| k.distribution.len()));
    for kernel in &kernels {
        let written = match config.json {
            true => writeln!(out, "{}", json_of(&ListLine { kernel, schema: SCHEMA })),
            false => writeln!(
                out,
                "{:name$}  {}  {:7}  {:distribution$}  {}  {:>8}  {}",
                printable(&kernel.kernel).to_string(),
                kernel.build_id,
                kernel.architecture,
                kernel.distribution,
                words::date(kernel.made),
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
