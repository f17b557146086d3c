//! Identifies a file by its bytes. [`check`] needs only the first 64; the rest is for files whose name and place are
//! not enough.
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memmem;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endian, Endianness};

use super::name::Role;
use crate::error::{Error, ErrorKind, Result};
use crate::load::decompress::{Compression, detect, open_stream};
use crate::load::members::{self, Opened};
use crate::load::{image, live, widen};

/// The size of an ELF64 file header.
pub(super) const HEAD: usize = 64;
/// The size of an ELF32 file header.
const NARROW_HEAD: usize = 52;

/// How much of a file is read in the normal case.
pub(super) const READ: usize = image::HEAD;

/// Checks by size and first bytes whether a file can be an input; returns its compression, if any.
pub(super) fn check(head: &[u8], size: u64) -> Result<Option<Compression>> {
    let fail = |kind, offset, what: String, remedy| Err(Error::new(kind, what).offset(offset).hint(remedy));
    let again = "install its package again or remove the file";
    if image::is_image(head) || live::is_btf(head) {
        return Ok(None);
    }
    if let Some(compression) = detect(head) {
        return Ok(Some(compression));
    }
    if head.is_empty() {
        return fail(ErrorKind::Damaged, 0, "the file is empty".into(), again);
    }
    let magic = &head[..head.len().min(4)];
    if !elf::ELFMAG.starts_with(magic) {
        let bytes: Vec<_> = magic.iter().map(|b| format!("{b:02x}")).collect();
        let what = format!(
            "not an ELF object and not compressed by gzip, xz or zstd: it begins with {}",
            bytes.join(" ")
        );
        return fail(ErrorKind::NotElf, 0, what, "give the vmlinux or .ko that the kernel's build made");
    }
    let is_known = |data: u8| [elf::ELFDATA2LSB.0, elf::ELFDATA2MSB.0].contains(&data);
    if head.get(5).is_some_and(|&data| !is_known(data)) {
        let what = "an ELF object that is neither little- nor big-endian".into();
        return fail(ErrorKind::Damaged, 5, what, again);
    }
    let is_narrow = widen::is_narrow(head);
    let length = if is_narrow { NARROW_HEAD } else { HEAD };
    let Some(head) = head.get(..length) else {
        let what = format!("the ELF header is cut off: {} of {length} bytes are there", head.len());
        return fail(ErrorKind::Damaged, head.len() as u64, what, again);
    };
    let order = if head[5] == elf::ELFDATA2MSB.0 { Endianness::Big } else { Endianness::Little };
    let half = |at: usize| order.read_u16([head[at], head[at + 1]]);
    if is_narrow && !widen::is_read(half(18)) {
        return Err(widen::unread());
    }
    let long = || order.read_u64(*head[40..].first_chunk().expect("64 bytes"));
    let short = || order.read_u32(*head[32..].first_chunk().expect("52 bytes"));
    let (shoff, sizes) = if is_narrow { (short().into(), [46, 48]) } else { (long(), [58, 60]) };
    let [shentsize, shnum] = sizes.map(|at| u64::from(half(at)));
    let end = shoff.saturating_add(shentsize * shnum);
    if end > size {
        let what = format!("the file is cut off: its section headers end at {end:#x}, the file at {size:#x}");
        return fail(ErrorKind::Damaged, shoff, what, again);
    }
    Ok(None)
}

/// The role of a file by its content. A module has `.gnu.linkonce.this_module`, or `.modinfo` in a relocatable object
/// (since 6.18 a vmlinux has `.modinfo` too). Of a compressed file only the ELF type is checked. Boot images have
/// magic numbers of their own.
pub(super) fn role(file: &Opened, compression: Option<Compression>) -> Role {
    let mut head = vec![];
    let is_read = compression.is_none() && start(file).take(READ as u64).read_to_end(&mut head).is_ok();
    if is_read && image::is_image(&head) {
        return Role::Image;
    }
    let module = match compression {
        Some(kind) => {
            let mut head = [0; 18];
            // `e_type` is two bytes, in either order.
            stream(file, kind).read_exact(&mut head).is_ok() && head[16] | head[17] == elf::ET_REL.0 as u8
        }
        None => Elf::read(file, |elf| {
            let has = |name| elf.section(name).is_some();
            has(b".gnu.linkonce.this_module") || (elf.is_relocatable && has(b".modinfo"))
        })
        .unwrap_or(false),
    };
    if module { Role::Module } else { Role::Vmlinux }
}

/// Sections that linkers make for programs and shared libraries, and the link script of no kernel: constructors, variables of
/// threads, versions of symbols, notes of the C library and of Go.
const OF_PROGRAMS: [&[u8]; 7] = [
    b".init_array",
    b".tdata",
    b".tbss",
    b".gnu.version_r",
    b".gnu.version_d",
    b".note.ABI-tag",
    b".go.buildinfo",
];

