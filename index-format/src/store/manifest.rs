//! The manifest: which kernels a store has, and where their segments are. It is small, and written anew with each change.
//!
//! ```text
//! 0     ManifestHeader     magic, version, lengths, checksum
//! …     KernelEntry[n]     a kernel each, sorted by what it is called
//! …     SegmentEntry[m]    a segment each, a later one after the one before it
//! …     strings            NUL-terminated
//! ```
use super::segment::{SegmentId, VERSION};
use crate::error::{Error, Result};
use crate::header::checksum;
use zerocopy::byteorder::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The start of every manifest.
pub const MAGIC: [u8; 8] = *b"PI\x8fMF\0\r\n";
/// In place of a segment: none.
pub const NONE: u32 = u32::MAX;

/// The start of a manifest.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ManifestHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// That of segments.
    pub version: U32,
    /// The number of kernels.
    pub kernels: U32,
    /// The number of segments.
    pub segments: U32,
    /// The length of the strings.
    pub strings: U32,
    /// The number of the file with the segments: another one whenever they are written anew.
    pub generation: U32,
    /// CRC-32 of all that follows.
    pub body: U32,
    /// CRC-32 of the header up to here.
    pub checksum: U32,
}

/// A kernel.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct KernelEntry {
    /// What it is called: its release, and its build id where the store has several of that release.
    pub name: U32,
    /// Its release.
    pub release: U32,
    /// The compiler, as the configuration or the debug information has it; empty if unknown.
    pub compiler: U32,
    /// Its segment.
    pub segment: U32,
    /// When its vmlinux was made, in nanoseconds since 1970; 0 if unknown.
    pub made: I64,
}

/// A segment.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SegmentEntry {
    /// What it is called.
    pub id: SegmentId,
    /// From the start of the data.
    pub offset: U64,
    /// In bytes.
    pub length: U64,
    /// The segment before, or [`NONE`].
    pub before: U32,
    /// `e_machine`.
    pub machine: U16,
    /// [`WITHOUT_VMLINUX`](Self::WITHOUT_VMLINUX), or 0.
    pub flags: U16,
}

impl SegmentEntry {
    /// In [`flags`](Self::flags): its kernel has modules only, and its build id is that of the first one.
    pub const WITHOUT_VMLINUX: u16 = 1;
}

/// A manifest in memory.
#[derive(Clone, Copy)]
pub struct Manifest<'a> {
    /// The number of the file with the segments.
    pub generation: u32,
    /// Sorted by name.
    pub kernels: &'a [KernelEntry],
    /// A segment follows the one before it.
    pub segments: &'a [SegmentEntry],
    strings: &'a [u8],
}

impl<'a> Manifest<'a> {
    /// Reads and checks a manifest. Cost: its checksum.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::Older`], [`Error::Newer`], [`Error::Section`].
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let header = header(bytes)?;
        let own = &bytes[..size_of::<ManifestHeader>() - size_of::<U32>()];
        let body = &bytes[size_of::<ManifestHeader>()..];
        if checksum(own) != header.checksum.get() || checksum(body) != header.body.get() {
            return Err(damaged("the checksum does not match"));
        }
        let manifest = Self::open_again(bytes)?;
        let Self { kernels, segments, .. } = manifest;
        for (at, segment) in segments.iter().enumerate() {
            if segment.before.get() != NONE && segment.before.get() as usize >= at {
                return Err(damaged("a segment does not follow the one before it"));
            }
        }
        if kernels.iter().any(|kernel| kernel.segment.get() as usize >= segments.len()) {
            return Err(damaged("a kernel has no segment"));
        }
        Ok(manifest)
    }
    /// As [`open`](Self::open), of bytes that were checked. Cost: nothing to speak of.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_again(bytes: &'a [u8]) -> Result<Self> {
        let header = header(bytes)?;
        let body = &bytes[size_of::<ManifestHeader>()..];
        let kernels = <[KernelEntry]>::ref_from_prefix_with_elems(body, header.kernels.get() as usize);
        let (kernels, rest) = kernels.map_err(|_| damaged("it is too short"))?;
        let segments = <[SegmentEntry]>::ref_from_prefix_with_elems(rest, header.segments.get() as usize);
        let (segments, strings) = segments.map_err(|_| damaged("it is too short"))?;
        if strings.len() != header.strings.get() as usize {
            return Err(damaged("it does not end where its strings do"));
        }
        Ok(Self { generation: header.generation.get(), kernels, segments, strings })
    }
    /// A string.
    pub fn string(&self, at: U32) -> &'a [u8] {
        let rest = self.strings.get(at.get() as usize..).unwrap_or_default();
        &rest[..rest.iter().position(|b| *b == 0).unwrap_or(rest.len())]
    }
    /// The kernel of a name. Cost: a binary search.
    pub fn kernel(&self, name: &[u8]) -> Option<&'a KernelEntry> {
        let at = self.kernels.binary_search_by(|kernel| self.string(kernel.name).cmp(name)).ok()?;
        Some(&self.kernels[at])
    }
    /// The segments that a kernel consists of, the first one first.
    pub fn chain(&self, kernel: &KernelEntry) -> Vec<&'a SegmentEntry> {
        let mut chain = vec![];
        let mut next = kernel.segment.get();
        while let Some(segment) = self.segments.get(next as usize) {
            chain.push(segment);
            next = segment.before.get();
        }
        chain.reverse();
        chain
    }
}

