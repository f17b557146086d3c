//! The files of the packages of a build: those in memory, and those that are yet to be unpacked.
//!
//! A package whose own list tells what it contains is unpacked by a thread that starts when the first of its files is asked for. Who
//! asks for a file waits until it is there. The thread is ahead of who asks by [`AHEAD`] bytes, so that a package of gigabytes
//! is in memory by parts: a file that was asked for counts no more, and leaves when it is [forgotten](super::forget).
//!
//! ```text
//! the thread:  [vmlinux][a.ko][b.ko][c.ko] waits: b.ko and c.ko are more than AHEAD
//! who asks:     find(vmlinux)  find(a.ko)  ..
//! ```
//!
//! Nobody waits for ever: who asks for a file that comes late lifts the bound of its package, and what never comes is told as soon
//! as the thread ends.
use super::Member;
use crate::error::{Error, ErrorKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that a package may be unpacked ahead of who reads it; one file may exceed them.
const AHEAD: u64 = 64 << 20;

/// What unpacks a package, in a thread of its own.
pub type Start = Box<dyn FnOnce(Feed) + Send>;

/// All packages of a build. With it ends what unpacks them.
#[derive(Default)]
pub(super) struct Tree(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    packages: Vec<Package>,
    files: HashMap<PathBuf, File>,
    is_abandoned: bool,
}

#[derive(Default)]
struct Package {
    path: PathBuf,
    /// Until the first of its files is asked for.
    start: Option<Start>,
    /// What it has when it is unpacked, if that is known.
    bytes: u64,
    /// Whether a thread unpacks it.
    is_running: bool,
    /// How many wait for one of its files.
    waiting: usize,
    /// Bytes that are there and were not asked for.
    ahead: u64,
    /// Whether what is yet to come is wanted by nobody.
    is_left: bool,
    errors: Vec<Error>,
}

enum File {
    Here {
        member: Member,
        /// The package that it is counted for until it is asked for.
        ahead_of: Option<usize>,
    },
    /// It is yet to be unpacked.
    Coming(usize),
    /// It was forgotten before it came.
    Unwanted,
}

impl Tree {
    /// Adds a package; its files can be found from now on.
    pub(super) fn add_package(&self, path: &Path) {
        self.0.state().packages.push(Package { path: path.to_owned(), ..Package::default() });
    }

    /// Adds a file.
    pub(super) fn add(&self, path: PathBuf, member: Member) {
        self.0.state().files.insert(path, File::Here { member, ahead_of: None });
    }

    /// Files of the package that was added last, which `start` unpacks once one of them is asked for.
    pub(super) fn expect(&self, files: impl Iterator<Item = PathBuf>, bytes: u64, start: Start) {
        let mut state = self.0.state();
        let Some(number) = state.packages.len().checked_sub(1) else { return };
        state.files.extend(files.map(|path| (path, File::Coming(number))));
        (state.packages[number].start, state.packages[number].bytes) = (Some(start), bytes);
    }

    /// How many bytes the packages have that have one of these files.
    pub(super) fn bytes_of(&self, files: &mut dyn Iterator<Item = &Path>) -> u64 {
        let state = self.0.state();
        let wanted = state.having(files);
        state
            .packages
            .iter()
            .zip(wanted)
            .filter(|(_, is_wanted)| *is_wanted)
            .map(|(package, _)| package.bytes)
            .sum()
    }

    pub(super) fn packages(&self) -> Vec<PathBuf> {
        self.0.state().packages.iter().map(|package| package.path.clone()).collect()
    }

    /// The file; waits for it if it is yet to be unpacked.
    pub(super) fn find(&self, path: &Path) -> Option<Member> {
        let mut state = self.0.state();
        let names = state.names(path)?;
        loop {
            let name = names.iter().find(|name| state.is_there(name))?;
            if let Some(member) = state.take(name) {
                self.0.changed.notify_all();
                return Some(member);
            }
            let Some(&File::Coming(number)) = state.files.get(name) else { return None };
            state = self.0.wait(state, number);
        }
    }

    /// Whether there is such a file, or it is yet to be unpacked.
    pub(super) fn has(&self, path: &Path) -> bool {
        let state = self.0.state();
        state.names(path).is_some_and(|names| names.iter().any(|name| state.is_there(name)))
    }

    /// Drops a file, or passes over it when it comes.
    pub(super) fn forget(&self, path: &Path) {
        let mut state = self.0.state();
        state.take(path);
        match state.files.get_mut(path) {
            Some(file @ File::Coming(_)) => *file = File::Unwanted,
            Some(File::Here { .. }) => drop(state.files.remove(path)),
            _ => {}
        }
        self.0.changed.notify_all();
    }

    /// Waits until the packages that have one of these files, or all, are read to their ends; what is yet to come of them is passed over.
    /// Gives what was wrong with them, once.
    pub(super) fn end(&self, files: Option<&mut dyn Iterator<Item = &Path>>) -> Vec<Error> {
        let mut state = self.0.state();
        let wanted = match files {
            Some(files) => state.having(files),
            None => vec![true; state.packages.len()],
        };
        let mut errors = vec![];
        for number in (0..wanted.len()).filter(|number| wanted[*number]) {
            while state.packages[number].is_running {
                state.packages[number].is_left = true;
                self.0.changed.notify_all();
                state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            errors.append(&mut state.packages[number].errors);
        }
        errors
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.0.state().is_abandoned = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for anything to change, as one who asks for a file of this package, which starts with it.
    fn wait<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State>,
        number: usize,
    ) -> MutexGuard<'s, State> {
        let package = &mut state.packages[number];
        package.waiting += 1;
        if let Some(start) = package.start.take() {
            package.is_running = true;
            let feed = Feed { shared: Arc::clone(self), number };
            // A thread that cannot be started drops the feed, which needs the state.
            drop(state);
            let started = std::thread::Builder::new().name("package".into()).spawn(move || start(feed));
            state = self.state();
            if let Err(error) = started {
                let what = format!("no thread to unpack it: {error}");
                let error = Error::new(ErrorKind::Exhausted, what).at(&state.packages[number].path);
                state.packages[number].errors.push(error);
            }
        } else {
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.packages[number].waiting -= 1;
        state
    }
}

impl State {
    /// The paths that a file may have, the best first: below its own package, then below the others.
    fn names(&self, path: &Path) -> Option<Vec<PathBuf>> {
        let below = self.packages.iter().find_map(|package| path.strip_prefix(&package.path).ok())?;
        let others = self.packages.iter().map(|package| package.path.join(below));
        Some(std::iter::once(path.to_owned()).chain(others).collect())
    }

    /// Whether each package has one of these files, by their paths.
    fn having(&self, files: &mut dyn Iterator<Item = &Path>) -> Vec<bool> {
        let mut having = vec![false; self.packages.len()];
        for file in files {
            if let Some(number) = self.packages.iter().position(|package| file.starts_with(&package.path)) {
                having[number] = true;
            }
        }
        having
    }

    fn is_there(&self, path: &Path) -> bool {
        matches!(self.files.get(path), Some(File::Here { .. } | File::Coming(_)))
    }

    /// A file that is in memory, which is asked for from now on.
    fn take(&mut self, path: &Path) -> Option<Member> {
        let Some(File::Here { member, ahead_of }) = self.files.get_mut(path) else { return None };
        if let Some(number) = ahead_of.take() {
            self.packages[number].ahead -= member.bytes.len() as u64;
        }
        Some(member.clone())
    }
}

/// Where the thread that unpacks a package puts its files.
pub struct Feed {
    shared: Arc<Shared>,
    number: usize,
}

impl Feed {
    /// Whether a file is wanted; `None` if the list of the package does not have it.
    pub fn wants(&self, path: &Path) -> Option<bool> {
        let mut state = self.shared.state();
        let is_left = state.packages[self.number].is_left;
        match state.files.get(path)? {
            File::Coming(number) if *number == self.number && is_left => {
                state.files.insert(path.to_owned(), File::Unwanted);
                Some(false)
            }
            File::Coming(number) => Some(*number == self.number),
            File::Unwanted | File::Here { .. } => Some(false),
        }
    }

    /// Whether nobody reads the package any more.
    pub fn is_over(&self) -> bool {
        self.shared.state().is_abandoned
    }

    /// Adds a file, and waits while too many were not asked for.
    pub fn add(&self, path: PathBuf, member: Member) {
        let mut state = self.shared.state();
        state.packages[self.number].ahead += member.bytes.len() as u64;
        state.files.insert(path, File::Here { member, ahead_of: Some(self.number) });
        self.shared.changed.notify_all();
        loop {
            let package = &state.packages[self.number];
            let is_bound = package.waiting == 0 && !package.is_left && !state.is_abandoned;
            if !is_bound || package.ahead <= AHEAD {
                return;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes what is wrong with the package.
    pub fn fault(&self, error: Error) {
        self.shared.state().packages[self.number].errors.push(error);
    }

    /// The files of the list that did not come so far.
    pub fn missing(&self) -> Vec<PathBuf> {
        let state = self.shared.state();
        let is_missing = |file: &File| matches!(file, File::Coming(number) if *number == self.number);
        let mut missing: Vec<PathBuf> =
            state.files.iter().filter(|(_, file)| is_missing(file)).map(|(path, _)| path.clone()).collect();
        missing.sort_unstable();
        missing
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let number = self.number;
        state.files.retain(|_, file| !matches!(file, File::Coming(of) if *of == number));
        state.packages[number].is_running = false;
        self.shared.changed.notify_all();
    }
}
