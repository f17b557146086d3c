//! Texts of Arrow, made of numbers of a dictionary: what is UTF-8 is then known of all at once.
use crate::numbering::{NULL, Numbered};
use arrow_array::{ListArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// The texts of rows that are a group of their own.
pub fn text_array(rows: &Numbered) -> StringArray {
    let known: Vec<&[u8]> = texts(&rows.new).collect();
    let text = |number: &u32| known.get(*number as usize).copied().unwrap_or_default();
    let lengths = rows.numbers.iter().map(|number| text(number).len());
    let mut values = Vec::with_capacity(lengths.clone().sum());
    rows.numbers.iter().for_each(|number| values.extend_from_slice(text(number)));
    let offsets = OffsetBuffer::from_lengths(lengths);
    StringArray::try_new(offsets, Buffer::from_vec(values), nulls(&rows.numbers)).expect("each text is UTF-8")
}

/// Lists of texts: how many texts each row has, or [`NULL`], and the texts of all, one after another, none of which is null.
pub fn list_array(lengths: &[u32], values: &Numbered) -> ListArray {
    let count = |length: &u32| if *length == NULL { 0 } else { *length as usize };
    let offsets = OffsetBuffer::from_lengths(lengths.iter().map(count));
    let element = Arc::new(Field::new("element", DataType::Utf8, false));
    ListArray::try_new(element, offsets, Arc::new(text_array(values)), nulls(lengths))
        .expect("the lengths are those of the lists")
}

/// Which rows are null, if any is.
fn nulls(numbers: &[u32]) -> Option<NullBuffer> {
    numbers.contains(&NULL).then(|| NullBuffer::from_iter(numbers.iter().map(|number| *number != NULL)))
}

/// The texts of a dictionary: the length of each is before it.
pub fn texts(mut plain: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = plain.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        plain = rest;
        Some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn rows_have_their_texts() {
        let rows = |numbers: &[u32]| Numbered {
            numbers: numbers.to_vec(),
            new: b"\x02\0\0\0ok\0\0\0\0\x02\0\0\0\xc3\xa4".to_vec(),
            count: 3,
        };
        let some = text_array(&rows(&[0, 2, NULL, 1, 0]));
        assert_eq!(some.iter().collect::<Vec<_>>(), [Some("ok"), Some("\u{e4}"), None, Some(""), Some("ok")]);
        assert_eq!((text_array(&rows(&[1])).null_count(), text_array(&Numbered::default()).len()), (0, 0));
    }
}
