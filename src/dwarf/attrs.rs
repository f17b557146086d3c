//! The values of attributes, with the strings and blocks that they refer to.
use super::abbrev::{SLOTS, Slot};
use super::cursor::{Cursor, length_to_nul};
use super::header::Fault;
use super::sections::Sections;
use gimli::constants::*;

/// The values of an entry's wanted attributes. Reused for many entries: only the presence bits are cleared.
pub struct Attrs {
    present: u64,
    values: [u64; SLOTS],
    forms: [u16; SLOTS],
}

impl Default for Attrs {
    fn default() -> Self {
        Self { present: 0, values: [0; SLOTS], forms: [0; SLOTS] }
    }
}

/// Values of attributes that are not in use: clearing or moving all of them costs more than reading an entry.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "they are handed out without being moved")]
pub struct SpareAttrs(Vec<Box<Attrs>>);

impl SpareAttrs {
    /// Takes one out.
    #[inline]
    pub fn take(&mut self) -> Box<Attrs> {
        self.0.pop().unwrap_or_default()
    }
    /// Puts one back.
    #[inline]
    pub fn put(&mut self, attrs: Box<Attrs>) {
        self.0.push(attrs);
    }
}

impl Attrs {
    /// The attribute's value: a number, an address, an absolute offset into `.debug_info`, a [`StrRef`], or the start
    /// and length of a block for [`block`].
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Option<u64> {
        (self.present >> slot as u8 & 1 != 0).then(|| self.values[slot as usize])
    }
    /// The form of the attribute.
    #[inline]
    pub fn form(&self, slot: Slot) -> DwForm {
        DwForm(self.forms[slot as usize])
    }
    /// Whether the flag is present and set.
    #[inline]
    pub fn flag(&self, slot: Slot) -> bool {
        self.get(slot).is_some_and(|v| v != 0)
    }
    /// A string attribute.
    #[inline]
    pub fn string(&self, slot: Slot) -> Option<StrRef> {
        self.get(slot).map(StrRef)
    }
    /// Clears all values.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.present = 0;
    }
    /// Stores a value.
    #[inline(always)]
    pub fn set(&mut self, slot: Slot, value: u64, form: u16) {
        self.present |= 1 << slot as u8;
        self.values[slot as usize] = value;
        self.forms[slot as usize] = form;
    }
    /// Whether the value is a block of bytes.
    pub fn is_block(&self, slot: Slot) -> bool {
        matches!(
            self.form(slot),
            DW_FORM_exprloc
                | DW_FORM_block
                | DW_FORM_block1
                | DW_FORM_block2
                | DW_FORM_block4
                | DW_FORM_data16
        )
    }
    /// Whether the value is an address, not an offset from one.
    pub fn is_address(&self, slot: Slot) -> bool {
        matches!(
            self.form(slot),
            DW_FORM_addr
                | DW_FORM_addrx
                | DW_FORM_addrx1
                | DW_FORM_addrx2
                | DW_FORM_addrx3
                | DW_FORM_addrx4
                | DW_FORM_GNU_addr_index
        )
    }
}

/// The bytes of a block attribute.
#[inline]
pub fn block<'d>(sections: &Sections<'d>, value: u64) -> &'d [u8] {
    let (start, length) = ((value >> 24) as usize, (value & 0xff_ffff) as usize);
    sections.info.get(start..).and_then(|d| d.get(..length)).unwrap_or_default()
}

/// An unresolved string of the debug information: section and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StrRef(pub u64);

impl StrRef {
    const STR: u64 = 0;
    const LINE_STR: u64 = 1 << 62;
    pub(super) const INFO: u64 = 2 << 62;
    const OFFSET: u64 = (1 << 62) - 1;

    /// A string of `.debug_str`.
    pub fn str(offset: u64) -> Self {
        Self(Self::STR | offset & Self::OFFSET)
    }
    /// A string of `.debug_line_str`.
    pub fn line_str(offset: u64) -> Self {
        Self(Self::LINE_STR | offset & Self::OFFSET)
    }
    /// The string's bytes.
    pub fn bytes<'d>(self, sections: &Sections<'d>) -> &'d [u8] {
        Cursor::new(self.section(sections), (self.0 & Self::OFFSET) as usize, sections.order).c_string()
    }
    /// The string's bytes; `None` if there are more than `most`. Looks at no more than that.
    pub fn bytes_within<'d>(self, sections: &Sections<'d>, most: usize) -> Option<&'d [u8]> {
        let rest = self.section(sections).get((self.0 & Self::OFFSET) as usize..).unwrap_or_default();
        match length_to_nul(&rest[..rest.len().min(most + 1)]) {
            Some(length) => Some(&rest[..length]),
            None => (rest.len() <= most).then_some(&[]),
        }
    }
    /// Whether the string is this one. Looks at no more than its length.
    #[inline(always)]
    pub fn is(self, text: &[u8], sections: &Sections<'_>) -> bool {
        let rest = self.section(sections).get((self.0 & Self::OFFSET) as usize..).unwrap_or_default();
        rest.get(text.len()) == Some(&0) && rest.starts_with(text)
    }
    /// A fault at the string.
    pub fn fault(self, what: &'static str) -> Fault {
        let section = match self.0 & !Self::OFFSET {
            Self::STR => ".debug_str",
            Self::LINE_STR => ".debug_line_str",
            _ => ".debug_info",
        };
        Fault::new(section, (self.0 & Self::OFFSET) as usize, what)
    }
    #[inline(always)]
    fn section<'d>(self, sections: &Sections<'d>) -> &'d [u8] {
        match self.0 & !Self::OFFSET {
            Self::STR => sections.str,
            Self::LINE_STR => sections.line_str,
            _ => sections.info,
        }
    }
}

/// The value of a reference by signature to a missing type unit.
pub const IN_TYPE_UNIT: u64 = u64::MAX - 1;

/// The value of a reference into a missing supplementary file (dwz).
pub const IN_OTHER_FILE: u64 = u64::MAX;