/// The start of a manifest of this version.
fn header(bytes: &[u8]) -> Result<&ManifestHeader> {
    let (header, _) = ManifestHeader::ref_from_prefix(bytes).map_err(|_| Error::NotAnIndex)?;
    if header.magic != MAGIC {
        return Err(Error::NotAnIndex);
    }
    Error::unless_version("store", VERSION, header.version.get())?;
    Ok(header)
}

fn damaged(what: &'static str) -> Error {
    Error::Section { section: "manifest", offset: 0, what }
}

/// A kernel to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKernel {
    /// See [`KernelEntry::release`].
    pub release: Vec<u8>,
    /// See [`KernelEntry::compiler`].
    pub compiler: Vec<u8>,
    /// The position of its segment.
    pub segment: u32,
    /// See [`KernelEntry::made`].
    pub made: i64,
}

/// The bytes of a manifest. Segments must follow those before them; kernels come in any order, and get their names here.
pub fn write(generation: u32, kernels: &[NewKernel], segments: &[SegmentEntry]) -> Vec<u8> {
    let mut strings = vec![0];
    let mut string = |text: &[u8]| {
        let at = U32::new(strings.len() as u32);
        strings.extend_from_slice(text);
        strings.push(0);
        at
    };
    let name = |kernel: &NewKernel| {
        let is_only = kernels.iter().filter(|other| other.release == kernel.release).count() == 1;
        let id = &segments[kernel.segment as usize].id.build_id[..6];
        let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        if is_only { kernel.release.clone() } else { [&kernel.release[..], b"~", digits.as_bytes()].concat() }
    };
    let mut named: Vec<(Vec<u8>, &NewKernel)> = kernels.iter().map(|kernel| (name(kernel), kernel)).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let entries: Vec<KernelEntry> = named
        .iter()
        .map(|(name, kernel)| KernelEntry {
            name: string(name),
            release: string(&kernel.release),
            compiler: string(&kernel.compiler),
            segment: U32::new(kernel.segment),
            made: I64::new(kernel.made),
        })
        .collect();
    let body = [entries.as_bytes(), segments.as_bytes(), &strings].concat();
    let mut header = ManifestHeader {
        magic: MAGIC,
        version: U32::new(VERSION),
        kernels: U32::new(entries.len() as u32),
        segments: U32::new(segments.len() as u32),
        strings: U32::new(strings.len() as u32),
        generation: U32::new(generation),
        body: U32::new(checksum(&body)),
        checksum: U32::ZERO,
    };
    let length = size_of::<ManifestHeader>() - size_of::<U32>();
    header.checksum = U32::new(checksum(&header.as_bytes()[..length]));
    [header.as_bytes(), &body].concat()
}
