//! Units: their headers, their abbreviations, and how the values of their attributes are read.
use super::abbrev::{Abbrev, Abbrevs, NO_SIBLING, Slot, Step};
use super::attrs::{Attrs, IN_OTHER_FILE, IN_TYPE_UNIT, StrRef};
use super::cursor::Cursor;
use super::header::{Fault, UnitHeader};
use gimli::constants::*;
use std::rc::Rc;

/// A unit that is being read.
pub struct Unit<'d> {
    pub header: UnitHeader,
    pub sections: Sections<'d>,
    pub abbrevs: Rc<Abbrevs>,
    /// Where the sections start from which its offsets count: 0 but in a supplementary file.
    pub origin: Supplement,
    pub low_pc: u64,
    pub str_offsets_base: u64,
    pub addr_base: u64,
    pub loclists_base: u64,
    pub rnglists_base: u64,
    pub stmt_list: Option<u64>,
    pub name: Option<StrRef>,
    pub comp_dir: Option<StrRef>,
    pub producer: Option<StrRef>,
    pub language: u16,
    /// The unit's own entries are in another file (`DW_AT_dwo_name`).
    pub is_split: bool,
    /// `DW_TAG_compile_unit`, `DW_TAG_partial_unit` …
    pub tag: DwTag,
    /// The offset of the first entry below the unit's own.
    pub children: usize,
}

impl<'d> Unit<'d> {
    /// Reads the unit's own entry.
    pub fn read(header: UnitHeader, sections: Sections<'d>, abbrevs: Rc<Abbrevs>) -> Result<Self, Fault> {
        let mut unit = Unit {
            header,
            sections,
            abbrevs,
            origin: if header.is_supplementary {
                sections.supplement.unwrap_or_default()
            } else {
                Supplement::default()
            },
            low_pc: 0,
            str_offsets_base: 8,
            addr_base: 8,
            loclists_base: 0,
            rnglists_base: 0,
            stmt_list: None,
            name: None,
            comp_dir: None,
            producer: None,
            language: 0,
            is_split: false,
            tag: DwTag(0),
            children: header.end,
        };
        let mut cursor = unit.cursor(header.entries);
        let mut attrs = Attrs::default();
        let code = cursor.uleb();
        let Some(&abbrev) = unit.abbrevs.get(code) else {
            return Err(Fault::new(".debug_info", header.entries, "an entry of an unknown abbreviation"));
        };
        // The bases are needed to read the other values of the same entry: read it twice.
        for _ in 0..2 {
            cursor.pos = header.entries;
            cursor.skip_leb();
            unit.attrs(&mut cursor, &abbrev, &mut attrs);
            let base = |slot, or| attrs.get(slot).unwrap_or(or);
            unit.str_offsets_base = base(Slot::StrOffsetsBase, unit.str_offsets_base);
            unit.addr_base = base(Slot::AddrBase, unit.addr_base);
            unit.loclists_base = base(Slot::LoclistsBase, unit.loclists_base);
            unit.rnglists_base = base(Slot::RnglistsBase, unit.rnglists_base);
        }
        unit.low_pc = attrs.get(Slot::LowPc).unwrap_or(0);
        unit.stmt_list = attrs.get(Slot::StmtList).map(|at| at.saturating_add(unit.origin.line as u64));
        unit.name = attrs.string(Slot::Name);
        unit.comp_dir = attrs.string(Slot::CompDir);
        unit.producer = attrs.string(Slot::Producer);
        unit.language = attrs.get(Slot::Language).unwrap_or(0) as u16;
        unit.is_split = attrs.get(Slot::DwoName).is_some();
        unit.tag = abbrev.tag;
        unit.children = if abbrev.has_children { cursor.pos } else { header.end };
        if cursor.ended {
            return Err(Fault::new(".debug_info", header.entries, "the unit's first entry is cut off"));
        }
        Ok(unit)
    }

