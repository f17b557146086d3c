//! What is put together once and kept: the bytes that patches make, for as long as the kernel is open.
use crate::kept::Kept;
use crate::store::segment::Part;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of lists. A walk over all of a kernel has some hundred thousand patches made; a question some ten.
const LISTS: u32 = 1 << 16;
/// So many lists have their memory together.
const TOGETHER: usize = 256;
/// The most bytes that are kept. What a kernel has is a tenth of it; only a damaged segment has more.
const MOST: usize = 256 << 20;

/// Bytes by part and number. Nothing is ever replaced, so that what was given stays where it is.
#[derive(Default)]
pub struct Assembled {
    lists: Kept<List, TOGETHER>,
    bytes: AtomicUsize,
}

type List = OnceLock<Box<Node>>;

struct Node {
    part: Part,
    number: u32,
    bytes: Box<[u8]>,
    next: List,
}

impl Assembled {
    /// The bytes of a number, which are made when they are first asked for; none if too many are kept already.
    pub fn get(&self, part: Part, number: u32, make: impl FnOnce() -> Vec<u8>) -> &[u8] {
        let Some(mut list) = self.lists.get(number % LISTS, LISTS, List::new) else { return &[] };
        let is_meant = |node: &Node| (node.part, node.number) == (part, number);
        while let Some(node) = list.get() {
            if is_meant(node) {
                return &node.bytes;
            }
            list = &node.next;
        }
        // Making it may ask for others, of the same list too.
        let is_room = self.bytes.load(Ordering::Relaxed) < MOST;
        let made = if is_room { make() } else { vec![] };
        self.bytes.fetch_add(made.len(), Ordering::Relaxed);
        let mut own = Some(Box::new(Node { part, number, bytes: made.into(), next: List::new() }));
        loop {
            if let Some(Err(other)) = own.take().map(|own| list.set(own)) {
                own = Some(other);
            }
            let Some(node) = list.get() else { return &[] };
            if is_meant(node) {
                return &node.bytes;
            }
            list = &node.next;
        }
    }
}

impl Drop for Node {
    /// One after the other: a list may be longer than the stack is deep.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_kept() {
        let assembled = Assembled::default();
        // All of them are in one list.
        let numbers = || (0..5).map(|at| at * LISTS);
        let made: Vec<&[u8]> =
            numbers().map(|n| assembled.get(Part::Lines, n, || n.to_le_bytes().to_vec())).collect();
        for (number, made) in numbers().zip(made) {
            assert_eq!(made, number.to_le_bytes());
            assert_eq!(assembled.get(Part::Lines, number, || unreachable!("it is there")), made);
            assert_eq!(assembled.get(Part::Boundaries, number, || vec![1]), [1]);
        }
    }
}
