//! A placement, with everything known about it.
use super::by_name::ByName;
use crate::error::Result;
use crate::query::index::functions::{self, Instance, Placed};
use crate::query::index::line_table::Row;
use crate::query::index::provenance::{self, Provenance};
use crate::query::index::symbols::{self, Anchor, Uniqueness};
use crate::query::index::user_object;
use crate::query::runtime::overlay::{Overlay, Running};
use crate::query::spec::argument::Argument;
use crate::query::value::fetch_arg;
use crate::query::value::parameter_list::EntryOf;
use crate::query::value::place::Place;
use crate::query::value::reader::{State, ValueAt, Values};
use crate::query::verdict::alternative::{self, Alternative, Refusal};
use crate::query::verdict::coverage::Coverage;
use crate::query::verdict::sweep::{Known, Sweep};
use crate::query::verdict::{Judge, Verdicts};
use probeidx_format::View;
use probeidx_format::details::CallSite;
use probeidx_format::id::{ObjectId, SymbolId, UnitId};
use probeidx_format::record::{FunctionRecord, SymbolRecord};
use std::rc::Rc;

/// A call that was inlined.
#[derive(Clone, Copy, Debug)]
pub struct InlineCall<'a> {
    /// The caller.
    pub function: &'a [u8],
    /// The file of the call.
    pub file: &'a [u8],
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// The source line that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// The path as the line table has it.
    pub file: &'a [u8],
    /// From 1.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// Whether the compiler recommends it for breakpoints.
    pub is_stmt: bool,
    /// Whether it is the best address to probe for the line, in this copy of the function.
    pub is_best: bool,
    /// Whether it is the one that SystemTap probes: the lowest.
    pub is_systemtap: bool,
}

impl<'a> Source<'a> {
    /// The source line of a row.
    pub fn of(view: &View<'a>, row: Row) -> Self {
        let Row { file, line, column, is_stmt, .. } = row;
        Self { file: view.string(file), line, column, is_stmt, is_best: false, is_systemtap: false }
    }
}

/// How a place within a function was requested.
#[derive(Clone, Copy, Debug)]
pub enum Within<'a> {
    /// As a label of the function.
    Label {
        /// The label's name.
        name: &'a [u8],
        /// The line of the label in the function's file, from 1.
        line: u32,
    },
    /// As a callee: the function into which it is inlined.
    Caller(FunctionRecord),
}

/// One address at which a function runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Placement<'a> {
    /// The object that holds the address.
    pub object: ObjectId,
    /// The module's name; `None` for vmlinux, and in a program or shared library.
    pub module: Option<&'a [u8]>,
    /// The path of the program or shared library.
    pub process: Option<&'a [u8]>,
    /// The function's name.
    pub function: &'a [u8],
    /// The file of the declaration.
    pub file: &'a [u8],
    /// The line of the declaration.
    pub line: u32,
    /// Whether it is an entry, an inline instance, and so on.
    pub instance: Instance,
    /// What the placement was found in.
    pub provenance: Provenance,
    /// The section's name; empty if no section holds the address.
    pub section: &'a [u8],
    /// A link address; in a module, an offset within the section.
    pub address: u64,
    /// The address as a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// What of the debug information has the address; `None` if only a symbol is known.
    pub placed: Option<Placed>,
    /// The source line, if a line was requested.
    pub source: Option<Source<'a>>,
    /// The label or caller, if a place within a function was requested.
    pub within: Option<Within<'a>>,
    /// The calls through which it is inlined, from the innermost call out to the out-of-line function.
    pub inlined_into: Vec<InlineCall<'a>>,
    /// The symbol that holds the address, and the offset from that symbol.
    pub symbol: Option<(&'a [u8], u32)>,
    /// Whether the symbol's name is unique.
    pub uniqueness: Uniqueness,
    /// The anchor of the final probe address: the placement's own, or where the kernel puts the probe instead.
    pub anchor: Option<Anchor<'a>>,
    /// The verdict of each mechanism.
    pub verdicts: Verdicts,
    /// The name to attach to, for mechanisms of the kernel that are given one; `None` in a program or shared library.
    pub by_name: Option<ByName<'a>>,
    /// The coverage of the function in this object.
    pub coverage: Rc<Coverage>,
    /// What to do if the requested probe is refused.
    pub instead: Option<Alternative<'a>>,
    /// Whether it lies within another inlined copy of the same function: a call passes both.
    pub is_nested: bool,
    /// Of what the address is the entry.
    pub entry: EntryOf,
    /// Whether and how the function returns.
    pub returns: Returns,
    /// The values that can be read there: all variables, or those requested.
    pub values: Vec<ValueAt>,
    /// The state in a running kernel, if a capture was given.
    pub running: Option<Running>,
}

