//! Parquet's encoding DELTA_BYTE_ARRAY: what each text has in common with the one before as a length, and the rest of it.
//! (<https://parquet.apache.org/docs/file-format/data-pages/encodings/>)
//!
//! The `parquet` crate (60.1) looks at the text of each row; here a name is looked at once, however many rows in turn have it.
use super::distances;
use crate::numbering::{NULL, Numbered};
use crate::text_array::texts;
use std::iter::zip;

/// Appends the texts of rows, none of which is null. All texts are among those that are new.
pub fn encode(rows: &Numbered, out: &mut Vec<u8>) {
    let known: Vec<&[u8]> = texts(&rows.new).collect();
    let count = rows.numbers.len();
    let (mut common, mut left) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut rests = vec![];
    let mut before: (u32, &[u8]) = (NULL, &[]);
    for number in &rows.numbers {
        let text = known.get(*number as usize).copied().unwrap_or_default();
        let shared = match *number == before.0 {
            true => text.len(),
            false => zip(text, before.1).take_while(|(one, other)| one == other).count(),
        };
        common.push(shared as u32);
        left.push((text.len() - shared) as u32);
        rests.extend_from_slice(&text[shared..]);
        before = (*number, text);
    }
    distances::encode(&common, out);
    distances::encode(&left, out);
    out.extend_from_slice(&rests);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbering::{KnownBy, Texts};

    #[test]
    fn a_text_says_what_it_has_in_common_with_the_one_before() {
        let mut column = Texts::new(KnownBy::Row);
        [&b"vfs_read"[..], b"vfs_read", b"vfs_readv", b"vfs_write", b""]
            .into_iter()
            .for_each(|text| column.text(text));
        let mut page = vec![];
        encode(&column.take(true), &mut page);
        let mut wanted = vec![];
        // The second row is another text for all that is known of it, and has all in common with the first.
        distances::encode(&[0, 8, 8, 4, 0], &mut wanted);
        distances::encode(&[8, 0, 1, 5, 0], &mut wanted);
        wanted.extend_from_slice(b"vfs_readvwrite");
        assert_eq!(page, wanted);
    }
}
