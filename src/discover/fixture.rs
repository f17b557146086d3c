//! Small trees of small ELF files for the tests of this module.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const ET_REL: u16 = 1;
const ET_EXEC: u16 = 2;
const SHT_PROGBITS: u32 = 1;
const SHT_STRTAB: u32 = 3;
const SHF_ALLOC: u64 = 2;

/// A directory that is removed afterwards.
pub(super) struct Tree(tempfile::TempDir, PathBuf);

impl Tree {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        Self(directory, path)
    }

    pub(super) fn path(&self) -> &Path {
        debug_assert!(self.0.path().exists());
        &self.1
    }

    /// Writes a file, and creates the folders above it.
    pub(super) fn file(&self, path: &str, content: &[u8]) -> PathBuf {
        let path = self.place(path);
        fs::write(&path, content).unwrap();
        path
    }

    /// Creates a symbolic link and the folders above it.
    pub(super) fn link(&self, path: &str, target: &str) -> PathBuf {
        let path = self.place(path);
        symlink(target, &path).unwrap();
        path
    }

    fn place(&self, path: &str) -> PathBuf {
        let path = self.1.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

/// A module of this release, without `vermagic` if the release is empty; `filler` makes it larger.
pub(super) fn module(release: &str, filler: &str) -> Vec<u8> {
    let mut modinfo = b"license=GPL\0".to_vec();
    if !release.is_empty() {
        modinfo.extend(format!("depends=\0vermagic={release} SMP preempt mod_unload \0").bytes());
    }
    let sections =
        [(".text", filler.as_bytes()), (".modinfo", &modinfo), (".gnu.linkonce.this_module", &[0; 64])];
    elf(ET_REL, &sections)
}

/// A module with this build id.
pub(super) fn module_with_build_id(id: u8, filler: &str) -> Vec<u8> {
    let mut note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0".to_vec();
    note.extend([id; 20]);
    let sections = [
        (".text", filler.as_bytes()),
        (".note.gnu.build-id", &note),
        (".gnu.linkonce.this_module", &[0; 64]),
    ];
    elf(ET_REL, &sections)
}

/// A vmlinux with the banner of this release, or without one if the release is empty.
pub(super) fn vmlinux(release: &str) -> Vec<u8> {
    let mut rodata = b"Linux version %s (%s)\0".repeat(3);
    if !release.is_empty() {
        rodata.extend(format!("Linux version {release} (me@here) (gcc) #1 SMP\n\0").bytes());
    }
    // Since 6.18 an unstripped vmlinux keeps the built-in modules' .modinfo.
    let sections = [(".text", &[0x90; 16][..]), (".modinfo", b"ext4.license=GPL\0"), (".rodata", &rodata)];
    elf(ET_EXEC, &sections)
}

/// The vmlinux of a headers package: only BTF.
pub(super) fn vmlinux_for_types() -> Vec<u8> {
    elf(ET_EXEC, &[(".BTF", &[0x9f, 0xeb, 1, 0]), (".BTF_ids", &[0; 1000])])
}

fn elf(kind: u16, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![0; 64];
    let mut names = vec![0];
    let mut headers = vec![0; 64];
    let mut add = |out: &mut Vec<u8>, name: &str, sh_type: u32, flags: u64, content: Option<&[u8]>| {
        let name_at = names.len() as u32;
        names.extend(name.bytes().chain([0]));
        let content = content.unwrap_or(&names);
        headers.extend(name_at.to_le_bytes());
        headers.extend(sh_type.to_le_bytes());
        for value in [flags, 0, out.len() as u64, content.len() as u64, 0, 1, 0] {
            headers.extend(value.to_le_bytes());
        }
        out.extend_from_slice(content);
    };
    for (name, content) in sections {
        add(&mut out, name, SHT_PROGBITS, SHF_ALLOC, Some(content));
    }
    add(&mut out, ".shstrtab", SHT_STRTAB, 0, None);
    let shoff = out.len() as u64;
    let count = sections.len() as u16 + 2;
    out.extend(headers);
    out[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    out[16..18].copy_from_slice(&kind.to_le_bytes());
    out[18..20].copy_from_slice(&62_u16.to_le_bytes());
    out[20] = 1;
    out[40..48].copy_from_slice(&shoff.to_le_bytes());
    for (at, value) in [(52, 64), (58, 64), (60, count), (62, count - 1)] {
        out[at..at + 2].copy_from_slice(&u16::to_le_bytes(value));
    }
    out
}
