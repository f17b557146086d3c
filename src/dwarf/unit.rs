//! Units: their headers, abbreviations, and attribute values.
use super::abbrev::{Abbrev, Abbrevs, NO_LENGTH, NO_SIBLING, Slot, Step};
use super::attrs::{Attrs, IN_OTHER_FILE, IN_TYPE_UNIT, StrRef};
use super::cursor::Cursor;
use super::header::{Fault, Role, UnitHeader};
use super::sections::{Origin, Sections};
use gimli::constants::*;
use object::Endian;
use std::rc::Rc;

/// An open unit.
pub struct Unit<'d, E> {
    pub header: UnitHeader,
    /// Its byte order.
    pub order: E,
    pub sections: Sections<'d>,
    pub abbrevs: Rc<Abbrevs>,
    /// The origin of its offsets.
    pub origin: Origin,
    pub low_pc: u64,
    pub str_offsets_base: u64,
    pub addr_base: u64,
    pub loclists_base: u64,
    /// In DWARF 4, added to offsets of `.debug_ranges`.
    pub rnglists_base: u64,
    pub stmt_list: Option<u64>,
    pub name: Option<StrRef>,
    pub comp_dir: Option<StrRef>,
    pub producer: Option<StrRef>,
    pub language: u16,
    /// The file with the unit's entries, if it is another one, and the id that they share (`DW_AT_dwo_name`,
    /// `DW_AT_GNU_dwo_id`).
    pub dwo_name: Option<StrRef>,
    pub dwo_id: Option<u64>,
    /// `DW_TAG_compile_unit`, `DW_TAG_partial_unit` …
    pub tag: DwTag,
    /// The offset of the first child of the unit's own entry.
    pub children: usize,
}

impl<'d, E: Endian> Unit<'d, E> {
    /// Reads the unit's own entry. `companion` is the unit of [`UnitHeader::companion`] if it passes on attributes.
    pub fn read(
        header: UnitHeader,
        sections: Sections<'d>,
        order: E,
        abbrevs: Rc<Abbrevs>,
        companion: Option<&Unit<'d, E>>,
    ) -> Result<Self, Fault> {
        let origin = sections.origin(header.origin);
        let bases = Bases::of(&header, &origin);
        let skeleton = companion.filter(|_| header.role == Role::Split);
        let mut unit = Unit {
            header,
            order,
            sections,
            abbrevs,
            origin,
            low_pc: 0,
            str_offsets_base: bases.str_offsets,
            addr_base: skeleton.map_or(8, |skeleton| skeleton.addr_base),
            loclists_base: bases.loclists,
            rnglists_base: bases.rnglists,
            stmt_list: None,
            name: None,
            comp_dir: None,
            producer: None,
            language: 0,
            dwo_name: None,
            dwo_id: None,
            tag: DwTag(0),
            children: header.end,
        };
        let mut cursor = unit.cursor(header.entries);
        let mut attrs = Attrs::default();
        let code = cursor.uleb();
        let Some(&abbrev) = unit.abbrevs.get(code) else {
            return Err(Fault::new(".debug_info", header.entries, "an entry of an unknown abbreviation"));
        };
        // The bases are needed to read other values of the same entry: read it twice.
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
        unit.comp_dir = attrs.string(Slot::CompDir).or(companion.and_then(|c| c.comp_dir));
        unit.producer = attrs.string(Slot::Producer);
        unit.language = attrs.get(Slot::Language).unwrap_or(0) as u16;
        unit.dwo_name = attrs.string(Slot::DwoName);
        unit.dwo_id = attrs.get(Slot::DwoId).or(Some(header.signature).filter(|id| *id != 0));
        if let Some(skeleton) = skeleton {
            unit.inherit(skeleton);
        }
        unit.tag = abbrev.tag;
        unit.children = if abbrev.has_children { cursor.pos } else { header.end };
        if cursor.ended {
            return Err(Fault::new(".debug_info", header.entries, "the unit's first entry is cut off"));
        }
        Ok(unit)
    }

    /// Inherits from the skeleton everything that depends on addresses (DWARF 5, section 3.1.3).
    fn inherit(&mut self, skeleton: &Unit<'d, E>) {
        self.low_pc = skeleton.low_pc;
        self.stmt_list = skeleton.stmt_list;
        self.name = self.name.or(skeleton.name);
        self.producer = self.producer.or(skeleton.producer);
        // Range lists of DWARF 4 stay in the object (GCC's wiki, "DebugFission").
        if self.header.encoding.version < 5 {
            self.rnglists_base = skeleton.rnglists_base;
        }
    }

