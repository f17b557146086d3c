//! Combines arguments and environment. Only this module reads the environment.
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{Global, When};
use super::session::Session;
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::{Source, choose, releases, side_by_side};
use crate::query::Index;
use crate::query::index::kernel_description::KernelDescription;
use crate::store::MANIFEST;

/// The configuration that all commands share.
#[derive(Clone, Debug)]
pub struct Config {
    /// One index file, or a folder of `<release>.pidx`.
    pub db: PathBuf,
    /// Whether it is the default location rather than one that was given.
    pub is_default_db: bool,
    /// The requested release, which may have wildcards.
    pub kernel: Option<String>,
    /// The running release; only set if none is requested and `db` is not one index.
    pub running: Option<String>,
    /// Print results as JSON Lines and errors as JSON objects.
    pub json: bool,
    /// Results are coloured.
    pub color: bool,
    /// Whether stdout and stderr are both a terminal.
    pub terminal: bool,
    /// Whether the terminal knows no commands that move its cursor.
    pub is_dumb: bool,
    /// No suggestions, warnings or progress.
    pub quiet: bool,
    /// The level of verbosity.
    pub verbose: u8,
    /// Where input comes from and notes go to.
    pub session: Session,
}

impl Config {
    /// The configuration of this process.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the folder of the index cannot be determined.
    pub fn new(global: &Global) -> Result<Self> {
        let mut config = Self::merge(global, Environment::of_process())?;
        if config.kernel.is_none() && !config.db.is_file() {
            let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
            config.running = release.map(|text| text.trim().to_owned());
        }
        Ok(config)
    }

    /// The index files to ask: see [`choose`].
    ///
    /// # Errors
    /// Those of [`choose`].
    pub fn indexes(&self) -> Result<Vec<PathBuf>> {
        choose(&self.db, self.kernel.as_deref(), self.running.as_deref())
    }

    /// The releases of the indexed kernels in the folder, sorted bytewise.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the folder cannot be read or is not a folder.
    pub fn releases(&self) -> Result<Vec<String>> {
        releases(&self.db)
    }

    /// The kernel that is used without having been chosen among several, and their number.
    pub fn unchosen(&self) -> Option<(&str, usize)> {
        let running = self.running.as_deref().filter(|_| self.kernel.is_none())?;
        let is_there = self.db.join(format!("{running}.pidx")).is_file();
        let count = is_there.then(|| self.releases().ok()).flatten()?.len();
        (count > 1).then_some((running, count))
    }

    /// Opens an index, or returns the open one.
    ///
    /// # Errors
    /// Those of [`Index::open`]; [`ErrorKind::Io`] for another user's index at the default location.
    pub fn open(&self, path: &Path) -> Result<Arc<Index>> {
        if self.is_default_db {
            check_owner(path)?;
        }
        self.session.open(path)
    }

    /// The kernels that are asked, or all if none is named, in their order. Those of a store are not opened.
    ///
    /// # Errors
    /// Those of [`choose`], and of [`Source::describe`] for the first that cannot be described.
    pub fn kernels(&self) -> Result<Vec<(KernelDescription, Source)>> {
        let described = Source::describe(&self.asked()?, self.session.stores(), &|path| self.open(path))?;
        Ok(KernelDescription::sorted(described.into_iter().collect::<Result<_>>()?))
    }

    /// Opens the kernels that are asked, or all if none is named, side by side; in the order of kernels.
    ///
    /// # Errors
    /// Those of [`choose`], and of [`open`](Self::open) for the first that cannot be opened.
    pub fn described(&self) -> Result<Vec<(KernelDescription, Arc<Index>)>> {
        self.described_of(self.asked()?)
    }

    /// The index files of the kernels that are asked, or of all if none is named.
    fn asked(&self) -> Result<Vec<PathBuf>> {
        choose(&self.db, Some(self.kernel.as_deref().unwrap_or("*")), None)
    }

    /// Opens these indexes side by side; in the order of kernels.
    ///
    /// # Errors
    /// Those of [`open`](Self::open) for the first that cannot be opened.
    pub fn described_of(&self, paths: Vec<PathBuf>) -> Result<Vec<(KernelDescription, Arc<Index>)>> {
        let opened = side_by_side(&paths, |path| {
            let index = self.open(path)?;
            let description = KernelDescription::of(&index.view()?);
            Ok((description, index))
        });
        Ok(KernelDescription::sorted(opened.into_iter().collect::<Result<_>>()?))
    }

    /// The configuration of a request: its own options override these, and there is no terminal.
    pub fn for_request(&self, asked: &Global, session: Session) -> Self {
        Self {
            db: asked.db.clone().unwrap_or_else(|| self.db.clone()),
            is_default_db: self.is_default_db && asked.db.is_none(),
            kernel: asked.kernel.clone().or_else(|| self.kernel.clone()),
            running: self.running.clone(),
            json: asked.json,
            color: asked.color == When::Always,
            terminal: false,
            is_dumb: true,
            quiet: asked.quiet || self.quiet,
            verbose: asked.verbose,
            session,
        }
    }

