//! The tapsets that apply to one kernel, in the form of an index.
use probeidx_format::tapset::Tables;

/// The tapset sections of an index; empty for a user object.
#[derive(Default)]
pub struct Evaluated {
    /// The options of the kernel.
    pub configuration: Vec<u8>,
    pub tables: Tables,
    pub sources: Vec<u8>,
}
