//! All tables that nothing else has to wait for.
use super::Adding;
use super::buckets::Buckets;
use super::pieces::{self, Piece};
use super::pool::{Owner, Pool};
use probeidx_format::id::{FunctionId, NameId, ObjectId, Pc, PlaceId, StrId, SymbolId, TypeId};
use probeidx_format::lines::{self, Row};
use probeidx_format::record::*;
use probeidx_format::store::Kernel;
use probeidx_format::store::record::*;
use probeidx_format::store::runs::Hint;
use probeidx_format::store::segment::Part;
use probeidx_format::store::translate::{Shared, Translate};
use probeidx_format::zerocopy::IntoBytes;
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use probeidx_format::{View, boundaries, frames, names};
use rustc_hash::FxHashMap;

/// The pieces of an object of a store, with their shared addresses.
pub fn shared_pieces(view: &View<'_>, kernel: &Kernel<'_>, object: ObjectId) -> Vec<(Piece, u32)> {
    let mut shared: FxHashMap<u32, u32> = FxHashMap::default();
    shared.reserve(view.sections_of(object).len() + view.symbols_of(object).len());
    let mut hint = Hint::default();
    let first = view.objects[object.index()].first_section.get();
    for (section, at) in view.sections_of(object).iter().zip(first..) {
        if let Some((_, row)) = kernel.stored::<SectionRecord>(at, &mut hint) {
            shared.insert(section.pc.get(), row.pc.get());
        }
    }
    let mut hint = Hint::default();
    let symbols = view.symbols_of(object);
    for (symbol, at) in view.symbols.part(symbols.clone()).iter().zip(symbols.start as u32..) {
        if let Some((_, row)) = kernel.stored::<SymbolRecord>(at, &mut hint) {
            shared.insert(symbol.pc.get(), row.pc.get());
        }
    }
    pieces::pieces(view, object)
        .into_iter()
        .filter_map(|piece| Some((piece, *shared.get(&piece.start)?)))
        .collect()
}

/// A key for each unit.
pub fn units(view: &View<'_>, key: impl Fn(ObjectId, UnitRecord) -> u64) -> Vec<u64> {
    let of_object = |object| view.units_of(object).map(move |unit| (object, unit));
    view.object_ids()
        .flat_map(of_object)
        .map(|(object, unit)| key(object, view.units[unit.index()]))
        .collect()
}

/// The files of a unit in the order of the kernel before, with new ones behind, and where each own file is there. A file
/// that is gone leaves a gap.
pub fn shared_files(own: &[StrId], before: &[StrId]) -> (Vec<StrId>, Vec<u32>) {
    let mut all: Vec<StrId> = vec![StrId::new(0); before.len()];
    let mut known = Buckets::of(before.len(), |at| before[at].get().into());
    let mut positions = vec![];
    for file in own {
        let at = known.take(file.get().into(), |at| before[at] == *file).unwrap_or(all.len());
        if at == all.len() {
            all.push(*file);
        } else {
            all[at] = *file;
        }
        positions.push(at as u32);
    }
    // What is gone at the end needs no gap.
    while all.last().is_some_and(|file| file.get() == 0) && !positions.contains(&(all.len() as u32 - 1)) {
        all.pop();
    }
    (all, positions)
}

