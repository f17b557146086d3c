//! Which rows of segments the records of a table are.
use super::Kernel;
use crate::store::runs::Hint;
use crate::store::segment::{Part, Space};
use crate::table::Piece;
use std::ops::Range;

impl Kernel<'_> {
    /// So many rows from a shared one on.
    pub(super) fn piece(&self, part: Part, row: u32, length: u32, own: Option<u32>) -> Piece<'_> {
        let (segment, entry, at) = self.segment(part, row);
        let table = (segment.part(part), entry.records.get());
        Piece { table, rows: at..at.saturating_add(length), shared: row, own }
    }
    /// The rows in which those of a part of a table are: of most of a table those of all segments, of which few lead back.
    pub(super) fn pieces_of(&self, space: Space, part: Part, own: Range<u32>) -> Vec<Piece<'_>> {
        let piece = |row, length, own| self.piece(part, row, length, own);
        if space.is_referred_to() && own.len() as u32 > self.length(space) / 2 {
            let entries = self.chain().iter().map(|segment| segment.entry(part));
            let entries = entries.filter(|entry| entry.records.get() > 0);
            return entries.map(|entry| piece(entry.first.get(), entry.records.get(), None)).collect();
        }
        let (mut pieces, mut hint, mut at) = (vec![], Hint::default(), own.start);
        while at < own.end {
            let Some(row) = self.levels().there(space, at, &mut hint) else { break };
            let run = hint.get(at).map_or(1, |(_, left)| left);
            // A run may lie in several segments.
            let (_, entry, position) = self.segment(part, row);
            let length = entry.records.get().saturating_sub(position).min(run).min(own.end - at);
            if length == 0 {
                break;
            }
            pieces.push(piece(row, length, Some(at)));
            at += length;
        }
        pieces
    }
}
