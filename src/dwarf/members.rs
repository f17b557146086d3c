//! Members of types: fields, enumerators, parameters and dimensions.
use super::abbrev::Slot;
use super::attrs::{Attrs, block};
use super::cursor::Cursor;
use super::extractor::{Extractor, Source};
use super::facts::{MemberFacts, NO_TYPE};
use super::header::Fault;
use super::strings::LocalStr;
use super::types::MOST_PASSED_OVER;
use gimli::constants::*;
use object::Endian;
use probeidx_format::types::TypeKind;
use std::rc::Rc;

impl<'d, E: Endian> Extractor<'d, '_, E> {
    /// Reads the children of a type of this kind.
    pub(super) fn read_members(
        &mut self,
        source: &Rc<Source<'d, E>>,
        cursor: &mut Cursor<'d, E>,
        has_children: bool,
        kind: TypeKind,
    ) -> Vec<MemberFacts> {
        let mut members = vec![];
        let unit = &source.unit;
        let mut attrs = self.spare_attrs.take();
        let first = cursor.pos;
        while has_children && let Some((_, abbrev)) = unit.next_entry(cursor) {
            let wanted = match kind {
                TypeKind::Enum => abbrev.tag == DW_TAG_enumerator,
                TypeKind::Array => {
                    abbrev.tag == DW_TAG_subrange_type || abbrev.tag == DW_TAG_enumeration_type
                }
                TypeKind::Function => {
                    matches!(abbrev.tag, DW_TAG_formal_parameter | DW_TAG_unspecified_parameters)
                }
                _ => matches!(abbrev.tag, DW_TAG_member | DW_TAG_inheritance),
            };
            let start = cursor.pos;
            if self.types.passed_over > MOST_PASSED_OVER.saturating_mul(unit.sections.info.len()) {
                self.fault(Fault::new(".debug_info", start, "types are nested too deep, or overlap"));
                break;
            }
            if !wanted {
                unit.skip_entry(cursor, abbrev);
                self.types.passed_over += cursor.pos - start;
                continue;
            }
            unit.attrs(cursor, abbrev, &mut attrs);
            let value = match kind {
                TypeKind::Enum => attrs.get(Slot::ConstValue).unwrap_or(0) as i64,
                TypeKind::Array => dimension(&attrs),
                TypeKind::Function => 0,
                _ => member_position(source, &attrs),
            };
            let name = match kind {
                TypeKind::Function => LocalStr::EMPTY,
                _ => attrs.string(Slot::Name).map_or(LocalStr::EMPTY, |name| self.string(name)),
            };
            let is_typed = !matches!(kind, TypeKind::Enum | TypeKind::Array);
            let mut target = NO_TYPE;
            if is_typed && let Some(offset) = attrs.get(Slot::Type) {
                target = self.type_at(source, offset);
            }
            members.push(MemberFacts { name, target, value });
            if abbrev.has_children {
                unit.skip_children(cursor);
            }
        }
        self.types.passed_over += cursor.pos - first;
        self.spare_attrs.put(attrs);
        members
    }
}

/// The number of elements of an array's dimension; -1 if known only at run time.
fn dimension(attrs: &Attrs) -> i64 {
    let number = |slot| attrs.get(slot).filter(|_| !attrs.is_block(slot) && !is_reference(attrs.form(slot)));
    match (number(Slot::Count), number(Slot::UpperBound)) {
        (Some(count), _) => count as i64,
        (None, Some(bound)) => (bound as i64).wrapping_add(1),
        (None, None) => -1,
    }
}

fn is_reference(form: DwForm) -> bool {
    matches!(
        form,
        DW_FORM_ref1 | DW_FORM_ref2 | DW_FORM_ref4 | DW_FORM_ref8 | DW_FORM_ref_udata | DW_FORM_ref_addr
    )
}

/// The position of a member: bits from the start of the struct; from bit 48 on, the width of a bit-field.
fn member_position(source: &Source<'_, impl Endian>, attrs: &Attrs) -> i64 {
    let bytes = match attrs.get(Slot::MemberLocation) {
        Some(value) if attrs.is_block(Slot::MemberLocation) => {
            // DWARF 2: DW_OP_plus_uconst.
            match block(&source.unit.sections, value) {
                [0x23, rest @ ..] => Cursor::new(rest, 0, source.unit.order).uleb(),
                _ => 0,
            }
        }
        Some(value) => value,
        None => 0,
    };
    let width = attrs.get(Slot::BitSize).unwrap_or(0);
    let mut bits = bytes.wrapping_mul(8);
    if let Some(offset) = attrs.get(Slot::DataBitOffset) {
        bits = bits.wrapping_add(offset);
    } else if let Some(from_the_top) = attrs.get(Slot::BitOffset) {
        // DWARF 2 and 3 count from the most significant bit of a storage unit of this size, which is the first bit of
        // a big-endian unit.
        let storage = attrs.get(Slot::ByteSize).unwrap_or(4).wrapping_mul(8);
        let before = match source.unit.order.is_big_endian() {
            true => from_the_top,
            false => storage.wrapping_sub(from_the_top).wrapping_sub(width),
        };
        bits = bits.wrapping_add(before);
    }
    (bits & 0xffff_ffff_ffff | width << 48) as i64
}
