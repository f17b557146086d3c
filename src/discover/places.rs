//! Where distributions put debuginfo of a kernel, and the command that installs it.
use std::path::PathBuf;

/// Where the debuginfo of `release` usually lies: first the places of its vmlinux, then the directories of
/// its modules, each in order of preference.
///
/// Those that exist can all be given to [`super::discover`], which counts one file once and knows a stripped
/// twin.
pub fn running_kernel_paths(release: &str) -> Vec<PathBuf> {
    PLACES.iter().map(|place| PathBuf::from(place.replace("RELEASE", release))).collect()
}

/// The command that installs kernel debuginfo on the distribution of this `/etc/os-release`, for a shell: it
/// names the running kernel as `$(uname -r)`. For a distribution that has none, what to do instead.
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
    "/boot/vmlinux-RELEASE",
    // the boot image, which does without: it has BTF
    "/boot/vmlinuz-RELEASE",
    "/lib/modules/RELEASE/vmlinuz",
    "/usr/lib/modules/RELEASE/vmlinuz",
    // modules
    "/usr/lib/debug/lib/modules/RELEASE",
    "/usr/lib/debug/usr/lib/modules/RELEASE",
    "/lib/modules/RELEASE/build",
    "/lib/modules/RELEASE",
];

const COMMANDS: &[(&[&str], &str)] = &[
    (&["ubuntu"], "sudo apt install linux-image-$(uname -r)-dbgsym (from http://ddebs.ubuntu.com)"),
    (&["debian"], "sudo apt install linux-image-$(uname -r)-dbg"),
    (
        &["fedora", "rhel", "centos", "rocky", "almalinux", "amzn", "ol"],
        "sudo dnf debuginfo-install kernel-$(uname -r)",
    ),
    (
        &["opensuse", "opensuse-leap", "opensuse-tumbleweed", "suse", "sles", "sled"],
        "sudo zypper --plus-content debug install kernel-$(uname -r | sed 's/.*-//')-debuginfo",
    ),
    (
        &["arch"],
        "Arch has no debuginfo of its kernels: build one with CONFIG_DEBUG_INFO_DWARF5=y \
         (make pacman-pkg) and give the path of its vmlinux",
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
        let places = running_kernel_paths("6.1.0-56-cloud-amd64");
        assert_eq!(places[0], PathBuf::from("/usr/lib/debug/boot/vmlinux-6.1.0-56-cloud-amd64"));
        assert_eq!(places.iter().collect::<HashSet<_>>().len(), places.len());
        let is_file = |p: &PathBuf| p.file_name().unwrap().to_str().unwrap().starts_with("vmlinu");
        assert!(places.is_sorted_by_key(|p| !is_file(p)));
        for place in &places {
            assert_eq!(place.to_str().unwrap().matches("6.1.0-56-cloud-amd64").count(), 1, "{place:?}");
        }
        assert!(places.contains(&"/usr/lib/debug/lib/modules/6.1.0-56-cloud-amd64".into()));
    }

    #[test]
    fn each_distribution_has_its_command() {
        for (os_release, expected) in [
            ("PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n", "-dbg"),
            ("ID=ubuntu\nID_LIKE=debian\n", "-dbgsym (from http://ddebs"),
            ("ID_LIKE=\"ubuntu debian\"\nID=linuxmint\n", "-dbgsym"),
            ("ID=fedora\nVARIANT_ID=server", "dnf debuginfo-install kernel-$(uname -r)"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", "dnf"),
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
