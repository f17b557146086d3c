//! What scripts can use of tapsets, looked up by name.
use super::Library;
use super::ast::{Alias, Function, Global, Point, Probe};
use super::expand::{Aliases, Leaf};
use crate::error::Result;
use std::collections::HashMap;
use std::path::Path;

/// Aliases, functions and globals by name.
pub struct Definitions<'l> {
    library: &'l Library,
    aliases: Aliases<'l>,
    functions: HashMap<&'l str, Vec<&'l Function>>,
    globals: HashMap<&'l str, Vec<&'l Global>>,
}

impl<'l> Definitions<'l> {
    /// Those of a library.
    pub fn new(library: &'l Library) -> Self {
        let mut functions: HashMap<_, Vec<_>> = HashMap::new();
        library.functions().for_each(|f| functions.entry(&*f.name).or_default().push(f));
        let mut globals: HashMap<_, Vec<_>> = HashMap::new();
        library.globals().for_each(|g| globals.entry(&*g.name).or_default().push(g));
        Self { library, aliases: Aliases::new(library.aliases()), functions, globals }
    }

    /// Goes to every point that no alias names: see [`Aliases::expand`].
    pub fn expand(&self, point: &Point, visit: impl FnMut(Leaf<'_>) -> bool) -> Result<bool> {
        self.aliases.expand(point, visit)
    }
    /// The aliases, in the order of reading.
    pub fn aliases(&self) -> impl Iterator<Item = &Alias> {
        self.library.aliases()
    }
    /// The functions of a name: several, if it is overloaded.
    pub fn functions(&self, name: &str) -> impl Iterator<Item = &Function> {
        self.functions.get(name).into_iter().flatten().copied()
    }
    /// The names that functions have.
    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().copied()
    }
    /// The globals of a name: several, if they are private to their files.
    pub fn globals(&self, name: &str) -> impl Iterator<Item = &Global> {
        self.globals.get(name).into_iter().flatten().copied()
    }
    /// What the tapset of this number runs by itself once a script uses anything of it.
    pub fn probes(&self, file: u32) -> impl Iterator<Item = &Probe> {
        self.library.scripts.iter().filter(move |s| s.file == file).flat_map(|s| &s.probes)
    }
    /// The file of a [`Place`](super::Place).
    pub fn path(&self, file: u32) -> &Path {
        self.library.path(file)
    }
}
