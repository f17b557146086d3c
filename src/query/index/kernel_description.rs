//! Describes the kernel of an index: its distribution, line and flavour, and its place among other kernels.
use super::functions;
use super::kernel_id::KernelId;
use super::release::Release;
use crate::build_id::hex;
use probeidx_format::store::Kernel;
use probeidx_format::store::manifest::{KernelEntry, Manifest, SegmentEntry};
use probeidx_format::{View, machine};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A kernel as people choose it. The order is that of architecture, line, version, flavour and build id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDescription {
    /// What identifies it.
    pub id: KernelId,
    /// Who built it, in lower case: `debian`; `unknown` if neither its release nor its compiler says so.
    pub distribution: &'static str,
}

impl KernelDescription {
    /// The kernel of an index. Cost: a few binary searches, if its release does not tell the distribution.
    pub fn of(view: &View<'_>) -> Self {
        let id = KernelId::of(view);
        let built = || (String::from_utf8_lossy(compiler(view)), has_signature(view));
        let distribution = distribution(&Release::parse(&id.release), built);
        Self { id, distribution }
    }

    /// The kernel of a store, as [`of`](Self::of) describes it, by the manifest. Only a release that does not tell the distribution
    /// needs `open`: the kernel, if it can be opened.
    pub fn stored<'k>(
        manifest: &Manifest<'_>,
        entry: &KernelEntry,
        open: impl FnOnce() -> Option<Kernel<'k>>,
    ) -> Self {
        let segment = &manifest.segments[entry.segment.get() as usize];
        let has_vmlinux = segment.flags.get() & SegmentEntry::WITHOUT_VMLINUX == 0;
        let id = KernelId {
            release: String::from_utf8_lossy(manifest.string(entry.release)).into_owned(),
            architecture: machine::name(segment.machine.get()),
            build_id: Some(segment.id.build_id).filter(|id| has_vmlinux && *id != [0; 20]).map(|id| hex(&id)),
        };
        let built = || {
            let has_signature = open().is_some_and(|kernel| has_signature(&View::of_store(&kernel)));
            (String::from_utf8_lossy(manifest.string(entry.compiler)), has_signature)
        };
        let distribution = distribution(&Release::parse(&id.release), built);
        Self { id, distribution }
    }

    /// The parts of its release.
    pub fn release(&self) -> Release<'_> {
        Release::parse(&self.id.release)
    }

    /// What the order compares. The line is the start of the version.
    fn key(&self) -> impl Ord + use<'_> {
        let release = self.release();
        let own = (&self.id.release, self.distribution, &self.id.build_id);
        (self.id.architecture, release.version_key(), release.flavour, own)
    }

    /// Sorts kernels, each with something of its own; equal ones stay in their order. A release is read once.
    pub fn sorted<T>(kernels: Vec<(Self, T)>) -> Vec<(Self, T)> {
        let (descriptions, own): (Vec<_>, Vec<_>) = kernels.into_iter().unzip();
        let mut order: Vec<_> = descriptions.iter().map(Self::key).zip(0..).collect();
        order.sort_unstable();
        let order: Vec<usize> = order.into_iter().map(|(_, at)| at).collect();
        let mut kernels: Vec<_> = descriptions.into_iter().zip(own).map(Some).collect();
        order.into_iter().filter_map(|at| kernels[at].take()).collect()
    }

    /// Whether both are builds of one flavour for one architecture, so that one follows the other.
    pub fn is_of_family(&self, other: &Self) -> bool {
        (self.id.architecture, self.distribution, self.release().flavour)
            == (other.id.architecture, other.distribution, other.release().flavour)
    }
}

impl Ord for KernelDescription {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for KernelDescription {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What compiled a kernel: as its configuration says, else as the debug information of its vmlinux does; empty if neither does. Cost:
/// a binary search; without a configuration a look at the first units.
pub fn compiler<'a>(view: &View<'a>) -> &'a [u8] {
    match view.option(b"CC_VERSION_TEXT") {
        Some(text) => text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text),
        None => producer(view).unwrap_or_default(),
    }
}

/// Whether the configuration has Ubuntu's signature of the version. Cost: a binary search.
fn has_signature(view: &View<'_>) -> bool {
    let signature = view.option(b"VERSION_SIGNATURE").unwrap_or_default();
    signature.iter().any(|byte| *byte != b'"')
}

/// The producer of vmlinux's first unit that is neither of an assembler nor of Rust, without its options.
fn producer<'a>(view: &View<'a>) -> Option<&'a [u8]> {
    let units = view.units_of(functions::kernel(view)?);
    let mut producers = units.map(|unit| view.string(view.units[unit.index()].producer));
    let text = producers.find(|text| {
        let is_other = text.starts_with(b"GNU AS") || text.windows(5).any(|part| part == b"rustc");
        !text.is_empty() && !is_other
    })?;
    let options = text.windows(2).position(|part| part == b" -");
    Some(&text[..options.unwrap_or(text.len())])
}

