//! The whole build: discover, load, dwarf, merge, link, write.
mod account;
mod description;
mod modules;
mod open;
mod pool;
mod tapset;
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
use pool::Pool;
use probeidx_format::machine::address_size;
use probeidx_format::meta::{Meta, SkippedMeta};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tapset::{Prediction, Tapsets};
pub use user::build_user;
use vmlinux::{Fallback, KernelFacts};

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
    let wanted = discover::Options { modules: options.modules, ..discover::Options::default() };
    build_found(discover::discover(paths, &wanted)?, options, observer)
}

/// Indexes the given kernels: see [`build`].
///
/// # Errors
/// As for [`build`].
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
    let (mut known, mut evaluated, mut fallback) = (KernelFacts::default(), None, Fallback::Nothing(None));
    let prediction = Mutex::new(None);
    let evaluate = |machine: u16, config: Option<&KernelConfig>| {
        let predicted = prediction.lock().unwrap_or_else(PoisonError::into_inner).take();
        let predicted = predicted
            .filter(|prediction: &Prediction| prediction.holds_for(machine, config))
            .map(Prediction::evaluated);
        predicted.unwrap_or_else(|| tapsets.evaluate(&kernel.release, machine, config))
    };
    if let Some(input) = &kernel.vmlinux {
        // Unpacking a boot image leaves the other processors idle.
        let (_, predicted) = rayon::join(
            || input.unpacked.look(&input.path, |_| ()),
            || tapsets.predict(&input.path, &kernel.release),
        );
        *prediction.lock().unwrap_or_else(PoisonError::into_inner) = predicted;
        match vmlinux::read(input, &kernel.release, interner, types, functions, evaluate) {
            Ok(vmlinux) => {
                evaluated = Some(vmlinux.evaluated);
                objects.push(vmlinux.facts);
                batches.extend(vmlinux.extracted);
                known = vmlinux.known;
                fallback = vmlinux.fallback;
                skipped.extend(vmlinux.skipped);
                parts = vmlinux.parts;
            }
            Err(error) if error.kind() == ErrorKind::Exhausted => return Err(error),
            // vmlinux was there and may come back: an index of only modules must not replace a whole one.
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
        let (release, fallback) = (&kernel.release, &fallback);
        let memory = Pool::default();
        let read = |g: usize| {
            let read = |memory: &mut _| {
                modules::read(groups[g], release, types, &known, fallback, interner, memory, observer)
            };
            Ok((g, memory.lend(read)?))
        };
        order.into_par_iter().with_max_len(1).map(read).collect::<Result<Vec<(usize, Group)>>>()
    };
    let mut modules = read_modules()?;
    modules.sort_by_key(|(g, _)| *g);
    let first = batches.len();
    modules.par_iter().for_each(|(g, group)| group.extracted.register((first + g) as u32, types, functions));
    for (_, group) in modules {
        batches.push(Extracted { first_object: objects.len() as u32, ..group.extracted });
        inputs.extend(group.inputs);
        parts.extend(group.parts);
        objects.extend(group.objects);
        skipped.extend(group.skipped);
    }
    lap("modules");
    inputs.extend(parts);
    let Some(machine) = objects.first().map(|o| o.machine) else { return Ok((None, skipped)) };
    // Without vmlinux the first module determines the machine.
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
        && !matches!(fallback, Fallback::Nothing(_))
        && let Some(kept) = unchanged::better(&index)
    {
        let what = "an index from debug information is there, and kept: what was found has none";
        let error = Error::new(ErrorKind::NoDebugInfo, what).at(&index);
        return Ok((Some(kept), vec![Skipped::part(error.hint("replace it with --force"), 1)]));
    }
    Ok((Some(read.write(index, &meta, lap)?), skipped))
}

/// Everything read from a kernel or a user object.
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
    /// Merges, links and writes the index.
    fn write(self, index: PathBuf, meta: &Meta, lap: impl Fn(&'static str)) -> Result<Built> {
        let Self { interner, types, functions, objects, mut batches, evaluated } = self;
        let (mut model, ids) = merge::merge(&mut batches, &meta.release, interner, types, functions);
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
