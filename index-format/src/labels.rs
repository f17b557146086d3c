//! Labels with an address (`DW_TAG_label`): about one per twenty placements.
//!
//! `labels` is a stream of numbers, five per label, by placement and address: the placement less that of the previous
//! label (the first: less 0), the name's `StrId`, the line less that of the function (signed), the address less the
//! entry of the placement (signed), and the number of its lexical block as in the details of the placement, from 1
//! (0: none). The file is that of the function.
use crate::id::{PlaceId, StrId};
use crate::store::record::LabelRecord;
use crate::table::{Table, Walk};
use crate::varint::{self, Reader};

/// A label in the code of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The placement that contains it.
    pub place: PlaceId,
    /// Its name.
    pub name: StrId,
    /// Its line, relative to the function's declaration.
    pub line: i32,
    /// Its address, relative to the entry of the placement.
    pub distance: i32,
    /// Its lexical block, from 1; 0 is the outermost scope.
    pub block: u32,
}

/// Appends a label; `before` is the placement of the previous one, or 0.
pub fn put(out: &mut Vec<u8>, before: &mut u32, label: Label) {
    varint::put(out, label.place.get().wrapping_sub(*before).into());
    varint::put(out, label.name.get().into());
    varint::put_signed(out, label.line.into());
    varint::put_signed(out, label.distance.into());
    varint::put(out, label.block.into());
    *before = label.place.get();
}

/// All labels, in order. Cost: about ten bytes each.
#[derive(Clone, Copy)]
pub struct Labels<'a> {
    reader: Reader<'a>,
    place: u32,
    shared: Walk<'a, LabelRecord>,
}

impl<'a> Labels<'a> {
    /// Reads the section.
    pub fn read(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), place: 0, shared: Walk::none() }
    }
    /// Those of a store.
    pub fn of_rows(shared: Table<'a, LabelRecord>) -> Self {
        Self { reader: Reader::new(&[]), place: 0, shared: Walk::of(shared) }
    }
}

impl Iterator for Labels<'_> {
    type Item = Label;

    #[inline]
    fn next(&mut self) -> Option<Label> {
        if self.reader.rest().is_empty() {
            let LabelRecord { place, name, line, distance, block } = self.shared.next()?;
            let (line, distance) = (line.get() as i32, distance.get() as i32);
            return Some(Label { place, name, line, distance, block: block.get() });
        }
        self.place = self.place.wrapping_add(self.reader.number32());
        Some(Label {
            place: PlaceId::new(self.place),
            name: StrId::new(self.reader.number32()),
            line: self.reader.signed() as i32,
            distance: self.reader.signed() as i32,
            block: self.reader.number32(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_are_read_as_they_were_written(
            labels in prop::collection::vec((any::<u32>(), any::<u32>(), any::<i32>(), any::<i32>(), any::<u32>()), 0..20),
        ) {
            let mut labels: Vec<Label> = labels
                .into_iter()
                .map(|(place, name, line, distance, block)| {
                    Label { place: PlaceId::new(place), name: StrId::new(name), line, distance, block }
                })
                .collect();
            labels.sort_by_key(|l| l.place);
            let (mut out, mut before) = (vec![], 0);
            labels.iter().for_each(|l| put(&mut out, &mut before, *l));
            prop_assert_eq!(Labels::read(&out).collect::<Vec<_>>(), labels);
        }

        #[test]
        fn damaged_labels_end(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(Labels::read(&bytes).count() <= bytes.len());
        }
    }
}
