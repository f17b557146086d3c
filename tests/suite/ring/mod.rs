//! Sub-buffers of ring buffers: as kernels wrote them, made by hand, and hostile.
mod counted;
mod hostile;
mod made;
mod merged;
mod recorded;
mod shown;
mod stacks;

/// A sub-buffer in one of both byte orders, with a head of 16 bytes.
pub struct Written {
    pub order: Order,
    bytes: Vec<u8>,
}

use probeidx::tracefs::bytes::Order;
use probeidx::tracefs::page::Layout;

pub const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                          \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                          \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
                          \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

impl Written {
    pub fn new(order: Order, time: u64) -> Self {
        let mut own = Self { order, bytes: vec![] };
        own.number(time, 8);
        own.number(0, 8);
        own
    }
    pub fn number(&mut self, number: u64, size: usize) {
        match self.order {
            Order::Little => self.bytes.extend_from_slice(&number.to_le_bytes()[..size]),
            Order::Big => self.bytes.extend_from_slice(&number.to_be_bytes()[8 - size..]),
        }
    }
    /// The head of an event.
    pub fn head(&mut self, kind: u32, delta: u32) {
        let head = match self.order {
            Order::Little => delta << 5 | kind,
            Order::Big => kind << 27 | delta,
        };
        self.number(head.into(), 4);
    }
    /// An event with this content, of a multiple of four bytes.
    pub fn event(&mut self, delta: u32, content: &[u8]) {
        assert!(content.len().is_multiple_of(4));
        match content.len() / 4 {
            words @ 1..=28 => self.head(words as u32, delta),
            _ => {
                self.head(0, delta);
                self.number(content.len() as u64 + 4, 4);
            }
        }
        self.bytes.extend_from_slice(content);
    }
    /// A time of its own, or one that is added.
    pub fn wide(&mut self, kind: u32, time: u64) {
        self.head(kind, time as u32 & ((1 << 27) - 1));
        self.number(time >> 27 & 0xffff_ffff, 4);
    }
    /// With its length in its head, and what else is in that field; then `behind`.
    pub fn finish(mut self, flags: u64, behind: &[u8]) -> Vec<u8> {
        let length = (self.bytes.len() as u64 - 16) | flags;
        let mut rest = std::mem::take(&mut self.bytes);
        self.number(length, 8);
        rest[8..16].copy_from_slice(&self.bytes);
        rest.extend_from_slice(behind);
        rest
    }
}

pub fn layout(order: Order) -> Layout {
    Layout::parse(HEADER, order).unwrap()
}
