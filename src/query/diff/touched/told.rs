//! Names of which a history may tell something else: where they are declared, what calls them, where their parameters are.
//!
//! What a comparison minds is less than that, so these names are more. A function counts
//! * if a comparison may mind it, or if its row is another one, or its line,
//! * if it has a placement in a tree (an out-of-line placement, and all that is inlined into it) that is not the same, or in which
//!   code, a symbol, a site or a section is not: see [`trees`],
//! * if it is called from there, or from elsewhere than before.
//!
//! 6.1.0-56 after 6.1.0-55, `vfs_read`: its row of `functions`, its placement and the two calls from `ksys_read` and
//! `ksys_pread64` are in runs that lead to the kernel before, no line of `fs/read_write.c` moved, and the three trees are in the
//! same pieces of code. Nothing names it, so that its facts are those of 6.1.0-55.
mod by_value;
mod trees;

use super::addresses::{Objects, Window};
use super::{Both, Touched};
use probeidx_format::View;
use probeidx_format::id::{FunctionId, StrId};
use probeidx_format::record::{FrameRecord, FunctionRecord, TypeRecord};
use probeidx_format::store::Space;
use probeidx_format::store::common::Which;
use probeidx_format::store::differing::Kind;
use probeidx_format::store::record::{CallRecord, LineRun};
use probeidx_format::store::runs::Hint;
use probeidx_format::store::translate::{Shared, Translate};
use probeidx_format::variables::Variable;
use rustc_hash::FxHashSet;
use trees::{Trees, Windows};

/// The names, some of them often, given those that a comparison may mind. `None` if any may differ. Cost: linear in what only one
/// kernel has, in all functions and types if lines moved, and in all calls.
pub fn names<'a>(both: &Both<'a>, touched: &Touched<'a>) -> Option<Vec<(Kind, &'a [u8])>> {
    if !both.objects_agree(|one, other| one.name == other.name) {
        return None;
    }
    let (mut functions, mut types) = (Marked::default(), Marked::default());
    of_rows(both, &mut functions);
    let moved = moved_files(both);
    let name = |f: &FunctionRecord| (f.name, f.file, f.line.get());
    in_moved_files(both, &moved, name, &mut functions);
    in_moved_files(both, &moved, |t: &TypeRecord| (t.name, t.file, t.line.get()), &mut types);
    by_value::changed(both, &mut types, &mut functions);

    let mut trees = Trees::new(both, &mut functions);
    trees.changed();
    let windows = touched.windows.iter().cloned().chain(frames(both));
    windows.for_each(|window| trees.around(window));
    let windows = trees.windows;
    called(both, windows, &mut functions);

    let compared = [
        (Kind::Function, &touched.functions),
        (Kind::Type, &touched.types),
        (Kind::Tracepoint, &touched.tracepoints),
    ];
    let compared = compared.into_iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, *name)));
    let marked = functions.all(both, Kind::Function).chain(types.all(both, Kind::Type));
    Some(marked.chain(compared).collect())
}

/// Names that were found, many of them often: a bit for each string.
#[derive(Default)]
struct Marked(Vec<u64>);

impl Marked {
    fn insert(&mut self, name: StrId) {
        let (word, bit) = (name.index() / 64, name.index() % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }
    /// The name of a function.
    fn function(&mut self, view: &View<'_>, function: FunctionId) {
        view.functions.get(function.index()).into_iter().for_each(|function| self.insert(function.name));
    }
    fn all<'a>(self, both: &Both<'a>, kind: Kind) -> impl Iterator<Item = (Kind, &'a [u8])> {
        let bits = |(word, of): (usize, u64)| {
            (0..64).filter(move |bit| of >> bit & 1 != 0).map(move |bit| 64 * word + bit)
        };
        let ids = self.0.into_iter().enumerate().flat_map(bits);
        let texts = ids.map(|id| both.text(StrId::new(id as u32)));
        texts.filter(|text| !text.is_empty()).map(move |text| (kind, text))
    }
}

/// Functions that both kernels have with other rows. Those that only one has are among the names that a comparison minds, and so are
/// those of symbols.
fn of_rows(both: &Both<'_>, names: &mut Marked) {
    let (ids, rows) = (both.common(Space::FunctionIds), both.common(Space::Functions));
    let mut hints = [Hint::default(); 2];
    for (new, old) in ids.changed(&rows) {
        let one: Option<FunctionRecord> = both.row(Which::Old, old, &mut hints[0]);
        let other: Option<FunctionRecord> = both.row(Which::New, new, &mut hints[1]);
        if one.zip(other).is_none_or(|pair| !is_same_function(both, pair.into())) {
            other.or(one).into_iter().for_each(|function| names.insert(function.name));
        }
    }
}

