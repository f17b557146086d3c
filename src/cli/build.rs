//! `probeidx build`
use super::args::Build;
use super::config::Config;
use super::escaped::Passing;
use super::exit::Outcome;
use super::note;
use super::progress::Progress;
use crate::discover;
use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::{self, Built, Options, Report, Skipped};
use crate::render::printable;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Indexes what is found, and says what was done: a summary on stdout, what was left out on stderr.
pub fn run(args: &Build, config: &Config) -> Result<Outcome> {
    let start = Instant::now();
    let paths = if args.paths.is_empty() { usual_places(config)? } else { args.paths.clone() };
    let options = Options {
        db: config.db.clone(),
        modules: !args.no_modules,
        tapsets: tapsets(args),
        force: args.force,
        jobs: args.jobs.map_or(0, std::num::NonZeroUsize::get),
    };
    let progress =
        Progress::new(args.progress, config.terminal, config.quiet).with_stages(config.verbose > 0);
    let report = match args.user {
        true => pipeline::build_user(&paths, &args.debug_dir, &options, &progress)?,
        false => pipeline::build(&paths, &options, &progress)?,
    };
    for skipped in &report.skipped {
        let times = if skipped.count > 1 { format!(" ({} times)", skipped.count) } else { String::new() };
        let what = if skipped.whole_object { "left out" } else { "in part" };
        note(config, &format!("{what}: {}{times}", skipped.error));
    }
    if report.built.is_empty() {
        let tried: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
        let unread = |s: &&Skipped| matches!(s.error.kind(), ErrorKind::Io | ErrorKind::Changed);
        let the_reason = report.skipped.iter().find(unread).or_else(|| report.skipped.first());
        return Err(match the_reason {
            Some(first) if report.skipped.len() == 1 || unread(&first) => first.error.clone(),
            _ if args.user => {
                Error::new(ErrorKind::Unsupported, "no program or shared library among the paths")
            }
            _ => Error::new(
                ErrorKind::NoDebugInfo,
                format!("no kernel with debug information under {}", tried.join(", ")),
            )
            .hint(install_hint("$(uname -r)")),
        });
    }
    super::output::to_stdout(Passing::Text, |out| {
        summary(&report, start.elapsed().as_secs_f64(), config, out)
    })?;
    let left_out = report.skipped.iter().any(|s| s.whole_object);
    Ok(if left_out { Outcome::LeftOut } else { Outcome::Done })
}

/// Where SystemTap's packages put tapsets.
const TAPSETS: &str = "/usr/share/systemtap/tapset";

/// The folders that were given, else the usual one if it is there. A variable of SystemTap names another (session.cxx of
/// 4.8).
fn tapsets(args: &Build) -> Vec<PathBuf> {
    let usual = std::env::var_os("SYSTEMTAP_TAPSET").map_or_else(|| PathBuf::from(TAPSETS), PathBuf::from);
    match args.tapset.is_empty() && !args.no_tapset && usual.is_dir() {
        true => vec![usual],
        false => args.tapset.clone(),
    }
}

/// Where the running kernel's debug information usually is.
fn usual_places(config: &Config) -> Result<Vec<PathBuf>> {
    let release = config.kernel.clone().or_else(|| config.running.clone()).unwrap_or_default();
    let candidates = discover::running_kernel_paths(&release);
    let mut there: Vec<PathBuf> = candidates.iter().filter(|p| p.exists()).cloned().collect();
    // Some distributions let only root read the boot image.
    there.retain(|path| match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            note(config, &format!("not readable, and left out: {}", path.display()));
            false
        }
        _ => true,
    });
    let own = Path::new(discover::OWN_BTF);
    if config.running.as_ref() == Some(&release) && !there.iter().any(|p| p.is_file()) && own.exists() {
        there.push(own.to_owned());
    }
    if there.is_empty() {
        let tried: Vec<String> = candidates.iter().map(|p| p.display().to_string()).collect();
        let message = format!("no debug information of kernel {release}; tried {}", tried.join(", "));
        return Err(Error::new(ErrorKind::NoDebugInfo, message).hint(install_hint("$(uname -r)")));
    }
    Ok(there)
}

/// The command that installs the debug information of a release here.
pub(super) fn install_hint(release: &str) -> String {
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    discover::install_hint(&system).replace("$(uname -r)", release)
}

/// A line of the summary, for `--json`.
#[derive(Serialize)]
struct Line<'a> {
    kernel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<Cow<'a, str>>,
    index: String,
    unchanged: bool,
    objects: u64,
    functions: u64,
    placements: u64,
    skipped: usize,
    skipped_in_part: usize,
    seconds: f64,
    size: u64,
}

fn summary(report: &Report, seconds: f64, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let skipped = report.skipped.iter().filter(|s| s.whole_object).count();
    let skipped_in_part = report.skipped.len() - skipped;
    let written = (|| {
        for Built { release, process, index, unchanged, objects, functions, places, size } in &report.built {
            if config.json {
                let line = Line {
                    kernel: process.is_none().then_some(release),
                    process: process.as_ref().map(|path| path.to_string_lossy()),
                    index: index.display().to_string(),
                    unchanged: *unchanged,
                    objects: *objects,
                    functions: *functions,
                    placements: *places,
                    skipped,
                    skipped_in_part,
                    seconds,
                    size: *size,
                };
                serde_json::to_writer(&mut *out, &line)?;
                writeln!(out)?;
                continue;
            }
            let state = if *unchanged { " (nothing had changed)" } else { "" };
            let counts = format!("{functions} functions, {places} placements{state}");
            match process {
                Some(path) => writeln!(out, "{}: {counts}", printable(&path.to_string_lossy()))?,
                None => writeln!(out, "{release}: {objects} objects, {counts}")?,
            }
            writeln!(out, "  {}  {:.1} MB", index.display(), *size as f64 / 1e6)?;
        }
        if !config.json {
            let parts = match (skipped, skipped_in_part) {
                (0, 0) => "nothing skipped".to_owned(),
                (objects, parts) => format!("skipped: {objects} objects, parts of others in {parts} places"),
            };
            writeln!(out, "{parts}; {seconds:.2} s")?;
        }
        Ok(())
    })();
    written.map_err(super::output::failed)?;
    Ok(Outcome::Done)
}
