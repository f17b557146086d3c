//! Compiles abbreviations to plans: which attributes of an entry are wanted, and how far to skip between them.
//!
//! Most attributes are not wanted and most forms have a fixed size, so that reading an entry takes a few jumps (DWARF
//! 5, section 7.5.3).
use super::cursor::Cursor;
use super::header::Encoding;
use gimli::constants::*;
use object::Endianness;

/// A wanted attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Slot {
    /// Not wanted: the value is skipped.
    Skip,
    Name,
    LinkageName,
    DeclFile,
    DeclLine,
    Type,
    LowPc,
    HighPc,
    EntryPc,
    Ranges,
    Inline,
    External,
    Declaration,
    Noreturn,
    Prototyped,
    Origin,
    Specification,
    CallFile,
    CallLine,
    CallColumn,
    Location,
    FrameBase,
    ConstValue,
    ByteSize,
    BitSize,
    BitOffset,
    DataBitOffset,
    MemberLocation,
    Encoding,
    Count,
    UpperBound,
    StmtList,
    CompDir,
    Producer,
    Language,
    StrOffsetsBase,
    AddrBase,
    LoclistsBase,
    RnglistsBase,
    DwoName,
    DwoId,
    Signature,
    Import,
    Sibling,
}

/// Number of slots.
pub const SLOTS: usize = Slot::Sibling as usize + 1;

/// One step of a plan: read a value of this form into this slot, or skip it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub slot: Slot,
    pub form: u16,
    /// The number of bytes for [`Step::FIXED`]; for an implicit constant, an index into the table's constants.
    pub size: u32,
}

impl Step {
    /// Not a DWARF form: skip `size` bytes.
    pub const FIXED: u16 = 0;
}

/// An abbreviation.
#[derive(Clone, Copy, Debug)]
pub struct Abbrev {
    pub tag: DwTag,
    pub has_children: bool,
    /// Whether it has a `DW_AT_name`.
    pub has_name: bool,
    /// The position after the code of an entry of a `DW_AT_sibling` of four bytes; [`NO_SIBLING`] if it has none at a
    /// fixed position.
    pub sibling: u16,
    first_step: u32,
    /// One past the last step.
    end_step: u32,
}

/// See [`Abbrev::sibling`].
pub const NO_SIBLING: u16 = u16::MAX;

/// The abbreviations of a unit, by code.
#[derive(Default)]
pub struct Abbrevs {
    by_code: Vec<Option<Abbrev>>,
    /// Codes too large for the list above, as other producers may use: by code; the first of each code counts.
    sparse: Vec<(u64, Abbrev)>,
    steps: Vec<Step>,
    constants: Vec<i64>,
}

impl Abbrevs {
    /// Compiles the table at this offset into `self`, reusing its memory. Returns the offset after it, or that of an
    /// error.
    pub fn read(&mut self, section: &[u8], offset: usize, encoding: Encoding) -> Result<usize, usize> {
        self.by_code.clear();
        self.sparse.clear();
        self.steps.clear();
        self.constants.clear();
        // The table consists of bytes and LEB128 numbers, so the byte order does not matter.
        let mut cursor = Cursor::new(section, offset, Endianness::Little);
        let mut count = 0;
        loop {
            let start = cursor.pos;
            let code = cursor.uleb();
            if cursor.ended {
                return Err(start);
            }
            if code == 0 {
                self.sort_sparse();
                return Ok(cursor.pos);
            }
            let abbrev = self.read_one(&mut cursor, encoding);
            if cursor.ended {
                return Err(start);
            }
            // The list by code is for dense codes; sparse ones must not cost memory by their value.
            count += 1;
            if code < 4 * count + 64 {
                let at = code as usize;
                if self.by_code.len() <= at {
                    self.by_code.resize(at + 1, None);
                }
                self.by_code[at] = Some(abbrev);
            } else {
                self.sparse.push((code, abbrev));
            }
        }
    }

