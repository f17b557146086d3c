//! tar as dpkg writes it: ustar, with the long names of GNU tar and of pax.
use super::{BufRead, Entry, Error, ErrorKind, Path, PathBuf, Result, Sink, content, fill, plain, skip};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const BLOCK: usize = 512;

/// More than any name or set of attributes of one member.
const LONGEST: u64 = 1 << 20;

/// Where in these bytes, which stand `offset` bytes into an archive, the header of a file of this name is; the last of them, if there are
/// several. A name that needs a member of its own is not found.
pub(super) fn find(bytes: &[u8], offset: u64, wanted: &Path) -> Option<usize> {
    let first = (offset.wrapping_neg() % BLOCK as u64) as usize;
    let (blocks, _) = bytes.get(first..)?.as_chunks::<BLOCK>();
    let wanted_start = *wanted.as_os_str().as_bytes().first()?;
    let is_it = |header: &[u8; BLOCK]| {
        let begins_so = header.starts_with(b"./") || header[0] == wanted_start;
        let is_file = begins_so && matches!(header[156], b'0' | 0);
        is_file && plain(&name(header)).is_some_and(|name| name == wanted) && checked(header)
    };
    blocks.iter().rposition(is_it).map(|at| first + at * BLOCK)
}

/// Reads the members up to the end mark, or up to an offset.
pub(super) fn read(
    stream: &mut dyn BufRead,
    end: Option<u64>,
    package: &Path,
    sink: &mut dyn Sink,
) -> Result<()> {
    // For the member that follows.
    let (mut long_name, mut long_size) = (None, None);
    let mut at = 0u64;
    loop {
        match end {
            Some(end) if at == end => return Ok(()),
            Some(end) if at > end => {
                return Err(Error::new(ErrorKind::Damaged, "a tar member within another one").offset(end));
            }
            _ => {}
        }
        let mut header = [0; BLOCK];
        fill(stream, &mut header)?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let Some(size) = checked(&header).then(|| number(&header[124..136])).flatten() else {
            return Err(Error::new(ErrorKind::Damaged, "not the header of a tar member").offset(at));
        };
        let kind = header[156];
        let size = match kind {
            b'L' | b'K' | b'x' | b'g' => size,
            // Links and folders have no content, whatever is written there.
            b'1'..=b'6' => 0,
            _ => long_size.take().unwrap_or(size),
        };
        match kind {
            b'L' | b'x' if size <= LONGEST => {
                let text = content(stream, size)?;
                if kind == b'L' {
                    long_name = Some(path(&text));
                } else {
                    attributes(&text, &mut long_name, &mut long_size);
                }
            }
            b'0' | 0 | b'7' => {
                let name = long_name.take().unwrap_or_else(|| name(&header));
                let mtime_ns = number(&header[136..148]).unwrap_or(0).saturating_mul(1_000_000_000) as i64;
                Entry { name, size, mtime_ns }.pass(stream, package, sink)?;
                if sink.has_enough() {
                    return Ok(());
                }
            }
            _ => {
                if !matches!(kind, b'K' | b'g') {
                    (long_name, long_size) = (None, None);
                }
                skip(stream, size)?;
            }
        }
        let padding = size.wrapping_neg() % BLOCK as u64;
        skip(stream, padding)?;
        at = at.saturating_add(BLOCK as u64).saturating_add(size).saturating_add(padding);
    }
}

/// Whether the checksum fits: the sum of the header with spaces in place of the checksum.
fn checked(header: &[u8; BLOCK]) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    let expected = sum(&header[..148]) + 8 * u64::from(b' ') + sum(&header[156..]);
    number(&header[148..156]) == Some(expected)
}

/// Octal digits, or with the highest bit of the first byte set a binary number (GNU).
fn number(field: &[u8]) -> Option<u64> {
    if field.len() > 8 && field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        let is_small = high[0] & 0x7f == 0 && high[1..].iter().all(|byte| *byte == 0);
        return is_small.then(|| u64::from_be_bytes(low.try_into().expect("8 bytes")));
    }
    let text = str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

fn path(text: &[u8]) -> PathBuf {
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    PathBuf::from(OsStr::from_bytes(&text[..end]))
}

/// The name in the header: ustar has a prefix for long ones, where GNU tar has other things.
fn name(header: &[u8; BLOCK]) -> PathBuf {
    let name = path(&header[..100]);
    match header[257..].starts_with(b"ustar\0") && header[345] != 0 {
        true => path(&header[345..500]).join(name),
        false => name,
    }
}

/// Attributes of pax: `LENGTH KEY=VALUE\n` each.
fn attributes(mut text: &[u8], name: &mut Option<PathBuf>, size: &mut Option<u64>) {
    while let Some(space) = memchr::memchr(b' ', text) {
        let length = str::from_utf8(&text[..space]).ok().and_then(|l| l.parse::<usize>().ok()).unwrap_or(0);
        let Some(attribute) = text.get(space + 1..length.saturating_sub(1)) else { return };
        if let Some(path) = attribute.strip_prefix(b"path=") {
            *name = Some(PathBuf::from(OsStr::from_bytes(path)));
        } else if let Some(digits) = attribute.strip_prefix(b"size=") {
            *size = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        }
        text = text.get(length..).unwrap_or_default();
    }
}