/// The distribution, by what only its builds have in their releases, then by its compiler. A kernel that someone built
/// on a distribution has that compiler, too; but seldom a number of the build. `built` gives the compiler, and whether the
/// configuration has Ubuntu's signature of the version.
fn distribution<'c>(release: &Release<'_>, built: impl FnOnce() -> (Cow<'c, str>, bool)) -> &'static str {
    let Release { build, flavour, .. } = *release;
    let in_build: [(&str, &str); 7] = [
        ("deb", "debian"),
        (".el", "rhel"),
        (".fc", "fedora"),
        (".amzn", "amazon"),
        (".azl", "azurelinux"),
        (".cm", "azurelinux"),
        ("arch", "arch"),
    ];
    // Oracle's own kernels: 5.15.0-200.131.27.el8uek.x86_64
    if build.ends_with("uek") {
        return "oracle";
    }
    if let Some((_, name)) = in_build.iter().find(|(mark, _)| build.contains(mark)) {
        return name;
    }
    if build.is_empty() {
        return "unknown";
    }
    let in_flavour: [(&[&str], &str); 4] = [
        // The architectures of Debian's kernels (debian/config of linux 6.1).
        (
            &[
                "amd64",
                "arm64",
                "arm64-16k",
                "686",
                "686-pae",
                "armmp",
                "armmp-lpae",
                "marvell",
                "rpi",
                "powerpc64le",
                "powerpc64le-64k",
                "s390x",
                "riscv64",
                "loong64",
                "mips64el",
                "4kc-malta",
                "5kc-malta",
                "loongson-3",
                "octeon",
            ],
            "debian",
        ),
        (&["generic", "lowlatency", "aws", "azure", "gcp", "oracle", "kvm", "raspi"], "ubuntu"),
        (&["default"], "suse"),
        (&["pve"], "proxmox"),
    ];
    let is_of = |name: &str| {
        flavour.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('-'))
    };
    if let Some((_, name)) = in_flavour.iter().find(|(names, _)| names.iter().any(|n| is_of(n))) {
        return name;
    }
    let in_compiler: [(&str, &str); 4] =
        [("(Debian ", "debian"), ("(Ubuntu ", "ubuntu"), ("(SUSE ", "suse"), ("(Alpine ", "alpine")];
    let (compiler, has_signature) = built();
    match in_compiler.iter().find(|(mark, _)| compiler.contains(mark)) {
        _ if has_signature => "ubuntu",
        Some((_, name)) => name,
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_by_release_and_compiler() {
        let debian = "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0";
        let ubuntu = "x86_64-linux-gnu-gcc-13 (Ubuntu 13.2.0-23ubuntu4) 13.2.0";
        for (release, compiler, wanted) in [
            ("6.1.0-56-cloud-amd64", "", "debian"),
            ("7.3.4+deb13-rt-arm64", "", "debian"),
            ("5.10.0-43-cloud-amd64", debian, "debian"),
            ("6.1.0-56-special", debian, "debian"),
            ("6.9.0-mine", debian, "unknown"),
            ("6.1.0-test", "", "unknown"),
            ("5.15.0-91-generic", "", "ubuntu"),
            ("6.8.0-1012-nvidia", ubuntu, "ubuntu"),
            ("5.14.0-362.el9.x86_64", "", "rhel"),
            ("5.15.0-200.131.27.el8uek.x86_64", "", "oracle"),
            ("6.5.6-300.fc39.x86_64", "", "fedora"),
            ("6.1.61-85.141.amzn2023.x86_64", "", "amazon"),
            ("6.4.0-150600.23.14-default", "", "suse"),
            ("6.8.12-1-pve", debian, "proxmox"),
            ("6.6.1-arch1-1", "", "arch"),
            ("", "", "unknown"),
        ] {
            let built = || (compiler.into(), false);
            assert_eq!(distribution(&Release::parse(release), built), wanted, "{release}");
        }
    }

    #[test]
    fn architectures_come_first_then_versions() {
        let kernel = |architecture, release: &str| KernelDescription {
            id: KernelId { release: release.to_owned(), architecture, build_id: None },
            distribution: "debian",
        };
        let ordered = [
            kernel("aarch64", "7.3.4+deb13-cloud-arm64"),
            kernel("x86_64", "6.1.0-9-cloud-amd64"),
            kernel("x86_64", "6.1.0-56-amd64"),
            kernel("x86_64", "6.1.0-56-cloud-amd64"),
            kernel("x86_64", "6.12.0-1-amd64"),
        ];
        let mut sorted = ordered.clone();
        sorted.reverse();
        sorted.sort();
        assert_eq!(sorted, ordered);
    }
}
