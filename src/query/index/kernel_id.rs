//! Identifies the kernel of an index.
use crate::build_id::hex;
use probeidx_format::{View, machine};

/// A kernel. The release is not enough to identify it: architectures and rebuilds share releases.
///
/// ```
/// # let index = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example.rs"));
/// let id = probeidx::KernelId::of(&index.view()?);
/// assert_eq!(id.release, "6.1.0-test");
/// assert_eq!(id.build_id.map(|digits| digits.len()), Some(40));
/// # Ok::<(), probeidx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelId {
    /// As `uname -r` prints it; empty for a program or shared library.
    pub release: String,
    /// As `uname -m` prints it; empty for an unknown machine.
    pub architecture: &'static str,
    /// The build id of vmlinux in hexadecimal; `None` if it has none or is not indexed.
    pub build_id: Option<String>,
}

impl KernelId {
    /// The kernel of an index. Cost: a binary search.
    pub fn of(view: &View<'_>) -> Self {
        Self {
            release: String::from_utf8_lossy(view.release()).into_owned(),
            architecture: machine::name(view.machine()),
            build_id: view.build_id().filter(|id| *id != [0; 20]).map(|id| hex(&id)),
        }
    }
}

impl std::fmt::Display for KernelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.release, self.architecture)?;
        self.build_id.iter().try_for_each(|id| write!(f, " {id}"))
    }
}
