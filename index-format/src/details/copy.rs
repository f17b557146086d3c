//! Copies a placement's details to other addresses: from those of an index to those that the kernels of a store share.
use super::{
    Buffer, CallSite, DetailWriter, Details, EVERYWHERE, Item, Items, Location, LocationList, OF_LAST,
    OF_PLACEMENT, Range, Ranges, WHOLE,
};
use crate::expr::{self, Expr, FrameBase, Place};

/// Gives what is read other addresses. Different ones stay different.
pub trait Moving {
    /// A range; as long as before.
    fn range(&mut self, range: Range) -> Range;
    /// An address of memory.
    fn address(&mut self, address: u64) -> u64;
}

/// Writes what the details of an index are at another entry, with another call site if they have one. Cost: one pass, and
/// a second one if something is elsewhere beside the entry.
pub fn copy(
    details: Details<'_>,
    entry: u32,
    call: Option<CallSite>,
    moved: &mut impl Moving,
    buffer: &mut Buffer,
) {
    let mut ranges = std::mem::take(&mut buffer.scratch);
    ranges.clear();
    ranges.extend(details.ranges.map(|range| moved.range(range)));
    let inlined = call.map(|call| (details.outer, call));
    let mut writer = DetailWriter::new(buffer, entry, FrameBase::Cfa, &ranges, inlined);
    let mut items = details.items;
    match unmoved(items, &ranges, entry, moved) {
        Some((end, kind)) => {
            let start = items.reader.bits;
            writer.buffer.bits.copy(start, end - start.position());
            writer.kind = kind;
        }
        None => {
            let mut blocks = vec![];
            while let Some(item) = items.next_unread() {
                match item {
                    Item::Block(of) => {
                        ranges.clear();
                        ranges.extend(of.map(|range| moved.range(range)));
                        blocks.push(writer.block(&ranges));
                    }
                    Item::End => drop(blocks.pop().map(|block| writer.end_block(block))),
                    Item::Variable(index, Location::List(list)) => {
                        items.reader = writer.copy_list(index, list, items.count, &mut ranges, moved);
                    }
                    Item::Variable(index, location) => writer.copy_location(index, location, moved),
                }
            }
        }
    }
    writer.end();
    buffer.scratch = ranges;
}

/// Where the last item ends, and its kind, if the bits of all stay as they are: their ranges are where they were beside the
/// entry, their expressions have no addresses, and nothing starts at a whole byte. `own` are the placement's ranges where
/// they are now.
fn unmoved(mut items: Items<'_>, own: &[Range], entry: u32, moved: &mut impl Moving) -> Option<(usize, u32)> {
    let distance = entry.wrapping_sub(items.entry);
    let stays = |range: Range, now: Range| now.start.wrapping_sub(range.start) == distance;
    if !items.own.zip(own).all(|(range, now)| stays(range, *now)) {
        return None;
    }
    let mut stay = |mut ranges: Ranges<'_>| ranges.all(|range| stays(range, moved.range(range)));
    loop {
        let (bits, kind) = (items.reader.bits, items.kind);
        let is_kept = match items.next_unread() {
            None => return (!bits.ended()).then(|| (bits.position(), kind)),
            Some(Item::Block(ranges)) => stay(ranges),
            Some(Item::Variable(_, Location::Bytes(_))) => false,
            Some(Item::Variable(_, Location::Everywhere(expr) | Location::Within(_, expr))) => is_kept(expr),
            Some(Item::Variable(_, Location::List(list))) => {
                let mut reader = list.expressions;
                let mut place = list.place;
                let are_kept = (0..list.ranges.left()).all(|_| {
                    let place = std::mem::replace(&mut place, Place::Later);
                    !reader.bits.ended() && is_kept(reader.read(place))
                });
                items.reader = reader;
                are_kept && (items.count <= OF_LAST || stay(list.ranges))
            }
            Some(Item::End | Item::Variable(_, Location::None | Location::Constant(_))) => true,
        };
        if !is_kept {
            return None;
        }
    }
}

/// Whether a copy of the expression is what it is.
fn is_kept(expr: Expr<'_>) -> bool {
    match expr {
        Expr::Memory(_) | Expr::Address(_) => false,
        Expr::Verbatim(operations) => !operations.bytes().next().is_some_and(expr::is_implicit_pointer),
        _ => true,
    }
}

impl DetailWriter<'_> {
    /// A location list, given the encoded number of its ranges; returns where its expressions end.
    fn copy_list<'l>(
        &mut self,
        index: u32,
        list: LocationList<'l>,
        count: u64,
        ranges: &mut Vec<Range>,
        moved: &mut impl Moving,
    ) -> expr::Reader<'l> {
        let length = match count {
            // What was the same before it was moved is so afterwards.
            OF_PLACEMENT | OF_LAST => {
                self.list_start(index, count);
                let Buffer { ranges: own, last, .. } = &mut *self.buffer;
                if count == OF_PLACEMENT {
                    last.clone_from(own);
                }
                last.len()
            }
            _ => {
                ranges.clear();
                ranges.extend(list.ranges.map(|range| moved.range(range)));
                self.list_of(index, ranges.iter().copied());
                ranges.len()
            }
        };
        let (mut expressions, mut place) = (list.expressions, list.place);
        for _ in 0..length {
            self.copy_expression(expressions.read(place), place, moved);
            place = Place::Later;
        }
        expressions
    }
    fn copy_location(&mut self, index: u32, location: Location<'_>, moved: &mut impl Moving) {
        match location {
            Location::None | Location::List(_) => self.nowhere(index),
            Location::Constant(value) => self.constant(index, value),
            Location::Bytes(value) => self.bytes(index, value),
            Location::Everywhere(expr) => {
                self.variable(index, EVERYWHERE);
                self.copy_expression(expr, Place::Only, moved);
            }
            Location::Within(_, expr) => {
                self.variable(index, WHOLE);
                self.copy_expression(expr, Place::Only, moved);
            }
        }
    }
    fn copy_expression(&mut self, expr: Expr<'_>, place: Place, moved: &mut impl Moving) {
        let Buffer { bits, expressions, operations, .. } = &mut *self.buffer;
        let expr = match expr {
            Expr::Memory(address) => Expr::Memory(moved.address(address)),
            Expr::Address(address) => Expr::Address(moved.address(address)),
            Expr::Verbatim(verbatim) => {
                operations.clear();
                operations.extend(verbatim.bytes());
                expr::forget_reference(operations);
                expr
            }
            other => other,
        };
        expr::put_read(bits, &expr, operations, place, expressions);
    }
}