    /// A cursor at this offset that ends where the unit does.
    #[inline]
    pub fn cursor(&self, offset: usize) -> Cursor<'d, E> {
        Cursor::new(&self.sections.info[..self.header.end], offset, self.order)
    }
    /// Whether this offset of `.debug_info` lies in the unit.
    #[inline]
    pub fn contains(&self, offset: usize) -> bool {
        self.header.start <= offset && offset < self.header.end
    }

    /// Reads the wanted attributes. The cursor moves from after the entry's code to the end of the entry.
    #[inline]
    pub fn attrs(&self, cursor: &mut Cursor<'d, E>, abbrev: &Abbrev, attrs: &mut Attrs) {
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
    /// The next entry in a list of siblings, with its offset; its attributes follow. `None` after the last. An
    /// unknown abbreviation ends the cursor, because nothing after it can be read.
    #[inline(always)]
    pub fn next_entry(&self, cursor: &mut Cursor<'d, E>) -> Option<(usize, &Abbrev)> {
        if cursor.is_empty() {
            return None;
        }
        let offset = cursor.pos;
        let code = cursor.uleb();
        let abbrev = self.abbrevs.get(code);
        cursor.ended |= abbrev.is_none() && code != 0;
        Some((offset, abbrev?))
    }
    /// Skips the attributes of an entry.
    #[inline]
    pub fn skip_attrs(&self, cursor: &mut Cursor<'d, E>, abbrev: &Abbrev) {
        if abbrev.length != NO_LENGTH {
            return cursor.skip(abbrev.length.into());
        }
        for step in self.abbrevs.steps(abbrev) {
            match step.form {
                Step::FIXED => cursor.skip(step.size.into()),
                form => self.skip_value(cursor, DwForm(form)),
            }
        }
    }
    /// The offset of the entry's next sibling, if stored at a fixed position; the cursor is after the entry's code.
    /// Always forward, so every walk ends.
    #[inline]
    pub fn sibling(&self, cursor: &Cursor<'d, E>, abbrev: &Abbrev) -> Option<usize> {
        if abbrev.sibling == NO_SIBLING {
            return None;
        }
        let at = cursor.pos + usize::from(abbrev.sibling);
        let offset = Cursor::new(self.sections.info, at, self.order).u32() as usize;
        let target = self.header.start + offset;
        (target > cursor.pos && target <= self.header.end).then_some(target)
    }
    /// Skips the children of an entry whose attributes were read; stops after the null entry.
    pub fn skip_children(&self, cursor: &mut Cursor<'d, E>) {
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
    /// Skips an entry whose code was read, with its children.
    #[inline]
    pub fn skip_entry(&self, cursor: &mut Cursor<'d, E>, abbrev: &Abbrev) {
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
    fn value(&self, cursor: &mut Cursor<'d, E>, form: DwForm, step: &Step) -> u64 {
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
            DW_FORM_ref_sig8 => self.type_of_signature(cursor.u64()),
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

    fn skip_value(&self, cursor: &mut Cursor<'d, E>, form: DwForm) {
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
    fn block_value(&self, cursor: &mut Cursor<'d, E>, length: u64) -> u64 {
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
    /// The type described by the type unit with this signature.
    fn type_of_signature(&self, signature: u64) -> u64 {
        let signatures = self.sections.signatures;
        let found = signatures.binary_search_by_key(&signature, |(known, _)| *known);
        found.map_or(IN_TYPE_UNIT, |at| signatures[at].1 as u64)
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
        self.str(Cursor::new(self.sections.str_offsets, at as usize, self.order).offset(size))
    }
    /// The address at this index of the unit's part of `.debug_addr`.
    pub fn indexed_address(&self, index: u64) -> u64 {
        let size = self.header.encoding.address_size;
        let at = index.saturating_mul(size.into()).saturating_add(self.addr_base);
        Cursor::new(self.sections.addr, at as usize, self.order).address(size)
    }
}

/// Default bases of a unit: after the first header of its share of a section.
struct Bases {
    str_offsets: u64,
    loclists: u64,
    rnglists: u64,
}

impl Bases {
    fn of(header: &UnitHeader, origin: &Origin) -> Self {
        let is_wide = header.encoding.offset_size == 8;
        if header.origin == 0 {
            return Self { str_offsets: 8, loclists: 0, rnglists: 0 };
        }
        // DWARF 4 has no such headers.
        let (offsets, lists) = match (header.encoding.version >= 5, is_wide) {
            (false, _) => (0, 0),
            (true, false) => (8, 12),
            (true, true) => (16, 20),
        };
        let behind = |start: usize, header: usize| start.saturating_add(header) as u64;
        Self {
            str_offsets: behind(origin.str_offsets, offsets),
            loclists: behind(origin.loclists, lists),
            rnglists: if header.encoding.version < 5 { 0 } else { behind(origin.rnglists, lists) },
        }
    }
}
