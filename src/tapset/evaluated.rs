//! The tapsets that count for one kernel, in the form in which its index keeps them.
use probeidx_format::tapset::Tables;

/// What an index keeps of the tapsets; empty for a user object.
#[derive(Default)]
pub struct Evaluated {
    /// The options of the kernel.
    pub configuration: Vec<u8>,
    pub tables: Tables,
    pub sources: Vec<u8>,
}
