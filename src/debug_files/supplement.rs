//! Supplementary files, into which `dwz -m` moves what the debug files of several objects have in common.
use super::DebugSections;
use crate::build_id::{DEBUG_ROOT, debug_file};
use crate::discover::Input;
use crate::dwarf::{Part, PartKind};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What an object says of its supplementary file.
struct Link<'d> {
    name: &'d Path,
    /// Its build id (`.gnu_debugaltlink`), or what stands for one in both files (`.debug_sup`).
    id: &'d [u8],
}

impl<'d> DebugSections<'d> {
    /// Adds the sections of the object's supplementary file, where it needs one, to those of the object at `path`. Cost: a
    /// copy of the sections of both.
    ///
    /// # Errors
    /// [`ErrorKind::MissingPart`] if it is not there, [`ErrorKind::Mismatch`] if it is that of another build, and those of a
    /// file that cannot be read. Nothing was added then.
    pub fn add_supplement(&mut self, object: &Elf<'_>, path: &Path) -> Result<()> {
        let Some(link) = link(object) else { return Ok(()) };
        let mut stranger = None;
        for candidate in candidates(&link, path).into_iter().filter(|candidate| candidate.is_file()) {
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
        let mut loaded = DebugSections::load(&file, &mut vec![])?;
        loaded.parts.iter_mut().for_each(|part| *part = Part { kind: PartKind::Supplementary, ..*part });
        self.append(path, &loaded)?;
        Ok(())
    }
}

/// `.gnu_debugaltlink`: a name that ends with NUL, and a build id. (DWARF 5 has `.debug_sup`, section 7.3.6.)
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

/// The name and the checksum of a `.debug_sup` whose `is_supplementary` is this. Checksums of 128 bytes and more are not
/// known to exist.
fn sup<'d>(object: &Elf<'d>, is_supplementary: u8) -> Option<(&'d [u8], &'d [u8])> {
    let data = object.section(".debug_sup")?.raw();
    let rest = data.strip_prefix(&[5, 0, is_supplementary])?;
    let end = memchr::memchr(0, rest)?;
    let (length, id) = rest[end + 1..].split_first()?;
    Some((&rest[..end], id.get(..usize::from(*length))?))
}

/// Where it may be, the best first: where the link says, which is relative to the debug file itself; the same below every
/// folder above the debug file, as in an unpacked package; and by build id.
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
