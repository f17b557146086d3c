//! One kernel's files to batches of facts.
use super::Skipped;
use super::told::{self, Told};
use crate::btf;
use crate::code::layout::Layout;
use crate::code::{self, Kernel};
use crate::discover::{Input, UNKNOWN_RELEASE};
use crate::dwarf::{self, Fault, Gathered, KnownTypes, ObjectSource, Sections, UnitHeader, Units};
use crate::error::{Error, ErrorKind, Result};
use crate::link::{Kind, ObjectFacts};
use crate::load::build_id::hex;
use crate::load::config::KernelConfig;
use crate::load::elf::Elf;
use crate::load::{DebugSections, Files, Image};
use crate::merge::intern::Interner;
use crate::merge::{Extracted, Firsts};
use crate::observer::Observer;
use probeidx_format::meta::InputMeta;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Bytes of `.debug_info` that are one batch: enough that repeated types are met again, few enough that all threads
/// have work to the end. Part of what decides the bytes of an index: not to be made to depend on the machine.
const BATCH: u64 = 4 << 20;

/// Bytes of module files that are one batch.
const GROUP: u64 = 24 << 20;

/// What vmlinux gave.
pub struct Vmlinux {
    pub facts: ObjectFacts,
    /// Of the kernel, where it was found.
    pub config: Option<KernelConfig>,
    pub extracted: Vec<Extracted>,
    /// Where modules too have what tells of tracepoints.
    pub layout: Option<Layout>,
    /// What the modules can do with instead of debug information.
    pub instead: Instead,
    pub skipped: Vec<Skipped>,
    /// Other files that have debug information of it.
    pub parts: Vec<InputMeta>,
}

/// What modules can be read by that have no debug information, as vmlinux was.
#[derive(Default)]
pub enum Instead {
    /// vmlinux has debug information: modules without it are left out.
    #[default]
    Nothing,
    /// What their BTF refers to.
    Btf(btf::Base),
    /// Symbols alone.
    Symbols,
}

/// Reads vmlinux, its units in batches side by side.
pub fn vmlinux(
    input: &Input,
    release: &str,
    interner: &Interner,
    types: &Firsts,
    functions: &Firsts,
) -> Result<Vmlinux> {
    let ((facts, config, extracted, layout, instead), files, mut skipped) =
        open(input, 0, true, |object, code, told, faults| {
            let path = input.path.display().to_string();
            let facts = || {
                // A debug file may lie anywhere; the configuration is beside what is installed.
                let places = std::iter::once(&input.path).chain(&input.shipped);
                let config = places.into_iter().find_map(|path| KernelConfig::find(path, release, object));
                let kernel = Kernel { version: code::version(release), config: config.as_ref() };
                let mut facts =
                    ObjectFacts::new(object, code, Kind::Vmlinux, &path, kernel, interner, &mut *faults);
                if !matches!(told, Told::Dwarf(_)) {
                    facts.code.flags |= told::rules_unseen(object, config.is_some());
                    if !code.has_some_code() {
                        told::without_image(faults);
                    }
                }
                (facts, config)
            };
            let extract = || match told {
                Told::Dwarf(source) => (whole(*source, interner, types, functions), Instead::Nothing),
                Told::Btf(data) => {
                    let (batch, base) = told::kernel(data, object);
                    let extracted =
                        Extracted { strings: interner.intern_all(&batch.strings), batch, first_object: 0 };
                    extracted.tell(0, types, functions);
                    (vec![extracted], base.map_or(Instead::Symbols, Instead::Btf))
                }
                Told::Symbols => (vec![], Instead::Symbols),
            };
            let ((facts, config), (extracted, instead)) = rayon::join(facts, extract);
            let layout = Layout::of(extracted.iter().map(|e| &e.batch));
            let facts =
                facts.with_tracepoints(object, code, Kind::Vmlinux, layout.as_ref(), interner, faults);
            Ok((facts, config, extracted, layout, instead))
        })?;
    for e in &extracted {
        skipped.extend(count_faults(&e.batch.faults, |_| &files));
    }
    Ok(Vmlinux { facts, config, extracted, layout, instead, skipped, parts: part_metas(&files) })
}

