//! Maps an exact name to its rank.
//!
//! The first byte is the number of bytes of a slot; the slots follow. A slot has the rank plus one in its low bits, as many
//! as the number of slots takes, and the lowest bits of the hash in the others, four at least. The hash's highest bits choose
//! the slot, and are nearly the same for all neighbours: the lowest tell names apart without a look at their strings.

/// The hash of a name: FNV-1a over eight bytes at a time, then mixed. It is part of the format.
#[inline]
pub fn hash(name: &[u8]) -> u32 {
    let mut state = 0xcbf2_9ce4_8422_2325u64 ^ name.len() as u64;
    let mut step = |word: u64| {
        state = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
    };
    let mut words = name.chunks_exact(8);
    for word in &mut words {
        step(u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    step(u64::from_le_bytes(last));
    (state ^ state >> 32) as u32
}

/// The hash table for these names, seven eighths full: a name that is not there is compared with the hashes of some
/// twenty neighbours. Each is in the first free slot from that of its hash on; a free slot is 0.
pub fn table<'a>(names: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
    let length = names.len() * 8 / 7 + 1;
    let bytes = (rank_bits(length) + LEAST_OF_HASH).div_ceil(8) as usize;
    let mut table = vec![0; 1 + length * bytes];
    table[0] = bytes as u8;
    for (rank, name) in names.enumerate() {
        let hash = hash(name);
        let slots = Slots { bytes, slots: &table[1..] };
        let mut at = slots.of(hash);
        while slots.get(at) != Some(0) {
            at = slots.after(at);
        }
        let found = slots.tag(hash) | (rank as u32 + 1);
        table[1 + at * bytes..][..bytes].copy_from_slice(&found.to_le_bytes()[..bytes]);
    }
    table
}

/// The ranks that may be this name's; the caller compares the names. Terminates even if the table is damaged.
pub fn candidates<'a>(table: &'a [u8], name: &[u8]) -> impl Iterator<Item = u32> + 'a {
    let slots = Slots::read(table);
    let hash = hash(name);
    let (ranks, tag) = (slots.ranks(), slots.tag(hash));
    let mut at = slots.of(hash);
    let taken = (0..slots.len()).map_while(move |_| {
        let found = slots.get(at)?;
        at = slots.after(at);
        (found != 0).then_some(found)
    });
    taken.filter(move |found| found & !ranks == tag).filter_map(move |found| (found & ranks).checked_sub(1))
}

/// The fewest bits of the hash in a slot.
const LEAST_OF_HASH: u32 = 4;

/// The bits of a rank plus one in a table of this length.
fn rank_bits(length: usize) -> u32 {
    (usize::BITS - length.leading_zeros()).min(28)
}

#[derive(Clone, Copy)]
struct Slots<'a> {
    /// Of a slot: one to four.
    bytes: usize,
    slots: &'a [u8],
}

impl<'a> Slots<'a> {
    /// No slots if the table is damaged.
    fn read(table: &'a [u8]) -> Self {
        match table.split_first() {
            Some((&bytes @ 1..=4, slots)) => Self { bytes: bytes.into(), slots },
            _ => Self { bytes: 1, slots: &[] },
        }
    }
    fn len(self) -> usize {
        self.slots.len() / self.bytes
    }
    fn get(self, at: usize) -> Option<u32> {
        let slot = self.slots.get(at * self.bytes..(at + 1) * self.bytes)?;
        let mut number = [0; 4];
        number[..slot.len()].copy_from_slice(slot);
        Some(u32::from_le_bytes(number))
    }
    /// The first slot for a hash, scaled from 2^32 to the table's length: by its high bits.
    fn of(self, hash: u32) -> usize {
        ((u64::from(hash) * self.len() as u64) >> 32) as usize
    }
    fn after(self, at: usize) -> usize {
        if at + 1 < self.len() { at + 1 } else { 0 }
    }
    /// The bits of a slot that hold a rank plus one.
    fn ranks(self) -> u32 {
        (1 << rank_bits(self.len())) - 1
    }
    /// The lowest bits of a hash, in the bits of a slot that hold no rank.
    fn tag(self, hash: u32) -> u32 {
        let most = u32::MAX >> (32 - 8 * self.bytes as u32);
        hash << rank_bits(self.len()) & most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        let names: Vec<String> = (0..5000).map(|n| format!("function_{n:x}")).collect();
        let table = table(names.iter().map(|n| n.as_bytes()));
        let find = |name: &str| candidates(&table, name.as_bytes()).find(|&id| names[id as usize] == name);
        for (id, name) in names.iter().enumerate() {
            assert_eq!(find(name), Some(id as u32));
        }
        assert_eq!(find("function_"), None);
        assert_eq!(table[0], 3, "13 bits of a rank and 4 of the hash");
        for damaged in [&[][..], &[0], &[9, 1, 2], &[3, 1], &[2, 255, 255, 255, 255]] {
            assert!(candidates(damaged, b"x").count() <= damaged.len());
        }
        let all = names.iter().map(|name| candidates(&table, name.as_bytes()).count()).sum::<usize>();
        assert!(all < names.len() * 6 / 5, "{all} strings are looked at for {} names", names.len());
    }
}
