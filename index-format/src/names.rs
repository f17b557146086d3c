//! Maps an exact name to its rank.
//!
//! A slot has the rank plus one in its low bits, as many as the length of the table takes, and the lowest bits of the
//! hash in the others. Its highest bits choose the slot, and are nearly the same for all neighbours: the lowest tell names
//! apart without a look at their strings.
use zerocopy::byteorder::little_endian::U32;

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
pub fn table<'a>(names: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<U32> {
    let mut table = vec![U32::ZERO; names.len() * 8 / 7 + 1];
    let ranks = ranks(&table);
    for (id, name) in names.enumerate() {
        let hash = hash(name);
        let mut at = slot(&table, hash);
        while table[at] != U32::ZERO {
            at = after(&table, at);
        }
        table[at] = U32::new(tag(hash, ranks) | (id as u32 + 1));
    }
    table
}

/// The ranks that may be this name's; the caller compares the names. Terminates even if the table is damaged.
pub fn candidates<'a>(table: &'a [U32], name: &[u8]) -> impl Iterator<Item = u32> + 'a {
    let (hash, ranks) = (hash(name), ranks(table));
    let mut at = slot(table, hash);
    let slots = (0..table.len()).map_while(move |_| {
        let found = table.get(at)?.get();
        at = after(table, at);
        (found != 0).then_some(found)
    });
    slots
        .filter(move |found| found & !ranks == tag(hash, ranks))
        .filter_map(move |found| (found & ranks).checked_sub(1))
}

/// The first slot for a hash, scaled from 2^32 to the table's length: by its high bits.
fn slot(table: &[U32], hash: u32) -> usize {
    ((u64::from(hash) * table.len() as u64) >> 32) as usize
}

/// The bits of a slot that hold a rank plus one.
fn ranks(table: &[U32]) -> u32 {
    (1u32 << (usize::BITS - table.len().leading_zeros()).min(31)) - 1
}

/// The lowest bits of a hash, in the bits of a slot that hold no rank.
fn tag(hash: u32, ranks: u32) -> u32 {
    hash << ranks.count_ones()
}

fn after(table: &[U32], at: usize) -> usize {
    if at + 1 < table.len() { at + 1 } else { 0 }
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
        assert_eq!(candidates(&[], b"x").count(), 0);
        let all = names.iter().map(|name| candidates(&table, name.as_bytes()).count()).sum::<usize>();
        assert!(all < names.len() + 10, "{all} strings are looked at for {} names", names.len());
    }
}