    /// A cursor at this offset that ends where the unit does.
    #[inline]
    pub fn cursor(&self, offset: usize) -> Cursor<'d> {
        Cursor::new(&self.sections.info[..self.header.end], offset)
    }
    /// Whether this offset of `.debug_info` lies in the unit.
    #[inline]
    pub fn contains(&self, offset: usize) -> bool {
        self.header.start <= offset && offset < self.header.end
    }

    /// Reads the wanted attributes; the cursor stands behind the entry's code and then behind the entry.
    #[inline]
    pub fn attrs(&self, cursor: &mut Cursor<'d>, abbrev: &Abbrev, attrs: &mut Attrs) {
        attrs.clear();
        for step in self.abbrevs.steps(abbrev) {
            match (step.form, step.slot) {
                (Step::FIXED, _) => cursor.skip(step.size.into()),
                (form, Slot::Skip) => self.skip_value(cursor, DwForm(form)),
                (form, slot) => {
                    let value = self.value(cursor, DwForm(form), step);
                    attrs.set(slot, value, form);
                }
            }
        }
    }
    /// The next entry of a list of siblings, with its offset: its attributes follow. `None` behind the last; an entry of
    /// an unknown abbreviation ends the cursor, as nothing can be read behind it.
    #[inline(always)]
    pub fn next_entry(&self, cursor: &mut Cursor<'d>) -> Option<(usize, &Abbrev)> {
        if cursor.is_empty() {
            return None;
        }
        let offset = cursor.pos;
        let code = cursor.uleb();
        let abbrev = self.abbrevs.get(code);
        cursor.ended |= abbrev.is_none() && code != 0;
        Some((offset, abbrev?))
    }
    /// Passes over the attributes of an entry.
    #[inline]
    pub fn skip_attrs(&self, cursor: &mut Cursor<'d>, abbrev: &Abbrev) {
        for step in self.abbrevs.steps(abbrev) {
            match step.form {
                Step::FIXED => cursor.skip(step.size.into()),
                form => self.skip_value(cursor, DwForm(form)),
            }
        }
    }
    /// Where the entry's next sibling stands, if the entry says so at a fixed place; the cursor stands behind its
    /// code. Only ever forward, so that a walk ends.
    #[inline]
    pub fn sibling(&self, cursor: &Cursor<'d>, abbrev: &Abbrev) -> Option<usize> {
        if abbrev.sibling == NO_SIBLING {
            return None;
        }
        let offset = Cursor::new(self.sections.info, cursor.pos + usize::from(abbrev.sibling)).u32() as usize;
        let target = self.header.start + offset;
        (target > cursor.pos && target <= self.header.end).then_some(target)
    }
    /// Passes over the children of an entry, whose attributes were read; ends behind the null entry.
    pub fn skip_children(&self, cursor: &mut Cursor<'d>) {
        let mut depth = 1;
        while depth > 0 && !cursor.is_empty() {
            let code = cursor.uleb();
            if code == 0 {
                depth -= 1;
                continue;
            }
            let Some(abbrev) = self.abbrevs.get(code) else {
                cursor.ended = true;
                return;
            };
            if let Some(sibling) = self.sibling(cursor, abbrev) {
                cursor.pos = sibling;
                continue;
            }
            self.skip_attrs(cursor, abbrev);
            depth += usize::from(abbrev.has_children);
        }
    }
    /// Passes over an entry whose code was read, and its children.
    #[inline]
    pub fn skip_entry(&self, cursor: &mut Cursor<'d>, abbrev: &Abbrev) {
        if abbrev.has_children
            && let Some(sibling) = self.sibling(cursor, abbrev)
        {
            cursor.pos = sibling;
            return;
        }
        self.skip_attrs(cursor, abbrev);
        if abbrev.has_children {
            self.skip_children(cursor);
        }
    }

    #[inline(always)]
    fn value(&self, cursor: &mut Cursor<'d>, form: DwForm, step: &Step) -> u64 {
        let offset_size = self.header.encoding.offset_size;
        let start = self.header.start as u64;
        match form {
            DW_FORM_strp => self.str(cursor.offset(offset_size)).0,
            DW_FORM_data1 | DW_FORM_flag => cursor.u8().into(),
            DW_FORM_data2 => cursor.u16().into(),
            DW_FORM_ref4 => start + u64::from(cursor.u32()),
            DW_FORM_addr => cursor.address(self.header.encoding.address_size),
            DW_FORM_data4 => cursor.u32().into(),
            DW_FORM_sec_offset => cursor.offset(offset_size),
            DW_FORM_data8 => cursor.u64(),
            DW_FORM_ref_sig8 => {
                cursor.skip(8);
                IN_TYPE_UNIT
            }
            DW_FORM_implicit_const => self.abbrevs.constant(step) as u64,
            DW_FORM_flag_present => 1,
            DW_FORM_line_strp => self.line_str(cursor.offset(offset_size)).0,
            DW_FORM_string => {
                let at = cursor.pos as u64;
                cursor.c_string();
                StrRef::INFO | at
            }
            DW_FORM_udata | DW_FORM_loclistx | DW_FORM_rnglistx => cursor.uleb(),
            DW_FORM_sdata => cursor.sleb() as u64,
            DW_FORM_exprloc | DW_FORM_block => {
                let length = cursor.uleb();
                self.block_value(cursor, length)
            }
            DW_FORM_block1 => {
                let length = cursor.u8().into();
                self.block_value(cursor, length)
            }
            DW_FORM_block2 => {
                let length = cursor.u16().into();
                self.block_value(cursor, length)
            }
            DW_FORM_block4 => {
                let length = cursor.u32().into();
                self.block_value(cursor, length)
            }
            DW_FORM_data16 => self.block_value(cursor, 16),
            DW_FORM_ref1 => start + u64::from(cursor.u8()),
            DW_FORM_ref2 => start + u64::from(cursor.u16()),
            DW_FORM_ref8 => start.wrapping_add(cursor.u64()),
            DW_FORM_ref_udata => start.wrapping_add(cursor.uleb()),
            DW_FORM_ref_addr if self.header.encoding.version <= 2 => {
                cursor.address(self.header.encoding.address_size)
            }
            DW_FORM_ref_addr => cursor.offset(offset_size).saturating_add(self.origin.info as u64),
            DW_FORM_strx | DW_FORM_GNU_str_index => {
                let index = cursor.uleb();
                self.string_at_index(index).0
            }
            DW_FORM_strx1 => self.string_at_index(cursor.u8().into()).0,
            DW_FORM_strx2 => self.string_at_index(cursor.u16().into()).0,
            DW_FORM_strx3 => self.string_at_index(cursor.u24().into()).0,
            DW_FORM_strx4 => self.string_at_index(cursor.u32().into()).0,
            DW_FORM_addrx | DW_FORM_GNU_addr_index => {
                let index = cursor.uleb();
                self.indexed_address(index)
            }
            DW_FORM_addrx1 => self.indexed_address(cursor.u8().into()),
            DW_FORM_addrx2 => self.indexed_address(cursor.u16().into()),
            DW_FORM_addrx3 => self.indexed_address(cursor.u24().into()),
            DW_FORM_addrx4 => self.indexed_address(cursor.u32().into()),
            DW_FORM_indirect => {
                let form = DwForm(cursor.uleb() as u16);
                if form == DW_FORM_indirect || form == DW_FORM_implicit_const {
                    cursor.ended = true;
                    return 0;
                }
                self.value(cursor, form, step)
            }
            DW_FORM_strp_sup | DW_FORM_GNU_strp_alt => {
                let offset = cursor.offset(offset_size);
                let start = self.sections.supplement.map(|s| s.str as u64);
                start.map_or(IN_OTHER_FILE, |start| StrRef::str(start.saturating_add(offset)).0)
            }
            DW_FORM_GNU_ref_alt => {
                let offset = cursor.offset(offset_size);
                self.supplementary_entry(offset)
            }
            DW_FORM_ref_sup4 => self.supplementary_entry(cursor.u32().into()),
            DW_FORM_ref_sup8 => self.supplementary_entry(cursor.u64()),
            _ => {
                cursor.ended = true;
                0
            }
        }
    }

    fn skip_value(&self, cursor: &mut Cursor<'d>, form: DwForm) {
        match form {
            DW_FORM_exprloc | DW_FORM_block => {
                let length = cursor.uleb();
                cursor.skip(length);
            }
            DW_FORM_udata
            | DW_FORM_sdata
            | DW_FORM_ref_udata
            | DW_FORM_strx
            | DW_FORM_addrx
            | DW_FORM_loclistx
            | DW_FORM_rnglistx
            | DW_FORM_GNU_addr_index
            | DW_FORM_GNU_str_index => cursor.skip_leb(),
            DW_FORM_string => {
                cursor.c_string();
            }
            _ => {
                self.value(cursor, form, &Step { slot: Slot::Skip, form: form.0, size: u32::MAX });
            }
        }
    }

    #[inline]
    fn block_value(&self, cursor: &mut Cursor<'d>, length: u64) -> u64 {
        let at = cursor.pos as u64;
        cursor.skip(length);
        if cursor.ended || length > 0xff_ffff { 0 } else { at << 24 | length }
    }
    /// The string at this offset of the `.debug_str` of the unit's file.
    #[inline(always)]
    pub fn str(&self, offset: u64) -> StrRef {
        StrRef::str(offset.saturating_add(self.origin.str as u64))
    }
    /// The string at this offset of the `.debug_line_str` of the unit's file.
    #[inline(always)]
    pub fn line_str(&self, offset: u64) -> StrRef {
        StrRef::line_str(offset.saturating_add(self.origin.line_str as u64))
    }
    /// The entry at this offset of the supplementary file.
    fn supplementary_entry(&self, offset: u64) -> u64 {
        let start = self.sections.supplement.map(|s| s.info as u64);
        start.map_or(IN_OTHER_FILE, |start| start.saturating_add(offset))
    }
    /// The string at this index of the unit's part of `.debug_str_offsets`.
    pub fn string_at_index(&self, index: u64) -> StrRef {
        let size = self.header.encoding.offset_size;
        let at = index.saturating_mul(size.into()).saturating_add(self.str_offsets_base);
        StrRef::str(Cursor::new(self.sections.str_offsets, at as usize).offset(size))
    }
    /// The address at this index of the unit's part of `.debug_addr`.
    pub fn indexed_address(&self, index: u64) -> u64 {
        let size = self.header.encoding.address_size;
        let at = index.saturating_mul(size.into()).saturating_add(self.addr_base);
        Cursor::new(self.sections.addr, at as usize).address(size)
    }
}

