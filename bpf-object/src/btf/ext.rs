//! `.BTF.ext`: functions, source lines and CO-RE relocations by section and instruction.
use crate::btf::Btf;
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::types::TypeId;

/// The kinds of CO-RE relocations, with the numbers of `enum bpf_core_relo_kind` (`include/uapi/linux/bpf.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RelocationKind {
    /// Where a field starts, in bytes.
    FieldOffset = 0,
    /// How many bytes a field has.
    FieldSize = 1,
    /// Whether there is a field: 0 or 1.
    FieldExists = 2,
    /// Whether a field is signed: 0 or 1.
    FieldSigned = 3,
    /// How far to shift left before a bit-field is shifted right.
    FieldShiftLeft = 4,
    /// How far to shift a bit-field right.
    FieldShiftRight = 5,
    /// A type's id in the object.
    TypeIdLocal = 6,
    /// A type's id in the kernel.
    TypeIdTarget = 7,
    /// Whether there is a type: 0 or 1.
    TypeExists = 8,
    /// How many bytes a type has.
    TypeSize = 9,
    /// Whether there is an enumerator: 0 or 1.
    EnumeratorExists = 10,
    /// The value of an enumerator.
    EnumeratorValue = 11,
    /// Whether a type has all members of the object's: 0 or 1.
    TypeMatches = 12,
}

impl RelocationKind {
    /// The kind with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        use RelocationKind::*;
        const ALL: [RelocationKind; 13] = [
            FieldOffset,
            FieldSize,
            FieldExists,
            FieldSigned,
            FieldShiftLeft,
            FieldShiftRight,
            TypeIdLocal,
            TypeIdTarget,
            TypeExists,
            TypeSize,
            EnumeratorExists,
            EnumeratorValue,
            TypeMatches,
        ];
        ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Whether it is about a field.
    pub fn is_field(self) -> bool {
        (self as u8) <= Self::FieldShiftRight as u8
    }

    /// Whether it is about a type as a whole.
    pub fn is_type(self) -> bool {
        use RelocationKind::*;
        matches!(self, TypeIdLocal | TypeIdTarget | TypeExists | TypeSize | TypeMatches)
    }

    /// Whether it is about an enumerator.
    pub fn is_enumerator(self) -> bool {
        matches!(self, Self::EnumeratorExists | Self::EnumeratorValue)
    }

    /// Whether it asks if something is there: a guard, which never fails.
    pub fn is_guard(self) -> bool {
        matches!(self, Self::FieldExists | Self::TypeExists | Self::EnumeratorExists | Self::TypeMatches)
    }

    /// As libbpf's log calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FieldOffset => "byte_off",
            Self::FieldSize => "byte_sz",
            Self::FieldExists => "field_exists",
            Self::FieldSigned => "signed",
            Self::FieldShiftLeft => "lshift_u64",
            Self::FieldShiftRight => "rshift_u64",
            Self::TypeIdLocal => "local_type_id",
            Self::TypeIdTarget => "target_type_id",
            Self::TypeExists => "type_exists",
            Self::TypeSize => "type_size",
            Self::EnumeratorExists => "enumval_exists",
            Self::EnumeratorValue => "enumval_value",
            Self::TypeMatches => "type_matches",
        }
    }
}

/// A function's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRecord {
    /// Where it starts in the section, in bytes.
    pub offset: u32,
    /// Its type, of kind [`Function`](crate::types::Kind::Function).
    pub type_id: TypeId,
}

/// From which source line the instructions from `offset` on come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRecord<'a> {
    /// Where in the section, in bytes.
    pub offset: u32,
    /// The file as the compiler was given it.
    pub file: &'a [u8],
    /// The text of the line, empty where the compiler did not have it.
    pub text: &'a [u8],
    /// From 1 on; 0 is no line.
    pub line: u32,
    /// From 1 on; 0 is no column.
    pub column: u32,
}

/// A CO-RE relocation as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRecord<'a> {
    /// Where in the section, in bytes.
    pub offset: u32,
    /// The type at the root of the access, in the object's BTF.
    pub type_id: TypeId,
    /// The path: indices with colons between them (`0:1:2`).
    pub access: &'a [u8],
    /// What is asked; a number that is not known is kept as it is.
    pub kind: std::result::Result<RelocationKind, u32>,
}

/// The records of one section of code.
#[derive(Clone, Debug)]
struct Group<'a> {
    section: &'a [u8],
    /// The records, all of the same length.
    records: Bytes<'a>,
    record_length: usize,
}

/// `.BTF.ext` over its bytes.
#[derive(Clone, Debug, Default)]
pub struct Ext<'a> {
    functions: Vec<Group<'a>>,
    lines: Vec<Group<'a>>,
    relocations: Vec<Group<'a>>,
}

