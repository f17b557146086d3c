//! Adds a kernel: what of it other kernels have, and what is new.
//!
//! The tables of its index are gone through in the order of what refers to what: strings, objects, addresses, lines,
//! types, functions, placements, and all others. Each record is given in shared numbers and looked for among those of
//! the kernel before.
mod base;
mod buckets;
mod functions;
mod lines;
mod numbers;
mod pieces;
mod places;
mod pool;
mod rows;
mod strings;
mod tables;
mod types;

use crate::query::diff;
use base::relative;
use buckets::Buckets;
use numbers::Numbers;
use pool::{Owner, Pool};
use probeidx_format::id::{StrId, UnitId};
use probeidx_format::record::*;
use probeidx_format::store::BLOBS;
use probeidx_format::store::Kernel;
use probeidx_format::store::changed::{self, Changed};
use probeidx_format::store::record::PatchedRecord;
use probeidx_format::store::runs::back;
use probeidx_format::store::runs::levels::SpaceRecord;
use probeidx_format::store::runs::{Builder, Hint, Run, encode};
use probeidx_format::store::segment::{Blob, Free, Own, Part, SegmentId, SegmentWriter, Space};
use probeidx_format::store::translate::{Shared, Translate};
use probeidx_format::table::{Packed, pack};
use probeidx_format::zerocopy::IntoBytes;
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use probeidx_format::{SectionName, View};
use rows::place;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// The segment of a kernel, given its index and the kernel that it is compared with. `forget` is called when most of what was read
/// of the index so far is not read again.
///
/// # Errors
/// What cannot be shared; only an index that is damaged has something of the kind.
pub fn segment(view: &View<'_>, before: Option<&Kernel<'_>>, forget: &dyn Fn()) -> Result<Vec<u8>, String> {
    let depth = before.map_or(0, |before| base::depth(before, view));
    let base = before.map(|before| base::of(before, depth)).transpose().map_err(|e| e.to_string())?.flatten();
    let mut added = Adding::new(view, before, base.as_ref().or(before), depth).run(forget)?;
    if let Some((changed, filter)) = before.and_then(|before| differences(before, &added.write())) {
        let (bytes, records) = changed::part(&changed, filter.as_deref());
        added.parts[Part::Changed as usize] = (bytes, records, 0);
    }
    Ok(added.write())
}

/// What differs from the kernel before, given the segment but for that: see [`diff::changed`].
fn differences(before: &Kernel<'_>, segment: &[u8]) -> Option<(Changed, Option<Vec<u8>>)> {
    let chain = before.chain().iter().map(|segment| segment.bytes).chain([segment]);
    let kernel = Kernel::open(chain).ok()?;
    diff::changed([&View::of_store(before), &View::of_store(&kernel)])
}

/// All that is written of a kernel.
struct Added {
    /// Bytes, records and the first number of each part.
    parts: Vec<(Vec<u8>, u32, u32)>,
    own: Own,
}

impl Added {
    fn write(&self) -> Vec<u8> {
        let mut writer = SegmentWriter::default();
        for (part, (bytes, records, first)) in Part::ALL.iter().zip(&self.parts) {
            writer.part(*part, bytes, *records, *first);
        }
        writer.finish(&self.own)
    }
}

struct Adding<'v> {
    view: &'v View<'v>,
    before: Option<&'v Kernel<'v>>,
    /// The kernel to whose numbers the runs lead.
    base: Option<&'v Kernel<'v>>,
    /// How many segments of its line are before it.
    depth: u32,
    /// The kernel before as if it had an index.
    known: Option<View<'v>>,
    to: Numbers,
    free: [u32; Free::COUNT],
    runs: Vec<Vec<Run>>,
    lengths: Vec<u32>,
    parts: Vec<(Vec<u8>, u32, u32)>,
    patched: Vec<PatchedRecord>,
    /// How many things a comparison with another kernel has.
    compared: u32,
}

impl<'v> Adding<'v> {
    fn new(
        view: &'v View<'v>,
        before: Option<&'v Kernel<'v>>,
        base: Option<&'v Kernel<'v>>,
        depth: u32,
    ) -> Self {
        let free = |kernel: &Kernel<'_>| kernel.own().header.free.map(U32::get);
        let spaces = Space::ALL.len();
        Self {
            view,
            before,
            base,
            depth,
            known: before.map(View::of_store),
            to: Numbers::new(vec![], FxHashMap::default()),
            // 0 is not an address.
            free: before.map_or([0, 0, 0, 4096, lines::FIRST_FREE, 0, 0], free),
            runs: vec![vec![]; spaces],
            lengths: vec![0; spaces],
            parts: vec![(vec![], 0, 0); Part::ALL.len()],
            patched: vec![],
            compared: 0,
        }
    }

