//! Chooses one vmlinux per release and one file per module among the candidates.
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::dependencies::Listed;
use super::name::{self, Role};
use super::walk::Candidate;
use super::{Input, KernelInputs, Running, content, separate};
use crate::build_id::hex;
use crate::error::{Error, ErrorKind};
use crate::load::members::Opened;

/// The release of files without one.
pub const UNKNOWN: &str = "unknown";

/// The criteria of the choice, and the notices about it.
pub(super) struct Choice<'a> {
    pub(super) running: Option<&'a Running>,
    /// The `modules.dep` of each release.
    pub(super) lists: &'a HashMap<String, (PathBuf, Listed)>,
    pub(super) skipped: &'a mut Vec<Error>,
    pub(super) of_another_build: &'a mut Vec<Error>,
}

impl Choice<'_> {
    /// The inputs of each release, sorted. Reports files not taken, except twins of those taken.
    pub(super) fn by_release(&mut self, candidates: Vec<Candidate>) -> Vec<KernelInputs> {
        let mut releases: BTreeMap<String, Files> = BTreeMap::new();
        for candidate in candidates {
            let files = releases.entry(release(&candidate)).or_default();
            match candidate.role {
                Role::Vmlinux => files.vmlinux.push(candidate),
                Role::Image => files.images.push(candidate),
                Role::Module => {
                    files.modules.entry(name::module_name(&candidate.path)).or_default().push(candidate)
                }
            }
        }
        releases.into_iter().map(|(release, files)| self.choose(release, files)).collect()
    }

    fn choose(&mut self, release: String, mut files: Files) -> KernelInputs {
        let (for_types, mut kernels) = files.vmlinux.into_iter().partition(is_for_types);
        self.drop_other_builds(&release, &mut kernels);
        // A boot image adds nothing to a vmlinux.
        let mut vmlinux = choose_vmlinux(&release, kernels, self.skipped);
        if vmlinux.is_none() {
            self.drop_other_builds(&release, &mut files.images);
            vmlinux = choose_image(&release, files.images, self.skipped);
        }
        if vmlinux.is_none() {
            vmlinux = choose_vmlinux(&release, for_types, self.skipped);
        }
        let mut modules = Vec::with_capacity(files.modules.len());
        let listed = self.lists.get(&release).map(|(_, listed)| listed);
        for (name, found) in files.modules {
            let (chosen, shipped) = choose_module(&release, &name, found, listed, self.skipped);
            modules.push(input(chosen, Some(name), shipped));
        }
        if let (None, Some(first)) = (&vmlinux, modules.first()) {
            self.skipped.push(without_vmlinux(&release, modules.len(), &first.path));
        }
        KernelInputs { release, vmlinux, modules }
    }

    /// Drops files of the running release that are of another build, with an error; if the running build is not
    /// required, they are kept with a notice.
    fn drop_other_builds(&mut self, release: &str, found: &mut Vec<Candidate>) {
        let is_it = |running: &&Running| running.release == release && !running.build_id.is_empty();
        let Some(running) = self.running.filter(is_it) else { return };
        found.retain(|candidate| {
            let other = separate::build_id(candidate).filter(|id| *id != running.build_id);
            let Some(id) = other else { return true };
            let what = format!(
                "of another build than the running kernel: its build id is {}, that of /sys/kernel/notes {}",
                hex(&id),
                hex(&running.build_id)
            );
            let error = Error::new(ErrorKind::Mismatch, what).at(&candidate.path);
            if running.is_wanted {
                let remedy = "install the debug package of the version that runs, or boot the one that is installed; \
                              to index this file all the same give its path";
                self.skipped.push(error.hint(remedy));
            } else {
                self.of_another_build.push(error);
            }
            !running.is_wanted
        });
    }
}

#[derive(Default)]
struct Files {
    vmlinux: Vec<Candidate>,
    images: Vec<Candidate>,
    modules: BTreeMap<String, Vec<Candidate>>,
}

