//! Debug information in a file of its own, and how an object says which that is: by build id and by `.gnu_debuglink`
//! (gdb's manual, "Separate Debug Files").
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use flate2::Crc;
use rayon::prelude::*;

use super::{Input, KernelInputs, Options, Sysroot};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::build_id::{DEBUG_ROOT, debug_file, hex};
use crate::load::elf::Elf;

/// Finds the debug files of a kernel's objects that have no debug information and of which none lay at the same place of
/// another tree. `directories` are those that were given: there may be debug files below them too. Files of other builds are
/// named in `skipped`.
///
/// Costs nothing for objects whose debug file is known; one look at the headers of each other. Compressed ones are inflated
/// for it, and of an image only where there are debug files by build id.
pub(super) fn pair(
    kernel: &mut KernelInputs,
    directories: &[PathBuf],
    options: &Options,
    skipped: &mut Vec<Error>,
) {
    let roots = roots(directories, &options.sysroot);
    let is_by_id = roots.iter().any(|root| root.join(".build-id").is_dir());
    let mut kernel_has_some = false;
    if let Some(vmlinux) = &mut kernel.vmlinux {
        let is_image = super::is_image(&vmlinux.path);
        // What the running kernel says spares the unpacking of its image.
        let running = options.running.as_ref().filter(|r| is_image && r.release == kernel.release);
        match running {
            Some(running) => {
                let found = by_id(&running.build_id, &roots).find(|path| is_of(path, &running.build_id));
                kernel_has_some = take(vmlinux, found.as_deref());
            }
            None if !is_image || is_by_id => {
                let (debug, has_some) = look(vmlinux, &roots, &options.sysroot, skipped);
                kernel_has_some = take(vmlinux, debug.as_deref()) || has_some;
            }
            None => {}
        }
    }
    if !kernel_has_some {
        // Without that of the kernel the modules have nobody to share types with, and BTF does for all.
        return;
    }
    let bare = |module: &&mut Input| !super::name::is_debug_file(&module.path);
    let found: Vec<Vec<Error>> = kernel
        .modules
        .iter_mut()
        .filter(bare)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|module| {
            let mut strangers = vec![];
            let (debug, _) = look(module, &roots, &options.sysroot, &mut strangers);
            take(module, debug.as_deref());
            strangers
        })
        .collect();
    skipped.extend(found.into_iter().flatten());
}

/// Puts a debug file in the place of an object.
fn take(input: &mut Input, debug: Option<&Path>) -> bool {
    let Some(found) = debug.and_then(|debug| Input::of(debug).ok()) else { return false };
    let shipped = std::mem::replace(input, Input { name: input.name.clone(), ..found });
    input.shipped = Some(shipped.path);
    true
}

/// The debug file of an object, and whether it needs none. What cannot be read is left to whoever reads it in earnest.
fn look(
    input: &Input,
    roots: &[PathBuf],
    sysroot: &Sysroot,
    strangers: &mut Vec<Error>,
) -> (Option<PathBuf>, bool) {
    let Ok(image) = Image::open(&input.path) else { return (None, false) };
    let Ok(elf) = Elf::parse(image.bytes()) else { return (None, false) };
    if has_debug_info(&elf) {
        return (None, true);
    }
    let places = candidates(&elf, &[&input.path], roots, sysroot);
    (places.into_iter().find(|place| belongs(place, &elf, &input.path, strangers)), false)
}

/// Whether a file is there with debug information of this build id.
fn is_of(path: &Path, id: &[u8]) -> bool {
    let Ok(image) = Image::open(path) else { return false };
    Elf::parse(image.bytes()).is_ok_and(|elf| elf.build_id() == Some(id) && has_debug_info(&elf))
}

pub(super) fn has_debug_info(elf: &Elf<'_>) -> bool {
    [".debug_info", ".zdebug_info"].iter().any(|n| elf.section(n).is_some_and(|s| !s.raw().is_empty()))
}

/// The build id of a file; `None` where it has none or cannot be read.
pub(super) fn build_id(path: &Path) -> Option<Vec<u8>> {
    let image = Image::open(path).ok()?;
    Some(Elf::parse(image.bytes()).ok()?.build_id()?.to_owned())
}

/// The folders that may have debug files: the usual one of the system and those of the directories that were given.
fn roots(directories: &[PathBuf], sysroot: &Sysroot) -> Vec<PathBuf> {
    let given = directories.iter().flat_map(|d| [d.clone(), d.join(DEBUG_ROOT.trim_start_matches('/'))]);
    let mut seen = HashSet::new();
    let all = given.chain([sysroot.join(DEBUG_ROOT)]);
    all.filter_map(|root| sysroot.resolve(&root).ok()).filter(|root| seen.insert(root.clone())).collect()
}

fn by_id<'r>(id: &[u8], roots: &'r [PathBuf]) -> impl Iterator<Item = PathBuf> + 'r {
    debug_file(id).into_iter().flat_map(|name| roots.iter().map(move |root| root.join(&name)))
}

/// Where the debug file of an object may be that has these paths, the best first.
pub(super) fn candidates(
    elf: &Elf<'_>,
    paths: &[&Path],
    roots: &[PathBuf],
    sysroot: &Sysroot,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = elf.build_id().into_iter().flat_map(|id| by_id(id, roots)).collect();
    if let Some((name, _)) = elf.debug_link() {
        for folder in paths.iter().filter_map(|path| path.parent()) {
            found.extend([folder.join(name), folder.join(".debug").join(name)]);
            let below = sysroot.inside(folder);
            found.extend(roots.iter().map(|root| root.join(below).join(name)));
        }
    }
    found.into_iter().filter_map(|path| sysroot.resolve(&path).ok()).collect()
}

/// Whether a file has the debug information of this object: by its build id, or where one of them has none by the checksum
/// of its content.
pub(super) fn belongs(path: &Path, elf: &Elf<'_>, real: &Path, strangers: &mut Vec<Error>) -> bool {
    if !path.is_file() || path == real {
        return false;
    }
    checked(path, elf, real).map_err(|error| strangers.push(error.at(path))).is_ok()
}

fn checked(path: &Path, elf: &Elf<'_>, real: &Path) -> Result<()> {
    let image = Image::open(path)?;
    let debug = Elf::parse(image.bytes())?;
    let what = match (elf.build_id(), debug.build_id()) {
        (Some(own), Some(its)) if own == its => return Ok(()),
        (Some(own), Some(its)) => {
            format!("its build id is {}, that of the object {}", hex(its), hex(own))
        }
        _ => {
            let mut found = Crc::new();
            found.update(image.bytes());
            match elf.debug_link() {
                Some((_, expected)) if found.sum() == expected => return Ok(()),
                Some((_, expected)) => {
                    format!("its checksum is {:08x}, and the object asks for {expected:08x}", found.sum())
                }
                None => "it has no build id to know it by".to_owned(),
            }
        }
    };
    let what = format!("a debug file of another build than {}: {what}", real.display());
    Err(Error::new(ErrorKind::Mismatch, what).hint("install the debug package of the same version"))
}
