//! RPM packages: lead, signature, header, payload.
use super::{Error, ErrorKind, PathBuf, Payload, Result, cut_off};
use crate::load::decompress::{Compression, detect};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The start of the lead.
pub(super) const MAGIC: &[u8] = &[0xed, 0xab, 0xee, 0xdb];

const LEAD: usize = 96;
/// Magic, version, reserved bytes, number of entries, bytes of data.
const INTRO: usize = 16;
const ENTRY: usize = 16;
const HEADER_MAGIC: &[u8] = &[0x8e, 0xad, 0xe8];

// Tags of the header (rpmtag.h).
const FILE_SIZES: u32 = 1028;
const FILE_MODES: u32 = 1030;
const FILE_MTIMES: u32 = 1034;
const DIR_INDEXES: u32 = 1116;
const BASE_NAMES: u32 = 1117;
const DIR_NAMES: u32 = 1118;
const PAYLOAD_FORMAT: u32 = 1124;
const PAYLOAD_COMPRESSOR: u32 = 1125;
const LONG_FILE_SIZES: u32 = 5008;

/// A file as the header has it.
pub(super) struct File {
    /// Relative to the root.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) seconds: i64,
    pub(super) mode: u16,
}

/// The compressed cpio archive, and the files of the header.
pub(super) fn payload(bytes: &[u8]) -> Result<(Payload<'_>, Vec<File>)> {
    let signature = Header::at(bytes, LEAD)?;
    let header = Header::at(bytes, signature.end.next_multiple_of(8))?;
    if let Some(format) = header.text(PAYLOAD_FORMAT).filter(|format| *format != b"cpio") {
        let what = format!("an RPM package of the format {}", String::from_utf8_lossy(format));
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    let data = bytes.get(header.end..).unwrap_or_default();
    if data.is_empty() {
        return Err(cut_off().offset(bytes.len() as u64));
    }
    let compressor = header.text(PAYLOAD_COMPRESSOR).unwrap_or(b"gzip");
    let compression = match compressor {
        b"lzma" => Some(Compression::Lzma),
        _ => detect(data),
    };
    if compression.is_none() && !data.starts_with(b"0707") {
        let what = format!("an RPM package compressed by {}", String::from_utf8_lossy(compressor));
        return Err(Error::new(ErrorKind::Unsupported, what).offset(header.end as u64));
    }
    Ok((Payload { compression, data }, header.files()))
}

struct Header<'d> {
    entries: &'d [u8],
    data: &'d [u8],
    end: usize,
}

impl<'d> Header<'d> {
    fn at(bytes: &'d [u8], at: usize) -> Result<Self> {
        let intro = bytes.get(at..).and_then(|rest| rest.get(..INTRO));
        let intro = intro.ok_or_else(|| cut_off().offset(bytes.len() as u64))?;
        if !intro.starts_with(HEADER_MAGIC) {
            return Err(Error::new(ErrorKind::Damaged, "not the header of an RPM package").offset(at as u64));
        }
        let entries = at + INTRO;
        let data = entries.saturating_add((number(intro, 8) as usize).saturating_mul(ENTRY));
        let end = data.saturating_add(number(intro, 12) as usize);
        match (bytes.get(entries..data), bytes.get(data..end)) {
            (Some(entries), Some(data)) => Ok(Self { entries, data, end }),
            _ => Err(cut_off().offset(at as u64)),
        }
    }

    /// The data of a tag from its start, and the number of values there.
    fn find(&self, tag: u32) -> Option<(&'d [u8], usize)> {
        let entry = self.entries.chunks_exact(ENTRY).find(|entry| number(entry, 0) == tag)?;
        Some((self.data.get(number(entry, 8) as usize..)?, number(entry, 12) as usize))
    }

    fn text(&self, tag: u32) -> Option<&'d [u8]> {
        self.texts(tag).next()
    }

    fn texts(&self, tag: u32) -> impl Iterator<Item = &'d [u8]> + use<'d> {
        let (data, count) = self.find(tag).unwrap_or_default();
        data.split(|byte| *byte == 0).take(count)
    }

    /// The values of a tag that have this many bytes each.
    fn numbers(&self, tag: u32, length: usize) -> Vec<u64> {
        let (data, count) = self.find(tag).unwrap_or_default();
        let value = |bytes: &[u8]| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        data.chunks_exact(length).take(count).map(value).collect()
    }

    fn files(&self) -> Vec<File> {
        let folders: Vec<&[u8]> = self.texts(DIR_NAMES).collect();
        let long = self.numbers(LONG_FILE_SIZES, 8);
        let sizes = if long.is_empty() { self.numbers(FILE_SIZES, 4) } else { long };
        let (modes, times) = (self.numbers(FILE_MODES, 2), self.numbers(FILE_MTIMES, 4));
        let names = self.texts(BASE_NAMES).zip(self.numbers(DIR_INDEXES, 4));
        let file = |(at, (name, folder)): (usize, (&[u8], u64))| {
            let folder = folders.get(folder as usize).copied().unwrap_or_default();
            let folder = folder.strip_prefix(b"/").unwrap_or(folder);
            File {
                path: PathBuf::from(OsStr::from_bytes(folder)).join(OsStr::from_bytes(name)),
                size: sizes.get(at).copied().unwrap_or(0),
                seconds: times.get(at).map_or(0, |seconds| *seconds as i64),
                mode: modes.get(at).map_or(0, |mode| *mode as u16),
            }
        };
        names.enumerate().map(file).collect()
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(*bytes[at..].first_chunk().expect("an entry has 16 bytes"))
}
