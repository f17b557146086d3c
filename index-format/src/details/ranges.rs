//! Reads ranges of addresses.
use super::Range;
use crate::bits::Bits;
use crate::codes::{self, Context};
use crate::store::moved::Moved;
use crate::varint::unzigzag;

/// Ranges of addresses: iterate over a copy.
#[derive(Clone, Copy, Debug)]
pub struct Ranges<'a> {
    kind: Kind<'a>,
    moved: Moved<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    Own(Own<'a>),
    Counted(Counted<'a>),
}

/// Where a reader of ranges is.
#[derive(Clone, Copy, Debug)]
struct State<'a> {
    bits: Bits<'a>,
    left: u32,
    /// The end of the previous one; at first, the entry.
    due: u32,
    is_only: bool,
    is_first: bool,
}

impl State<'_> {
    /// Whether there is one more; if so, it is counted.
    #[inline]
    fn has_next(&mut self) -> bool {
        let has = self.left > 0 && !self.bits.ended();
        self.left -= u32::from(has);
        has
    }
    #[inline]
    fn give(&mut self, range: Range) -> Option<Range> {
        (self.due, self.is_first) = (range.end, false);
        Some(range)
    }
}

/// A placement's own ranges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own<'a> {
    state: State<'a>,
    has_shift: bool,
    inlined: bool,
}

/// Those of a list or block.
#[derive(Clone, Copy, Debug)]
struct Counted<'a> {
    state: State<'a>,
    of_block: bool,
    after_end: bool,
    cursor: Cursor<Own<'a>>,
}

impl<'a> Own<'a> {
    /// Those of a placement with this entry, and a cursor at the first; `bits` is moved to what follows them.
    #[inline]
    pub fn read(bits: &mut Bits<'a>, entry: u32, inlined: bool) -> (Self, Cursor<Self>) {
        let head = bits.number(codes::PLACE_RANGES.at(u32::from(inlined)));
        let left = (head >> 1) as u32;
        let state = State { bits: *bits, left, due: entry, is_only: left == 1, is_first: true };
        let own = Self { state, has_shift: head & 1 != 0, inlined };
        let cursor = Cursor::new(own);
        let mut others = cursor.rest;
        while others.next().is_some() {}
        *bits = others.state.bits;
        (own, cursor)
    }
}

impl Iterator for Own<'_> {
    type Item = Range;

    #[inline]
    fn next(&mut self) -> Option<Range> {
        if !self.state.has_next() {
            return None;
        }
        let State { bits, due, is_only, is_first, .. } = &mut self.state;
        let mut start = *due;
        if self.has_shift || !*is_first {
            start = start.wrapping_add(bits.signed(codes::PLACE_SHIFT.at(u32::from(!*is_first))) as u32);
        }
        let which = if *is_only { 0 } else { 1 + u32::from(!*is_first) };
        let length = bits.number32(codes::PLACE_LENGTH.at(which * 2 + u32::from(self.inlined)));
        self.state.give(Range { start, end: start.wrapping_add(length) })
    }
}

impl<'a> Ranges<'a> {
    /// Those of a placement.
    #[inline]
    pub(super) fn of_placement(own: Own<'a>, moved: Moved<'a>) -> Self {
        Self { kind: Kind::Own(own), moved }
    }
    /// As many counted ranges, given the start of the placement's; `bits` is moved to what follows them.
    #[inline]
    pub(super) fn counted(
        bits: &mut Bits<'a>,
        left: u32,
        entry: u32,
        cursor: Cursor<Own<'a>>,
        of_block: bool,
        moved: Moved<'a>,
    ) -> Self {
        let state = State { bits: *bits, left, due: entry, is_only: left == 1, is_first: true };
        // The contexts do not depend on the addresses.
        let (mut is_first, mut after_end) = (true, false);
        for left in (0..left).rev() {
            if bits.ended() {
                break;
            }
            let how = match bits.skip_number(start_context(of_block, state.is_only, is_first, after_end)) {
                0 => How::Next,
                1 => How::InNext,
                _ => How::Shift(1),
            };
            after_end = bits.skip_number(length_context(of_block, how, is_first, left == 0)) == 0;
            is_first = false;
        }
        Self { kind: Kind::Counted(Counted { state, of_block, after_end: false, cursor }), moved }
    }
    /// The number of them, unless they are damaged.
    #[inline]
    pub(super) fn left(&self) -> u32 {
        match &self.kind {
            Kind::Own(own) => own.state.left,
            Kind::Counted(counted) => counted.state.left,
        }
    }
}

