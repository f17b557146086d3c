//! Drops errors about files that no wanted kernel needs.
//!
//! Given a directory, the kernels in it are wanted. A boot image beside their vmlinux, one of a kernel without other
//! files, and a vmlinux without debug information beside one with it add nothing. Given a file, that file is wanted.
use super::name::{self, Role};
use super::{KernelInputs, Sysroot};
use crate::error::{Error, ErrorKind};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The files given by their own path, not by a directory above them.
pub(super) struct Named(HashSet<PathBuf>);

impl Named {
    pub(super) fn of(paths: &[PathBuf], sysroot: &Sysroot) -> Self {
        let resolved = paths.iter().flat_map(|path| [Some(path.clone()), sysroot.resolve(path).ok()]);
        Self(resolved.flatten().filter(|path| !path.is_dir()).collect())
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.contains(path)
    }

    /// Drops errors about files that no kernel needs.
    pub(super) fn drop_needless(&self, kernels: &[KernelInputs], skipped: &mut Vec<Error>) {
        let is_there = |release: &str| kernels.iter().any(|k| k.release == release && k.vmlinux.is_some());
        let has_modules =
            |release: &str| kernels.iter().any(|k| k.release == release && !k.modules.is_empty());
        let has_any = kernels.iter().any(|k| k.vmlinux.is_some());
        skipped.retain(|error| {
            // If two kernels are intact, the report names the one taken.
            let Some(path) = error.path().filter(|_| error.kind() != ErrorKind::Mismatch) else {
                return true;
            };
            let Some(role @ (Role::Vmlinux | Role::Image)) = name::role(path) else { return true };
            let release = name::release(path, role);
            let is_needless = match (&release, role) {
                (Some(release), _) if is_there(release) => true,
                (Some(release), Role::Image) => has_any && !has_modules(release),
                (None, Role::Image) => has_any,
                _ => false,
            };
            self.has(path) || !is_needless
        });
    }

    /// The releases of which only a boot image was found, if there are other kernels.
    pub(super) fn spare(&self, kernels: &[KernelInputs]) -> HashSet<String> {
        let is_image = |k: &&KernelInputs| {
            let image = k.vmlinux.as_ref().filter(|v| super::is_image(&v.path));
            k.modules.is_empty() && image.is_some_and(|image| !self.has(&image.path))
        };
        let spare: HashSet<String> = kernels.iter().filter(is_image).map(|k| k.release.clone()).collect();
        if spare.len() < kernels.len() { spare } else { HashSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Tree, module, vmlinux};
    use super::super::{Discovery, Options, discover};

    fn in_all(tree: &Tree) -> Discovery {
        discover(&[tree.path().into()], &Options::default()).unwrap()
    }

    #[test]
    fn a_boot_image_that_is_no_elf_is_no_loss_beside_its_vmlinux() {
        let tree = Tree::new();
        tree.file("debug/boot/vmlinux-6.12.1", &vmlinux(""));
        let image = tree.file("boot/vmlinuz-6.12.1", b"\0\x08\0\0 no ELF");
        tree.file("lib/modules/6.12.1/vmlinuz", b"\0\x08\0\0 no ELF either");
        tree.file("boot/vmlinuz-5.10.0", b"of a kernel of which nothing else is here");
        let found = in_all(&tree);
        assert_eq!((found.kernels.len(), found.skipped.len()), (1, 0), "{:?}", found.skipped);

        let named = discover(&[tree.path().into(), image.clone()], &Options::default()).unwrap();
        assert_eq!(named.skipped.iter().map(|e| e.path()).collect::<Vec<_>>(), [Some(&*image)]);
    }

    #[test]
    fn one_that_is_all_there_is_of_a_kernel_is_a_loss() {
        let tree = Tree::new();
        tree.file("boot/vmlinuz-6.12.1", b"\0\x08\0\0 no ELF");
        assert_eq!(in_all(&tree).skipped.len(), 1);
        // Its modules are wanted, so it is needed as their kernel.
        tree.file("lib/modules/6.12.1/kernel/a.ko", &module("6.12.1", ""));
        tree.file("debug/boot/vmlinux-5.10.0", &vmlinux(""));
        assert!(in_all(&tree).skipped.iter().any(|e| e.path().unwrap().ends_with("boot/vmlinuz-6.12.1")));
    }

    #[test]
    fn an_image_alone_is_spare_where_there_are_other_kernels() {
        let mut image = vec![0; 0x260];
        image[0x1fe..0x206].copy_from_slice(&[0x55, 0xaa, 0, 0, b'H', b'd', b'r', b'S']);
        let tree = Tree::new();
        tree.file("boot/vmlinuz-5.10.0", &image);
        assert!(in_all(&tree).spare.is_empty());
        tree.file("debug/boot/vmlinux-6.12.1", &vmlinux(""));
        assert_eq!(in_all(&tree).spare.into_iter().collect::<Vec<_>>(), ["5.10.0"]);
    }
}
