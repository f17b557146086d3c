//! Builds an index for each program or shared library.
use super::account::{count_faults, from_fault, input_meta, part_metas};
use super::batch::Stores;
use super::unchanged::unchanged;
use super::units;
use super::{Options, Read, Report, Skipped, from_skipped_meta, known_or_locked, skipped_meta, threads};
use crate::code::{Evidence, Kernel};
use crate::debug_files::{Buffers, DebugSections};
use crate::discover::{self, Input, UserObject};
use crate::dwarf::Units;
use crate::error::{Error, ErrorKind, Result};
use crate::link::ObjectFacts;
use crate::load::Image;
use crate::load::elf::Elf;
use crate::load::object_kind::ObjectKind;
use crate::mapping::ahead;
use crate::observer::Observer;
use crate::query::index::user_object::FOLDER;
use crate::shapes::Shapes;
use crate::tapset::sources::Sources;
use crate::write::{BuildLock, Target};
use probeidx_format::meta::{Meta, UserMeta};
use std::path::{Path, PathBuf};

/// Indexes programs and shared libraries. Debug files are looked up below `roots` and where packages install them.
///
/// # Errors
/// [`ErrorKind::Io`] if an index cannot be written, [`ErrorKind::Exhausted`] if memory or files run out. Problems
/// with an object are in the report.
pub fn build_user(
    paths: &[PathBuf],
    roots: &[PathBuf],
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report> {
    let mut report = Report::default();
    let mut objects: Vec<UserObject> = vec![];
    for path in paths {
        match discover::user_object(path, roots) {
            Ok(object) if objects.iter().any(|o| o.object.path == object.object.path) => {}
            Ok(object) => objects.push(object),
            Err(error) => report.skipped.push(Skipped::object(error)),
        }
    }
    let size = |object: &UserObject| object.object.size + object.debug.as_ref().map_or(0, |d| d.size);
    observer.started(objects.len(), objects.iter().map(size).sum());
    let pool = threads(options)?;
    let mut lock = BuildLock::new(options.db.join(FOLDER));
    for object in &objects {
        let index = options.db.join(FOLDER).join(file_name(&object.object.path));
        report.skipped.extend(object.strangers.iter().map(|e| Skipped::part(e.clone(), 1)));
        let inputs = || std::iter::once(&object.object).chain(&object.debug);
        let known = || unchanged(&index, inputs(), &Sources::default(), options);
        match known_or_locked(&mut lock, options, observer, known)? {
            Some((built, skipped)) => {
                report.built.push(built);
                report.skipped.extend(skipped.iter().map(from_skipped_meta));
            }
            None => {
                let empty = Read::new(Some(&options.db.join(FOLDER)))?;
                let files = inputs().flat_map(Input::files);
                match ahead::beside(files, || pool.install(|| read(object, empty))) {
                    Ok((read, meta, skipped)) => {
                        let target = Target::File(index);
                        report.built.push(pool.install(|| read.write(&target, &meta, &(), |_| {}))?);
                        report.skipped.extend(skipped);
                    }
                    Err(error) if error.kind() == ErrorKind::Exhausted => return Err(error),
                    Err(error) => report.skipped.push(Skipped::object(error)),
                }
            }
        }
        observer.object_done(&object.object.path, size(object));
    }
    observer.finished();
    Ok(report)
}

/// The name depends only on the path, so a new version of the object replaces the old index.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // FNV-1a: the hash must not change with a dependency.
    let hash = path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{name}-{hash:016x}.pidx")
}

fn read(found: &UserObject, empty: Read) -> Result<(Read, Meta, Vec<Skipped>)> {
    let mut skipped = vec![];
    let image = Image::open(&found.object.path)?;
    // If the debug file cannot be read, the object is indexed without it.
    let debug = found
        .debug
        .as_ref()
        .and_then(|debug| Image::open(&debug.path).map_err(|e| skipped.push(Skipped::part(e, 1))).ok());
    let found_in_it = read_in(found, empty, &image, debug.as_ref(), skipped);
    image.unchanged(&found.object.path)?;
    if let (Some(image), Some(debug)) = (&debug, &found.debug) {
        image.unchanged(&debug.path)?;
    }
    found_in_it
}

