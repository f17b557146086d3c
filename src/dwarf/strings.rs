//! The strings of one batch, each stored once, with a content hash that is the same in every batch.
use hashbrown::HashTable;

/// A string of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalStr(pub u32);

impl LocalStr {
    /// The empty string: always the first.
    pub const EMPTY: Self = Self(0);
}

/// The memory of the hash table of [`Strings`].
pub struct Table(HashTable<u32>);

/// Distinct strings.
pub struct Strings {
    arena: Vec<u8>,
    ends: Vec<u32>,
    hashes: Vec<u64>,
    table: HashTable<u32>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { arena: vec![], ends: vec![], hashes: vec![], table: HashTable::new() };
        strings.intern(b"");
        strings
    }
}

impl Strings {
    /// The string's number, assigned when it first occurs.
    pub fn intern(&mut self, bytes: &[u8]) -> LocalStr {
        let hash = content_hash(bytes);
        let Self { arena, ends, hashes, table } = self;
        let get = |i: u32| {
            let start = if i == 0 { 0 } else { ends[i as usize - 1] };
            &arena[start as usize..ends[i as usize] as usize]
        };
        if let Some(&known) = table.find(hash, |&i| hashes[i as usize] == hash && get(i) == bytes) {
            return LocalStr(known);
        }
        let new = ends.len() as u32;
        arena.extend_from_slice(bytes);
        ends.push(arena.len() as u32);
        hashes.push(hash);
        table.insert_unique(hash, new, |&i| hashes[i as usize]);
        LocalStr(new)
    }
    /// The string's bytes.
    pub fn get(&self, id: LocalStr) -> &[u8] {
        let at = id.0 as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.arena[start as usize..self.ends[at] as usize]
    }
    /// The hash of the string's content.
    #[inline]
    pub fn hash(&self, id: LocalStr) -> u64 {
        self.hashes[id.0 as usize]
    }
    /// The number of strings, including the empty one.
    pub fn count(&self) -> usize {
        self.ends.len()
    }
    /// All strings with their hashes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (0..self.count()).map(|i| (self.hashes[i], self.get(LocalStr(i as u32))))
    }
    /// Takes away the hash table, which only adding strings needs.
    pub fn freeze(&mut self) -> Table {
        let mut table = std::mem::take(&mut self.table);
        table.clear();
        Table(table)
    }
    /// Goes on with the memory of another table.
    pub fn reuse(&mut self, table: Table) {
        let own = std::mem::replace(&mut self.table, table.0);
        for string in own {
            self.table.insert_unique(self.hashes[string as usize], string, |&i| self.hashes[i as usize]);
        }
    }
}

/// A hash of 64 well-mixed bits: the same on every machine and in every run.
#[inline]
pub fn content_hash(bytes: &[u8]) -> u64 {
    let mut state = fold(bytes.len() as u64 ^ SEED[0], SEED[1]);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        state = fold(state ^ u64::from_le_bytes(word.try_into().expect("eight bytes")), SEED[2]);
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    fold(state ^ u64::from_le_bytes(last), SEED[3])
}

/// Identifies a type or function by its content, in every batch. 128 bits, so that accidental collisions are out of
/// the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64, pub u64);

impl Key {
    /// An initial key.
    #[inline]
    pub fn new(kind: u64) -> Self {
        Self(SEED[0] ^ kind, SEED[1].wrapping_add(kind))
    }
    /// Combines a key with a number.
    #[inline]
    pub fn with(self, value: u64) -> Self {
        Self(
            fold(self.0 ^ value, SEED[2]),
            fold(self.1 ^ value.rotate_left(32), SEED[3]).wrapping_add(self.0),
        )
    }
    /// Combines two keys.
    #[inline]
    pub fn and(self, other: Key) -> Self {
        self.with(other.0).with(other.1)
    }
}

/// Digits of pi.
const SEED: [u64; 4] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b | 1);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_kept_once() {
        let mut strings = Strings::default();
        let a = strings.intern(b"do_open");
        let b = strings.intern(b"do_open.isra.0");
        assert_eq!(strings.intern(b"do_open"), a);
        assert_ne!(a, b);
        assert_eq!(strings.get(b), b"do_open.isra.0");
        assert_eq!(strings.intern(b""), LocalStr::EMPTY);
        assert_eq!(strings.count(), 3);
    }

    #[test]
    fn keys_tell_order_and_value_apart() {
        let key = Key::new(1);
        assert_ne!(key.with(1).with(2), key.with(2).with(1));
        assert_ne!(key.with(0), key);
        assert_ne!(content_hash(b"a\0"), content_hash(b"a"));
    }
}
