//! The locations of a placement's variables.
use super::abbrev::Slot;
use super::attrs::{Attrs, block};
use super::extractor::{Extractor, Source};
use super::functions::{Fixed, MOST_VARIABLES, UnitFunction, fixed, is_extern};
use super::header::Fault;
use super::lists;
use super::places::Frame;
use super::read_budget::LIST_ENTRY;
use super::unit::Unit;
use gimli::constants::*;
use object::Endian;
use object::Endianness;
use probeidx_format::details::{DetailWriter, Range};
use std::borrow::Cow;
use std::rc::Rc;

/// The most variables of placements that may be missing from a function's own entry: each new one is compared with
/// all.
const MOST_EXTRA: usize = 4096;

impl<'d, E: Endian> Extractor<'d, '_, E> {
    #[inline]
    pub(super) fn place_variable(
        &mut self,
        source: &Rc<Source<'d, E>>,
        offset: usize,
        attrs: &Attrs,
        parameter: bool,
        writer: &mut DetailWriter<'_>,
        frame: Frame,
    ) {
        let origin = attrs.get(Slot::Origin);
        if is_extern(attrs) {
            return;
        }
        let mut inherited = Fixed::None;
        let index = match origin {
            Some(origin) if !frame.is_own && attrs.get(Slot::Type).is_none() => {
                match self.position(frame.function, writer.due(), origin) {
                    Some((index, fixed)) => {
                        inherited = fixed;
                        index
                    }
                    None => {
                        let Some(index) = self.extra(source, offset, attrs, parameter, frame) else { return };
                        index
                    }
                }
            }
            _ if frame.is_own => {
                let variable = self.variable(source, offset, attrs, parameter, frame.nested);
                self.scratch.own.push(variable);
                self.scratch.own.len() as u32 - 1
            }
            _ => {
                let Some(index) = self.extra(source, offset, attrs, parameter, frame) else { return };
                index
            }
        };
        if index as usize >= MOST_VARIABLES {
            return;
        }
        let sections = &source.unit.sections;
        match fixed(attrs) {
            Fixed::Number(value) => writer.constant(index, value),
            Fixed::Bytes(value) => writer.bytes(index, block(sections, value)),
            Fixed::Expr(value) => match block(sections, value) {
                [] => writer.nowhere(index),
                operations => put_everywhere(&source.unit, writer, index, operations),
            },
            Fixed::None if attrs.get(Slot::Location).is_some() => {
                let mut list = std::mem::take(&mut self.scratch.list);
                list.clear();
                let object = self.object;
                let entry = writer.entry();
                let (mut read, mut has_more) = (0, false);
                let whole = self.lists_left(&source.unit).and_then(|()| {
                    lists::locations(&source.unit, attrs, |e| {
                        read += LIST_ENTRY + e.expr.len();
                        if e.end == u64::MAX && e.start == 0 {
                            list.push((Range { start: 0, end: u32::MAX }, e.expr));
                        } else if let (Some(start), Some(end)) = (object.pc(e.start), object.pc(e.end)) {
                            // If no value changed since the entry, the first range is valid there too.
                            let is_first = parameter && !std::mem::replace(&mut has_more, true);
                            let is_entry = is_first && object.begins(start) == Some(entry);
                            let start = if is_entry { entry } else { start };
                            // If assignments precede the first instruction, GCC (8 and later, with location views)
                            // puts the passed value into an empty range, and the assigned one into the next range.
                            let is_passed = is_first && (start, end) == (entry, entry);
                            if start < end || is_passed {
                                list.push((Range { start, end }, e.expr));
                            }
                        }
                    })
                });
                self.read_budget.lists += read;
                if let Err(what) = whole {
                    self.fault(Fault::new(".debug_info", offset, what));
                }
                put_list(&source.unit, writer, index, &list);
                self.scratch.list = list;
            }
            // A block in the abstract variable is relative to the unit that describes it; sections belong to one
            // object.
            Fixed::None => match inherited {
                Fixed::None => writer.nowhere(index),
                Fixed::Number(value) => writer.constant(index, value),
                Fixed::Bytes(value) => writer.bytes(index, block(sections, value)),
                Fixed::Expr(value) => put_everywhere(&source.unit, writer, index, block(sections, value)),
            },
        }
    }

    /// The position in the function's list of the variable whose entry is at `origin`; usually the next one due.
    #[inline]
    fn position(&self, function: u32, due: u32, origin: u64) -> Option<(u32, Fixed)> {
        let range = &self.functions.list[function as usize].variables;
        let variables = self.functions.variables.get(range.start as usize..range.end as usize)?;
        let origin = origin as u32;
        let index = match variables.get(due as usize) {
            Some(v) if v.offset == origin => due as usize,
            _ => variables.binary_search_by_key(&origin, |v| v.offset).ok()?,
        };
        Some((index as u32, variables[index].fixed))
    }

    /// Appends a variable that the function's own entry lacks to its list, if there is room.
    fn extra(
        &mut self,
        source: &Rc<Source<'d, E>>,
        offset: usize,
        attrs: &Attrs,
        parameter: bool,
        frame: Frame,
    ) -> Option<u32> {
        let variable = self.variable(source, offset, attrs, parameter, frame.nested);
        let UnitFunction { variables, extra, .. } = &mut self.functions.list[frame.function as usize];
        let known = extra.iter().position(|e| e.facts == variable.facts);
        if known.is_none() && extra.len() >= MOST_EXTRA {
            self.fault(Fault::new(
                ".debug_info",
                offset,
                "more than 4096 variables that their function lacks",
            ));
            return None;
        }
        let position = known.unwrap_or_else(|| {
            extra.push(variable);
            extra.len() - 1
        });
        Some(variables.len() as u32 + position as u32)
    }
}

