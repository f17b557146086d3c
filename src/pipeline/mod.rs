//! The whole build: discover, load, dwarf, merge, link, write.
mod account;
mod batch;
mod description;
mod in_turn;
mod kernel;
mod modules;
mod open;
mod pool;
mod tapset;
mod unchanged;
mod units;
mod user;
mod vmlinux;

pub use crate::code::PROVEN;
use crate::discover::{self, Discovery};
use crate::error::{Error, ErrorKind, Result};
use crate::link::{self, ObjectFacts};
use crate::merge::intern::Interner;
use crate::merge::{self, Extracted, FirstSeen, Model};
use crate::observer::Observer;
use crate::tapset::evaluated::Evaluated;
pub use crate::version::version;
use crate::write::{Aside, BuildLock, Memory, Target};
use account::{from_skipped_meta, package_meta, skipped_meta};
use in_turn::InTurn;
use kernel::{Packages, Started, start};
use probeidx_format::meta::{Meta, SkippedMeta};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tapset::Tapsets;
pub use user::build_user;

/// Options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder for indexes.
    pub db: PathBuf,
    /// Whether modules are indexed.
    pub modules: bool,
    /// The folders of SystemTap's tapsets, or indexes that keep some. A file in an earlier one hides its namesakes in
    /// later ones.
    pub tapsets: Vec<PathBuf>,
    /// Read inputs even if the index is up to date.
    pub force: bool,
    /// Number of threads; 0 means one per processor.
    pub jobs: usize,
}

/// The result for one kernel or user object.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The kernel's release; empty for a user object.
    pub release: String,
    /// The path of a user object.
    pub process: Option<PathBuf>,
    /// The file that holds the index.
    pub index: PathBuf,
    /// The index was up to date, so nothing was read.
    pub unchanged: bool,
    /// Number of objects: vmlinux and modules.
    pub objects: u64,
    /// Number of functions; each declaration counts once.
    pub functions: u64,
    /// Number of placements: entries and inline instances.
    pub places: u64,
    /// Size of the index in bytes.
    pub size: u64,
}

/// The result of a build.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order found.
    pub built: Vec<Built>,
    /// Objects that were left out, and parts of objects.
    pub skipped: Vec<Skipped>,
}

/// Something that was not indexed.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The reason and the file.
    pub error: Error,
    /// How often it happened in this file.
    pub count: u64,
    /// Whether the whole object is missing from the index, rather than a part of it.
    pub whole_object: bool,
}

impl Skipped {
    /// A whole object.
    fn object(error: Error) -> Self {
        Self { error, count: 1, whole_object: true }
    }
    /// A part of one.
    fn part(error: Error, count: u64) -> Self {
        Self { error, count, whole_object: false }
    }
}

/// Indexes all kernels found under the paths.
///
/// Only one build at a time writes into a folder. A new index replaces the old one only once it is complete and on
/// disk. A module that changes while it is read is left out; if vmlinux changes, nothing is written for that kernel.
///
/// # Errors
/// [`ErrorKind::Io`] if an index cannot be written, [`ErrorKind::Exhausted`] if memory or files run out. Problems
/// with an input file are in the report.
pub fn build(paths: &[PathBuf], options: &Options, observer: &dyn Observer) -> Result<Report> {
    if let Some(report) = known(paths, options)? {
        return Ok(report);
    }
    let wanted = discover::Options { modules: options.modules, ..discover::Options::default() };
    build_found(discover::discover(paths, &wanted)?, options, observer)
}

/// The report if all paths are packages, and the indexes made of them are up to date: then no package is read.
///
/// # Errors
/// Those of reading the folders of tapsets.
pub fn known(paths: &[PathBuf], options: &Options) -> Result<Option<Report>> {
    if options.force {
        return Ok(None);
    }
    let sources = Tapsets::find(&options.tapsets)?.sources;
    let Some(found) = unchanged::of_packages(paths, &sources, options) else { return Ok(None) };
    let mut report = Report::default();
    for (built, skipped) in found {
        report.built.push(built);
        report.skipped.extend(skipped.iter().map(from_skipped_meta));
    }
    Ok(Some(report))
}

/// Indexes the given kernels: see [`build`].
///
/// # Errors
/// As for [`build`].
pub fn build_found(found: Discovery, options: &Options, observer: &dyn Observer) -> Result<Report> {
    let built = Mutex::new(vec![]);
    let each = |one, _| {
        built.lock().unwrap_or_else(PoisonError::into_inner).push(one);
        Ok(())
    };
    let lock = BuildLock::new(options.db.clone());
    let skipped = build_each(found, Some(lock), options, observer, &each)?;
    Ok(Report { built: built.into_inner().unwrap_or_else(PoisonError::into_inner), skipped })
}

/// Indexes the given kernels in memory, and gives each to `each` while the next is read; nothing is written to
/// [`Options::db`]. Returns what was left out.
///
/// # Errors
/// Those of `each`, [`ErrorKind::Exhausted`] if memory or files run out.
pub fn build_in_memory(
    found: Discovery,
    options: &Options,
    observer: &dyn Observer,
    each: &(dyn Fn(&Built) -> Result<()> + Sync),
) -> Result<Vec<Skipped>> {
    build_each(found, None, options, observer, &|built, _in_memory| each(&built))
}

/// What is done with an index when it is written; the memory that it is in, if it is in no folder, ends with the call.
type Each<'e> = &'e (dyn Fn(Built, Option<Memory>) -> Result<()> + Sync);

