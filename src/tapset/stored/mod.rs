//! Definitions in an index: found by name, decoded individually on demand.
mod blocks;
mod deferred;
pub(super) mod tree;
mod write;

#[cfg(feature = "build")]
pub use blocks::pack;
pub use deferred::Deferred;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use probeidx_format::tapset::{DefinitionKind as Kind, Tables, Tapset, TapsetMeta};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::ast::{Alias, Embedded, Function, Global, Point, Probe};
use super::macros::{Macro, Macros};
use crate::error::{Error, ErrorKind, Result};
use blocks::Blocks;
use deferred::{Bytes, Encoded};

/// A definition of any kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Definition {
    Alias(Alias),
    Function(Box<Function>),
    Global(Global),
    Macro((String, Macro<'static>)),
    Probe(Probe),
    Embedded(Embedded),
}

impl Definition {
    /// The first byte of an alias: the number of its variant.
    const ALIAS: u8 = 0;
}

/// Accesses a definition as one of a kind, if it is.
type Part<'s, T> = fn(&'s Definition) -> Option<&'s T>;

macro_rules! parts {
    ($($name:ident: $variant:ident($of:ty),)*) => {
        impl Definition {
            $(pub fn $name(&self) -> Option<&$of> {
                if let Self::$variant(of) = self { Some(of) } else { None }
            })*
        }
    };
}