/// A function's exits, for a return probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returns {
    /// Whether the debug information marks it as not returning.
    pub never: bool,
    /// Whether some exits are jumps to other functions: a return probe fires when those return, with their value.
    pub tail_calls: bool,
}

/// Builds placements. Reuse one for many placements: it caches type names and the kernel's rules.
pub struct Describer<'a, 'w> {
    view: &'a View<'a>,
    /// Judges which addresses can be probed.
    pub judge: Judge<'a, 'w>,
    values: Values<'a>,
    /// The path of the program or shared library, if the index is of one.
    process: Option<&'a [u8]>,
    wanted: Wanted<'w>,
    returns: bool,
}

/// What to add to a placement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'w> {
    /// Include local variables.
    pub locals: bool,
    /// Include source lines where unavailable variables have a location.
    pub lines: bool,
    /// Only these arguments instead of all variables.
    pub arguments: &'w [Argument],
    /// The state of a running kernel.
    pub running: Option<&'w Overlay<'w>>,
    /// Leave out values, which take half of the time.
    pub no_values: bool,
    /// Leave out what to do if a probe is refused, which takes a quarter.
    pub no_alternatives: bool,
}

impl<'a, 'w> Describer<'a, 'w> {
    /// A describer for return probes, or for others.
    pub fn new(view: &'a View<'a>, wanted: Wanted<'w>, returns: bool) -> Self {
        let judge = Judge::new(view).over(wanted.running);
        Self { view, judge, values: Values::new(view), process: user_object::path(view), wanted, returns }
    }

    /// Takes from a sweep what it has of placements: for all of an index.
    pub fn with(self, sweep: Option<&'w Sweep>) -> Self {
        Self { judge: self.judge.with(sweep), ..self }
    }

