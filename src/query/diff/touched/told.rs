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
use probeidx_format::id::{FunctionId, StrId};
use probeidx_format::record::{
    CalledRecord, FrameRecord, FunctionRecord, ObjectRecord, SymbolRecord, TypeRecord,
};
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
    if !objects_have_the_same_names(both) {
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

    functions.texts.extend(&touched.functions);
    types.texts.extend(&touched.types);
    let all = functions.all(both, Kind::Function).chain(types.all(both, Kind::Type));
    Some(all.chain(touched.tracepoints.iter().map(|name| (Kind::Tracepoint, *name))).collect())
}

/// Names that were found, many of them often.
#[derive(Default)]
struct Marked<'a> {
    /// A bit for each string.
    strings: Vec<u64>,
    /// Those of which only the text is known.
    texts: Vec<&'a [u8]>,
}

impl<'a> Marked<'a> {
    fn insert(&mut self, name: StrId) {
        let (word, bit) = (name.index() / 64, name.index() % 64);
        if self.strings.len() <= word {
            self.strings.resize(word + 1, 0);
        }
        self.strings[word] |= 1 << bit;
    }
    fn all(self, both: &Both<'a>, kind: Kind) -> impl Iterator<Item = (Kind, &'a [u8])> {
        let bits = |(word, of): (usize, u64)| {
            (0..64).filter(move |bit| of >> bit & 1 != 0).map(move |bit| 64 * word + bit)
        };
        let ids = self.strings.into_iter().enumerate().flat_map(bits);
        let texts = ids.map(|id| both.text(StrId::new(id as u32))).chain(self.texts);
        texts.filter(|text| !text.is_empty()).map(move |text| (kind, text))
    }
}

/// Whether a module that both kernels have is called alike.
fn objects_have_the_same_names(both: &Both<'_>) -> bool {
    let ids = both.common(Space::ObjectIds);
    let mut hints = [Hint::default(); 2];
    ids.runs(Which::New).iter().flat_map(|run| (run.from..run.from + run.length).zip(run.to..)).all(
        |(new, old)| {
            let one: Option<ObjectRecord> = both.row(Which::Old, old, &mut hints[0]);
            let other: Option<ObjectRecord> = both.row(Which::New, new, &mut hints[1]);
            one.zip(other).is_some_and(|(one, other)| one.name == other.name)
        },
    )
}

/// Functions and symbols of which only one kernel has the row. Clones count for the function that they were made of.
fn of_rows<'a>(both: &Both<'a>, names: &mut Marked<'a>) {
    one_sided(both, Space::FunctionIds, |r: FunctionRecord| Some(r.name), names);
    one_sided(both, Space::Symbols, |r: SymbolRecord| r.is_function().then_some(r.name), names);
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

fn one_sided<'a, R: Shared>(
    both: &Both<'a>,
    space: Space,
    name: impl Fn(R) -> Option<StrId>,
    names: &mut Marked<'a>,
) {
    let common = both.common(space);
    for which in Which::BOTH {
        let mut hint = Hint::default();
        for at in common.only(which).flatten() {
            let Some(row) = both.row(which, at, &mut hint) else { break };
            let Some(name) = name(row) else { continue };
            names.insert(name);
            let text = both.text(name);
            names.texts.extend(memchr::memchr(b'.', text).map(|dot| &text[..dot]));
        }
    }
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
fn in_moved_files<'a, R: Shared>(
    both: &Both<'a>,
    moved: &FxHashSet<StrId>,
    declared: impl Fn(&R) -> (StrId, StrId, u32),
    names: &mut Marked<'a>,
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
fn called<'a>(both: &Both<'a>, windows: Vec<Window>, names: &mut Marked<'a>) {
    let (calls, called) = (both.common(Space::Calls), both.common(Space::Called));
    for which in Which::BOTH {
        let view = both.view(which);
        let all = view.all_called();
        let mut mark = |function: FunctionId| {
            view.functions.get(function.index()).into_iter().for_each(|function| names.insert(function.name));
        };
        for at in called.only(which).flatten() {
            all.get(at as usize).into_iter().for_each(|called| mark(called.function));
        }
        let sites = both.kernel(which).table::<CallRecord>();
        let windows = Windows::of(which, &windows);
        let mut own = calls.only(which).chain(calls.breaks(which).map(|at| at..at + 1)).collect::<Vec<_>>();
        own.sort_unstable_by_key(|range| range.start);
        let mut own = own.into_iter().peekable();
        let mut sites = (0..).zip(sites.iter());
        for pair in Pairs::of(all.iter()) {
            let (one, next): (CalledRecord, CalledRecord) = pair;
            while own.next_if(|range| range.end <= one.first_call.get()).is_some() {}
            let mut is_told = own.peek().is_some_and(|range| range.start < next.first_call.get());
            let count = next.first_call.get().saturating_sub(one.first_call.get()) as usize;
            for (_, site) in sites.by_ref().take(count) {
                is_told = is_told || windows.have(site.object, site.pc.get());
            }
            if is_told {
                mark(one.function);
            }
        }
    }
}

/// Each record with the next one.
struct Pairs<I: Iterator> {
    all: I,
    last: Option<I::Item>,
}

impl<I: Iterator> Pairs<I> {
    fn of(mut all: I) -> Self {
        Self { last: all.next(), all }
    }
}

impl<I: Iterator> Iterator for Pairs<I>
where
    I::Item: Copy,
{
    type Item = (I::Item, I::Item);
    fn next(&mut self) -> Option<Self::Item> {
        let next = self.all.next()?;
        Some((self.last.replace(next)?, next))
    }
}
