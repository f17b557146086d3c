//! Finds debug information in separate files, by build id and by `.gnu_debuglink` (gdb's manual, "Separate Debug
//! Files").
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use flate2::Crc;
use walkdir::WalkDir;

use super::walk::Candidate;
use super::{Input, KernelInputs, Options, Running, Sysroot, at_once};
use crate::build_id::{DEBUG_ROOT, debug_file, hex};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use crate::load::members;

/// Finds debug files for a kernel's objects that have no debug information and no debug file at the same place in
/// another tree. `directories` are those given: they may have debug files below them too. Files of other builds are
/// reported in `skipped`.
///
/// Costs nothing for objects with a known debug file; for each other, one look at its headers. Compressed objects are
/// inflated for it, images only if there is a sufficiently large debug file by build id.
pub(super) fn pair(
    kernel: &mut KernelInputs,
    directories: &[PathBuf],
    options: &Options,
    skipped: &mut Vec<Error>,
) {
    let roots = roots(directories, &options.sysroot);
    let mut kernel_has_some = false;
    if let Some(vmlinux) = &mut kernel.vmlinux {
        let is_image = super::is_image(&vmlinux.path);
        let is_by_id = || options.ids || has_as_large(&roots, &options.sysroot, vmlinux.size);
        // The running kernel's own build id saves unpacking its image.
        let is_it = |running: &&Running| {
            is_image && running.release == kernel.release && !running.build_id.is_empty()
        };
        // Of a package with debug information, that is not waited for.
        let is_of_debug_package = vmlinux.is_listed && super::name::is_debug_file(&vmlinux.path);
        let looked = match options.running.as_ref().filter(is_it) {
            _ if is_of_debug_package => Looked::Own,
            Some(running) => by_id(&running.build_id, &roots)
                .find(|path| is_of(path, &running.build_id))
                .map_or_else(|| Looked::Lacks(Some(running.build_id.clone())), Looked::Found),
            None if !is_image || is_by_id() => look(vmlinux, &roots, &options.sysroot, skipped),
            None => Looked::Lacks(None),
        };
        kernel_has_some = vmlinux.take(looked);
    }
    if !kernel_has_some && !options.ids {
        // Without the kernel's debug information the modules have no types to share, and BTF serves all.
        return;
    }
    let bare: Vec<_> = kernel.modules.iter_mut().filter(|m| !super::name::is_debug_file(&m.path)).collect();
    if bare.is_empty() {
        return;
    }
    // Compressed modules are inflated, and a disk is waited for.
    let looked = at_once::each(&bare, |module| {
        let mut strangers = vec![];
        (look(module, &roots, &options.sysroot, &mut strangers), strangers)
    });
    for (module, (looked, strangers)) in bare.into_iter().zip(looked) {
        module.take(looked);
        skipped.extend(strangers);
    }
}

/// The debug information of an object.
enum Looked {
    /// In the object itself.
    Own,
    /// In this debug file.
    Found(PathBuf),
    /// Missing; its file would be found by this build id.
    Lacks(Option<Vec<u8>>),
}

impl Input {
    /// Applies the result; returns whether there is debug information now.
    fn take(&mut self, looked: Looked) -> bool {
        match looked {
            Looked::Own => true,
            Looked::Found(debug) => self.read_instead(&debug).is_ok(),
            Looked::Lacks(id) => {
                self.lacks = id;
                false
            }
        }
    }

    /// Replaces an object by its debug file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the file is missing.
    pub fn read_instead(&mut self, debug: &Path) -> Result<()> {
        let shipped = std::mem::replace(self, Self { name: self.name.clone(), ..Self::of(debug)? });
        self.shipped = Some(shipped.path);
        Ok(())
    }
}

/// Examines an object. Read errors are reported later, when it is indexed.
fn look(input: &Input, roots: &[PathBuf], sysroot: &Sysroot, strangers: &mut Vec<Error>) -> Looked {
    let mut look = |image: &Image| {
        let Ok(elf) = Elf::parse(image.bytes()) else { return Looked::Lacks(None) };
        if has_debug_info(&elf) {
            return Looked::Own;
        }
        let places = candidates(&elf, &[&input.path], roots, sysroot);
        let found = places.into_iter().find(|place| belongs(place, &elf, &input.path, strangers));
        found.map_or_else(|| Looked::Lacks(elf.build_id().map(<[u8]>::to_vec)), Looked::Found)
    };
    let looked = match input.name {
        None => input.unpacked.look(&input.path, look),
        // There are too many modules to keep them unpacked.
        Some(_) => Image::open(&input.path).map(|image| look(&image)),
    };
    looked.unwrap_or(Looked::Lacks(None))
}

/// Whether a file exists and has debug information of this build id.
fn is_of(path: &Path, id: &[u8]) -> bool {
    let Ok(image) = Image::open(path) else { return false };
    Elf::parse(image.bytes()).is_ok_and(|elf| elf.build_id() == Some(id) && has_debug_info(&elf))
}

pub(super) fn has_debug_info(elf: &Elf<'_>) -> bool {
    [".debug_info", ".zdebug_info"].iter().any(|n| elf.section(n).is_some_and(|s| !s.raw().is_empty()))
}

/// The build id of a kernel; `None` if it has none or cannot be read.
pub(super) fn build_id(kernel: &Candidate) -> Option<Vec<u8>> {
    let id = |image: &Image| Some(Elf::parse(image.bytes()).ok()?.build_id()?.to_owned());
    kernel.unpacked.look(&kernel.path, id).ok()?
}

/// The folders that may have debug files: the usual one of the system, and those of the given directories.
fn roots(directories: &[PathBuf], sysroot: &Sysroot) -> Vec<PathBuf> {
    let given = directories.iter().flat_map(|d| [d.clone(), d.join(DEBUG_ROOT.trim_start_matches('/'))]);
    let mut seen = HashSet::new();
    let all = given.chain([sysroot.join(DEBUG_ROOT)]);
    all.filter_map(|root| sysroot.resolve(&root).ok()).filter(|root| seen.insert(root.clone())).collect()
}

/// Whether a debug file by build id has at least this size: a kernel's is larger than its compressed image.
fn has_as_large(roots: &[PathBuf], sysroot: &Sysroot, size: u64) -> bool {
    let folders = roots.iter().map(|root| root.join(".build-id"));
    let files = folders.flat_map(|folder| WalkDir::new(folder).min_depth(2).max_depth(2)).flatten();
    let size_of = |path: &Path| Some(std::fs::metadata(sysroot.resolve(path).ok()?).ok()?.len());
    files.filter_map(|file| size_of(file.path())).any(|its| its >= size)
}

fn by_id<'r>(id: &[u8], roots: &'r [PathBuf]) -> impl Iterator<Item = PathBuf> + 'r {
    debug_file(id).into_iter().flat_map(|name| roots.iter().map(move |root| root.join(&name)))
}

/// Candidate paths of the debug file of an object with these paths, the best first.
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

/// Whether a file has the debug information of this object: by its build id, or if either has none, by the checksum
/// of its content.
pub(super) fn belongs(path: &Path, elf: &Elf<'_>, real: &Path, strangers: &mut Vec<Error>) -> bool {
    if !members::is_file(path) || path == real {
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
                None => "it has no build id to recognize it by".to_owned(),
            }
        }
    };
    let what = format!("a debug file of another build than {}: {what}", real.display());
    Err(Error::new(ErrorKind::Mismatch, what).hint("install the debug package of the same version"))
}
