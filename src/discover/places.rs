//! Where distributions put a kernel's debug information, and the command that installs it.
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Sysroot, content, name};
use crate::load::members::Opened;

/// A place where files of a kernel may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path on this machine, with symbolic links not followed.
    pub path: PathBuf,
    /// What is there.
    pub found: Found,
}

/// The result of looking at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file or directory that can be read.
    Something,
    /// Nothing.
    Nothing,
    /// Not readable by this user.
    NotPermitted,
    /// Not readable for another reason, in the words of the system.
    Unreadable(String),
}

/// The usual places of the debug information of `release`, and what is there: first the places of its vmlinux and
/// image, then the directories of its modules, each in order of preference.
///
/// All places with [`Found::Something`] may be given to [`super::discover`], which counts each file once and
/// recognizes stripped twins.
pub fn places(sysroot: &Sysroot, release: &str) -> Vec<Place> {
    let look = |path: PathBuf| Place { found: look(sysroot, &path), path };
    let mut places: Vec<Place> =
        PLACES.iter().map(|place| look(sysroot.join(place.replace("RELEASE", release)))).collect();
    let is_image = |place: &&Place| super::is_image(&place.path) && place.found == Found::Something;
    if places.iter().find(is_image).is_none() {
        places.extend(nameless_image(sysroot, release).map(look));
    }
    places
}

