//! The whole build: discover, load, dwarf, merge, link, write.
use crate::discover::{self, Input, KernelInputs};
use crate::dwarf::{self, Extractor, Gathered, KnownTypes, ObjectSource, UnitHeader};
use crate::error::{Error, ErrorKind, Result};
use crate::link::{self, ObjectFacts};
use crate::load::Image;
use crate::load::elf::Elf;
use crate::load::relocate::DebugSections;
use crate::merge::intern::Interner;
use crate::merge::{self, Extracted, Firsts};
use crate::observer::Observer;
use crate::query::Index;
use probeidx_format::meta::{InputMeta, Meta, SkippedMeta};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How a build is to go.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder into which the index goes.
    pub db: PathBuf,
    /// Whether modules are indexed.
    pub modules: bool,
    /// Whether inputs are read even if the index says that they did not change.
    pub force: bool,
    /// How many threads; 0 as many as there are processors.
    pub jobs: usize,
}

/// What a build did for one kernel.
#[derive(Clone, Debug, Default)]
pub struct Built {
    pub release: String,
    pub index: PathBuf,
    /// Nothing had changed: nothing was read.
    pub unchanged: bool,
    pub objects: u64,
    pub functions: u64,
    pub places: u64,
    /// Of the index, in bytes.
    pub size: u64,
}

/// What a build did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub built: Vec<Built>,
    /// Objects that were left out, and parts of objects.
    pub skipped: Vec<Skipped>,
}

/// Something that was not indexed.
#[derive(Clone, Debug)]
pub struct Skipped {
    pub error: Error,
    /// How often it happened in this file.
    pub count: u64,
    /// The whole object is missing from the index, not a part of it.
    pub whole_object: bool,
}

/// Indexes all kernels found under the paths.
pub fn build(paths: &[PathBuf], options: &Options, observer: &dyn Observer) -> Result<Report> {
    let found = discover::discover(paths, &discover::Options { modules: options.modules })?;
    let mut report = Report::default();
    report.skipped.extend(found.skipped.into_iter().map(|error| Skipped {
        error,
        count: 1,
        whole_object: true,
    }));
    let inputs = || found.kernels.iter().flat_map(|k| k.vmlinux.iter().chain(&k.modules));
    observer.started(inputs().count(), inputs().map(|i| i.size).sum());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs)
        .stack_size(8 << 20)
        .build()
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot start threads: {e}")))?;
    for kernel in &found.kernels {
        let (built, skipped) = pool.install(|| build_kernel(kernel, options, observer))?;
        report.built.extend(built);
        report.skipped.extend(skipped);
    }
    observer.finished();
    Ok(report)
}

fn build_kernel(
    kernel: &KernelInputs,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(Option<Built>, Vec<Skipped>)> {
    let index = options.db.join(format!("{}.pidx", kernel.release));
    if !options.force
        && let Some(built) = unchanged(&index, kernel, options)
    {
        return Ok((Some(built), vec![]));
    }
    let start = Instant::now();
    let lap = |stage| observer.stage(stage, start.elapsed().as_secs_f64());
    let interner = Interner::default();
    let (types, functions) = (Firsts::new(), Firsts::new());
    let mut objects = vec![];
    let mut batches = vec![];
    let mut inputs = vec![];
    let mut skipped = vec![];
    if let Some(input) = &kernel.vmlinux {
        match read_vmlinux(input, &interner, &functions) {
            Ok((facts, extracted, faults)) => {
                for (number, e) in extracted.iter().enumerate() {
                    let keys = e.batch.types.iter().map(|t| t.key);
                    types.add(number as u32, (0..).zip(keys));
                }
                objects.push(facts);
                batches.extend(extracted);
                skipped.extend(faults);
            }
            Err(error) => skipped.push(Skipped { error, count: 1, whole_object: true }),
        }
        inputs.push(input_meta(input, objects.first()));
        observer.object_done(&input.path, input.size);
    }
    lap("vmlinux");
    let groups = group(&kernel.modules);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|g| std::cmp::Reverse(groups[*g].iter().map(|i| i.size).sum::<u64>()));
    let mut read: Vec<(usize, Group)> = order
        .into_par_iter()
        .with_max_len(1)
        .map(|g| (g, read_group(groups[g], &types, &interner, observer)))
        .collect();
    read.sort_by_key(|(g, _)| *g);
    for (_, group) in read {
        let number = batches.len() as u32;
        types.add(
            number,
            (0..).zip(group.extracted.batch.types.iter()).filter(|t| !t.1.known).map(|(i, t)| (i, t.key)),
        );
        functions.add(number, (0..).zip(group.extracted.batch.functions.iter().map(|f| f.key)));
        batches.push(Extracted { first_object: objects.len() as u32, ..group.extracted });
        inputs.extend(group.inputs);
        objects.extend(group.objects);
        skipped.extend(group.skipped);
    }
    lap("modules");
    if objects.is_empty() {
        return Ok((None, skipped));
    }
    let (model, ids) = merge::merge(&batches, interner, types, functions);
    lap("merge");
    let linked = link::link(&objects, &ids, &model.strings, &model.functions, &model.places);
    lap("link");
    let meta = Meta {
        release: kernel.release.clone(),
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        machine: objects[0].machine,
        address_size: 8,
        inputs,
        skipped: skipped.iter().map(skipped_meta).collect(),
        without_modules: !options.modules,
    };
    let size = crate::write::write(&index, &meta, &batches, &model, &linked)?;
    lap("write");
    let built = Built {
        release: kernel.release.clone(),
        index,
        unchanged: false,
        objects: objects.len() as u64,
        functions: model.functions.records.len() as u64 - 1,
        places: model.places.places.len() as u64,
        size,
    };
    Ok((Some(built), skipped))
}

