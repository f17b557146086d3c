//! Determines what `build` looks at: paths, releases, the running kernel, or the kernels below another root.
use crate::cli::args::Build;
use crate::cli::config::Config;
use crate::cli::note;
use crate::discover::{self, Discovery, Found, Options, Place, Running, Sysroot};
use crate::error::{Error, ErrorKind, Result};
use crate::live::gather;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where packages are from, if that is not where they lie.
pub type Called = HashMap<PathBuf, PathBuf>;

/// The kernels to index, before any file is read.
pub struct Wanted {
    paths: Vec<PathBuf>,
    /// The places that were searched for the requested releases.
    places: Vec<Place>,
    releases: Vec<String>,
    options: Options,
}

impl Wanted {
    /// Interprets the arguments; `ids` adds build ids, if something can look up debug files by them. A word that is not
    /// a file and looks like a release is one.
    ///
    /// # Errors
    /// [`ErrorKind::NoDebugInfo`], with the command that installs it, if a release has no files; each searched place is
    /// reported first. Those of [`Sysroot::below`].
    pub fn of(args: &Build, called: &Called, config: &Config, ids: bool) -> Result<Self> {
        let sysroot = args.sysroot.as_deref().map_or_else(|| Ok(Sysroot::default()), Sysroot::below)?;
        let (mut paths, mut releases) = (vec![], vec![]);
        for given in &args.paths {
            let is_below =
                !sysroot.is_host() && given.canonicalize().is_ok_and(|p| p.starts_with(sysroot.path()));
            let path = if sysroot.is_host() || is_below { given.clone() } else { sysroot.join(given) };
            match given.to_str().filter(|word| discover::is_release(word)) {
                Some(release) if sysroot.resolve(&path).is_err() => releases.push(release.to_owned()),
                _ => paths.push(path),
            }
        }
        if args.paths.is_empty() {
            releases = match &config.kernel {
                Some(release) => vec![release.clone()],
                None if sysroot.is_host() => config.running.iter().cloned().collect(),
                None => discover::releases(&sysroot),
            };
        }
        let running = sysroot.is_host().then(|| running(&releases)).flatten();
        let called = called.clone();
        let options = Options { modules: !args.no_modules, sysroot, running, ids, called };
        let mut wanted = Self { paths, places: vec![], releases, options };
        wanted.places =
            wanted.releases.iter().flat_map(|r| discover::places(&wanted.options.sysroot, r)).collect();
        if wanted.paths.is_empty() && wanted.there().next().is_none() && wanted.own_btf().is_none() {
            return Err(wanted.nothing(config));
        }
        Ok(wanted)
    }

    /// Finds the files of these kernels.
    ///
    /// # Errors
    /// Those of [`discover::discover`].
    pub fn find(&self, config: &Config) -> Result<Discovery> {
        let hidden = self.places.iter().filter(|place| place.found == Found::NotPermitted);
        // In some distributions only root can read the boot image.
        hidden
            .for_each(|place| note(config, &format!("not readable, and left out: {}", place.path.display())));
        let mut paths: Vec<PathBuf> = self.paths.iter().cloned().chain(self.there().cloned()).collect();
        let has_file = self.there().any(|path| path.is_file());
        paths.extend(self.own_btf().filter(|_| !has_file));
        let mut found = discover::discover(&paths, &self.options)?;
        // A folder of packages, as they were fetched.
        if found.kernels.is_empty() {
            let alone = paths.len();
            paths.extend(self.packages());
            if paths.len() > alone {
                found = discover::discover(&paths, &self.options)?;
            }
        }
        // The files present may all be of another build.
        let is_whole = |found: &Discovery| found.kernels.iter().any(|kernel| kernel.vmlinux.is_some());
        if let Some(own) = self.own_btf().filter(|_| has_file && !is_whole(&found)) {
            paths.push(own);
            found = discover::discover(&paths, &self.options)?;
        }
        if self.paths.is_empty() {
            // A build tree may be of another kernel by now.
            found.kernels.retain(|kernel| self.releases.contains(&kernel.release));
        }
        for other in &found.of_another_build {
            note(config, &other.to_string());
        }
        Ok(found)
    }

    /// Whether paths were given, so that nothing had to be searched for.
    pub fn is_by_path(&self) -> bool {
        self.places.is_empty()
    }

    /// The error if nothing can be indexed; each searched place is reported first.
    pub fn nothing(&self, config: &Config) -> Error {
        for Place { path, found } in &self.places {
            let what = match found {
                Found::Something => "there, but no debug information in it",
                Found::Nothing => "nothing there",
                Found::NotPermitted => "not readable by this user",
                Found::Unreadable(why) => why,
            };
            note(config, &format!("tried {}: {what}", path.display()));
        }
        let sysroot = &self.options.sysroot;
        let message = match (&self.paths[..], &self.releases[..]) {
            ([], []) => format!("no kernel below {}", sysroot.path().display()),
            ([], releases) => format!("no debug information of kernel {}", releases.join(", ")),
            (paths, _) => {
                let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
                let in_packages = if self.packages().next().is_some() { ", nor in its packages" } else { "" };
                format!("no kernel with debug information under {}{in_packages}", paths.join(", "))
            }
        };
        let release = self.releases.first().map_or("$(uname -r)", String::as_str);
        let mut hint = install_hint_of(sysroot, release);
        if !self.options.ids {
            hint += super::DEBUGINFOD;
        }
        Error::new(ErrorKind::NoDebugInfo, message).hint(hint)
    }

    /// The running release, if its files were searched for.
    #[cfg(feature = "debuginfod")]
    pub fn running(&self) -> Option<&str> {
        self.options.running.as_ref().map(|running| &*running.release)
    }

    /// The packages in folders that were given.
    fn packages(&self) -> impl Iterator<Item = PathBuf> {
        self.paths.iter().flat_map(|path| discover::packages_below(path))
    }

    fn there(&self) -> impl Iterator<Item = &PathBuf> {
        self.places.iter().filter(|place| place.found == Found::Something).map(|place| &place.path)
    }

    /// The BTF of the running kernel, if that kernel is requested.
    fn own_btf(&self) -> Option<PathBuf> {
        let running = self.options.running.as_ref().filter(|running| running.is_wanted)?;
        let own = Path::new(discover::OWN_BTF);
        (self.releases.contains(&running.release) && own.exists()).then(|| own.to_owned())
    }
}

/// The running kernel, if its release was requested rather than a path.
fn running(releases: &[String]) -> Option<Running> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?.trim().to_owned();
    let build_id = gather::build_id("/sys/kernel/notes".as_ref()).unwrap_or_default();
    Some(Running { is_wanted: releases.contains(&release), release, build_id })
}

/// The command that installs the debug information of a release on this system.
pub fn install_hint(release: &str) -> String {
    install_hint_of(&Sysroot::default(), release)
}

fn install_hint_of(sysroot: &Sysroot, release: &str) -> String {
    let read = |path: &str| std::fs::read_to_string(sysroot.resolve(&sysroot.join(path)).ok()?).ok();
    // os-release(5): the second file is used if the first is missing.
    let system = read("etc/os-release").or_else(|| read("usr/lib/os-release")).unwrap_or_default();
    discover::install_hint(&system).replace("$(uname -r)", release)
}