/// Indexes the given kernels, in the folder of the lock or in memory.
fn build_each(
    found: Discovery,
    mut lock: Option<BuildLock>,
    options: &Options,
    observer: &dyn Observer,
    each: Each<'_>,
) -> Result<Vec<Skipped>> {
    let mut tapsets = Tapsets::find(&options.tapsets)?;
    tapsets.root = found.root.clone();
    // If a package could not be read in full, it is read again the next time, to say so again.
    let is_whole = found.skipped.is_empty();
    let metas = found.members.packages();
    let metas = metas.iter().filter(|_| is_whole).filter_map(|package| package_meta(package)).collect();
    let packages = Packages { members: &found.members, metas };
    let mut skipped: Vec<Skipped> = found.skipped.into_iter().map(Skipped::object).collect();
    let inputs = || found.kernels.iter().flat_map(|k| k.vmlinux.iter().chain(&k.modules));
    let without_size = inputs().filter(|input| input.is_listed && input.size == 0);
    let in_packages = found.members.bytes_of(without_size.map(|input| input.path.as_path()));
    observer.started(inputs().count(), in_packages + inputs().map(|input| input.size).sum::<u64>());
    let pool = threads(options)?;
    let mut last: Option<Started> = None;
    // While a kernel is merged and written, the next one is read: neither keeps all processors busy to its end. Two
    // kernels are in memory at most, and one with a single thread, which takes one after the other.
    for kernel in found.kernels.iter().map(Some).chain([None]) {
        let in_turn = InTurn::new(observer, matches!(last, Some(Started::Read(_))));
        let finish = |last: Started| {
            let (built, memory, skipped) = last.finish(observer)?;
            in_turn.begin();
            built.map(|built| each(built, memory)).transpose()?;
            Ok(skipped)
        };
        let (finished, next) = pool.install(|| {
            rayon::join(
                || last.take().map(finish).transpose(),
                || {
                    let lock = lock.as_mut();
                    kernel
                        .map(|kernel| start(kernel, &packages, lock, &tapsets, options, &in_turn))
                        .transpose()
                },
            )
        });
        // The error of the earlier kernel counts.
        skipped.extend(finished?.into_iter().flatten());
        last = match next? {
            Some(Started::Done(None, _)) if kernel.is_some_and(|k| found.spare.contains(&k.release)) => None,
            next => next,
        };
    }
    // Of packages that have no more than a configuration.
    skipped.extend(found.members.end().into_iter().map(Skipped::object));
    observer.finished();
    Ok(skipped)
}

fn threads(options: &Options) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(options.jobs).stack_size(8 << 20).build().map_err(|e| {
        Error::new(ErrorKind::Exhausted, format!("cannot start threads: {e}"))
            .hint("raise the limits of memory and processes, or build with -j 1")
    })
}

/// The path of a kernel's index.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if the release is not a plain file name: it may come from an untrusted file.
fn index_file(db: &Path, release: &str) -> Result<PathBuf> {
    let name = format!("{release}.pidx");
    match Path::new(&name).file_name().is_some_and(|whole| whole == name.as_str()) && !name.contains('\0') {
        true => Ok(db.join(name)),
        false => {
            let what = format!("the release {release:?} cannot be the name of an index");
            Err(Error::new(ErrorKind::Unsupported, what).at(db))
        }
    }
}

/// The content of an up-to-date index, checked at once and again after waiting for another build. Otherwise `None`,
/// and this build holds the lock.
fn known_or_locked(
    lock: &mut BuildLock,
    options: &Options,
    observer: &dyn Observer,
    known: impl Fn() -> Option<(Built, Vec<SkippedMeta>)>,
) -> Result<Option<(Built, Vec<SkippedMeta>)>> {
    let known = || if options.force { None } else { known() };
    match known() {
        None if lock.take(observer)? => Ok(known()),
        found => Ok(found),
    }
}

/// Everything read from a kernel or a user object.
struct Read {
    interner: Interner,
    aside: Aside,
    types: FirstSeen,
    functions: FirstSeen,
    objects: Vec<ObjectFacts>,
    batches: Vec<Extracted>,
    evaluated: Evaluated,
}

impl Read {
    /// Nothing yet; its index will be in this folder, or in memory.
    fn new(folder: Option<&Path>) -> Result<Self> {
        Ok(Self {
            interner: Interner::default(),
            aside: Aside::new(folder)?,
            types: FirstSeen::default(),
            functions: FirstSeen::default(),
            objects: vec![],
            batches: vec![],
            evaluated: Evaluated::default(),
        })
    }

    /// Merges, links and writes the index. `lap` is called after each stage.
    fn write(
        self,
        target: &Target,
        meta: &Meta,
        observer: &dyn Observer,
        lap: impl Fn(&'static str),
    ) -> Result<Built> {
        let Self { interner, aside, types, functions, mut objects, mut batches, evaluated } = self;
        let freed = || observer.freed();
        let (mut model, ids) = merge::merge(&mut batches, &meta.release, interner, types, functions, &freed);
        lap("merge");
        let mut linked = {
            let calls = std::mem::take(&mut model.calls);
            let Model { strings, functions, places, .. } = &model;
            link::link(&mut objects, &ids, strings, functions, places, calls)
        };
        link::btf::mark(&mut model, &linked, &objects, &ids);
        linked.btf_types = link::btf_types::link(&model, &objects);
        lap("link");
        let size = crate::write::write(target, meta, &batches, &aside, &model, &linked, &evaluated)?;
        lap("write");
        Ok(Built {
            release: meta.release.clone(),
            process: meta.user.as_ref().and_then(|user| user.paths.first()).map(PathBuf::from),
            index: target.path().to_owned(),
            unchanged: false,
            objects: objects.len() as u64,
            functions: model.functions.records.len() as u64 - 1,
            places: model.places.places.len() as u64,
            size,
        })
    }
}