/// Whether an ELF object that is no module is a program or a shared library. User-mode Linux is a program and a kernel.
pub(super) fn is_program(file: &Opened) -> bool {
    let of_program = |elf: &Elf<'_, '_>| {
        let has = |name: &[u8]| elf.section(name).is_some();
        !elf.is_relocatable && !has(b"__ksymtab") && OF_PROGRAMS.into_iter().any(has)
    };
    Elf::read(file, of_program).unwrap_or(false)
}

/// A boot image has its release within this many bytes.
const NAMED: u64 = 32 << 10;

/// A file from its start.
fn start(mut file: &Opened) -> impl Read {
    // If this fails, so does reading.
    let _ = file.rewind();
    file
}

/// The release in the content: `vermagic` of a module; for a vmlinux its banner, else `include/config/kernel.release`
/// in the folder of `path`.
///
/// Compressed files are inflated until the release is found.
pub(super) fn release(
    file: &Opened,
    path: &Path,
    role: Role,
    compression: Option<Compression>,
) -> Option<String> {
    let marker: &[u8] = match role {
        Role::Module => b"vermagic=",
        Role::Vmlinux | Role::Image => b"Linux version ",
    };
    let from_content = match (compression, role) {
        (None, Role::Image) => {
            let mut head = vec![];
            start(file).take(NAMED).read_to_end(&mut head).ok()?;
            let named = image::release(&head).map(str::to_owned);
            // A flat image has the banner uncompressed.
            named.or_else(|| release_after(&mut start(file), marker))
        }
        (Some(kind), _) => release_after(&mut stream(file, kind), marker),
        (None, Role::Module) => Elf::read(file, |elf| {
            let modinfo = elf.content(b".modinfo")?;
            modinfo.split(|&b| b == 0).find_map(|entry| leading_release(entry.strip_prefix(marker)?))
        })
        .flatten(),
        (None, Role::Vmlinux) => data_sections(file)
            .into_iter()
            .find_map(|(offset, size)| release_after(&mut section(file, offset, size)?, marker)),
    };
    from_content.or_else(|| live::release(path)).or_else(|| {
        let text = members::text(&path.parent()?.join("include/config/kernel.release"))?;
        let text = text.trim();
        (role == Role::Vmlinux && !text.is_empty() && !text.contains(['/', '\0'])).then(|| text.to_owned())
    })
}

/// Whether an uncompressed kernel has BTF but neither code nor debug information, like the one in Debian's
/// linux-headers since 6.12.
pub(super) fn is_for_types(file: &Opened) -> bool {
    let lacks = |elf: &Elf<'_, '_>| {
        let is_code = |s: &Section| s.flags & CODE != 0;
        let has = |name: &[u8]| elf.section(name).is_some();
        has(b".BTF") && !has(b".debug_info") && !has(b".zdebug_info") && !elf.sections.iter().any(is_code)
    };
    Elf::read(file, lacks).unwrap_or(false)
}

/// Whether an uncompressed file has debug information.
pub(super) fn has_debug_info(file: &Opened) -> bool {
    let has =
        |elf: &Elf<'_, '_>| [&b".debug_info"[..], b".zdebug_info"].iter().any(|s| elf.section(s).is_some());
    Elf::read(file, has).unwrap_or(false)
}

/// The raw build-id note of an uncompressed file.
pub(super) fn build_id_note(file: &Opened) -> Option<Vec<u8>> {
    Elf::read(file, |elf| elf.content(b".note.gnu.build-id").map(<[u8]>::to_vec)).flatten()
}

/// An uncompressed file of which only the headers and requested sections are read.
struct Elf<'d, 'f> {
    cache: &'d ReadCache<&'f Opened>,
    is_relocatable: bool,
    sections: Vec<Section>,
    names: &'d [u8],
}

/// A section header, 32-bit or 64-bit.
struct Section {
    name: u32,
    flags: u64,
    has_bytes: bool,
    offset: u64,
    size: u64,
}

const CODE: u64 = elf::SHF_EXECINSTR.0;

/// More than any section read here has; bounds the cost of a damaged header.
const LARGEST_SECTION: u64 = 64 << 20;

