//! Which event a record is of, and which task wrote it.
use super::bytes::{Order, number};
use super::format::{Field, Format};
use crate::error::{Error, ErrorKind, Result};

/// The formats of the events that are read, by their numbers.
#[derive(Clone, Debug)]
pub struct Formats {
    order: Order,
    /// Offset and size of `common_type`, and of `common_pid`, which all events have at the same place.
    kind: (usize, usize),
    pid: (usize, usize),
    /// By `common_type`: the position of the event among those given.
    positions: Vec<Option<u16>>,
    formats: Vec<Format>,
}

/// How records of one event are told from others.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    offset: usize,
    size: usize,
    id: u16,
    order: Order,
}

impl Mark {
    /// Whether a record is of the event.
    #[inline]
    pub fn is_of(&self, record: &[u8]) -> bool {
        let kind = record.get(self.offset..).and_then(|rest| rest.get(..self.size));
        kind.and_then(|kind| number(kind, self.order)) == Some(self.id.into())
    }
}

impl Formats {
    /// The formats of some events.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if they lack the fields that all events have.
    pub fn new(formats: Vec<Format>, order: Order) -> Result<Self> {
        let common = |name: &str| {
            let field = formats.first().and_then(|f| f.field(name)).filter(|f| f.size <= 8);
            let missing = || Error::new(ErrorKind::Damaged, format!("the format has no {name}"));
            field.map(|f| (f.offset, f.size)).ok_or_else(missing)
        };
        let (kind, pid) = (common("common_type")?, common("common_pid")?);
        let mut positions = vec![];
        for (format, position) in formats.iter().zip(0..) {
            let id = usize::from(format.id);
            positions.resize(positions.len().max(id + 1), None);
            positions[id] = Some(position);
        }
        Ok(Self { order, kind, pid, positions, formats })
    }

    /// The position of the event that a record is of, among those given; `None` for another event.
    #[inline]
    pub fn position(&self, record: &[u8]) -> Option<usize> {
        let id = self.common(self.kind, record)?;
        self.positions.get(usize::try_from(id).ok()?)?.map(usize::from)
    }
    /// The task that wrote a record: 0 if an idle one did.
    #[inline]
    pub fn pid(&self, record: &[u8]) -> Option<i32> {
        self.common(self.pid, record).map(|pid| pid as i32)
    }
    /// The format at a position.
    pub fn format(&self, position: usize) -> &Format {
        &self.formats[position]
    }
    /// What tells the records of the event at a position from others.
    pub fn mark(&self, position: usize) -> Mark {
        let (offset, size) = self.kind;
        Mark { offset, size, id: self.formats[position].id, order: self.order }
    }
    /// The byte order of the records.
    pub fn order(&self) -> Order {
        self.order
    }
    /// The number in a field; its sign is extended.
    pub fn number(&self, field: &Field, record: &[u8]) -> Option<u64> {
        let bytes = field.bytes(record, self.order)?;
        let number = number(bytes, self.order)?;
        let unused = 64 - 8 * bytes.len() as u32;
        Some(if field.is_signed { ((number << unused) as i64 >> unused) as u64 } else { number })
    }

    fn common(&self, (offset, size): (usize, usize), record: &[u8]) -> Option<u64> {
        number(record.get(offset..)?.get(..size)?, self.order)
    }
}
