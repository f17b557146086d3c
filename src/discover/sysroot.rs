//! A system below a folder: its paths and symbolic links are resolved within it, never to files of this machine.
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// The root of the system to search: that of this machine, or a folder with another system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysroot(PathBuf);

/// The most symbolic links that the kernel follows for one path (MAXSYMLINKS, path_resolution(7)).
const MOST_LINKS: usize = 40;

impl Default for Sysroot {
    /// This machine.
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Sysroot {
    /// The system below a folder.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if it does not exist, [`ErrorKind::Usage`] if it is not a folder.
    pub fn below(folder: &Path) -> Result<Self> {
        let real =
            fs::canonicalize(folder).map_err(|e| Error::io(folder, "find the root of the system", e))?;
        match real.is_dir() {
            true => Ok(Self(real)),
            false => Err(Error::new(ErrorKind::Usage, "the root of a system must be a folder").at(folder)),
        }
    }

    /// Whether it is this machine.
    pub fn is_host(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The location of a path of that system. Symbolic links are not followed.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A path below the root as that system sees it; other paths are unchanged.
    pub fn inside<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.0).unwrap_or(path)
    }

    /// The real path of a file, with links followed as in that system: `..` does not leave it, and absolute links
    /// start at its root. A path outside of the root is one of this machine.
    ///
    /// # Errors
    /// Those of following the path in that system.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let Ok(inside) = path.strip_prefix(&self.0) else { return fs::canonicalize(path) };
        if self.is_host() {
            return fs::canonicalize(path);
        }
        let mut left = components(inside);
        left.reverse();
        let mut here = self.0.clone();
        let mut links = 0;
        while let Some(next) = left.pop() {
            if next == ".." {
                if here != self.0 {
                    here.pop();
                }
                continue;
            }
            here.push(next);
            if !fs::symlink_metadata(&here)?.is_symlink() {
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::from_raw_os_error(libc::ELOOP));
            }
            let target = fs::read_link(&here)?;
            match target.is_absolute() {
                true => here = self.0.clone(),
                false => drop(here.pop()),
            }
            left.extend(components(&target).into_iter().rev());
        }
        Ok(here)
    }
}

/// The names and `..` in a path.
fn components(path: &Path) -> Vec<OsString> {
    path.components()
        .filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir))
        .map(|c| c.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn links_stay_within() {
        let tree = Tree::new();
        let target = tree.file("root/usr/lib/modules/6.1/a.ko", b"x");
        tree.file("root/passwd", b"its own");
        tree.link("root/lib", "usr/lib");
        tree.link("root/absolute", "/lib/modules/6.1/a.ko");
        tree.link("root/out", "../../../../passwd");
        tree.link("root/usr/round", "/usr/round");
        tree.link("root/gone", "/etc/hostname-that-is-not-there");
        let root = Sysroot::below(&tree.path().join("root")).unwrap();
        let resolve = |path: &str| root.resolve(&root.join(path));
        for path in ["/lib/modules/6.1/a.ko", "absolute", "/../../absolute"] {
            assert_eq!(resolve(path).unwrap(), target, "{path}");
        }
        assert_eq!(resolve("out").unwrap(), root.join("passwd"));
        assert_eq!(resolve("/usr/round").unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert_eq!(resolve("gone").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(root.inside(&target), Path::new("usr/lib/modules/6.1/a.ko"));
        assert!(Sysroot::below(&target).is_err() && Sysroot::default().is_host());
    }
}
