//! `System.map`: the symbols of vmlinux as nm prints them, installed by distributions beside the boot image. It lists
//! symbols missing from the embedded kallsyms without CONFIG_KALLSYMS_ALL, such as the bounds of the kernel's tables.
use super::elf::Elf;
use super::members::Opened;
use super::symbol_table::{ListedSymbol, SymbolTable, lines};
use crate::error::{Error, ErrorKind, Result};
use rustc_hash::FxHashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A real one has some ten megabytes.
const LARGEST: u64 = 256 << 20;

impl SymbolTable {
    /// The symbols in the `System.map` for a kernel, if there is one and `carried`, the embedded kallsyms, lacks data
    /// symbols.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`] if it belongs to another build: it lacks symbols that the kernel carries.
    pub fn of_system_map(object: &Elf<'_>, path: &Path, carried: Option<&Self>) -> Result<Option<Self>> {
        if carried.is_some_and(|carried| carried.has_data(object)) {
            return Ok(None);
        }
        let read = |path: PathBuf| {
            let mut text = vec![];
            Opened::open(&path).and_then(|file| (&file).take(LARGEST).read_to_end(&mut text)).ok()?;
            // Debian's is a stub that names the location of the real one.
            let is_real = lines(&text).next().is_some();
            is_real.then_some((path, text))
        };
        let Some((map, text)) = places(path).find_map(read) else { return Ok(None) };
        let known: FxHashMap<(&[u8], u64), ListedSymbol<'_>> =
            lines(&text).map(|t| ((t.name, t.address), t)).collect();
        if carried.is_some_and(|carried| carried.each().any(|symbol| !known.contains_key(&symbol))) {
            let error = Error::new(ErrorKind::Mismatch, "of another build: it lacks symbols of the kernel");
            return Err(error.at(&map).hint("install the package of the kernel again"));
        }
        Ok(Some(Self::new(object, lines(&text))))
    }

    /// Whether there are data symbols.
    fn has_data(&self, object: &Elf<'_>) -> bool {
        let is_data =
            |section: u16| object.sections.get(usize::from(section)).is_some_and(|s| !s.is_of_code());
        self.records.iter().map(|s| self.place(s).0).any(|section| section != 0 && is_data(section))
    }

    /// The name and address of each symbol.
    fn each(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.records[1..].iter().map(|s| {
            let rest = &self.names[s.st_name.get(self.order) as usize..];
            (&rest[..memchr::memchr(0, rest).unwrap_or(rest.len())], self.place(s).1)
        })
    }
}

/// Candidate paths: `System.map-RELEASE` beside the image, by the release in the image's name; `System.map` beside
/// it, as in lib/modules/RELEASE, and above it in a build tree (arch/x86/boot/bzImage).
fn places(path: &Path) -> impl Iterator<Item = PathBuf> {
    let release =
        path.file_name().and_then(|name| name.to_str()?.split_once('-')).map(|(_, release)| release);
    let named =
        path.parent().zip(release).map(|(folder, release)| folder.join(format!("System.map-{release}")));
    let plain: Vec<PathBuf> =
        path.ancestors().skip(1).take(4).map(|folder| folder.join("System.map")).collect();
    named.into_iter().chain(plain)
}