    fn merge(global: &Global, environment: Environment) -> Result<Self> {
        let Environment { db, cache, home, no_color, term, terminal } = environment;
        let given = |value: Option<OsString>| value.filter(|v| !v.is_empty()).map(PathBuf::from);
        let cache = given(cache).filter(|path| path.is_absolute());
        let named = global.db.clone().or_else(|| given(db));
        let is_default_db = named.is_none();
        let db = named
            .or_else(|| Some(cache?.join("probeidx")))
            .or_else(|| Some(given(home)?.join(".cache/probeidx")))
            .ok_or_else(|| {
                let unset =
                    "there is no place for the index: PROBEIDX_DB, XDG_CACHE_HOME and HOME are not set";
                Error::new(ErrorKind::Usage, unset).hint("name one with --db PATH")
            })?;
        let color = match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && no_color.is_none_or(|v| v.is_empty()),
        };
        Ok(Self {
            db,
            is_default_db,
            kernel: global.kernel.clone(),
            running: None,
            json: global.json,
            color,
            terminal,
            is_dumb: term.is_none_or(|term| term.is_empty() || term == "dumb"),
            quiet: global.quiet,
            verbose: global.verbose,
            session: Session::default(),
        })
    }
}

/// Checks that an index at the default location belongs to the user or to root, because root may write what it contains
/// to the kernel. perf has the same rule for its data files (tools/perf/util/data.c of 6.1, `open_file_read`).
///
/// # Errors
/// [`ErrorKind::Io`], with the owner. A file that cannot be examined is left for opening to report.
fn check_owner(path: &Path) -> Result<()> {
    let owner = |path: &Path| std::fs::metadata(path).map(|m| m.uid());
    // A kernel of a store has no file of its own.
    let of_index = owner(path).or_else(|_| owner(&path.with_file_name(MANIFEST)));
    match (of_index, owner("/proc/self".as_ref())) {
        (Ok(owner), Ok(me)) if owner != 0 && owner != me => {
            let what = format!("the index belongs to user {owner}, not to root or the user who asks");
            Err(Error::new(ErrorKind::Io, what).at(path).hint("to use it all the same name it with --db"))
        }
        _ => Ok(()),
    }
}

/// The environment of the process.
#[derive(Clone, Debug, Default)]
struct Environment {
    db: Option<OsString>,
    cache: Option<OsString>,
    home: Option<OsString>,
    no_color: Option<OsString>,
    term: Option<OsString>,
    terminal: bool,
}

impl Environment {
    fn of_process() -> Self {
        let variable = std::env::var_os;
        Self {
            db: variable("PROBEIDX_DB"),
            cache: variable("XDG_CACHE_HOME"),
            home: variable("HOME"),
            no_color: variable("NO_COLOR"),
            term: variable("TERM"),
            terminal: std::io::stdout().is_terminal() && std::io::stderr().is_terminal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_index_is() {
        let os = |text: &str| Some(OsString::from(text));
        let full = || Environment { db: os("/d"), cache: os("/c"), home: os("/h"), ..Environment::default() };
        let db = |global: &Global, environment| Config::merge(global, environment).map(|c| c.db);
        let plain = Global::default();
        let asked = Global { db: Some("/a".into()), ..Global::default() };
        assert_eq!(db(&asked, full()).unwrap(), Path::new("/a"));
        assert_eq!(db(&plain, full()).unwrap(), Path::new("/d"));
        assert_eq!(db(&plain, Environment { db: os(""), ..full() }).unwrap(), Path::new("/c/probeidx"));
        let relative = Environment { db: None, cache: os("c"), ..full() };
        assert_eq!(db(&plain, relative).unwrap(), Path::new("/h/.cache/probeidx"));
        assert_eq!(db(&plain, Environment::default()).unwrap_err().kind(), ErrorKind::Usage);
    }

    #[test]
    fn colour() {
        let color = |color, terminal, no_color: Option<&str>| {
            let no_color = no_color.map(OsString::from);
            let environment =
                Environment { home: Some("/h".into()), terminal, no_color, ..Environment::default() };
            Config::merge(&Global { color, ..Global::default() }, environment).unwrap().color
        };
        assert!(color(When::Auto, true, None));
        assert!(color(When::Auto, true, Some("")));
        assert!(!color(When::Auto, true, Some("1")));
        assert!(!color(When::Auto, false, None));
        assert!(color(When::Always, false, Some("1")));
        assert!(!color(When::Never, true, None));
    }
}
