//! Sub-buffers of the ring buffer, as `trace_pipe_raw` gives them (kernel/trace/ring_buffer.c).
use super::bytes::{Order, number, word};
use super::format::Field;
use crate::error::{Error, ErrorKind, Result};

/// Where the parts of a sub-buffer are: `events/header_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Offset and size of the time of the first event.
    timestamp: (usize, usize),
    /// Offset and size of the field with the length of the data.
    commit: (usize, usize),
    /// Offset and size of the data.
    data: (usize, usize),
    order: Order,
}

/// A sub-buffer.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    time: u64,
    data: &'a [u8],
    order: Order,
    /// Whether events before its first one were overwritten.
    pub lost: Lost,
}

/// Events that the kernel overwrote before they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// None.
    None,
    /// So many.
    Count(u64),
    /// Some: the page had no room for the count.
    Some,
}

/// An event of a sub-buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// In the unit of the trace clock; nanoseconds of most of them.
    pub time: u64,
    /// The record.
    pub data: &'a [u8],
}

/// An event reaches beyond the end of its sub-buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Where it starts in the data of the sub-buffer.
    pub offset: usize,
}

impl Layout {
    /// Reads `events/header_page` of an instance.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if it lacks a field, or one is no number of at most eight bytes.
    pub fn parse(text: &str, order: Order) -> Result<Self> {
        let fields: Vec<Field> = text
            .lines()
            .filter_map(|l| l.trim_start().strip_prefix("field:"))
            .filter_map(|f| Field::parse(f, 8))
            .collect();
        let field = |name: &str| {
            let found = fields.iter().find(|f| f.name == name).map(|f| (f.offset, f.size));
            found.ok_or_else(|| Error::new(ErrorKind::Damaged, format!("events/header_page has no {name}")))
        };
        let own =
            Self { timestamp: field("timestamp")?, commit: field("commit")?, data: field("data")?, order };
        let is_number = |(_, size): (usize, usize)| matches!(size, 4 | 8);
        if !is_number(own.timestamp) || !is_number(own.commit) || own.data.0.checked_add(own.data.1).is_none()
        {
            return Err(Error::new(ErrorKind::Damaged, "events/header_page has fields of a strange size"));
        }
        Ok(own)
    }

    /// The size of a sub-buffer in bytes.
    pub fn size(&self) -> usize {
        self.data.0 + self.data.1
    }
    /// The size of the kernel's `long` in bytes.
    pub fn word(&self) -> usize {
        self.commit.1
    }
    /// The byte order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// A sub-buffer that was read. `None` if it is shorter than its head, or than the length that it gives.
    pub fn page<'a>(&self, bytes: &'a [u8]) -> Option<Page<'a>> {
        /// `RB_MISSED_EVENTS` and `RB_MISSED_STORED`. The first is an `int`, so a `long` has all bits above it as well.
        const MISSED: u64 = 1 << 31;
        const STORED: u64 = 1 << 30;
        let at = |(offset, size): (usize, usize)| number(bytes.get(offset..)?.get(..size)?, self.order);
        let commit = at(self.commit)?;
        let length = (commit & (STORED - 1)) as usize;
        let data = bytes.get(self.data.0..)?;
        let (data, rest) = data.split_at_checked(length)?;
        let lost = match (commit & MISSED != 0, commit & STORED != 0) {
            (false, _) => Lost::None,
            (true, false) => Lost::Some,
            (true, true) => {
                rest.get(..self.word()).and_then(|b| number(b, self.order)).map_or(Lost::Some, Lost::Count)
            }
        };
        Some(Page { time: at(self.timestamp)?, data, order: self.order, lost })
    }
}

impl<'a> Page<'a> {
    /// The time of its first event.
    pub fn time(&self) -> u64 {
        self.time
    }
    /// Its events, in the order of time. The last one is an error if it is torn.
    pub fn events(&self) -> Events<'a> {
        Events { data: self.data, at: 0, time: self.time, order: self.order }
    }
}

/// An iterator over the events of a sub-buffer. Allocates nothing.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    data: &'a [u8],
    at: usize,
    time: u64,
    order: Order,
}

impl<'a> Events<'a> {
    /// The next event: its head is a word of `type_len` and `time_delta` (`struct ring_buffer_event`).
    #[inline]
    fn step(&mut self) -> Option<Option<Event<'a>>> {
        const PADDING: u32 = 29;
        const TIME_EXTEND: u32 = 30;
        const TIME_STAMP: u32 = 31;
        loop {
            if self.at >= self.data.len() {
                return Some(None);
            }
            let head = word(self.data, self.at, self.order)?;
            let (kind, delta) = match self.order {
                Order::Little => (head & 31, head >> 5),
                Order::Big => (head >> 27, head & ((1 << 27) - 1)),
            };
            let behind = self.at + 4;
            if let 1..PADDING = kind {
                let end = behind + 4 * kind as usize;
                let data = self.data.get(behind..end)?;
                (self.at, self.time) = (end, self.time.wrapping_add(delta.into()));
                return Some(Some(Event { time: self.time, data }));
            }
            // Padding without a time ends the sub-buffer (`rb_null_event`).
            if kind == PADDING && delta == 0 {
                self.at = self.data.len();
                return Some(None);
            }
            let array = word(self.data, behind, self.order)?;
            let wide = u64::from(array) << 27 | u64::from(delta);
            match kind {
                TIME_EXTEND => self.time = self.time.wrapping_add(wide),
                TIME_STAMP => self.time = absolute(wide, self.time),
                // A length that includes its own word.
                _ => {
                    let end = behind.checked_add(array as usize)?;
                    let data = self.data.get(behind + 4..end)?;
                    self.at = end;
                    if kind == PADDING {
                        // A discarded event. A time of 1 stands for 0. (`rb_event_discard`)
                        self.time = self.time.wrapping_add(if delta == 1 { 0 } else { delta.into() });
                        continue;
                    }
                    self.time = self.time.wrapping_add(delta.into());
                    return Some(Some(Event { time: self.time, data }));
                }
            }
            self.at = behind + 4;
        }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = std::result::Result<Event<'a>, Torn>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Some(event) => event.map(Ok),
            None => {
                let offset = std::mem::replace(&mut self.at, self.data.len());
                Some(Err(Torn { offset }))
            }
        }
    }
}

/// A time of which 59 bits are known, not before another one (`rb_fix_abs_ts`, since 5.19; older kernels cut them off).
fn absolute(low: u64, before: u64) -> u64 {
    const BITS: u32 = 59;
    let high = before >> BITS << BITS;
    if high == 0 {
        return low;
    }
    let whole = high | low;
    if whole < before { whole.wrapping_add(1 << BITS) } else { whole }
}
