//! Location expressions as the index keeps them: without what only the debug information can tell.
use super::abbrev::Slot;
use super::attrs::Attrs;
use super::unit::Unit;
use gimli::constants::*;
use object::Endian;
use object::Endianness;
use probeidx_format::expr::{FrameBase, is_implicit_pointer, put_sleb};
use std::borrow::Cow;

/// Whether an expression certainly needs no conversion.
pub(super) fn is_plain(unit: &Unit<'_, impl Endian>, operations: &[u8]) -> bool {
    unit.sections.order == Endianness::Little
        && !has_index(unit, operations)
        && !is_reference(operations)
        && !is_of_unit(operations)
}

/// Whether an expression only refers to an entry of the debug information.
fn is_reference(operations: &[u8]) -> bool {
    operations.first().is_some_and(|op| is_implicit_pointer(*op))
}

/// Converts an expression for the index: numbers become little-endian, address indexes become addresses, because
/// their table is not kept, offsets in the frame sums, conversions to types masks and shifts, and references to entries 0.
pub(super) fn plain<'e>(
    unit: &Unit<'_, impl Endian>,
    base: FrameBase,
    operations: &'e [u8],
) -> Cow<'e, [u8]> {
    let operations = match unit.sections.order {
        Endianness::Little => operations.into(),
        Endianness::Big => Cow::Owned(with_little_endian_numbers(unit, operations)),
    };
    let mut operations = match has_index(unit, &operations) {
        true => Cow::Owned(with_addresses(unit, &operations)),
        false => operations,
    };
    if is_of_unit(&operations)
        && let Some(alone) = alone(unit, base, &operations)
    {
        operations = Cow::Owned(alone);
    }
    if is_reference(&operations) {
        // The debug information is not kept, and every build has the entry at another offset.
        let offset = 1..1 + usize::from(unit.header.encoding.offset_size);
        operations.to_mut().get_mut(offset).into_iter().for_each(|offset| offset.fill(0));
    }
    operations
}

/// Whether an expression may have an indexed address.
fn has_index(unit: &Unit<'_, impl Endian>, operations: &[u8]) -> bool {
    const INDEXED: [u8; 4] = [DW_OP_addrx.0, DW_OP_constx.0, DW_OP_GNU_addr_index.0, DW_OP_GNU_const_index.0];
    !unit.sections.addr.is_empty() && operations.iter().any(|op| INDEXED.contains(op))
}

/// Reverses the bytes of fixed-size operands in a big-endian expression. Unchanged are everything from the first
/// operation that cannot be decoded, and the bytes of `DW_OP_implicit_value`, which are not a number.
fn with_little_endian_numbers(unit: &Unit<'_, impl Endian>, operations: &[u8]) -> Vec<u8> {
    let mut turned = operations.to_vec();
    let expression = gimli::Expression(gimli::EndianSlice::new(operations, gimli::BigEndian));
    let mut decoded = expression.operations(encoding(unit));
    let mut start = 0;
    while let Ok(Some(operation)) = decoded.next() {
        let end = decoded.offset_from(&expression);
        let number = match (DwOp(operations[start]), operation) {
            (_, gimli::Operation::TypedLiteral { value, .. }) => end - value.len()..end,
            (DW_OP_implicit_pointer | DW_OP_GNU_implicit_pointer, _) => {
                start + 1..start + 1 + usize::from(unit.header.encoding.offset_size)
            }
            (
                DW_OP_addr
                | DW_OP_const2u
                | DW_OP_const2s
                | DW_OP_const4u
                | DW_OP_const4s
                | DW_OP_const8u
                | DW_OP_const8s
                | DW_OP_bra
                | DW_OP_skip
                | DW_OP_call2
                | DW_OP_call4
                | DW_OP_call_ref
                | DW_OP_GNU_parameter_ref,
                _,
            ) => start + 1..end,
            _ => end..end,
        };
        if let Some(number) = turned.get_mut(number) {
            number.reverse();
        }
        start = end;
    }
    turned
}

