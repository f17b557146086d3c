//! What may differ between two kernels of a store that have most of their rows in common: the names of what only one has.
//!
//! What a comparison reads of a name is the same in both kernels as long as the rows of its functions, placements, symbols,
//! types and members are, and what lies around its entries. A name is touched where that is not so; whether it differs is
//! then compared. Where the reach of a difference is not known, all is compared. When a kernel is added to a store, this is
//! asked once, and what differs is kept in its segment; between others the lists of all segments on the way count.
//!
//! * `declarations`: functions, tracepoints, and how a row follows the one before it.
//! * `layouts`: types and members.
//! * `placements`: where functions have code.
//! * `addresses`: symbols, sites, code and the blacklist, on which verdicts depend.
//! * `told`: what a history tells, which is more.
mod addresses;
mod declarations;
mod layouts;
mod placements;
mod told;

use super::Part;
use crate::query::index::functions::kernel;
use crate::query::index::provenance::{self, Provenance};
use crate::query::verdict::trampoline;
use addresses::Window;
use probeidx_format::View;
use probeidx_format::id::StrId;
use probeidx_format::record::ObjectRecord;
use probeidx_format::store::common::{Common, Pair, Which};
use probeidx_format::store::differing::Kind;
use probeidx_format::store::runs::Hint;
use probeidx_format::store::translate::Shared;
use probeidx_format::store::{Kernel, Space};

/// What may differ.
pub struct Touched<'a> {
    /// How many things the first kernel has.
    pub all: u64,
    /// Names, sorted.
    functions: Vec<&'a [u8]>,
    types: Vec<&'a [u8]>,
    tracepoints: Vec<&'a [u8]>,
    /// Where verdicts may differ; empty if the names were listed.
    windows: Vec<Window>,
}

/// With more names than this in a hundred, all are compared.
const MOST: usize = 20;
/// The same when a kernel is added: it is done once, and most of what rows touch does not differ.
pub const MOST_ONCE: usize = 60;

impl<'a> Touched<'a> {
    /// `None` if all is to be compared: one of the two is no kernel of a store, or they have too little in common.
    pub fn of(views: [&'a View<'a>; 2]) -> Option<Self> {
        Self::listed(views).or_else(|| Self::by_rows(views, MOST))
    }
    /// What was found when kernels were added, from the last that both have in their chains on. Cost: linear in that.
    fn listed(views: [&'a View<'a>; 2]) -> Option<Self> {
        let stores = [views[0].store()?, views[1].store()?];
        let [one, other] = stores.map(Kernel::chain);
        let shared = one.iter().zip(other).take_while(|(one, other)| one.id() == other.id()).count();
        let (mut functions, mut types, mut tracepoints) =
            (Names::default(), Names::default(), Names::default());
        for kernel in stores.iter().filter(|_| shared > 0) {
            for segment in &kernel.chain()[shared..] {
                let changed = segment.changed()?;
                let lists = [&changed.functions, &changed.types, &changed.tracepoints];
                for (names, list) in [&mut functions, &mut types, &mut tracepoints].into_iter().zip(lists) {
                    names.0.extend(list.iter().map(|name| kernel.text(*name)));
                }
            }
        }
        (shared > 0).then_some(())?;
        Self::unless_most(views, [functions, types, tracepoints], vec![], MOST)
    }
    /// What rows tell that only one kernel has; `None` if these are more than so many names in a hundred.
    pub fn by_rows(views: [&'a View<'a>; 2], most: usize) -> Option<Self> {
        let both = Both::of(views)?;
        // What only the larger has is touched: beside all modules, the few of a cloud are little.
        let [one, other] = views.map(|view| view.names.len());
        if !is_little(one.abs_diff(other), views, most) || !both.have_the_same_rules() {
            return None;
        }
        let (layouts, places, others) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| (layouts::touched(&both), placements::functions(&both)));
            let others = both.functions();
            let (layouts, places) = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (layouts, places, others)
        });
        let (mut functions, tracepoints, windows) = others?;
        let layouts = layouts?;
        functions.0.extend(places.0);
        functions.0.extend(layouts.functions.0);
        Self::unless_most(views, [functions, layouts.types, tracepoints], windows, most)
    }
    fn unless_most(
        views: [&'a View<'a>; 2],
        [functions, types, tracepoints]: [Names<'a>; 3],
        windows: Vec<Window>,
        most: usize,
    ) -> Option<Self> {
        let touched = Self {
            all: views[0].store()?.own().header.compared.get().into(),
            functions: functions.sorted(),
            types: types.sorted(),
            tracepoints: tracepoints.sorted(),
            windows,
        };
        is_little(touched.functions.len(), views, most).then_some(touched)
    }
    /// Of what a history may tell something else, if these are the names that [rows](Self::by_rows) tell; `None` if of anything.
    /// Cost: see [`told`].
    pub fn told(&self, views: [&'a View<'a>; 2]) -> Option<Vec<(Kind, &'a [u8])>> {
        told::names(&Both::of(views)?, self)
    }
    /// Tracepoints, by name.
    pub fn tracepoints(&self) -> &[&'a [u8]] {
        &self.tracepoints
    }
    /// What is to be compared.
    pub fn parts(self) -> Vec<Part<'a>> {
        let (first, second) = self.functions.split_at(self.functions.len() / 2);
        vec![
            Part::TheseFunctions(first.to_vec()),
            Part::TheseFunctions(second.to_vec()),
            Part::TheseTypes(self.types),
            Part::TheseTracepoints(self.tracepoints),
        ]
    }
}

