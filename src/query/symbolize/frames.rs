//! Finds the symbol, the function with its inlined calls, and the line of an address.
use crate::query::index::functions::{self, Placed};
use crate::query::index::line_table::{self, Row};
use crate::query::index::symbols::{self, Held, Reach};
use crate::query::verdict::Judge;
use crate::query::verdict::reason::Reason;
use crate::symbol_name::is_prefix;
use probeidx_format::View;
use probeidx_format::details::{CallSite, Range};
use probeidx_format::id::{ObjectId, PlaceId, StrId, UnitId};
use probeidx_format::lines::{self, Rows};
use probeidx_format::record::{SectionRecord, SequenceRecord, SymbolRecord};
use std::cell::OnceCell;

/// What is known about an address.
#[derive(Clone, Debug)]
pub struct Where<'a> {
    /// The object that holds it.
    pub object: ObjectId,
    /// As a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// The kind of content at the address.
    pub ground: Ground,
    /// The section that holds it.
    pub section: Option<SectionRecord>,
    /// The symbol that the kernel prints for it.
    pub symbol: Option<(Held, Reach)>,
    /// The functions that the code belongs to: the innermost first, each inlined into the next. For a function that is
    /// only in the symbol table, only the name is known.
    pub chain: Vec<Level<'a>>,
    /// Whether its line table row is a recommended breakpoint location.
    pub is_stmt: bool,
    /// Why the code is not present in a running kernel, or never runs.
    pub gone: Option<Reason>,
}

/// The kind of content at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Code of a function.
    Code,
    /// Code outside of functions: padding between them.
    Padding,
    /// A section without code.
    Data,
    /// No section.
    Nothing,
}

/// A function, with the line within it: of its own code at the address, or of the call of the previous function.
#[derive(Clone, Copy, Debug)]
pub struct Level<'a> {
    /// The function's name.
    pub function: &'a [u8],
    /// The path as the line table has it; empty if unknown.
    pub file: &'a [u8],
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// The file and line of the function's declaration; empty and 0 if unknown.
    pub declared: (&'a [u8], u32),
}

/// Looks up addresses. The first look-up reads the rows of its sequence up to the address, and the inline instances of
/// its function. A later address in order continues from there: a million addresses in order cost one walk through
/// everything.
pub struct Cursor<'a> {
    view: &'a View<'a>,
    judge: Judge<'a, 'static>,
    section: Near<SectionRecord>,
    symbol: Near<SymbolRecord>,
    reach: Near<Reach>,
    sequence: Near<SequenceRecord>,
    root: Near<Option<Placed>>,
    walk: Option<Walk<'a>>,
    function: Option<Function>,
    found: Where<'a>,
}

impl<'a> Cursor<'a> {
    /// A cursor before the first look-up.
    pub fn new(view: &'a View<'a>) -> Self {
        let found = Where {
            object: ObjectId::NONE,
            pc: 0,
            ground: Ground::Nothing,
            section: None,
            symbol: None,
            chain: vec![],
            is_stmt: false,
            gone: None,
        };
        Self {
            view,
            judge: Judge::new(view),
            section: Near::default(),
            symbol: Near::default(),
            reach: Near::default(),
            sequence: Near::default(),
            root: Near::default(),
            walk: None,
            function: None,
            found,
        }
    }

