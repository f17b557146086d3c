//! Debian packages: the ar archive around `data.tar`.
use super::{BufRead, Error, ErrorKind, Path, PathBuf, Payload, Result, Sink, Wanted, cut_off, tar};
use crate::load::decompress::{Compression, detect};
use crate::load::members::Member;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// The start of each, as `file` and dpkg know it.
pub(super) const MAGIC: &[u8] = b"!<arch>\ndebian-binary";

/// The magic of ar itself, and the length of a member's header.
const START: usize = 8;
const HEADER: usize = 60;

/// The compressed `data.tar`.
pub(super) fn payload(bytes: &[u8]) -> Result<Payload<'_>> {
    archive(bytes, "data.tar")?.ok_or_else(|| {
        Error::new(ErrorKind::Damaged, "a Debian package without data.tar").offset(bytes.len() as u64)
    })
}

/// The names of the files, as `md5sums` of `control.tar` has them (deb-md5sums(5)): `SUM  NAME` each; and how many bytes they have
/// together, by `Installed-Size` of `control`, in KiB (deb-control(5)), or 0. `None` without `md5sums`: dpkg demands none.
pub(super) fn names(bytes: &[u8]) -> Option<(Vec<PathBuf>, u64)> {
    let mut control = Control::default();
    let read = |tar: &mut dyn BufRead| tar::read(tar, None, Path::new(""), &mut control);
    archive(bytes, "control.tar").ok()??.read(Wanted::Start, None, &|_| (), read).ok()?;
    let installed = control.about.as_deref().and_then(|about| {
        let field =
            about.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Installed-Size:"))?;
        str::from_utf8(field).ok()?.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    let name = |line: &[u8]| {
        let at = memchr::memmem::find(line, b"  ")?;
        Some(PathBuf::from(OsStr::from_bytes(&line[at + 2..])))
    };
    Some((control.sums?.split(|byte| *byte == b'\n').filter_map(name).collect(), installed.unwrap_or(0)))
}

/// Takes two files of `control.tar`.
#[derive(Default)]
struct Control {
    about: Option<Arc<Vec<u8>>>,
    sums: Option<Arc<Vec<u8>>>,
}

impl Sink for Control {
    fn wants(&mut self, name: &Path) -> bool {
        name == Path::new("control") || name == Path::new("md5sums")
    }
    fn has_enough(&self) -> bool {
        self.about.is_some() && self.sums.is_some()
    }
    fn take(&mut self, name: &Path, member: Member) {
        let taken = if name == Path::new("control") { &mut self.about } else { &mut self.sums };
        *taken = Some(member.bytes);
    }
    fn skip(&mut self, _: Error) {}
}

/// The archive whose member has this name before a suffix; `None` if there is none.
fn archive<'d>(bytes: &'d [u8], wanted: &str) -> Result<Option<Payload<'d>>> {
    let mut at = START;
    loop {
        let header = bytes.get(at..).filter(|rest| !rest.is_empty());
        let Some(header) = header else { return Ok(None) };
        let Some(header) = header.get(..HEADER) else { return Err(cut_off().offset(at as u64)) };
        let text = |range: std::ops::Range<usize>| str::from_utf8(&header[range]).ok().map(str::trim_end);
        let size =
            text(48..58).and_then(|size| size.parse::<usize>().ok()).filter(|_| header.ends_with(b"`\n"));
        let (Some(name), Some(size)) = (text(0..16), size) else {
            return Err(Error::new(ErrorKind::Damaged, "not the header of an ar member").offset(at as u64));
        };
        let start = at + HEADER;
        let end = start.saturating_add(size);
        if let Some(suffix) = name.trim_end_matches('/').strip_prefix(wanted) {
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
            return Ok(Some(Payload { compression, data }));
        }
        // Members start at even offsets.
        at = end.saturating_add(size & 1);
        if at > bytes.len() {
            return Err(cut_off().offset(bytes.len() as u64));
        }
    }
}
