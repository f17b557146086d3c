//! What verdicts depend on: symbols and what they hold, sites, where instructions start, sections, the blacklist.
//!
//! Code that both kernels have, has the same shared addresses, wherever it lies. An entry is in a piece of code that starts
//! with a symbol; if one kernel does not have the piece, its placements have other rows, which `placements` finds.
mod refused;

use super::{Both, Names};
use crate::query::index::functions::{self, Placed, kernel};
use crate::query::index::symbols::{is_executable, is_printed};
use probeidx_format::View;
use probeidx_format::id::{FunctionId, ObjectId, PlaceId, StrId};
use probeidx_format::record::{ObjectRecord, SectionRecord, SiteRecord, SymbolRecord};
use probeidx_format::store::common::{Common, Which};
use probeidx_format::store::record::CodeRecord;
use probeidx_format::store::runs::Hint;
use probeidx_format::store::{Kernel, Space};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// How far before a site an entry may be whose probe goes there: behind an `endbr64`.
const SHIFT: u32 = 4;

/// Addresses of an object of one kernel around which something is not the same.
#[derive(Clone, Debug)]
pub struct Window {
    pub which: Which,
    pub object: ObjectId,
    pub pcs: Range<u32>,
}

/// Functions on whose entries verdicts may differ, or whose names other symbols have, given the shared numbers of those with
/// other prototypes; returns the windows in which they are. `None` if vmlinux has other sections. Cost: linear in what only one
/// kernel has, and a search for each place in code.
pub fn functions<'a>(
    both: &Both<'a>,
    prototypes: &FxHashSet<u32>,
    names: &mut Names<'a>,
) -> Option<Vec<Window>> {
    let symbols = both.common(Space::Symbols);
    let mut found = Found { both, names, windows: vec![] };
    found.sections()?;
    found.by_name(&symbols);
    for which in Which::BOTH {
        found.prototypes(which, prototypes);
        found.around(&symbols, which);
        found.sites(which);
        found.code(which);
    }
    found.order_of_names();
    found.core(&symbols);
    found.refused(&symbols);
    Some(found.windows)
}

struct Found<'a, 'n> {
    both: &'n Both<'a>,
    names: &'n mut Names<'a>,
    windows: Vec<Window>,
}

/// The symbols of a name that only one kernel has.
#[derive(Clone, Copy, Default)]
struct Own {
    kept: u32,
    /// What the kernel judges a symbol with a suffix by, summed up.
    rules: u64,
    is_function: bool,
}

