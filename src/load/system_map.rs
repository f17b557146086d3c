//! `System.map`: what nm says of vmlinux, as distributions install it beside the boot image. It has the symbols that a kernel
//! without CONFIG_KALLSYMS_ALL does not carry for itself, among them those that bound its tables.
use super::elf::Elf;
use super::symbol_table::{SymbolTable, Told, lines};
use crate::error::{Error, ErrorKind, Result};
use rustc_hash::FxHashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A kernel has some ten megabytes of them.
const LARGEST: u64 = 256 << 20;

impl SymbolTable {
    /// The symbols of the kernel at a path as its `System.map` has them, if that is there and has more than `carried`, which
    /// the kernel carries itself.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if it is that of another build: it has not all that the kernel carries.
    pub fn of_system_map(object: &Elf<'_>, path: &Path, carried: Option<&Self>) -> Result<Option<Self>> {
        if carried.is_some_and(|carried| carried.has_data(object)) {
            return Ok(None);
        }
        let read = |path: PathBuf| {
            let mut text = vec![];
            std::fs::File::open(&path).and_then(|file| file.take(LARGEST).read_to_end(&mut text)).ok()?;
            // Debian's is a word that the real one is elsewhere.
            let is_real = lines(&text).next().is_some();
            is_real.then_some((path, text))
        };
        let Some((map, text)) = places(path).find_map(read) else { return Ok(None) };
        let known: FxHashMap<(&[u8], u64), Told<'_>> =
            lines(&text).map(|t| ((t.name, t.address), t)).collect();
        if carried.is_some_and(|carried| carried.each().any(|symbol| !known.contains_key(&symbol))) {
            let error =
                Error::new(ErrorKind::Mismatch, "of another build: it has not all symbols of the kernel");
            return Err(error.at(&map).hint("install the package of the kernel again"));
        }
        Ok(Some(Self::new(object, lines(&text))))
    }

    /// Whether there are symbols of data.
    fn has_data(&self, object: &Elf<'_>) -> bool {
        let is_data =
            |section: u16| object.sections.get(usize::from(section)).is_some_and(|s| !s.is_executable());
        self.records.iter().map(|s| self.place(s).0).any(|section| section != 0 && is_data(section))
    }

    /// Name and address of each.
    fn each(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.records[1..].iter().map(|s| {
            let rest = &self.names[s.st_name.get(self.order) as usize..];
            (&rest[..memchr::memchr(0, rest).unwrap_or(rest.len())], self.place(s).1)
        })
    }
}

/// Where it may be: with the release of the image's name beside it; `System.map` beside it, as in lib/modules/RELEASE, and
/// above it in a build tree (arch/x86/boot/bzImage).
fn places(path: &Path) -> impl Iterator<Item = PathBuf> {
    let release =
        path.file_name().and_then(|name| name.to_str()?.split_once('-')).map(|(_, release)| release);
    let named =
        path.parent().zip(release).map(|(folder, release)| folder.join(format!("System.map-{release}")));
    let plain: Vec<PathBuf> =
        path.ancestors().skip(1).take(4).map(|folder| folder.join("System.map")).collect();
    named.into_iter().chain(plain)
}
