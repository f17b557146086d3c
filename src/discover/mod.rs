//! Finds the kernels and modules under some paths, grouped by kernel release.
//!
//! `walk` finds files by name and checks their first bytes (`head`). `content` reads further into the few whose release does
//! not follow from name and place. `group` chooses among several files of one object, also by `dependencies`
//! (`modules.dep`). `separate` finds debug files by build id and name. `places` knows where distributions put debug
//! information; `needless` drops irrelevant errors; `sysroot` resolves paths of another system. `user` opens one
//! program or shared library. `package` takes what is wanted of packages.
mod at_once;
mod content;
mod dependencies;
#[cfg(test)]
mod fixture;
mod group;
mod head;
mod name;
mod needless;
mod package;
mod places;
mod separate;
mod sysroot;
mod unpacked;
mod user;
mod walk;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
pub use crate::load::live::BTF as OWN_BTF;
use crate::load::members::{self, Members};
use crate::load::widen;
pub use crate::package::is_package;
use dependencies::Listed;
pub use group::UNKNOWN as UNKNOWN_RELEASE;
pub use package::{packages_below, release_of_package};
pub use places::{Found, Place, install_hint, is_release, places, releases};
pub use sysroot::Sysroot;
pub use unpacked::Unpacked;
pub use user::{UserObject, user_object};

/// Everything found under the given paths.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Sorted by release.
    pub kernels: Vec<KernelInputs>,
    /// Files that looked like an input but are not, or that lack their counterpart. Sorted by path.
    pub skipped: Vec<Error>,
    /// Files that were taken though of another build than the running kernel of the same release.
    pub of_another_build: Vec<Error>,
    /// Releases of which only a boot image was found, among other kernels: if it cannot be read, nothing is lost.
    pub spare: HashSet<String>,
    /// The files of packages among the paths; inputs below a package are found there.
    pub members: Members,
    /// The system in which they were searched.
    pub root: Sysroot,
}

/// The files of one kernel release.
#[derive(Clone, Debug)]
pub struct KernelInputs {
    /// As `uname -r` prints it; `unknown` if no file contains it.
    pub release: String,
    /// `None` if only modules were found, which [`Discovery::skipped`] reports as well.
    pub vmlinux: Option<Input>,
    /// Sorted by name, then path; names are unique.
    pub modules: Vec<Input>,
}

/// One file to index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Absolute and free of symbolic links. The file may be compressed whatever its name: see
    /// [`crate::load::decompress::detect`].
    pub path: PathBuf,
    /// `None` for vmlinux; else the kernel's name for the module (`nf_nat` for `nf-nat.ko.xz`).
    pub name: Option<String>,
    /// In bytes, as stored on disk.
    pub size: u64,
    /// Last modification, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// The shipped file of the same object, if this one is a debug file: it may have the machine code that the debug
    /// file lacks.
    pub shipped: Option<PathBuf>,
    /// The build id of an object without debug information for which no debug file was found. Known for objects that
    /// [`discover`] examines; see [`Options::ids`].
    pub lacks: Option<Vec<u8>>,
    /// Known by the list of its package so far: see [`Input::arrived`].
    pub is_listed: bool,
    /// The unpacked content of a boot image, if it was needed before.
    pub unpacked: Unpacked,
}

impl Input {
    /// The input with the size and time of its file; of one in a package that is unpacked, waits for it. `None` if the package does not
    /// have it after all.
    pub fn arrived(&self) -> Option<Self> {
        if !self.is_listed {
            return Some(self.clone());
        }
        let Self { size, mtime_ns, .. } = Self::of(&self.path).ok()?;
        Some(Self { size, mtime_ns, is_listed: false, ..self.clone() })
    }
    /// Drops the content of a file in a package once it is read; see [`members::forget`].
    pub fn forget(&self) {
        self.files().for_each(members::forget);
    }
    /// The file, and the one that is read beside it.
    pub fn files(&self) -> impl Iterator<Item = &Path> + Send {
        std::iter::once(&self.path).chain(&self.shipped).map(PathBuf::as_path)
    }
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether modules are wanted besides vmlinux. If not, a module given by its own path is reported as skipped.
    pub modules: bool,
    /// The system that the files belong to: symbolic links below its root do not leave it.
    pub sysroot: Sysroot,
    /// The running kernel, if other builds of its release are to be recognized.
    pub running: Option<Running>,
    /// Whether debug files can be fetched by build id: then images and modules are examined for theirs, even if none
    /// of the kernel was found.
    pub ids: bool,
    /// Where packages among the paths are from, if that is not where they lie: members are named by it.
    pub called: HashMap<PathBuf, PathBuf>,
}