impl<'a> Ext<'a> {
    /// Reads the header and finds the groups of records. Costs one step a section.
    ///
    /// # Errors
    /// As libbpf refuses it: truncated, of another version, records that are too short.
    pub fn parse(data: &'a [u8], btf: &Btf<'a>) -> Result<Self> {
        let place = ".BTF.ext";
        let all = Bytes::new(data, btf.byte_order());
        if all.u16(0) != Some(0xeb9f) {
            return Err(Error::damaged(place, "it does not start with 0xeb9f in the byte order of .BTF"));
        }
        if data.get(2..4) != Some(&[1, 0]) {
            return Err(Error::unsupported(place, "its version is not 1"));
        }
        let word = |at| all.u32(at).ok_or_else(|| Error::truncated(place, "it ends in its header"));
        let header = word(4)? as usize;
        if header < 24 {
            return Err(Error::damaged(place, "its header has no lines"));
        }
        let body = Bytes::new(
            data.get(header..).ok_or_else(|| Error::truncated(place, "it ends in its header"))?,
            all.order,
        );
        let mut ext = Self {
            functions: groups(body, word(8)?, word(12)?, 8, btf)?,
            lines: groups(body, word(16)?, word(20)?, 16, btf)?,
            relocations: Vec::new(),
        };
        if header >= 32 {
            ext.relocations = groups(body, word(24)?, word(28)?, 16, btf)?;
        }
        Ok(ext)
    }

    /// The functions of a section of code, in the order of the file.
    pub fn functions<'b>(&'b self, section: &'b [u8]) -> impl Iterator<Item = FunctionRecord> + 'b {
        records(&self.functions, section)
            .filter_map(|r| Some(FunctionRecord { offset: r.u32(0)?, type_id: TypeId(r.u32(4)?) }))
    }

    /// The lines of a section of code, in the order of the file, which is that of offsets.
    pub fn lines<'b>(
        &'b self,
        section: &'b [u8],
        btf: &'b Btf<'a>,
    ) -> impl Iterator<Item = LineRecord<'a>> + 'b {
        records(&self.lines, section).filter_map(|r| {
            let position = r.u32(12)?;
            Some(LineRecord {
                offset: r.u32(0)?,
                file: btf.string(r.u32(4)?)?,
                text: btf.string(r.u32(8)?)?,
                line: position >> 10,
                column: position & 0x3ff,
            })
        })
    }

    /// The names of sections with relocations, in the order of the file.
    pub fn relocated_sections(&self) -> impl Iterator<Item = &'a [u8]> {
        self.relocations.iter().map(|group| group.section)
    }

    /// The relocations of the group at a position of [`Self::relocated_sections`], in the order of the file.
    pub fn relocations<'b>(
        &'b self,
        group: usize,
        btf: &'b Btf<'a>,
    ) -> impl Iterator<Item = CoreRecord<'a>> + 'b {
        self.relocations.get(group).into_iter().flat_map(Group::iter).filter_map(|r| {
            let kind = r.u32(12)?;
            Some(CoreRecord {
                offset: r.u32(0)?,
                type_id: TypeId(r.u32(4)?),
                access: btf.string(r.u32(8)?).unwrap_or_default(),
                kind: RelocationKind::from_number(kind).ok_or(kind),
            })
        })
    }
}

impl<'a> Group<'a> {
    fn iter(&self) -> impl Iterator<Item = Bytes<'a>> {
        let order = self.records.order;
        self.records.data.chunks_exact(self.record_length).map(move |record| Bytes::new(record, order))
    }
}

fn records<'b, 'a: 'b>(groups: &'b [Group<'a>], section: &'b [u8]) -> impl Iterator<Item = Bytes<'a>> + 'b {
    groups.iter().filter(move |group| group.section == section).flat_map(Group::iter)
}

/// The groups of one kind of record (`btf_ext_parse_sec_info` of libbpf 1.7).
fn groups<'a>(
    body: Bytes<'a>,
    offset: u32,
    length: u32,
    least: usize,
    btf: &Btf<'a>,
) -> Result<Vec<Group<'a>>> {
    let place = ".BTF.ext";
    let mut found = Vec::new();
    if length == 0 {
        return Ok(found);
    }
    let truncated = || Error::truncated(place, "records reach past its end");
    let info = Bytes::new(body.slice(offset.into(), length.into()).ok_or_else(truncated)?, body.order);
    let record_length = info.u32(0).ok_or_else(truncated)? as usize;
    if record_length < least || !record_length.is_multiple_of(4) {
        return Err(Error::damaged(
            place,
            format!("records of {record_length} bytes, at least {least} are needed"),
        ));
    }
    let mut at = 4;
    while at < info.data.len() {
        let (name, count) = (info.u32(at).ok_or_else(truncated)?, info.u32(at + 4).ok_or_else(truncated)?);
        let bytes = u64::from(count) * record_length as u64;
        let records = info.slice(at as u64 + 8, bytes).ok_or_else(truncated)?;
        if count == 0 {
            return Err(Error::damaged(place, "a section without records"));
        }
        let section = btf.string(name).filter(|name| !name.is_empty());
        let section = section.ok_or_else(|| Error::damaged(place, "records of a section without a name"))?;
        found.push(Group { section, records: Bytes::new(records, body.order), record_length });
        at += 8 + records.len();
    }
    Ok(found)
}