    /// The placement at its entry.
    pub fn placement(
        &mut self,
        object: ObjectId,
        placed: Placed,
        coverage: Rc<Coverage>,
    ) -> Result<Option<Placement<'a>>> {
        let instance = if placed.is_inline(self.view) { Instance::Inline } else { Instance::OutOfLine };
        self.describe(object, placed, placed.record.entry.get(), instance, Some(coverage))
    }

    /// The placement of a symbol without debug information of its own: assembly, or a clone, whose name comes from the
    /// symbol and the rest from the debug information.
    pub fn symbol(&mut self, object: ObjectId, id: SymbolId) -> Result<Option<Placement<'a>>> {
        let view = self.view;
        let Some(record) = functions::symbol(view, id) else { return Ok(None) };
        let pc = record.pc.get();
        if let Some(placed) = functions::entry_at(view, object, pc) {
            return self.describe(object, placed, pc, Instance::OutOfLine, None);
        }
        let known = self.known(object, pc, false, None);
        let plain = self.undescribed(object, pc, view.string(record.name), Instance::OutOfLine, known, None);
        Ok(plain.map(|plain| self.with_raw_values(plain, true)))
    }

    /// An address within code that only the symbol table covers.
    pub fn within_symbol(&self, object: ObjectId, pc: u32) -> Option<Placement<'a>> {
        let held = symbols::holding(self.view, object, pc)?;
        let name = self.view.string(held.record.name);
        let is_code = symbols::is_code(self.view, object, held.record);
        let known = || self.known(object, pc, false, None);
        let plain =
            is_code.then(|| self.undescribed(object, pc, name, Instance::Statement, known(), None))??;
        Some(self.with_raw_values(plain, false))
    }

    /// Adds the requested values where there is no debug information.
    fn with_raw_values(&self, mut plain: Placement<'a>, is_entry: bool) -> Placement<'a> {
        let value = |argument| self.values.undescribed(argument, self.returns, is_entry);
        plain.values = fitting(self.wanted.arguments.iter().map(value).collect());
        plain.instead = self.instead(&plain, None);
        plain
    }

    /// What to do if the probe is refused.
    fn instead(&self, p: &Placement<'a>, placed: Option<Placed>) -> Option<Alternative<'a>> {
        if self.wanted.no_alternatives {
            return None;
        }
        let refusal = Refusal {
            object: p.object,
            pc: p.pc,
            verdicts: p.verdicts,
            is_in_module: p.module.is_some(),
            symbol: p.symbol.map(|(name, _)| name),
            outermost: p.inlined_into.last().map(|call| call.function),
            copy: placed.filter(|_| p.instance == Instance::Inline),
            wants_return: self.returns,
        };
        alternative::alternative(self.view, &self.judge, &refusal)
    }

    /// What is known of an address, if the index has its object.
    fn known(&self, object: ObjectId, pc: u32, is_inline: bool, coverage: Option<&Coverage>) -> Known<'a> {
        let view = self.view;
        let section = symbols::section(view, object, pc);
        let held = section.and_then(|s| symbols::holding_in(view, object, s, pc));
        let judged = coverage.and_then(|c| c.verdicts(pc, is_inline));
        let verdicts = judged.unwrap_or_else(|| self.judge.verdicts(object, pc, is_inline));
        Known {
            section,
            held,
            uniqueness: held.map(|h| symbols::uniqueness(view, object, h.record.name)).unwrap_or_default(),
            anchor: symbols::anchor(view, object, pc.saturating_add(verdicts.shift)),
            verdicts,
        }
    }

    /// A placement from the tables of objects, sections and symbols only; and the coverage of its function, if known.
    fn undescribed(
        &self,
        object: ObjectId,
        pc: u32,
        function: &'a [u8],
        instance: Instance,
        known: Known<'a>,
        coverage: Option<Rc<Coverage>>,
    ) -> Option<Placement<'a>> {
        let view = self.view;
        let process = self.process;
        let module = view.string(view.objects.get(object.index())?.name);
        let Known { section, held, uniqueness, anchor, verdicts } = known;
        let mut plain = Placement {
            object,
            module: (!module.is_empty() && process.is_none()).then_some(module),
            process,
            function,
            file: &[],
            line: 0,
            instance,
            provenance: Provenance::Symbols,
            section: section.map_or(&[], |s| view.string(s.name)),
            address: symbols::address_in(view, object, section, pc),
            pc,
            placed: None,
            source: None,
            within: None,
            inlined_into: vec![],
            symbol: held.map(|h| (view.string(h.record.name), h.offset)),
            uniqueness,
            anchor,
            verdicts,
            by_name: None,
            coverage: coverage.unwrap_or_else(|| Rc::new(Coverage::of_one(verdicts))),
            instead: None,
            is_nested: false,
            entry: EntryOf::None,
            returns: Returns {
                never: false,
                tail_calls: held.is_some_and(|h| h.record.has(SymbolRecord::TAIL_CALLS)),
            },
            values: vec![],
            running: None,
        };
        if let Some(overlay) = self.wanted.running {
            let (running, uniqueness) = overlay.at(view, object, pc, plain.symbol.map(|(name, _)| name));
            plain.running = Some(running);
            plain.uniqueness = uniqueness.unwrap_or(plain.uniqueness);
        }
        if process.is_none() {
            plain.by_name = Some(ByName::of(view, &plain, held));
        }
        Some(plain)
    }

    /// An address within a placement.
    pub fn statement(&mut self, object: ObjectId, placed: Placed, pc: u32) -> Result<Option<Placement<'a>>> {
        self.describe(object, placed, pc, Instance::Statement, None)
    }

    fn describe(
        &mut self,
        object: ObjectId,
        placed: Placed,
        pc: u32,
        instance: Instance,
        coverage: Option<Rc<Coverage>>,
    ) -> Result<Option<Placement<'a>>> {
        let Some(function) = functions::function(self.view, placed.record) else { return Ok(None) };
        let name = self.view.string(function.name);
        let swept = self.judge.sweep.filter(|_| placed.record.entry.get() == pc);
        let known = swept
            .and_then(|sweep| sweep.known(self.view, object, placed))
            .unwrap_or_else(|| self.known(object, pc, instance == Instance::Inline, coverage.as_deref()));
        // In place: a placement has some hundred bytes.
        let Some(mut place) = self.undescribed(object, pc, name, instance, known, coverage) else {
            return Ok(None);
        };
        place.placed = Some(placed);
        place.values = self.values(object, placed, pc)?;
        let view = self.view;
        place.file = view.string(function.file);
        place.line = function.line.get();
        let unit = view.unit_of_place(placed.id);
        place.provenance = provenance::of_unit(view.units.get(unit.index()));
        place.returns.never = function.has(FunctionRecord::NORETURN);
        let outermost = inline_calls(view, placed, unit, |outer, call| {
            let is_same = |f: &FunctionRecord| {
                (f.name, f.file, f.line) == (function.name, function.file, function.line)
            };
            place.is_nested |= outer.as_ref().is_some_and(is_same);
            place.inlined_into.push(call);
        });
        place.entry = match outermost.record.entry.get() == pc {
            true if place.inlined_into.is_empty() => EntryOf::Function,
            true => EntryOf::Holder,
            false => EntryOf::None,
        };
        place.instead = self.instead(&place, Some(placed));
        if let Some(Alternative::At(nearby)) = &mut place.instead {
            let there = self.values(object, placed, nearby.pc)?;
            nearby.readable = there.into_iter().filter(|v| v.state.is_known()).map(|v| v.name).collect();
        }
        Ok(Some(place))
    }

    /// The requested values at an address of the placement, or all its variables.
    fn values(&mut self, object: ObjectId, placed: Placed, pc: u32) -> Result<Vec<ValueAt>> {
        if self.wanted.no_values {
            return Ok(vec![]);
        }
        let place = Place { object, placed, pc, at_return: self.returns, with_lines: self.wanted.lines };
        if self.wanted.arguments.is_empty() {
            return Ok(self.values.variables(place, self.wanted.locals));
        }
        self.values.arguments(place, self.wanted.arguments).map(fitting)
    }
}

/// Drops the values that would make the event record too large.
fn fitting(mut values: Vec<ValueAt>) -> Vec<ValueAt> {
    let mut size = 0;
    for value in &mut values {
        if let Some(Err(why)) = value.fetch.as_deref().map(|f| fetch_arg::check_record(&mut size, f)) {
            (value.state, value.location, value.fetch) = (State::Unsupported, Some(why), None);
        }
    }
    values
}

/// Calls `each` with the calls through which a placement of a unit is inlined, innermost first, and with the function of each
/// caller. Returns the out-of-line placement that contains it.
fn inline_calls<'a>(
    view: &View<'a>,
    mut placed: Placed,
    unit: UnitId,
    mut each: impl FnMut(Option<FunctionRecord>, InlineCall<'a>),
) -> Placed {
    let mut files = None;
    while let Some((outer, CallSite { file, line, column })) = placed.call(view) {
        let function = functions::function(view, outer.record);
        let files = files.get_or_insert_with(|| view.unit_files(unit));
        let file = files.at(file as usize);
        let call = InlineCall {
            function: function.map_or(&[][..], |f| view.string(f.name)),
            file: view.string(file),
            line: view.line(file, line),
            column,
        };
        each(function, call);
        placed = outer;
    }
    placed
}