/// The index as it is, if all that it was made of is there and nothing else, and nothing changed: by path, size and
/// time of change, or where the time differs by build id. What could not be read then is not tried again.
fn unchanged(index: &Path, kernel: &KernelInputs, options: &Options) -> Option<Built> {
    let opened = Index::open(index).ok()?;
    let view = opened.view().ok()?;
    let meta = view.meta().ok()?;
    let inputs: Vec<&Input> = kernel.vmlinux.iter().chain(&kernel.modules).collect();
    let same = |known: &InputMeta, input: &Input| {
        known.path == input.path.display().to_string()
            && known.size == input.size
            && (known.modified == input.mtime_ns
                || (!known.build_id.is_empty() && build_id(&input.path) == known.build_id))
    };
    let whole = meta.written_by == env!("CARGO_PKG_VERSION")
        && meta.without_modules != options.modules
        && meta.inputs.len() == inputs.len()
        && meta.inputs.iter().zip(&inputs).all(|(known, input)| same(known, input));
    whole.then(|| Built {
        release: kernel.release.clone(),
        index: index.to_owned(),
        unchanged: true,
        objects: view.object_ids().count() as u64,
        functions: view.functions.len().saturating_sub(1) as u64,
        places: view.places.len() as u64,
        size: std::fs::metadata(index).map_or(0, |m| m.len()),
    })
}