/// The running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// As `uname -r` prints it.
    pub release: String,
    /// From `/sys/kernel/notes`; empty if unreadable.
    pub build_id: Vec<u8>,
    /// Whether this build is required: then a vmlinux of another build is refused. Otherwise, as for a given path, it
    /// is taken and listed in [`Discovery::of_another_build`].
    pub is_wanted: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { modules: true, sysroot: Sysroot::default(), running: None, ids: false, called: HashMap::new() }
    }
}

/// Finds the kernels and modules under `paths`, each a file, a directory or a package.
///
/// Directories are searched for files named like a vmlinux or a module. Symbolic links to directories are not
/// followed, except for a given path; links to files are. A file reached in several ways counts once. A file given by
/// its own path is an input whatever its name; its content determines its role.
///
/// A package (`.deb`, `.rpm`) counts as the folder that it would be unpacked to, several as one; what is wanted of them is
/// in memory from then on (`package`).
///
/// The release is that of a `lib/modules/RELEASE/` above the file, else of the name `vmlinux-RELEASE`, else of the
/// content (`vermagic` of a module; the banner of a vmlinux, or the `include/config/kernel.release` beside it).
///
/// An object without debug information is replaced by its debug file, found by build id or `.gnu_debuglink`, if that
/// is of the same build. Modules listed in a `modules.dep` below the paths but missing are one line in
/// [`Discovery::skipped`]; of several modules of one name the listed one is taken.
///
/// Cost: one open and one read of 64 bytes per candidate. Files outside of these places, and modules without a debug
/// file at its usual place, take a few more reads.
///
/// # Errors
/// Only if one of `paths` does not exist or cannot be read. Everything else is a line in [`Discovery::skipped`].
pub fn discover(paths: &[PathBuf], options: &Options) -> Result<Discovery> {
    let mut skipped = Vec::new();
    let walked = walk::candidates(paths, options, &mut skipped)?;
    let mut lists = HashMap::new();
    for path in walked.lists {
        let Some(release) = name::release(&path, name::Role::Module) else { continue };
        match Listed::read(&path) {
            Ok(listed) => drop(lists.insert(release, (path, listed))),
            Err(error) => skipped.push(error),
        }
    }
    let mut of_another_build = Vec::new();
    let mut choice = group::Choice {
        running: options.running.as_ref(),
        lists: &lists,
        skipped: &mut skipped,
        of_another_build: &mut of_another_build,
    };
    let mut kernels = choice.by_release(walked.candidates);
    for kernel in &mut kernels {
        separate::pair(kernel, &walked.directories, options, &mut skipped);
        if let Some((path, listed)) = lists.get(&kernel.release) {
            let found = kernel.modules.iter().filter_map(|m| m.name.as_deref()).collect();
            skipped.extend(listed.missing(path, &found));
        }
    }
    // Keeping one saves unpacking it again; keeping all of a system would fill the memory.
    kernels.iter().skip(1).filter_map(|k| k.vmlinux.as_ref()).for_each(|v| v.unpacked.forget());
    let named = needless::Named::of(paths, &options.sysroot);
    named.drop_needless(&kernels, &mut skipped);
    let spare = named.spare(&kernels);
    let root = options.sysroot.clone();
    skipped.sort_by(|a, b| (a.path(), a.message()).cmp(&(b.path(), b.message())));
    fold_unread(&mut skipped);
    Ok(Discovery { kernels, skipped, of_another_build, spare, members: walked.members, root })
}