impl Adding<'_> {
    pub(super) fn tables(&mut self, files: &[Vec<u32>], forget: &dyn Fn()) {
        self.postings();
        let mut of_units: Vec<UnitRecord> = self.view.units.to_vec();
        for (unit, first) in of_units.iter_mut().zip(&self.to.first_files) {
            unit.first_file.set(*first);
        }
        let of_units: Vec<UnitRecord> = of_units.iter().map(|unit| unit.translate(&self.to)).collect();
        self.share_rows(&of_units);
        self.of_objects::<SectionRecord>(|view, object| view.sections_of(object).iter().collect());
        self.of_objects::<SymbolRecord>(|view, object| {
            view.symbols.part(view.symbols_of(object)).iter().collect()
        });
        self.of_objects::<RangeRecord>(|view, object| view.ranges_of(object).iter().collect());
        self.of_objects::<SiteRecord>(|view, object| view.sites_of(object).iter().collect());
        self.refused();
        self.symbol_names();
        let first_sequences = self.sequences(files);
        forget();
        self.code();
        self.frames();
        self.users();
        self.btf_types();
        self.calls();
        self.tracepoints();
        self.labels();
        self.options();
        let mut objects: Vec<ObjectRecord> = self.view.objects.to_vec();
        for (object, first) in objects.iter_mut().zip(first_sequences) {
            object.first_sequence.set(first);
            object.build_id = [0; 20];
        }
        let objects: Vec<ObjectRecord> = objects.iter().map(|object| object.translate(&self.to)).collect();
        self.share_rows(&objects);
    }

    /// Shares a table with addresses, object by object.
    fn of_objects<R: Shared>(&mut self, of: impl Fn(&View<'_>, ObjectId) -> Vec<R>) {
        let mut records = vec![];
        for object in self.view.object_ids() {
            self.to.of_object(object.index());
            records.extend(of(self.view, object).into_iter().map(|record| record.translate(&self.to)));
        }
        self.share(&records);
    }
    /// The blacklist, which stays as it is.
    fn refused(&mut self) {
        let all = self.view.object_ids().flat_map(|object| self.view.refused_of(object));
        let bytes: Vec<u8> = all.flat_map(|refused| refused.as_bytes()).copied().collect();
        self.part(Part::Refused, bytes, 0, 0);
        let firsts = self.view.objects.iter().map(|object| PostingRecord { first: object.first_refused });
        let firsts: Vec<PostingRecord> = firsts.collect();
        self.packed(Part::FirstRefused, &firsts, 0);
    }
    fn postings(&mut self) {
        let (mut places, mut firsts): (Vec<PlaceId>, Vec<PostingRecord>) = Default::default();
        for function in 0..self.view.functions.owners().len() as u32 {
            firsts.push(PostingRecord { first: U32::new(places.len() as u32) });
            let own = self.view.places_of_function(FunctionId::new(function));
            places.extend(own.map(|place| place.translate(&self.to)));
        }
        firsts.push(PostingRecord { first: U32::new(places.len() as u32) });
        self.share(&places);
        let firsts: Vec<PostingRecord> = firsts.iter().map(|first| first.translate(&self.to)).collect();
        self.share(&firsts);
    }
    fn symbol_names(&mut self) {
        let ids: Vec<SymbolId> =
            self.view.all_symbol_names().iter().map(|id| id.translate(&self.to)).collect();
        self.share(&ids);
        let records = self.names();
        let first = self.before.map_or(0, |kernel| kernel.end(Part::Names));
        let rows = self.share_rows(&records);
        let own = self.view.names.iter().zip(&rows).filter(|(_, row)| **row >= first);
        let new: Vec<&[u8]> = own.map(|(name, _)| self.view.string(name.name)).collect();
        let hash = names::table(new.into_iter());
        self.part(Part::NameHash, hash, 0, 0);
    }
    /// Names, of which those that have no functions, or no symbols, here and before say what they said before.
    fn names(&self) -> Vec<NameRecord> {
        let mut records: Vec<NameRecord> =
            self.view.names.iter().map(|name| name.translate(&self.to)).collect();
        let Some(before) = self.before else { return records };
        let strings = before.end(Part::Strings) as usize;
        let has = |names: &mut dyn Iterator<Item = StrId>| {
            let mut has = vec![false; strings];
            names.for_each(|name| has.get_mut(name.index()).into_iter().for_each(|has| *has = true));
            has
        };
        let has_function = has(&mut before.all_stored::<FunctionRecord>().map(|(_, f)| f.name));
        let has_symbol = has(&mut before.all_stored::<SymbolRecord>().map(|(_, s)| s.name));
        let mut known = vec![None; strings];
        for (_, name) in before.all_stored::<NameRecord>() {
            known.get_mut(name.name.index()).into_iter().for_each(|known| *known = Some(name));
        }
        let owners = self.view.names.owners().len();
        for (id, record) in (0..).map(NameId::new).zip(&mut records[..owners]) {
            let at = record.name.index();
            let Some(before) = known.get(at).copied().flatten() else { continue };
            if !has_function[at] && self.view.functions_named(id).is_empty() {
                record.first_function = before.first_function;
            }
            if !has_symbol[at] && self.view.symbols_named(id).is_empty() {
                record.first_symbol = before.first_symbol;
            }
        }
        records
    }
    /// Cuts the rows of each sequence at the symbols; returns the first sequence of each object.
    fn sequences(&mut self, files: &[Vec<u32>]) -> Vec<u32> {
        let owner = |s: &SequenceRecord| {
            let unit = s.unit.get();
            Owner { key: u64::from(unit) << 32 | u64::from(s.start.get()), group: unit }
        };
        let known = self.before.into_iter().flat_map(Kernel::all_stored::<SequenceRecord>);
        let mut pool = Pool::new(Part::Lines, self.before, known.map(|(_, s)| (owner(&s), s.rows.get())));
        let (mut records, mut firsts, mut bytes) = (vec![], vec![], vec![]);
        let mut writer = lines::Writer::default();
        for object in self.view.object_ids() {
            firsts.push(records.len() as u32);
            self.to.of_object(object.index());
            let starts: Vec<u32> = function_starts(self.view, object);
            let mut put = |sequence: &SequenceRecord, end: u32, rows: &[Row]| {
                let start = rows.first().map_or(sequence.start.get(), |row| row.pc);
                let own = SequenceRecord {
                    start: Pc::new(start),
                    end: Pc::new(end),
                    unit: sequence.unit,
                    rows: U32::ZERO,
                };
                let mut record = own.translate(&self.to);
                bytes.clear();
                writer.put(&mut bytes, start, rows);
                record.rows.set(pool.put(&bytes, owner(&record)));
                records.push(record);
            };
            let mut rows: Vec<Row> = vec![];
            let mut of_unit = (None, vec![]);
            for sequence in self.view.sequences_of(object) {
                let own = files.get(sequence.unit.index()).map_or(&[][..], |files| files);
                if of_unit.0 != Some(sequence.unit) {
                    let paths = self.view.unit_files(sequence.unit);
                    let lines = paths.iter().map(|path| self.to.lines.of(self.to.string(path.get())));
                    of_unit = (Some(sequence.unit), lines.collect());
                }
                let mut cut = starts.partition_point(|start| *start <= sequence.start.get());
                rows.clear();
                for mut row in self.view.rows(sequence) {
                    if starts.get(cut).is_some_and(|start| *start <= row.pc) {
                        if !rows.is_empty() {
                            put(&sequence, row.pc, &rows);
                            rows.clear();
                        }
                        cut += starts[cut..].partition_point(|start| *start <= row.pc);
                    }
                    let file = row.position.file as usize;
                    if let (Some(at), Some(lines)) = (own.get(file), of_unit.1.get(file)) {
                        row.position.line = lines.shared(row.position.line);
                        row.position.file = *at;
                    }
                    rows.push(row);
                }
                put(&sequence, sequence.end.get(), &rows);
            }
        }
        firsts.push(records.len() as u32);
        self.bytes(pool);
        self.share(&records);
        firsts
    }
    /// Where instructions start, for each symbol with code.
    fn code(&mut self) {
        let known = self.before.into_iter().flat_map(Kernel::all_stored::<CodeRecord>);
        let known = known.map(|(_, code)| (at(code.start), code.boundaries.get()));
        let mut pool = Pool::new(Part::Boundaries, self.before, known);
        let (mut records, mut firsts): (Vec<CodeRecord>, Vec<PostingRecord>) = Default::default();
        for object in self.view.object_ids() {
            firsts.push(PostingRecord { first: U32::new(records.len() as u32) });
            self.to.of_object(object.index());
            let starts = function_starts(self.view, object);
            for section in self.view.sections_of(object) {
                let Some(bits) = self.view.instruction_starts(section) else { continue };
                let (start, end) = (section.pc.get(), section.pc.get() + section.size.get() as u32);
                let within =
                    starts.partition_point(|at| *at <= start)..starts.partition_point(|at| *at < end);
                let cuts = starts.get(within).unwrap_or_default();
                let mut from = start;
                for to in cuts.iter().copied().chain([end]) {
                    let part = bits_of(&bits, from - start, to - start);
                    let own = CodeRecord { start: Pc::new(from), end: Pc::new(to), boundaries: U32::ZERO };
                    let mut record = own.translate(&self.to);
                    let bytes = boundaries::encode(&part);
                    record.boundaries.set(pool.put(&bytes, at(record.start)));
                    records.push(record);
                    from = to;
                }
            }
        }
        firsts.push(PostingRecord { first: U32::new(records.len() as u32) });
        self.bytes(pool);
        self.share(&records);
        self.packed(Part::CodeStarts, &firsts, 0);
    }
    fn frames(&mut self) {
        let known = self.before.into_iter().flat_map(Kernel::all_stored::<FrameRecord>);
        let known = known.map(|(_, frame)| (at(frame.start), frame.rows.get()));
        let mut pool = Pool::new(Part::FrameRows, self.before, known);
        let mut records = vec![];
        let mut bytes = vec![];
        for object in self.view.object_ids() {
            self.to.of_object(object.index());
            for frame in self.view.frames_of(object) {
                let rows: Vec<frames::Row> = self.view.frame_rows(frame).collect();
                bytes.clear();
                frames::put(&mut bytes, frame.start.get(), &rows);
                let mut record = frame.translate(&self.to);
                record.rows.set(pool.put(&bytes, at(record.start)));
                records.push(record);
            }
        }
        self.bytes(pool);
        self.share(&records);
    }
    fn users(&mut self) {
        let (mut users, mut uses): (Vec<TypeUsersRecord>, Vec<UseRecord>) = Default::default();
        for record in self.view.all_type_users().owners() {
            users.push(TypeUsersRecord { type_id: record.type_id, first_use: U32::new(uses.len() as u32) });
            let own = self.view.users(record.type_id).map(|one| UseRecord {
                function: one.function,
                position: U32::new(one.position.min(0xffff) | one.depth.min(0xffff) << 16),
            });
            uses.extend(own.map(|one| one.translate(&self.to)));
        }
        users.push(TypeUsersRecord { type_id: TypeId::NONE, first_use: U32::new(uses.len() as u32) });
        self.share(&uses);
        let users: Vec<TypeUsersRecord> = users.iter().map(|one| one.translate(&self.to)).collect();
        self.share(&users);
    }
    fn btf_types(&mut self) {
        let own: Vec<BtfTypeRecord> =
            self.view.btf_types().iter().map(|one| one.translate(&self.to)).collect();
        self.share(&own);
    }
    fn calls(&mut self) {
        let (mut called, mut calls): (Vec<CalledRecord>, Vec<CallRecord>) = Default::default();
        for record in self.view.all_called().owners() {
            called.push(CalledRecord { function: record.function, first_call: U32::new(calls.len() as u32) });
            for call in self.view.calls(record.function) {
                self.to.of_object(call.object.index());
                let is_tail = U32::new(call.is_tail.into());
                calls.push(CallRecord { object: call.object, pc: call.pc, is_tail }.translate(&self.to));
            }
        }
        called.push(CalledRecord { function: FunctionId::NONE, first_call: U32::new(calls.len() as u32) });
        self.share(&calls);
        let called: Vec<CalledRecord> = called.iter().map(|one| one.translate(&self.to)).collect();
        self.share(&called);
    }
    fn tracepoints(&mut self) {
        let fields: Vec<EventFieldRecord> =
            self.view.all_event_fields().iter().map(|f| f.translate(&self.to)).collect();
        self.share(&fields);
        let mut records = vec![];
        for tracepoint in self.view.tracepoints() {
            self.to.of_object(tracepoint.object.index());
            records.push(tracepoint.translate(&self.to));
        }
        self.share(&records);
    }
    fn labels(&mut self) {
        let labels: Vec<LabelRecord> = self
            .view
            .labels()
            .map(|label| LabelRecord {
                place: label.place,
                name: label.name,
                line: U32::new(label.line as u32),
                distance: U32::new(label.distance as u32),
                block: U32::new(label.block),
            })
            .map(|label| label.translate(&self.to))
            .collect();
        self.share(&labels);
    }
    fn options(&mut self) {
        let options: Vec<OptionRecord> = self
            .view
            .options()
            .map(|(name, value)| OptionRecord {
                name: StrId::new(self.to.text(name)),
                value: StrId::new(self.to.text(value)),
            })
            .collect();
        self.share(&options);
    }
}

