//! Programs and shared libraries, and where their debug information is (gdb's manual, "Separate Debug Files").
use super::Input;
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::build_id::{DEBUG_ROOT, debug_file, hex};
use crate::load::elf::Elf;
use flate2::Crc;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A program or shared library.
#[derive(Clone, Debug)]
pub struct UserObject {
    /// What runs. Its path is free of symbolic links, its name the last component.
    pub object: Input,
    /// The separate debug file that belongs to it, where the object has no debug information itself and one is there.
    pub debug: Option<Input>,
    /// The path as it was given, made absolute.
    pub given: PathBuf,
    /// `DT_SONAME`.
    pub soname: String,
    /// Files that are where its debug file should be, and belong to another build.
    pub strangers: Vec<Error>,
}

/// Looks at one file, and finds its debug file: by build id, then by `.gnu_debuglink`, below `roots` and where packages
/// put them.
///
/// # Errors
/// [`ErrorKind::Io`], and those of an ELF object that cannot be indexed or is neither program nor shared library.
pub fn user_object(path: &Path, roots: &[PathBuf]) -> Result<UserObject> {
    let real = path.canonicalize().map_err(|e| Error::io(path, "open", e))?;
    let image = Image::open(&real)?;
    let elf = Elf::parse(image.bytes()).and_then(check).map_err(|e| e.at(path))?;
    let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut strangers = vec![];
    let debug = match has_debug_info(&elf) {
        true => None,
        false => candidates(&elf, &real, &given, roots)
            .into_iter()
            .find(|candidate| belongs(candidate, &elf, &real, &mut strangers)),
    };
    Ok(UserObject {
        object: Input::of(&real)?,
        debug: debug.map(|debug| Input::of(&debug)).transpose()?,
        given,
        soname: elf.soname().unwrap_or_default().to_owned(),
        strangers,
    })
}

/// Whether an object is a program or shared library.
fn check(elf: Elf<'_>) -> Result<Elf<'_>> {
    let wrong = |what, hint: &str| Err(Error::new(ErrorKind::Unsupported, what).hint(hint));
    if elf.is_relocatable || elf.section("__ksymtab").is_some() {
        wrong("part of a kernel, or not linked: neither a program nor a shared library", "leave --user away")
    } else if !elf.has_some_code() {
        wrong("no machine code: neither a program nor a shared library", "give the file that runs")
    } else {
        Ok(elf)
    }
}

fn has_debug_info(elf: &Elf<'_>) -> bool {
    [".debug_info", ".zdebug_info"].iter().any(|n| elf.section(n).is_some_and(|s| !s.raw().is_empty()))
}

/// Where the debug file may be, the best first.
fn candidates(elf: &Elf<'_>, real: &Path, given: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let roots = || roots.iter().map(PathBuf::as_path).chain([Path::new(DEBUG_ROOT)]);
    let mut found = vec![];
    if let Some(name) = elf.build_id().and_then(debug_file) {
        found.extend(roots().map(|root| root.join(&name)));
    }
    if let Some((name, _)) = elf.debug_link() {
        for folder in [real, given].iter().filter_map(|path| path.parent()) {
            found.extend([folder.join(name), folder.join(".debug").join(name)]);
            let below = folder.strip_prefix("/").unwrap_or(folder);
            found.extend(roots().map(|root| root.join(below).join(name)));
        }
    }
    found
}

/// Whether a file is there, with the debug information of this object: by its build id, or where one of them has none by
/// the checksum of its content.
fn belongs(path: &Path, elf: &Elf<'_>, real: &Path, strangers: &mut Vec<Error>) -> bool {
    if !path.is_file() || path.canonicalize().is_ok_and(|path| path == real) {
        return false;
    }
    let checked = Image::open(path).and_then(|image| {
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
    });
    checked.map_err(|error| strangers.push(error.at(path))).is_ok()
}

impl Input {
    /// A file by itself.
    pub fn of(path: &Path) -> Result<Self> {
        let about = path.metadata().map_err(|e| Error::io(path, "read", e))?;
        Ok(Self {
            path: path.to_owned(),
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
            size: about.len(),
            mtime_ns: about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec()),
            shipped: None,
        })
    }
}
