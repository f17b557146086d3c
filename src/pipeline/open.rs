//! A file and those that belong to it, opened: with what it tells of its functions, and the object that has the code.
use super::Skipped;
use super::account::from_fault;
use super::told::{self, Told};
use super::units::source;
use crate::build_id::hex;
use crate::code;
use crate::debug_files::{DebugSections, Files};
use crate::discover::Input;
use crate::dwarf::{ObjectSource, SourceTree, Units};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use std::path::Path;

/// Opens a file for `read`. Without debug information it is an error, or where `does_without` allows it what the kernel says
/// of itself is read. With the files that have more of its debug information, and the object with its code, which is
/// another one where a debug file has none; tells those files, and what could not be read besides. Paths are relative to
/// `tree`, or where there is none to that of the object itself.
pub fn open<T>(
    input: &Input,
    number: u32,
    does_without: bool,
    tree: Option<&SourceTree>,
    read: impl FnOnce(&Elf<'_>, &Elf<'_>, Told<'_>, &mut Vec<Error>) -> Result<T>,
) -> Result<(T, Files, Vec<Skipped>)> {
    let image = input.unpacked.take(&input.path)?;
    let found = open_in(&image, input, number, does_without, tree, read);
    image.unchanged(&input.path)?;
    found
}

fn open_in<T>(
    image: &Image,
    input: &Input,
    number: u32,
    does_without: bool,
    tree: Option<&SourceTree>,
    read: impl FnOnce(&Elf<'_>, &Elf<'_>, Told<'_>, &mut Vec<Error>) -> Result<T>,
) -> Result<(T, Files, Vec<Skipped>)> {
    let in_file = |e: Error| e.at(&input.path);
    let mut errors = vec![];
    let object = Elf::parse(image.bytes()).map_err(in_file)?;
    let table = told::carried(&object, &input.path, &mut errors);
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
    let with_bytes = shipped.as_ref().unwrap_or(&object);
    let bodies = code::bodies(with_bytes, input.name.is_some());
    let bodies = Some(&bodies).filter(|bodies| !bodies.is_empty());
    let untouched = code::untouched(with_bytes, input.name.is_some());
    let source = source(&object, number, debug.sections(&units), &units.headers, bodies);
    let own_tree = if tree.is_none() { SourceTree::of(source) } else { Default::default() };
    let source = ObjectSource { untouched: Some(&untouched), tree: tree.unwrap_or(&own_tree), ..source };
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