/// Replaces address indexes in a little-endian expression by addresses. An expression stays unchanged if it cannot be
/// decoded, or if its jumps would lead elsewhere.
fn with_addresses(unit: &Unit<'_, impl Endian>, operations: &[u8]) -> Vec<u8> {
    let expression = gimli::Expression(gimli::EndianSlice::new(operations, gimli::LittleEndian));
    let mut decoded = expression.operations(encoding(unit));
    let mut plain = vec![];
    let mut start = 0;
    while let Ok(Some(operation)) = decoded.next() {
        let end = decoded.offset_from(&expression);
        let (op, index) = match operation {
            gimli::Operation::AddressIndex { index } => (DW_OP_addr, index),
            gimli::Operation::ConstantIndex { index } => (DW_OP_const8u, index),
            gimli::Operation::Bra { .. } | gimli::Operation::Skip { .. } => return operations.to_vec(),
            _ => {
                plain.extend(&operations[start..end]);
                start = end;
                continue;
            }
        };
        plain.push(op.0);
        plain.extend(unit.indexed_address(index.0 as u64).to_le_bytes());
        start = end;
    }
    if start == operations.len() { plain } else { operations.to_vec() }
}

fn encoding(unit: &Unit<'_, impl Endian>) -> gimli::Encoding {
    let encoding = unit.header.encoding;
    gimli::Encoding {
        address_size: encoding.address_size,
        format: if encoding.offset_size == 8 { gimli::Format::Dwarf64 } else { gimli::Format::Dwarf32 },
        version: encoding.version,
    }
}

/// Whether an expression may have an offset in the frame, other than as its only operation, or a conversion to a type.
fn is_of_unit(operations: &[u8]) -> bool {
    if let [op, offset @ ..] = operations
        && *op == DW_OP_fbreg.0
        && let Some(last) = offset.iter().position(|byte| *byte < 0x80)
        && let [] | [0x9f] = offset[last + 1..]
    {
        return false;
    }
    let is_one = |op: &u8| [DW_OP_fbreg.0, DW_OP_convert.0, DW_OP_GNU_convert.0].contains(op);
    operations.iter().any(is_one)
}

/// The same expression without these: an offset in the frame becomes one from the base's register, or from the canonical frame
/// address; a conversion to an integer keeps so many bits. `None` if there is none of them, or one that cannot be told otherwise.
fn alone(unit: &Unit<'_, impl Endian>, base: FrameBase, operations: &[u8]) -> Option<Vec<u8>> {
    let expression = gimli::Expression(gimli::EndianSlice::new(operations, gimli::LittleEndian));
    let mut decoded = expression.operations(encoding(unit));
    let (mut out, mut start) = (vec![], 0);
    // The integer that the operation before made of the value.
    let mut before: Option<Integer> = None;
    while let Some(operation) = decoded.next().ok()? {
        let end = decoded.offset_from(&expression);
        let last = before.take();
        match (operation, base) {
            // They would lead elsewhere.
            (gimli::Operation::Bra { .. } | gimli::Operation::Skip { .. }, _) => return None,
            (gimli::Operation::FrameOffset { offset }, FrameBase::Register(register)) => {
                out.push(DW_OP_breg0.0 + register.min(31));
                put_sleb(&mut out, offset);
            }
            (gimli::Operation::FrameOffset { offset }, FrameBase::Cfa) => {
                out.push(DW_OP_call_frame_cfa.0);
                if offset != 0 {
                    out.push(DW_OP_consts.0);
                    put_sleb(&mut out, offset);
                    out.push(DW_OP_plus.0);
                }
            }
            (gimli::Operation::FrameOffset { .. }, FrameBase::Other) => return None,
            (gimli::Operation::Convert { base_type }, _) => {
                // To the generic type, which has all bits.
                if base_type.0 != 0 {
                    let to = Integer::of_type(unit, base_type.0)?;
                    to.put(unit.header.encoding.address_size, last, &operations[end..], &mut out)?;
                    before = Some(to);
                }
            }
            _ => out.extend(&operations[start..end]),
        }
        start = end;
    }
    Some(out)
}