/// The release from the path and other names of a file, else from its content, else from a name such as
/// `vmlinux-old`.
fn release(candidate: &Candidate) -> String {
    let Candidate { path, aliases, role, compression, .. } = candidate;
    let names = || std::iter::once(path).chain(aliases);
    names()
        .find_map(|p| name::release(p, *role))
        .or_else(|| content::release(&Opened::open(path).ok()?, path, *role, *compression))
        .or_else(|| names().find_map(|p| name::suffix_of_vmlinux(p).filter(|_| *role != Role::Module)))
        .unwrap_or_else(|| UNKNOWN.into())
}

/// Whether a vmlinux only provides BTF for building modules: any other has all that it has. In a package it is known by its place: all
/// distributions have headers in `usr/src`.
fn is_for_types(vmlinux: &Candidate) -> bool {
    if vmlinux.is_listed {
        let names: Vec<_> = vmlinux.path.iter().collect();
        return names.windows(2).any(|two| two == ["usr", "src"]);
    }
    vmlinux.compression.is_none()
        && Opened::open(&vmlinux.path).is_ok_and(|file| content::is_for_types(&file))
}

/// Takes the largest: the others are stripped, or of another build. Those are reported unless they are compressed, or
/// lack the debug information that the chosen one has.
fn choose_vmlinux(release: &str, mut found: Vec<Candidate>, skipped: &mut Vec<Error>) -> Option<Input> {
    known_sizes(&mut found);
    found.sort_by(|a, b| (Reverse(a.size), &a.path).cmp(&(Reverse(b.size), &b.path)));
    let mut found = found.into_iter();
    let chosen = found.next()?;
    let mut shipped = None;
    for other in found {
        if are_twins(&chosen, &other) {
            shipped.get_or_insert(other.path);
        } else if other.compression.is_none() && !is_less(&chosen, &other) {
            let what =
                format!("a further vmlinux of {release}; the larger {} is taken", chosen.path.display());
            skipped.push(passed_over(what, &other.path));
        }
    }
    Some(input(chosen, None, shipped))
}

/// Whether `other` lacks the debug information that the chosen vmlinux has: it would add nothing.
fn is_less(chosen: &Candidate, other: &Candidate) -> bool {
    let has_debug = |c: &Candidate| Opened::open(&c.path).is_ok_and(|file| content::has_debug_info(&file));
    chosen.compression.is_none() && has_debug(chosen) && !has_debug(other)
}

