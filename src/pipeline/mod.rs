//! The whole build: discover, load, dwarf, merge, link, write.
mod account;
mod modules;
mod open;
mod tapset;
mod told;
mod unchanged;
mod units;
mod user;
mod vmlinux;

pub use crate::code::PROVEN;
use crate::discover::{self, Discovery, KernelInputs};
use crate::error::{Error, ErrorKind, Result};
use crate::link::{self, ObjectFacts};
use crate::load::config::KernelConfig;
use crate::merge::intern::Interner;
use crate::merge::{self, Extracted, FirstSeen};
use crate::observer::Observer;
use crate::tapset::evaluated::Evaluated;
pub use crate::version::version;
use crate::write::BuildLock;
use account::{from_skipped_meta, input_meta, skipped_meta};
use modules::Group;
use probeidx_format::machine::address_size;
use probeidx_format::meta::{Meta, SkippedMeta};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tapset::{Ahead, Tapsets};
pub use user::build_user;
use vmlinux::{Instead, KnownOfKernel};

/// How a build is to go.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder into which the index goes.
    pub db: PathBuf,
    /// Whether modules are indexed.
    pub modules: bool,
    /// The folders of SystemTap's tapsets, the first one hiding files of the others; an index that keeps tapsets is one too.
    pub tapsets: Vec<PathBuf>,
    /// Whether inputs are read even if the index says that they did not change.
    pub force: bool,
    /// How many threads; 0 as many as there are processors.
    pub jobs: usize,
}

/// What a build did for one kernel, or one user object.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The kernel's release; empty for a user object.
    pub release: String,
    /// The path of a user object.
    pub process: Option<PathBuf>,
    /// The file that holds the index.
    pub index: PathBuf,
    /// Nothing had changed: nothing was read.
    pub unchanged: bool,
    /// How many objects it has: vmlinux and modules.
    pub objects: u64,
    /// How many functions, each declaration once.
    pub functions: u64,
    /// How many placements of them, entries and inline instances.
    pub places: u64,
    /// Of the index, in bytes.
    pub size: u64,
}

/// What a build did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they were found.
    pub built: Vec<Built>,
    /// Objects that were left out, and parts of objects.
    pub skipped: Vec<Skipped>,
}

/// Something that was not indexed.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// Why, and which file.
    pub error: Error,
    /// How often it happened in this file.
    pub count: u64,
    /// The whole object is missing from the index, not a part of it.
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
/// Builds into one folder take turns. An index is replaced when the new one is whole and on the disk, or stays as it is.
/// A file that changes while it is read is left out, and of a kernel whose vmlinux does so nothing is written.
///
/// # Errors
/// [`ErrorKind::Io`] if an index cannot be written, [`ErrorKind::Exhausted`] if memory or files run out. What is wrong
/// with a file is told in the report.
pub fn build(paths: &[PathBuf], options: &Options, observer: &dyn Observer) -> Result<Report> {
    let wanted = discover::Options { modules: options.modules, ..discover::Options::default() };
    build_found(discover::discover(paths, &wanted)?, options, observer)
}

/// Indexes all kernels that were found: see [`build`].
///
/// # Errors
/// Those of [`build`].
pub fn build_found(found: Discovery, options: &Options, observer: &dyn Observer) -> Result<Report> {
    let tapsets = Tapsets::find(&options.tapsets)?;
    let mut report = Report::default();
    report.skipped.extend(found.skipped.into_iter().map(Skipped::object));
    let inputs = || found.kernels.iter().flat_map(|k| k.vmlinux.iter().chain(&k.modules));
    observer.started(inputs().count(), inputs().map(|i| i.size).sum());
    let pool = threads(options)?;
    let mut lock = BuildLock::new(options.db.clone());
    for kernel in &found.kernels {
        let index = index_file(&options.db, &kernel.release)?;
        let inputs = || kernel.vmlinux.iter().chain(&kernel.modules);
        let known = || unchanged::unchanged(&index, inputs(), &tapsets.sources, options);
        if let Some((built, skipped)) = known_or_locked(&mut lock, options, observer, known)? {
            report.built.push(built);
            report.skipped.extend(skipped.iter().map(from_skipped_meta));
            continue;
        }
        let (built, skipped) = pool.install(|| build_kernel(kernel, index, &tapsets, options, observer))?;
        if built.is_some() || !found.spare.contains(&kernel.release) {
            report.skipped.extend(skipped);
        }
        report.built.extend(built);
    }
    observer.finished();
    Ok(report)
}

fn threads(options: &Options) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(options.jobs).stack_size(8 << 20).build().map_err(|e| {
        Error::new(ErrorKind::Exhausted, format!("cannot start threads: {e}"))
            .hint("raise the limits of memory and processes, or build with -j 1")
    })
}

/// The file of a kernel's index.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a release that is no name of a file: it may be a stranger's.
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

/// What the index says if it is up to date, at once or after another build; else this build takes the lock and makes it.
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

