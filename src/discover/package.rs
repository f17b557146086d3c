//! Packages of distributions among the given paths: what of them is wanted, and which kinds are not read.
use std::path::{Path, PathBuf};

use super::Unpacked;
use super::content;
use super::name::{self, Role};
use super::walk::Candidate;
use crate::error::{Error, ErrorKind, Result};
use crate::load::decompress::Compression;
use crate::load::members::{Feed, Member, Members};
use crate::package::{self, Listed, Sink};
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

/// Adds the kernels and modules of a package to `candidates`, under the path that it is called by, and what cannot be read to `skipped`.
/// Its wanted files become members, which are unpacked when they are asked for; those of a package without a list of them at once.
///
/// # Errors
/// Those of [`package::list`], and of [`package::read`] if no kernel or module came before.
pub(super) fn open(
    path: &Path,
    called: &Path,
    modules: bool,
    members: &mut Members,
    candidates: &mut Vec<Candidate>,
    skipped: &mut Vec<Error>,
) -> Result<()> {
    let listing = package::list(called, path)?.unwrap_or_default();
    members.add_package(called);
    let wanted: Vec<Listed> = listing
        .files
        .into_iter()
        .filter(|file| is_wanted(&called.join(&file.name), modules))
        .map(|file| Listed { name: called.join(file.name), ..file })
        .collect();
    if !wanted.is_empty() {
        candidates.extend(wanted.iter().filter_map(|file| Candidate::listed(&file.name, file.size)));
        // Archives are in the order of names.
        let of_role =
            |role| wanted.iter().map(|file| &file.name).filter(move |name| name::role(name) == Some(role));
        let kernel = of_role(Role::Vmlinux).next();
        let kernel = kernel.filter(|kernel| of_role(Role::Module).any(|module| module < *kernel));
        let arrival = Arrival {
            path: path.to_owned(),
            called: called.to_owned(),
            modules,
            kernel: kernel.and_then(|name| Some(name.strip_prefix(called).ok()?.to_owned())),
        };
        let names = wanted.into_iter().map(|file| file.name);
        members.expect(names, listing.bytes, Box::new(move |feed| arrival.unpack(feed)));
        return Ok(());
    }
    let before = candidates.len();
    let mut taken = Taken { package: called, modules, members: &*members, candidates, skipped };
    if let Err(error) = package::read(called, path, &mut taken) {
        if candidates.len() == before {
            return Err(error);
        }
        skipped.push(error);
    }
    Ok(())
}

/// Whether a file of a package is read: kernels and modules, and what is read besides: the configuration, the symbols of a boot image,
/// what dwz moved.
fn is_wanted(path: &Path, modules: bool) -> bool {
    match name::role(path) {
        Some(Role::Module) => modules,
        Some(_) => true,
        None => is_beside_kernel(path),
    }
}

/// A package whose files are expected.
struct Arrival {
    path: PathBuf,
    called: PathBuf,
    modules: bool,
    /// The name of its vmlinux, if modules come before it: they are read after it.
    kernel: Option<PathBuf>,
}

impl Arrival {
    fn unpack(&self, feed: Feed) {
        let Self { path, called, modules, kernel } = self;
        let mut arriving = Arriving { package: called, modules: *modules, feed, unlisted: None };
        let read = match kernel {
            Some(kernel) => package::read_beginning_with(kernel, called, path, &mut arriving),
            None => package::read(called, path, &mut arriving),
        };
        let Arriving { feed, unlisted, .. } = arriving;
        match read {
            Err(error) => feed.fault(error),
            Ok(()) if feed.is_over() => {}
            Ok(()) => {
                let damaged = |what: String, path: &Path| {
                    let error = Error::new(ErrorKind::Damaged, what).at(path);
                    feed.fault(error.hint("fetch the package from its distribution"));
                };
                let missing = feed.missing();
                if let Some(first) = missing.first() {
                    let what = "the package's list names it, and the package does not have it";
                    damaged(with_others(what, missing.len()), first);
                }
                if let Some((first, count)) = &unlisted {
                    damaged(
                        with_others("the package's list does not name it: it is passed over", *count),
                        first,
                    );
                }
            }
        }
    }
}

/// What holds for the first of several files.
fn with_others(what: &str, count: usize) -> String {
    match count - 1 {
        0 => what.to_owned(),
        1 => format!("{what}; so with another one"),
        others => format!("{what}; so with {others} others"),
    }
}

/// Takes the members that are expected.
struct Arriving<'a> {
    package: &'a Path,
    modules: bool,
    feed: Feed,
    /// The first file that the list does not have, and how many there are.
    unlisted: Option<(PathBuf, usize)>,
}

impl Sink for Arriving<'_> {
    fn wants(&mut self, name: &Path) -> bool {
        let path = self.package.join(name);
        self.feed.wants(&path).unwrap_or_else(|| {
            if is_wanted(&path, self.modules) {
                self.unlisted.get_or_insert((path, 0)).1 += 1;
            }
            false
        })
    }

    fn has_enough(&self) -> bool {
        self.feed.is_over()
    }

    fn take(&mut self, name: &Path, member: Member) {
        self.feed.add(self.package.join(name), member);
    }

    fn skip(&mut self, error: Error) {
        self.feed.fault(error);
    }
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
    members: &'a Members,
    candidates: &'a mut Vec<Candidate>,
    skipped: &'a mut Vec<Error>,
}

impl Sink for Taken<'_> {
    fn wants(&mut self, name: &Path) -> bool {
        is_wanted(&self.package.join(name), self.modules)
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
            is_listed: false,
            unpacked: Unpacked::default(),
        })
    }
}

impl Candidate {
    /// A file that is not unpacked yet, if it is a kernel or module.
    fn listed(path: &Path, size: Option<u64>) -> Option<Self> {
        Some(Self {
            role: name::role(path)?,
            compression: Compression::from_path(path),
            path: path.to_owned(),
            aliases: vec![],
            size: size.unwrap_or(0),
            mtime_ns: 0,
            is_listed: true,
            unpacked: Unpacked::default(),
        })
    }
}

fn is_beside_kernel(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_named =
        |what: &str| name.strip_prefix(what).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    is_named("config") || is_named("System.map") || path.components().any(|part| part.as_os_str() == ".dwz")
}
