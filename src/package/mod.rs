//! Packages of distributions, read as streams: nothing is unpacked to disk.
//!
//! A `.deb` (also Ubuntu's `.ddeb`; deb(5)) is an ar archive of `debian-binary` (`2.0`), `control.tar.*` and
//! `data.tar.*`. Of Debian's linux-image-6.1.0-56-cloud-amd64-dbg, 283 MB, the bytes are
//!
//! ```text
//!         0  !<arch>\n
//!         8  debian-binary   1794824260  0     0     100644  4         `\n      an ar header: 60 bytes of text
//!        68  2.0\n
//!        72  control.tar.xz  ...  29548
//!     29680  data.tar.xz     ...  283278328
//!     29740  \xfd7zXZ\0 ...                        one stream of 72 blocks, each 24 MiB inflated: 1797 MB in all
//! ```
//!
//! and in the tar, whose members dpkg sorts by path, `usr/lib/debug/boot/System.map-R` and `vmlinux-R` (590 MB) come
//! first, then 1121 modules below `usr/lib/debug/lib/modules/R`, whose code is NOBITS; symbolic links come last. The
//! modules with code, `boot/config-R` and `boot/vmlinuz-R` are in linux-image-R. A tar member is a header of 512 bytes and
//! content, padded to 512; names longer than 100 (or 255 with a prefix) are in a member before it (GNU `L`, pax `x`).
//!
//! An `.rpm` is a lead of 96 bytes, a signature header padded to 8, a header, and the compressed payload: a cpio
//! archive. Both headers are `8e ad e8 01`, four zero bytes, the number of entries, the number of bytes, the entries
//! (tag, type, offset, count) and the bytes. The cpio is `newc` (070701), or rpm's form for files of 4 GiB: after `07070X`
//! comes the number of a file in the header, which has its name and size.
//!
//! Which files a package has is known before any is unpacked: a `.deb` has a list of them in `control.tar` (`md5sums`), an `.rpm` in its
//! header ([`list`]). So it is chosen what belongs together first; then the packages are unpacked side by side, on all processors,
//! while what comes is indexed, and each object is dropped once it is ([`members`](crate::load::members)). Of a package
//! without a list all that is wanted is unpacked into memory first.
//!
//! A package may be hostile: sizes from headers only bound reads, and memory grows with what comes out; names become
//! paths of [`members`](crate::load::members), which exist nowhere on disk. Compressed data that inflates to more than
//! [`most`] allows is refused.
mod cpio;
mod deb;
mod rpm;
mod stream;
mod tar;
#[cfg(test)]
mod tests;
mod xz;

use std::fs::File;
use std::io::BufRead;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::load::decompress::most;
use crate::load::members::Member;
use crate::mapping::Watching;
use stream::Payload;

/// A package, recognized by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Debian's and Ubuntu's.
    Deb,
    /// Of Fedora, SUSE and others.
    Rpm,
}

impl Kind {
    /// Bytes of a file that tell its kind.
    pub const HEAD: usize = 21;

    /// The kind of a package that begins with these bytes.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            _ if head.starts_with(deb::MAGIC) => Some(Self::Deb),
            _ if head.starts_with(rpm::MAGIC) => Some(Self::Rpm),
            _ => None,
        }
    }

    fn unpacking(self) -> &'static str {
        match self {
            Self::Deb => "unpack it with dpkg -x and give the folder",
            Self::Rpm => "unpack it with rpm2cpio and cpio -id, and give the folder",
        }
    }
}

/// Whether a file is a package.
pub fn is_package(path: &Path) -> bool {
    let mut head = [0; Kind::HEAD];
    let read = File::open(path).and_then(|file| file.read_at(&mut head, 0));
    read.is_ok_and(|got| Kind::of(&head[..got]).is_some())
}

/// Takes the members of a package.
pub trait Sink {
    /// Whether the content of this member is wanted.
    fn wants(&mut self, name: &Path) -> bool;
    /// Whether the rest of the package does not matter.
    fn has_enough(&self) -> bool {
        false
    }
    /// Takes a member that was wanted.
    fn take(&mut self, name: &Path, member: Member);
    /// Notes a member that cannot be taken.
    fn skip(&mut self, error: Error);
}