/// Takes the first by path. Others are reported unless they have the same size: distributions install two copies.
fn choose_image(release: &str, mut found: Vec<Candidate>, skipped: &mut Vec<Error>) -> Option<Input> {
    known_sizes(&mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let mut found = found.into_iter();
    let chosen = found.next()?;
    for other in found.filter(|other| other.size != chosen.size) {
        let what = format!("a further boot image of {release}; {} is taken", chosen.path.display());
        skipped.push(passed_over(what, &other.path));
    }
    Some(input(chosen, None, None))
}

/// Takes the file with debug information, and its twin without. Of several modules of one name, takes the one that
/// the kernel loads according to a list, else the first by path. The others are reported.
fn choose_module(
    release: &str,
    name: &str,
    found: Vec<Candidate>,
    listed: Option<&Listed>,
    skipped: &mut Vec<Error>,
) -> (Candidate, Option<PathBuf>) {
    let (mut of_debug, mut others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|c| name::is_debug_file(&c.path));
    known_sizes(&mut of_debug);
    known_sizes(&mut others);
    let mut ranked: Vec<_> = of_debug.into_iter().chain(others).map(|c| (rank(&c), c)).collect();
    ranked.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut distinct: Vec<(Candidate, Option<PathBuf>)> = Vec::with_capacity(1);
    for (_, candidate) in ranked {
        match distinct.iter_mut().find(|(other, _)| are_twins(other, &candidate)) {
            Some((_, shipped)) => {
                shipped.get_or_insert(candidate.path);
            }
            None => distinct.push((candidate, None)),
        }
    }
    let first = (0..distinct.len())
        .min_by_key(|&i| {
            let (candidate, shipped) = &distinct[i];
            let is_loaded = |path: &Path| listed.is_some_and(|listed| listed.has(path));
            let is_loaded = is_loaded(&candidate.path) || shipped.as_deref().is_some_and(is_loaded);
            (!is_loaded, !name::is_debug_file(&candidate.path), &candidate.path)
        })
        .expect("a name stands for at least one file");
    let chosen = distinct.swap_remove(first);
    for (other, _) in distinct {
        let what = format!("a further module {name} of {release}; {} is taken", chosen.0.path.display());
        skipped.push(passed_over(what, &other.path));
    }
    chosen
}

/// The order of files of one module: debug files first, then the larger ones.
fn rank(candidate: &Candidate) -> (bool, Reverse<u64>, PathBuf) {
    (!name::is_debug_file(&candidate.path), Reverse(candidate.size), candidate.path.clone())
}

/// Whether two files of the same name and release are one module: a debug file and the shipped one at the same place,
/// two forms side by side (`a.ko`, `a.ko.xz`), or any two with the same build id.
fn are_twins(a: &Candidate, b: &Candidate) -> bool {
    let (place_a, place_b) = (name::place_in_tree(&a.path), name::place_in_tree(&b.path));
    let same_place = place_a.is_some() && place_a == place_b;
    let one_is_debug = name::is_debug_file(&a.path) != name::is_debug_file(&b.path);
    let side_by_side = a.path.parent() == b.path.parent() && name::stem(&a.path) == name::stem(&b.path);
    if (same_place && one_is_debug) || side_by_side {
        return true;
    }
    let build_id = |c: &Candidate| {
        let file = c.compression.is_none().then(|| Opened::open(&c.path).ok())??;
        match c.role {
            Role::Module => content::build_id_note(&file),
            // Linked kernels have all notes in one section.
            Role::Vmlinux | Role::Image => separate::build_id(c),
        }
    };
    build_id(a).is_some_and(|id| build_id(b) == Some(id))
}

/// Finds the sizes by which one of several files is chosen: what is only known by the list of its package is waited for.
fn known_sizes(found: &mut [Candidate]) {
    if let [_, _, ..] = found {
        for candidate in found.iter_mut().filter(|candidate| candidate.is_listed && candidate.size == 0) {
            candidate.size = Opened::open(&candidate.path).map_or(0, |file| file.length());
        }
    }
}

fn input(candidate: Candidate, name: Option<String>, shipped: Option<PathBuf>) -> Input {
    let Candidate { path, size, mtime_ns, is_listed, unpacked, .. } = candidate;
    Input { path, name, size, mtime_ns, shipped, lacks: None, is_listed, unpacked }
}

fn passed_over(what: String, path: &Path) -> Error {
    Error::new(ErrorKind::Mismatch, what).at(path).hint("give only the one that belongs to this kernel")
}

fn without_vmlinux(release: &str, modules: usize, first: &Path) -> Error {
    let tree = first.ancestors().find(|p| p.parent().is_some_and(|p| p.ends_with("lib/modules")));
    let remedy = match release {
        UNKNOWN => "add the vmlinux that they were built with".to_owned(),
        _ => format!(
            "add it to the paths; distributions put it at /usr/lib/debug/boot/vmlinux-{release} \
             or /usr/lib/debug/lib/modules/{release}/vmlinux"
        ),
    };
    let what = format!("modules without their vmlinux: {modules} of release {release}");
    Error::new(ErrorKind::MissingPart, what).at(tree.unwrap_or(first)).hint(remedy)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::fixture::{Tree, module, module_with_build_id, vmlinux, vmlinux_for_types};
    use super::super::{Discovery, Options, discover};
    use super::*;

    fn all(tree: &Tree) -> Discovery {
        discover(&[tree.path().into()], &Options::default()).unwrap()
    }

    /// The files taken, and those reported.
    fn taken(found: &Discovery, tree: &Tree) -> (Vec<String>, Vec<String>) {
        let below = |p: &Path| p.strip_prefix(tree.path()).unwrap().display().to_string();
        let kernel = &found.kernels[0];
        let passed = found.skipped.iter().filter(|e| e.kind() == ErrorKind::Mismatch);
        (
            kernel.vmlinux.iter().chain(&kernel.modules).map(|i| below(&i.path)).collect(),
            passed.map(|e| below(e.path().unwrap())).collect(),
        )
    }

    #[test]
    fn a_shipped_module_yields_to_its_debug_file_without_a_word() {
        let tree = Tree::new();
        let big = "x".repeat(500);
        tree.file("debug/lib/modules/6.1/vmlinux", &vmlinux(""));
        tree.file("debug/lib/modules/6.1/kernel/a.ko", &module("", ""));
        tree.file("lib/modules/6.1/kernel/a.ko", &module("", &big));
        tree.file("debug/lib/modules/6.1/kernel/b-c.ko.debug", &module("", ""));
        tree.file("lib/modules/6.1/kernel/b-c.ko.xz", b"\xfd7zXZ\0");
        tree.file("lib/modules/6.1/extra/d.ko", &module("", ""));
        tree.file("lib/modules/6.1/extra/d.ko.debug", &module("", ""));
        let found = all(&tree);
        assert_eq!(
            taken(&found, &tree).0,
            [
                "debug/lib/modules/6.1/vmlinux",
                "debug/lib/modules/6.1/kernel/a.ko",
                "debug/lib/modules/6.1/kernel/b-c.ko.debug",
                "lib/modules/6.1/extra/d.ko.debug"
            ]
        );
        assert!(found.skipped.is_empty(), "{:?}", found.skipped);
    }

    #[test]
    fn of_two_modules_of_one_name_the_first_is_taken_and_the_other_named() {
        let tree = Tree::new();
        tree.file("lib/modules/6.1/vmlinux", &vmlinux(""));
        tree.file("lib/modules/6.1/kernel/net/wg.ko", &module("", ""));
        tree.file("lib/modules/6.1/updates/dkms/wg.ko", &module("", "bigger"));
        let (files, passed) = taken(&all(&tree), &tree);
        assert_eq!(files, ["lib/modules/6.1/vmlinux", "lib/modules/6.1/kernel/net/wg.ko"]);
        assert_eq!(passed, ["lib/modules/6.1/updates/dkms/wg.ko"]);

        tree.file("lib/modules/6.1/kernel/net/a-b.ko", &module("", ""));
        tree.file("lib/modules/6.1/kernel/net/a_b.ko", &module("", "bigger"));
        assert_eq!(taken(&all(&tree), &tree).1[0], "lib/modules/6.1/kernel/net/a_b.ko");

        tree.file("usr/lib/debug/lib/modules/6.1/updates/dkms/wg.ko", &module("", ""));
        let (files, passed) = taken(&all(&tree), &tree);
        assert_eq!(files[2], "usr/lib/debug/lib/modules/6.1/updates/dkms/wg.ko", "debug information decides");
        assert_eq!(passed[1..], ["lib/modules/6.1/kernel/net/wg.ko"]);
    }

    #[test]
    fn outside_of_a_modules_tree_the_build_id_tells_twins() {
        let tree = Tree::new();
        tree.file("lib/modules/6.1/vmlinux", &vmlinux(""));
        tree.file("lib/modules/6.1/kernel/same.ko", &module_with_build_id(1, ""));
        tree.file("lib/modules/6.1/again/lib/modules/6.1/same.ko", &module_with_build_id(1, "not stripped"));
        tree.file("lib/modules/6.1/kernel/other.ko", &module_with_build_id(2, ""));
        tree.file("lib/modules/6.1/again/lib/modules/6.1/other.ko", &module_with_build_id(3, ""));
        let (files, passed) = taken(&all(&tree), &tree);
        assert!(files.contains(&"lib/modules/6.1/again/lib/modules/6.1/same.ko".into()), "{files:?}");
        assert_eq!(passed, ["lib/modules/6.1/kernel/other.ko"]);
    }

    #[test]
    fn the_biggest_vmlinux_is_taken_and_a_compressed_one_not_mentioned() {
        let tree = Tree::new();
        tree.file("boot/vmlinux-6.1.0", &vmlinux(""));
        tree.file("boot/vmlinux-6.1.0.gz", b"\x1f\x8b\x08");
        tree.file("debug/vmlinux-6.1.0.debug", &vmlinux("6.1.0"));
        let (files, passed) = taken(&all(&tree), &tree);
        assert_eq!(
            (files, passed),
            (vec!["debug/vmlinux-6.1.0.debug".into()], vec!["boot/vmlinux-6.1.0".into()])
        );
    }

    #[test]
    fn the_vmlinux_of_a_headers_package_counts_where_there_is_no_other_kernel() {
        let tree = Tree::new();
        tree.file("usr/src/headers/vmlinux", &vmlinux_for_types());
        tree.file("usr/src/headers/include/config/kernel.release", b"6.12.1\n");
        let vmlinux_of = |tree: &Tree| {
            let found = all(tree);
            assert!(found.skipped.is_empty(), "{:?}", found.skipped);
            taken(&found, tree).0
        };
        assert_eq!(vmlinux_of(&tree), ["usr/src/headers/vmlinux"]);
        let mut image = vec![0; 0x260];
        image[0x1fe..0x206].copy_from_slice(&[0x55, 0xaa, 0, 0, b'H', b'd', b'r', b'S']);
        tree.file("boot/vmlinuz-6.12.1", &image);
        assert_eq!(vmlinux_of(&tree), ["boot/vmlinuz-6.12.1"]);
        tree.file("debug/vmlinux-6.12.1", &vmlinux(""));
        assert_eq!(vmlinux_of(&tree), ["debug/vmlinux-6.12.1"], "however small it is");
    }

    #[test]
    fn modules_without_a_vmlinux_are_kept_and_reported_once() {
        let tree = Tree::new();
        for module_name in ["a", "b"] {
            tree.file(&format!("lib/modules/6.1.0/kernel/{module_name}.ko"), &module("", ""));
        }
        let found = all(&tree);
        assert_eq!((found.kernels.len(), found.kernels[0].modules.len()), (1, 2));
        assert!(found.kernels[0].vmlinux.is_none());
        let [e] = &found.skipped[..] else { panic!("{:?}", found.skipped) };
        assert_eq!(
            (e.kind(), e.path()),
            (ErrorKind::MissingPart, Some(&*tree.path().join("lib/modules/6.1.0")))
        );
        assert!(e.message().starts_with("modules without their vmlinux: 2 "), "{e}");
        assert!(e.remedy().unwrap().contains("boot/vmlinux-6.1.0"), "{e}");
    }

    #[test]
    fn a_release_comes_from_any_name_of_the_file_then_from_its_content() {
        let tree = Tree::new();
        tree.file("src/vmlinux", &vmlinux("1.2.3"));
        tree.file("old/vmlinux-old", &vmlinux(""));
        tree.file("new/vmlinux-new", &vmlinux("6.9.0"));
        tree.file("none/vmlinux", &vmlinux(""));
        let releases =
            |found: &Discovery| found.kernels.iter().map(|k| k.release.clone()).collect::<Vec<_>>();
        assert_eq!(releases(&all(&tree)), ["1.2.3", "6.9.0", "old", UNKNOWN]);
        let link = tree.link("lib/modules/6.1/build/vmlinux", "../../../../src/vmlinux");
        assert_eq!(releases(&all(&tree)), ["6.1", "6.9.0", "old", UNKNOWN]);
        let given: [PathBuf; 1] = [link];
        assert_eq!(releases(&discover(&given, &Options::default()).unwrap()), ["6.1"]);
    }
}
