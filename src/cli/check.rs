//! `probeidx check`
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{Check, Runs};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::project::{self, Project};
use crate::bpftrace::Version;
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::{Selection, side_by_side};
use crate::query::Index;
use crate::query::check::grid::{Grid, Row};
use crate::query::check::needs::Need;
use crate::query::check::outcome::FileOutcome;
use crate::query::check::{self, Asked, Kind, Source};
use crate::query::index::kernel_description::KernelDescription;
use crate::query::index::release::Release;
use crate::render::check::{github, json, sarif, text};
use crate::render::health;
use crate::render::history::Shown;
use crate::render::text::Style;
use crate::tapset::target::Runtime;

/// The largest size of a script.
const LARGEST: u64 = 16 << 20;

/// Checks scripts and lists of probe points.
pub fn run(args: &Check, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    if args.tapset {
        return tapset(config, out);
    }
    if config.json && (args.sarif || args.github) {
        return Err(Error::new(
            ErrorKind::Usage,
            "--json is a form of its own: --sarif and --github are others",
        ));
    }
    let grid = grid(args, opened(args, config)?, config)?;
    let shown = Shown { style: Style { color: config.color }, in_full: config.verbose > 0 };
    let written = match () {
        () if args.sarif => sarif(&grid, out),
        () if args.github => github(&grid, out),
        () if config.json => json(&grid, out),
        () => text(&grid, shown, out),
    };
    written.map_err(failed)?;
    // The first error, because there is no better exit code for a file that cannot be read.
    let fails = grid.fails(args.strict);
    match grid.files.into_iter().flat_map(|row| row.outcomes).find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(if fails { Outcome::Nothing } else { Outcome::Done }),
    }
}

/// All files on these kernels. A file that cannot be read is an error in its place, on each kernel.
///
/// # Errors
/// Those of the arguments, and of the indexes.
pub fn grid(args: &Check, opened: Vec<(KernelDescription, Arc<Index>)>, config: &Config) -> Result<Grid> {
    let asked = Asked {
        arguments: args.arg.clone(),
        guru: args.guru,
        runtime: match args.runtime {
            Runs::Kernel => Runtime::Kernel,
            Runs::Dyninst => Runtime::Dyninst,
            Runs::Bpf => Runtime::Bpf,
        },
        systemtap: args.compatible.clone(),
        bpftrace: args.bpftrace.as_deref().map(Version::parse).transpose()?,
    };
    let needs = args.need.iter().map(|text| Need::parse(text)).collect::<Result<Vec<_>>>()?;
    let mut projects = BTreeMap::new();
    let mut read: Vec<(PathBuf, Result<Given>)> = vec![];
    for path in &args.files {
        let mut given = Given::new(path, config);
        if let Some(file) = project::of_file(path) {
            let project = match projects.entry(file) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let project = Project::read(new.key())?;
                    new.insert(project)
                }
            };
            given = given.map(|given| Given { bpftrace: project.bpftrace, ..given });
        }
        read.push((path.clone(), given));
    }
    let per_kernel = side_by_side(&opened, |(_, index)| judged(&read, index, &asked));
    let mut files: Vec<Row> =
        read.iter().map(|(path, _)| Row { file: path.display().to_string(), outcomes: vec![] }).collect();
    for judged in per_kernel {
        files.iter_mut().zip(judged?).for_each(|(row, outcome)| row.outcomes.push(outcome));
    }
    let own = read.iter().filter_map(|(_, read)| read.as_ref().ok()).flat_map(|read| &read.needs);
    let own = own.chain(projects.values().flat_map(|project: &Project| &project.needs));
    needs.iter().chain(own).for_each(|need| need.forgive(&mut files));
    let kernels = opened.into_iter().map(|(kernel, _)| kernel).collect();
    let mut grid = Grid { kernels, files };
    if let Some(new) = &args.new {
        let new = Selection::parse(new)?;
        grid.keep_new(|kernel| new.selects(kernel));
    }
    Ok(grid)
}

/// A file as it was read.
struct Given {
    source: Source,
    /// The alternatives in its comments.
    needs: Vec<Need>,
    /// The version of bpftrace that its project has.
    bpftrace: Option<Version>,
}

impl Given {
    fn new(path: &Path, config: &Config) -> Result<Self> {
        let bytes = contents(path, config)?;
        let needs = Need::of_text(&String::from_utf8_lossy(&bytes)).map_err(|error| error.at(path))?;
        // What comes from stdin has no name that tells its kind.
        let kind = match path.to_str() {
            Some("-") => Kind::guessed(&bytes),
            _ => Kind::of(path, &bytes),
        };
        Ok(Self { source: Source::of_kind(kind, path, bytes)?, needs, bpftrace: None })
    }
}

/// The files on one kernel.
fn judged(
    files: &[(PathBuf, Result<Given>)],
    index: &Index,
    asked: &Asked,
) -> Result<Vec<Result<FileOutcome>>> {
    let view = &index.view()?;
    let definitions = check::definitions(view).map_err(|error| index.named(error));
    let judged = files.iter().map(|(_, read)| {
        let read = read.as_ref().map_err(Error::clone)?;
        let asked = &Asked { bpftrace: asked.bpftrace.or(read.bpftrace), ..asked.clone() };
        read.source.judge(view, definitions.as_ref(), asked).map_err(|error| index.named(error))
    });
    Ok(judged.collect())
}

/// The kernels that are asked, in their order.
fn opened(args: &Check, config: &Config) -> Result<Vec<(KernelDescription, Arc<Index>)>> {
    let mut opened = match args.min.is_some() || args.new.is_some() {
        true => config.described()?,
        false => config.described_of(config.indexes()?)?,
    };
    if let Some(min) = &args.min {
        let bound = Release::parse(min);
        if bound.version.is_empty() {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("--min {min}: a release starts with a version"),
            ));
        }
        opened.retain(|(kernel, _)| kernel.release().cmp_bound(&bound).is_ge());
    }
    if let (Some(new), Some(since)) = (&args.new, &args.since) {
        let [new, since] = [new, since].map(|text| Selection::parse(text));
        let (new, since) = (new?, since?);
        for selection in [&new, &since] {
            if !opened.iter().any(|(kernel, _)| selection.selects(kernel)) {
                return Err(Error::new(ErrorKind::NoIndex, format!("no index of kernel {selection}"))
                    .at(&config.db)
                    .hint("see which there are: probeidx kernels"));
            }
        }
        opened.retain(|(kernel, _)| new.selects(kernel) || since.selects(kernel));
    }
    if opened.is_empty() {
        let what = format!("no kernel from {} on is indexed", args.min.as_deref().unwrap_or("the first"));
        return Err(Error::new(ErrorKind::NoIndex, what).at(&config.db).hint("run: probeidx build"));
    }
    Ok(opened)
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
