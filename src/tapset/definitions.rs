//! Everything that a script can use: definitions in tapsets and its own.
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use probeidx_format::View;
use probeidx_format::tapset::{DefinitionKind as Kind, order};

use super::ast::{Alias, Embedded, Function, Global, Probe, Script};
use super::macros::{Macro, Macros};
use super::parser::{self, Origin};
use super::stored::{Definition, Stored};
use super::{Library, Target, Version};
use crate::error::Result;

/// Aliases, functions and globals by name. Those of an index are decoded on demand, once each; copies share what is
/// decoded, also between threads.
///
/// Definitions with damaged bytes are skipped; [`Self::whole`] reports them.
#[derive(Clone, Debug)]
pub struct Definitions<'l> {
    pub(super) stored: Arc<Stored<'l>>,
    pub(super) own: Option<Own<'l>>,
}

/// The options of an index's kernel, for a [`Target`].
pub fn configuration<'v>(view: &'v View<'v>) -> impl Fn(&str) -> Option<String> + Sync + use<'v> {
    move |option| {
        let value = view.option(option.strip_prefix("CONFIG_")?.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

/// A script, with its aliases sorted by name as in an index.
#[derive(Clone, Debug)]
pub(super) struct Own<'l> {
    script: &'l Script,
    path: &'l Path,
    pub aliases: Vec<(String, &'l Alias)>,
}

impl<'l> Definitions<'l> {
    /// The definitions in an index. Cost: the names of the files.
    ///
    /// # Errors
    /// [`NoIndex`](crate::ErrorKind::NoIndex) if it was built without tapsets.
    pub fn of_index(view: &View<'l>) -> Result<Self> {
        Ok(Self { stored: Arc::new(Stored::of_index(view.tapset)?), own: None })
    }
    /// The definitions in a library. Cost: the same as writing it to an index.
    pub fn new(library: &'l Library) -> Self {
        Self { stored: Arc::new(Stored::of_library(library)), own: None }
    }
    /// Adds the definitions of a script that was read by [`Self::read`]. Its functions and globals hide those of
    /// tapsets.
    pub fn with<'s>(&self, script: &'s Script, path: &'s Path) -> Definitions<'s>
    where
        'l: 's,
    {
        let names = |alias: &'s Alias| alias.names.iter().map(move |name| (name.name(), alias));
        let mut aliases: Vec<_> = script.aliases.iter().flat_map(names).collect();
        aliases.sort_by(|(left, _), (right, _)| order(left.as_bytes(), right.as_bytes()));
        let stored: Arc<Stored<'s>> = self.stored.clone();
        Definitions { stored, own: Some(Own { script, path, aliases }) }
    }

    /// Parses a script that uses these definitions.
    ///
    /// # Errors
    /// [`Syntax`](crate::ErrorKind::Syntax), with the place.
    pub fn read(&self, path: &Path, bytes: &[u8], target: &Target<'_>) -> Result<Script> {
        let file = u32::try_from(self.stored.files.len()).unwrap_or(u32::MAX);
        let script = parser::script(bytes, file, Origin::Script, self.stored.macros(), target);
        script.map_err(|fault| fault.into_error(|of| if of == file { path } else { self.path(of) }))
    }
    /// The target that the tapsets were read for; scripts must be read for the same one. `config` is usually that of
    /// [`configuration`].
    pub fn target<'a>(&'a self, config: &'a (dyn Fn(&str) -> Option<String> + Sync)) -> Target<'a> {
        let meta = self.stored.meta();
        Target {
            systemtap: &meta.systemtap,
            system_map: meta.system_map,
            ..Target::new(&meta.arch, &meta.release, config)
        }
    }

    /// The version of SystemTap that the tapsets are of.
    pub fn version(&self) -> Version {
        Version::parse(&self.stored.meta().systemtap).unwrap_or(Version::OLDEST)
    }

    /// Whether SystemTap finds the kernel's functions by their symbols: see [`Target::system_map`].
    pub fn system_map(&self) -> bool {
        self.stored.meta().system_map
    }

    /// Whether SystemTap finds a `vmlinux.h` in the kernel's build tree: see [`Target::vmlinux_header`].
    pub fn has_vmlinux_header(&self) -> bool {
        self.stored.meta().files.last().is_some_and(|path| path.ends_with("/vmlinux.h"))
    }

    /// The aliases of tapsets, in the order of reading, then those of the script.
    pub fn aliases(&self) -> impl Iterator<Item = &Alias> {
        let own = self.own.iter().flat_map(|own| &own.script.aliases);
        self.stored.in_order(Kind::Alias, Definition::alias).chain(own)
    }
    /// The names of all aliases, sorted component by component. Decodes none.
    pub fn alias_names(&self) -> BTreeSet<&str> {
        let stored = self.names(Kind::Alias);
        stored.chain(self.own.iter().flat_map(|own| own.aliases.iter().map(|(name, _)| &**name))).collect()
    }
    /// The aliases with exactly this name.
    pub fn alias(&self, name: &str) -> impl Iterator<Item = &Alias> {
        let stored = self.stored.of_name(Kind::Alias, name, Definition::alias);
        let own = self.own.iter().flat_map(|own| &own.aliases);
        stored.chain(own.filter(move |(own, _)| own == name).map(|(_, alias)| *alias))
    }

    /// All functions, in the order of reading, then those of the script.
    pub fn all_functions(&self) -> impl Iterator<Item = &Function> {
        let own = self.own.iter().flat_map(|own| &own.script.functions);
        self.stored.in_order(Kind::Function, Definition::function).chain(own)
    }
    /// The names of the functions in tapsets. Decodes none.
    pub fn function_names(&self) -> BTreeSet<&str> {
        self.names(Kind::Function).collect()
    }
    /// The functions of a name: several if it is overloaded, or private to files.
    pub fn functions(&self, name: &str) -> impl Iterator<Item = &Function> {
        let own = self.own.iter().flat_map(|own| &own.script.functions);
        let own: Vec<&Function> = own.filter(|function| function.name == name).collect();
        let stored = own.is_empty().then(|| self.stored.of_name(Kind::Function, name, Definition::function));
        stored.into_iter().flatten().chain(own)
    }
    /// The globals of a name: several if they are private to files.
    pub fn globals(&self, name: &str) -> impl Iterator<Item = &Global> {
        let own = self.own.iter().flat_map(|own| &own.script.globals);
        let own: Vec<&Global> = own.filter(|global| global.name == name).collect();
        let stored = own.is_empty().then(|| self.stored.of_name(Kind::Global, name, Definition::global));
        stored.into_iter().flatten().chain(own)
    }
    /// The probes of a tapset file, which run once a script uses anything from the file.
    pub fn probes(&self, file: u32) -> impl Iterator<Item = &Probe> {
        let own = self.own.iter().flat_map(|own| &own.script.probes);
        let all = self.stored.in_order(Kind::Probe, Definition::probe).chain(own);
        all.filter(move |probe| probe.place.file == file)
    }
    /// The C code of a tapset file outside of functions.
    pub fn embedded(&self, file: u32) -> impl Iterator<Item = &Embedded> {
        let own = self.own.iter().flat_map(|own| &own.script.embedded);
        let all = self.stored.in_order(Kind::Embedded, Definition::embedded).chain(own);
        all.filter(move |embedded| embedded.place.file == file)
    }
    /// The macros available to every file.
    pub fn macros(&self) -> impl Iterator<Item = (&str, &Macro<'static>)> {
        let macros: &Macros<'static> = self.stored.macros();
        macros.iter().map(|(name, of)| (&**name, &**of))
    }

    /// The file of a [`Place`](super::Place).
    pub fn path(&self, file: u32) -> &Path {
        let own = || self.own.as_ref().map_or(Path::new(""), |own| own.path);
        self.stored.files.get(file as usize).map_or_else(own, |path| path.as_path())
    }
    /// Fails if any definition requested so far is damaged.
    ///
    /// # Errors
    /// [`IndexDamaged`](crate::ErrorKind::IndexDamaged), with the section.
    pub fn whole(&self) -> Result<()> {
        self.stored.whole()
    }

    fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.stored.of_kind(kind).filter_map(|at| std::str::from_utf8(self.stored.name(at)).ok())
    }
}
