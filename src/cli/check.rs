//! `probeidx check`
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::args::{Check, Runs};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use crate::error::{Error, ErrorKind, Result};
use crate::query::check::{self, Asked, Verdict};
use crate::render::check::{Row, json, text};
use crate::render::health;
use crate::tapset::target::Runtime;

/// The largest size of a script.
const LARGEST: u64 = 16 << 20;

/// Checks scripts and lists of probe points.
pub fn run(args: &Check, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    if args.tapset {
        return tapset(config, out);
    }
    let asked = Asked {
        arguments: args.arg.clone(),
        guru: args.guru,
        runtime: match args.runtime {
            Runs::Kernel => Runtime::Kernel,
            Runs::Dyninst => Runtime::Dyninst,
            Runs::Bpf => Runtime::Bpf,
        },
        systemtap: args.compatible.clone(),
    };
    let scripts: Vec<(PathBuf, Result<Vec<u8>>)> =
        args.files.iter().map(|path| (path.clone(), contents(path, config))).collect();
    let mut kernels = vec![];
    let mut rows: Vec<Row> = scripts
        .iter()
        .map(|(path, _)| Row { script: path.display().to_string(), outcomes: vec![] })
        .collect();
    for path in config.indexes()? {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let definitions = check::definitions(view).map_err(|error| error.at(&path));
        kernels.push(String::from_utf8_lossy(view.release()).into_owned());
        for (row, (script, bytes)) in rows.iter_mut().zip(&scripts) {
            let bytes = bytes.as_ref().map_err(Error::clone);
            let checked =
                bytes.and_then(|bytes| check::check(view, definitions.as_ref(), &asked, script, bytes));
            row.outcomes.push(checked.map_err(|e| index.named(e)));
        }
    }
    let written = if config.json { json(&kernels, &rows, out) } else { text(&kernels, &rows, out) };
    written.map_err(failed)?;
    outcome(rows, args.strict)
}

/// Checks the tapsets of the indexes. Some of their aliases are dead on any kernel, so that a dead alias is not a
/// failure.
fn tapset(config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let (mut kernels, mut all) = (vec![], vec![]);
    for path in config.indexes()? {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let definitions = check::definitions(view).map_err(|error| error.at(&path))?;
        kernels.push(String::from_utf8_lossy(view.release()).into_owned());
        all.push(crate::query::check::tapset_health::health(view, &definitions).map_err(|e| index.named(e))?);
    }
    let written = match config.json {
        true => health::json(&kernels, &all, out),
        false => health::text(&kernels, &all, out),
    };
    written.map_err(failed)?;
    Ok(Outcome::Done)
}

/// The first error, because there is no better exit code for a script that cannot be read; else whether all scripts
/// resolve.
fn outcome(rows: Vec<Row>, strict: bool) -> Result<Outcome> {
    let mut fails = false;
    for outcome in rows.into_iter().flat_map(|row| row.outcomes) {
        fails |= match outcome?.verdict() {
            Verdict::Resolves => false,
            Verdict::Unindexed => strict,
            Verdict::Fails => true,
        };
    }
    Ok(if fails { Outcome::Nothing } else { Outcome::Done })
}

fn contents(path: &Path, config: &Config) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let read = match path.to_str() {
        Some("-") => config.session.input().take(LARGEST + 1).read_to_end(&mut bytes),
        _ => std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|e| Error::io(path, "read the script", e))?;
    if bytes.len() as u64 > LARGEST {
        let why = format!("a script of more than {} MiB is not read", LARGEST >> 20);
        return Err(Error::new(ErrorKind::Syntax, why).at(path));
    }
    Ok(bytes)
}
