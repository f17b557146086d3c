//! `probeidx.toml`: what holds for the files of a project.
//!
//! It stands in the folder of a file that is checked, or in one above it; the nearest counts:
//! ```toml
//! [check]
//! # Programs of which one that works suffices, as --need has them.
//! need = ["blk_account_io_start|__blk_account_io_start"]
//! # The version of bpftrace that runs the scripts, as --bpftrace has it.
//! bpftrace = "0.24"
//! ```
use crate::bpftrace::Version;
use crate::error::{Error, ErrorKind, Result};
use crate::query::check::needs::Need;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The name of the file.
const NAME: &str = "probeidx.toml";
/// The largest that is read.
const LARGEST: u64 = 1 << 20;

/// What a project says of its files.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// Alternatives: `[check] need`.
    pub needs: Vec<Need>,
    /// The version of bpftrace: `[check] bpftrace`.
    pub bpftrace: Option<Version>,
}

/// The file that counts for a file.
pub fn of_file(path: &Path) -> Option<PathBuf> {
    let whole = std::fs::canonicalize(path).ok()?;
    whole.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|file| file.is_file())
}

impl Project {
    /// Reads it.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`], with the line, for what is no TOML; for keys that are not known, and values of another kind.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, "read the settings", e);
        if std::fs::metadata(path).map_err(failed)?.len() > LARGEST {
            return Err(wrong(path, format!("settings of more than {} MiB are not read", LARGEST >> 20)));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.lines().count().max(1) as u32;
            Error::new(ErrorKind::Syntax, error.message().trim().replace('\n', " ")).at(path).line(line, 1)
        })?;
        let mut project = Self::default();
        for (key, value) in &table {
            match (key.as_str(), value) {
                ("check", Value::Table(check)) => project.check(path, check)?,
                _ => return Err(wrong(path, format!("{key} is no table of settings: there is [check]"))),
            }
        }
        Ok(project)
    }

    fn check(&mut self, path: &Path, table: &Table) -> Result<()> {
        for (key, value) in table {
            match (key.as_str(), value) {
                ("need", Value::Array(list)) => {
                    for one in list {
                        let text =
                            one.as_str().ok_or_else(|| wrong(path, "need is a list of texts".to_owned()))?;
                        self.needs.push(Need::parse(text).map_err(|error| error.at(path))?);
                    }
                }
                ("bpftrace", Value::String(version)) => {
                    self.bpftrace = Some(Version::parse(version).map_err(|error| error.at(path))?);
                }
                _ => {
                    let has = "[check] has need = [\"A|B\"] and bpftrace = \"0.24\"";
                    return Err(wrong(path, format!("{has}, not {key}")));
                }
            }
        }
        Ok(())
    }
}

fn wrong(path: &Path, what: String) -> Error {
    Error::new(ErrorKind::Syntax, what).at(path).hint("see docs/checking-scripts.md")
}
