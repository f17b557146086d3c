//! Interns all strings of a build, from any number of threads.
use crate::dwarf::strings::{Strings, content_hash};
use hashbrown::HashTable;
use probeidx_format::id::StrId;
use probeidx_format::strings::{self, Blocks};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

const SHARD_BITS: u32 = 6;
const INDEX_BITS: u32 = 32 - SHARD_BITS;

/// A string of the build. Its number depends on timing; [`Interner::finish`] replaces it by a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalStr(u32);

/// Collects strings.
pub struct Interner {
    shards: Vec<Mutex<Shard>>,
}

#[derive(Default)]
struct Shard {
    arena: Vec<u8>,
    ends: Vec<u32>,
    /// Half of the hash of each string, and its position: enough for the strings of a shard, in half of the memory.
    table: HashTable<(u32, u32)>,
}

impl Shard {
    fn get(&self, index: u32) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index as usize - 1] };
        &self.arena[start as usize..self.ends[index as usize] as usize]
    }
    fn intern(&mut self, hash: u64, bytes: &[u8]) -> u32 {
        let Self { arena, ends, table } = self;
        let get = |i: u32| {
            let start = if i == 0 { 0 } else { ends[i as usize - 1] };
            &arena[start as usize..ends[i as usize] as usize]
        };
        let half = hash as u32;
        if let Some(&(_, known)) = table.find(spread(half), |&(h, i)| h == half && get(i) == bytes) {
            return known;
        }
        let new = ends.len() as u32;
        arena.extend_from_slice(bytes);
        ends.push(arena.len() as u32);
        table.insert_unique(spread(half), (half, new), |&(h, _)| spread(h));
        new
    }
}

/// A number with the highest and the lowest bits that a hash table looks at.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Default for Interner {
    fn default() -> Self {
        Self { shards: (0..1 << SHARD_BITS).map(|_| Mutex::default()).collect() }
    }
}

impl Interner {
    /// Adds a string.
    pub fn intern(&self, bytes: &[u8]) -> GlobalStr {
        self.intern_hashed(content_hash(bytes), bytes)
    }
    /// Adds all strings of a batch; returns their numbers in order.
    pub fn intern_all(&self, strings: &Strings) -> Vec<GlobalStr> {
        strings.iter().map(|(hash, bytes)| self.intern_hashed(hash, bytes)).collect()
    }
    fn intern_hashed(&self, hash: u64, bytes: &[u8]) -> GlobalStr {
        // The table of a shard uses the lower half of the hash; bits of the upper half select the shard.
        let shard = (hash >> 40) as u32 & ((1 << SHARD_BITS) - 1);
        let index =
            self.shards[shard as usize].lock().unwrap_or_else(PoisonError::into_inner).intern(hash, bytes);
        GlobalStr(shard << INDEX_BITS | index)
    }
    /// Drops what only adding strings needs: it takes as much memory as the strings.
    pub fn seal(self) -> Sealed {
        let shards = self.shards.into_iter().map(|s| s.into_inner().unwrap_or_else(PoisonError::into_inner));
        Sealed(shards.map(|shard| Shard { table: HashTable::new(), ..shard }).collect())
    }
}

/// All strings of a build.
pub struct Sealed(Vec<Shard>);

impl Sealed {
    /// Sorts the strings; returns them and the id of each.
    pub fn finish(self) -> (SortedStrings, StringIds) {
        let Self(shards) = self;
        // Collected side by side, the list would be in memory twice.
        let mut all: Vec<(u64, &[u8], u32, u32)> =
            Vec::with_capacity(shards.iter().map(|s| s.ends.len()).sum());
        for (number, shard) in (0..).zip(&shards) {
            let strings = (0..shard.ends.len() as u32).map(|index| (shard.get(index), index));
            let strings = strings.filter(|(bytes, _)| !bytes.is_empty());
            all.extend(strings.map(|(bytes, index)| (prefix(bytes), bytes, number, index)));
        }
        all.par_sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        let mut ids: Vec<Vec<u32>> = shards.iter().map(|s| vec![0; s.ends.len()]).collect();
        let mut sorted = SortedStrings { bytes: vec![], ends: Vec::with_capacity(all.len() + 1) };
        // The first one is empty.
        sorted.ends.push(0);
        let mut length = 0;
        for (_, bytes, shard, index) in &all {
            ids[*shard as usize][*index as usize] = sorted.ends.len() as u32;
            length += bytes.len() as u32;
            sorted.ends.push(length);
        }
        sorted.bytes.resize(length as usize, 0);
        let mut rest = &mut sorted.bytes[..];
        let mut pieces = vec![];
        for chunk in all.chunks(CHUNK) {
            let (piece, after) = rest.split_at_mut(chunk.iter().map(|(_, bytes, _, _)| bytes.len()).sum());
            pieces.push((chunk, piece));
            rest = after;
        }
        pieces.into_par_iter().for_each(|(chunk, mut piece)| {
            for (_, bytes, _, _) in chunk {
                let (own, after) = piece.split_at_mut(bytes.len());
                own.copy_from_slice(bytes);
                piece = after;
            }
        });
        (sorted, StringIds(ids))
    }
}

/// All strings of a build, sorted; the first one is empty.
pub struct SortedStrings {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl SortedStrings {
    /// A string.
    #[inline]
    pub fn get(&self, id: StrId) -> &[u8] {
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[id.index()] as usize]
    }
    /// The bytes of the section.
    pub fn section(&self) -> Vec<u8> {
        const _: () = assert!(CHUNK.is_multiple_of(strings::BLOCK));
        let count = self.ends.len();
        let pieces: Vec<Blocks> = (0..count.div_ceil(CHUNK))
            .into_par_iter()
            .map(|piece| {
                let numbers = piece * CHUNK..count.min((piece + 1) * CHUNK);
                Blocks::of(numbers.map(|at| self.get(StrId::new(at as u32))))
            })
            .collect();
        strings::section(&pieces)
    }
}

/// Number of strings that a thread takes at a time.
const CHUNK: usize = 8192;

/// The first eight bytes as a number with the same order: most comparisons end there.
fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

/// The final ids of all strings.
pub struct StringIds(Vec<Vec<u32>>);

impl StringIds {
    /// The final id of a string.
    #[inline]
    pub fn get(&self, string: GlobalStr) -> StrId {
        StrId::new(self.0[(string.0 >> INDEX_BITS) as usize][(string.0 & ((1 << INDEX_BITS) - 1)) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probeidx_format::strings::{Coded, Decoded};

    #[test]
    fn ids_compare_as_the_strings_do() {
        let interner = Interner::default();
        let words = ["do_open", "", "do_op", "vfs_read", "do_open.isra.0", "do_open", "\u{e9}t\u{e9}"];
        let numbers: Vec<_> = words.iter().map(|w| interner.intern(w.as_bytes())).collect();
        assert_eq!(numbers[0], numbers[5]);
        let (sorted, ids) = interner.seal().finish();
        let (section, decoded) = (sorted.section(), Decoded::default());
        let stored = strings::Strings::new(Coded::open(&section).unwrap(), &decoded);
        for (a, &x) in words.iter().zip(&numbers) {
            let found = [sorted.get(ids.get(x)), stored.get(ids.get(x).get())];
            assert_eq!(found, [a.as_bytes(); 2]);
            for (b, &y) in words.iter().zip(&numbers) {
                assert_eq!(a.as_bytes().cmp(b.as_bytes()), ids.get(x).cmp(&ids.get(y)));
            }
        }
    }
}
