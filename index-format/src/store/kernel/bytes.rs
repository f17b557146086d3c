//! Rows and bytes by their shared numbers: which segment has them, and what a patch makes of others.
use super::Kernel;
use super::open::BySegment;
use crate::error::Result;
use crate::id::StrId;
use crate::record::Record;
use crate::store::patch::{self, Patch};
use crate::store::segment::{Entry, Part, Segment};
use crate::strings::{Coded, Decoded, Strings};
use std::sync::Arc;

/// The bits of the longest number.
const HEAD: u64 = 128;

impl<'a> Kernel<'a> {
    /// The segment that has a shared row or byte, and the position of it there.
    #[inline]
    pub(in crate::store) fn segment(&self, part: Part, number: u32) -> (&Segment<'a>, &'a Entry, u32) {
        let segment = &self.chain[self.depth_of(part, number)];
        let entry = segment.entry(part);
        (segment, entry, number.wrapping_sub(entry.first.get()))
    }
    /// The number of segments before the one that has a shared row or byte.
    #[inline]
    fn depth_of(&self, part: Part, number: u32) -> usize {
        let firsts = &self.firsts[part as usize * self.chain.len()..][..self.chain.len()];
        firsts.partition_point(|first| *first <= number).saturating_sub(1)
    }
    /// The shared bytes from this number on, to the end of those of its segment, or those that a patch there makes.
    #[inline]
    pub fn bytes(&self, part: Part, number: u32) -> &[u8] {
        let (bytes, is_patch) = self.as_stored(part, number);
        if is_patch { self.patched(part, number, bytes, 0) } else { bytes }
    }
    /// The shared bytes of a part that has no patches.
    #[inline]
    pub(super) fn plain(&self, part: Part, number: u32) -> &'a [u8] {
        let (segment, _, at) = self.segment(part, number);
        segment.part(part).get(at as usize..).unwrap_or_default()
    }
    /// The bytes from this number on, and whether they are a patch.
    #[inline]
    fn as_stored(&self, part: Part, number: u32) -> (&'a [u8], bool) {
        let (segment, _, at) = self.segment(part, number);
        let bytes = segment.part(part).get(at as usize..).unwrap_or_default();
        (bytes, self.patched.has(&self.chain, segment, part, number))
    }
    /// What a patch makes. Bytes that it starts from have a smaller number, and may come from a patch too.
    #[cold]
    fn patched(&self, part: Part, number: u32, bytes: &[u8], depth: u32) -> &[u8] {
        self.assembled.get(part, number, || {
            let patch = Patch::read(bytes).filter(|patch| patch.base < number && depth < patch::DEEPEST);
            patch.map_or_else(Vec::new, |patch| match self.as_stored(part, patch.base) {
                (old, true) => patch.apply(self.patched(part, patch.base, old, depth + 1)),
                (old, false) => patch.apply(old),
            })
        })
    }
    /// As [`bytes`](Self::bytes), for who reads no more than the first [`HEAD`] bits: fewer patches are made for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn cold_head(&self, part: Part, mut number: u32) -> &[u8] {
        for _ in 0..patch::DEEPEST {
            let (bytes, is_patch) = self.as_stored(part, number);
            let patch = Some(bytes).filter(|_| is_patch).and_then(Patch::read);
            match patch.filter(|patch| patch.base < number && patch.starts_as_its_base(HEAD)) {
                Some(patch) => number = patch.base,
                None => break,
            }
        }
        self.bytes(part, number)
    }
    /// How many patches lead to what is at this number: 0 if it is none.
    pub fn patches(&self, part: Part, mut number: u32) -> u32 {
        for patches in 0..patch::DEEPEST {
            let (bytes, is_patch) = self.as_stored(part, number);
            match Some(bytes).filter(|_| is_patch).and_then(Patch::read) {
                Some(patch) => number = patch.base,
                None => return patches,
            }
        }
        patch::DEEPEST
    }
    /// As [`bytes`](Self::bytes), for readers that mostly read an index.
    #[cold]
    #[inline(never)]
    pub(crate) fn cold_bytes(&self, part: Part, number: u32) -> &[u8] {
        self.bytes(part, number)
    }
    /// As [`text`](Self::text), for readers that mostly read an index.
    #[cold]
    #[inline(never)]
    pub(crate) fn cold_text(&self, id: StrId) -> &[u8] {
        self.text(id)
    }
    /// A shared row as it is stored.
    #[inline]
    pub fn raw<R: Record>(&self, part: Part, row: u32) -> Option<R> {
        let (segment, _, at) = self.segment(part, row);
        segment.rows::<R>(part).get(at as usize)
    }
    /// A string.
    pub fn text(&self, id: StrId) -> &[u8] {
        let depth = self.depth_of(Part::Strings, id.get());
        let first = self.chain[depth].entry(Part::Strings).first.get();
        self.strings[depth].strings().get(id.get().wrapping_sub(first))
    }
    /// The number of a string. Cost: a binary search in each segment.
    pub fn find_string(&self, text: &[u8]) -> Option<u32> {
        self.strings().find_map(|(strings, first)| strings.find(text).map(|at| first + at))
    }
    /// The strings of each segment, and the number of the first one.
    pub fn strings(&self) -> impl Iterator<Item = (Strings<'_>, u32)> {
        let firsts = self.chain.iter().map(|segment| segment.entry(Part::Strings).first.get());
        self.strings.iter().map(StringPart::strings).zip(firsts)
    }
}

/// The strings of a segment.
pub struct StringPart<'a> {
    coded: Coded<'a>,
    decoded: Arc<Decoded>,
}

impl<'a> StringPart<'a> {
    pub fn open(segment: &Segment<'a>, open: &BySegment<Decoded>) -> Result<Self> {
        let coded = Coded::open(segment.part(Part::Strings))?;
        Ok(Self { coded, decoded: open.get_or_default(segment.id()) })
    }
    fn strings(&self) -> Strings<'_> {
        Strings::new(self.coded, &self.decoded)
    }
}
