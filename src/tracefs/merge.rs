//! The events of all processors in the order of time.
//!
//! Each processor has a ring buffer of its own, and these are read one after the other: when the last one is read, the
//! first has newer events already. So of what one reading of all gives, only that is given out which is not newer than
//! the newest event of the reading before. All that happened until then was there when this reading began. An event
//! waits for one reading more, at most.
//!
//! The order is that of the trace clock. It is wrong only for an event that its processor had begun to write, and not
//! completed, for a whole reading (the writer was interrupted for that long), and by as much as the clock differs
//! between processors.
use super::page::{Lost, Page, Torn};
use super::record::Mark;

/// What is collected of all processors.
#[derive(Debug, Default)]
pub struct Merge {
    /// The bytes of the records, in the order that they were read.
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// Up to where all is known: the newest event of the previous reading.
    known: u64,
    /// The newest event of all.
    newest: u64,
    /// The newest event of a processor that was not read to its end in this reading.
    cut: Option<u64>,
    /// What waits, while what is out is replaced.
    spare: Vec<u8>,
    /// The records that are stacks of those before them.
    stacks: Option<Mark>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    time: u64,
    cpu: u32,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Record { start: usize, length: u32, stack: Option<(usize, u32)> },
    Lost(Option<u64>),
}

/// What is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged<'a> {
    /// A record.
    Record {
        /// By the trace clock.
        time: u64,
        /// The processor.
        cpu: u32,
        /// Its bytes.
        data: &'a [u8],
        /// Those of the record with its stack; empty if there is none.
        stack: &'a [u8],
    },
    /// The kernel overwrote events of this processor, before this time.
    Lost {
        /// Of the first event that was not lost.
        time: u64,
        /// The processor.
        cpu: u32,
        /// How many; `None` if that is unknown.
        count: Option<u64>,
    },
}

impl Merge {
    /// From now on records with this mark are given out with the record before them of the same processor.
    pub fn join_stacks(&mut self, stacks: Mark) {
        self.stacks = Some(stacks);
    }

    /// Adds a sub-buffer; the sub-buffers of a processor in their order. Returns how many records it has.
    ///
    /// # Errors
    /// [`Torn`] if its last event is; those before it are added.
    pub fn add(&mut self, cpu: u32, page: &Page<'_>) -> Result<usize, Torn> {
        match page.lost {
            Lost::None => {}
            Lost::Count(count) => self.lost(page.time(), cpu, Some(count)),
            Lost::Some => self.lost(page.time(), cpu, None),
        }
        let before = self.slots.len();
        for event in page.events() {
            let event = event?;
            let start = self.bytes.len();
            self.bytes.extend_from_slice(event.data);
            let length = event.data.len() as u32;
            if self.stacks.is_some_and(|mark| mark.is_of(event.data)) {
                self.join(cpu, (start, length));
                continue;
            }
            let what = What::Record { start, length, stack: None };
            self.slots.push(Slot { time: event.time, cpu, what });
            self.newest = self.newest.max(event.time);
        }
        Ok(self.slots.len() - before)
    }

    /// Says that the processor of the last sub-buffer has more, which is read the next time.
    pub fn cut(&mut self) {
        let last = self.slots.last().map_or(0, |slot| slot.time);
        self.cut = Some(self.cut.map_or(last, |cut| cut.min(last)));
    }

    /// Gives out what is complete after a reading of all processors; all of it if this was the last one. Cost: that of a
    /// sort of what is nearly sorted.
    pub fn give(&mut self, is_last: bool, out: &mut dyn FnMut(Merged<'_>)) {
        // Stable: equal times of a processor keep their order.
        self.slots.sort_by_key(|slot| slot.time);
        let cut = self.cut.take().unwrap_or(u64::MAX);
        let known = if is_last { u64::MAX } else { self.known.min(cut) };
        let complete = self.slots.partition_point(|slot| slot.time <= known);
        for slot in &self.slots[..complete] {
            let Slot { time, cpu, what } = *slot;
            out(match what {
                What::Lost(count) => Merged::Lost { time, cpu, count },
                What::Record { start, length, stack } => {
                    let bytes = |(start, length): (usize, u32)| &self.bytes[start..start + length as usize];
                    let stack = stack.map_or(&[][..], bytes);
                    Merged::Record { time, cpu, data: bytes((start, length)), stack }
                }
            });
        }
        self.known = self.newest.min(cut);
        self.keep(complete);
    }

    /// How many bytes wait.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a stack to the last record of its processor that has none: an interrupt may have written its own record and
    /// stack between the two.
    fn join(&mut self, cpu: u32, of: (usize, u32)) {
        /// As many contexts interrupt one another, with room.
        const NEAR: usize = 16;
        let recent = self.slots.iter_mut().rev().filter(|slot| slot.cpu == cpu).take(NEAR);
        let mut waiting = recent.filter_map(|slot| match &mut slot.what {
            What::Record { stack: stack @ None, .. } => Some(stack),
            _ => None,
        });
        if let Some(stack) = waiting.next() {
            *stack = Some(of);
        }
    }

    fn lost(&mut self, time: u64, cpu: u32, count: Option<u64>) {
        self.slots.push(Slot { time, cpu, what: What::Lost(count) });
        self.newest = self.newest.max(time);
    }

    /// Keeps what stands behind a position of the slots.
    fn keep(&mut self, from: usize) {
        self.spare.clear();
        self.slots.drain(..from);
        for slot in &mut self.slots {
            if let What::Record { start, length, stack } = &mut slot.what {
                for (start, length) in
                    [(start, length)].into_iter().chain(stack.iter_mut().map(|(s, l)| (s, l)))
                {
                    let record = &self.bytes[*start..*start + *length as usize];
                    *start = self.spare.len();
                    self.spare.extend_from_slice(record);
                }
            }
        }
        std::mem::swap(&mut self.bytes, &mut self.spare);
    }
}
