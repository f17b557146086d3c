//! The facts in the units of a batch, as owned values without references into the debug sections.
//!
//! Ids are positions in the vectors of the batch; `merge` assigns the final ones.
use super::header::Fault;
use super::strings::{Key, LocalStr, Strings};
use probeidx_format::types::TypeKind;

/// No type: void, or one that could not be read.
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
    /// In the format of `probeidx_format::details`.
    pub details: Vec<u8>,
    pub ranges: Vec<RangeFacts>,
    pub sequences: Vec<SequenceFacts>,
    /// In the format of `probeidx_format::lines`.
    pub lines: Vec<u8>,
    pub labels: Vec<LabelFacts>,
    pub calls: Vec<CallFacts>,
    pub frames: Vec<FrameFacts>,
    /// In the format of `probeidx_format::frames`.
    pub frame_rows: Vec<u8>,
    /// Each with the number of its object in the batch.
    pub faults: Vec<(u32, Fault)>,
}

impl Batch {
    /// Drops the types with their members.
    pub fn forget_types(&mut self) {
        self.types = vec![];
        self.members = vec![];
    }
    /// Drops the functions with their variables.
    pub fn forget_functions(&mut self) {
        self.functions = vec![];
        self.variables = vec![];
    }
    /// Drops the placements and what refers to addresses; their details and rows are kept.
    pub fn forget_places(&mut self) {
        self.units = vec![];
        self.files = vec![];
        self.places = vec![];
        self.ranges = vec![];
        self.sequences = vec![];
        self.labels = vec![];
        self.calls = vec![];
        self.frames = vec![];
    }
}

/// A type. Types with the same key are the same, in all batches.
#[derive(Clone, Copy, Debug)]
pub struct TypeFacts {
    pub key: Key,
    pub kind: TypeKind,
    pub encoding: u8,
    /// Whether it is only declared.
    pub declared: bool,
    /// Whether it is already in the kernel image, read before: only the key counts.
    pub known: bool,
    pub name: LocalStr,
    pub file: LocalStr,
    pub line: u32,
    pub size: u32,
    pub target: u32,
    pub first_member: u32,
    pub members: u32,
}

/// A member, enumerator, parameter or dimension, with its value as the format defines it.
#[derive(Clone, Copy, Debug)]
pub struct MemberFacts {
    pub name: LocalStr,
    pub target: u32,
    pub value: i64,
}

/// A function declaration.
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

/// A variable declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableFacts {
    pub name: LocalStr,
    pub type_id: u32,
    pub line: u32,
    pub parameter: bool,
    pub nested: bool,
}

/// A compilation unit. Its places and files extend to the start of the next unit's.
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

/// A call that names what it calls.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts {
    pub callee: Callee,
    /// The innermost placement that contains it.
    pub place: u32,
    /// The first or last byte of its instruction.
    pub pc: u32,
    /// Whether it is a jump: the callee returns to the caller's caller.
    pub is_tail: bool,
}

/// What a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function that is described in the unit.
    Function(u32),
    /// A declared function, which the linker finds by its symbol.
    Named(LocalStr),
    /// The function of the same object whose code starts there.
    At(u32),
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
