//! SystemTap's tapsets as they hold for the kernel of the index, and the texts that they were read from.
//!
//! What a tapset defines is a **definition**: an alias, a function, a global, a macro, what it probes by itself, or C
//! outside of functions. Each is a tree of its own in `tapset_trees`, so that an answer decodes the few that it needs.
//!
//! ```text
//! kind and name ──▶ tapset_names ──▶ tapset_definitions ──▶ tapset_trees
//!                        └──▶ tapset_strings
//! ```
//!
//! * `tapset_definitions` has one offset into `tapset_trees` for each definition in the order of reading, and one more.
//! * `tapset_names` is sorted by kind, then by name component by component ([`order`]), so that all that begins with
//!   `syscall.` stands together; then by definition. An alias of several names has several records; definitions that
//!   have no name have one with the empty name.
//! * A tree is one `Definition` of the crate `probeidx` as serde writes it with bincode 2 (its standard configuration),
//!   with the rules of `probeidx::tapset::stored`: places as differences, operators as numbers.
//! * `tapset` is a [`TapsetMeta`], empty where no tapsets were indexed. `tapset_sources` is a [`SourcesMeta`].
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::cmp::Ordering;
use std::ops::Range;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What a definition is. Part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DefinitionKind {
    /// `probe name = …`.
    Alias = 1,
    /// `function name`.
    Function = 2,
    /// `global name`.
    Global = 3,
    /// `@define name`, for all files.
    Macro = 4,
    /// `probe …`: no name.
    Probe = 5,
    /// C outside of functions: no name.
    Embedded = 6,
}

/// By which name a definition is found.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct TapsetNameRecord {
    /// Its name: an offset into `tapset_strings`, where it ends with a NUL.
    pub name: U32,
    /// Into `tapset_definitions`.
    pub definition: U32,
    /// A [`DefinitionKind`].
    pub kind: u8,
}
const _: () = assert!(size_of::<TapsetNameRecord>() == 9);

/// For which target the tapsets were read, and which of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapsetMeta {
    /// As SystemTap names it: `x86_64`, `arm64`.
    pub arch: String,
    /// The kernel's release.
    pub release: String,
    /// The version of SystemTap whose behaviour was asked for.
    pub systemtap: String,
    /// Whether SystemTap knows the kernel's functions by their symbols: without `System.map` it does not.
    pub system_map: bool,
    /// The paths of the files, as places count them.
    pub files: Vec<String>,
}

/// The folders of tapsets with all of their files, those for other kernels too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcesMeta {
    /// The folders that were given, in their order.
    pub folders: Vec<FolderMeta>,
    /// The texts of all files that could be read, one after another, as zlib compresses them.
    pub texts: Vec<u8>,
}

/// A folder of tapsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderMeta {
    /// Where it was.
    pub path: String,
    /// By path.
    pub files: Vec<SourceMeta>,
}

/// A file of a folder of tapsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMeta {
    /// Below the folder.
    pub path: String,
    /// Files of one number are one file under several names.
    pub identity: u32,
    /// In bytes.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// How many bytes of the texts are its own; none if it could not be read.
    pub text: Option<u64>,
}

/// The tables of the tapsets. Copying it is copying pointers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tapset<'a> {
    pub(crate) meta: &'a [u8],
    pub(crate) names: &'a [TapsetNameRecord],
    pub(crate) strings: &'a [u8],
    pub(crate) definitions: &'a [U32],
    pub(crate) trees: &'a [u8],
}

/// The same with bytes of its own, to be written.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// `tapset`: see [`encode`].
    pub meta: Vec<u8>,
    /// `tapset_names`.
    pub names: Vec<TapsetNameRecord>,
    /// `tapset_strings`.
    pub strings: Vec<u8>,
    /// `tapset_definitions`.
    pub definitions: Vec<U32>,
    /// `tapset_trees`.
    pub trees: Vec<u8>,
}

impl Tables {
    /// The same to be read.
    pub fn as_tapset(&self) -> Tapset<'_> {
        let Self { meta, names, strings, definitions, trees } = self;
        Tapset { meta, names, strings, definitions, trees }
    }
}

