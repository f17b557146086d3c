//! Identifies a file by its name and place.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// The role of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Vmlinux,
    Module,
    /// A boot image: the kernel without symbols and debug information.
    Image,
}

/// The role of a file in a directory by its name: `vmlinux`, `vmlinux-*`, `vmlinux.debug`, `vmlinuz`, `vmlinuz-*`,
/// `*.ko`, `*.ko.debug`, each also compressed.
///
/// Some files of a build tree have such a name but do not count: the parts of a boot image (`arch/*/boot`), the
/// script for gdb, and a package of split DWARF, which belongs to the vmlinux beside it.
pub(super) fn role(path: &Path) -> Option<Role> {
    let name = uncompressed(path.file_name()?);
    if let Some(rest) = name.strip_prefix(b"vmlinux") {
        let fits = rest.is_empty() || rest == b".debug" || (rest.len() > 1 && rest[0] == b'-');
        let other =
            rest.ends_with(b".py") || rest.ends_with(b".dwp") || (rest.is_empty() && is_made_to_boot(path));
        return (fits && !other).then_some(Role::Vmlinux);
    }
    if let Some(rest) = name.strip_prefix(b"vmlinuz") {
        return (rest.is_empty() || (rest.len() > 1 && rest[0] == b'-')).then_some(Role::Image);
    }
    let stem = module_stem(name)?;
    (!stem.is_empty()).then_some(Role::Module)
}

/// Whether a file lies in `arch/*/boot` or below, where a build assembles boot images: it holds a part of the kernel,
/// or an unpacker.
fn is_made_to_boot(path: &Path) -> bool {
    let mut before = [OsStr::new(""); 2];
    for folder in path.parent().into_iter().flat_map(Path::components).map(Component::as_os_str) {
        if before[0] == "arch" && folder == "boot" {
            return true;
        }
        before = [before[1], folder];
    }
    false
}

/// The kernel's name for the module in this file (`KBUILD_MODNAME`), from the file name.
pub(super) fn module_name(path: &Path) -> String {
    String::from_utf8_lossy(stem(path)).replace('-', "_")
}

