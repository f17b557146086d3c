//! A column of texts: each text has one number in a group.
use super::{Group, NULL, Numbered};
use crate::cell::assigned;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::borrow::Cow;
use std::hash::Hasher;
use std::rc::Rc;

/// A column of texts that grows. Those that last as long as `'l` are looked for by their addresses, where reading them would take
/// longer than all else. Texts are looked for when rows are taken, one right after another: each look-up waits for memory, and
/// processors wait for many at once if nothing else is between them.
#[derive(Debug)]
pub struct Texts<'l> {
    group: Group,
    known_by: KnownBy,
    /// All texts of the group.
    known: HashTable<Known>,
    /// Of those that last, what is at an address.
    lasting: HashTable<(&'l [u8], u32)>,
    /// Of those that are shared, the name that is before each, or none.
    shared: HashTable<(&'l [u8], Rc<str>, u32)>,
    /// The last row's, if it lasts, and what stands for its number.
    last: Option<(&'l [u8], u32)>,
    /// The texts that are yet to be looked for: [`WAITING`] and the position here stand for the number of each.
    waiting: Vec<Waiting<'l>>,
    /// Those of them that do not last.
    copied: Vec<u8>,
}

/// Numbers from this on, but for [`NULL`], are yet to be known.
const WAITING: u32 = 1 << 31;

/// A text that is yet to be looked for.
#[derive(Clone, Copy, Debug)]
enum Waiting<'l> {
    Lasting(&'l [u8]),
    Copied { hash: u32, start: u32, length: u32 },
}

/// By what a text is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownBy {
    /// By being that of the row before: of a column that is sorted, others are not worth looking for.
    Row,
    /// By its address, if it lasts: of a batch for Arrow, which has each text as often as there are rows with it.
    Address,
    /// By what is in it: each text has one number.
    Content,
}

/// A text of the group.
#[derive(Clone, Copy, Debug)]
struct Known {
    hash: u32,
    number: u32,
    /// Where it starts in the values.
    start: u32,
    length: u32,
}

impl<'l> Texts<'l> {
    /// A column without rows.
    pub fn new(known_by: KnownBy) -> Self {
        Self {
            group: Group::default(),
            known_by,
            known: HashTable::new(),
            lasting: HashTable::new(),
            shared: HashTable::new(),
            last: None,
            waiting: vec![],
            copied: vec![],
        }
    }

    /// A row without a text.
    pub fn null(&mut self) {
        self.group.numbers.push(NULL);
    }

    /// A row with a text. What is not UTF-8 in it is replaced.
    pub fn text(&mut self, text: &[u8]) {
        let number = match self.known_by {
            KnownBy::Content => {
                let (hash, start, length) = (hash_of(text), self.copied.len() as u32, text.len() as u32);
                self.copied.extend_from_slice(text);
                self.wait(Waiting::Copied { hash, start, length })
            }
            _ => self.number_now(text),
        };
        self.group.numbers.push(number);
    }

    /// The same of a text that stays where it is.
    pub fn lasting(&mut self, text: &'l [u8]) {
        let number = match self.last {
            Some((last, number)) if std::ptr::eq(last, text) => number,
            _ if self.known_by == KnownBy::Row => self.number_now(text),
            _ => self.wait(Waiting::Lasting(text)),
        };
        self.last = Some((text, number));
        self.group.numbers.push(number);
    }

    /// A row with a name that lasts, `=`, and a text that is shared; or with the text alone if there is no name.
    pub fn shared(&mut self, name: &'l [u8], text: &Rc<str>) {
        let hash = |name: &[u8], text: &Rc<str>| {
            let mut hasher = FxHasher::default();
            hasher.write_u64(name.as_ptr().addr() as u64);
            hasher.write_u64(text.as_ptr().addr() as u64);
            spread((hasher.finish() >> 32) as u32)
        };
        let of_this = hash(name, text);
        let is_it = |(other_name, other, _): &(&[u8], Rc<str>, u32)| {
            std::ptr::eq(*other_name, name) && Rc::ptr_eq(other, text)
        };
        let number = match self.shared.find(of_this, is_it) {
            Some((.., number)) => *number,
            None => {
                let whole = if name.is_empty() { text.as_bytes().to_vec() } else { assigned(name, text) };
                let number = self.number_now(&whole);
                let entry = (name, Rc::clone(text), number);
                self.shared.insert_unique(of_this, entry, |(name, text, _)| hash(name, text));
                number
            }
        };
        self.group.numbers.push(number);
    }

    fn wait(&mut self, text: Waiting<'l>) -> u32 {
        self.waiting.push(text);
        WAITING + (self.waiting.len() as u32 - 1)
    }

    /// Looks for the texts that wait.
    pub fn settle(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let copied = std::mem::take(&mut self.copied);
        let copy = |start: u32, length: u32| &copied[start as usize..][..length as usize];
        let found = waiting.iter().map(|text| match *text {
            Waiting::Lasting(text) => self.find_lasting(text),
            Waiting::Copied { hash, start, length } => self.find(copy(start, length), hash),
        });
        let mut numbers: Vec<Option<u32>> = found.collect();
        for (number, text) in numbers.iter_mut().zip(&waiting) {
            if number.is_none() {
                *number = Some(match *text {
                    Waiting::Lasting(text) => self.add_lasting(text),
                    Waiting::Copied { hash, start, length } => self.number_of(copy(start, length), hash),
                });
            }
        }
        for number in &mut self.group.numbers {
            if (WAITING..NULL).contains(number) {
                *number = numbers[(*number - WAITING) as usize].unwrap_or(NULL);
            }
        }
        self.waiting = waiting;
        self.waiting.clear();
        self.copied = copied;
        self.copied.clear();
    }

    /// The bytes of all texts of the group that are known.
    pub fn size(&self) -> usize {
        self.group.values.len()
    }

    /// The rows since the last that were taken. The next ones are of another group if `ends_group`.
    pub fn take(&mut self, ends_group: bool) -> Numbered {
        self.settle();
        // What stood for the number of the last text stands for nothing now.
        self.last = None;
        if ends_group {
            self.known.clear();
            self.lasting.clear();
            self.shared.clear();
        }
        self.group.take(ends_group)
    }

    fn find_lasting(&self, text: &[u8]) -> Option<u32> {
        let found = self.lasting.find(hash_of_address(text), |(other, _)| std::ptr::eq(*other, text));
        found.map(|(_, number)| *number)
    }

    fn add_lasting(&mut self, text: &'l [u8]) -> u32 {
        // It may have been added since it was looked for.
        self.find_lasting(text).unwrap_or_else(|| {
            let number = self.number_now(text);
            self.lasting
                .insert_unique(hash_of_address(text), (text, number), |(other, _)| hash_of_address(other));
            number
        })
    }

    /// The number that a text has by its content; a new one if texts are not known by that.
    fn number_now(&mut self, text: &[u8]) -> u32 {
        match self.known_by {
            KnownBy::Content => self.number_of(text, hash_of(text)),
            _ => self.append(&String::from_utf8_lossy(text)),
        }
    }

    fn number_of(&mut self, text: &[u8], hash: u32) -> u32 {
        self.find(text, hash).unwrap_or_else(|| match String::from_utf8_lossy(text) {
            Cow::Borrowed(text) => self.add(text, hash),
            Cow::Owned(text) => {
                let hash = hash_of(text.as_bytes());
                self.find(text.as_bytes(), hash).unwrap_or_else(|| self.add(&text, hash))
            }
        })
    }

    /// The number of a text, if a row had it.
    fn find(&self, text: &[u8], hash: u32) -> Option<u32> {
        let is_it = |known: &Known| {
            let is_as_long = known.hash == hash && known.length as usize == text.len();
            is_as_long && self.group.values[known.start as usize..].starts_with(text)
        };
        self.known.find(spread(hash), is_it).map(|known| known.number)
    }

    /// Adds a text that no row had.
    fn add(&mut self, text: &str, hash: u32) -> u32 {
        let (number, length) = (self.append(text), text.len() as u32);
        let known = Known { hash, number, start: self.group.values.len() as u32 - length, length };
        self.known.insert_unique(spread(hash), known, |known| spread(known.hash));
        number
    }

    fn append(&mut self, text: &str) -> u32 {
        let values = &mut self.group.values;
        values.extend_from_slice(&(text.len() as u32).to_le_bytes());
        values.extend_from_slice(text.as_bytes());
        self.group.next()
    }
}

fn hash_of(text: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    (hasher.finish() >> 32) as u32
}

fn hash_of_address(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(text.as_ptr().addr() as u64);
    spread((hasher.finish() >> 32) as u32)
}

/// The table takes the place from the lowest bits, and what it compares first from the highest.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_once_in_a_group() {
        let mut column = Texts::new(KnownBy::Content);
        for text in [&b"ok"[..], b"ok", b"inline", b"ok", b"\xff", b"\xfe", b""] {
            column.text(text);
        }
        column.null();
        let first = column.take(false);
        assert_eq!(first.numbers, [0, 0, 1, 0, 2, 2, 3, NULL]);
        assert_eq!(first.new, b"\x02\0\0\0ok\x06\0\0\0inline\x03\0\0\0\xef\xbf\xbd\0\0\0\0");
        column.text(b"inline");
        column.text(b"new");
        let second = column.take(true);
        assert_eq!((second.numbers, &*second.new, second.count), (vec![1, 4], &b"\x03\0\0\0new"[..], 1));
        column.text(b"new");
        let other_group = column.take(false);
        assert_eq!((other_group.numbers, other_group.count), (vec![0], 1));
    }

    #[test]
    fn texts_that_last_are_those_that_do_not() {
        let (lasting, same) = (b"ok inline".to_vec(), b"ok".to_vec());
        let mut column = Texts::new(KnownBy::Content);
        column.text(b"inline");
        // The second starts where the first does.
        for text in [&lasting[..2], &lasting, &lasting[3..], &same, &lasting[..2]] {
            column.lasting(text);
        }
        let taken = column.take(true);
        assert_eq!(taken.numbers, [0, 1, 2, 0, 1, 1]);
        column.lasting(&same);
        assert_eq!((column.take(true).new, column.take(true).count), (b"\x02\0\0\0ok".to_vec(), 0));
    }

    #[test]
    fn a_text_of_the_rows_before_has_a_number_of_its_own() {
        let (first, second) = (b"vfs_open".to_vec(), b"vfs_read".to_vec());
        for known_by in [KnownBy::Row, KnownBy::Address, KnownBy::Content] {
            let mut column = Texts::new(known_by);
            column.lasting(&first);
            column.lasting(&second);
            assert_eq!(column.take(true).numbers, [0, 1], "{known_by:?}");
            column.lasting(&second);
            let taken = column.take(true);
            assert_eq!((taken.numbers, &*taken.new), (vec![0], &b"\x08\0\0\0vfs_read"[..]), "{known_by:?}");
        }
    }

    #[test]
    fn what_is_not_looked_for_is_written_again() {
        let lasting = b"ok inline".to_vec();
        // Those that are looked for by address get their numbers when the rows are taken.
        for (known_by, numbers) in [(KnownBy::Row, [0, 0, 1, 2, 3]), (KnownBy::Address, [1, 1, 2, 1, 0])] {
            let mut column = Texts::new(known_by);
            for text in [&lasting[..2], &lasting[..2], &lasting[3..], &lasting[..2]] {
                column.lasting(text);
            }
            column.text(b"ok");
            assert_eq!(column.take(true).numbers, numbers);
        }
    }
}