impl Iterator for Ranges<'_> {
    type Item = Range;

    #[inline]
    fn next(&mut self) -> Option<Range> {
        let range = match &mut self.kind {
            Kind::Own(own) => own.next(),
            Kind::Counted(counted) => counted.next(),
        };
        range.map(|range| self.moved.range(range))
    }
}

impl Iterator for Counted<'_> {
    type Item = Range;

    #[inline]
    fn next(&mut self) -> Option<Range> {
        if !self.state.has_next() {
            return None;
        }
        let Self { state: State { bits, due, is_only, is_first, left }, of_block, after_end, cursor } = self;
        let (how, start) = match bits.number(start_context(*of_block, *is_only, *is_first, *after_end)) {
            0 => (How::Next, *due),
            1 => (How::InNext, cursor.next.map_or(*due, |next| next.start)),
            number => {
                let shift = unzigzag(number - 1) as i32;
                (How::Shift(shift), due.wrapping_add(shift as u32))
            }
        };
        let own_end = cursor.go(how, start);
        let number = bits.number(length_context(*of_block, how, *is_first, *left == 0));
        *after_end = number == 0;
        let end = match own_end {
            Some(end) if number == 0 => end,
            _ => start.wrapping_add((number as u32).wrapping_sub(1)),
        };
        self.state.give(Range { start, end })
    }
}

/// How the start of a counted range is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// The previous one's end; of the first, the entry.
    Next,
    /// The start of the placement's next range.
    InNext,
    /// A distance from the previous one's end, not 0.
    Shift(i32),
}

/// The context of a start.
#[inline]
pub(super) fn start_context(of_block: bool, is_only: bool, is_first: bool, after_end: bool) -> Context {
    let which = match (is_first, is_only, after_end) {
        (true, true, _) => 0,
        (true, false, _) => 1,
        (false, _, true) => 2,
        (false, _, false) => 3,
    };
    codes::START.at(if of_block { 4 } else { 0 } + which)
}

/// The context of a length.
#[inline]
pub(super) fn length_context(of_block: bool, how: How, is_first: bool, is_last: bool) -> Context {
    let which = if of_block { 4 } else { u32::from(is_first) + 2 * u32::from(is_last) };
    let how = match how {
        How::Next => 0,
        How::InNext => 1,
        How::Shift(_) => 2,
    };
    codes::LENGTH.at(which * 3 + how)
}

/// Walks along a placement's ranges while others within them are read or written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<I> {
    current: Option<Range>,
    next: Option<Range>,
    rest: I,
}

impl<I: Iterator<Item = Range>> Cursor<I> {
    #[inline]
    pub fn new(mut rest: I) -> Self {
        Self { current: rest.next(), next: rest.next(), rest }
    }
    /// The current range.
    #[inline]
    pub fn current(&self) -> Option<Range> {
        self.current
    }
    /// Whether the next range starts here.
    #[inline]
    pub fn is_next(&self, start: u32) -> bool {
        self.next.is_some_and(|next| next.start == start)
    }
    #[inline]
    fn advance(&mut self) {
        self.current = std::mem::replace(&mut self.next, self.rest.next());
    }
    /// Moves to the range with this address, at or after the current one, or behind the last; returns its end.
    #[inline]
    pub fn go(&mut self, how: How, start: u32) -> Option<u32> {
        if let How::InNext = how {
            self.advance();
        }
        while let Some(current) = self.current {
            if current.contains(start) {
                return Some(current.end);
            }
            self.advance();
        }
        None
    }
}
