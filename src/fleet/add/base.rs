//! The kernel to whose numbers the runs of a segment lead.
use super::super::nearest::are_of_one_line;
use probeidx_format::View;
use probeidx_format::store::Kernel;
use probeidx_format::store::runs::levels::steps;
use probeidx_format::store::runs::{Builder, Hint, NEW};
use probeidx_format::store::segment::{Source, Space};

/// How many segments of its line are before a kernel that comes after this one: none if that is of another line.
pub fn depth(before: &Kernel<'_>, view: &View<'_>) -> u32 {
    let releases = [View::of_store(before).release(), view.release()];
    if are_of_one_line(releases) { before.own().header.depth.get() + 1 } else { 0 }
}

/// The kernel to whose numbers a segment of this depth leads; `None` if it is the one before.
pub fn of<'a>(before: &Kernel<'a>, depth: u32) -> probeidx_format::Result<Option<Kernel<'a>>> {
    let chain = before.chain();
    let end = chain.len().saturating_sub(steps(depth) - 1).max(1);
    (end < chain.len()).then(|| Kernel::open(chain[..end].iter().map(|segment| segment.bytes))).transpose()
}

/// Runs that lead to the numbers of the base, or to what is new since.
pub fn relative(space: Space, runs: &Builder, base: &Kernel<'_>) -> Builder {
    let first = match space.source() {
        Source::Rows(part) => base.end(part),
        Source::Free(kind) => base.free(kind),
        Source::Shifted(_) | Source::Themselves => return runs.clone(),
    };
    let mut hint = Hint::default();
    let mut own = vec![u32::MAX; first as usize];
    for at in 0..base.length(space) {
        if let Some(number) = base.levels().there(space, at, &mut hint).filter(|number| *number < first) {
            own[number as usize] = at;
        }
    }
    let mut relative = Builder::default();
    for run in runs.runs() {
        for to in run.to..run.to + run.length {
            relative.push(if to < first { own[to as usize] } else { NEW + (to - first) });
        }
    }
    relative
}