/// The build id of a file in hexadecimal; empty where it has none or cannot be read.
fn build_id(path: &Path) -> String {
    let read = || {
        let image = Image::open(path).ok()?;
        Some(hex(Elf::parse(image.bytes()).ok()?.build_id()?))
    };
    read().unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// What the index remembers of a file, whether it could be read or not.
fn input_meta(input: &Input, object: Option<&ObjectFacts>) -> InputMeta {
    let build_id = object.map_or(&[][..], |o| if o.build_id == [0; 20] { &[] } else { &o.build_id });
    InputMeta {
        path: input.path.display().to_string(),
        size: input.size,
        modified: input.mtime_ns,
        build_id: hex(build_id),
    }
}

fn skipped_meta(skipped: &Skipped) -> SkippedMeta {
    SkippedMeta {
        place: skipped.error.place().unwrap_or_default(),
        message: skipped.error.message().to_owned(),
        count: skipped.count,
        whole_object: skipped.whole_object,
    }
}

/// Bytes of `.debug_info` that are one batch: enough that repeated types are met again, few enough that all threads
/// have work to the end. Part of what decides the bytes of an index: not to be made to depend on the machine.
const BATCH: usize = 4 << 20;

/// Bytes of module files that are one batch.
const GROUP: u64 = 24 << 20;

/// Modules that are read into one batch.
fn group(modules: &[Input]) -> Vec<&[Input]> {
    let mut groups = vec![];
    let (mut first, mut size) = (0, 0);
    for (at, module) in modules.iter().enumerate() {
        size += module.size;
        if size >= GROUP || at + 1 == modules.len() {
            groups.push(&modules[first..=at]);
            (first, size) = (at + 1, 0);
        }
    }
    groups
}

type Vmlinux = (ObjectFacts, Vec<Extracted>, Vec<Skipped>);

fn read_vmlinux(input: &Input, interner: &Interner, functions: &Firsts) -> Result<Vmlinux> {
    let in_file = |e: Error| e.at(&input.path);
    let image = Image::open(&input.path)?;
    let object = Elf::parse(image.bytes()).map_err(in_file)?;
    let mut errors = vec![];
    let debug = DebugSections::load(&object, &mut errors).map_err(in_file)?;
    let (headers, faults) = dwarf::headers(debug.sections().info);
    if headers.is_empty() {
        return Err(no_debug_info(&input.path));
    }
    let mut skipped: Vec<Skipped> =
        errors.into_iter().map(|e| Skipped { error: in_file(e), count: 1, whole_object: false }).collect();
    skipped.extend(faults.iter().map(|f| from_fault(&input.path, f)));
    let batches: Vec<&[UnitHeader]> = split(&headers);
    let source = ObjectSource { number: 0, base: object.base, sections: debug.sections(), headers: &headers };
    let (facts, extracted) = rayon::join(
        || ObjectFacts::new(&object, None, &input.path.display().to_string(), interner),
        || {
            batches
                .par_iter()
                .enumerate()
                .with_max_len(1)
                .map(|(number, batch)| {
                    let mut extractor = Extractor::new(Gathered::default(), source, &());
                    batch.iter().for_each(|header| extractor.read(*header));
                    let batch = extractor.leave().finish();
                    functions.add(number as u32, (0..).zip(batch.functions.iter().map(|f| f.key)));
                    Extracted { strings: interner.intern_all(&batch.strings), batch, first_object: 0 }
                })
                .collect::<Vec<_>>()
        },
    );
    for e in &extracted {
        skipped.extend(count_faults(&e.batch.faults, |_| &input.path));
    }
    Ok((facts, extracted, skipped))
}

/// Consecutive units that are one batch.
fn split(headers: &[UnitHeader]) -> Vec<&[UnitHeader]> {
    let mut batches = vec![];
    let mut first = 0;
    for (at, header) in headers.iter().enumerate() {
        if header.end - headers[first].start >= BATCH || at + 1 == headers.len() {
            batches.push(&headers[first..=at]);
            first = at + 1;
        }
    }
    batches
}

struct Group {
    extracted: Extracted,
    objects: Vec<ObjectFacts>,
    inputs: Vec<InputMeta>,
    skipped: Vec<Skipped>,
}

fn read_group(
    modules: &[Input],
    known: &dyn KnownTypes,
    interner: &Interner,
    observer: &dyn Observer,
) -> Group {
    let mut gathered = Gathered::default();
    let (mut objects, mut inputs, mut skipped) = (vec![], vec![], vec![]);
    for input in modules {
        match read_module(input, objects.len() as u32, &mut gathered, known, interner) {
            Ok((facts, faults)) => {
                inputs.push(input_meta(input, Some(&facts)));
                objects.push((facts, &input.path));
                skipped.extend(faults);
            }
            Err(error) => {
                inputs.push(input_meta(input, None));
                skipped.push(Skipped { error, count: 1, whole_object: true });
            }
        }
        observer.object_done(&input.path, input.size);
    }
    let batch = gathered.finish();
    skipped.extend(count_faults(&batch.faults, |object| objects[object as usize].1));
    Group {
        extracted: Extracted { strings: interner.intern_all(&batch.strings), batch, first_object: 0 },
        objects: objects.into_iter().map(|o| o.0).collect(),
        inputs,
        skipped,
    }
}

/// Reads a module, and drops what it was read from.
fn read_module(
    input: &Input,
    number: u32,
    gathered: &mut Gathered,
    known: &dyn KnownTypes,
    interner: &Interner,
) -> Result<(ObjectFacts, Vec<Skipped>)> {
    let in_file = |e: Error| e.at(&input.path);
    let image = Image::open(&input.path)?;
    let object = Elf::parse(image.bytes()).map_err(in_file)?;
    let mut errors = vec![];
    let debug = DebugSections::load(&object, &mut errors).map_err(in_file)?;
    let (headers, faults) = dwarf::headers(debug.sections().info);
    if headers.is_empty() {
        return Err(no_debug_info(&input.path));
    }
    let mut skipped: Vec<Skipped> =
        errors.into_iter().map(|e| Skipped { error: in_file(e), count: 1, whole_object: false }).collect();
    skipped.extend(faults.iter().map(|f| from_fault(&input.path, f)));
    let source = ObjectSource { number, base: object.base, sections: debug.sections(), headers: &headers };
    let mut extractor = Extractor::new(std::mem::take(gathered), source, known);
    headers.iter().for_each(|header| extractor.read(*header));
    *gathered = extractor.leave();
    let name = input.name.as_deref();
    Ok((ObjectFacts::new(&object, name, &input.path.display().to_string(), interner), skipped))
}

fn no_debug_info(path: &Path) -> Error {
    Error::new(ErrorKind::NoDebugInfo, "no debug information (stripped, or built without it)")
        .at(path)
        .hint("index the file of the debug package instead")
}

fn from_fault(path: &Path, fault: &dwarf::Fault) -> Skipped {
    let error = Error::new(ErrorKind::Damaged, fault.what)
        .at(path)
        .section(fault.section)
        .offset(fault.offset as u64);
    Skipped { error, count: 1, whole_object: false }
}

/// One line for each kind of fault of a file, with the place of the first.
fn count_faults<'p>(faults: &[(u32, dwarf::Fault)], path: impl Fn(u32) -> &'p PathBuf) -> Vec<Skipped> {
    let mut counted: Vec<(u32, &dwarf::Fault, u64)> = vec![];
    for (object, fault) in faults {
        match counted
            .iter_mut()
            .find(|(o, f, _)| o == object && f.what == fault.what && f.section == fault.section)
        {
            Some((_, _, count)) => *count += 1,
            None => counted.push((*object, fault, 1)),
        }
    }
    counted
        .into_iter()
        .map(|(object, fault, count)| Skipped { count, ..from_fault(path(object), fault) })
        .collect()
}
