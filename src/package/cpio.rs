//! The cpio archive in an RPM package: `newc`, and rpm's own form for large files.
use super::rpm::File;
use super::{BufRead, Entry, Error, ErrorKind, Path, PathBuf, Result, Sink, content, fill, skip};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const MAGIC: usize = 6;
/// Fields of 8 hexadecimal digits after the magic of `newc`.
const FIELDS: usize = 13;
const MTIME: usize = 5;
const SIZE: usize = 6;
const MODE: usize = 1;
const NAME_SIZE: usize = 11;

/// More than any name.
const LONGEST: u64 = 1 << 16;

/// Reads the members up to the trailer. `files` are those of the package's header.
pub(super) fn read(
    stream: &mut dyn BufRead,
    files: &[File],
    package: &Path,
    sink: &mut dyn Sink,
) -> Result<()> {
    let mut at = 0u64;
    loop {
        let wrong = || Error::new(ErrorKind::Damaged, "not the header of a cpio member").offset(at);
        let mut magic = [0; MAGIC];
        fill(stream, &mut magic)?;
        let (entry, header) = match &magic {
            // 070702 has checksums besides.
            b"070701" | b"070702" => {
                let mut fields = [0; FIELDS];
                for field in &mut fields {
                    *field = hex(stream)?.ok_or_else(wrong)?;
                }
                let header = (MAGIC + 8 * FIELDS) as u64 + fields[NAME_SIZE];
                if fields[NAME_SIZE] > LONGEST {
                    return Err(wrong());
                }
                let name = content(stream, fields[NAME_SIZE])?;
                let name = name.strip_suffix(b"\0").unwrap_or(&name);
                if name == b"TRAILER!!!" {
                    return Ok(());
                }
                let name = PathBuf::from(OsStr::from_bytes(name));
                let seconds = fields[MTIME] as i64;
                let is_file = is_regular(fields[MODE]);
                (Some((name, seconds, is_file, fields[SIZE])), header)
            }
            b"07070X" => {
                let number = hex(stream)?.ok_or_else(wrong)? as usize;
                let file = files.get(number).ok_or_else(wrong)?;
                let entry = (file.path.clone(), file.seconds, is_regular(file.mode.into()), file.size);
                (Some(entry), (MAGIC + 8) as u64)
            }
            _ => return Err(wrong()),
        };
        let Some((name, seconds, is_file, size)) = entry else { continue };
        skip(stream, header.wrapping_neg() % 4)?;
        // Of files with several names only the last has the content.
        if is_file && size > 0 {
            Entry { name, size, mtime_ns: seconds.saturating_mul(1_000_000_000) }
                .pass(stream, package, sink)?;
            if sink.has_enough() {
                return Ok(());
            }
        } else {
            skip(stream, size)?;
        }
        let padding = size.wrapping_neg() % 4;
        skip(stream, padding)?;
        at = at.saturating_add(header.next_multiple_of(4)).saturating_add(size).saturating_add(padding);
    }
}

/// `S_ISREG`.
pub(super) fn is_regular(mode: u64) -> bool {
    mode & 0o170_000 == 0o100_000
}

fn hex(stream: &mut dyn BufRead) -> Result<Option<u64>> {
    let mut digits = [0; 8];
    fill(stream, &mut digits)?;
    Ok(str::from_utf8(&digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok()))
}