/// The releases with files in the usual places.
pub fn releases(sysroot: &Sysroot) -> Vec<String> {
    let below = |folder: &str| {
        let folder = sysroot.resolve(&sysroot.join(folder)).ok();
        let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let trees =
        ["lib/modules", "usr/lib/modules", "usr/lib/debug/lib/modules", "usr/lib/debug/usr/lib/modules"];
    let tree = |path: PathBuf| Some(path.file_name()?.to_str()?.to_owned());
    let named = |path: PathBuf| name::role(&path).and_then(|role| name::release(&path, role));
    let mut releases: Vec<String> = trees.iter().flat_map(|folder| below(folder).filter_map(tree)).collect();
    releases.extend(["boot", "usr/lib/debug/boot"].iter().flat_map(|folder| below(folder).filter_map(named)));
    releases.retain(|release| is_release(release));
    releases.sort_unstable();
    releases.dedup();
    releases
}

/// Whether a word looks like the output of `uname -r`, not like a path.
pub fn is_release(word: &str) -> bool {
    let numbers = word.split(|c: char| !c.is_ascii_digit()).take(2).filter(|n| !n.is_empty()).count();
    let fits = |b: u8| b.is_ascii_graphic() && b != b'/';
    const FILES: [&str; 9] = [".deb", ".ddeb", ".rpm", ".ko", ".gz", ".xz", ".zst", ".debug", ".pidx"];
    let is_file = FILES.iter().any(|end| word.ends_with(end));
    numbers == 2 && word.bytes().all(fits) && word.contains('.') && !is_file
}

fn look(sysroot: &Sysroot, path: &Path) -> Found {
    let opened = sysroot.resolve(path).and_then(|real| match real.is_dir() {
        true => fs::read_dir(real).map(drop),
        false => File::open(real).map(drop),
    });
    match opened.map_err(|e| (e.kind(), e)) {
        Ok(()) => Found::Something,
        Err((io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _)) => Found::Nothing,
        Err((io::ErrorKind::PermissionDenied, _)) => Found::NotPermitted,
        Err((_, error)) => Found::Unreadable(error.to_string()),
    }
}

/// The boot image of a release whose name lacks it: Alpine's `vmlinuz-lts`, Arch's `vmlinuz-linux`.
fn nameless_image(sysroot: &Sysroot, release: &str) -> Option<PathBuf> {
    let boot = sysroot.resolve(&sysroot.join("boot")).ok()?;
    let mut images: Vec<PathBuf> = fs::read_dir(boot).ok()?.filter_map(|e| Some(e.ok()?.path())).collect();
    images.retain(|path| super::is_image(path) && name::release(path, name::Role::Image).is_none());
    images.sort_unstable();
    images.into_iter().find(|path| {
        let file = sysroot.resolve(path).ok().and_then(|path| Opened::open(&path).ok());
        file.and_then(|file| content::release(&file, path, name::Role::Image, None)).as_deref()
            == Some(release)
    })
}

/// The shell command that installs kernel debug information on the distribution of this `/etc/os-release`; it
/// contains the running kernel as `$(uname -r)`. For a distribution without debug information, what to do instead.
pub fn install_hint(os_release: &str) -> String {
    let ids: Vec<_> = ["ID", "ID_LIKE"].iter().flat_map(|key| words(os_release, key)).collect();
    let known = ids.iter().find_map(|id| COMMANDS.iter().find(|(names, _)| names.contains(id)));
    known.map_or(ELSEWHERE, |(_, command)| command).to_owned()
}

/// The distributions agree on `/usr/lib/debug` plus the path of the stripped file, and on little else.
/// `perf` (`vmlinux_paths` in tools/perf/util/symbol.c) and `crash` look in the same places.
const PLACES: &[&str] = &[
    // Debian -dbg, Ubuntu ddebs
    "/usr/lib/debug/boot/vmlinux-RELEASE",
    // Fedora, RHEL; Debian has a link here
    "/usr/lib/debug/lib/modules/RELEASE/vmlinux",
    // SUSE since the /usr merge, before it, and in between
    "/usr/lib/debug/usr/lib/modules/RELEASE/vmlinux.debug",
    "/usr/lib/debug/usr/lib/modules/RELEASE/vmlinux",
    "/usr/lib/debug/lib/modules/RELEASE/vmlinux.debug",
    "/usr/lib/debug/boot/vmlinux-RELEASE.debug",
    // a build tree; Arch's headers and its `make pacman-pkg` debug package
    "/lib/modules/RELEASE/build/vmlinux",
    "/usr/lib/modules/RELEASE/build/vmlinux",
    "/lib/modules/RELEASE/vmlinux",
    "/usr/src/linux-RELEASE/vmlinux",
    "/usr/src/kernels/RELEASE/vmlinux",
    "/boot/vmlinux-RELEASE",
    // the boot image, which has BTF instead of DWARF
    "/boot/vmlinuz-RELEASE",
    "/lib/modules/RELEASE/vmlinuz",
    "/usr/lib/modules/RELEASE/vmlinuz",
    // modules
    "/usr/lib/debug/lib/modules/RELEASE",
    "/usr/lib/debug/usr/lib/modules/RELEASE",
    "/lib/modules/RELEASE/build",
    "/lib/modules/RELEASE",
    "/usr/lib/modules/RELEASE",
];

const COMMANDS: &[(&[&str], &str)] = &[
    (
        &["ubuntu"],
        "sudo apt install linux-image-$(uname -r)-dbgsym (from http://ddebs.ubuntu.com, see ubuntu-dbgsym-keyring)",
    ),
    (&["debian"], "sudo apt install linux-image-$(uname -r)-dbg"),
    (
        &["ol"],
        "sudo dnf install kernel-uek-debuginfo-$(uname -r) (kernel-debuginfo-… without UEK; from https://oss.oracle.com/debuginfo)",
    ),
    (&["amzn"], "sudo dnf debuginfo-install kernel-$(uname -r) (debuginfo-install on Amazon Linux 2)"),
    (&["fedora"], "sudo dnf debuginfo-install kernel-$(uname -r)"),
    (
        &["rhel", "centos", "rocky", "almalinux"],
        "sudo dnf --enablerepo='*debug*' install kernel-debuginfo-$(uname -r)",
    ),
    (
        &["opensuse", "opensuse-leap", "opensuse-tumbleweed", "suse", "sles", "sled"],
        "sudo zypper --plus-content debug install kernel-$(uname -r | sed 's/.*-//')-debuginfo",
    ),
    // Its package has `!debug`, and its debuginfod only has the content of its debug packages.
    (
        &["arch"],
        "Arch has no debuginfo of its kernels: build one with CONFIG_DEBUG_INFO_DWARF5=y \
         (make pacman-pkg) and give the path of its vmlinux",
    ),
    // Its linux-lts has -dev and -doc, but no -dbg.
    (
        &["alpine"],
        "Alpine has no debuginfo of its kernels: build one with CONFIG_DEBUG_INFO_DWARF5=y and give the path of its \
         vmlinux",
    ),
];

const ELSEWHERE: &str = "install the debuginfo package of this kernel, or build the kernel with \
                         CONFIG_DEBUG_INFO_DWARF5=y and give the path of its vmlinux";

/// The words of `KEY="some words"`. The last assignment counts, as in a shell (os-release(5)).
fn words<'t>(os_release: &'t str, key: &str) -> impl Iterator<Item = &'t str> {
    let assigned =
        |line: &'t str| line.trim().strip_prefix(key).and_then(|rest: &'t str| rest.strip_prefix('='));
    let value = os_release.lines().rev().find_map(assigned).unwrap_or_default();
    value.trim_matches(['"', '\'']).split_whitespace()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn places_name_the_release_once_and_files_come_before_directories() {
        let places = places(&Sysroot::default(), "6.1.0-no-such");
        assert_eq!(places[0].path, PathBuf::from("/usr/lib/debug/boot/vmlinux-6.1.0-no-such"));
        assert_eq!(places.iter().map(|p| &p.path).collect::<HashSet<_>>().len(), places.len());
        let is_file = |p: &Place| p.path.file_name().unwrap().to_str().unwrap().starts_with("vmlinu");
        assert!(places.is_sorted_by_key(|p| !is_file(p)));
        for Place { path, found } in &places {
            assert_eq!(path.to_str().unwrap().matches("6.1.0-no-such").count(), 1, "{path:?}");
            assert_eq!(*found, Found::Nothing);
        }
    }

    #[test]
    fn releases_are_words_with_two_numbers() {
        for (word, expected) in [
            ("6.1.0-56-cloud-amd64", true),
            ("6.18.44-fc-v445", true),
            ("5.14.0-503.el9.x86_64+debug", true),
            ("6.1", true),
            ("vmlinux-6.1", false),
            ("6", false),
            ("6.", false),
            ("lib/6.1", false),
            ("6-1", false),
            ("linux-image-6.1.0-56-dbg_6.1.192-1_amd64.deb", false),
            ("6.1.0-56.rpm", false),
        ] {
            assert_eq!(is_release(word), expected, "{word}");
        }
    }

    #[test]
    fn each_distribution_has_its_command() {
        for (os_release, expected) in [
            ("PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n", "-dbg"),
            ("ID=ubuntu\nID_LIKE=debian\n", "-dbgsym (from http://ddebs"),
            ("ID_LIKE=\"ubuntu debian\"\nID=linuxmint\n", "-dbgsym"),
            ("ID=fedora\nVARIANT_ID=server", "dnf debuginfo-install kernel-$(uname -r)"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", "kernel-debuginfo-$(uname -r)"),
            ("ID=\"ol\"\nID_LIKE=\"fedora\"", "kernel-uek-debuginfo"),
            ("ID=\"amzn\"\nID_LIKE=\"fedora\"", "Amazon Linux 2"),
            ("ID=alpine\n", "Alpine has no debuginfo"),
            ("ID='opensuse-leap'\nID_LIKE=\"suse opensuse\"", "zypper"),
            ("ID=manjaro\nID_LIKE=arch", "pacman-pkg"),
            ("ID=other\nID=debian", "-dbg"),
            ("VARIANT_ID=debian", "CONFIG_DEBUG_INFO"),
            ("", "CONFIG_DEBUG_INFO"),
        ] {
            assert!(
                install_hint(os_release).contains(expected),
                "{os_release}: {}",
                install_hint(os_release)
            );
        }
        assert!(!install_hint("ID=debian").contains("dbgsym"));
    }
}
