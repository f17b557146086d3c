//! BTF as compilers and pahole write it (`Documentation/bpf/btf.rst`), in either byte order, also split.
mod ext;
mod reader;

pub use ext::{CoreRecord, Ext, FunctionRecord, LineRecord, RelocationKind};
pub use reader::Btf;