impl<'a> Tapset<'a> {
    /// Whether the index was built without tapsets.
    pub fn is_empty(&self) -> bool {
        self.meta.is_empty()
    }
    /// How many definitions there are.
    pub fn definitions(&self) -> usize {
        self.definitions.len().saturating_sub(1)
    }
    /// What the tapsets were read for. Cost: decoding it.
    pub fn meta(&self) -> Result<TapsetMeta> {
        let damaged = Error::Section { section: "tapset", offset: 0, what: "it cannot be decoded" };
        decode(self.meta).ok_or(damaged)
    }
    /// The positions of the names of a kind. Cost: a binary search.
    pub fn of_kind(&self, kind: DefinitionKind) -> Range<usize> {
        let start = self.names.partition_point(|n| n.kind < kind as u8);
        start..start + self.names[start..].partition_point(|n| n.kind <= kind as u8)
    }
    /// The positions of a name of a kind. Cost: a binary search.
    pub fn named(&self, kind: DefinitionKind, name: &[u8]) -> Range<usize> {
        let Range { start, end } = self.of_kind(kind);
        let of_kind = &self.names[start..end];
        let before = of_kind.partition_point(|n| order(self.string(n), name).is_lt());
        let same = of_kind[before..].partition_point(|n| order(self.string(n), name).is_le());
        start + before..start + before + same
    }
    /// The name at a position; empty past the end.
    pub fn name(&self, position: usize) -> &'a [u8] {
        self.names.get(position).map_or(&[], |record| self.string(record))
    }
    fn string(&self, record: &TapsetNameRecord) -> &'a [u8] {
        let rest = self.strings.get(record.name.get() as usize..).unwrap_or_default();
        &rest[..rest.iter().position(|b| *b == 0).unwrap_or(rest.len())]
    }
    /// Which definition the name at a position is of.
    pub fn definition(&self, position: usize) -> usize {
        self.names.get(position).map_or(usize::MAX, |record| record.definition.get() as usize)
    }
    /// The bytes of a definition's tree.
    pub fn tree(&self, definition: usize) -> &'a [u8] {
        match self.definitions.get(definition..) {
            Some([start, end, ..]) => {
                self.trees.get(start.get() as usize..end.get() as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

/// The order of names: component by component.
pub fn order(left: &[u8], right: &[u8]) -> Ordering {
    // A dot ends a component, so that it comes before every other byte.
    let rank = |byte: &u8| if *byte == b'.' { 0 } else { u16::from(*byte) + 1 };
    match left.iter().zip(right).find(|(l, r)| l != r) {
        Some((l, r)) => rank(l).cmp(&rank(r)),
        None => left.len().cmp(&right.len()),
    }
}

/// The bytes of a tree, or of what is described above.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, bincode::config::standard()).expect("encoding to memory cannot fail")
}

/// Reads what [`encode`] wrote. `None` for other bytes; it takes no more memory than some hundred times their length.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let config = bincode::config::standard().with_limit::<{ 256 << 20 }>();
    match bincode::serde::decode_from_slice(bytes, config) {
        Ok((value, read)) if read == bytes.len() => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_alike_stands_together() {
        let mut names = ["a.b", "a_b.c", "a", "a.c", "a$.b", "a.b.c", "b"];
        names.sort_by(|l, r| order(l.as_bytes(), r.as_bytes()));
        assert_eq!(names, ["a", "a.b", "a.b.c", "a.c", "a$.b", "a_b.c", "b"]);
    }

    #[test]
    fn names_lead_to_their_trees_and_bytes_that_lie_to_none() {
        let record = |name, definition, kind| TapsetNameRecord {
            name: U32::new(name),
            definition: U32::new(definition),
            kind,
        };
        let tables = Tables {
            names: vec![record(0, 1, 1), record(2, 0, 1), record(2, 7, 2), record(99, 0, 2)],
            strings: b"a\0b\0".to_vec(),
            definitions: [0, 3, 5].map(U32::new).to_vec(),
            trees: b"xyzuv".to_vec(),
            ..Tables::default()
        };
        let tapset = tables.as_tapset();
        assert_eq!(tapset.of_kind(DefinitionKind::Alias), 0..2);
        assert_eq!(tapset.of_kind(DefinitionKind::Global), 4..4);
        let found = tapset.named(DefinitionKind::Alias, b"b");
        assert_eq!(found, 1..2);
        assert_eq!(tapset.tree(tapset.definition(found.start)), b"xyz");
        assert_eq!(tapset.tree(tapset.definition(2)), b"");
        assert_eq!((tapset.name(3), tapset.name(9)), (&b""[..], &b""[..]));
        assert_eq!(decode::<TapsetMeta>(b"\xff\xff"), None);
    }
}
