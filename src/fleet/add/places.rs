//! Placements: their details with shared addresses, lines and files.
use super::Adding;
use super::numbers::Numbers;
use super::pool::{Owner, Pool};
use probeidx_format::details::{Buffer, CallSite, Moving, Range, copy};
use probeidx_format::id::{ObjectId, PlaceId, UnitId};
use probeidx_format::record::PlaceRecord;
use probeidx_format::store::moved::encoded;
use probeidx_format::store::segment::{Free, Space};
use probeidx_format::store::translate::{Shared, Translate};
use probeidx_format::store::{Kernel, Part};

impl Adding<'_> {
    /// Shares all placements, given the shared positions of each unit's files.
    pub(super) fn places(&mut self, files: &[Vec<u32>]) {
        let known = self.before.into_iter().flat_map(Kernel::all_stored::<PlaceRecord>);
        let known = known.map(|(_, place)| (owner(&place), place.details.get()));
        let mut pool = Pool::new(Part::PlaceDetails, self.before, known);
        let mut buffer = Buffer::default();
        let mut records = Vec::with_capacity(self.view.places.len());
        for object in self.view.object_ids() {
            self.to.of_object(object.index());
            for unit in self.view.units_of(object) {
                for at in self.view.places_of_unit(unit) {
                    let id = PlaceId::new(at as u32);
                    let place = self.view.places.at(at);
                    let mut record = place.translate(&self.to);
                    self.write(
                        object,
                        unit,
                        &files[unit.index()],
                        (id, place),
                        record.entry.get(),
                        &mut buffer,
                    );
                    record.details.set(pool.put(buffer.bytes(), owner(&record)));
                    records.push(record);
                }
            }
        }
        let known: Vec<u64> = pool.keys().collect();
        self.bytes(pool);
        let own: Vec<u64> = records.iter().map(|record| owner(record).key).collect();
        self.call(Space::PlaceIds, &own, &known, Free::Places);
        drop((own, known));
        self.share_rows(&records);
    }

    /// Writes the details of a placement in shared numbers.
    fn write(
        &self,
        object: ObjectId,
        unit: UnitId,
        files: &[u32],
        (id, place): (PlaceId, PlaceRecord),
        entry: u32,
        buffer: &mut Buffer,
    ) {
        let details = self.view.details(id, place);
        let base = self.view.objects[object.index()].base.get();
        let call = details.call.map(|call| {
            let path = self.to.string(self.view.unit_file(unit, call.file).get());
            let file = files.get(call.file as usize).copied().unwrap_or(call.file);
            CallSite { file, line: self.to.line(path, call.line), column: call.column }
        });
        copy(details, entry, call, &mut Shift { to: &self.to, base }, buffer);
    }
}

/// What a placement is recognized by: its function and entry.
fn owner(place: &PlaceRecord) -> Owner {
    let function = place.function.get();
    Owner { key: u64::from(function) << 32 | u64::from(place.entry.get()), group: function }
}

/// Gives the addresses of an object shared ones.
struct Shift<'a> {
    to: &'a Numbers,
    base: u64,
}

impl Moving for Shift<'_> {
    fn range(&mut self, range: Range) -> Range {
        let start = self.to.pc(range.start);
        Range { start, end: start.wrapping_add(range.end.wrapping_sub(range.start)) }
    }
    fn address(&mut self, address: u64) -> u64 {
        let pc = u32::try_from(address.wrapping_sub(self.base)).ok();
        pc.and_then(|pc| self.to.shared_pc(pc)).map_or(address, |pc| encoded(pc, self.base))
    }
}
