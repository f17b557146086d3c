//! What `fleet add` is given, and what of it belongs together.
use crate::discover::{self, is_package};
use crate::error::{Error, ErrorKind, Result};
use crate::store;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Everything given, by kind.
#[derive(Debug, Default)]
pub struct Given {
    /// Indexes and stores.
    pub indexes: Vec<PathBuf>,
    /// Folders, files and releases.
    others: Vec<PathBuf>,
    packages: Vec<PathBuf>,
    /// Addresses of packages, in their order.
    addresses: Vec<String>,
}

/// What is indexed at once.
#[derive(Debug, Default)]
pub struct Group {
    /// Paths and releases, as `build` takes them.
    pub paths: Vec<PathBuf>,
    /// Where packages are from, if not from their paths.
    pub called: HashMap<PathBuf, PathBuf>,
    /// What holds the paths while they are read.
    #[cfg(feature = "debuginfod")]
    _folders: Vec<tempfile::TempDir>,
}

impl Given {
    /// Sorts what was given on the command line and in lists.
    ///
    /// # Errors
    /// If a list cannot be read, or has a line that is nothing of the kind.
    pub fn read(paths: &[PathBuf], lists: &[PathBuf]) -> Result<Self> {
        let mut given = Self::default();
        paths.iter().for_each(|path| given.take(path));
        for list in lists {
            let text = text(list)?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            lines.for_each(|line| given.take(Path::new(line)));
        }
        if given.indexes.is_empty()
            && given.others.is_empty()
            && given.packages.is_empty()
            && given.addresses.is_empty()
        {
            let what = "nothing to add";
            return Err(
                Error::new(ErrorKind::Usage, what).hint("give indexes, packages, folders or releases")
            );
        }
        Ok(given)
    }

    fn take(&mut self, path: &Path) {
        let address =
            path.to_str().filter(|text| text.starts_with("http://") || text.starts_with("https://"));
        if let Some(address) = address {
            self.addresses.push(address.to_owned());
        } else if path.extension().is_some_and(|e| e == "pidx") || store::is_store(path) {
            self.indexes.push(path.to_owned());
        } else if is_package(path) {
            self.packages.push(path.to_owned());
        } else {
            let packages = discover::packages_below(path);
            // A mirror of packages, or a folder of files.
            match packages.is_empty() {
                true => self.others.push(path.to_owned()),
                false => self.packages.extend(packages),
            }
        }
    }

    /// What is indexed at once: the packages of a release, and all that is no package. Of packages, only the first members are
    /// looked at; addresses are fetched as their turn comes.
    ///
    /// # Errors
    /// Each group's: why its packages cannot be fetched.
    pub fn groups(self) -> Result<impl Iterator<Item = Result<Group>>> {
        let has_packages = !self.packages.is_empty();
        let mut releases: BTreeMap<String, Group> = BTreeMap::new();
        for package in self.packages {
            let key = match discover::release_of_package(&package) {
                Ok(Some(release)) => release,
                // Nothing in it belongs to a kernel: linux-base of Debian 7.x.
                Ok(None) => continue,
                // The build says why it cannot be read.
                Err(_) => package.display().to_string(),
            };
            releases.entry(key).or_default().paths.push(package);
        }
        if releases.is_empty() && self.others.is_empty() && has_packages && self.addresses.is_empty() {
            let what = "there is no kernel and no module in the packages";
            return Err(
                Error::new(ErrorKind::NoDebugInfo, what).hint("give those with debug information, too")
            );
        }
        let others = Group { paths: self.others, ..Group::default() };
        let others = (!others.paths.is_empty()).then_some(others);
        let local = others.into_iter().chain(releases.into_values()).map(Ok);
        Ok(local.chain(fetched(self.addresses)?))
    }
}

#[cfg(feature = "debuginfod")]
fn fetched(addresses: Vec<String>) -> Result<impl Iterator<Item = Result<Group>>> {
    Ok(super::fetch::groups(addresses))
}

#[cfg(not(feature = "debuginfod"))]
fn fetched(addresses: Vec<String>) -> Result<std::iter::Empty<Result<Group>>> {
    match addresses.first() {
        None => Ok(std::iter::empty()),
        Some(address) => {
            let what = format!("this program does not fetch: {address}");
            let hint = "build it with --features debuginfod, or fetch the packages and give the files";
            Err(Error::new(ErrorKind::Unsupported, what).hint(hint))
        }
    }
}

#[cfg(feature = "debuginfod")]
impl Group {
    /// Packages that were fetched into folders, with their addresses.
    pub fn fetched(called: HashMap<PathBuf, PathBuf>, folders: Vec<tempfile::TempDir>) -> Self {
        let mut paths: Vec<PathBuf> = called.keys().cloned().collect();
        paths.sort_unstable();
        Self { paths, called, _folders: folders }
    }
}

/// Longer than any list.
const MOST: u64 = 64 << 20;

fn text(list: &Path) -> Result<String> {
    let mut text = String::new();
    let read = match list.as_os_str() == "-" {
        true => std::io::stdin().take(MOST).read_to_string(&mut text),
        false => std::fs::File::open(list).and_then(|file| file.take(MOST).read_to_string(&mut text)),
    };
    read.map_err(|e| Error::io(list, "read the list", e).hint("one path, release or address a line"))?;
    Ok(text)
}
