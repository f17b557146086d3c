//! Shared lines: what did not change in a file keeps its line, whatever was added above it.
//!
//! A file is cut where functions and types are declared. What another kernel declares too keeps its shared line, and
//! what follows it up to the next such declaration its distance from it. Lines that do not fit in between get numbers
//! that no file has.
use super::Adding;
use probeidx_format::id::StrId;
use probeidx_format::record::{FunctionRecord, TypeRecord};
use probeidx_format::store::line_runs;
use probeidx_format::store::record::LineRun;
use probeidx_format::store::segment::Free;
use probeidx_format::store::translate::Translate;
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::Hasher;

/// A declaration in a file: its line, and what is declared.
pub type Anchor = (u32, u64);

/// The lines of a kernel that differ from the shared ones, by file.
#[derive(Default)]
pub struct Lines {
    /// From the kernel's lines to the shared ones: start, shared start, length.
    files: FxHashMap<u32, Vec<(u32, u32, u32)>>,
}

/// Longer than any file.
const ENDLESS: u32 = 1 << 20;
/// The first line that no file has.
pub const FIRST_FREE: u32 = 1 << 20;
/// The lines that are set aside for the end of a file.
const TAIL: u32 = 1 << 13;

impl Lines {
    /// Adds a file, given its declarations and those of the kernel before, whose lines are shared; takes new lines from
    /// `free`. `rest_of` has, of a shared declaration and a distance from it, the new line that the kernel before had
    /// there, and how many follow.
    pub fn place(
        &mut self,
        file: u32,
        own: &[Anchor],
        before: &[Anchor],
        rest_of: &dyn Fn(u32, u32) -> Option<(u32, u32)>,
        free: &mut u32,
    ) {
        let count = |anchors: &[Anchor]| {
            let mut times: FxHashMap<u64, (u32, u32)> = FxHashMap::default();
            for (line, what) in anchors {
                let known = times.entry(*what).or_insert((0, *line));
                known.0 += 1;
            }
            times
        };
        let (times, known) = (count(own), count(before));
        let is_only = |what: &u64| times.get(what).is_some_and(|known| known.0 == 1);
        let same =
            |what: &u64| known.get(what).filter(|known| known.0 == 1 && is_only(what)).map(|known| known.1);
        let mut anchors: Vec<(u32, u32)> =
            own.iter().filter_map(|(line, what)| Some((*line, same(what)?))).collect();
        anchors.sort_unstable();
        anchors.dedup_by_key(|anchor| anchor.0);
        // Lines keep their order, but for those that no file has; and each stands for one only.
        let mut last = 0;
        let mut used = FxHashSet::default();
        anchors.retain(|(_, shared)| {
            let is_kept = (*shared >= FIRST_FREE || *shared > last) && used.insert(*shared);
            if is_kept && *shared < FIRST_FREE {
                last = *shared;
            }
            is_kept
        });
        let mut lines: Vec<u32> = used.into_iter().collect();
        lines.sort_unstable();
        let Some(first) = anchors.first() else { return };
        let (mut runs, mut rests) = (vec![], vec![]);
        // What precedes the first declaration moves with it, as far as it fits.
        let room = if lines.first() == Some(&first.1) { first.1.min(FIRST_FREE) - 1 } else { 0 };
        let fits = (first.0 - 1).min(room);
        runs.push((first.0 - fits, first.1 - fits, fits));
        if first.0 - 1 > fits {
            let length = first.0 - 1 - fits;
            runs.push((1, *free, length));
            *free += length;
        }
        for (at, (line, shared)) in anchors.iter().enumerate() {
            let length = anchors.get(at + 1).map_or(ENDLESS, |next| next.0 - line);
            let after = lines.partition_point(|other| other <= shared);
            let room = match lines.get(after) {
                Some(next) => next - shared,
                None if *shared >= FIRST_FREE => TAIL,
                None => FIRST_FREE - shared,
            };
            let fits = length.min(room);
            runs.push((*line, *shared, fits));
            if length > fits && length != ENDLESS {
                rests.push((line + fits, *shared, fits, length - fits));
            } else if length > fits && lines.get(after).is_some() {
                rests.push((line + fits, *shared, fits, TAIL));
            }
        }
        // What did not fit for the kernel before has lines already.
        for (line, shared, fits, length) in rests {
            let is_free = |start: u32, length: u32| {
                let is_apart = |run: &(u32, u32, u32)| run.1 + run.2 <= start || start + length <= run.1;
                runs.iter().filter(|run| run.1 >= FIRST_FREE).all(is_apart)
            };
            let known = rest_of(shared, fits).map(|(start, room)| (start, room.min(length)));
            let known = known.filter(|(start, length)| is_free(*start, *length));
            let done = known.map_or(0, |(start, length)| {
                runs.push((line, start, length));
                length
            });
            if length > done {
                runs.push((line + done, *free, length - done));
                *free += length - done;
            }
        }
        runs.sort_unstable();
        let mut merged: Vec<(u32, u32, u32)> = vec![];
        for (start, shared, length) in runs {
            match merged.last_mut() {
                Some(last) if last.0 + last.2 == start && last.1 + last.2 == shared => last.2 += length,
                _ => merged.push((start, shared, length)),
            }
        }
        merged.retain(|(start, shared, length)| start != shared && *length > 0);
        if !merged.is_empty() {
            self.files.insert(file, merged);
        }
    }
    /// The shared line of a line.
    pub fn shared(&self, file: u32, line: u32) -> u32 {
        self.of(file).shared(line)
    }
    /// Those of a file.
    pub fn of(&self, file: u32) -> Runs<'_> {
        Runs(self.files.get(&file).map_or(&[], |runs| runs))
    }
    /// The way back, sorted, of each file in which it is another one than that of the kernel before.
    pub fn back(&self, before: &[LineRun]) -> Vec<LineRun> {
        let mut back: Vec<LineRun> = self
            .files
            .iter()
            .flat_map(|(file, runs)| runs.iter().map(move |run| (*file, *run)))
            .map(|(file, (start, shared, length))| LineRun {
                file: StrId::new(file),
                from: U32::new(shared),
                to: U32::new(start),
                length: U32::new(length),
            })
            .collect();
        back.sort_unstable_by_key(|run| (run.file, run.from.get()));
        let known: FxHashMap<StrId, &[LineRun]> = by_file(before).map(|runs| (runs[0].file, runs)).collect();
        let gone = known.keys().filter(|file| !self.files.contains_key(&file.get()));
        let gone: Vec<LineRun> = gone.map(|file| line_runs::same(*file)).collect();
        let changed = by_file(&back).filter(|runs| known.get(&runs[0].file) != Some(runs));
        let mut changed: Vec<LineRun> = changed.flatten().copied().chain(gone).collect();
        changed.sort_unstable_by_key(|run| (run.file, run.from.get()));
        changed
    }
}