/// The debug sections of an object, relocated; empty where the object has none.
#[derive(Clone, Copy, Default)]
pub struct Sections<'d> {
    pub info: &'d [u8],
    pub abbrev: &'d [u8],
    pub line: &'d [u8],
    pub str: &'d [u8],
    pub line_str: &'d [u8],
    pub str_offsets: &'d [u8],
    pub addr: &'d [u8],
    pub rnglists: &'d [u8],
    pub ranges: &'d [u8],
    pub loclists: &'d [u8],
    pub loc: &'d [u8],
    pub frame: &'d [u8],
    /// Where there is no `frame`.
    pub eh_frame: &'d [u8],
    /// That of `eh_frame`, as its relocations have it.
    pub eh_frame_address: u64,
    /// Where the sections of the supplementary file start, if one was put behind those of the object.
    pub supplement: Option<Supplement>,
}

/// Where the sections of a supplementary file (dwz) start in those of its object. What its units say of offsets counts from
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supplement {
    pub info: usize,
    pub abbrev: usize,
    pub line: usize,
    pub str: usize,
    pub line_str: usize,
}

impl Supplement {
    /// Where a section starts; `None` of one that supplementary files have not.
    pub fn start(&self, section: &str) -> Option<usize> {
        Some(match section {
            ".debug_info" => self.info,
            ".debug_abbrev" => self.abbrev,
            ".debug_line" => self.line,
            ".debug_str" => self.str,
            ".debug_line_str" => self.line_str,
            _ => return None,
        })
    }
}