    fn sort_sparse(&mut self) {
        let Self { by_code, sparse, .. } = self;
        // Codes that came before the list was long enough.
        sparse.retain(|(code, abbrev)| match by_code.get_mut(*code as usize) {
            Some(known) => {
                known.get_or_insert(*abbrev);
                false
            }
            None => true,
        });
        sparse.sort_by_key(|(code, _)| *code);
        sparse.dedup_by_key(|(code, _)| *code);
    }

    fn read_one(&mut self, cursor: &mut Cursor<'_, Endianness>, encoding: Encoding) -> Abbrev {
        let tag = DwTag(cursor.uleb() as u16);
        let has_children = cursor.u8() != 0;
        let first_step = self.steps.len() as u32;
        let mut sibling = NO_SIBLING;
        let mut has_name = false;
        let mut seen = 0u64;
        let mut fixed_so_far = Some(0u32);
        loop {
            let at = DwAt(cursor.uleb() as u16);
            let form = DwForm(cursor.uleb() as u16);
            let constant = if form == DW_FORM_implicit_const { Some(cursor.sleb()) } else { None };
            if (at.0 == 0 && form.0 == 0) || cursor.ended {
                break;
            }
            if at == DW_AT_sibling && form == DW_FORM_ref4 {
                sibling = fixed_so_far.and_then(|o| u16::try_from(o).ok()).unwrap_or(NO_SIBLING);
            }
            has_name |= at == DW_AT_name;
            let size = fixed_size(form, encoding);
            fixed_so_far = fixed_so_far.zip(size).map(|(sum, size): (u32, u32)| sum.saturating_add(size));
            let mut slot = slot(tag, at);
            // A repeated attribute is ignored. It may have no bytes in the entry, and would then cost time out of
            // proportion to the file.
            let bit = 1 << slot as u64;
            if seen & bit != 0 {
                slot = Slot::Skip;
            }
            seen |= bit;
            match (slot, size) {
                (Slot::Skip, Some(0)) => {}
                (Slot::Skip, Some(size)) => match self.steps[first_step as usize..].last_mut() {
                    Some(last) if last.form == Step::FIXED => last.size = last.size.saturating_add(size),
                    _ => self.steps.push(Step { slot, form: Step::FIXED, size }),
                },
                _ => {
                    let size = constant.map_or(0, |c| {
                        self.constants.push(c);
                        self.constants.len() as u32 - 1
                    });
                    self.steps.push(Step { slot, form: form.0, size });
                }
            }
        }
        Abbrev { tag, has_children, has_name, sibling, first_step, end_step: self.steps.len() as u32 }
    }

    /// The abbreviation of this code.
    #[inline]
    pub fn get(&self, code: u64) -> Option<&Abbrev> {
        match self.by_code.get(code as usize) {
            Some(abbrev) => abbrev.as_ref(),
            None => {
                let at = self.sparse.binary_search_by_key(&code, |(c, _)| *c).ok()?;
                Some(&self.sparse[at].1)
            }
        }
    }
    /// The steps to read an entry of this abbreviation.
    #[inline]
    pub fn steps(&self, abbrev: &Abbrev) -> &[Step] {
        &self.steps[abbrev.first_step as usize..abbrev.end_step as usize]
    }
    /// The value of an implicit constant.
    #[inline]
    pub fn constant(&self, step: &Step) -> i64 {
        self.constants.get(step.size as usize).copied().unwrap_or(0)
    }
}