fn read_in(
    found: &UserObject,
    mut read: Read,
    image: &Image,
    debug_image: Option<&Image>,
    mut skipped: Vec<Skipped>,
) -> Result<(Read, Meta, Vec<Skipped>)> {
    let path = &found.object.path;
    let in_object = |e: Error| e.at(path);
    let object = Elf::parse(image.bytes()).map_err(in_object)?.with_dynamic_symbols();
    let mut lost = |e: Error| skipped.push(Skipped::part(e, 1));
    let debug_path = found.debug.as_ref().map_or(path, |debug| &debug.path);
    let debug_file = debug_image
        .and_then(|image| Elf::parse(image.bytes()).map_err(|e| lost(e.at(debug_path))).ok())
        .filter(|debug| {
            let is_alike = debug.machine == object.machine && debug.order == object.order;
            let fits = debug.base == object.base && is_alike;
            if !fits {
                let what =
                    "its addresses are not those of the object: prelinked, or made for another machine";
                lost(Error::new(ErrorKind::Mismatch, what).at(debug_path));
            }
            fits
        });
    let with_debug = debug_file.as_ref().unwrap_or(&object);
    let mut faults: Vec<Error> = vec![];
    let image_with_debug = debug_image.unwrap_or(image);
    let mut sections =
        DebugSections::load(with_debug, image_with_debug, &mut Buffers::default(), &mut faults)
            .and_then(|sections| sections.with_frames_of(&object, &mut faults))
            .unwrap_or_else(|e| {
                lost(e.at(debug_path));
                DebugSections::none(object.order, object.address_size)
            });
    sections.add_supplement(with_debug, debug_path).unwrap_or_else(|e| faults.push(e));
    let mut units = Units::of(&sections.sections(&Units::default()));
    sections.add_split(&mut units, with_debug, &[debug_path, path, &found.given], &mut faults);
    let files = sections.files(debug_path);
    skipped.extend(units.faults.iter().map(|f| Skipped::part(from_fault(&files.parts[f.part], f), 1)));
    if units.headers.is_empty() && units.faults.is_empty() {
        skipped.push(Skipped::part(without_debug_info(&object).at(path), 1));
    }
    let source = units::source(&object, 0, sections.sections(&units), &units.headers, None);
    let Read { interner, aside, types, functions, .. } = &read;
    let stores = Stores { interner, aside };
    let name = found.object.name.as_deref().unwrap_or_default();
    let with_symbols = if with_debug.symbols.is_empty() { &object } else { with_debug };
    let shown = path.display().to_string();
    let (facts, batches) = rayon::join(
        || {
            ObjectFacts::new(
                with_symbols,
                &object,
                ObjectKind::User(name),
                &shown,
                Kernel {
                    version: None,
                    config: None,
                    shapes: &Shapes::default(),
                    evidence: Evidence::default(),
                },
                interner,
                &mut faults,
            )
        },
        || units::whole(source, stores, types, functions, image_with_debug),
    );
    skipped.extend(faults.into_iter().map(|e| Skipped::part(e.at(debug_path), 1)));
    for batch in &batches {
        skipped.extend(count_faults(&batch.batch.faults, |_| &files));
    }
    let mut paths = vec![shown];
    let given = found.given.display().to_string();
    if given != paths[0] {
        paths.push(given);
    }
    let mut inputs = vec![input_meta(&found.object, Some(&facts))];
    inputs.extend(found.debug.iter().map(|debug| input_meta(debug, Some(&facts))));
    inputs.extend(part_metas(&files));
    let meta = Meta {
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        machine: object.machine,
        address_size: 8,
        inputs,
        skipped: skipped.iter().map(skipped_meta).collect(),
        user: Some(UserMeta { paths, soname: found.soname.clone() }),
        ..Meta::default()
    };
    read.objects.push(facts);
    read.batches = batches;
    Ok((read, meta, skipped))
}

/// The notice for an object of which only symbols are indexed.
fn without_debug_info(object: &Elf<'_>) -> Error {
    let symbols = object.symbols.len();
    let id = object.build_id().map(crate::build_id::hex);
    let what = match &id {
        Some(id) => format!("no debug information of build id {id}: only its {symbols} symbols are indexed"),
        None => format!(
            "no debug information, and no build id by which to find it: only its {symbols} symbols are indexed"
        ),
    };
    Error::new(ErrorKind::NoDebugInfo, what)
        .hint("install its debug package, or name the folder of its debug files with --debug-dir")
}
