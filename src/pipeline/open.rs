//! Opens an object with the files that belong to it: its code, its description, its debug files.
use super::Skipped;
use super::account::from_fault;
use super::description::{self, Description};
use super::units::source;
use crate::build_id::hex;
use crate::code;
use crate::debug_files::{Buffers, DebugSections, Files};
use crate::discover::Input;
use crate::dwarf::{ObjectSource, SourceTree, Units};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use std::path::Path;

/// Opens a file and passes `read` the object, the object with its code (another file if this is a debug file without
/// code), its description, the image of the file, and a list for errors. An object without DWARF is an error unless `may_lack_dwarf`. Source
/// paths are relative to `tree`, or without one to the source tree of the object itself. Also returns the files that
/// hold its debug information, and what could not be read.
pub fn open<T>(
    input: &Input,
    number: u32,
    may_lack_dwarf: bool,
    tree: Option<&SourceTree>,
    buffers: &mut Buffers,
    read: impl FnOnce(&Elf<'_>, &Elf<'_>, Description<'_>, &Image, &mut Vec<Error>) -> Result<T>,
) -> Result<(T, Files, Vec<Skipped>)> {
    let image = input.unpacked.take(&input.path)?;
    let found = open_in(&image, input, number, may_lack_dwarf, tree, buffers, read);
    image.unchanged(&input.path)?;
    found
}

fn open_in<T>(
    image: &Image,
    input: &Input,
    number: u32,
    may_lack_dwarf: bool,
    tree: Option<&SourceTree>,
    buffers: &mut Buffers,
    read: impl FnOnce(&Elf<'_>, &Elf<'_>, Description<'_>, &Image, &mut Vec<Error>) -> Result<T>,
) -> Result<(T, Files, Vec<Skipped>)> {
    let in_file = |e: Error| e.at(&input.path);
    let mut errors = vec![];
    let object = Elf::parse(image.bytes()).map_err(in_file)?;
    let table = description::recovered_symbols(&object, &input.path, &mut errors);
    let object = match &table {
        Some(table) => object.with_symbols(table),
        None => object,
    };
    let mut debug = DebugSections::load(&object, image, buffers, &mut errors).map_err(in_file)?;
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
            // The shipped module is what runs: facts from this debug file would be wrong.
            Some(_) => return Err(in_file(error)),
            None => errors.push(error),
        }
    }
    let is_alike = |s: &Elf<'_>| s.machine == object.machine && s.order == object.order;
    let shipped = shipped.filter(|s| s.build_id() == object.build_id() && is_alike(s));
    let with_bytes = shipped.as_ref().unwrap_or(&object);
    let bodies = code::bodies(with_bytes, input.name.is_some());
    let bodies = Some(&bodies).filter(|bodies| !bodies.is_empty());
    let untouched = || code::untouched(with_bytes, input.name.is_some());
    let source = source(&object, number, debug.sections(&units), &units.headers, bodies);
    // Modules are read side by side, and have the tree of vmlinux.
    let (untouched, own_tree) = match tree {
        None => rayon::join(untouched, || SourceTree::of(source)),
        Some(_) => (untouched(), SourceTree::default()),
    };
    let source = ObjectSource { untouched: Some(&untouched), tree: tree.unwrap_or(&own_tree), ..source };
    let description = match Description::without_dwarf(&object) {
        _ if !units.headers.is_empty() => Description::Dwarf(&source),
        Some(description) if may_lack_dwarf && units.faults.is_empty() => description,
        // Without BTF too, symbols suffice only for a stripped kernel, or for a module of a kernel without DWARF.
        None if units.faults.is_empty() && may_lack_dwarf && (table.is_some() || input.name.is_some()) => {
            Description::Symbols
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
    let found =
        read(&object, shipped.as_ref().unwrap_or(&object), description, image, &mut errors).map_err(in_file);
    if let (Some(image), Some(path)) = (&with_code, path) {
        image.unchanged(path)?;
    }
    let found = found?;
    let part = |e: Error| Skipped::part(in_file(e), 1);
    let mut skipped: Vec<Skipped> = errors.into_iter().map(part).collect();
    let files = debug.files(&input.path);
    debug.release(buffers);
    skipped.extend(units.faults.iter().map(|f| Skipped::part(from_fault(&files.parts[f.part], f), 1)));
    Ok((found, files, skipped))
}

/// An error if a debug file is of another build than the file with the code; both must have a build id.
fn other_build(debug: &Elf<'_>, shipped: &Elf<'_>, path: &Path) -> Option<Error> {
    let (own, id) = (debug.build_id()?, shipped.build_id()?);
    let (path, own_hex) = (path.display(), hex(own));
    let what =
        format!("a debug file of another build than {path}: its build id is {own_hex}, not {}", hex(id));
    let error = Error::new(ErrorKind::Mismatch, what);
    (id != own).then(|| error.hint("install the debug package of the same version"))
}
