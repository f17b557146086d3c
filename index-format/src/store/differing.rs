//! Names of which anything may differ between a kernel and the one whose segment is before it: where they are declared, what
//! calls them, where their parameters are. What [`changed`](super::changed) lists was compared; these were not.
//!
//! A filter has all of them, and two in a thousand others: of a thousand kernels, a question would read as many in vain as it has to.
//! It is 64-byte blocks, 16 bits a name; a name belongs to one block and sets six of its bits, so that a look-up reads one block.
use crate::names::hash;

/// The bits of a name.
const BITS: u32 = 6;
/// How many bits of the filter a name has, on average.
const PER_NAME: usize = 16;
const BLOCK: usize = 64;

/// What a name is that of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Functions, and symbols that nothing else describes.
    Function = 0,
    /// Types.
    Type = 1,
    /// Tracepoints, without their system.
    Tracepoint = 2,
}

/// The filter of these names, whatever their order and however often each is given.
pub fn filter<'n>(names: impl Iterator<Item = (Kind, &'n [u8])>) -> Vec<u8> {
    let mut hashes: Vec<u64> = names.map(|(kind, name)| hash_of(kind, name)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let mut blocks = vec![[0; BLOCK]; (hashes.len() * PER_NAME).div_ceil(8 * BLOCK)];
    for hash in hashes {
        let (block, bits) = place(hash, blocks.len());
        bits.for_each(|bit| blocks[block][bit / 8] |= 1 << (bit % 8));
    }
    blocks.concat()
}

/// Whether a filter has a name. One of no bytes has none.
pub fn has(filter: &[u8], kind: Kind, name: &[u8]) -> bool {
    let blocks = filter.as_chunks::<BLOCK>().0;
    if blocks.is_empty() {
        return false;
    }
    let (block, mut bits) = place(hash_of(kind, name), blocks.len());
    bits.all(|bit| blocks[block][bit / 8] & 1 << (bit % 8) != 0)
}

fn hash_of(kind: Kind, name: &[u8]) -> u64 {
    spread(u64::from(hash(name)) | (kind as u64 + 1) << 32)
}

/// The highest bits of a product are those that all others reach.
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The block of a name, and its bits there.
fn place(hash: u64, blocks: usize) -> (usize, impl Iterator<Item = usize>) {
    let block = (u128::from(hash) * blocks as u128) >> 64;
    let bits = spread(hash ^ hash >> 32);
    (block as usize, (0..BITS).map(move |at| (bits >> (10 + 9 * at)) as usize % (8 * BLOCK)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(from: usize, to: usize) -> Vec<String> {
        (from..to).map(|at| format!("name_{at}")).collect()
    }

    #[test]
    fn what_is_in_it_is_found_and_little_else() {
        let own = names(0, 5000);
        let twice = own.iter().chain(&own).map(|name| (Kind::Function, name.as_bytes()));
        let bytes = filter(twice);
        assert_eq!(bytes.len(), (5000 * PER_NAME).div_ceil(512) * 64);
        assert!(own.iter().all(|name| has(&bytes, Kind::Function, name.as_bytes())));
        let wrong =
            |kind| names(5000, 15_000).iter().filter(|name| has(&bytes, kind, name.as_bytes())).count();
        assert!(wrong(Kind::Function) < 50, "{}", wrong(Kind::Function));
        assert!(wrong(Kind::Type) < 50, "{}", wrong(Kind::Type));
    }

    #[test]
    fn one_of_no_names_has_none() {
        assert!(!has(&filter([].into_iter()), Kind::Type, b"file"));
    }
}
