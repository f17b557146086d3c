//! `probeidx build`
#[cfg(feature = "debuginfod")]
mod fetched;
pub(super) mod verdicts;
mod wanted;
mod warnings;

use super::args::Build;
#[cfg(feature = "debuginfod")]
use super::args::When;
use super::config::Config;
use super::escaped::Passing;
use super::exit::Outcome;
use super::progress::Progress;
use crate::discover::Discovery;
use crate::error::{Error, ErrorKind, Result};
use crate::observer::Observer;
use crate::pipeline::{self, Built, Options, Report, Skipped};
use crate::query::verdict::decided::Decided;
use crate::render::printable;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;
pub(super) use wanted::install_hint;
use wanted::{Called, Wanted};

/// Builds indexes. Prints a summary on stdout, and what was left out on stderr.
pub fn run(args: &Build, config: &Config) -> Result<Outcome> {
    let start = Instant::now();
    let report = index(args, config)?;
    let verdicts: Vec<_> = report.built.iter().map(|built| verdicts::of(built, config)).collect();
    super::output::to_stdout(Passing::Text, |out| {
        summary(&report, &verdicts, start.elapsed().as_secs_f64(), config, out)
    })?;
    let left_out = report.skipped.iter().any(|s| s.whole_object);
    Ok(if left_out { Outcome::LeftOut } else { Outcome::Done })
}

/// Indexes kernels in memory, and gives each to `each`; `called` says where packages are from, if that is not where they
/// lie. Says on stderr what was left out, and returns it.
pub(super) fn in_memory(
    args: &Build,
    called: &Called,
    config: &Config,
    each: &(dyn Fn(&Built) -> Result<()> + Sync),
) -> Result<Vec<Skipped>> {
    let progress = progress(args, config);
    let (wanted, found) = find(args, called, config, &progress)?;
    let has_kernels = !found.kernels.is_empty();
    let skipped = pipeline::build_in_memory(found, &options(args, config), &progress, each)?;
    let report = Report { built: vec![], skipped };
    if !has_kernels {
        return Err(reason(&report).unwrap_or_else(|| wanted.nothing(config)));
    }
    warnings::tell(&report, config);
    Ok(report.skipped)
}

fn options(args: &Build, config: &Config) -> Options {
    Options {
        db: config.db.clone(),
        modules: !args.no_modules,
        tapsets: tapsets(args),
        force: args.force,
        jobs: args.jobs.map_or(0, std::num::NonZeroUsize::get),
    }
}

fn progress(args: &Build, config: &Config) -> Progress {
    let shown = args.progress;
    #[cfg(feature = "debuginfod")]
    let shown = if shown == When::Auto && fetched::shows_progress() { When::Always } else { shown };
    Progress::new(shown, config.terminal, config.quiet).with_stages(config.verbose > 0)
}

/// Builds indexes, and says on stderr what was left out.
pub(super) fn index(args: &Build, config: &Config) -> Result<Report> {
    let progress = progress(args, config);
    index_watched(args, config, &progress, &progress)
}

/// Builds indexes; `observer` is told how far it is. Says in the session what was left out.
///
/// # Errors
/// Those of [`pipeline::build`]; [`ErrorKind::NoDebugInfo`] if there is nothing to index.
pub fn index_for(args: &Build, config: &Config, observer: &dyn Observer) -> Result<Report> {
    index_watched(args, config, &progress(args, config), observer)
}

fn index_watched(
    args: &Build,
    config: &Config,
    progress: &Progress,
    observer: &dyn Observer,
) -> Result<Report> {
    let options = options(args, config);
    if args.user {
        let report = pipeline::build_user(&args.paths, &args.debug_dir, &options, observer)?;
        let none = || Error::new(ErrorKind::Unsupported, "no program or shared library among the paths");
        told(report, true, none, config)
    } else if let (None, Some(report)) = (&args.sysroot, pipeline::known(&args.paths, &options)?) {
        warnings::tell(&report, config);
        Ok(report)
    } else {
        let (wanted, found) = find(args, &Called::new(), config, progress)?;
        let report = pipeline::build_found(found, &options, observer)?;
        told(report, wanted.is_by_path(), || wanted.nothing(config), config)
    }
}

/// Says what was left out, unless nothing was built for this one reason: then it is the error, where `may_be_one`.
///
/// # Errors
/// This one, or `nothing`, if nothing was built.
fn told(
    report: Report,
    may_be_one: bool,
    nothing: impl FnOnce() -> Error,
    config: &Config,
) -> Result<Report> {
    let is_empty = report.built.is_empty();
    let why = is_empty.then(|| reason(&report)).flatten().filter(|_| may_be_one);
    if why.is_none() || report.skipped.len() > 1 {
        warnings::tell(&report, config);
    }
    if is_empty { Err(why.unwrap_or_else(nothing)) } else { Ok(report) }
}

/// Determines what to index, and finds its files.
#[cfg(not(feature = "debuginfod"))]
fn find(args: &Build, called: &Called, config: &Config, _progress: &Progress) -> Result<(Wanted, Discovery)> {
    let wanted = Wanted::of(args, called, config, false)?;
    let found = wanted.find(config)?;
    Ok((wanted, found))
}