/// The size of a form's values, if it is fixed.
fn fixed_size(form: DwForm, encoding: Encoding) -> Option<u32> {
    let offset = u32::from(encoding.offset_size);
    Some(match form {
        DW_FORM_addr => encoding.address_size.into(),
        DW_FORM_flag_present | DW_FORM_implicit_const => 0,
        DW_FORM_data1 | DW_FORM_flag | DW_FORM_ref1 | DW_FORM_strx1 | DW_FORM_addrx1 => 1,
        DW_FORM_data2 | DW_FORM_ref2 | DW_FORM_strx2 | DW_FORM_addrx2 => 2,
        DW_FORM_strx3 | DW_FORM_addrx3 => 3,
        DW_FORM_data4 | DW_FORM_ref4 | DW_FORM_ref_sup4 | DW_FORM_strx4 | DW_FORM_addrx4 => 4,
        DW_FORM_data8 | DW_FORM_ref8 | DW_FORM_ref_sig8 | DW_FORM_ref_sup8 => 8,
        DW_FORM_data16 => 16,
        DW_FORM_strp | DW_FORM_sec_offset | DW_FORM_line_strp | DW_FORM_strp_sup | DW_FORM_GNU_ref_alt
        | DW_FORM_GNU_strp_alt => offset,
        // DWARF 2 gave this form the size of an address (DWARF 3, section 7.5.4).
        DW_FORM_ref_addr => {
            if encoding.version <= 2 {
                encoding.address_size.into()
            } else {
                offset
            }
        }
        _ => return None,
    })
}