impl<'a> Found<'a, '_> {
    /// A symbol's name, and that of the function to which it belongs.
    fn symbol(&mut self, name: StrId) {
        let text = self.both.text(name);
        self.names.push(text);
        if let Some(dot) = memchr::memchr(b'.', text) {
            self.names.push(&text[..dot]);
        }
    }
    fn function_of(&mut self, view: &View<'a>, place: PlaceId) {
        let function = view.places.get(place.index()).and_then(|place| functions::function(view, place));
        function.into_iter().for_each(|f| self.names.push(view.string(f.name)));
    }
    /// What starts at these addresses of an object, and what lies around the first of them.
    fn window(&mut self, which: Which, object: ObjectId, window: Range<u32>) {
        let view = self.both.view(which);
        let symbols = view.symbols.part(view.symbols_of(object));
        let first = symbols.partition_point(|s| s.pc.get() < window.start);
        for symbol in symbols.from(first).iter().take_while(|s| s.pc.get() < window.end) {
            self.symbol(symbol.name);
        }
        let ranges = view.ranges_of(object);
        let first = ranges.partition_point_of_key(|r| r.start.get() < window.start);
        let near = ranges.from(first.saturating_sub(1));
        for range in near.iter().take_while(|r| r.start.get() < window.end) {
            self.function_of(view, range.place);
        }
        self.windows.push(Window { which, object, pcs: window });
    }
    /// Symbols with this name and a suffix, which the kernel judges by the symbol of the name.
    fn with_suffixes(&mut self, name: &'a [u8]) {
        for which in Which::BOTH {
            let view = self.both.view(which);
            let Some(id) = view.name(name) else { continue };
            let after = view.names.owners().from(id.index() + 1);
            for (at, record) in (id.get() + 1..).zip(after.iter()) {
                let text = view.string(record.name);
                let suffix = text.strip_prefix(name).and_then(<[u8]>::first);
                match suffix {
                    Some(b'.') => {
                        for symbol in view.symbols_named(probeidx_format::id::NameId::new(at)) {
                            let object = view.object_of_symbol(symbol);
                            if let Some(record) = functions::symbol(view, symbol) {
                                let pc = record.pc.get();
                                self.window(which, object, pc..pc.saturating_add(1));
                            }
                        }
                    }
                    // Others come before a dot.
                    Some(other) if *other < b'.' => {}
                    _ => break,
                }
            }
        }
    }

    /// Names of symbols that only one kernel has.
    fn by_name(&mut self, symbols: &Common) {
        let mut own: FxHashMap<StrId, [Own; 2]> = FxHashMap::default();
        for which in Which::BOTH {
            let view = self.both.view(which);
            let mut objects = Objects::new(view, |o| o.first_symbol.get());
            let mut hint = Hint::default();
            for at in symbols.only(which).flatten() {
                let Some(symbol) = self.both.row::<SymbolRecord>(which, at, &mut hint) else { break };
                let sum = &mut own.entry(symbol.name).or_default()[which as usize];
                sum.kept += u32::from(symbol.has(SymbolRecord::KEPT));
                if symbol.is_function() {
                    sum.is_function = true;
                    let object = view.objects.get(objects.of(at).0.index());
                    let rules = symbol.flags.get() & (SymbolRecord::KEPT | SymbolRecord::TRACED);
                    let name = object.map_or(0, |object| object.name.get());
                    sum.rules = sum.rules.wrapping_add((u64::from(name) << 16 | u64::from(rules)) + 1);
                }
            }
        }
        for (name, [one, other]) in own {
            let is_function = one.is_function || other.is_function;
            if is_function {
                self.symbol(name);
            } else if one.kept != other.kept {
                // Data count among the symbols of a function's name, which has no dot in it and is in both kernels.
                let text = self.both.text(name);
                let lacking = if one.kept > other.kept { Which::New } else { Which::Old };
                if memchr::memchr(b'.', text).is_none() && self.both.view(lacking).name(text).is_some() {
                    self.names.push(text);
                }
            }
            if one.rules != other.rules {
                self.with_suffixes(self.both.text(name));
            }
        }
    }
    /// Names of which the order of symbols breaks.
    fn order_of_names(&mut self) {
        let common = self.both.common(Space::SymbolNames);
        let view = self.both.view(Which::New);
        for run in common.moved() {
            let ends = [
                run.from.checked_sub(1),
                Some(run.from),
                Some(run.from + run.length - 1),
                Some(run.from + run.length),
            ];
            for at in ends.into_iter().flatten() {
                let symbol =
                    view.all_symbol_names().get(at as usize).and_then(|id| view.symbols.get(id.index()));
                symbol.into_iter().for_each(|symbol| self.symbol(symbol.name));
            }
        }
    }

    /// Entries around symbols that only one kernel has, or that follow another symbol.
    fn around(&mut self, symbols: &Common, which: Which) {
        let view = self.both.view(which);
        let mut sections = Sections::new(view);
        let mut objects = Objects::new(view, |o| o.first_symbol.get());
        let mut hint = Hint::default();
        let only = symbols.only(which).flatten().map(|at| (at, true));
        let breaks = symbols.breaks(which).map(|at| (at, false));
        for (at, is_own) in only.chain(breaks) {
            let Some(stored) = self.both.row::<SymbolRecord>(which, at, &mut hint) else { continue };
            let (object, within) = objects.of(at);
            if !sections.is_executable(object, stored.section.get()) {
                continue;
            }
            let own = self.both.kernel(which);
            let is_gone = || !self.both.kernel(which.other()).has_address(stored.pc.get());
            let symbol = |at: u32| within.contains(&at).then(|| view.symbols.get(at as usize)).flatten();
            let Some(pc) = own.address(stored.pc.get()) else { continue };
            let before = at.checked_sub(1).and_then(symbol);
            let shares = before.is_some_and(|before| before.pc.get() == pc)
                || symbol(at + 1).is_some_and(|next| next.pc.get() == pc);
            if let Some(before) = before.filter(|before| pc - before.pc.get().min(pc) <= SHIFT) {
                self.symbol(before.name);
            }
            // The placements of a piece of code that the other kernel does not have are found by their rows; a symbol
            // by itself holds its own start.
            let stands_alone = is_printed(stored) && stored.size.get() > 0 && !shares;
            if stands_alone && (!is_own || is_gone()) {
                continue;
            }
            let next = (at + 1..).map_while(symbol).find(|next| is_printed(*next) && next.pc.get() > pc);
            let reach = pc.saturating_add(stored.size.get()).max(pc + 1);
            self.window(which, object, pc..next.map_or(reach, |next| next.pc.get().max(reach)));
        }
    }
    /// What starts where these functions do: a symbol is judged by the prototype of a function at its address.
    fn prototypes(&mut self, which: Which, functions: &FxHashSet<u32>) {
        let view = self.both.view(which);
        let levels = self.both.kernel(which).levels();
        let own = functions.iter().filter_map(|function| levels.back(Space::FunctionIds, *function));
        for id in own.flat_map(|own| view.places_of_function(FunctionId::new(own))) {
            let place = view.places.get(id.index()).filter(|place| place.entry.get() != 0);
            if let Some(record) = place.filter(|record| !Placed { id, record: *record }.is_inline(view)) {
                let pc = record.entry.get();
                self.window(which, view.object_of_place(id), pc..pc.saturating_add(1));
            }
        }
    }
    /// Functions whose entries have other sites.
    fn sites(&mut self, which: Which) {
        let view = self.both.view(which);
        let common = self.both.common(Space::Sites);
        let mut objects = Objects::new(view, |o| o.first_site.get());
        let mut hint = Hint::default();
        let mut done = Done::default();
        for at in common.only(which).flatten() {
            let Some(site) = self.both.row::<SiteRecord>(which, at, &mut hint) else { break };
            if let Some(pc) = self.in_place(which, site.start.get()) {
                let end = pc.saturating_add(u32::from(site.length).max(1));
                self.entries(which, objects.of(at).0, pc.saturating_sub(SHIFT)..end, &mut done);
            }
        }
    }
    /// Functions whose instructions start elsewhere.
    fn code(&mut self, which: Which) {
        let kernel = self.both.kernel(which);
        let common = self.both.common(Space::Code);
        let mut hint = Hint::default();
        let mut done = Done::default();
        let count = self.both.view(which).objects.len().saturating_sub(1) as u32;
        for at in common.only(which).flatten() {
            let Some(code) = self.both.row::<CodeRecord>(which, at, &mut hint) else { break };
            if let Some(pc) = self.in_place(which, code.start.get()) {
                let length = code.end.get().wrapping_sub(code.start.get());
                let object = object_of_code(kernel, count, at);
                self.entries(which, object, pc.saturating_sub(SHIFT)..pc.saturating_add(length), &mut done);
            }
        }
    }
    /// The address of code that both kernels have.
    fn in_place(&self, which: Which, shared: u32) -> Option<u32> {
        let is_common = self.both.kernel(which.other()).has_address(shared);
        self.both.kernel(which).address(shared).filter(|_| is_common)
    }
    /// Functions with an entry at these addresses, but for where that was asked before.
    fn entries(&mut self, which: Which, object: ObjectId, window: Range<u32>, done: &mut Done) {
        self.windows.push(Window { which, object, pcs: window.clone() });
        if done.object == Some(object) && done.free.start <= window.start && window.end <= done.free.end {
            return;
        }
        let view = self.both.view(which);
        let symbols = view.symbols.part(view.symbols_of(object));
        let first = symbols.partition_point(|s| s.pc.get() < window.start);
        let mut end = u32::MAX;
        for symbol in symbols.from(first).iter() {
            if symbol.pc.get() >= window.end {
                end = symbol.pc.get();
                break;
            }
            self.symbol(symbol.name);
        }
        let ranges = view.ranges_of(object);
        let first = ranges.partition_point_of_key(|r| r.start.get() < window.start);
        for range in ranges.from(first.saturating_sub(1)).iter() {
            if range.start.get() >= window.end {
                end = end.min(range.start.get());
                break;
            }
            let place = view.places.get(range.place.index());
            let is_entry = place.is_some_and(|place| window.contains(&place.entry.get()));
            if is_entry || range.start.get() >= window.start {
                self.function_of(view, range.place);
            }
        }
        *done = Done { object: Some(object), free: window.end..end };
    }

    /// Objects with other sections, and what lies behind the end of those that have another size.
    fn sections(&mut self) -> Option<()> {
        let common = self.both.common(Space::Sections);
        let ids = self.both.common(Space::ObjectIds);
        let mut changed: FxHashSet<(u32, u32)> = FxHashSet::default();
        for which in Which::BOTH {
            let mut objects = Objects::new(self.both.view(which), |o| o.first_section.get());
            for at in common.only(which).flatten().chain(common.breaks(which)) {
                let own = objects.of(at).0.get();
                let other = ids.other(which, own);
                changed
                    .extend(other.map(|other| if which == Which::Old { (own, other) } else { (other, own) }));
            }
        }
        for (old, new) in changed {
            let objects = [old, new].map(ObjectId::new);
            let all = |which: Which| {
                let own = self.both.view(which).sections_of(objects[which as usize]);
                let said =
                    |s: SectionRecord| (s.name, s.flags, s.boundaries.get() == SectionRecord::NO_BOUNDARIES);
                own.iter().map(said)
            };
            let is_same = all(Which::Old).eq(all(Which::New));
            if !is_same && Some(objects[0]) == kernel(self.both.view(Which::Old)) {
                return None;
            }
            for which in Which::BOTH {
                let object = objects[which as usize];
                if !is_same {
                    self.window(which, object, 0..u32::MAX);
                    continue;
                }
                for section in self.both.view(which).sections_of(object) {
                    let size = u32::try_from(section.size.get()).unwrap_or(u32::MAX);
                    let end = section.pc.get().saturating_add(size);
                    if is_executable(section) {
                        self.behind(which, object, end);
                    }
                }
            }
        }
        Some(())
    }
    /// What starts at the end of a section.
    fn behind(&mut self, which: Which, object: ObjectId, end: u32) {
        let view = self.both.view(which);
        let symbols = view.symbols.part(view.symbols_of(object));
        let first = symbols.partition_point(|s| s.pc.get() < end);
        for symbol in symbols.from(first).iter().take_while(|s| s.pc.get() == end) {
            self.symbol(symbol.name);
        }
    }
    /// Symbols of vmlinux that are within the code that can be probed in one kernel only.
    fn core(&mut self, symbols: &Common) {
        let bounds = Which::BOTH.map(|which| {
            let view = self.both.view(which);
            let own = view.symbols_of(ObjectId::new(0));
            let table = view.symbols.part(own.clone());
            let object = view.objects.first();
            let at = object.map_or([0, u32::MAX], |o| [o.core_start.get(), o.core_end.get()]);
            at.map(|pc| (own.start + table.partition_point(|s| s.pc.get() < pc)) as u32)
        });
        let [old, new] = bounds;
        let end = self.both.view(Which::New).symbols_of(ObjectId::new(0)).end as u32;
        let mut hint = Hint::default();
        for run in symbols.runs(Which::New).iter().filter(|run| run.from < end) {
            for (old, new) in old.into_iter().zip(new) {
                let before = [(old, run.to), (new, run.from)];
                let [a, b] = before.map(|(bound, first)| bound.saturating_sub(first).min(run.length));
                for at in run.from + a.min(b)..run.from + a.max(b) {
                    let symbol: Option<SymbolRecord> = self.both.row(Which::New, at, &mut hint);
                    symbol.into_iter().for_each(|symbol| self.symbol(symbol.name));
                }
            }
        }
    }
}

