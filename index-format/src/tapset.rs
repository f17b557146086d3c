//! SystemTap's tapsets as they apply to the kernel of the index, and the texts that they were read from.
//!
//! A tapset consists of **definitions**: aliases, functions, globals, macros, probes of its own, and C outside of
//! functions. Each is a separate tree in `tapset_trees`, so that a query decodes only the few it needs.
//!
//! ```text
//! kind and name ──▶ tapset_names ──▶ tapset_definitions ──▶ tapset_trees
//!                        └──▶ tapset_strings
//! ```
//!
//! * `tapset_definitions` has the offset into `tapset_trees` of each definition in the order of reading, and one
//!   more.
//! * `tapset_names` is sorted by kind, then by name component by component ([`order`]), so that all names that start
//!   with `syscall.` are together; then by definition. An alias with several names has several records; a definition
//!   without a name has one with the empty name.
//! * `tapset_trees` has all trees one after another, in blocks of 16 KiB, each compressed by zlib. First, for each block,
//!   a `U32`: where it ends, from the start of the section; the first one starts where these end. The offsets in
//!   `tapset_definitions` are those before compression.
//! * A tree is one `Definition` of the crate `probeidx`, serialized by serde with bincode 2 (its standard
//!   configuration) by the rules of `probeidx::tapset::stored`: places as differences, operators as numbers.
//! * `tapset` is a [`TapsetMeta`], empty if no tapsets were indexed. `tapset_sources` is a [`SourcesMeta`].
mod decode;

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::cmp::Ordering;
use std::ops::Range;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The bytes of a block of `tapset_trees` before compression; the last one is shorter.
pub const BLOCK: usize = 16 << 10;

/// The kind of a definition. It is part of the format.
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

/// A name of a definition.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct TapsetNameRecord {
    /// Its name: an offset into `tapset_strings`, NUL-terminated.
    pub name: U32,
    /// Into `tapset_definitions`.
    pub definition: U32,
    /// A [`DefinitionKind`].
    pub kind: u8,
}
const _: () = assert!(size_of::<TapsetNameRecord>() == 9);

/// The target that the tapsets were read for, and the files that were used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapsetMeta {
    /// SystemTap's name: `x86_64`, `arm64`.
    pub arch: String,
    /// The kernel's release.
    pub release: String,
    /// The version of SystemTap that was emulated.
    pub systemtap: String,
    /// Whether SystemTap knows the kernel's functions by symbols, which requires `System.map`.
    pub system_map: bool,
    /// The paths of the files, in the order that places refer to. Behind them the `vmlinux.h` of the kernel's build tree, if
    /// there was one for SystemTap to read.
    pub files: Vec<String>,
}

/// The folders of tapsets with all their files, including those for other kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcesMeta {
    /// The given folders, in order.
    pub folders: Vec<FolderMeta>,
    /// The concatenated texts of all readable files, compressed by zlib.
    pub texts: Vec<u8>,
}

/// A folder of tapsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderMeta {
    /// Its path.
    pub path: String,
    /// Sorted by path.
    pub files: Vec<SourceMeta>,
}

/// A file of a folder of tapsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMeta {
    /// The path below the folder.
    pub path: String,
    /// Files with the same number are one file with several names.
    pub identity: u32,
    /// In bytes.
    pub size: u64,
    /// The modification time, in nanoseconds since 1970.
    pub modified: i64,
    /// The number of bytes of its text; `None` if it could not be read.
    pub text: Option<u64>,
}

/// The tables of the tapsets. Copying it copies pointers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tapset<'a> {
    pub(crate) meta: &'a [u8],
    pub(crate) names: &'a [TapsetNameRecord],
    pub(crate) strings: &'a [u8],
    pub(crate) definitions: &'a [U32],
    pub(crate) trees: &'a [u8],
}

/// The tables of the tapsets with owned bytes, for writing.
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
    /// `tapset_trees`; of a library that is in no index, not compressed.
    pub trees: Vec<u8>,
}

