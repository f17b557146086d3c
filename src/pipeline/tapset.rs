//! Tapsets as they apply to a kernel, and the kernel's configuration as scripts see it.
use super::Skipped;
use crate::discover::Sysroot;
use crate::error::{Error, ErrorKind, Result};
use crate::load::config::KernelConfig;
use crate::load::image;
use crate::load::members::Opened;
use crate::query::Index;
use crate::tapset::evaluated::Evaluated;
use crate::tapset::sources::Sources;
use crate::tapset::stored::pack;
use crate::tapset::{Library, Target, Version, target};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The tapset folders of a build, shared by all its kernels.
#[derive(Default)]
pub struct Tapsets {
    pub sources: Sources,
    /// The system that has the kernels' build trees.
    pub root: Sysroot,
    /// The files as an index keeps them.
    bytes: OnceLock<Vec<u8>>,
    version: OnceLock<Version>,
}

/// The evaluated tapsets for a predicted machine and configuration.
pub struct Prediction {
    machine: u16,
    config: KernelConfig,
    evaluated: (Evaluated, Vec<Skipped>),
}

impl Prediction {
    /// Whether the prediction was right.
    pub fn holds_for(&self, machine: u16, config: Option<&KernelConfig>) -> bool {
        self.machine == machine && config == Some(&self.config)
    }
    pub fn evaluated(self) -> (Evaluated, Vec<Skipped>) {
        self.evaluated
    }
}

impl Tapsets {
    /// Finds the files in folders, and in indexes that keep some.
    ///
    /// # Errors
    /// A folder or index that cannot be read, or holds no tapsets. Nothing has been indexed then.
    pub fn find(given: &[PathBuf]) -> Result<Self> {
        let mut sources = Sources::default();
        for path in given {
            if !path.is_file() {
                sources.find(path)?;
                continue;
            }
            let index = Index::open(path)?;
            let kept = index.view()?.tapset_sources().map_err(|e| index.error(e))?;
            if kept.folders.is_empty() {
                let error = Error::new(ErrorKind::NoIndex, "this index was built without tapsets").at(path);
                return Err(error.hint("name a folder of tapsets"));
            }
            sources.unpack(kept, path)?;
        }
        Ok(Self { sources, ..Self::default() })
    }

    /// Evaluates the tapsets for a kernel; also returns what could not be read.
    pub fn evaluate(
        &self,
        release: &str,
        machine: u16,
        config: Option<&KernelConfig>,
    ) -> (Evaluated, Vec<Skipped>) {
        let configuration = config.map(|c| probeidx_format::config::encode(&c.options())).unwrap_or_default();
        if self.sources.folders.is_empty() {
            return (Evaluated { configuration, ..Evaluated::default() }, vec![]);
        }
        let option = |name: &str| Some(config?.get(name.strip_prefix("CONFIG_")?)?.to_owned());
        let version = self.systemtap();
        let system_map = has_system_map(&self.root, release, version);
        let (systemtap, header) = (version.to_string(), vmlinux_header(&self.root, release));
        let target = Target {
            system_map,
            vmlinux_header: header.as_deref(),
            systemtap: &systemtap,
            ..Target::new(target::of_machine(machine), release, &option)
        };
        let library = Library::read(&self.sources, &target);
        let mut tables = library.tables(&target);
        tables.trees = pack(&tables.trees);
        let skipped = library.errors.into_iter().map(Skipped::object).collect();
        (Evaluated { configuration, tables, sources: self.packed().to_owned() }, skipped)
    }

    /// Evaluates the tapsets for a boot image before it is unpacked; `None` if its machine or configuration is
    /// unknown.
    pub fn predict(&self, image: &Path, release: &str) -> Option<Prediction> {
        let mut head = vec![];
        (&Opened::open(image).ok()?).take(image::HEAD as u64).read_to_end(&mut head).ok()?;
        let machine = image::machine(&head)?;
        let config = KernelConfig::shipped(image, release)?;
        Some(Prediction { machine, evaluated: self.evaluate(release, machine, Some(&config)), config })
    }

    /// The version of SystemTap that they came with, looked up on first use.
    fn systemtap(&self) -> Version {
        *self.version.get_or_init(|| Version::of_sources(&self.sources))
    }

    /// The files as an index keeps them, compressed on first use.
    pub fn packed(&self) -> &[u8] {
        self.bytes.get_or_init(|| self.sources.to_bytes())
    }
}

/// Whether SystemTap finds functions in the kernel's `System.map` (`parse_kernel_functions`, session.cxx of 4.8).
/// Debian ships only a stub below /boot.
fn has_system_map(root: &Sysroot, release: &str, version: Version) -> bool {
    const STUB: u64 = 4096;
    let of_debug_package = format!("/usr/lib/debug/boot/System.map-{release}");
    let of_debug_package = Some(of_debug_package).filter(|_| version >= Version::MAPS_OF_DEBUG_PACKAGES);
    let places = [format!("/lib/modules/{release}/build/System.map"), format!("/boot/System.map-{release}")];
    // The first existing file counts.
    let mut places = of_debug_package.into_iter().chain(places);
    let metadata = |path: String| std::fs::metadata(root.resolve(&root.join(path)).ok()?).ok();
    places.find_map(metadata).is_some_and(|m| m.len() > STUB)
}

/// The header of BTF types in the kernel's build tree, if there is one (`vmlinux_h_path`, tracepoint-vmlinux.cxx of 5.6).
/// Fedora's kernel-devel has it; Debian's headers have not.
fn vmlinux_header(root: &Sysroot, release: &str) -> Option<String> {
    let path = format!("/lib/modules/{release}/build/vmlinux.h");
    root.resolve(&root.join(&path)).is_ok_and(|real| real.is_file()).then_some(path)
}
