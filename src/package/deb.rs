//! Debian packages: the ar archive around `data.tar`.
use super::{Error, ErrorKind, Payload, Result, cut_off};
use crate::load::decompress::{Compression, detect};

/// The start of each, as `file` and dpkg know it.
pub(super) const MAGIC: &[u8] = b"!<arch>\ndebian-binary";

/// The magic of ar itself, and the length of a member's header.
const START: usize = 8;
const HEADER: usize = 60;

/// The compressed `data.tar`.
pub(super) fn payload(bytes: &[u8]) -> Result<Payload<'_>> {
    let mut at = START;
    loop {
        let header = bytes.get(at..).filter(|rest| !rest.is_empty());
        let Some(header) = header else {
            return Err(Error::new(ErrorKind::Damaged, "a Debian package without data.tar").offset(at as u64));
        };
        let Some(header) = header.get(..HEADER) else { return Err(cut_off().offset(at as u64)) };
        let text = |range: std::ops::Range<usize>| str::from_utf8(&header[range]).ok().map(str::trim_end);
        let size =
            text(48..58).and_then(|size| size.parse::<usize>().ok()).filter(|_| header.ends_with(b"`\n"));
        let (Some(name), Some(size)) = (text(0..16), size) else {
            return Err(Error::new(ErrorKind::Damaged, "not the header of an ar member").offset(at as u64));
        };
        let start = at + HEADER;
        let end = start.saturating_add(size);
        if let Some(suffix) = name.trim_end_matches('/').strip_prefix("data.tar") {
            let Some(data) = bytes.get(start..end) else {
                let what = format!(
                    "the package is cut off: {name} ends at {end:#x}, the file at {:#x}",
                    bytes.len()
                );
                return Err(Error::new(ErrorKind::Damaged, what).offset(at as u64));
            };
            let compression = match suffix {
                "" => None,
                ".lzma" => Some(Compression::Lzma),
                _ => match detect(data) {
                    Some(compression) => Some(compression),
                    None => {
                        let what = format!("{name} is not compressed by gzip, xz or zstd");
                        return Err(Error::new(ErrorKind::Unsupported, what).offset(start as u64));
                    }
                },
            };
            return Ok(Payload { compression, data });
        }
        // Members start at even offsets.
        at = end.saturating_add(size & 1);
        if at > bytes.len() {
            return Err(cut_off().offset(bytes.len() as u64));
        }
    }
}