/// Reads an object that is alone, its units in batches side by side.
pub fn whole(
    source: ObjectSource<'_>,
    interner: &Interner,
    types: &Firsts,
    functions: &Firsts,
) -> Vec<Extracted> {
    let read = |(number, batch): (usize, &&[UnitHeader])| {
        let batch = dwarf::read_units(Gathered::default(), source, batch, &()).finish();
        let extracted = Extracted { strings: interner.intern_all(&batch.strings), batch, first_object: 0 };
        extracted.tell(number as u32, types, functions);
        extracted
    };
    let own = source.own();
    let length = |unit: &UnitHeader| {
        let with_entries = source.with_entries(*unit);
        (with_entries.end - with_entries.start) as u64
    };
    let batches = cut(&own, length, BATCH);
    let read_all = || batches.par_iter().enumerate().with_max_len(1).map(read).collect::<Vec<_>>();
    let (mut extracted, frames) = rayon::join(read_all, || frames(source));
    extracted.push(frames);
    extracted
}

/// The object that an extractor reads.
pub fn source<'d>(
    object: &Elf<'_>,
    number: u32,
    sections: Sections<'d>,
    headers: &'d [UnitHeader],
    bodies: Option<&'d FxHashMap<u32, u32>>,
) -> ObjectSource<'d> {
    ObjectSource { number, base: object.base, first_pc: object.first_pc, sections, headers, bodies }
}

/// The frame rules of an object: a batch without units.
fn frames(source: ObjectSource<'_>) -> Extracted {
    let batch = dwarf::read_frames(Gathered::default(), source).finish();
    Extracted { batch, strings: vec![], first_object: 0 }
}

/// Modules that are read into one batch.
pub fn groups(modules: &[Input]) -> Vec<&[Input]> {
    cut(modules, |module| module.size, GROUP)
}

/// Cuts a list where what has come together weighs this much.
fn cut<T>(list: &[T], weight: impl Fn(&T) -> u64, enough: u64) -> Vec<&[T]> {
    let mut pieces = vec![];
    let (mut first, mut sum) = (0, 0);
    for (at, item) in list.iter().enumerate() {
        sum += weight(item);
        if sum >= enough || at + 1 == list.len() {
            pieces.push(&list[first..=at]);
            (first, sum) = (at + 1, 0);
        }
    }
    pieces
}

/// What a group of modules gave.
pub struct Group {
    pub extracted: Extracted,
    pub objects: Vec<ObjectFacts>,
    pub inputs: Vec<InputMeta>,
    /// Other files that have debug information of the objects.
    pub parts: Vec<InputMeta>,
    pub skipped: Vec<Skipped>,
}

/// Reads modules one after another into one batch; each file is dropped before the next is opened. `layout` is that of
/// vmlinux, or none without it. A module that changed while it was read is left out, and the others are read again:
/// nothing that was read with it counts.
///
/// # Errors
/// [`ErrorKind::Exhausted`] if memory or files ran out.
pub fn modules(
    modules: &[Input],
    release: &str,
    known: &dyn KnownTypes,
    layout: Option<&Layout>,
    instead: &Instead,
    interner: &Interner,
    observer: &dyn Observer,
) -> Result<Group> {
    let mut changed: Vec<Option<Error>> = vec![None; modules.len()];
    let mut done = 0;
    loop {
        let observe = |number: usize, input: &Input| {
            if number == done {
                observer.object_done(&input.path, input.size);
                done += 1;
            }
        };
        match attempt(modules, &changed, release, known, layout, instead, interner, observe) {
            Ok(group) => return Ok(group),
            Err((number, error)) if error.kind() == ErrorKind::Changed => changed[number] = Some(error),
            Err((_, error)) => return Err(error),
        }
    }
}

