//! Compiles abbreviations to plans: which attributes of an entry are wanted, and how far to skip between them.
//!
//! Most attributes are not wanted and most forms have a fixed size, so that reading an entry takes a few jumps (DWARF
//! 5, section 7.5.3).
use super::cursor::Cursor;
use super::header::Encoding;
pub use super::slot::{SLOTS, Slot};
use super::slot::{slot, wanted};
use super::type_plan::TypePlan;
use super::types;
use gimli::constants::*;
use object::Endianness;
use probeidx_format::types::TypeKind;

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
    /// Whether it has a `DW_AT_declaration`, and no code.
    pub is_declaration: bool,
    /// The kind of type that it describes, if any.
    pub kind: Option<TypeKind>,
    /// An index into [`Abbrevs::plans`], or [`NO_PLAN`].
    plan: u32,
    /// The position after the code of an entry of a `DW_AT_sibling` of four bytes; [`NO_SIBLING`] if it has none at a
    /// fixed position.
    pub sibling: u16,
    /// The bytes of all its attributes; [`NO_LENGTH`] if they differ from entry to entry.
    pub length: u16,
    first_step: u32,
    /// One past the last step.
    end_step: u32,
}

/// See [`Abbrev::plan`].
const NO_PLAN: u32 = u32::MAX;

/// See [`Abbrev::sibling`].
pub const NO_SIBLING: u16 = u16::MAX;

/// See [`Abbrev::length`].
pub const NO_LENGTH: u16 = u16::MAX;

/// The abbreviations of a unit, by code.
#[derive(Default)]
pub struct Abbrevs {
    by_code: Vec<Option<Abbrev>>,
    /// Codes too large for the list above, as other producers may use: by code; the first of each code counts.
    sparse: Vec<(u64, Abbrev)>,
    steps: Vec<Step>,
    constants: Vec<i64>,
    plans: Vec<TypePlan>,
    sizes: Sizes,
}

impl Abbrevs {
    /// Compiles the table at this offset into `self`, reusing its memory. Returns the offset after it, or that of an
    /// error.
    pub fn read(&mut self, section: &[u8], offset: usize, encoding: Encoding) -> Result<usize, usize> {
        self.read_until(section, offset, encoding, None)
    }

    /// Like [`Self::read`], but stops after the abbreviation of the code `last`.
    pub fn read_until(
        &mut self,
        section: &[u8],
        offset: usize,
        encoding: Encoding,
        last: Option<u64>,
    ) -> Result<usize, usize> {
        self.by_code.clear();
        self.sparse.clear();
        self.steps.clear();
        self.constants.clear();
        self.plans.clear();
        self.sizes.enter(encoding);
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
            if last == Some(code) {
                self.sort_sparse();
                return Ok(cursor.pos);
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
        let mut is_declared = false;
        let mut seen = 0u64;
        let mut fixed_so_far = Some(0u32);
        let kind = types::kind(tag);
        let wanted = wanted(tag);
        let (mut plan, mut is_planned) = (TypePlan::default(), kind.is_some());
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
            let size = self.sizes.of(form);
            let offset = fixed_so_far;
            fixed_so_far = fixed_so_far.zip(size).map(|(sum, size): (u32, u32)| sum.saturating_add(size));
            let mut slot = slot(wanted, at);
            // A repeated attribute is ignored. It may have no bytes in the entry, and would then cost time out of
            // proportion to the file.
            let bit = 1 << slot as u64;
            if seen & bit != 0 {
                slot = Slot::Skip;
            }
            seen |= bit;
            is_declared |= slot == Slot::Declaration && form == DW_FORM_flag_present;
            is_planned = is_planned && offset.is_some_and(|at| plan.add(slot, form, at, constant, encoding));
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
        let length = fixed_so_far.and_then(|size| u16::try_from(size).ok()).unwrap_or(NO_LENGTH);
        let plan = match is_planned && length != NO_LENGTH && plan.has_name() {
            true => {
                self.plans.push(plan);
                self.plans.len() as u32 - 1
            }
            false => NO_PLAN,
        };
        let has = |slot: Slot| seen >> slot as u8 & 1 != 0;
        let is_declaration = is_declared && ![Slot::LowPc, Slot::Ranges, Slot::EntryPc].into_iter().any(has);
        let end_step = self.steps.len() as u32;
        Abbrev {
            tag,
            has_children,
            has_name,
            is_declaration,
            kind,
            plan,
            sibling,
            length,
            first_step,
            end_step,
        }
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
    /// How to read what identifies the named type in an entry of this abbreviation, if that is at fixed positions.
    #[inline]
    pub fn type_plan(&self, abbrev: &Abbrev) -> Option<&TypePlan> {
        self.plans.get(abbrev.plan as usize)
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

/// The sizes of the values of all usual forms in an encoding.
struct Sizes {
    encoding: Option<Encoding>,
    sizes: [Option<u8>; 0x30],
}

impl Default for Sizes {
    fn default() -> Self {
        Self { encoding: None, sizes: [None; 0x30] }
    }
}

impl Sizes {
    fn enter(&mut self, encoding: Encoding) {
        if self.encoding != Some(encoding) {
            self.encoding = Some(encoding);
            let size = |form| fixed_size(DwForm(form), encoding).map(|size| size as u8);
            self.sizes = std::array::from_fn(|form| size(form as u16));
        }
    }
    /// The size of a form's values, if it is fixed.
    #[inline]
    fn of(&self, form: DwForm) -> Option<u32> {
        match self.sizes.get(usize::from(form.0)) {
            Some(size) => size.map(u32::from),
            None => fixed_size(form, self.encoding?),
        }
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
