//! Supplementary files, to which `dwz -m` moves what the debug files of several objects have in common.
use super::{Buffers, DebugSections};
use crate::build_id::{DEBUG_ROOT, debug_file};
use crate::discover::Input;
use crate::dwarf::{Part, PartKind};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use crate::load::members;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// An object's reference to its supplementary file.
struct Link<'d> {
    name: &'d Path,
    /// Its build id (`.gnu_debugaltlink`), or the checksum in both files (`.debug_sup`).
    id: &'d [u8],
}

impl<'d> DebugSections<'d> {
    /// Appends the sections of the supplementary file, if the object at `path` refers to one. Cost: a copy of the
    /// sections of both.
    ///
    /// # Errors
    /// [`ErrorKind::MissingPart`] if it is missing, [`ErrorKind::Mismatch`] if it belongs to another build, and the
    /// errors of reading it. Nothing is added then.
    pub fn add_supplement(&mut self, object: &Elf<'_>, path: &Path) -> Result<()> {
        let Some(link) = link(object) else { return Ok(()) };
        let mut stranger = None;
        for candidate in candidates(&link, path).into_iter().filter(|candidate| members::is_file(candidate)) {
            match self.add(&candidate, &link) {
                Ok(()) => return Ok(()),
                Err(error) => stranger = Some(error.at(&candidate)),
            }
        }
        Err(stranger.unwrap_or_else(|| {
            let name = link.name.display();
            let what = format!("names and types are in a supplementary file (dwz) that is not there: {name}");
            Error::new(ErrorKind::MissingPart, what)
                .section(".gnu_debugaltlink")
                .hint("install the debug package that has it")
        }))
    }

    fn add(&mut self, path: &Path, link: &Link<'_>) -> Result<()> {
        self.read.push(Input::of(path)?);
        let image = Image::open(path)?;
        let file = Elf::parse(image.bytes())?;
        if file.build_id() != Some(link.id) && own_id(&file) != Some(link.id) {
            let what = "a supplementary file (dwz) of another build";
            let hint = "install the debug packages of one version";
            return Err(Error::new(ErrorKind::Mismatch, what).hint(hint));
        }
        let mut loaded = DebugSections::load(&file, &image, &mut Buffers::default(), &mut vec![])?;
        loaded.parts.iter_mut().for_each(|part| *part = Part { kind: PartKind::Supplementary, ..*part });
        self.append(path, &loaded)?;
        Ok(())
    }
}

/// `.gnu_debugaltlink`: a NUL-terminated name and a build id. (DWARF 5 has `.debug_sup`, section 7.3.6.)
fn link<'d>(object: &Elf<'d>) -> Option<Link<'d>> {
    let (name, id) = match object.section(".gnu_debugaltlink") {
        Some(section) => {
            let data = section.raw();
            let end = memchr::memchr(0, data)?;
            (&data[..end], &data[end + 1..])
        }
        None => sup(object, 0)?,
    };
    Some(Link { name: Path::new(std::ffi::OsStr::from_bytes(name)), id })
}

fn own_id<'d>(file: &Elf<'d>) -> Option<&'d [u8]> {
    sup(file, 1).map(|(_, id)| id)
}

/// The name and checksum in a `.debug_sup` with this `is_supplementary`. Checksums of 128 bytes or more are not known
/// to exist.
fn sup<'d>(object: &Elf<'d>, is_supplementary: u8) -> Option<(&'d [u8], &'d [u8])> {
    let data = object.section(".debug_sup")?.raw();
    let rest = data.strip_prefix(&[5, 0, is_supplementary])?;
    let end = memchr::memchr(0, rest)?;
    let (length, id) = rest[end + 1..].split_first()?;
    Some((&rest[..end], id.get(..usize::from(*length))?))
}

/// Candidate paths, the best first: that of the link, relative to the debug file itself; the same path below every
/// folder above the debug file, as in an unpacked package; by build id.
fn candidates(link: &Link<'_>, path: &Path) -> Vec<PathBuf> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let by_id = debug_file(link.id);
    let mut found = vec![];
    found.extend(real.parent().map(|folder| folder.join(link.name)));
    for folder in real.ancestors().skip(1) {
        found.extend(link.name.strip_prefix("/").ok().map(|name| folder.join(name)));
        found.extend(by_id.as_ref().map(|name| folder.join(name)));
    }
    found.extend(by_id.map(|name| Path::new(DEBUG_ROOT).join(name)));
    found
}