/// Reads the modules that did not change so far, each of which is told to `observe` with its number. Fails with the
/// number of one that did now.
#[allow(
    clippy::too_many_arguments,
    reason = "they are those of the function above, and what happened so far"
)]
fn attempt(
    modules: &[Input],
    changed: &[Option<Error>],
    release: &str,
    known: &dyn KnownTypes,
    layout: Option<&Layout>,
    instead: &Instead,
    interner: &Interner,
    mut observe: impl FnMut(usize, &Input),
) -> Result<Group, (usize, Error)> {
    let does_without = !matches!(instead, Instead::Nothing);
    let mut gathered = Gathered::default();
    let (mut objects, mut inputs, mut parts, mut skipped) = (vec![], vec![], vec![], vec![]);
    for (number, (input, changed)) in modules.iter().zip(changed).enumerate() {
        let object_number = objects.len() as u32;
        let read = |object: &Elf<'_>, code: &Elf<'_>, told: Told<'_>, faults: &mut Vec<Error>| {
            check_release(object, release)?;
            let name = input.name.as_deref().unwrap_or_default();
            match (told, instead) {
                (Told::Dwarf(source), _) => {
                    let units = source.own();
                    let read = dwarf::read_units(std::mem::take(&mut gathered), *source, &units, known);
                    gathered = dwarf::read_frames(read, *source);
                }
                (Told::Btf(data), Instead::Btf(base)) => {
                    told::module(base, gathered.facts(), data, object, object_number, name);
                }
                _ => {}
            }
            let path = input.path.display().to_string();
            let kernel = Kernel { version: code::version(release), config: None };
            let kind = Kind::Module(name);
            let facts = ObjectFacts::new(object, code, kind, &path, kernel, interner, faults);
            if code.section("__tracepoints").is_none() {
                return Ok(facts);
            }
            let own = || Layout::of(std::iter::once(gathered.so_far()));
            let layout = layout.copied().or_else(own);
            Ok(facts.with_tracepoints(object, code, kind, layout.as_ref(), interner, faults))
        };
        match changed.clone().map_or_else(|| open(input, object_number, does_without, read), Err) {
            Ok((facts, files, faults)) => {
                inputs.push(input_meta(input, Some(&facts)));
                parts.extend(part_metas(&files));
                objects.push((facts, files));
                skipped.extend(faults);
            }
            Err(error)
                if changed.is_none() && matches!(error.kind(), ErrorKind::Changed | ErrorKind::Exhausted) =>
            {
                return Err((number, error));
            }
            Err(error) => {
                inputs.push(input_meta(input, None));
                skipped.push(Skipped::object(error));
            }
        }
        observe(number, input);
    }
    let batch = gathered.finish();
    skipped.extend(count_faults(&batch.faults, |object| &objects[object as usize].1));
    Ok(Group {
        extracted: Extracted { strings: interner.intern_all(&batch.strings), batch, first_object: 0 },
        objects: objects.into_iter().map(|o| o.0).collect(),
        inputs,
        parts,
        skipped,
    })
}