impl Tables {
    /// The tables as [`Tapset`], for reading.
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
    /// The number of definitions.
    pub fn definitions(&self) -> usize {
        self.definitions.len().saturating_sub(1)
    }
    /// The target and files of the tapsets. Cost: decoding it.
    ///
    /// # Errors
    /// [`Error::Section`] if it cannot be decoded.
    pub fn meta(&self) -> Result<TapsetMeta> {
        let damaged = Error::Section { section: "tapset", offset: 0, what: "it cannot be decoded" };
        decode(self.meta).ok_or(damaged)
    }
    /// The version of SystemTap that was emulated; `None` without tapsets. Cost: decoding three texts.
    pub fn systemtap(&self) -> Option<String> {
        // The texts that `TapsetMeta` starts with.
        let ((_, _, systemtap), _) = decode_start::<(String, String, String)>(self.meta)?;
        Some(systemtap)
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
        let before = of_kind.partition_point(|n| compare(self.from(n), name).is_lt());
        let same = of_kind[before..].partition_point(|n| compare(self.from(n), name).is_le());
        start + before..start + before + same
    }
    /// The name at a position; empty past the end.
    pub fn name(&self, position: usize) -> &'a [u8] {
        self.names.get(position).map_or(&[], |record| self.string(record))
    }
    /// How the component that starts after `length` bytes of the name at a position compares with another one. It comes
    /// first if the name ends before it.
    pub fn compare_component(&self, position: usize, length: usize, other: &[u8]) -> Ordering {
        let name = self.names.get(position).map_or(&[][..], |record| self.from(record));
        let ends_before =
            length.checked_sub(1).is_some_and(|last| name.get(last).is_none_or(|byte| *byte == 0));
        match name.get(length..).filter(|_| !ends_before) {
            None => Ordering::Less,
            Some(rest) => compare_until(rest, other, |byte| matches!(byte, 0 | b'.')),
        }
    }
    fn string(&self, record: &TapsetNameRecord) -> &'a [u8] {
        let rest = self.from(record);
        &rest[..rest.iter().position(|b| *b == 0).unwrap_or(rest.len())]
    }
    /// The strings from that of the record on: to find its end costs more than most comparisons.
    fn from(&self, record: &TapsetNameRecord) -> &'a [u8] {
        self.strings.get(record.name.get() as usize..).unwrap_or_default()
    }
    /// The definition of the name at a position.
    pub fn definition(&self, position: usize) -> usize {
        self.names.get(position).map_or(usize::MAX, |record| record.definition.get() as usize)
    }
    /// Where a definition's tree lies among all trees; empty if it has none.
    pub fn tree(&self, definition: usize) -> Range<usize> {
        match self.definitions.get(definition..) {
            Some([start, end, ..]) if start.get() <= end.get() => start.get() as usize..end.get() as usize,
            _ => 0..0,
        }
    }
    /// The bytes at this place among the trees of a library that is in no index; none past the end.
    pub fn plain(&self, tree: Range<usize>) -> &'a [u8] {
        self.trees.get(tree).unwrap_or_default()
    }
    /// The number of blocks of trees.
    pub fn blocks(&self) -> usize {
        let length = self.definitions.last().map_or(0, |end| end.get() as usize);
        // Each has an offset.
        length.div_ceil(BLOCK).min(self.trees.len() / 4)
    }
    /// The compressed bytes of a block of trees; none if it is not there.
    pub fn block(&self, number: usize) -> &'a [u8] {
        let end = |number: usize| {
            let end = self.trees.get(4 * number..4 * number + 4)?;
            Some(u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize)
        };
        let range = || Some(number.checked_sub(1).map_or(Some(4 * self.blocks()), end)?..end(number)?);
        range().and_then(|range| self.trees.get(range)).unwrap_or_default()
    }
}

/// The order of names, component by component.
pub fn order(left: &[u8], right: &[u8]) -> Ordering {
    compare(left, right)
}

/// The [`order`] of two names, of which the left one ends at a NUL if there is one.
fn compare(left: &[u8], right: &[u8]) -> Ordering {
    compare_until(left, right, |byte| byte == 0)
}

fn compare_until(left: &[u8], right: &[u8], is_end: impl Fn(u8) -> bool) -> Ordering {
    // A dot ends a component, so it sorts before every other byte.
    let rank = |byte: u8| if byte == b'.' { 0 } else { u16::from(byte) + 1 };
    for (at, &byte) in right.iter().enumerate() {
        match left.get(at) {
            Some(&other) if other == byte => {}
            Some(&other) if !is_end(other) => return rank(other).cmp(&rank(byte)),
            _ => return Ordering::Less,
        }
    }
    match left.get(right.len()) {
        Some(&more) if !is_end(more) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// The bytes of a tree or of a metadata struct above.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, bincode::config::standard()).expect("encoding to memory cannot fail")
}

/// Decodes the output of [`encode`]. `None` for other bytes; memory is bounded to some hundred times their length. The
/// value is made of structs, enumerations, tuples, lists and options of texts, `bool`, `u8`, `u32`, `u64` and `i64`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    decode_start(bytes).filter(|(_, length)| *length == bytes.len()).map(|(value, _)| value)
}

/// Like [`decode`], for a value that other bytes may follow. Also returns its length in bytes.
pub fn decode_start<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, usize)> {
    let mut reader = decode::Reader(bytes);
    let value = T::deserialize(&mut reader).ok()?;
    Some((value, bytes.len() - reader.0.len()))
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
        assert_eq!(tapset.plain(tapset.tree(tapset.definition(found.start))), b"xyz");
        assert_eq!(tapset.plain(tapset.tree(tapset.definition(2))), b"");
        assert_eq!(tapset.plain(4..6), b"");
        assert_eq!((tapset.name(3), tapset.name(9)), (&b""[..], &b""[..]));
        assert_eq!(decode::<TapsetMeta>(b"\xff\xff"), None);
        let meta = TapsetMeta { arch: "arm64".into(), systemtap: "5.6".into(), ..TapsetMeta::default() };
        let encoded = encode(&meta);
        let of = |meta: &[u8]| Tapset { meta, ..Tapset::default() }.systemtap();
        assert_eq!(of(&encoded), Some("5.6".to_owned()));
        assert_eq!((of(b""), of(b"\xff\xff")), (None, None));
    }
}
