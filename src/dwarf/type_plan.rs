//! Reads what identifies a named type in one step, if the forms of its entry have fixed sizes.
//!
//! Such entries are most of a unit, and all but the first of each type are skipped: their other attributes are not
//! looked at.
use super::header::Encoding;
use super::slot::Slot;
use gimli::constants::*;

/// The positions in an entry, after its code, of what identifies a named type.
#[derive(Clone, Copy, Default)]
pub struct TypePlan {
    name: Option<u16>,
    file: Option<Field>,
    line: Field,
    size: Field,
    declared: bool,
    has_more: bool,
}

/// A number in an entry: the four bytes at a position under a mask, plus a constant.
#[derive(Clone, Copy, Default)]
struct Field {
    at: u16,
    mask: u32,
    constant: u32,
}

impl Field {
    fn of(form: DwForm, at: u16, constant: Option<i64>) -> Option<Self> {
        let mask = match form {
            DW_FORM_data1 => 0xff,
            DW_FORM_data2 => 0xffff,
            DW_FORM_data4 => u32::MAX,
            DW_FORM_implicit_const => {
                return Some(Self { constant: u32::try_from(constant?).ok()?, ..Self::default() });
            }
            _ => return None,
        };
        Some(Self { at, mask, constant: 0 })
    }
    #[inline(always)]
    fn read(self, bytes: &[u8]) -> Option<u32> {
        Some((word(bytes, self.at)? & self.mask) | self.constant)
    }
}

#[inline(always)]
fn word(bytes: &[u8], at: u16) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(usize::from(at)..)?.first_chunk()?))
}

/// What identifies a named type.
pub struct Named {
    /// The offset of the name in the `.debug_str` of the unit's file.
    pub name: u32,
    pub file: Option<u32>,
    pub line: u32,
    pub size: u32,
    /// Whether it is only declared.
    pub declared: bool,
    /// Whether it has no other attribute of importance: no encoding and no signature.
    pub is_common: bool,
}

impl TypePlan {
    /// Adds an attribute; false if it is not at a fixed position or has an unusual form. `constant` is the value of an
    /// implicit constant.
    pub fn add(
        &mut self,
        slot: Slot,
        form: DwForm,
        at: u32,
        constant: Option<i64>,
        encoding: Encoding,
    ) -> bool {
        let Ok(at) = u16::try_from(at) else { return false };
        let field = |to: &mut Field| Field::of(form, at, constant).map(|field| *to = field).is_some();
        match slot {
            Slot::Name => {
                self.name = Some(at);
                form == DW_FORM_strp && encoding.offset_size == 4
            }
            Slot::DeclFile => field(self.file.get_or_insert_default()),
            Slot::DeclLine => field(&mut self.line),
            Slot::ByteSize => field(&mut self.size),
            Slot::Declaration => {
                self.declared = true;
                form == DW_FORM_flag_present
            }
            Slot::Encoding | Slot::Signature => {
                self.has_more = true;
                true
            }
            _ => true,
        }
    }
    /// Whether entries have a name.
    pub fn has_name(&self) -> bool {
        self.name.is_some()
    }
    /// Reads an entry from the little-endian bytes after its code. `None` near the end of a unit: it looks at up to
    /// four bytes for each number.
    #[inline(always)]
    pub fn read(&self, bytes: &[u8]) -> Option<Named> {
        let file = match self.file {
            Some(file) => Some(file.read(bytes)?),
            None => None,
        };
        Some(Named {
            name: word(bytes, self.name?)?,
            file,
            line: self.line.read(bytes)?,
            size: self.size.read(bytes)?,
            declared: self.declared,
            is_common: !self.has_more,
        })
    }
}