/// An integer type.
#[derive(Clone, Copy)]
struct Integer {
    bits: u64,
    is_signed: bool,
}

impl Integer {
    /// That of the base type at an offset in the unit.
    fn of_type(unit: &Unit<'_, impl Endian>, offset: usize) -> Option<Self> {
        let mut cursor = unit.cursor(unit.header.start.checked_add(offset).filter(|at| unit.contains(*at))?);
        let abbrev = unit.abbrevs.get(cursor.uleb()).filter(|abbrev| abbrev.tag == DW_TAG_base_type)?;
        let mut attrs = Attrs::default();
        unit.attrs(&mut cursor, abbrev, &mut attrs);
        let bits = attrs.get(Slot::ByteSize)?.checked_mul(8)?;
        let is_signed = match DwAte(attrs.get(Slot::Encoding)? as u8) {
            DW_ATE_signed | DW_ATE_signed_char => true,
            DW_ATE_unsigned | DW_ATE_unsigned_char | DW_ATE_boolean | DW_ATE_address => false,
            _ => return None,
        };
        Some(Self { bits, is_signed })
    }

    /// Appends what makes such a number of the value, which was made another integer before. What follows may need the bits above
    /// it; the end of an expression does not, as a value has those of its variable.
    fn put(self, word: u8, before: Option<Self>, behind: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let whole = u64::from(word) * 8;
        let Self { bits, is_signed } = self;
        let has_them = before.is_some_and(|from| match (from.is_signed, is_signed) {
            (true, false) => false,
            (false, true) => from.bits < bits,
            _ => from.bits <= bits,
        });
        let is_last = before.is_some_and(|from| from.bits <= bits) && behind == [DW_OP_stack_value.0];
        if bits == 0 || bits >= whole || has_them || is_last {
            return Some(());
        }
        if is_signed {
            let above = u8::try_from(whole - bits).ok()?;
            out.extend([DW_OP_const1u.0, above, DW_OP_shl.0, DW_OP_const1u.0, above, DW_OP_shra.0]);
        } else {
            out.push(DW_OP_const4u.0);
            out.extend(u32::try_from((1u64 << bits) - 1).ok()?.to_le_bytes());
            out.push(DW_OP_and.0);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_number_has_not_yet_is_made_of_it() {
        let of = |bits, is_signed| Integer { bits, is_signed };
        let put = |before, to: Integer, behind: &[u8]| {
            let mut out = vec![];
            to.put(8, before, behind, &mut out).map(|()| out)
        };
        let low = |mask: u32| Some([&[DW_OP_const4u.0][..], &mask.to_le_bytes(), &[DW_OP_and.0]].concat());
        let signed =
            |above| Some(vec![DW_OP_const1u.0, above, DW_OP_shl.0, DW_OP_const1u.0, above, DW_OP_shra.0]);
        let none = Some(vec![]);
        assert_eq!(put(None, of(8, false), &[]), low(0xff));
        assert_eq!(put(None, of(32, true), &[]), signed(32));
        assert_eq!(put(None, of(64, true), &[]), none);
        // Wider ones.
        assert_eq!(put(Some(of(8, false)), of(32, false), &[]), none);
        assert_eq!(put(Some(of(8, false)), of(32, true), &[]), none);
        assert_eq!(put(Some(of(8, true)), of(32, true), &[]), none);
        assert_eq!(put(Some(of(8, true)), of(32, false), &[]), low(0xffff_ffff));
        assert_eq!(put(Some(of(8, true)), of(32, false), &[DW_OP_stack_value.0]), none);
        // The sign is read from the same bits, and narrower ones are cut.
        assert_eq!(put(Some(of(8, false)), of(8, true), &[]), signed(56));
        assert_eq!(put(Some(of(32, false)), of(16, false), &[DW_OP_stack_value.0]), low(0xffff));
        // No mask of so many bits is written.
        assert_eq!(put(None, of(40, false), &[]), None);
    }
}
