//! Finds source texts on this machine.
use crate::query::index::functions;
use probeidx_format::View;
use probeidx_format::id::StrId;
use std::path::{Component, Path, PathBuf};

/// The text of a source file.
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    lines: Vec<String>,
}

impl Source {
    /// The text of a line, from 1.
    pub fn line(&self, number: u32) -> Option<&str> {
        self.lines.get((number as usize).checked_sub(1)?).map(String::as_str)
    }
}

/// The folders to search for a kernel's sources: the given one, else where distributions install them.
pub struct Places {
    named: Option<PathBuf>,
    roots: Vec<PathBuf>,
    /// A path of the debug information itself is tried, too.
    are_paths_read: bool,
}

/// A file whose text does not match the kernel.
pub struct Differs {
    /// Where it is.
    pub path: PathBuf,
}

impl Places {
    /// For a kernel of this release.
    pub fn new(named: Option<&Path>, release: &str) -> Self {
        let named = named.map(Path::to_owned);
        let version: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let short = version.split('.').take(2).collect::<Vec<_>>().join(".");
        let roots = match &named {
            Some(folder) => vec![folder.clone()],
            None => [
                format!("/lib/modules/{release}/source"),
                format!("/lib/modules/{release}/build"),
                format!("/usr/lib/debug/lib/modules/{release}/source"),
                format!("/usr/src/debug/kernel-{version}/linux-{release}"),
                format!("/usr/src/kernels/{release}"),
                format!("/usr/src/linux-{release}"),
                format!("/usr/src/linux-{version}"),
                format!("/usr/src/linux-source-{short}"),
                format!("/usr/src/linux-headers-{release}"),
                "/usr/src/linux".to_owned(),
            ]
            .map(PathBuf::from)
            .to_vec(),
        };
        Self { named, roots, are_paths_read: true }
    }

    /// Without absolute paths of the index itself, which may come from a stranger.
    pub fn below_folders_alone(self) -> Self {
        Self { are_paths_read: false, ..self }
    }

    /// The text of a file of the kernel; `None` if it is not found.
    ///
    /// # Errors
    /// [`Differs`] if the functions declared in the file are not on those lines.
    pub fn read(&self, view: &View<'_>, file: StrId) -> Result<Option<Source>, Differs> {
        let named = String::from_utf8_lossy(view.string(file));
        let found = self.candidates(Path::new(&*named)).into_iter().find_map(|path| {
            let text = std::fs::read(&path).ok()?;
            let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
            Some(Source { path, lines })
        });
        match found {
            Some(source) if !is_of(view, file, &source) => Err(Differs { path: source.path }),
            found => Ok(found),
        }
    }

    /// Where a file of the kernel is; nothing is read of it.
    pub fn find(&self, file: &[u8]) -> Option<PathBuf> {
        let named = String::from_utf8_lossy(file);
        self.candidates(Path::new(&*named)).into_iter().find(|path| path.is_file())
    }

    /// A path from a build machine is tried below the local folders, by its last components; the same holds for any
    /// path below a given folder.
    fn candidates(&self, path: &Path) -> Vec<PathBuf> {
        let parts: Vec<_> = path.components().filter(|c| matches!(c, Component::Normal(_))).collect();
        let least = match self.named {
            Some(_) => 1,
            None if path.is_absolute() => 2,
            None => parts.len(),
        };
        let tails = (0..=parts.len().saturating_sub(least)).map(|skip| parts[skip..].iter().collect());
        let tails: Vec<PathBuf> = tails.collect();
        let below = self.roots.iter().flat_map(|root| tails.iter().map(|tail| root.join(tail)));
        let itself = (self.are_paths_read && path.is_absolute()).then(|| path.to_owned());
        below.chain(itself).collect()
    }
}

/// Whether at least half of the functions declared in a file are on those lines of the text. Macros declare some whose
/// names are not in the text.
fn is_of(view: &View<'_>, file: StrId, source: &Source) -> bool {
    let declared = functions::declared_in(view, file);
    let (mut there, mut all) = (0, 0);
    for (name, line) in declared {
        all += 1;
        let name = String::from_utf8_lossy(view.string(name));
        there += usize::from(source.line(line).is_some_and(|text| text.contains(&*name)));
    }
    there * 2 >= all
}