/// Whether two functions have the same line and flags, variables of the same names in the same order, of which placements know
/// the positions, and the same parameters.
fn is_same_function(both: &Both<'_>, functions: [FunctionRecord; 2]) -> bool {
    let [one, other] = Which::BOTH.map(|which| {
        let function = functions[which as usize];
        let kernel = both.kernel(which);
        let line = kernel.line(function.file.get(), function.line.get());
        ((function.name, function.file, function.flags, line), kernel.shared_variables(function))
    });
    let said = |v: Variable| (v.name, v.parameter, v.type_id.filter(|_| v.parameter));
    one.0 == other.0 && one.1.return_type == other.1.return_type && one.1.map(said).eq(other.1.map(said))
}

/// The files in which some line is another one than in the kernel before.
fn moved_files(both: &Both<'_>) -> FxHashSet<StrId> {
    let by_file = |which: Which| both.kernel(which).line_runs().chunk_by(|one, other| one.file == other.file);
    let said = |run: &LineRun| (run.from.get(), run.to.get(), run.length.get());
    let mut moved = FxHashSet::default();
    let (mut old, mut new) = (by_file(Which::Old).peekable(), by_file(Which::New).peekable());
    loop {
        let file = |runs: Option<&&[LineRun]>| runs.map(|runs| runs[0].file);
        let Some(next) = [file(old.peek()), file(new.peek())].into_iter().flatten().min() else {
            return moved;
        };
        let mine = old.next_if(|runs| runs[0].file == next).unwrap_or_default();
        let theirs = new.next_if(|runs| runs[0].file == next).unwrap_or_default();
        if !mine.iter().map(said).eq(theirs.iter().map(said)) {
            moved.insert(next);
        }
    }
}

/// What is declared on another line, although its row is the same.
fn in_moved_files<R: Shared>(
    both: &Both<'_>,
    moved: &FxHashSet<StrId>,
    declared: impl Fn(&R) -> (StrId, StrId, u32),
    names: &mut Marked,
) {
    if moved.is_empty() {
        return;
    }
    for (_, row) in both.kernel(Which::New).all_stored::<R>() {
        let (name, file, line) = declared(&row);
        let line = |which: Which| both.kernel(which).line(file.get(), line);
        if moved.contains(&file) && line(Which::Old) != line(Which::New) {
            names.insert(name);
        }
    }
}

/// Code with other frame rules.
fn frames(both: &Both<'_>) -> Vec<Window> {
    let common = both.common(Space::Frames);
    let mut windows = vec![];
    for which in Which::BOTH {
        let kernel = both.kernel(which);
        let mut objects = Objects::new(both.view(which), |o| o.first_frame.get());
        let mut hint = Hint::default();
        for at in common.only(which).flatten() {
            let Some(frame) = both.row::<FrameRecord>(which, at, &mut hint) else { break };
            if let Some(pc) = kernel.address(frame.start.get()) {
                let length = frame.end.get().wrapping_sub(frame.start.get());
                windows.push(Window { which, object: objects.of(at).0, pcs: pc..pc.saturating_add(length) });
            }
        }
    }
    windows
}

/// Functions with calls that only one kernel has, or that are in these windows.
fn called(both: &Both<'_>, windows: Vec<Window>, names: &mut Marked) {
    let (calls, called) = (both.common(Space::Calls), both.common(Space::Called));
    for which in Which::BOTH {
        let view = both.view(which);
        let (all, sites) = (view.all_called(), both.kernel(which).table::<CallRecord>());
        for at in called.only(which).flatten() {
            all.get(at as usize).into_iter().for_each(|called| names.function(view, called.function));
        }
        let windows = Windows::of(which, &windows);
        let mut own = calls.only(which).chain(calls.breaks(which).map(|at| at..at + 1)).collect::<Vec<_>>();
        own.sort_unstable_by_key(|range| range.start);
        let mut own = own.into_iter().peekable();
        for (one, next) in all.iter().zip(all.from(1).iter()) {
            let (first, end) = (one.first_call.get(), next.first_call.get());
            while own.next_if(|range| range.end <= first).is_some() {}
            let is_own = own.peek().is_some_and(|range| range.start < end);
            let mut sites = sites.part(first as usize..end as usize).iter();
            if is_own || sites.any(|site| windows.have(site.object, site.pc.get())) {
                names.function(view, one.function);
            }
        }
    }
}