/// Writes a location list, with expressions converted by [`plain`].
fn put_list(
    unit: &Unit<'_, impl Endian>,
    writer: &mut DetailWriter<'_>,
    index: u32,
    list: &[(Range, &[u8])],
) {
    if list.iter().all(|(_, operations)| is_plain(unit, operations)) {
        return writer.list(index, list);
    }
    let plain: Vec<_> = list.iter().map(|(range, operations)| (*range, plain(unit, operations))).collect();
    let borrowed: Vec<_> = plain.iter().map(|(range, operations)| (*range, &**operations)).collect();
    writer.list(index, &borrowed);
}

fn put_everywhere(
    unit: &Unit<'_, impl Endian>,
    writer: &mut DetailWriter<'_>,
    index: u32,
    operations: &[u8],
) {
    match is_plain(unit, operations) {
        true => writer.everywhere(index, operations),
        false => writer.everywhere(index, &plain(unit, operations)),
    }
}

/// Whether an expression certainly needs no conversion.
fn is_plain(unit: &Unit<'_, impl Endian>, operations: &[u8]) -> bool {
    unit.sections.order == Endianness::Little && !has_index(unit, operations) && !is_reference(operations)
}

/// Whether an expression only refers to an entry of the debug information.
fn is_reference(operations: &[u8]) -> bool {
    operations.first().is_some_and(|op| [DW_OP_implicit_pointer.0, DW_OP_GNU_implicit_pointer.0].contains(op))
}

/// Converts an expression for the index: numbers become little-endian, address indexes become addresses, because
/// their table is not kept, and references to entries 0.
fn plain<'e>(unit: &Unit<'_, impl Endian>, operations: &'e [u8]) -> Cow<'e, [u8]> {
    let operations = match unit.sections.order {
        Endianness::Little => operations.into(),
        Endianness::Big => Cow::Owned(with_little_endian_numbers(unit, operations)),
    };
    let mut operations = match has_index(unit, &operations) {
        true => Cow::Owned(with_addresses(unit, &operations)),
        false => operations,
    };
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
