//! Debug information byte by byte (DWARF 4 and 5, 32-bit), to say what no writer would let one say.
use gimli::{DwAt, DwForm, DwTag};

/// `.debug_abbrev` and `.debug_info` of one unit while it grows.
pub struct Raw {
    version: u16,
    codes: u64,
    pub abbrev: Vec<u8>,
    pub info: Vec<u8>,
}

/// The code of an abbreviation.
#[derive(Clone, Copy, PartialEq)]
pub struct Code(u64);

impl Raw {
    /// Starts a unit with an entry for itself, in C.
    pub fn unit(version: u16) -> Self {
        let mut raw = Self { version, codes: 0, abbrev: vec![], info: vec![0; 4] };
        raw.info.extend(version.to_le_bytes());
        match version {
            5 => raw.info.extend([1, 8, 0, 0, 0, 0]),
            _ => raw.info.extend([0, 0, 0, 0, 8]),
        }
        let attributes =
            [(gimli::DW_AT_name, gimli::DW_FORM_string), (gimli::DW_AT_language, gimli::DW_FORM_data1)];
        let unit = raw.code(gimli::DW_TAG_compile_unit, true, &attributes);
        raw.entry(unit).string("hostile.c").u8(gimli::DW_LANG_C99.0 as u8);
        raw
    }
    /// Adds an abbreviation.
    pub fn code(&mut self, tag: DwTag, children: bool, attributes: &[(DwAt, DwForm)]) -> Code {
        self.codes += 1;
        let code = self.codes;
        self.abbreviation(code, tag, children, attributes);
        Code(code)
    }
    /// Adds an abbreviation with a code of choice.
    pub fn abbreviation(
        &mut self,
        code: u64,
        tag: DwTag,
        children: bool,
        attributes: &[(DwAt, DwForm)],
    ) -> Code {
        for number in [code, tag.0.into()] {
            gimli::leb128::write::unsigned(&mut self.abbrev, number).unwrap();
        }
        self.abbrev.push(children.into());
        for (name, form) in attributes.iter().map(|(name, form)| (name.0, form.0)).chain([(0, 0)]) {
            for number in [name, form] {
                gimli::leb128::write::unsigned(&mut self.abbrev, number.into()).unwrap();
            }
        }
        Code(code)
    }
    /// Where the next entry will stand; references of the unit are relative to its start, which is 0.
    pub fn here(&self) -> u32 {
        self.info.len() as u32
    }
    /// Starts an entry; its values follow.
    pub fn entry(&mut self, code: Code) -> &mut Self {
        self.uleb(code.0)
    }
    /// Ends the innermost entry that has children.
    pub fn end(&mut self) -> &mut Self {
        self.u8(0)
    }
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }
    pub fn uleb(&mut self, value: u64) -> &mut Self {
        gimli::leb128::write::unsigned(&mut self.info, value).unwrap();
        self
    }
    pub fn string(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes()).u8(0)
    }
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.info.extend_from_slice(value);
        self
    }
    /// `.debug_info` and `.debug_abbrev`, whole.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        self.u8(0);
        let length = self.info.len() as u32 - 4;
        self.info[..4].copy_from_slice(&length.to_le_bytes());
        self.abbrev.push(0);
        assert!(matches!(self.version, 2..=5));
        (self.info, self.abbrev)
    }
    /// A module with this unit, and with other debug sections.
    pub fn module(self, others: &[(&str, &[u8])]) -> Vec<u8> {
        let (info, abbrev) = self.finish();
        let mut sections = vec![(".debug_info", &info[..]), (".debug_abbrev", &abbrev)];
        sections.extend(others);
        super::elf::module(&sections)
    }
}