    /// Looks up an address.
    pub fn at(&mut self, object: ObjectId, pc: u32) -> &Where<'a> {
        self.look_up(object, pc, true)
    }

    /// Looks up an address without its symbol and lines: those within functions are unknown then, and whether it is a
    /// recommended location. Cost: half.
    pub fn functions_at(&mut self, object: ObjectId, pc: u32) -> &Where<'a> {
        self.look_up(object, pc, false)
    }

    fn look_up(&mut self, object: ObjectId, pc: u32, is_whole: bool) -> &Where<'a> {
        let view = self.view;
        let section =
            self.section.at(object, pc, || symbols::section(view, object, pc).map(|s| (s, pcs_of(s))));
        let held = section.and_then(|s| self.held(object, s, pc));
        let symbol = held.filter(|_| is_whole).and_then(|held| Some((held, self.reach(object, held)?)));
        let is_code = section.is_some_and(symbols::is_executable);
        let mut chain = std::mem::take(&mut self.found.chain);
        chain.clear();
        let row = if is_code && is_whole { self.row(object, pc) } else { None };
        if is_code {
            self.levels(object, pc, is_whole, &mut chain);
        }
        if let (true, true, Some(held)) = (is_code, chain.is_empty(), held)
            && symbols::is_code(view, object, held.record)
            && symbols::covers(view, object, held)
        {
            let function = view.string(held.record.name);
            if !is_prefix(function) {
                chain.push(Level { function, file: &[], line: 0, column: 0, declared: (&[], 0) });
            }
        }
        if let (Some(innermost), Some(row)) = (chain.first_mut(), row.filter(|r| r.line > 0)) {
            *innermost =
                Level { file: view.string(row.file), line: row.line, column: row.column, ..*innermost };
        }
        let ground = match (section, is_code, chain.is_empty()) {
            (None, ..) => Ground::Nothing,
            (_, false, _) => Ground::Data,
            (_, true, true) => Ground::Padding,
            (_, true, false) => Ground::Code,
        };
        let gone = section
            .filter(|_| ground == Ground::Code)
            .and_then(|section| self.judge.gone(object, pc, Some(section), held));
        let is_stmt = ground == Ground::Code && row.is_some_and(|r| r.line > 0 && r.is_stmt);
        self.found = Where { object, pc, ground, section, symbol, chain, is_stmt, gone };
        &self.found
    }

    /// The symbol that holds an address, which all addresses up to the next symbol of any kind share.
    fn held(&mut self, object: ObjectId, section: SectionRecord, pc: u32) -> Option<Held> {
        let view = self.view;
        let record = self.symbol.at(object, pc, || {
            let symbols = view.symbols.part(view.symbols_of(object));
            let after = symbols.partition_point(|s| s.pc.get() <= pc);
            let held = symbols::held_behind(view, object, section, pc, after)
                .or_else(|| symbols::holding_while_loading(view, object, section, pc))?;
            let next = symbols.get(after).map_or(u32::MAX, |s| s.pc.get());
            Some((held.record, held.record.pc.get()..next.min(pcs_of(section).end)))
        })?;
        Some(Held { record, offset: pc.wrapping_sub(record.pc.get()) })
    }

    /// The extent of a symbol, which is there.
    fn reach(&mut self, object: ObjectId, held: Held) -> Option<Reach> {
        let (view, start) = (self.view, held.record.pc.get());
        let find = || Some((symbols::reach(view, object, held.record), start..start.saturating_add(1)));
        self.reach.at(object, start, find)
    }

    fn row(&mut self, object: ObjectId, pc: u32) -> Option<Row> {
        let view = self.view;
        let sequence = self.sequence.at(object, pc, || {
            let sequence = line_table::sequence(view, object, pc)?;
            let after = view.sequences_of(object).partition_point_of_key(|s| s.start.get() <= pc);
            let next = view.sequences_of(object).get(after).map_or(u32::MAX, |s| s.start.get());
            Some((sequence, pc..sequence.end.get().min(next)))
        })?;
        let walk = match &mut self.walk {
            Some(walk) if walk.is_of(sequence) && !walk.is_past(pc) => walk,
            none => none.insert(Walk::new(view, sequence)),
        };
        Some(Row::new(view, sequence.unit, walk.to(pc)?))
    }

    /// The functions at an address, innermost first.
    fn levels(&mut self, object: ObjectId, pc: u32, with_line: bool, chain: &mut Vec<Level<'a>>) {
        let view = self.view;
        let root = self.root.at(object, pc, || {
            let ranges = view.ranges_of(object);
            let after = ranges.partition_point_of_key(|r| r.start.get() <= pc);
            let next = ranges.get(after).map_or(u32::MAX, |r| r.start.get());
            let Some(range) = ranges.up_to(after).last().filter(|r| pc < r.end.get()) else {
                return Some((None, pc..next));
            };
            let record = view.places.get(range.place.index());
            let root = record.map(|record| Placed { id: range.place, record });
            Some((root, pc..range.end.get().min(next)))
        });
        let Some(root) = root.flatten() else { return };
        let function = match &mut self.function {
            Some(function) if function.root.id == root.id => function,
            none => none.insert(Function::read(self.view, object, root)),
        };
        function.levels(self.view, pc, with_line, chain);
    }
}

fn pcs_of(section: SectionRecord) -> std::ops::Range<u32> {
    let start = section.pc.get();
    start..u32::try_from(u64::from(start).saturating_add(section.size.get())).unwrap_or(u32::MAX)
}

/// The last result, with the range of addresses that it holds for.
struct Near<T> {
    object: ObjectId,
    pcs: std::ops::Range<u32>,
    found: Option<T>,
}

impl<T> Default for Near<T> {
    fn default() -> Self {
        Self { object: ObjectId::NONE, pcs: 0..0, found: None }
    }
}

impl<T: Copy> Near<T> {
    /// The result for an address: the last one if it still holds, else from `find`.
    #[inline]
    fn at(
        &mut self,
        object: ObjectId,
        pc: u32,
        find: impl FnOnce() -> Option<(T, std::ops::Range<u32>)>,
    ) -> Option<T> {
        if self.object == object && self.pcs.contains(&pc) {
            return self.found;
        }
        let (found, pcs) = find()?;
        *self = Self { object, pcs, found: Some(found) };
        Some(found)
    }
}

