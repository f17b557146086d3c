//! The order of the tables of which every object has a range: by object, whichever batch has read it.
//!
//! Modules are read by folder, so that what they share is described once, and stand in the index by name. In a batch, what belongs
//! to one of its objects lies together:
//!
//! ```text
//! batch 71, drivers/net:  e1000e      tun         veth           objects 17, 40, 44 of the index
//!                         places 0..9 9..14       14..20
//! batch 72, fs:           ext4        fuse                       objects 18, 21
//! the table:              ... e1000e  ext4        fuse  ... tun  ... veth
//! ```
use super::Resolved;
use std::ops::Range;

/// What of a batch belongs to one of its objects, and how far it moves. In a batch of the kernel that is all.
#[derive(Clone)]
pub(super) struct Part {
    /// The batch, and the number of the object in it.
    pub(super) of: (usize, usize),
    /// The number of the object in the index.
    pub(super) object: u32,
    pub(super) units: Range<usize>,
    pub(super) places: Range<usize>,
    pub(super) files: Range<usize>,
    /// To be added to a position in the batch; it may wrap.
    pub(super) by: Shift,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Shift {
    pub(super) unit: u32,
    pub(super) place: u32,
    pub(super) file: u32,
}

/// The parts of all batches.
pub(super) struct Order {
    /// In the order of the tables.
    pub(super) parts: Vec<Part>,
    /// Of each batch, the positions in `parts` of those of its objects.
    of_batches: Vec<Vec<u32>>,
}

impl Order {
    pub(super) fn of(batches: &[Resolved<'_>]) -> Self {
        let mut parts: Vec<Part> =
            batches.iter().enumerate().flat_map(|(at, batch)| parts(at, batch)).collect();
        parts.sort_by_key(|part| (part.object, part.of));
        let mut of_batches: Vec<Vec<u32>> = batches.iter().map(|b| vec![0; b.objects.len()]).collect();
        let mut next = Shift::default();
        for (at, part) in (0..).zip(&mut parts) {
            let by = |next: u32, range: &Range<usize>| next.wrapping_sub(range.start as u32);
            part.by = Shift {
                unit: by(next.unit, &part.units),
                place: by(next.place, &part.places),
                file: by(next.file, &part.files),
            };
            next.unit += part.units.len() as u32;
            next.place += part.places.len() as u32;
            next.file += part.files.len() as u32;
            of_batches[part.of.0][part.of.1] = at;
        }
        Self { parts, of_batches }
    }

    /// What belongs to an object of a batch.
    #[inline]
    pub(super) fn part(&self, batch: usize, object: u32) -> &Part {
        &self.parts[self.of_batches[batch][object as usize] as usize]
    }

    /// The final number of a placement of a batch.
    pub(super) fn place(&self, batch: usize, place: u32) -> u32 {
        let own = &self.of_batches[batch];
        let at = own.partition_point(|part| self.parts[*part as usize].places.end <= place as usize);
        place.wrapping_add(self.parts[own[at] as usize].by.place)
    }
}

/// The parts of a batch, in its order.
fn parts<'b>(at: usize, b: &'b Resolved<'_>) -> impl Iterator<Item = Part> + use<'b> {
    let batch = b.batch;
    let mut unit = 0;
    b.objects.iter().enumerate().map(move |(number, object)| {
        let first = unit;
        unit += batch.units[unit..].partition_point(|u| u.object as usize <= number);
        let start = |unit: usize| match batch.units.get(unit) {
            Some(unit) => (unit.first_place as usize, unit.first_file as usize),
            None => (batch.places.len(), batch.files.len()),
        };
        let ((place, file), (place_end, file_end)) = (start(first), start(unit));
        Part {
            of: (at, number),
            object: *object,
            units: first..unit,
            places: place..place_end,
            files: file..file_end,
            by: Shift::default(),
        }
    })
}
