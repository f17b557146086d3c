//! The locations of a placement's variables.
use super::abbrev::Slot;
use super::attrs::{Attrs, block};
use super::expressions::{is_plain, plain};
use super::extractor::{Extractor, Source};
use super::functions::{Fixed, MOST_VARIABLES, UnitFunction, fixed, is_extern};
use super::header::Fault;
use super::lists;
use super::places::Frame;
use super::read_budget::LIST_ENTRY;
use super::unit::Unit;
use object::Endian;
use probeidx_format::details::{DetailWriter, Range};
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
    let base = writer.base();
    let plain: Vec<_> =
        list.iter().map(|(range, operations)| (*range, plain(unit, base, operations))).collect();
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
        false => {
            let operations = plain(unit, writer.base(), operations);
            writer.everywhere(index, &operations);
        }
    }
}