/// The position in the rows of a sequence.
struct Walk<'a> {
    sequence: SequenceRecord,
    rows: Rows<'a>,
    /// The last row that was passed.
    last: Option<lines::Row>,
}

impl<'a> Walk<'a> {
    fn new(view: &View<'a>, sequence: SequenceRecord) -> Self {
        Self { sequence, rows: view.rows(sequence), last: None }
    }
    fn is_of(&self, sequence: SequenceRecord) -> bool {
        (self.sequence.start, self.sequence.rows) == (sequence.start, sequence.rows)
    }
    /// Advances to the row of an address.
    fn to(&mut self, pc: u32) -> Option<lines::Row> {
        if let Some(is_stmt) = self.rows.pass(pc) {
            self.last = Some(self.rows.passed(is_stmt));
        }
        self.last
    }
    fn is_past(&self, pc: u32) -> bool {
        self.last.is_some_and(|row| row.pc > pc)
    }
}

/// An out-of-line function with everything inlined into it.
struct Function {
    root: Placed,
    /// Found when a line is asked for.
    unit: OnceCell<UnitId>,
    instances: Vec<Instance>,
    ranges: Vec<Range>,
}

/// An inlined copy, in preorder.
struct Instance {
    placed: Placed,
    call: Option<CallSite>,
    /// The position of its caller among the function's placements; 0 is the function itself.
    outer: u32,
    /// The end of its ranges in those of the function; they start where the previous instance's end.
    ranges_end: u32,
    /// The end of the instances inlined into it, directly or indirectly.
    end: u32,
}

impl Function {
    fn read(view: &View<'_>, object: ObjectId, root: Placed) -> Self {
        let mut own = Self { root, unit: OnceCell::new(), instances: vec![], ranges: vec![] };
        let first = root.id.index() + 1;
        let places = view.places.part(first..view.places_of(object).end);
        for (record, id) in places.iter().zip(first as u32..) {
            let details = view.details(PlaceId::new(id), record);
            let position = own.instances.len() as u32 + 1;
            let Some(outer) = position.checked_sub(details.outer).filter(|o| *o < position) else { break };
            own.ranges.extend(details.ranges);
            own.instances.push(Instance {
                placed: Placed { id: PlaceId::new(id), record },
                call: details.call,
                outer,
                ranges_end: own.ranges.len() as u32,
                end: position,
            });
        }
        // An instance ends with the last one inlined into it, which follows it.
        for at in (0..own.instances.len()).rev() {
            let (end, outer) = (own.instances[at].end, own.instances[at].outer);
            if let Some(outer) = outer.checked_sub(1) {
                let outer = &mut own.instances[outer as usize];
                outer.end = outer.end.max(end);
            }
        }
        own
    }

    /// Of sibling copies that hold the address, the first counts.
    fn levels<'a>(&self, view: &View<'a>, pc: u32, with_line: bool, chain: &mut Vec<Level<'a>>) {
        let (mut innermost, mut at, mut end) = (0, 0, self.instances.len());
        while at < end {
            let instance = &self.instances[at];
            let start = at.checked_sub(1).map_or(0, |before| self.instances[before].ranges_end as usize);
            let ranges = &self.ranges[start..instance.ranges_end as usize];
            if instance.outer == innermost && ranges.iter().any(|r| r.contains(pc)) {
                at += 1;
                (innermost, end) = (at as u32, instance.end as usize);
            } else {
                at = instance.end as usize;
            }
        }
        let mut position = (StrId::new(0), 0, 0);
        loop {
            let instance = innermost.checked_sub(1).map(|at| &self.instances[at as usize]);
            chain.push(level(view, instance.map_or(self.root, |i| i.placed), position));
            let Some(instance) = instance else { break };
            let call = instance.call.filter(|_| with_line);
            position = call.map_or((StrId::new(0), 0, 0), |call| {
                let file =
                    view.unit_file(*self.unit.get_or_init(|| view.unit_of_place(self.root.id)), call.file);
                (file, view.line(file, call.line), call.column)
            });
            innermost = instance.outer;
        }
    }
}

fn level<'a>(view: &View<'a>, placed: Placed, (file, line, column): (StrId, u32, u32)) -> Level<'a> {
    let function = functions::function(view, placed.record);
    let file = if line == 0 { &[] } else { view.string(file) };
    Level {
        function: function.map_or(&[], |f| view.string(f.name)),
        file,
        line,
        column,
        declared: function.map_or((&[], 0), |f| (view.string(f.file), f.line.get())),
    }
}
