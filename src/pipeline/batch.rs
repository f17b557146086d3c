//! What becomes of a batch once it is read.
use crate::dwarf::Gathered;
use crate::dwarf::facts::Batch;
use crate::merge::intern::Interner;
use crate::merge::{Encoded, Extracted};
use crate::write::Aside;

/// Where the strings of batches go, and what of them has its final form.
#[derive(Clone, Copy)]
pub struct Stores<'k> {
    pub interner: &'k Interner,
    pub aside: &'k Aside,
}

impl Stores<'_> {
    /// Finishes the batch that was gathered; its memory is for the next one.
    pub fn finish(self, gathered: &mut Gathered) -> Extracted {
        let encoded = self.encoded(gathered.facts());
        self.extracted(gathered.finish(), encoded)
    }

    /// Finishes a batch.
    pub fn finish_batch(self, mut batch: Batch) -> Extracted {
        let encoded = self.encoded(&mut batch);
        self.extracted(batch, encoded)
    }

    /// Puts aside what only the index needs.
    fn encoded(self, batch: &mut Batch) -> Encoded {
        let put = |bytes: &mut Vec<u8>| {
            let piece = self.aside.put(bytes);
            bytes.clear();
            piece
        };
        Encoded {
            details: put(&mut batch.details),
            lines: put(&mut batch.lines),
            frame_rows: put(&mut batch.frame_rows),
        }
    }

    fn extracted(self, batch: Batch, encoded: Encoded) -> Extracted {
        Extracted { strings: self.interner.intern_all(&batch.strings), batch, encoded, objects: vec![0] }
    }
}