/// The lines of a file that differ from the shared ones.
#[derive(Clone, Copy)]
pub struct Runs<'l>(&'l [(u32, u32, u32)]);

impl Runs<'_> {
    /// The shared line of a line.
    pub fn shared(self, line: u32) -> u32 {
        let at = self.0.partition_point(|run| run.0 <= line);
        match at.checked_sub(1).map(|at| self.0[at]) {
            Some((start, shared, length)) if line != 0 && line - start < length => shared + (line - start),
            _ => line,
        }
    }
}

fn by_file(runs: &[LineRun]) -> impl Iterator<Item = &[LineRun]> {
    runs.chunk_by(|one, other| one.file == other.file)
}

impl Adding<'_> {
    /// Shares the lines of all files in which something is declared.
    pub(super) fn lines(&mut self) {
        let Some(known) = self.known else { return };
        let Some(kernel) = self.before else { return };
        let key = |kind: u32, name: u32| {
            let mut hasher = FxHasher::default();
            hasher.write_u32(kind);
            hasher.write_u32(name);
            hasher.finish()
        };
        let mut own: FxHashMap<u32, Vec<Anchor>> = FxHashMap::default();
        for function in self.view.functions.owners() {
            let (file, name) = (self.to.string(function.file.get()), self.to.string(function.name.get()));
            own.entry(file).or_default().push((function.line.get(), key(0, name)));
        }
        for record in self.view.types.owners().iter().filter(|t| t.line.get() != 0) {
            let (file, name) = (self.to.string(record.file.get()), self.to.string(record.name.get()));
            own.entry(file).or_default().push((record.line.get(), key(u32::from(record.kind) + 1, name)));
        }
        let mut before: FxHashMap<u32, Vec<Anchor>> = FxHashMap::default();
        for (_, f) in kernel.all_stored::<FunctionRecord>().take(known.functions.owners().len()) {
            before.entry(f.file.get()).or_default().push((f.line.get(), key(0, f.name.get())));
        }
        for (_, t) in kernel.all_stored::<TypeRecord>().take(known.types.owners().len()) {
            if t.line.get() != 0 {
                before
                    .entry(t.file.get())
                    .or_default()
                    .push((t.line.get(), key(u32::from(t.kind) + 1, t.name.get())));
            }
        }
        let mut rests: FxHashMap<u32, Vec<LineRun>> = FxHashMap::default();
        for run in kernel.line_runs().iter().filter(|run| run.from.get() >= FIRST_FREE) {
            rests.entry(run.file.get()).or_default().push(*run);
        }
        let mut files: Vec<u32> = own.keys().copied().collect();
        files.sort_unstable();
        for file in files {
            let (Some(own), Some(before)) = (own.get_mut(&file), before.get(&file)) else { continue };
            own.retain(|anchor| anchor.0 != 0);
            let rest_of = |shared: u32, distance: u32| {
                let line = kernel.line(file, shared) + distance;
                let holds = |run: &&LineRun| line.wrapping_sub(run.to.get()) < run.length.get();
                let run = rests.get(&file)?.iter().find(holds)?;
                let within = line - run.to.get();
                Some((run.from.get() + within, run.length.get() - within))
            };
            self.to.lines.place(file, own, before, &rest_of, &mut self.free[Free::Lines as usize]);
        }
    }
}