    fn run(mut self, forget: &dyn Fn()) -> Result<Added, String> {
        // Both read the index on their own, so they come before it is forgotten.
        self.compared = diff::count(self.view);
        self.blobs();
        self.strings();
        self.objects();
        self.addresses();
        self.lines();
        self.types();
        self.functions();
        let files = self.unit_files();
        self.places(&files);
        forget();
        self.tables(&files, forget);
        forget();
        match self.to.unknown() {
            0 => Ok(self.finish()),
            unknown => Err(format!("{unknown} references lead nowhere")),
        }
    }

    fn part(&mut self, part: Part, bytes: Vec<u8>, records: u32, first: u32) {
        self.parts[part as usize] = (bytes, records, first);
    }
    fn bytes(&mut self, pool: Pool<'_>) {
        let part = pool.part();
        let (bytes, first, patched) = pool.finish();
        self.part(part, bytes, 0, first);
        self.patched.extend(patched);
    }
    fn packed<R: Record>(&mut self, part: Part, rows: &[R], first: u32) {
        let Packed { records, bytes } = pack(rows);
        self.part(part, bytes, records, first);
    }
    fn numbered(&mut self, space: Space, runs: Builder, length: usize) {
        let runs = match self.base {
            Some(base) => relative(space, &runs, base),
            None => runs,
        };
        self.runs[space as usize] = runs.finish();
        self.lengths[space as usize] = length as u32;
    }
    /// Shares a table whose records are in shared numbers already.
    fn share<R: Shared>(&mut self, records: &[R]) {
        let rows = self.share_rows(records);
        self.to.set(R::SPACE, rows);
    }
    /// What a space is called by other tables: see [`types::numbers`].
    fn call(&mut self, space: Space, own: &[u64], before: &[u64], free: Free) {
        // What is looked for comes mostly in the order of the kernel before.
        let hint = Cell::new(Hint::default());
        let known = self.before.map(|before| before.levels());
        let number = |at: usize| {
            let mut near = hint.get();
            let number = known?.there(space, at as u32, &mut near);
            hint.set(near);
            number
        };
        let numbers = types::numbers(own, before, number, &mut self.free[free as usize]);
        let mut runs = Builder::default();
        numbers.iter().for_each(|number| runs.push(*number));
        self.numbered(space, runs, numbers.len());
        self.to.set(space, numbers);
    }

