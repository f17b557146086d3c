//! Lines of a kernel that differ from the shared ones.
//!
//! A segment has all runs of the files in which lines moved since its [base](super::runs::levels), and none of other files: these
//! are in the base and those below. A file whose lines are the shared ones again has one run that says so.
use super::record::LineRun;
use super::runs::levels::path;
use super::segment::{Part, Segment};
use crate::table::Table;
use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use zerocopy::byteorder::little_endian::U32;

/// The runs of a kernel.
pub struct Lines<'a> {
    /// By segment, this kernel's own first.
    levels: Vec<Table<'a, LineRun>>,
    all: OnceLock<Box<[LineRun]>>,
    /// How many lines are searched for in the levels before their runs are put together.
    left: AtomicU32,
}

/// The searches of a question for one thing.
const FEW: u32 = 256;

/// The run of a file whose lines are the shared ones.
pub fn same(file: crate::id::StrId) -> LineRun {
    LineRun { file, from: U32::new(1), to: U32::new(1), length: U32::new(1) }
}

impl<'a> Lines<'a> {
    /// Those of a chain.
    pub fn open(chain: &[Segment<'a>]) -> Self {
        let levels: Vec<Table<'a, LineRun>> = path(chain).map(|at| chain[at].rows(Part::LineRuns)).collect();
        let rows: usize = levels.iter().map(Table::len).sum();
        // Put together, they take the time of a search for some rows.
        let left = FEW.saturating_add((rows / 8) as u32);
        Self { levels, all: OnceLock::new(), left: AtomicU32::new(left) }
    }
    /// The kernel's line of a shared one. Cost: a binary search in each level down to the one that has the file.
    pub fn line(&self, file: u32, line: u32) -> u32 {
        if line == 0 || self.levels.iter().all(Table::is_empty) {
            return line;
        }
        let run = match self.ready() {
            Some(all) => {
                let after = all.partition_point(|run| key(run) <= (file, line));
                after.checked_sub(1).map(|at| all[at])
            }
            None => self.levels.iter().find_map(|level| {
                let after = level.partition_point(|run| key(&run) <= (file, line));
                let of_file = |at: Option<usize>| level.get(at?).filter(|run| run.file.get() == file);
                // The level has the file, though perhaps no run that may hold the line.
                of_file(after.checked_sub(1)).or_else(|| of_file(Some(after)))
            }),
        };
        let Some(run) = run.filter(|run| run.file.get() == file) else { return line };
        let within = line.wrapping_sub(run.from.get());
        if within < run.length.get() { run.to.get().wrapping_add(within) } else { line }
    }
    /// All of them, sorted.
    pub fn all(&self) -> &[LineRun] {
        self.all.get_or_init(|| {
            let (mut seen, mut all) = (HashSet::new(), vec![]);
            for level in &self.levels {
                let before = all.len();
                all.extend(level.iter().filter(|run| !seen.contains(&run.file.get())));
                seen.extend(all[before..].iter().map(|run: &LineRun| run.file.get()));
            }
            all.retain(|run| run.from != run.to);
            all.sort_unstable_by_key(key);
            all.into()
        })
    }
    fn ready(&self) -> Option<&[LineRun]> {
        if let Some(all) = self.all.get() {
            return Some(all);
        }
        // Two threads may count as one.
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then(|| self.all())
    }
}

fn key(run: &LineRun) -> (u32, u32) {
    (run.file.get(), run.from.get())
}
