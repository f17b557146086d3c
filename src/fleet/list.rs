//! Lists the kernels of a store.
use crate::build_id::hex;
use crate::error::Result;
use crate::query::index::kernel_description::KernelDescription;
use crate::store::Store;
use std::path::Path;

/// A kernel of a store.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listed {
    /// What `--kernel` takes.
    pub kernel: String,
    /// Its release.
    pub release: String,
    /// The GNU build id of its vmlinux.
    pub build_id: String,
    /// As in other answers.
    pub architecture: String,
    /// Who built it; `unknown` if neither its release nor its compiler says so.
    pub distribution: &'static str,
    /// The flavour in its release; empty if it names none.
    pub flavour: String,
    /// As its configuration or its debug information has it; empty if unknown.
    pub compiler: String,
    /// When its vmlinux was made, in seconds since 1970; 0 if unknown.
    pub made: i64,
    /// The bytes of its own segment.
    pub bytes: u64,
    /// The number of segments that it shares.
    pub shares: u32,
}

/// All kernels, by name. Cost: a look at each.
///
/// # Errors
/// Those of [`Store::open`].
pub fn list(folder: &Path) -> Result<Vec<Listed>> {
    let store = Store::open(folder)?;
    let manifest = store.manifest();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let of = |kernel: &probeidx_format::store::manifest::KernelEntry| {
        let segment = &manifest.segments[kernel.segment.get() as usize];
        let described = KernelDescription::stored(&manifest, kernel, || None);
        Listed {
            kernel: text(manifest.string(kernel.name)),
            distribution: described.distribution,
            flavour: described.release().flavour.to_owned(),
            build_id: hex(&segment.id.build_id),
            architecture: described.id.architecture.to_owned(),
            release: described.id.release,
            compiler: text(manifest.string(kernel.compiler)),
            made: kernel.made.get() / 1_000_000_000,
            bytes: segment.length.get(),
            shares: manifest.chain(kernel).len() as u32 - 1,
        }
    };
    Ok(manifest.kernels.iter().map(of).collect())
}
