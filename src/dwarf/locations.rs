//! Where the variables of a placement are.
use super::abbrev::Slot;
use super::attrs::{Attrs, block};
use super::cursor::Cursor;
use super::effort::LIST_ENTRY;
use super::extractor::{Extractor, Source};
use super::functions::{Fixed, UnitFunction, fixed, is_extern};
use super::header::Fault;
use super::lists;
use super::places::Frame;
use super::unit::Unit;
use gimli::constants::*;
use probeidx_format::details::{DetailWriter, Range};
use std::rc::Rc;

/// So many variables of placements may be missing in the description of a function: each new one is compared with all.
const MOST_EXTRA: usize = 4096;

impl<'d> Extractor<'d, '_> {
    #[inline]
    pub(super) fn place_variable(
        &mut self,
        source: &Rc<Source<'d>>,
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
                let mut read = 0;
                let whole = self.lists_left(&source.unit).and_then(|()| {
                    lists::locations(&source.unit, attrs, |e| {
                        read += LIST_ENTRY + e.expr.len();
                        if e.end == u64::MAX && e.start == 0 {
                            list.push((Range { start: 0, end: u32::MAX }, e.expr));
                        } else if let (Some(start), Some(end)) = (object.pc(e.start), object.pc(e.end)) {
                            // Where assignments precede the first instruction, GCC (8 and later, with location views) says
                            // what was passed in an empty range, and what is assigned in the next one.
                            let is_passed = parameter && list.is_empty() && (start, end) == (entry, entry);
                            if start < end || is_passed {
                                list.push((Range { start, end }, e.expr));
                            }
                        }
                    })
                });
                self.effort.lists += read;
                if let Err(what) = whole {
                    self.fault(Fault::new(".debug_info", offset, what));
                }
                writer.list(index, &list);
                self.scratch.list = list;
            }
            // What the abstract variable says is relative to the unit that describes it; sections are one object's.
            Fixed::None => match inherited {
                Fixed::None => writer.nowhere(index),
                Fixed::Number(value) => writer.constant(index, value),
                Fixed::Bytes(value) => writer.bytes(index, block(sections, value)),
                Fixed::Expr(value) => put_everywhere(&source.unit, writer, index, block(sections, value)),
            },
        }
    }

    /// The position of the variable that is described at `origin` in the function's list; most often it is the one
    /// that is due.
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

    /// A variable that the function's description lacks, added to its list if that has room.
    fn extra(
        &mut self,
        source: &Rc<Source<'d>>,
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

/// Writes an expression; an indexed address becomes the address, as the table of addresses stays behind.
fn put_everywhere(unit: &Unit<'_>, writer: &mut DetailWriter<'_>, index: u32, operations: &[u8]) {
    const ADDRX: [u8; 2] = [DW_OP_addrx.0, DW_OP_GNU_addr_index.0];
    match operations {
        [op, rest @ ..] if ADDRX.contains(op) => {
            let mut cursor = Cursor::new(rest, 0);
            let address = unit.indexed_address(cursor.uleb());
            let mut plain = vec![DW_OP_addr.0];
            plain.extend(address.to_le_bytes());
            plain.extend(&rest[cursor.pos..]);
            writer.everywhere(index, &plain);
        }
        _ => writer.everywhere(index, operations),
    }
}