/// The slot of this attribute in an entry with this tag.
fn slot(tag: DwTag, at: DwAt) -> Slot {
    let slot = match at {
        DW_AT_name => Slot::Name,
        DW_AT_decl_file => Slot::DeclFile,
        DW_AT_decl_line => Slot::DeclLine,
        DW_AT_type => Slot::Type,
        DW_AT_declaration => Slot::Declaration,
        DW_AT_abstract_origin => Slot::Origin,
        DW_AT_specification => Slot::Specification,
        DW_AT_low_pc => Slot::LowPc,
        DW_AT_high_pc => Slot::HighPc,
        DW_AT_ranges => Slot::Ranges,
        DW_AT_byte_size => Slot::ByteSize,
        DW_AT_linkage_name | DW_AT_MIPS_linkage_name => Slot::LinkageName,
        DW_AT_entry_pc => Slot::EntryPc,
        DW_AT_inline => Slot::Inline,
        DW_AT_external => Slot::External,
        DW_AT_noreturn => Slot::Noreturn,
        DW_AT_prototyped => Slot::Prototyped,
        DW_AT_call_file => Slot::CallFile,
        DW_AT_call_line => Slot::CallLine,
        DW_AT_call_column => Slot::CallColumn,
        DW_AT_location => Slot::Location,
        DW_AT_frame_base => Slot::FrameBase,
        DW_AT_const_value => Slot::ConstValue,
        DW_AT_bit_size => Slot::BitSize,
        DW_AT_bit_offset => Slot::BitOffset,
        DW_AT_data_bit_offset => Slot::DataBitOffset,
        DW_AT_data_member_location => Slot::MemberLocation,
        DW_AT_encoding => Slot::Encoding,
        DW_AT_count => Slot::Count,
        DW_AT_upper_bound => Slot::UpperBound,
        DW_AT_stmt_list => Slot::StmtList,
        DW_AT_comp_dir => Slot::CompDir,
        DW_AT_producer => Slot::Producer,
        DW_AT_language => Slot::Language,
        DW_AT_str_offsets_base => Slot::StrOffsetsBase,
        DW_AT_addr_base | DW_AT_GNU_addr_base => Slot::AddrBase,
        DW_AT_loclists_base => Slot::LoclistsBase,
        DW_AT_rnglists_base | DW_AT_GNU_ranges_base => Slot::RnglistsBase,
        DW_AT_dwo_name | DW_AT_GNU_dwo_name => Slot::DwoName,
        DW_AT_GNU_dwo_id => Slot::DwoId,
        DW_AT_signature => Slot::Signature,
        DW_AT_import => Slot::Import,
        DW_AT_sibling => Slot::Sibling,
        _ => Slot::Skip,
    };
    use Slot::*;
    let wanted = match tag {
        DW_TAG_subprogram => matches!(
            slot,
            Name | LinkageName
                | DeclFile
                | DeclLine
                | Type
                | LowPc
                | HighPc
                | EntryPc
                | Ranges
                | Inline
                | External
                | Declaration
                | Noreturn
                | Prototyped
                | Origin
                | Specification
                | FrameBase
                | Sibling
        ),
        DW_TAG_inlined_subroutine => {
            matches!(slot, Origin | LowPc | HighPc | EntryPc | Ranges | CallFile | CallLine | CallColumn)
        }
        DW_TAG_formal_parameter | DW_TAG_variable => {
            matches!(
                slot,
                Name | DeclLine | Type | Location | ConstValue | Origin | Specification | Declaration
            )
        }
        DW_TAG_lexical_block | DW_TAG_try_block | DW_TAG_catch_block => {
            matches!(slot, LowPc | HighPc | Ranges)
        }
        DW_TAG_label => matches!(slot, Name | DeclLine | LowPc | Origin),
        DW_TAG_compile_unit | DW_TAG_partial_unit | DW_TAG_skeleton_unit | DW_TAG_type_unit => true,
        DW_TAG_member | DW_TAG_inheritance => {
            matches!(slot, Name | Type | MemberLocation | BitSize | BitOffset | DataBitOffset | ByteSize)
        }
        DW_TAG_enumerator => matches!(slot, Name | ConstValue),
        DW_TAG_subrange_type => matches!(slot, Count | UpperBound),
        DW_TAG_unspecified_parameters => false,
        DW_TAG_imported_unit => slot == Import,
        DW_TAG_namespace | DW_TAG_module => slot == Name,
        // Types and their parts.
        DW_TAG_structure_type
        | DW_TAG_union_type
        | DW_TAG_class_type
        | DW_TAG_enumeration_type
        | DW_TAG_typedef
        | DW_TAG_base_type
        | DW_TAG_pointer_type
        | DW_TAG_array_type
        | DW_TAG_const_type
        | DW_TAG_volatile_type
        | DW_TAG_restrict_type
        | DW_TAG_atomic_type
        | DW_TAG_subroutine_type
        | DW_TAG_reference_type
        | DW_TAG_rvalue_reference_type
        | DW_TAG_unspecified_type => matches!(
            slot,
            Name | DeclFile | DeclLine | Type | ByteSize | Encoding | Declaration | Specification | Signature
        ),
        _ => false,
    };
    if wanted { slot } else { Skip }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DWARF5: Encoding = Encoding { version: 5, address_size: 8, offset_size: 4 };

    #[test]
    fn what_nobody_wants_is_skipped_in_one_step() {
        // A variable: decl_file data1, decl_column data1, name strp, sibling ref4, location exprloc.
        let bytes = [1, 0x34, 0, 0x3a, 0x0b, 0x39, 0x0b, 0x03, 0x0e, 0x01, 0x13, 0x02, 0x18, 0, 0, 0];
        let mut abbrevs = Abbrevs::default();
        abbrevs.read(&bytes, 0, DWARF5).unwrap();
        let abbrev = abbrevs.get(1).unwrap();
        let steps: Vec<_> = abbrevs.steps(abbrev).iter().map(|s| (s.slot, s.form, s.size)).collect();
        assert_eq!(
            steps,
            [(Slot::Skip, 0, 2), (Slot::Name, 0x0e, 0), (Slot::Skip, 0, 4), (Slot::Location, 0x18, 0)]
        );
        assert_eq!(abbrev.sibling, 6);
    }

    #[test]
    fn a_huge_code_costs_no_memory_and_a_cut_table_is_an_error() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x34, 0, 0, 0, 0];
        let mut abbrevs = Abbrevs::default();
        abbrevs.read(&bytes, 0, DWARF5).unwrap();
        assert!(abbrevs.by_code.is_empty());
        assert_eq!(abbrevs.get(0xffff_ffff).unwrap().tag, DW_TAG_variable);
        assert_eq!(abbrevs.read(&bytes[..7], 0, DWARF5), Err(0));
    }
}