/// Opens a file for `read`. Without debug information it is an error, or where `does_without` allows it what the kernel says
/// of itself is read. With the files that have more of its debug information, and the object with its code, which is
/// another one where a debug file has none; tells those files, and what could not be read besides.
fn open<T>(
    input: &Input,
    number: u32,
    does_without: bool,
    read: impl FnOnce(&Elf<'_>, &Elf<'_>, Told<'_>, &mut Vec<Error>) -> Result<T>,
) -> Result<(T, Files, Vec<Skipped>)> {
    let image = Image::open(&input.path)?;
    let found = open_in(&image, input, number, does_without, read);
    image.unchanged(&input.path)?;
    found
}

fn open_in<T>(
    image: &Image,
    input: &Input,
    number: u32,
    does_without: bool,
    read: impl FnOnce(&Elf<'_>, &Elf<'_>, Told<'_>, &mut Vec<Error>) -> Result<T>,
) -> Result<(T, Files, Vec<Skipped>)> {
    let in_file = |e: Error| e.at(&input.path);
    let mut errors = vec![];
    let object = Elf::parse(image.bytes()).map_err(in_file)?;
    let table = told::carried(&object, &mut errors);
    let object = match &table {
        Some(table) => object.with_symbols(table),
        None => object,
    };
    let mut debug = DebugSections::load(&object, &mut errors).map_err(in_file)?;
    debug.add_supplement(&object, &input.path).unwrap_or_else(|e| errors.push(e));
    let mut units = Units::of(&debug.sections(&Units::default()));
    debug.add_split(&mut units, &object, &[&input.path], &mut errors);
    let path = input.shipped.as_deref().filter(|_| !object.has_code());
    let with_code = path.and_then(|path| Image::open(path).map_err(|e| errors.push(e)).ok());
    let parsed = with_code.as_ref().map(|image| Elf::parse(image.bytes()));
    let shipped =
        parsed.and_then(|parsed| parsed.map_err(|e| errors.push(e.at(path.unwrap_or(&input.path)))).ok());
    if let Some(error) = shipped.as_ref().zip(path).and_then(|(s, path)| other_build(&object, s, path)) {
        match input.name {
            // What runs is the other one: what is told of this one would be wrong.
            Some(_) => return Err(in_file(error)),
            None => errors.push(error),
        }
    }
    let is_alike = |s: &Elf<'_>| s.machine == object.machine && s.order == object.order;
    let shipped = shipped.filter(|s| s.build_id() == object.build_id() && is_alike(s));
    let bodies = code::bodies(shipped.as_ref().unwrap_or(&object), input.name.is_some());
    let bodies = Some(&bodies).filter(|bodies| !bodies.is_empty());
    let source = source(&object, number, debug.sections(&units), &units.headers, bodies);
    let told = match Told::without_dwarf(&object) {
        _ if !units.headers.is_empty() => Told::Dwarf(&source),
        Some(told) if does_without && units.faults.is_empty() => told,
        // Who has no BTF either is told so, unless the rest of the kernel does without: then its symbols count.
        None if units.faults.is_empty() && does_without && (table.is_some() || input.name.is_some()) => {
            Told::Symbols
        }
        _ => {
            let what = "no debug information (stripped, or built without it)";
            let error = Error::new(ErrorKind::NoDebugInfo, what);
            return Err(in_file(match units.faults.first() {
                Some(fault) => from_fault(&input.path, fault),
                None => error.hint("index the file of the debug package instead"),
            }));
        }
    };
    let found = read(&object, shipped.as_ref().unwrap_or(&object), told, &mut errors).map_err(in_file);
    if let (Some(image), Some(path)) = (&with_code, path) {
        image.unchanged(path)?;
    }
    let found = found?;
    let part = |e: Error| Skipped::part(in_file(e), 1);
    let mut skipped: Vec<Skipped> = errors.into_iter().map(part).collect();
    let files = debug.files(&input.path);
    skipped.extend(units.faults.iter().map(|f| Skipped::part(from_fault(&files.parts[f.part], f), 1)));
    Ok((found, files, skipped))
}

/// That a debug file is of another build than the file with the code, where both say of which they are.
fn other_build(debug: &Elf<'_>, shipped: &Elf<'_>, path: &Path) -> Option<Error> {
    let (own, id) = (debug.build_id()?, shipped.build_id()?);
    let (path, own_hex) = (path.display(), hex(own));
    let what =
        format!("a debug file of another build than {path}: its build id is {own_hex}, not {}", hex(id));
    let error = Error::new(ErrorKind::Mismatch, what);
    (id != own).then(|| error.hint("install the debug package of the same version"))
}

/// A module says in `.modinfo` for which kernel it was made.
fn check_release(object: &Elf<'_>, release: &str) -> Result<()> {
    let info = object.section(".modinfo").map(|s| s.raw()).unwrap_or_default();
    let made_for = info.split(|b| *b == 0).find_map(|entry| entry.strip_prefix(b"vermagic="));
    let made_for = made_for.and_then(|v| v.split(|b| *b == b' ').next()).unwrap_or_default();
    if made_for.is_empty() || release == UNKNOWN_RELEASE || made_for == release.as_bytes() {
        return Ok(());
    }
    let made_for = String::from_utf8_lossy(made_for);
    let what = format!("a module of kernel {made_for} among those of {release}");
    Err(Error::new(ErrorKind::Mismatch, what).section(".modinfo"))
}

/// What the index remembers of a file, whether it could be read or not.
pub fn input_meta(input: &Input, object: Option<&ObjectFacts>) -> InputMeta {
    let build_id = object.map_or(&[][..], |o| if o.build_id == [0; 20] { &[] } else { &o.build_id });
    InputMeta {
        path: input.path.display().to_string(),
        size: input.size,
        modified: input.mtime_ns,
        build_id: hex(build_id),
    }
}

/// What the index remembers of the other files that have debug information of an object.
pub fn part_metas(files: &Files) -> Vec<InputMeta> {
    let part = |input| InputMeta { build_id: InputMeta::PART.to_owned(), ..input_meta(input, None) };
    files.read.iter().map(part).collect()
}

pub fn from_fault(path: &Path, fault: &Fault) -> Error {
    Error::new(fault.kind, fault.what).at(path).section(fault.section).offset(fault.offset as u64)
}

/// One line for each kind of fault of a file, with the place of the first. `files` are those of an object.
pub fn count_faults<'p>(faults: &[(u32, Fault)], files: impl Fn(u32) -> &'p Files) -> Vec<Skipped> {
    let mut counted: Vec<(u32, &Fault, u64)> = vec![];
    for (object, fault) in faults {
        let same = |(o, f, _): &&mut (u32, &Fault, u64)| {
            o == object && f.what == fault.what && f.section == fault.section && f.part == fault.part
        };
        match counted.iter_mut().find(same) {
            Some((_, _, count)) => *count += 1,
            None => counted.push((*object, fault, 1)),
        }
    }
    let part = |(object, fault, count): (u32, &Fault, u64)| {
        Skipped::part(from_fault(&files(object).parts[fault.part], fault), count)
    };
    counted.into_iter().map(part).collect()
}
