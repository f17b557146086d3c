//! Writes a segment.
use super::{Entry, Free, MAGIC, Part, SegmentHeader, SegmentId, VERSION};
use crate::header::checksum;
use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

/// What the header of a segment says of its kernel: see [`SegmentHeader`].
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// `e_machine` of the objects.
    pub machine: u16,
    /// The segment before; zeros for the first of a chain.
    pub before: SegmentId,
    /// The number of the kernel's release among strings.
    pub release: u32,
    /// The number of segments before.
    pub depth: u32,
    /// The first shared numbers that are free after it.
    pub free: [u32; Free::COUNT],
    /// How many functions with code, types and tracepoints the kernel has, as a comparison counts them.
    pub compared: u32,
}

/// Writes a segment to memory. All parts must be put, in the order of [`Part::ALL`].
#[derive(Default)]
pub struct SegmentWriter {
    body: Vec<u8>,
    entries: Vec<Entry>,
}

impl SegmentWriter {
    /// The next part.
    pub fn part(&mut self, part: Part, bytes: &[u8], records: u32, first: u32) {
        assert_eq!(Part::ALL.get(self.entries.len()), Some(&part), "parts are written in order");
        let front = size_of::<SegmentHeader>() + Part::ALL.len() * size_of::<Entry>();
        self.entries.push(Entry {
            offset: U32::new((front + self.body.len()) as u32),
            length: U32::new(bytes.len() as u32),
            checksum: U32::new(checksum(bytes)),
            records: U32::new(records),
            first: U32::new(first),
        });
        self.body.extend_from_slice(bytes);
    }
    /// The segment of a kernel.
    pub fn finish(self, own: &Own) -> Vec<u8> {
        assert_eq!(self.entries.len(), Part::ALL.len(), "all parts are written");
        let front = size_of::<SegmentHeader>() + size_of_val(&self.entries[..]);
        let mut header = SegmentHeader {
            magic: MAGIC,
            version: U32::new(VERSION),
            machine: U16::new(own.machine),
            parts: U16::new(Part::ALL.len() as u16),
            length: U64::new((front + self.body.len()) as u64),
            before: own.before,
            release: U32::new(own.release),
            depth: U32::new(own.depth),
            free: own.free.map(U32::new),
            compared: U32::new(own.compared),
            directory_checksum: U32::new(checksum(self.entries.as_bytes())),
            checksum: U32::ZERO,
        };
        let length = size_of::<SegmentHeader>() - size_of::<U32>();
        header.checksum = U32::new(checksum(&header.as_bytes()[..length]));
        [header.as_bytes(), self.entries.as_bytes(), &self.body].concat()
    }
}