fn build_kernel(
    kernel: &KernelInputs,
    index: PathBuf,
    tapsets: &Tapsets,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(Option<Built>, Vec<Skipped>)> {
    let start = Instant::now();
    let lap = |stage| observer.stage(stage, start.elapsed().as_secs_f64());
    let mut read = Read::default();
    let Read { interner, types, functions, objects, batches, .. } = &mut read;
    let (mut inputs, mut parts) = (vec![], vec![]);
    let mut skipped = vec![];
    let (mut known, mut evaluated, mut instead) = (KnownOfKernel::default(), None, Instead::Nothing(None));
    let ahead = Mutex::new(None);
    let evaluate = |machine: u16, config: Option<&KernelConfig>| {
        let foreseen = ahead.lock().unwrap_or_else(PoisonError::into_inner).take();
        let foreseen = foreseen.filter(|ahead: &Ahead| ahead.is_of(machine, config)).map(Ahead::evaluated);
        foreseen.unwrap_or_else(|| tapsets.evaluate(&kernel.release, machine, config))
    };
    if let Some(input) = &kernel.vmlinux {
        // The unpacking of a boot image leaves the other processors idle.
        let (_, foreseen) = rayon::join(
            || input.unpacked.look(&input.path, |_| ()),
            || tapsets.ahead(&input.path, &kernel.release),
        );
        *ahead.lock().unwrap_or_else(PoisonError::into_inner) = foreseen;
        match vmlinux::read(input, &kernel.release, interner, types, functions, evaluate) {
            Ok(vmlinux) => {
                evaluated = Some(vmlinux.evaluated);
                objects.push(vmlinux.facts);
                batches.extend(vmlinux.extracted);
                known = vmlinux.known;
                instead = vmlinux.instead;
                skipped.extend(vmlinux.skipped);
                parts = vmlinux.parts;
            }
            Err(error) if error.kind() == ErrorKind::Exhausted => return Err(error),
            // It was there, and may be again: an index of the modules alone is not to take the place of a whole one.
            Err(error) if matches!(error.kind(), ErrorKind::Changed | ErrorKind::Io) => {
                return Ok((None, vec![Skipped::object(error)]));
            }
            Err(error) => skipped.push(Skipped::object(error)),
        }
        inputs.push(input_meta(input, objects.first()));
        observer.object_done(&input.path, input.size);
    }
    lap("vmlinux");
    let groups = modules::groups(&kernel.modules);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|g| std::cmp::Reverse(groups[*g].iter().map(|i| i.size).sum::<u64>()));
    let read_modules = || {
        let (release, instead) = (&kernel.release, &instead);
        let read = |g: usize| {
            Ok((g, modules::read(groups[g], release, types, &known, instead, interner, observer)?))
        };
        order.into_par_iter().with_max_len(1).map(read).collect::<Result<Vec<(usize, Group)>>>()
    };
    let mut modules = read_modules()?;
    modules.sort_by_key(|(g, _)| *g);
    for (_, group) in modules {
        let number = batches.len() as u32;
        group.extracted.tell(number, types, functions);
        batches.push(Extracted { first_object: objects.len() as u32, ..group.extracted });
        inputs.extend(group.inputs);
        parts.extend(group.parts);
        objects.extend(group.objects);
        skipped.extend(group.skipped);
    }
    lap("modules");
    inputs.extend(parts);
    let Some(machine) = objects.first().map(|o| o.machine) else { return Ok((None, skipped)) };
    // Without vmlinux the first of the modules says of which machine all are.
    let (evaluated, lost) = evaluated.unwrap_or_else(|| evaluate(machine, None));
    skipped.extend(lost);
    let meta = Meta {
        release: kernel.release.clone(),
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        machine,
        address_size: address_size(machine),
        inputs,
        skipped: skipped.iter().map(skipped_meta).collect(),
        without_modules: !options.modules,
        user: None,
    };
    read.evaluated = evaluated;
    if !options.force
        && !matches!(instead, Instead::Nothing(_))
        && let Some(kept) = unchanged::better(&index)
    {
        let what = "an index from debug information is there, and kept: what was found has none";
        let error = Error::new(ErrorKind::NoDebugInfo, what).at(&index);
        return Ok((Some(kept), vec![Skipped::part(error.hint("replace it with --force"), 1)]));
    }
    Ok((Some(read.write(index, &meta, lap)?), skipped))
}

/// What was read of a kernel or a user object.
#[derive(Default)]
struct Read {
    interner: Interner,
    types: FirstSeen,
    functions: FirstSeen,
    objects: Vec<ObjectFacts>,
    batches: Vec<Extracted>,
    evaluated: Evaluated,
}

impl Read {
    /// Merges, links and writes it.
    fn write(self, index: PathBuf, meta: &Meta, lap: impl Fn(&'static str)) -> Result<Built> {
        let Self { interner, types, functions, objects, batches, evaluated } = self;
        let (mut model, ids) = merge::merge(&batches, &meta.release, interner, types, functions);
        lap("merge");
        let linked = link::link(&objects, &ids, &model.strings, &model.functions, &model.places);
        link::btf::mark(&mut model, &linked, &objects, &ids);
        lap("link");
        let size = crate::write::write(&index, meta, &batches, &model, &linked, &evaluated)?;
        lap("write");
        Ok(Built {
            release: meta.release.clone(),
            process: meta.user.as_ref().and_then(|user| user.paths.first()).map(PathBuf::from),
            index,
            unchanged: false,
            objects: objects.len() as u64,
            functions: model.functions.records.len() as u64 - 1,
            places: model.places.places.len() as u64,
            size,
        })
    }
}