/// Reports a kernel of an unsupported machine once, however many modules it has.
fn fold_unread(skipped: &mut Vec<Error>) {
    let unread = widen::unread();
    let is_unread = |e: &Error| (e.kind(), e.message()) == (unread.kind(), unread.message());
    let count = skipped.iter().filter(|e| is_unread(e)).count();
    if count < 2 {
        return;
    }
    let Some(first) = skipped.iter().position(is_unread) else { return };
    let path = skipped[first].path().map(Path::to_owned).unwrap_or_default();
    let what =
        format!("this is a 32-bit kernel, of a machine of which only 64-bit ones are read: {count} files");
    let one = Error::new(unread.kind(), what).at(&path).hint(unread.remedy().unwrap_or_default());
    skipped.retain(|e| !is_unread(e));
    skipped.insert(first, one);
}

/// Whether a file has the name of a boot image.
fn is_image(path: &Path) -> bool {
    name::role(path) == Some(name::Role::Image)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::fixture::{Tree, module, vmlinux};
    use super::*;
    use crate::error::ErrorKind;

    const R: &str = "6.1.0-56-cloud-amd64";

    /// `release: vmlinux module module`, with paths relative to the tree.
    fn shape(tree: &Tree, found: &Discovery) -> Vec<String> {
        let below = |i: &Input| i.path.strip_prefix(tree.path()).unwrap().display().to_string();
        let line = |k: &KernelInputs| {
            let vmlinux = k.vmlinux.as_ref().map_or("-".into(), below);
            let modules: Vec<_> =
                k.modules.iter().map(|m| format!(" {}={}", m.name.as_deref().unwrap(), below(m))).collect();
            format!("{}: {vmlinux}{}", k.release, modules.concat())
        };
        found.kernels.iter().map(line).collect()
    }

    fn all(paths: &[PathBuf]) -> Discovery {
        discover(paths, &Options::default()).unwrap()
    }

    #[test]
    fn debians_layout_is_one_kernel_whose_vmlinux_has_three_names() {
        let tree = Tree::new();
        tree.file(&format!("debug/boot/vmlinux-{R}"), &vmlinux(""));
        tree.file(&format!("debug/boot/System.map-{R}"), b"ffffffff81000000 T _text");
        tree.link(&format!("debug/vmlinux-{R}"), &format!("boot/vmlinux-{R}"));
        tree.link(&format!("debug/lib/modules/{R}/vmlinux"), &format!("../../../boot/vmlinux-{R}"));
        tree.file(&format!("debug/lib/modules/{R}/kernel/net/nf-nat.ko"), &module("", "debug"));
        tree.file(&format!("debug/lib/modules/{R}/vdso/vdso64.so"), b"no candidate");
        tree.file("debug/.build-id/36/vmlinux", b"not looked at");
        tree.file("debug/.build-id/36/8582.debug", b"not looked at");
        let found = all(&[tree.path().join("debug")]);
        assert_eq!(
            shape(&tree, &found),
            [format!("{R}: debug/boot/vmlinux-{R} nf_nat=debug/lib/modules/{R}/kernel/net/nf-nat.ko")]
        );
        assert!(found.skipped.is_empty(), "{:?}", found.skipped);
        let input = found.kernels[0].vmlinux.as_ref().unwrap();
        let metadata = std::fs::metadata(&input.path).unwrap();
        assert_eq!((input.size, &input.name), (metadata.len(), &None));
        let modified = metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(input.mtime_ns, modified.as_nanos() as i64);
    }

    #[test]
    fn two_releases_under_one_path_stay_apart_and_are_sorted() {
        let tree = Tree::new();
        for r in ["6.12.1-suse", "5.10.0"] {
            tree.file(&format!("usr/lib/modules/{r}/vmlinux.debug"), &vmlinux(""));
            tree.file(&format!("usr/lib/modules/{r}/kernel/b.ko.debug"), &module("", ""));
            tree.file(&format!("usr/lib/modules/{r}/kernel/a.ko"), &module("", ""));
        }
        let found = all(&[tree.path().into(), tree.path().join("usr")]);
        let modules =
            |r| format!("a=usr/lib/modules/{r}/kernel/a.ko b=usr/lib/modules/{r}/kernel/b.ko.debug");
        assert_eq!(
            shape(&tree, &found),
            ["5.10.0", "6.12.1-suse"]
                .map(|r| format!("{r}: usr/lib/modules/{r}/vmlinux.debug {}", modules(r)))
        );
        assert!(found.skipped.is_empty(), "{:?}", found.skipped);
    }

    #[test]
    fn a_build_tree_is_read_by_content() {
        let tree = Tree::new();
        tree.file("vmlinux", &vmlinux("6.6.6+"));
        tree.file("arch/x86/boot/compressed/vmlinux", &vmlinux(""));
        tree.file("vmlinux-gdb.py", b"import gdb");
        tree.file("fs/overlayfs/overlay.ko", &module("6.6.6+", ""));
        let found = all(&[tree.path().into()]);
        assert_eq!(shape(&tree, &found), ["6.6.6+: vmlinux overlay=fs/overlayfs/overlay.ko"]);
        assert!(found.skipped.is_empty(), "{:?}", found.skipped);

        tree.file("vmlinux", &vmlinux(""));
        tree.file("include/config/kernel.release", b"6.6.6+\n");
        assert_eq!(shape(&tree, &all(&[tree.path().join("vmlinux")])), ["6.6.6+: vmlinux"]);
    }

    #[test]
    fn a_file_that_is_given_needs_no_fitting_name() {
        let tree = Tree::new();
        tree.file("kernel.bin", &vmlinux("5.4.0"));
        tree.file("over-lay.o", &module("5.4.0", ""));
        tree.file("nameless", &module("", ""));
        let given = ["kernel.bin", "over-lay.o", "nameless"].map(|f| tree.path().join(f));
        let found = all(&given);
        assert_eq!(
            shape(&tree, &found),
            ["5.4.0: kernel.bin over_lay=over-lay.o", "unknown: - nameless=nameless"]
        );
        assert!(all(&[tree.path().into()]).kernels.is_empty());
    }

    #[test]
    fn without_modules_there_are_none_and_one_that_was_given_is_named() {
        let tree = Tree::new();
        tree.file("vmlinux-6.1.0", &vmlinux(""));
        tree.file("a.ko", b"not even looked at");
        let options = Options { modules: false, ..Options::default() };
        let found = discover(&[tree.path().into()], &options).unwrap();
        assert_eq!(shape(&tree, &found), ["6.1.0: vmlinux-6.1.0"]);
        assert!(found.skipped.is_empty(), "{:?}", found.skipped);

        let given = tree.file("b.ko", &module("6.1.0", ""));
        let found = discover(std::slice::from_ref(&given), &options).unwrap();
        assert!(found.kernels.is_empty());
        assert_eq!((found.skipped[0].kind(), found.skipped[0].path()), (ErrorKind::Usage, Some(&*given)));
    }

    /// Debian's debug package as installed, together with the shipped modules.
    #[test]
    #[ignore = "reads /usr/lib/debug and /lib/modules of this machine"]
    fn the_debug_package_of_this_machine() {
        let roots = ["/usr/lib/debug", "/lib/modules"].map(PathBuf::from);
        let debug_alone = all(&roots[..1]);
        let start = Instant::now();
        let found = all(&roots);
        let took = start.elapsed();
        let [kernel] = &found.kernels[..] else { panic!("{:?}", found.kernels.len()) };
        assert!(
            kernel.vmlinux.as_ref().is_some_and(|v| v.path.ends_with(format!("vmlinux-{}", kernel.release)))
        );
        assert!(kernel.modules.len() > 1000, "{}", kernel.modules.len());
        assert_eq!(kernel.modules, debug_alone.kernels[0].modules, "the shipped twins add nothing");
        assert!(found.skipped.is_empty(), "{:?}", found.skipped);
        assert!(took < Duration::from_millis(200), "{took:?}");
    }
}