/// Reads a package, and gives its wanted members to `sink` in the order of the archive. The names have no `.` or `..`. Errors name
/// it as it is called.
///
/// # Errors
/// [`ErrorKind::Damaged`] and [`ErrorKind::Unsupported`] with the package, and the member if one is concerned;
/// [`ErrorKind::Changed`] if the file changed meanwhile. `sink` has the members before that.
pub fn read(called: &Path, path: &Path, sink: &mut dyn Sink) -> Result<()> {
    read_by(called, path, Wanted::All, sink)
}

/// The same, but begins with the member of this name and what follows it, where the compression has blocks that can be unpacked by
/// themselves; else it comes in its turn. In Debian's packages from 7.0 on, vmlinux is the last of a thousand files.
///
/// # Errors
/// As for [`read`].
pub fn read_beginning_with(first: &Path, called: &Path, path: &Path, sink: &mut dyn Sink) -> Result<()> {
    read_by(called, path, Wanted::Beginning(first), sink)
}

/// A file that a package says it has.
pub struct Listed {
    /// Without `.` and `..`.
    pub name: PathBuf,
    /// In bytes, if the package says that too.
    pub size: Option<u64>,
}

/// What a package says that it has.
#[derive(Default)]
pub struct Listing {
    /// In the order of the list.
    pub files: Vec<Listed>,
    /// How many bytes the files without sizes have together, more or less; 0 if the package does not say that.
    pub bytes: u64,
}

/// The package's own list of its files; `None` if there is none. No data is unpacked: a name may stand for nothing, and a file may lack
/// there.
///
/// # Errors
/// As for [`read`], for what its headers tell.
pub fn list(called: &Path, path: &Path) -> Result<Option<Listing>> {
    let mapping = Watching::open(path)?;
    let bytes = mapping.bytes();
    let listed = |name: &Path, size| Some(Listed { name: plain(name)?, size });
    let names = match Kind::of(bytes) {
        Some(Kind::Deb) => deb::payload(bytes).map(|_| {
            let (names, bytes) = deb::names(bytes)?;
            Some(Listing { files: names.iter().filter_map(|name| listed(name, None)).collect(), bytes })
        }),
        Some(Kind::Rpm) => rpm::payload(bytes).map(|(_, files)| {
            let files = files.iter().filter(|file| file.size > 0 && cpio::is_regular(file.mode.into()));
            let files = files.filter_map(|file| listed(&file.path, Some(file.size))).collect();
            Some(Listing { files, bytes: 0 })
        }),
        None => Ok(None),
    };
    mapping.unchanged().and(remedied(names, Kind::of(bytes))).map_err(|error| error.at(called))
}

/// The first thing that `tell` says of a member's name; of the package, only what is before it is unpacked.
///
/// # Errors
/// As for [`read`].
pub fn first<T>(path: &Path, tell: impl Fn(&Path) -> Option<T>) -> Result<Option<T>> {
    let mut names = Names { tell, told: None };
    read_by(path, path, Wanted::Start, &mut names)?;
    Ok(names.told)
}

/// Looks at the names of members.
struct Names<F, T> {
    tell: F,
    told: Option<T>,
}

impl<T, F: Fn(&Path) -> Option<T>> Sink for Names<F, T> {
    fn wants(&mut self, name: &Path) -> bool {
        self.told = (self.tell)(name);
        false
    }
    fn has_enough(&self) -> bool {
        self.told.is_some()
    }
    fn take(&mut self, _: &Path, _: Member) {}
    fn skip(&mut self, _: Error) {}
}

/// How much of a package is read.
#[derive(Clone, Copy)]
enum Wanted<'w> {
    All,
    /// All, beginning with this member.
    Beginning(&'w Path),
    Start,
}

fn read_by(name: &Path, path: &Path, wanted: Wanted<'_>, sink: &mut dyn Sink) -> Result<()> {
    let mapping = Watching::open(path)?;
    let read = read_bytes(mapping.bytes(), name, wanted, &|part| mapping.forget(part), sink);
    mapping.unchanged().and(read).map_err(|error| error.at(name))
}

fn read_bytes(
    bytes: &[u8],
    path: &Path,
    wanted: Wanted<'_>,
    unpacked: &(dyn Fn(&[u8]) + Sync),
    sink: &mut dyn Sink,
) -> Result<()> {
    let kind = Kind::of(bytes);
    let read = match kind {
        Some(Kind::Deb) => deb::payload(bytes).and_then(|data| read_tar(&data, path, wanted, unpacked, sink)),
        Some(Kind::Rpm) => rpm::payload(bytes).and_then(|(data, files)| {
            data.read(wanted, None, unpacked, |cpio| cpio::read(cpio, &files, path, sink))
        }),
        None => Err(Error::new(ErrorKind::Unsupported, "neither a Debian nor an RPM package")),
    };
    remedied(read, kind)
}

