//! Records of the ring buffer as values of the plan.
use crate::error::{Error, Result};
use crate::query::trace::record::{CopyFinder, Notice, Number, Numbers, Record, Value};
use crate::query::trace::{Event, Kind, Plan};
use crate::tracefs::bytes::{Order, number};
use crate::tracefs::comm::Comms;
use crate::tracefs::format::{Content, Field, Format};
use crate::tracefs::merge::Merged;
use crate::tracefs::reader::Reader;
use crate::tracefs::record::Formats;
use std::path::Path;

/// What is needed to understand records.
pub struct Records<'p> {
    plan: &'p Plan,
    /// Those of the plan's events, in their order; then that of stacks, if they are read.
    formats: Formats,
    events: Vec<OfEvent>,
    /// Where the addresses of a stack start in its record, and their size.
    stack: Option<(usize, usize)>,
    comms: Comms,
}

struct OfEvent {
    /// One for each column; `None` if the record lacks the field.
    fields: Vec<Option<Field>>,
    /// The one that tells the copy.
    address: Option<Field>,
    /// Where a function of the kernel returns to.
    returns_to: Option<Field>,
    finder: CopyFinder,
}

/// A record, or what is told between records.
pub enum Happened<'a> {
    /// A record of an event of the plan, which is at this position.
    Record(usize, Record<'a>),
    /// Something else.
    Notice(Notice),
}

impl<'p> Records<'p> {
    /// Reads the formats of a plan's events in an instance, whose events are planted.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) if one cannot be read, and
    /// [`ErrorKind::Damaged`](crate::error::ErrorKind::Damaged) if one is not understood.
    pub fn new(
        plan: &'p Plan,
        tracefs: &Path,
        instance: &Path,
        reader: &mut Reader,
        stacks: bool,
    ) -> Result<Self> {
        let layout = *reader.layout();
        let format = |group: &str, name: &str| {
            let path = instance.join("events").join(group).join(name).join("format");
            let text = std::fs::read_to_string(&path);
            let text = text.map_err(|e| Error::io(&path, "read the format of an event", e))?;
            Format::parse(&text, layout.word()).map_err(|e| e.at(&path))
        };
        let mut all: Vec<Format> =
            plan.events.iter().map(|event| format(&event.group, &event.name)).collect::<Result<_>>()?;
        let mut stack = None;
        if stacks {
            let format = format("ftrace", "kernel_stack")?;
            stack = format.field("caller").map(|field| (field.offset, layout.word()));
            all.push(format);
        }
        let events =
            plan.events.iter().zip(&all).map(|(event, format)| OfEvent::new(event, format)).collect();
        let formats = Formats::new(all, layout.order())?;
        if stacks {
            reader.join_stacks(formats.mark(plan.events.len()));
        }
        Ok(Self { plan, formats, events, stack, comms: Comms::new(tracefs, Path::new("/")) })
    }

    /// Learns the names of tasks. Before each reading that gives records out.
    pub fn refresh(&mut self) {
        self.comms.refresh();
    }

    /// Understands what was read, all of it, and hands it on; nothing for an event that is not of the plan. `start` is
    /// subtracted from times.
    pub fn decode(&mut self, merged: &Merged<'_>, start: u64, then: &mut dyn FnMut(Happened<'_>)) {
        match *merged {
            Merged::Lost { time, cpu, count } => {
                then(Happened::Notice(Notice::Lost { time: time.saturating_sub(start), cpu, count }));
            }
            Merged::Record { time, cpu, data, stack } => {
                let Some(position) = self.position(data) else { return };
                let (event, of) = (&self.plan.events[position], &self.events[position]);
                let order = self.formats.order();
                let values: Vec<Value<'_>> =
                    of.fields.iter().map(|f| value(f.as_ref(), data, order)).collect();
                let stack: Vec<u64> =
                    self.stack.map_or(vec![], |(at, size)| addresses(stack, at, size, order));
                let copy = self.copy(position, data).map(|copy| &event.copies[copy]);
                let pid = self.formats.pid(data).unwrap_or_default();
                let comm = self.comms.name(pid);
                let time = time.saturating_sub(start);
                let returns_to = of.returns_to.as_ref().and_then(|f| self.formats.number(f, data));
                then(Happened::Record(
                    position,
                    Record { time, cpu, pid, comm, event, copy, values: &values, stack: &stack, returns_to },
                ));
            }
        }
    }

    /// The event of the plan that a record is of.
    pub fn position(&self, data: &[u8]) -> Option<usize> {
        self.formats.position(data).filter(|position| *position < self.plan.events.len())
    }

    /// The copy that a record is of, as its position in the event; cheaper than all of it.
    pub fn copy(&self, position: usize, data: &[u8]) -> Option<usize> {
        let of = &self.events[position];
        let address = of.address.as_ref().and_then(|field| self.formats.number(field, data));
        match self.plan.events[position].copies.len() {
            1 => Some(0),
            _ => address.and_then(|address| of.finder.find(address)),
        }
    }
}

impl OfEvent {
    fn new(event: &Event, format: &Format) -> Self {
        let field = |name: &str| format.field(name).cloned();
        let address = ["__probe_ip", "__probe_func"].into_iter().find_map(field);
        Self {
            fields: event.columns.iter().map(|column| field(&column.field)).collect(),
            address,
            returns_to: field("__probe_ret_ip").filter(|_| event.kind != Kind::Uretprobe),
            finder: CopyFinder::new(event, |place| place.run_time),
        }
    }
}

fn value<'d>(field: Option<&Field>, data: &'d [u8], order: Order) -> Value<'d> {
    let Some((field, bytes)) = field.and_then(|field| Some((field, field.bytes(data, order)?))) else {
        return Value::Unreadable;
    };
    match field.content {
        Content::Text => Value::Text(bytes),
        Content::Bytes => Value::Bytes(bytes),
        Content::Number => number(bytes, order)
            .map_or(Value::Unreadable, |n| Value::Number(Number::new(n, bytes.len() as u8, field.is_signed))),
        Content::Numbers(size) => Value::Numbers(Numbers {
            bytes,
            size: size as u8,
            is_signed: field.is_signed,
            is_big_endian: order == Order::Big,
        }),
    }
}

/// The return addresses of a stack, up to the end of its record: the format has the first few only.
fn addresses(stack: &[u8], at: usize, size: usize, order: Order) -> Vec<u64> {
    let addresses = stack.get(at..).unwrap_or_default().chunks_exact(size).filter_map(|b| number(b, order));
    // A stack that ended early is filled up with these (`ULONG_MAX`, before 5.3).
    addresses.take_while(|address| *address != 0 && *address != u64::MAX).collect()
}
