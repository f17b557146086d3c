//! The tapsets that apply to a target.
//!
//! Only some parts of each given folder apply: those of the runtime before the common ones, those of the exact
//! release before those of its series, those of the architecture before those of all. Macros are read first, because
//! every tapset may use them. A file that cannot be read is an error; the others are still read.
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::ast::{Alias, Function, Global, Probe, Script};
use super::macros::{Macro, Macros, owned};
use super::parser::{self, Origin};
use super::sources::{Folder, Source, Sources};
use super::{Fault, Target};
use crate::error::{Error, Result};

/// The definitions in tapsets.
#[derive(Debug, Default)]
pub struct Library {
    /// Files of macros, then the others, each in SystemTap's reading order; a [`Place`](super::Place) refers to
    /// these.
    pub files: Vec<PathBuf>,
    /// The scripts that could be read, without files of macros, in the same order.
    pub scripts: Vec<Script>,
    /// Files left out, with the reason.
    pub errors: Vec<Error>,
    macros: Macros<'static>,
}

impl Library {
    /// Reads the tapsets in these folders, usually only `/usr/share/systemtap/tapset`.
    pub fn load(folders: &[PathBuf], target: &Target<'_>) -> Self {
        let mut sources = Sources::default();
        for folder in folders {
            if let Err(error) = sources.find(folder) {
                sources.errors.push(error);
            }
        }
        Self::read(&sources, target)
    }

    /// Reads the files that apply. Each file that could not be read, now or when its index was built, is an error.
    pub fn read(sources: &Sources, target: &Target<'_>) -> Self {
        let mut library = Self { errors: sources.errors.clone(), ..Self::default() };
        let listed = list(sources, target);
        for (folder, source) in once(&listed, "stpm") {
            if let Err(error) = library.add_macros(folder.path_of(source), source, target) {
                library.errors.push(error);
            }
        }
        let first = library.files.len();
        let scripts = once(&listed, "stp");
        library.files.extend(scripts.iter().map(|(folder, source)| folder.path_of(source)));
        let read = |index: usize| {
            let text = Folder::text(scripts[index].1, &library.files[first + index])?;
            library.parse(&text, first + index, Origin::Tapset, target)
        };
        for script in side_by_side(0..scripts.len(), read) {
            match script {
                Ok(script) => library.scripts.push(script),
                Err(error) => library.errors.push(error),
            }
        }
        library
    }

    /// The aliases of all scripts, in the order of files.
    pub fn aliases(&self) -> impl Iterator<Item = &Alias> {
        self.scripts.iter().flat_map(|script| &script.aliases)
    }
    /// The functions of all scripts, in the order of files.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.scripts.iter().flat_map(|script| &script.functions)
    }
    /// The globals of all scripts, in the order of files.
    pub fn globals(&self) -> impl Iterator<Item = &Global> {
        self.scripts.iter().flat_map(|script| &script.globals)
    }
    /// The probes of tapsets themselves.
    pub fn probes(&self) -> impl Iterator<Item = &Probe> {
        self.scripts.iter().flat_map(|script| &script.probes)
    }
    /// The macros available to every file, by name.
    pub fn macros(&self) -> BTreeMap<&str, &Macro<'static>> {
        self.macros.iter().map(|(name, of)| (&**name, &**of)).collect()
    }

    /// Parses a script that uses this library. Its path is added to [`Self::files`], for its places.
    pub fn script(&mut self, path: &Path, bytes: &[u8], target: &Target<'_>) -> Result<Script> {
        self.files.push(path.to_owned());
        self.parse(bytes, self.files.len() - 1, Origin::Script, target)
    }

    fn parse(&self, bytes: &[u8], index: usize, origin: Origin, target: &Target<'_>) -> Result<Script> {
        let script = parser::script(bytes, number(index), origin, &self.macros, target);
        script.map_err(|fault| self.explain(*fault))
    }

    fn add_macros(&mut self, path: PathBuf, source: &Source, target: &Target<'_>) -> Result<()> {
        let (file, bytes) = (number(self.files.len()), Folder::text(source, &path));
        self.files.push(path);
        let (bytes, none) = (bytes?, Macros::new());
        let macros = parser::macros(&bytes, file, &none, target).map_err(|fault| self.explain(*fault))?;
        // By place, so that the first of several is reported.
        let mut again: Vec<_> =
            macros.iter().filter(|(name, _)| self.macros.contains_key(&***name)).collect();
        again.sort_unstable_by_key(|(_, m)| m.place);
        if let Some((name, duplicate)) = again.first() {
            let first = self.macros[&***name].place;
            let other = self.path(first.file).display();
            let why =
                format!("the macro `@{name}` is already defined in {other}:{}:{}", first.line, first.column);
            return Err(self.explain(*Fault::new((duplicate.place, None), why)));
        }
        self.macros.extend(owned(macros));
        Ok(())
    }

    fn explain(&self, fault: Fault) -> Error {
        fault.into_error(|file| self.path(file))
    }

    /// The file of a [`Place`](super::Place).
    pub fn path(&self, file: u32) -> &Path {
        self.files.get(file as usize).map_or(Path::new(""), PathBuf::as_path)
    }
}

/// The files in the parts of the folders that apply.
fn list<'s>(sources: &'s Sources, target: &Target<'_>) -> Vec<(&'s Folder, &'s Source)> {
    let parts = parts(target);
    let of_folder = |folder: &'s Folder| {
        let files = parts.iter().flat_map(|part| folder.parts.get(part).into_iter().flatten());
        files.map(move |source| (folder, source)).collect::<Vec<_>>()
    };
    sources.folders.iter().flat_map(of_folder).collect()
}

/// The files with this extension, without duplicates: a file may have other names, and later folders may repeat a
/// name.
fn once<'s>(listed: &[(&'s Folder, &'s Source)], extension: &str) -> Vec<(&'s Folder, &'s Source)> {
    let (mut identities, mut names) = (HashSet::new(), HashSet::new());
    let files = listed.iter().filter(|(_, source)| source.path.extension().is_some_and(|e| e == extension));
    let files = files.filter(|(_, source)| identities.insert(source.identity) && names.insert(&source.path));
    files.copied().collect()
}

/// The parts of a tapset folder that apply to the target, in order.
fn parts(target: &Target<'_>) -> Vec<PathBuf> {
    let mut versions = vec![target.release];
    let mut version = target.version();
    if version != target.release {
        versions.push(version);
    }
    // 6.1.0, then 6.1, but not 6.
    while let Some((shorter, _)) = version.rsplit_once('.').filter(|(shorter, _)| shorter.contains('.')) {
        versions.push(shorter);
        version = shorter;
    }
    versions.push("");
    let of_arch = versions.iter().flat_map(|v| [Path::new(v).join(target.arch), PathBuf::from(v)]);
    let of_arch: Vec<PathBuf> = of_arch.collect();
    let of_runtime = of_arch.iter().map(|part| Path::new(target.runtime.folder()).join(part));
    of_runtime.chain(of_arch.iter().cloned()).collect()
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(feature = "build")]
fn side_by_side<T: Send>(indexes: std::ops::Range<usize>, read: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    use rayon::prelude::*;
    indexes.into_par_iter().map(read).collect()
}
#[cfg(not(feature = "build"))]
fn side_by_side<T>(indexes: std::ops::Range<usize>, read: impl Fn(usize) -> T) -> Vec<T> {
    indexes.map(read).collect()
}