impl<'f> Elf<'_, 'f> {
    fn read<T>(file: &'f Opened, ask: impl FnOnce(&Elf<'_, '_>) -> T) -> Option<T> {
        let cache = ReadCache::new(file);
        let class = cache.read_bytes_at(4, 1).ok()?[0];
        let read = match class == elf::ELFCLASS32.0 {
            true => Elf::of::<FileHeader32<Endianness>>(&cache),
            false => Elf::of::<FileHeader64<Endianness>>(&cache),
        };
        Some(ask(&read?))
    }

    fn of<'d, H: FileHeader<Endian = Endianness>>(cache: &'d ReadCache<&'f Opened>) -> Option<Elf<'d, 'f>> {
        let header = H::parse(cache).ok()?;
        let order = header.endian().ok()?;
        let headers = header.section_headers(order, cache).ok()?;
        let names = headers.get(header.shstrndx(order, cache).ok()? as usize)?;
        if names.sh_size(order).into() > LARGEST_SECTION {
            return None;
        }
        let names = names.data(order, cache).ok()?;
        let section = |s: &H::SectionHeader| Section {
            name: s.sh_name(order),
            flags: s.sh_flags(order).0,
            has_bytes: s.sh_type(order) != elf::SHT_NOBITS,
            offset: s.sh_offset(order).into(),
            size: s.sh_size(order).into(),
        };
        let is_relocatable = header.e_type(order) == elf::ET_REL;
        Some(Elf { cache, is_relocatable, sections: headers.iter().map(section).collect(), names })
    }

    fn section(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|section| self.is_named(section, name))
    }

    /// Compares only as many bytes as `name` has: a name in a damaged file may be as long as the table.
    fn is_named(&self, section: &Section, name: &[u8]) -> bool {
        let own = self.names.get(section.name as usize..).and_then(|rest| rest.strip_prefix(name));
        own.is_some_and(|rest| rest.first() == Some(&0))
    }

    fn content(&self, name: &[u8]) -> Option<&[u8]> {
        let section = self.section(name).filter(|s| s.size <= LARGEST_SECTION)?;
        match section.has_bytes {
            true => self.cache.read_bytes_at(section.offset, section.size).ok(),
            false => Some(&[]),
        }
    }
}

/// Offsets and sizes of the loaded sections without code, `.rodata` first: one of them has the banner.
fn data_sections(file: &Opened) -> Vec<(u64, u64)> {
    let sections = Elf::read(file, |elf| {
        let wanted = elf::SHF_ALLOC.0;
        let mut found = Vec::new();
        for section in &elf.sections {
            if section.flags & (wanted | CODE) == wanted && section.has_bytes {
                let rodata = elf.is_named(section, b".rodata");
                found.push((!rodata, section.offset, section.size));
            }
        }
        found.sort_unstable();
        // If sections overlap, at most twice the size of the file is read.
        let mut left = file.length().saturating_mul(2);
        let read = |(_, offset, size): (bool, u64, u64)| {
            left = left.checked_sub(size)?;
            Some((offset, size))
        };
        found.into_iter().map_while(read).collect()
    });
    sections.unwrap_or_default()
}

fn section(mut file: &Opened, offset: u64, size: u64) -> Option<impl Read + '_> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    Some(file.take(size))
}

/// A compressed file as a stream, limited as a whole file is.
fn stream(mut file: &Opened, kind: Compression) -> impl Read + '_ {
    let size = file.length();
    let start = file.seek(SeekFrom::Start(0));
    let source = BufReader::with_capacity(1 << 16, file.take(if start.is_ok() { size } else { 0 }));
    open_stream(kind, source).take(size.saturating_mul(64).saturating_add(64 << 20))
}

const CHUNK: u64 = 256 << 10;
/// Bytes kept from a chunk for the next: more than a marker with a release.
const OVERLAP: usize = 256;

fn release_after(stream: &mut dyn Read, marker: &[u8]) -> Option<String> {
    let finder = memmem::Finder::new(marker);
    let mut window = Vec::new();
    loop {
        let got = (&mut *stream).take(CHUNK).read_to_end(&mut window).ok()?;
        let release = finder.find_iter(&window).find_map(|at| leading_release(&window[at + marker.len()..]));
        if release.is_some() || got == 0 {
            return release;
        }
        window.drain(..window.len().saturating_sub(OVERLAP));
    }
}