parts! {
    alias: Alias(Alias),
    function: Function(Function),
    global: Global(Global),
    named_macro: Macro((String, Macro<'static>)),
    probe: Probe(Probe),
    embedded: Embedded(Embedded),
}

/// Only indexes of kernels have tapsets.
const REMEDY: &str = "build it again with: probeidx build --force";

/// The definitions in an index, or in a library outside of any index.
#[derive(Debug)]
pub(super) struct Stored<'v> {
    tables: Source<'v>,
    meta: TapsetMeta,
    pub files: Vec<PathBuf>,
    /// By number; `None` if the bytes are damaged.
    decoded: Vec<OnceLock<Option<Box<Definition>>>>,
    /// The positions of the names of aliases, which each step of an expansion starts from.
    aliases: Range<usize>,
    /// The first damaged definition.
    damaged: Arc<OnceLock<usize>>,
    macros: OnceLock<Macros<'static>>,
    /// Where the functions and the globals of a name stand: handlers use the same names again and again.
    positions: Mutex<FxHashMap<String, [Range<usize>; 2]>>,
}

#[derive(Debug)]
enum Source<'v> {
    Index(Tapset<'v>, Blocks),
    Library(Tables),
}

impl<'v> Stored<'v> {
    pub fn of_index(tapset: Tapset<'v>) -> Result<Self> {
        if tapset.is_empty() {
            let error = Error::new(ErrorKind::NoIndex, "the index was built without tapsets");
            return Err(error.hint("build it again with: probeidx build --force --tapset DIR"));
        }
        let meta = tapset
            .meta()
            .map_err(|e| Error::new(ErrorKind::IndexDamaged, e.to_string()).section("tapset").hint(REMEDY))?;
        Ok(Self::new(Source::Index(tapset, Blocks::of(tapset)), meta))
    }

    fn new(tables: Source<'v>, meta: TapsetMeta) -> Self {
        let tapset = match &tables {
            Source::Index(tapset, _) => *tapset,
            Source::Library(tables) => tables.as_tapset(),
        };
        let (count, aliases) = (tapset.definitions(), tapset.of_kind(Kind::Alias));
        Self {
            aliases,
            tables,
            files: meta.files.iter().map(PathBuf::from).collect(),
            meta,
            decoded: (0..count).map(|_| OnceLock::new()).collect(),
            damaged: Arc::default(),
            macros: OnceLock::new(),
            positions: Mutex::default(),
        }
    }

    pub fn meta(&self) -> &TapsetMeta {
        &self.meta
    }

    fn tapset(&self) -> Tapset<'_> {
        match &self.tables {
            Source::Index(tapset, _) => *tapset,
            Source::Library(tables) => tables.as_tapset(),
        }
    }

    /// The positions of the names of a kind, sorted component by component.
    pub fn of_kind(&self, kind: Kind) -> Range<usize> {
        match kind {
            Kind::Alias => self.aliases.clone(),
            _ => self.tapset().of_kind(kind),
        }
    }
    /// The name at a position.
    pub fn name(&self, position: usize) -> &[u8] {
        self.tapset().name(position)
    }
    /// See [`Tapset::compare_component`].
    pub fn compare_component(&self, position: usize, length: usize, other: &[u8]) -> Ordering {
        self.tapset().compare_component(position, length, other)
    }
    /// The definition of the name at a position, as the expected kind; `None` if its bytes are damaged: see
    /// [`Self::whole`].
    pub fn at<'s, T>(&'s self, position: usize, of: Part<'s, T>) -> Option<&'s T> {
        self.definition(self.tapset().definition(position), of)
    }
    fn definition<'s, T>(&'s self, number: usize, of: Part<'s, T>) -> Option<&'s T> {
        let decode = || self.decode(number).map(Box::new);
        let found =
            self.decoded.get(number).and_then(|slot| slot.get_or_init(decode).as_deref()).and_then(of);
        if found.is_none() {
            let _ = self.damaged.set(number);
        }
        found
    }
    fn decode(&self, number: usize) -> Option<Definition> {
        let bytes = self.tree(number);
        if bytes.first() != Some(&Definition::ALIAS) {
            return tree::decode(&bytes);
        }
        let (head, length, before) = tree::decode_start::<(u8, Vec<Point>, Vec<Point>)>(&bytes)?;
        let (_, names, points) = head;
        let encoded = Encoded { bytes: bytes.after(length), before, number, damaged: self.damaged.clone() };
        Some(Definition::Alias(Alias { names, points, body: Deferred::new(encoded) }))
    }
    /// The bytes of a definition's tree.
    fn tree(&self, number: usize) -> Bytes {
        match &self.tables {
            Source::Index(tapset, blocks) => blocks.read(*tapset, tapset.tree(number)),
            Source::Library(tables) => {
                let tapset = tables.as_tapset();
                Bytes::from(tapset.plain(tapset.tree(number)).to_vec())
            }
        }
    }
    /// The definitions with this name.
    pub fn of_name<'s, T>(&'s self, kind: Kind, name: &str, of: Part<'s, T>) -> impl Iterator<Item = &'s T> {
        self.positions(kind, name).filter_map(move |at| self.at(at, of))
    }
    fn positions(&self, kind: Kind, name: &str) -> Range<usize> {
        let find = |kind| self.tapset().named(kind, name.as_bytes());
        let kinds = [Kind::Function, Kind::Global];
        let Some(which) = kinds.iter().position(|known| *known == kind) else { return find(kind) };
        let mut known = self.positions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(positions) = known.get(name) {
            return positions[which].clone();
        }
        known.entry(name.to_owned()).or_insert(kinds.map(find))[which].clone()
    }
    /// The definitions of a kind, in the order of reading.
    pub fn in_order<'s, T>(&'s self, kind: Kind, of: Part<'s, T>) -> impl Iterator<Item = &'s T> {
        let tapset = self.tapset();
        let mut numbers: Vec<usize> = tapset.of_kind(kind).map(|at| tapset.definition(at)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().filter_map(move |number| self.definition(number, of))
    }
    /// The macros of all files.
    pub fn macros(&self) -> &Macros<'static> {
        self.macros.get_or_init(|| {
            let macros = self.in_order(Kind::Macro, Definition::named_macro);
            macros.map(|(name, of)| (Cow::Owned(name.clone()), Arc::new(of.clone()))).collect()
        })
    }

    /// Fails if anything requested so far was damaged.
    pub fn whole(&self) -> Result<()> {
        match self.damaged.get() {
            None => Ok(()),
            Some(number) => {
                let error =
                    Error::new(ErrorKind::IndexDamaged, format!("definition {number} cannot be decoded"));
                Err(error.section("tapset_trees").hint(REMEDY))
            }
        }
    }
}
