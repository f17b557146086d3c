//! What the units of a batch say: owned values without references into the debug sections.
//!
//! Ids are positions in the vectors of the batch; `merge` gives the final ones.
use super::header::Fault;
use super::strings::{Key, LocalStr, Strings};
use probeidx_format::types::TypeKind;

/// No type: void, or one that cannot be described.
pub const NO_TYPE: u32 = u32::MAX;

/// Not inlined anywhere.
pub const NO_PLACE: u32 = u32::MAX;

/// The facts of consecutive units of one object, or of several objects.
#[derive(Default)]
pub struct Batch {
    pub strings: Strings,
    pub types: Vec<TypeFacts>,
    pub members: Vec<MemberFacts>,
    pub functions: Vec<FunctionFacts>,
    pub variables: Vec<VariableFacts>,
    pub units: Vec<UnitFacts>,
    /// The paths of the units' files.
    pub files: Vec<LocalStr>,
    pub places: Vec<PlaceFacts>,
    /// As `probeidx_format::details` describes.
    pub details: Vec<u8>,
    pub ranges: Vec<RangeFacts>,
    pub sequences: Vec<SequenceFacts>,
    /// As `probeidx_format::lines` describes.
    pub lines: Vec<u8>,
    pub labels: Vec<LabelFacts>,
    pub frames: Vec<FrameFacts>,
    /// As `probeidx_format::frames` describes.
    pub frame_rows: Vec<u8>,
    /// With the number of the object in the batch.
    pub faults: Vec<(u32, Fault)>,
}

/// A type. Two with one key are one, in whatever batch they stand.
#[derive(Clone, Copy, Debug)]
pub struct TypeFacts {
    pub key: Key,
    pub kind: TypeKind,
    pub encoding: u8,
    /// Only declared.
    pub declared: bool,
    /// Described elsewhere (by the kernel image, read before): only the key counts.
    pub known: bool,
    pub name: LocalStr,
    pub file: LocalStr,
    pub line: u32,
    pub size: u32,
    pub target: u32,
    pub first_member: u32,
    pub members: u32,
}

/// A member, enumerator, parameter or dimension, with the value that the format gives it.
#[derive(Clone, Copy, Debug)]
pub struct MemberFacts {
    pub name: LocalStr,
    pub target: u32,
    pub value: i64,
}

/// A function as declared.
#[derive(Clone, Copy, Debug)]
pub struct FunctionFacts {
    pub key: Key,
    pub name: LocalStr,
    pub linkage_name: LocalStr,
    pub file: LocalStr,
    pub line: u32,
    pub return_type: u32,
    /// As in the format's function record.
    pub flags: u16,
    pub first_variable: u32,
    pub variables: u16,
}

/// A variable as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableFacts {
    pub name: LocalStr,
    pub type_id: u32,
    pub line: u32,
    pub parameter: bool,
    pub nested: bool,
}

/// A compilation unit. Its places and files end where the next one's start.
#[derive(Clone, Copy, Debug)]
pub struct UnitFacts {
    /// The number of the object in the batch.
    pub object: u32,
    pub name: LocalStr,
    pub producer: LocalStr,
    pub language: u16,
    pub version: u16,
    pub flags: u32,
    pub first_place: u32,
    pub first_file: u32,
}

/// A placement.
#[derive(Clone, Copy, Debug)]
pub struct PlaceFacts {
    pub function: u32,
    pub entry: u32,
    pub outer: u32,
    pub details: u32,
}

/// A label with an address.
#[derive(Clone, Copy, Debug)]
pub struct LabelFacts {
    pub place: u32,
    pub name: LocalStr,
    pub line: u32,
    pub pc: u32,
    /// As in the format's label.
    pub block: u32,
}

/// A range of an out-of-line function.
#[derive(Clone, Copy, Debug)]
pub struct RangeFacts {
    pub object: u32,
    pub start: u32,
    pub end: u32,
    pub place: u32,
}

/// A sequence of line rows.
#[derive(Clone, Copy, Debug)]
pub struct SequenceFacts {
    pub object: u32,
    pub start: u32,
    pub end: u32,
    pub unit: u32,
    pub rows: u32,
}

/// A range of addresses with frame rules.
#[derive(Clone, Copy, Debug)]
pub struct FrameFacts {
    pub object: u32,
    pub start: u32,
    pub end: u32,
    pub rows: u32,
}