/// Determines what to index, and finds its files here and on the servers in the environment.
#[cfg(feature = "debuginfod")]
fn find(args: &Build, called: &Called, config: &Config, progress: &Progress) -> Result<(Wanted, Discovery)> {
    let servers = fetched::Servers::of_environment(args, config);
    let wanted = Wanted::of(args, called, config, servers.is_some())?;
    let mut found = wanted.find(config)?;
    if let Some(servers) = servers {
        servers.complete(&mut found, wanted.running(), config, progress);
    }
    Ok((wanted, found))
}

/// The folder that SystemTap's packages install tapsets to.
const TAPSETS: &str = "/usr/share/systemtap/tapset";

/// The given folders, else the usual one if it exists. SystemTap has a variable for another folder (session.cxx of
/// 4.8).
fn tapsets(args: &Build) -> Vec<PathBuf> {
    let usual = std::env::var_os("SYSTEMTAP_TAPSET").map_or_else(|| PathBuf::from(TAPSETS), PathBuf::from);
    match args.tapset.is_empty() && !args.no_tapset && usual.is_dir() {
        true => vec![usual],
        false => args.tapset.clone(),
    }
}

/// The alternative if there is no debug information.
#[cfg(feature = "debuginfod")]
const DEBUGINFOD: &str = "; or set DEBUGINFOD_URLS to the debuginfod servers of the distribution";
#[cfg(not(feature = "debuginfod"))]
const DEBUGINFOD: &str = "; built with the feature debuginfod, probeidx asks the servers of DEBUGINFOD_URLS";

/// Why nothing was built, if the reason is among what was left out.
fn reason(report: &Report) -> Option<Error> {
    let unread = |s: &&Skipped| matches!(s.error.kind(), ErrorKind::Io | ErrorKind::Changed);
    let first = report.skipped.iter().find(unread).or_else(|| report.skipped.first())?;
    (report.skipped.len() == 1 || unread(&first)).then(|| first.error.clone())
}

/// An index that was built.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Built"))]
pub struct Line<'a> {
    /// The release; null for a program or shared library.
    kernel: Option<&'a str>,
    /// The path of a program or shared library.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<Cow<'a, str>>,
    /// The file of the index.
    index: String,
    /// Whether it was there already, of the same files.
    unchanged: bool,
    /// The number of objects: vmlinux and modules.
    objects: u64,
    /// The number of functions.
    functions: u64,
    /// The number of placements.
    placements: u64,
    /// How many of them have verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<Verdicts>,
    /// The number of objects that were left out, in the whole build.
    skipped: usize,
    /// The number of places at which parts of others were left out.
    skipped_in_part: usize,
    /// How long the whole build took.
    seconds: f64,
    /// The bytes of the index.
    size: u64,
}

/// How many placements have verdicts.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdicts {
    /// Those whose verdicts are all decided.
    decided: u64,
    /// The others.
    undecided: u64,
    /// What is not known, with the number of placements that it leaves undecided.
    because: std::collections::BTreeMap<&'static str, u64>,
}

impl From<&Decided> for Verdicts {
    fn from(counts: &Decided) -> Self {
        Self {
            decided: counts.placements.saturating_sub(counts.undecided),
            undecided: counts.undecided,
            because: counts.because.iter().copied().collect(),
        }
    }
}

fn summary(
    report: &Report,
    verdicts: &[Option<Decided>],
    seconds: f64,
    config: &Config,
    out: &mut dyn Write,
) -> Result<Outcome> {
    let skipped = report.skipped.iter().filter(|s| s.whole_object).count();
    let skipped_in_part = report.skipped.len() - skipped;
    let written = (|| {
        for (built, verdicts) in report.built.iter().zip(verdicts) {
            let Built { release, process, index, unchanged, objects, functions, places, size } = built;
            if config.json {
                let line = Line {
                    kernel: process.is_none().then_some(release),
                    process: process.as_ref().map(|path| path.to_string_lossy()),
                    index: index.display().to_string(),
                    unchanged: *unchanged,
                    objects: *objects,
                    functions: *functions,
                    placements: *places,
                    verdicts: verdicts.as_ref().map(Verdicts::from),
                    skipped,
                    skipped_in_part,
                    seconds,
                    size: *size,
                };
                serde_json::to_writer(&mut *out, &line)?;
                writeln!(out)?;
                continue;
            }
            let state = match (*unchanged, *functions) {
                (true, _) => " (nothing had changed)",
                (false, 0) => " (no debug information, no BTF: functions are known by their symbols)",
                (false, _) => "",
            };
            let counts = format!("{functions} functions, {places} placements{state}");
            match process {
                Some(path) => writeln!(out, "{}: {counts}", printable(&path.to_string_lossy()))?,
                None => writeln!(out, "{release}: {objects} objects, {counts}")?,
            }
            writeln!(out, "  {}  {:.1} MB", index.display(), *size as f64 / 1e6)?;
            if let Some(counts) = verdicts {
                writeln!(out, "  {}", verdicts::line(counts))?;
            }
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
