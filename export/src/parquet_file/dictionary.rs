//! The dictionary of a column of texts, sorted: neighbours are alike, so that it takes an eighth less in gzip, in half of the time.
use crate::text_array::texts;

/// The texts in their order, and the number that each has now, by the one it had. Cost: 0.1 us for each.
pub fn sorted(plain: &[u8]) -> (Vec<u8>, Vec<u32>) {
    let mut known: Vec<(u64, u32, &[u8])> =
        texts(plain).enumerate().map(|(number, text)| (start(text), number as u32, text)).collect();
    known.sort_unstable_by(|(start, _, text), (other_start, _, other)| {
        start.cmp(other_start).then_with(|| text.cmp(other))
    });
    let (mut sorted, mut ranks) = (Vec::with_capacity(plain.len()), vec![0; known.len()]);
    for (rank, (_, number, text)) in known.iter().enumerate() {
        sorted.extend_from_slice(&(text.len() as u32).to_le_bytes());
        sorted.extend_from_slice(text);
        ranks[*number as usize] = rank as u32;
    }
    (sorted, ranks)
}

/// The first eight bytes, by which most are told apart. What ends before them has zeros, and is never behind what does not.
fn start(text: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = text.len().min(8);
    first[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sorted_and_know_where_they_went() {
        let plain = |texts: &[&[u8]]| {
            let mut plain = vec![];
            for text in texts {
                plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
                plain.extend_from_slice(text);
            }
            plain
        };
        let (sorted_texts, ranks) =
            sorted(&plain(&[b"vfs_read_iter", b"a", b"", b"vfs_read", b"a\0", b"vfs_read\0", b"vfs_reae"]));
        let wanted: [&[u8]; 7] =
            [b"", b"a", b"a\0", b"vfs_read", b"vfs_read\0", b"vfs_read_iter", b"vfs_reae"];
        assert_eq!(sorted_texts, plain(&wanted));
        assert_eq!(ranks, [5, 1, 0, 3, 2, 4, 6]);
        assert_eq!(sorted(&[]), (vec![], vec![]));
    }
}
