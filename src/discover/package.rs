//! Packages of distributions among the given paths: what of them is wanted, and which kinds are not read.
use std::path::{Path, PathBuf};

use super::Unpacked;
use super::content;
use super::name::{self, Role};
use super::walk::Candidate;
use crate::error::{Error, ErrorKind, Result};
use crate::load::members::{Member, Members};
use crate::package::{self, Sink};
use walkdir::WalkDir;

/// The commands to unpack a package that is recognized by its name, and that cannot be read; `None` for anything else.
pub(super) fn unpacking(path: &Path) -> Option<Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.contains(".pkg.tar") && !name.ends_with(".apk") {
        return None;
    }
    let hint = format!("unpack it: mkdir DIR && tar -xf {} -C DIR; then: probeidx build DIR", path.display());
    Some(Error::new(ErrorKind::Unsupported, "a package, not what is in it").hint(hint))
}

/// Reads the wanted members of a package into memory, under the path that it is called by, and adds those that are kernels and modules to `candidates`, and
/// what cannot be read to `skipped`.
///
/// # Errors
/// Those of [`package::read`] if no kernel or module came before.
pub(super) fn open(
    path: &Path,
    called: &Path,
    modules: bool,
    members: &mut Members,
    candidates: &mut Vec<Candidate>,
    skipped: &mut Vec<Error>,
) -> Result<()> {
    members.add_package(called);
    let before = candidates.len();
    let mut taken = Taken { package: called, modules, members, candidates, skipped };
    if let Err(error) = package::read(called, path, &mut taken) {
        if candidates.len() == before {
            return Err(error);
        }
        skipped.push(error);
    }
    Ok(())
}

/// The release that a package is of, by the first of its files that says so; `None` if none does.
///
/// # Errors
/// Those of reading it.
pub fn release_of_package(path: &Path) -> Result<Option<String>> {
    package::first(path, |member| {
        let path = path.join(member);
        let beside = || {
            let name = member.file_name()?.to_str()?;
            let release = match name {
                // Debian's, from 7.0 on: `usr/lib/modules/RELEASE/config` in linux-base.
                "config" | "System.map" => member.parent()?.file_name()?.to_str()?,
                _ => name.strip_prefix("config-").or_else(|| name.strip_prefix("System.map-"))?,
            };
            release.starts_with(|c: char| c.is_ascii_digit()).then(|| release.to_owned())
        };
        name::role(&path).and_then(|role| name::release(&path, role)).or_else(beside)
    })
}

/// The packages in a folder and below it, sorted; none if it is no folder. Packages are known by their names here.
pub fn packages_below(folder: &Path) -> Vec<PathBuf> {
    let is_named = |path: &Path| path.extension().is_some_and(|e| e == "deb" || e == "ddeb" || e == "rpm");
    let files = WalkDir::new(folder).min_depth(1).into_iter().filter_map(|entry| entry.ok());
    let mut packages: Vec<PathBuf> = files
        .filter(|entry| entry.file_type().is_file() && is_named(entry.path()))
        .map(walkdir::DirEntry::into_path)
        .filter(|path| package::is_package(path))
        .collect();
    packages.sort_unstable();
    packages
}

struct Taken<'a> {
    package: &'a Path,
    modules: bool,
    members: &'a mut Members,
    candidates: &'a mut Vec<Candidate>,
    skipped: &'a mut Vec<Error>,
}

impl Sink for Taken<'_> {
    fn wants(&self, name: &Path) -> bool {
        match name::role(&self.package.join(name)) {
            Some(Role::Module) => self.modules,
            Some(_) => true,
            None => is_beside_kernel(name),
        }
    }

    fn take(&mut self, name: &Path, member: Member) {
        let path = self.package.join(name);
        if let Some(role) = name::role(&path) {
            match self.candidate(path.clone(), role, &member) {
                Ok(candidate) => self.candidates.push(candidate),
                Err(error) => return self.skipped.push(error.at(&path)),
            }
        }
        self.members.add(path, member);
    }

    fn skip(&mut self, error: Error) {
        self.skipped.push(error);
    }
}

impl Taken<'_> {
    fn candidate(&self, path: PathBuf, role: Role, member: &Member) -> Result<Candidate> {
        let head = &member.bytes[..member.bytes.len().min(content::READ)];
        let compression = content::check(head, member.bytes.len() as u64)?;
        Ok(Candidate {
            path,
            aliases: vec![],
            role,
            compression,
            size: member.bytes.len() as u64,
            mtime_ns: member.mtime_ns,
            unpacked: Unpacked::default(),
        })
    }
}

/// Whether a file is read besides kernels and modules: the configuration, the symbols of a boot image, what dwz moved.
fn is_beside_kernel(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_named =
        |what: &str| name.strip_prefix(what).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    is_named("config") || is_named("System.map") || path.components().any(|part| part.as_os_str() == ".dwz")
}
