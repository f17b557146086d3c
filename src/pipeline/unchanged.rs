//! Checks whether an index is up to date.
use super::{Built, Options};
use crate::build_id::hex;
use crate::discover::Input;
use crate::error::ErrorKind;
use crate::load::Image;
use crate::load::elf::Elf;
use crate::package;
use crate::query::Index;
use crate::query::index::provenance::{self, Provenance};
use crate::tapset::sources::Sources;
use probeidx_format::View;
use probeidx_format::meta::{InputMeta, Meta, SkippedMeta};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The content of an index, with its skipped parts, if it is intact and was made of exactly these inputs. Inputs are
/// compared by path, size and modification time; if only the time differs, by build id.
pub fn unchanged<'i>(
    index: &Path,
    inputs: impl Iterator<Item = &'i Input>,
    tapsets: &Sources,
    options: &Options,
) -> Option<(Built, Vec<SkippedMeta>)> {
    let opened = Index::open(index).ok()?;
    let view = opened.view().ok()?;
    let meta = view.meta().ok()?;
    let inputs: Vec<&Input> = inputs.collect();
    let is_part = |input: &&InputMeta| input.build_id == InputMeta::PART;
    let same = |known: &InputMeta, input: &Input| {
        known.path == input.path.display().to_string()
            && known.size == input.size
            && (known.modified == input.mtime_ns
                || (!is_part(&known)
                    && !known.build_id.is_empty()
                    && build_id(&input.path) == known.build_id))
    };
    let (parts, objects): (Vec<_>, Vec<_>) = meta.inputs.iter().partition(is_part);
    // What lies in a package is as it was if the package is, which is a part.
    let is_member =
        |path: &str| parts.iter().any(|part| part.path != path && Path::new(path).starts_with(&part.path));
    let same_object = |known: &InputMeta, input: &Input| match input.is_listed {
        true => known.path == input.path.display().to_string() && is_member(&known.path),
        false => same(known, input),
    };
    let whole = meta.written_by == env!("CARGO_PKG_VERSION")
        && (meta.user.is_some() || meta.without_modules != options.modules)
        && objects.len() == inputs.len()
        && objects.iter().zip(&inputs).all(|(known, input)| same_object(known, input))
        && parts.iter().filter(|known| !is_member(&known.path)).all(|known| Input::of(known.path.as_ref()).is_ok_and(|input| same(known, &input)))
        // A part that was missing may exist now.
        && meta.skipped.iter().all(|s| s.kind != ErrorKind::MissingPart.name())
        && view.tapset_sources().is_ok_and(|kept| tapsets.are(&kept))
        // The header does not show damage in the rest of the file. About 20 ms for a kernel with its modules.
        && opened.verify().is_ok();
    whole.then(|| (built(index, &view, &meta), meta.skipped))
}

/// The content of the indexes that were made of exactly these packages, sorted by path, if they are up to date. `None` if
/// there is none, or if some path is no package.
pub fn of_packages(
    paths: &[PathBuf],
    tapsets: &Sources,
    options: &Options,
) -> Option<Vec<(Built, Vec<SkippedMeta>)>> {
    let given: BTreeSet<PathBuf> =
        paths.iter().map(|path| path.canonicalize().ok()).collect::<Option<_>>()?;
    if given.is_empty() || !given.iter().all(|path| package::is_package(path)) {
        return None;
    }
    let names = given.iter().map(|path| path.display().to_string()).collect();
    let mut indexes: Vec<PathBuf> =
        std::fs::read_dir(&options.db).ok()?.filter_map(|e| Some(e.ok()?.path())).collect();
    indexes.retain(|path| path.extension().is_some_and(|extension| extension == "pidx"));
    indexes.sort_unstable();
    let mut found = vec![];
    for index in &indexes {
        let Some(inputs) = inputs_from(index, &names) else { continue };
        // The members are as they were if the packages are.
        found.push(unchanged(index, inputs.iter(), tapsets, options)?);
    }
    (!found.is_empty()).then_some(found)
}

/// The inputs of an index, if they are members of exactly these packages.
fn inputs_from(index: &Path, packages: &BTreeSet<String>) -> Option<Vec<Input>> {
    let opened = Index::open(index).ok()?;
    let meta = opened.view().ok()?.meta().ok()?;
    let (parts, objects): (Vec<_>, Vec<_>) = meta.inputs.iter().partition(|i| i.build_id == InputMeta::PART);
    let below = |path: &str| {
        packages.iter().any(|package| {
            Path::new(path).strip_prefix(package).is_ok_and(|rest| !rest.as_os_str().is_empty())
        })
    };
    let known: BTreeSet<String> =
        parts.iter().map(|part| part.path.clone()).filter(|path| !below(path)).collect();
    let input =
        |of: &InputMeta| Input { size: of.size, mtime_ns: of.modified, ..Input::new(of.path.as_ref()) };
    (known == *packages && objects.iter().all(|object| below(&object.path)))
        .then(|| objects.into_iter().map(input).collect())
}

/// The existing index, if it was built from DWARF.
pub fn better(index: &Path) -> Option<Built> {
    let opened = Index::open(index).ok()?;
    let view = opened.view().ok()?;
    let meta = view.meta().ok()?;
    (provenance::of_index(&view) == Provenance::Dwarf).then(|| built(index, &view, &meta))
}

fn built(index: &Path, view: &View<'_>, meta: &Meta) -> Built {
    Built {
        release: meta.release.clone(),
        process: meta.user.as_ref().and_then(|user| user.paths.first()).map(PathBuf::from),
        index: index.to_owned(),
        unchanged: true,
        objects: view.object_ids().count() as u64,
        functions: view.functions.len().saturating_sub(1) as u64,
        places: view.places.len() as u64,
        size: std::fs::metadata(index).map_or(0, |m| m.len()),
    }
}

/// The build id of a file in hexadecimal; empty if it has none or cannot be read.
fn build_id(path: &Path) -> String {
    let read = || {
        let image = Image::open(path).ok()?;
        Some(hex(Elf::parse(image.bytes()).ok()?.build_id()?))
    };
    read().unwrap_or_default()
}