/// Whether so many names are fewer than this in a hundred of those of either kernel.
fn is_little(names: usize, views: [&View<'_>; 2], most: usize) -> bool {
    views.iter().all(|view| names * 100 < view.names.len() * most)
}

/// Names, as often as they were found.
#[derive(Default)]
struct Names<'a>(Vec<&'a [u8]>);

impl<'a> Names<'a> {
    fn push(&mut self, name: &'a [u8]) {
        if !name.is_empty() && self.0.last() != Some(&name) {
            self.0.push(name);
        }
    }
    fn sorted(mut self) -> Vec<&'a [u8]> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0
    }
}

/// Two kernels of a chain, the older one first.
struct Both<'a> {
    views: [&'a View<'a>; 2],
    pair: Pair<'a, 'a>,
}

impl<'a> Both<'a> {
    /// `None` if no chain has both.
    fn of(views: [&'a View<'a>; 2]) -> Option<Self> {
        let stores = [views[0].store()?, views[1].store()?];
        let forward = Pair::of(stores[0], stores[1]).map(|pair| (pair, views));
        let backward = || Some((Pair::of(stores[1], stores[0])?, [views[1], views[0]]));
        let (pair, views) = forward.or_else(backward)?;
        Some(Self { views, pair })
    }
    fn view(&self, which: Which) -> &'a View<'a> {
        self.views[which as usize]
    }
    fn kernel(&self, which: Which) -> &'a Kernel<'a> {
        self.pair.kernel(which)
    }
    fn common(&self, space: Space) -> Common {
        self.pair.common(space)
    }
    /// A string of either.
    fn text(&self, id: StrId) -> &'a [u8] {
        self.pair.new.text(id)
    }
    /// A row as it is stored.
    fn row<R: Shared>(&self, which: Which, at: u32, hint: &mut Hint) -> Option<R> {
        self.kernel(which).stored(at, hint).map(|(_, row)| row)
    }

    /// Whether verdicts have the same rules in both kernels: see [`Judge`](crate::query::verdict::Judge).
    fn have_the_same_rules(&self) -> bool {
        let machines = self.views.map(View::machine);
        let is_known =
            |view: &View<'_>| kernel(view).is_some() && provenance::of_index(view) == Provenance::Dwarf;
        let has_modules = self.views.map(|view| view.object_ids().nth(1).is_some());
        let denies = self.views.map(trampoline::denies);
        machines[0] == machines[1]
            && has_modules[0] == has_modules[1]
            && denies[0] == denies[1]
            && self.views.into_iter().all(is_known)
            && self.objects_have_the_same_flags()
    }
    fn objects_have_the_same_flags(&self) -> bool {
        let is_first = self.common(Space::ObjectIds).other(Which::New, 0) == Some(0);
        is_first
            && self.objects_agree(|one, other| {
                (one.flags, one.unread) == (other.flags, other.unread) && !one.has(ObjectRecord::NAMES_ONLY)
            })
    }
    /// Whether this holds for each object that both kernels have.
    fn objects_agree(&self, is_same: impl Fn(ObjectRecord, ObjectRecord) -> bool) -> bool {
        let common = self.common(Space::ObjectIds);
        let mut hints = [Hint::default(); 2];
        let mut pairs =
            common.runs(Which::New).iter().flat_map(|run| (run.from..run.from + run.length).zip(run.to..));
        pairs.all(|(new, old)| {
            let one: Option<ObjectRecord> = self.row(Which::Old, old, &mut hints[0]);
            let other: Option<ObjectRecord> = self.row(Which::New, new, &mut hints[1]);
            one.zip(other).is_some_and(|(one, other)| is_same(one, other))
        })
    }

    /// The names of functions, but for those of [`placements`], and of tracepoints; and where verdicts may differ.
    fn functions(&self) -> Option<(Names<'a>, Names<'a>, Vec<Window>)> {
        let mut names = Names::default();
        let prototypes = declarations::functions(self, &mut names);
        let tracepoints = declarations::tracepoints(self, &prototypes);
        let windows = addresses::functions(self, &prototypes, &mut names)?;
        Some((names, tracepoints, windows))
    }
    /// The name of a function, given its shared number.
    fn name_of_function(&self, which: Which, function: u32) -> &'a [u8] {
        use probeidx_format::record::FunctionRecord;
        let own = self.kernel(which).levels().back(Space::FunctionIds, function);
        let row = own.and_then(|own| self.row::<FunctionRecord>(which, own, &mut Hint::default()));
        row.map_or(&[], |function| self.text(function.name))
    }
}