fn read_tar(
    data: &Payload<'_>,
    path: &Path,
    wanted: Wanted<'_>,
    unpacked: &(dyn Fn(&[u8]) + Sync),
    sink: &mut dyn Sink,
) -> Result<()> {
    let rest = match wanted {
        Wanted::Beginning(first) => data.rest(|bytes, offset| tar::find(bytes, offset, first), unpacked)?,
        _ => None,
    };
    let end = rest.as_ref().map(|rest| rest.offset);
    if let Some(mut rest) = rest {
        tar::read(&mut rest, None, path, sink)?;
    }
    data.read(wanted, end, unpacked, |tar| tar::read(tar, end, path, sink))
}

fn remedied<T>(read: Result<T>, kind: Option<Kind>) -> Result<T> {
    read.map_err(|error| match (error.kind(), kind) {
        (ErrorKind::Unsupported, Some(kind)) => error.hint(kind.unpacking()),
        (ErrorKind::Damaged, _) => error.hint("fetch the package again"),
        _ => error,
    })
}

/// What an archive's header says of a member.
struct Entry {
    name: PathBuf,
    size: u64,
    mtime_ns: i64,
}

impl Entry {
    /// Gives the content to `sink` if it is wanted, else passes over it.
    fn pass(&self, stream: &mut dyn BufRead, package: &Path, sink: &mut dyn Sink) -> Result<()> {
        let Some(name) = plain(&self.name) else {
            let what = "the name of a member leads out of the package: it is passed over";
            sink.skip(
                Error::new(ErrorKind::Damaged, what)
                    .at(&package.join(self.name.strip_prefix("/").unwrap_or(&self.name)))
                    .hint("fetch the package from its distribution"),
            );
            return skip(stream, self.size).map_err(|e| e.at(package));
        };
        let read = if !sink.wants(&name) {
            if sink.has_enough() { Ok(()) } else { skip(stream, self.size) }
        } else {
            content(stream, self.size).map(|bytes| {
                sink.take(&name, Member { bytes: bytes.into(), mtime_ns: self.mtime_ns });
            })
        };
        read.map_err(|error| error.at(&package.join(&name)))
    }
}

/// The name without `.`; `None` if it is absolute, has `..`, or is empty.
fn plain(name: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in name.components() {
        match component {
            Component::Normal(part) => plain.push(part),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!plain.as_os_str().is_empty()).then_some(plain)
}

/// Reads the content of a member. A false size costs no memory.
fn content(stream: &mut dyn BufRead, size: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    pieces(stream, size, |piece| match bytes.try_reserve(piece.len()) {
        Ok(()) => {
            bytes.extend_from_slice(piece);
            Ok(())
        }
        Err(_) => Err(Error::new(ErrorKind::Exhausted, format!("no memory for {size} bytes"))),
    })?;
    Ok(bytes)
}

/// Passes over a number of bytes.
fn skip(stream: &mut dyn BufRead, size: u64) -> Result<()> {
    pieces(stream, size, |_| Ok(()))
}

/// Passes a number of bytes to `take`, as they come.
fn pieces(stream: &mut dyn BufRead, size: u64, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut left = size;
    while left > 0 {
        let piece = stream.fill_buf().map_err(failed)?;
        if piece.is_empty() {
            return Err(cut_off());
        }
        let piece = &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        take(piece)?;
        let length = piece.len();
        stream.consume(length);
        left -= length as u64;
    }
    Ok(())
}

/// Fills a buffer.
fn fill(stream: &mut dyn BufRead, buffer: &mut [u8]) -> Result<()> {
    stream.read_exact(buffer).map_err(failed)
}

fn cut_off() -> Error {
    Error::new(ErrorKind::Damaged, "the package is cut off")
}

/// The error of a stream. What the decoders say of damage is kept.
fn failed(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => cut_off(),
        std::io::ErrorKind::OutOfMemory => Error::new(ErrorKind::Exhausted, "no memory to unpack it"),
        std::io::ErrorKind::Unsupported => {
            Error::new(ErrorKind::Unsupported, format!("its compression cannot be read: {error}"))
        }
        _ => Error::new(ErrorKind::Damaged, format!("its data cannot be unpacked: {error}")),
    }
}
