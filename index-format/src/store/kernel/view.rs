//! A kernel of a store as a view.
use super::Kernel;
use crate::header::SectionName;
use crate::id::{ObjectId, StrId};
use crate::records::Records;
use crate::store::paths;
use crate::store::translate::Translate;
use crate::strings::{Coded, Decoded, Strings};
use crate::tapset::Tapset;
use crate::view::View;
use std::borrow::Cow;
use zerocopy::FromBytes;

/// The sections that a store keeps as they are, in its order.
pub const BLOBS: [SectionName; 7] = [
    SectionName::Tapset,
    SectionName::TapsetNames,
    SectionName::TapsetStrings,
    SectionName::TapsetDefinitions,
    SectionName::TapsetTrees,
    SectionName::TapsetSources,
    SectionName::Meta,
];

/// How many of them are the tapset's: all but the metadata.
pub(in crate::store) const TAPSET: usize = BLOBS.len() - 1;

/// Of the strings of an index, for a store has none.
static NONE: Decoded = Decoded::new();

impl<'a> View<'a> {
    /// A kernel of a store, as if it had an index of its own.
    pub fn of_store(kernel: &'a Kernel<'a>) -> Self {
        Self {
            file: &[],
            directory: &[],
            store: Some(kernel),
            machine: kernel.own().header.machine.get(),
            release: StrId::new(kernel.own().header.release.get()),
            strings: Strings::new(Coded::default(), &NONE),
            objects: kernel.records(),
            sections: kernel.table(),
            units: kernel.records(),
            unit_files: kernel.table(),
            names: kernel.table(),
            name_hash: &[],
            functions: kernel.table(),
            function_details: &[],
            variables: kernel.table(),
            postings: &[],
            places: kernel.table(),
            place_details: &[],
            ranges: kernel.table(),
            symbols: kernel.table(),
            symbol_names: kernel.table(),
            types: kernel.table(),
            members: kernel.table(),
            sequences: kernel.table(),
            lines: &[],
            sites: kernel.table(),
            segments: &[],
            refused: Records::of_slice(kernel.refused()),
            boundaries: &[],
            type_users: kernel.table(),
            type_uses: &[],
            frames: kernel.table(),
            frame_rows: &[],
            tracepoints: kernel.records(),
            event_fields: kernel.table(),
            labels: &[],
            configuration: &[],
            tapset: Tapset {
                meta: kernel.blob(0),
                names: <[_]>::ref_from_bytes(kernel.blob(1)).unwrap_or_default(),
                strings: kernel.blob(2),
                definitions: <[_]>::ref_from_bytes(kernel.blob(3)).unwrap_or_default(),
                trees: kernel.blob(4),
            },
        }
    }
    /// The kernel of a store that this is.
    pub fn store(&self) -> Option<&'a Kernel<'a>> {
        self.store
    }

    /// All strings in parts that are sorted, each with the id of its first string.
    pub fn string_parts(&self) -> impl Iterator<Item = (Strings<'a>, u32)> + use<'a> {
        let own = Some((self.strings, 0)).filter(|_| self.store.is_none());
        own.into_iter().chain(self.store.into_iter().flat_map(Kernel::strings))
    }
    /// The id of a string. Cost: a binary search in each part.
    pub fn find_string(&self, text: &[u8]) -> Option<StrId> {
        let found = self.store.map_or_else(|| self.strings.find(text), |store| store.find_string(text));
        found.map(StrId::new)
    }

    /// What strings are sorted by: ids of an index, which are in the order of its strings, texts of a store.
    #[inline]
    pub fn order_of(&self, id: StrId) -> (StrId, &'a [u8]) {
        match self.store {
            None => (id, &[]),
            Some(_) => (StrId::new(0), self.string(id)),
        }
    }
    /// A line of a file as this kernel counts it, from a call site or line row.
    #[inline]
    pub fn line(&self, file: StrId, line: u32) -> u32 {
        self.store.map_or(line, |store| store.line(file.get(), line))
    }

    /// The file that an object was read from: see `path` of [`ObjectRecord`](crate::record::ObjectRecord).
    pub fn object_path(&self, object: ObjectId) -> Cow<'a, [u8]> {
        let of = |object: usize| self.objects.get(object).map_or(&[][..], |o| self.string(o.path));
        let path = of(object.index());
        match self.store {
            Some(_) => paths::whole(path, self.release(), of(0)),
            None => Cow::Borrowed(path),
        }
    }
}
