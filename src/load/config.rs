//! Finds and parses the configuration of a kernel.
use super::decompress::{Compression, decompress};
use super::elf::Elf;
use super::members;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;

/// The options that are set, without `CONFIG_`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KernelConfig(FxHashMap<String, String>);

impl KernelConfig {
    /// Finds the configuration of a kernel: `.config` beside vmlinux, as in a build tree; else `config-RELEASE` as
    /// distributions ship it, in the folder of vmlinux or above; else the copy in the image (CONFIG_IKCONFIG).
    pub fn find(vmlinux: &Path, release: &str, object: &Elf<'_>) -> Option<Self> {
        Self::shipped(vmlinux, release).or_else(|| Self::in_image(object))
    }

    /// Like [`Self::find`], but only from files beside or above vmlinux.
    pub fn shipped(vmlinux: &Path, release: &str) -> Option<Self> {
        let beside = vmlinux.parent()?.join(".config");
        let shipped = vmlinux.ancestors().skip(1).flat_map(|folder| {
            [
                folder.join(format!("config-{release}")),
                folder.join(format!("boot/config-{release}")),
                folder.join(format!("lib/modules/{release}/config")),
            ]
        });
        let read = |path: &Path| Self::parse(&members::text(path)?);
        std::iter::once(beside).chain(shipped).find_map(|path| read(&path))
    }

    /// The copy in the image: gzip between two marks (kernel/configs.c).
    fn in_image(object: &Elf<'_>) -> Option<Self> {
        const LARGEST: u64 = 16 << 20;
        let data = object.section(".rodata")?.raw();
        let start = memchr::memmem::find(data, b"IKCFG_ST\x1f\x8b")? + b"IKCFG_ST".len();
        let length = memchr::memmem::find(&data[start..], b"IKCFG_ED")?;
        let text = decompress(Compression::Gzip, &data[start..start + length], LARGEST).ok()?;
        Self::parse(&String::from_utf8(text).ok()?)
    }

    /// `None` if the text sets no option.
    fn parse(text: &str) -> Option<Self> {
        let set = text.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='));
        let options: FxHashMap<_, _> = set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        (!options.is_empty()).then_some(Self(options))
    }

    /// All options with their values, by name.
    pub fn options(&self) -> BTreeMap<&str, &str> {
        self.0.iter().map(|(name, value)| (&**name, &**value)).collect()
    }
    /// The value of an option.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
    /// Whether an option is `y`.
    pub fn has(&self, name: &str) -> bool {
        self.get(name) == Some("y")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_or_they_are_not() {
        let text =
            "#\n# Linux\nCONFIG_KPROBES=y\n# CONFIG_KPROBE_EVENTS_ON_NOTRACE is not set\nCONFIG_FAT_FS=m\n";
        let config = KernelConfig::parse(text).unwrap();
        assert!(config.has("KPROBES") && !config.has("KPROBE_EVENTS_ON_NOTRACE") && !config.has("FAT_FS"));
        assert_eq!(KernelConfig::parse("no configuration"), None);
    }
}