/// What belongs to an address.
fn at(start: Pc) -> Owner {
    Owner { key: start.get().into(), group: 0 }
}

/// Where the functions of an object's symbol table start, ascending.
fn function_starts(view: &View<'_>, object: ObjectId) -> Vec<u32> {
    let symbols = view.symbols.part(view.symbols_of(object));
    let mut starts: Vec<u32> = symbols.iter().filter(|s| s.is_function()).map(|s| s.pc.get()).collect();
    starts.dedup();
    starts
}

/// A part of a bit string.
fn bits_of(bits: &[u8], from: u32, to: u32) -> Vec<u8> {
    let byte = |at: usize| bits.get(at).copied().unwrap_or(0);
    let (first, shift) = (from as usize / 8, from % 8);
    let length = (to - from) as usize;
    let whole = |at: usize| u16::from_le_bytes([byte(at), byte(at + 1)]) >> shift;
    let mut part: Vec<u8> = (first..first + length.div_ceil(8)).map(|at| whole(at) as u8).collect();
    // What follows is not of it.
    if let Some(last) = part.last_mut()
        && !length.is_multiple_of(8)
    {
        *last &= (1 << (length % 8)) - 1;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_bit_string() {
        let bits = [0b1010_0101, 0b0011_1100, 0b1111_0000, 0b1000_0001];
        let bit = |bits: &[u8], at: u32| bits.get(at as usize / 8).is_some_and(|b| b >> (at % 8) & 1 != 0);
        for from in 0..34 {
            for to in from..40 {
                let part = bits_of(&bits, from, to);
                assert_eq!(part.len(), (to - from).div_ceil(8) as usize, "{from}..{to}");
                for at in 0..8 * part.len() as u32 {
                    assert_eq!(bit(&part, at), at < to - from && bit(&bits, from + at), "{from}..{to} {at}");
                }
            }
        }
    }
}
