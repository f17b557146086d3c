//! Finds programs and shared libraries, and their debug information.
use super::separate::{belongs, candidates, has_debug_info};
use super::{Input, Sysroot, Unpacked};
use crate::build_id::DEBUG_ROOT;
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use crate::load::members;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A program or shared library.
#[derive(Clone, Debug)]
pub struct UserObject {
    /// The file that runs. Its path is free of symbolic links; its name is the last component.
    pub object: Input,
    /// Its separate debug file, if there is one and the object has no debug information itself.
    pub debug: Option<Input>,
    /// The given path, made absolute.
    pub given: PathBuf,
    /// `DT_SONAME`.
    pub soname: String,
    /// Files found in place of its debug file that belong to another build.
    pub strangers: Vec<Error>,
}

/// Opens an object and finds its debug file: by build id, then by `.gnu_debuglink`, below `roots` and where packages
/// install them.
///
/// # Errors
/// [`ErrorKind::Io`], and errors of an ELF object that cannot be indexed or is neither program nor shared library.
pub fn user_object(path: &Path, roots: &[PathBuf]) -> Result<UserObject> {
    let real = path.canonicalize().map_err(|e| Error::io(path, "open", e))?;
    let image = Image::open(&real)?;
    let elf = Elf::parse(image.bytes()).and_then(check).map_err(|e| e.at(path))?;
    let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut strangers = vec![];
    let debug = match has_debug_info(&elf) {
        true => None,
        false => {
            let roots: Vec<_> = roots.iter().cloned().chain([DEBUG_ROOT.into()]).collect();
            let places = candidates(&elf, &[&real, &given], &roots, &Sysroot::default());
            places.into_iter().find(|place| belongs(place, &elf, &real, &mut strangers))
        }
    };
    Ok(UserObject {
        object: Input::of(&real)?,
        debug: debug.map(|debug| Input::of(&debug)).transpose()?,
        given,
        soname: elf.soname().unwrap_or_default().to_owned(),
        strangers,
    })
}

/// Checks that an object is a program or shared library.
fn check(elf: Elf<'_>) -> Result<Elf<'_>> {
    let wrong = |what, hint: &str| Err(Error::new(ErrorKind::Unsupported, what).hint(hint));
    if elf.is_relocatable || elf.section("__ksymtab").is_some() {
        wrong("part of a kernel, or not linked: neither a program nor a shared library", "leave --user away")
    } else if elf.address_size != 8 {
        wrong("a 32-bit program or library; only 64-bit ones are indexed", "give a 64-bit one")
    } else if !elf.has_some_code() {
        wrong("no machine code: neither a program nor a shared library", "give the file that runs")
    } else {
        Ok(elf)
    }
}

impl Input {
    /// An input that is not a module.
    pub fn of(path: &Path) -> Result<Self> {
        if let Some(member) = members::find(path) {
            let size = member.bytes.len() as u64;
            return Ok(Self { size, mtime_ns: member.mtime_ns, ..Self::new(path) });
        }
        let about = path.metadata().map_err(|e| Error::io(path, "read", e))?;
        let mtime_ns = about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec());
        Ok(Self { size: about.len(), mtime_ns, ..Self::new(path) })
    }

    /// An input of which no more than the path is known.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
            size: 0,
            mtime_ns: 0,
            shipped: None,
            lacks: None,
            is_listed: false,
            unpacked: Unpacked::default(),
        }
    }
}