/// Where no entry is: from the end of the last window to the next symbol or range.
#[derive(Default)]
struct Done {
    object: Option<ObjectId>,
    free: Range<u32>,
}

/// The objects of ascending positions of a table.
pub struct Objects<'a> {
    view: &'a View<'a>,
    first: fn(&ObjectRecord) -> u32,
    last: (ObjectId, Range<u32>),
}

impl<'a> Objects<'a> {
    /// None yet.
    pub fn new(view: &'a View<'a>, first: fn(&ObjectRecord) -> u32) -> Self {
        Self { view, first, last: (ObjectId::new(0), 0..0) }
    }
    /// The object of a position, and all its positions. Cost: nothing if it is that of the last one.
    pub fn of(&mut self, at: u32) -> (ObjectId, Range<u32>) {
        if !self.last.1.contains(&at) {
            let objects = self.view.objects;
            let after = objects.partition_point(|o| (self.first)(o) <= at);
            let first = |at: usize| objects.get(at).map_or(u32::MAX, self.first);
            let own = after.saturating_sub(1);
            self.last = (ObjectId::new(own as u32), first(own)..first(own + 1));
        }
        self.last.clone()
    }
}

/// Which sections of an object hold code.
struct Sections<'a> {
    view: &'a View<'a>,
    object: Option<ObjectId>,
    hold_code: Vec<bool>,
}

impl<'a> Sections<'a> {
    fn new(view: &'a View<'a>) -> Self {
        Self { view, object: None, hold_code: vec![] }
    }
    fn is_executable(&mut self, object: ObjectId, section: u16) -> bool {
        if self.object != Some(object) {
            self.object = Some(object);
            self.hold_code.clear();
            self.hold_code.extend(self.view.sections_of(object).iter().map(is_executable));
        }
        self.hold_code.get(usize::from(section)).copied().unwrap_or(false)
    }
}

/// The object of a record of code.
fn object_of_code(kernel: &Kernel<'_>, count: u32, at: u32) -> ObjectId {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if kernel.code_of(ObjectId::new(middle)).start <= at { low = middle + 1 } else { high = middle }
    }
    ObjectId::new(low.saturating_sub(1))
}
