//! Counts the symbols that are written, and finds the lengths of their codes.
use super::{GROUPS, LONGEST, SYMBOL_COUNT};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static COUNTS: [AtomicU64; SYMBOL_COUNT] = [const { AtomicU64::new(0) }; SYMBOL_COUNT];

#[inline]
pub(super) fn count(at: usize) {
    COUNTS[at].fetch_add(1, Relaxed);
}

/// How often each symbol was written so far.
pub fn counts() -> Vec<u64> {
    COUNTS.iter().map(|count| count.load(Relaxed)).collect()
}

/// The text of `lengths.rs` for these counts.
pub fn lengths_file(counts: &[u64]) -> String {
    let mut text = String::from(
        "//! The length of each symbol's code, as a hexadecimal digit: a line per context. Written by `examples/train.rs`.\n\
         pub(super) const LENGTHS: [&str; super::CONTEXTS] = [\n",
    );
    let mut rest = counts;
    for &(name, contexts, symbols) in GROUPS {
        writeln!(text, "    // {name}").unwrap();
        for _ in 0..contexts {
            let (own, others) = rest.split_at(symbols);
            let digits: String = lengths(own).iter().map(|l| char::from_digit(*l, 16).unwrap()).collect();
            writeln!(text, "    \"{digits}\",").unwrap();
            rest = others;
        }
    }
    text + "];\n"
}

/// For these counts, each group's name, number of symbols, and bytes of their codes, without the bits that follow.
pub fn sizes(counts: &[u64]) -> Vec<(&'static str, u64, u64)> {
    let mut rest = counts.iter().zip(&super::CODES);
    let of_group = |&(name, contexts, symbols): &(&'static str, usize, usize)| {
        let own = rest.by_ref().take(contexts * symbols);
        let (count, bits) =
            own.fold((0, 0), |(all, bits), (count, code)| (all + count, bits + count * u64::from(code & 15)));
        (name, count, bits / 8)
    };
    GROUPS.iter().map(of_group).collect()
}

/// The lengths of a Huffman code, at most [`LONGEST`].
fn lengths(counts: &[u64]) -> Vec<u32> {
    let total: u64 = counts.iter().sum();
    // What is rarer than the longest code suggests counts as that; more so until all codes are short enough.
    let mut least = (total >> LONGEST).max(1);
    loop {
        let found = huffman(counts.iter().map(|count| (*count).max(least)));
        if found.iter().all(|length| *length <= LONGEST) {
            return found;
        }
        least += least.div_ceil(2);
    }
}

fn huffman(counts: impl Iterator<Item = u64>) -> Vec<u32> {
    let mut heap: BinaryHeap<_> =
        counts.enumerate().map(|(symbol, count)| Reverse((count, symbol))).collect();
    let symbols = heap.len();
    let mut parents = vec![0; symbols];
    while let (Some(Reverse(a)), Some(Reverse(b))) = (heap.pop(), heap.pop()) {
        let node = parents.len();
        (parents[a.1], parents[b.1]) = (node, node);
        parents.push(0);
        heap.push(Reverse((a.0 + b.0, node)));
        if heap.len() == 1 {
            break;
        }
    }
    let mut depths = vec![0; parents.len()];
    for node in (0..parents.len() - 1).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(symbols);
    depths
}