/// A release that is followed by a space. Releases start with a digit, unlike the `%s` of a format string.
fn leading_release(text: &[u8]) -> Option<String> {
    let end = text.iter().take(OVERLAP / 2).position(|&b| b == b' ')?;
    let release = &text[..end];
    // The release becomes a file name: an untrusted banner must not lead out of the folder.
    let fits =
        release.first()?.is_ascii_digit() && release.iter().all(|b| b.is_ascii_graphic() && *b != b'/');
    fits.then(|| String::from_utf8_lossy(release).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::fixture::{Tree, module, module_with_build_id, vmlinux};
    use super::*;

    #[test]
    fn what_cannot_be_an_input_is_told_by_its_first_bytes() {
        let good = module("", "");
        let size = good.len() as u64;
        let check = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut head = good[..HEAD].to_vec();
            change(&mut head);
            check(&head, size).map_err(|e| (e.kind(), e.place(), e.remedy().is_some()))
        };
        let at = |offset: u64| Some(format!("offset {offset:#x}"));
        assert_eq!(check(&|_| ()), Ok(None));
        assert_eq!(check(&|h| h.clear()), Err((ErrorKind::Damaged, at(0), true)));
        assert_eq!(check(&|h| h[3] = b'G'), Err((ErrorKind::NotElf, at(0), true)));
        assert_eq!(check(&|h| *h = b"MZ".to_vec()), Err((ErrorKind::NotElf, at(0), true)));
        assert_eq!(check(&|h| h[4] = 1), Err((ErrorKind::Unsupported, None, true)), "of x86-64");
        assert_eq!(check(&|h| h[5] = 3), Err((ErrorKind::Damaged, at(5), true)));
        assert_eq!(check(&|h| h.truncate(3)), Err((ErrorKind::Damaged, at(3), true)));
        assert_eq!(check(&|h| h.truncate(63)), Err((ErrorKind::Damaged, at(63), true)));
        assert_eq!(
            check(&|h| h[46] = 1),
            Err((
                ErrorKind::Damaged,
                at(u64::from_le_bytes([&good[40..46], &[1, 0]].concat().try_into().unwrap())),
                true
            ))
        );
        assert_eq!(check(&|h| h[..4].copy_from_slice(b"\x28\xb5\x2f\xfd")), Ok(Some(Compression::Zstd)));
    }

    fn open(tree: &Tree, content: &[u8]) -> Opened {
        let file = Opened::open(&tree.file("f", content)).unwrap();
        std::fs::remove_file(tree.path().join("f")).unwrap();
        file
    }

    #[test]
    fn roles_and_releases_by_content() {
        let tree = Tree::new();
        let path = tree.path().join("f");
        let m = open(&tree, &module("6.1.0-56", ""));
        assert_eq!(role(&m, None), Role::Module);
        assert_eq!(release(&m, &path, Role::Module, None).as_deref(), Some("6.1.0-56"));
        let v = open(&tree, &vmlinux("6.1.0-rc1+"));
        assert_eq!(role(&v, None), Role::Vmlinux);
        assert_eq!(release(&v, &path, Role::Vmlinux, None).as_deref(), Some("6.1.0-rc1+"));
        let v = open(&tree, &vmlinux(""));
        assert_eq!(release(&v, &path, Role::Vmlinux, None), None, "a format string is no banner");
        let gz = |data: &[u8]| {
            let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            w.write_all(data).unwrap();
            open(&tree, &w.finish().unwrap())
        };
        for (file, expected, wanted) in [
            (gz(&vmlinux("5.4.1")), Role::Vmlinux, Some("5.4.1")),
            (gz(&module("5.4.2", "")), Role::Module, Some("5.4.2")),
            (gz(&module("", "")), Role::Module, None),
        ] {
            assert_eq!(role(&file, Some(Compression::Gzip)), expected);
            assert_eq!(release(&file, &path, expected, Some(Compression::Gzip)).as_deref(), wanted);
        }
    }

    #[test]
    fn a_release_is_found_wherever_the_chunks_are_cut() {
        for before in
            [0, 1, CHUNK as usize - 30, CHUNK as usize - 14, CHUNK as usize - 1, 3 * CHUNK as usize - 20]
        {
            let mut text = vec![b'L'; before];
            text.extend(b"Linux version 6.1.0-56-cloud-amd64 (x)");
            let found = release_after(&mut &text[..], b"Linux version ");
            assert_eq!(found.as_deref(), Some("6.1.0-56-cloud-amd64"), "after {before}");
        }
        assert_eq!(release_after(&mut &b"vermagic=6.1"[..], b"vermagic="), None);
    }

    #[test]
    fn damaged_tables_say_nothing_and_do_not_panic() {
        let tree = Tree::new();
        let good = module("6.1.0", "");
        for at in (40..HEAD).chain(good.len() - 5 * 64..good.len()) {
            for value in [0, 0x7f, 0xff] {
                let mut bad = good.clone();
                bad[at] = value;
                let file = open(&tree, &bad);
                role(&file, None);
                let found = release(&file, Path::new("/none/f"), Role::Module, None);
                assert!(found.is_none() || found.as_deref() == Some("6.1.0"), "{found:?}");
                data_sections(&file);
            }
        }
    }

    #[test]
    fn build_ids_differ_where_builds_do() {
        let tree = Tree::new();
        let id = |n, filler| build_id_note(&open(&tree, &module_with_build_id(n, filler)));
        assert!(id(1, "").is_some());
        assert_eq!(id(1, "a"), id(1, ""));
        assert_ne!(id(1, ""), id(2, ""));
        assert_eq!(build_id_note(&open(&tree, &module("", ""))), None);
    }
}