/// The file name of a module without `.ko` and what follows, or without the last extension.
pub(super) fn stem(path: &Path) -> &[u8] {
    let name = uncompressed(path.file_name().unwrap_or_default());
    module_stem(name).unwrap_or_else(|| match name.iter().rposition(|&b| b == b'.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    })
}

/// The release in a path: of its last `lib/modules/RELEASE/`, else of the name `vmlinux-RELEASE` or
/// `vmlinuz-RELEASE`. In a name it must start with a digit, so the release of `vmlinux-old` comes from its content.
pub(super) fn release(path: &Path, role: Role) -> Option<String> {
    if let Some((release, _)) = in_modules_tree(path) {
        return Some(release.to_string_lossy().into_owned());
    }
    (role != Role::Module)
        .then(|| suffix_of_vmlinux(path))
        .flatten()
        .filter(|s| s.as_bytes()[0].is_ascii_digit())
}

/// RELEASE of `vmlinux-RELEASE[.debug][.gz]` and `vmlinuz-RELEASE`, in any form.
pub(super) fn suffix_of_vmlinux(path: &Path) -> Option<String> {
    let name = uncompressed(path.file_name()?);
    let suffix = name.strip_prefix(b"vmlinux-").or_else(|| name.strip_prefix(b"vmlinuz-"))?;
    let suffix = suffix.strip_suffix(b".debug").unwrap_or(suffix);
    (!suffix.is_empty()).then(|| String::from_utf8_lossy(suffix).into_owned())
}

/// The path of a module in its `lib/modules/RELEASE` tree, without extensions: the same for a debug file and its
/// shipped file.
pub(super) fn place_in_tree(path: &Path) -> Option<Vec<u8>> {
    place(in_modules_tree(path)?.1)
}

/// A module's path below its tree, without extensions.
pub(super) fn place(below: &Path) -> Option<Vec<u8>> {
    module_stem(uncompressed(below.as_os_str())).map(<[u8]>::to_vec)
}

/// Whether a file lies where debug files are put: below a folder `debug` above its module tree, or as `*.debug`.
pub(super) fn is_debug_file(path: &Path) -> bool {
    let below = in_modules_tree(path).map_or(1, |(_, below)| below.components().count());
    let directories = path.components().count().saturating_sub(below);
    path.components().take(directories).any(|c| c.as_os_str() == "debug")
        || path.file_name().is_some_and(|name| uncompressed(name).ends_with(b".debug"))
}

/// RELEASE of the last `lib/modules/RELEASE/` and the path below it.
fn in_modules_tree(path: &Path) -> Option<(&OsStr, &Path)> {
    let mut below = path.components();
    let mut found = None;
    let mut before = [Component::RootDir; 2];
    while let Some(component) = below.next() {
        let here = below.as_path();
        if before.map(Component::as_os_str) == ["lib", "modules"] && !here.as_os_str().is_empty() {
            found = Some((component.as_os_str(), here));
        }
        before = [before[1], component];
    }
    found
}

fn uncompressed(name: &OsStr) -> &[u8] {
    let name = name.as_bytes();
    [&b".gz"[..], b".xz", b".zst"].iter().find_map(|suffix| name.strip_suffix(*suffix)).unwrap_or(name)
}

fn module_stem(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(b".debug").unwrap_or(name).strip_suffix(b".ko")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_by_name() {
        let vmlinux = [
            "vmlinux",
            "vmlinux.debug",
            "vmlinux-6.1.0",
            "vmlinux-6.4-default.debug.xz",
            "vmlinux.gz",
            "b/vmlinux-x.zst",
            "/arch/linux/x/boot/vmlinux",
        ];
        let modules = ["a.ko", "/x/a-b.ko.debug", "a.ko.gz", "a.ko.xz", "a.ko.zst", "a.ko.debug.xz"];
        let neither = [
            "vmlinuz.old",
            "vmlinuz-",
            "vmlinux.o",
            "vmlinux-",
            "vmlinux.lds",
            "vmlinux-gdb.py",
            "vmlinux.bz2",
            "xvmlinux",
            "arch/x86/boot/compressed/vmlinux",
            "/home/me/linux/arch/s390/boot/vmlinux",
            "a.ko.bz2",
            "a.o",
            ".ko",
            "a.kok",
            "a.debug",
            "vdso64.so.dbg",
            "modules.dep",
        ];
        let images = ["vmlinuz", "vmlinuz-6.1.0", "/lib/modules/6.1.0/vmlinuz"];
        for (names, expected) in [
            (&vmlinux[..], Some(Role::Vmlinux)),
            (&modules, Some(Role::Module)),
            (&images, Some(Role::Image)),
            (&neither, None),
        ] {
            for name in names {
                assert_eq!(role(Path::new(name)), expected, "{name}");
            }
        }
    }

    #[test]
    fn module_names_are_the_kernels() {
        for (file, name) in [
            ("snd-hda-intel.ko.debug", "snd_hda_intel"),
            ("/x.y/8021q.ko.xz", "8021q"),
            ("odd.name.ko", "odd.name"),
            ("given.o", "given"),
            (".hidden", ".hidden"),
        ] {
            assert_eq!(module_name(Path::new(file)), name, "{file}");
        }
    }

    #[test]
    fn releases_by_place_and_name() {
        let release = |path: &str, role| release(Path::new(path), role);
        for (path, role, expected) in [
            ("/usr/lib/debug/lib/modules/6.1.0-56/kernel/fs/a.ko", Role::Module, Some("6.1.0-56")),
            ("/lib/modules/old/lib/modules/5.10/extra/a.ko", Role::Module, Some("5.10")),
            ("/lib/modules/5.10/vmlinux-6.0", Role::Vmlinux, Some("5.10")),
            ("/boot/vmlinux-6.4.0-150600-default.debug.xz", Role::Vmlinux, Some("6.4.0-150600-default")),
            ("/boot/vmlinux-old", Role::Vmlinux, None),
            ("/boot/vmlinux", Role::Vmlinux, None),
            ("/boot/vmlinuz-6.1.0-56", Role::Image, Some("6.1.0-56")),
            ("/lib/modules/5.10/vmlinuz", Role::Image, Some("5.10")),
            ("/lib/modules/a.ko", Role::Module, None),
            ("/lib/x/modules/6.1/a.ko", Role::Module, None),
        ] {
            assert_eq!(release(path, role).as_deref(), expected, "{path}");
        }
        assert_eq!(suffix_of_vmlinux(Path::new("vmlinux-old.gz")).as_deref(), Some("old"));
    }

    #[test]
    fn a_debug_file_is_told_by_its_directory_or_extension() {
        for (path, expected) in [
            ("/usr/lib/debug/lib/modules/6/kernel/a.ko", true),
            ("/lib/modules/6/kernel/a.ko.debug.xz", true),
            ("/home/me/debug/a.ko", true),
            ("/lib/modules/6/kernel/debug/a.ko", false),
            ("/lib/modules/6/kernel/debug.ko", false),
            ("/x/debug", false),
        ] {
            assert_eq!(is_debug_file(Path::new(path)), expected, "{path}");
        }
        let place = |path| place_in_tree(Path::new(path));
        assert_eq!(place("/usr/lib/debug/lib/modules/6/k/a.ko.debug"), place("/lib/modules/6/k/a.ko.zst"));
        assert_ne!(place("/lib/modules/6/k/a.ko"), place("/lib/modules/6/updates/a.ko"));
        assert_eq!(place("/build/a.ko"), None);
    }
}