    fn strings(&mut self) {
        let strings::Strings { numbers, new, count, first, others } =
            strings::share(self.view, self.before, &self.numbered_names());
        self.to = Numbers::new(numbers, others);
        self.part(Part::Strings, new, count, first);
    }
    fn objects(&mut self) {
        let own: Vec<u64> =
            self.view.objects.iter().map(|o| u64::from(self.to.string(o.name.get())) << 1).collect();
        let before: Vec<u64> =
            self.known.iter().flat_map(|k| k.objects).map(|o| u64::from(o.name.get()) << 1).collect();
        // The last record is none.
        self.call(
            Space::ObjectIds,
            &own[..own.len() - 1],
            before.get(..before.len().saturating_sub(1)).unwrap_or_default(),
            Free::Objects,
        );
    }
    fn types(&mut self) {
        let string = |id: u32| self.to.string(id);
        let own = types::Keys::all(self.view, &string);
        let before = self.known.as_ref().map(|known| types::Keys::all(known, &|id| id)).unwrap_or_default();
        self.call(Space::TypeIds, &own, &before, Free::Types);
        let members: Vec<MemberRecord> =
            self.view.all_members().iter().map(|member| member.translate(&self.to)).collect();
        self.share(&members);
        let types: Vec<TypeRecord> = self.view.types.iter().map(|t| t.translate(&self.to)).collect();
        self.share_rows(&types);
    }
    /// As [`share`](Self::share), of records that others call by another number; returns the row of each.
    fn share_rows<R: Shared>(&mut self, records: &[R]) -> Vec<u32> {
        let placed = place(records, self.before);
        self.packed(R::PART, &placed.new, placed.first);
        self.numbered(R::SPACE, placed.runs, records.len());
        placed.rows
    }
    /// For each unit, the shared position of each of its files.
    fn unit_files(&mut self) -> Vec<Vec<u32>> {
        let key = |object: u64, name: u64| object << 32 | name;
        let own: Vec<u64> = tables::units(self.view, |object, unit| {
            let object = self.to.number(Space::ObjectIds, object.get());
            key(object.into(), self.to.string(unit.name.get()).into())
        });
        let before: Vec<u64> = self
            .known
            .iter()
            .flat_map(|known| {
                let objects = self.before.map(|before| before.levels());
                tables::units(known, |object, unit| {
                    let object = objects
                        .and_then(|o| o.there(Space::ObjectIds, object.get(), &mut Hint::default()))
                        .unwrap_or(u32::MAX);
                    key(object.into(), unit.name.get().into())
                })
            })
            .collect();
        self.call(Space::UnitIds, &own, &before, Free::Units);
        let mut known = Buckets::of(before.len(), |at| before[at]);
        let (mut all, mut positions, mut starts) = (vec![], vec![], vec![]);
        for (unit, key) in own.iter().enumerate() {
            let files = self.view.unit_files(UnitId::new(unit as u32));
            let files: Vec<StrId> = files.iter().map(|file| file.translate(&self.to)).collect();
            let same = known.take(*key, |at| before[at] == *key);
            let before: Vec<StrId> = match (&self.known, same) {
                (Some(known), Some(unit)) => known.unit_files(UnitId::new(unit as u32)).iter().collect(),
                _ => vec![],
            };
            let (shared, own) = tables::shared_files(&files, &before);
            starts.push(all.len() as u32);
            all.extend(shared);
            positions.push(own);
        }
        starts.push(all.len() as u32);
        self.share(&all);
        self.to.first_files = starts;
        positions
    }
    fn blobs(&mut self) {
        let known = (0..BLOBS.len()).filter_map(|number| {
            let before = self.before?.blob_place(number);
            Some((Owner { key: number as u64, group: before.length.get() }, before.start.get()))
        });
        let mut pool = Pool::new(Part::Blobs, self.before, known);
        let mut places = vec![];
        for (number, name) in BLOBS.iter().enumerate() {
            let bytes = match name {
                SectionName::Meta => self.meta(),
                name => self.view.section(*name).to_vec(),
            };
            let owner = Owner { key: number as u64, group: bytes.len() as u32 };
            let start = U32::new(pool.put(&bytes, owner));
            places.push(Blob { start, length: U32::new(bytes.len() as u32) });
        }
        self.bytes(pool);
        self.part(Part::BlobPlaces, places.as_bytes().to_vec(), 0, 0);
        let ids: Vec<u8> =
            self.view.objects.iter().take(self.view.objects.len() - 1).flat_map(|o| o.build_id).collect();
        self.part(Part::BuildIds, ids, 0, 0);
    }
    /// The metadata without the files that were read: whether they changed is asked of an index only.
    fn meta(&self) -> Vec<u8> {
        let mut meta = self.view.meta().unwrap_or_default();
        meta.inputs.clear();
        meta.to_bytes()
    }
    fn finish(mut self) -> Added {
        let (mut bytes, mut places): (Vec<u8>, Vec<SpaceRecord>) = Default::default();
        for ((space, runs), length) in Space::ALL.iter().zip(&self.runs).zip(&self.lengths) {
            let (ascents, count) = if space.is_referred_to() { back::encode(runs) } else { (vec![], 0) };
            let mut put = |put: &[u8]| {
                let start = bytes.len() as u32;
                bytes.extend_from_slice(put);
                U32::new(start)
            };
            places.push(SpaceRecord {
                runs: put(&encode(runs)),
                count: U32::new(runs.len() as u32),
                back: put(&ascents),
                ascents: U32::new(count),
                length: U32::new(*length),
            });
        }
        self.part(Part::Runs, bytes, 0, 0);
        self.part(Part::RunPlaces, places.as_bytes().to_vec(), 0, 0);
        let mut patched = std::mem::take(&mut self.patched);
        patched.sort_unstable_by_key(|patched| (patched.part.get(), patched.number.get()));
        self.packed(Part::Patched, &patched, 0);
        let lines = self.to.lines.back(self.base.map_or(&[], Kernel::line_runs));
        self.packed(Part::LineRuns, &lines, 0);
        let own = Own {
            machine: self.view.machine(),
            before: self.before.map_or(SegmentId::default(), |kernel| kernel.own().id()),
            release: self.to.string(self.view.release_id().get()),
            depth: self.depth,
            free: self.free,
            compared: self.compared,
        };
        Added { parts: self.parts, own }
    }
}
