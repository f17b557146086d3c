//! Everything that is known of one placement.
use super::coverage::{self, Coverage};
use super::instead::{self, Instead};
use super::location::{self, State, Stop};
use super::readable::{Spellings, after_fentry};
use super::select::{self, Placed};
use super::symbols::{self, Anchor, Uniqueness};
use super::verdict::{Judge, Verdicts};
use probeidx_format::View;
use probeidx_format::details::{CallSite, Item};
use probeidx_format::id::{ObjectId, PlaceId, StrId, SymbolId};
use probeidx_format::record::{FunctionRecord, RangeRecord, SymbolRecord};
use std::rc::Rc;

/// What kind of place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    /// The entry of a function.
    OutOfLine,
    /// The start of an inlined copy.
    Inline,
    /// An address within a function.
    Statement,
}

impl Instance {
    /// As JSON and text print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfLine => "out-of-line",
            Self::Inline => "inline",
            Self::Statement => "statement",
        }
    }
}

/// A call that was inlined.
#[derive(Clone, Copy, Debug)]
pub struct InlineCall<'a> {
    /// The caller.
    pub function: &'a [u8],
    /// Where it calls.
    pub file: &'a [u8],
    pub line: u32,
    pub column: u32,
}

/// A variable at the placement's address.
#[derive(Clone, Debug)]
pub struct VariableAt<'a> {
    pub name: &'a [u8],
    pub is_parameter: bool,
    /// In SystemTap's spelling; `None` if it has none.
    pub type_name: Option<String>,
    pub state: State,
    /// Where it is, in words.
    pub location: Option<String>,
}

/// One address at which a function runs.
#[derive(Clone, Debug)]
pub struct Placement<'a> {
    pub object: ObjectId,
    /// The module's name; `None` for vmlinux.
    pub module: Option<&'a [u8]>,
    pub function: &'a [u8],
    pub file: &'a [u8],
    /// Of the declaration.
    pub line: u32,
    pub instance: Instance,
    /// The section's name; empty where none holds the address.
    pub section: &'a [u8],
    /// A link address in vmlinux, an offset within the section in a module.
    pub address: u64,
    pub pc: u32,
    /// Innermost call first, out to the out-of-line function.
    pub inlined_into: Vec<InlineCall<'a>>,
    /// The symbol that holds the address, and the offset.
    pub symbol: Option<(&'a [u8], u32)>,
    pub uniqueness: Uniqueness,
    /// Of the address at which the probe stands in the end: that of the placement, or `endbr64` passed over.
    pub anchor: Option<Anchor<'a>>,
    /// What each mechanism of the kernel does with it.
    pub verdicts: Verdicts,
    /// Of the function, in this object.
    pub coverage: Rc<Coverage>,
    /// What is possible where the probe that is asked for is refused.
    pub instead: Option<Instead<'a>>,
    /// It lies within another inlined copy of the same function: a call passes both.
    pub is_nested: bool,
    /// Whether the function returns, and how.
    pub returns: Returns,
    pub variables: Vec<VariableAt<'a>>,
}

/// What is known of a function's exits, where a return probe is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returns {
    /// The debug information says that it does not return.
    pub never: bool,
    /// Some exits are jumps to other functions: a return probe fires when these return, with their value.
    pub tail_calls: bool,
}

/// Puts placements together. One is used for many: it keeps the spellings of types, and the rules of the kernel.
pub struct Describer<'a> {
    view: View<'a>,
    /// Tells which of the addresses can be probed.
    pub judge: Judge<'a>,
    spellings: Spellings<'a>,
    with_locals: bool,
    wants_return: bool,
}

impl<'a> Describer<'a> {
    /// With local variables, or parameters only; for return probes, or others.
    pub fn new(view: View<'a>, with_locals: bool, wants_return: bool) -> Self {
        Self { view, judge: Judge::new(view), spellings: Spellings::new(view), with_locals, wants_return }
    }

    /// The placement itself, at its entry.
    pub fn placement(
        &mut self,
        object: ObjectId,
        placed: Placed<'a>,
        coverage: Rc<Coverage>,
    ) -> Option<Placement<'a>> {
        let instance = if placed.is_inline(&self.view) { Instance::Inline } else { Instance::OutOfLine };
        Some(Placement { coverage, ..self.describe(object, placed, placed.record.entry.get(), instance)? })
    }

    /// A function that only the symbol table knows, such as assembly; a clone, of which it knows the name and the debug
    /// information the rest.
    pub fn symbol(&mut self, object: ObjectId, id: SymbolId) -> Option<Placement<'a>> {
        let view = self.view;
        let record = select::symbol(&view, id)?;
        let pc = record.pc.get();
        if let Some(placed) = entry_at(&view, object, pc) {
            return self.describe(object, placed, pc, Instance::OutOfLine);
        }
        let plain = self.undescribed(object, pc, view.string(record.name), Instance::OutOfLine)?;
        Some(self.with_instead(plain, None))
    }

    /// An address within code that only the symbol table knows.
    pub fn within_symbol(&self, object: ObjectId, pc: u32) -> Option<Placement<'a>> {
        let held = symbols::holding(&self.view, object, pc)?;
        let name = self.view.string(held.record.name);
        let is_code = symbols::is_code(&self.view, object, held.record);
        let plain = is_code.then(|| self.undescribed(object, pc, name, Instance::Statement))??;
        Some(self.with_instead(plain, None))
    }

    fn with_instead(&self, p: Placement<'a>, placed: Option<Placed<'a>>) -> Placement<'a> {
        let instead = instead::instead(&self.view, &self.judge, &p, placed, self.wants_return);
        Placement { instead, ..p }
    }

    /// What the tables of objects, sections and symbols tell of an address.
    fn undescribed(
        &self,
        object: ObjectId,
        pc: u32,
        function: &'a [u8],
        instance: Instance,
    ) -> Option<Placement<'a>> {
        let view = self.view;
        let module = view.string(view.objects.get(object.index())?.name);
        let held = symbols::holding(&view, object, pc);
        let section = symbols::section(&view, object, pc);
        let verdicts = self.judge.verdicts(object, pc, instance == Instance::Inline);
        Some(Placement {
            object,
            module: (!module.is_empty()).then_some(module),
            function,
            file: &[],
            line: 0,
            instance,
            section: section.map_or(&[], |s| view.string(s.name)),
            address: symbols::address(&view, object, pc),
            pc,
            inlined_into: vec![],
            symbol: held.map(|h| (view.string(h.record.name), h.offset)),
            uniqueness: held.map(|h| symbols::uniqueness(&view, object, h.record.name)).unwrap_or_default(),
            anchor: symbols::anchor(&view, object, pc + verdicts.shift),
            verdicts,
            coverage: Rc::new(Coverage::of_one(verdicts)),
            instead: None,
            is_nested: false,
            returns: Returns {
                never: false,
                tail_calls: held.is_some_and(|h| h.record.has(SymbolRecord::TAIL_CALLS)),
            },
            variables: vec![],
        })
    }

    /// An address within a placement.
    pub fn statement(&mut self, object: ObjectId, placed: Placed<'a>, pc: u32) -> Option<Placement<'a>> {
        self.describe(object, placed, pc, Instance::Statement)
    }

    fn describe(
        &mut self,
        object: ObjectId,
        placed: Placed<'a>,
        pc: u32,
        instance: Instance,
    ) -> Option<Placement<'a>> {
        let view = self.view;
        let function = select::function(&view, placed.record)?;
        let plain = self.undescribed(object, pc, view.string(function.name), instance)?;
        let described = Placement {
            file: view.string(function.file),
            line: function.line.get(),
            inlined_into: inline_calls(&view, placed),
            returns: Returns { never: function.has(FunctionRecord::NORETURN), ..plain.returns },
            is_nested: coverage::is_nested(&view, placed),
            variables: self.variables(placed, pc),
            ..plain
        };
        let mut described = self.with_instead(described, Some(placed));
        if let Some(Instead::At(nearby)) = &mut described.instead {
            let there = self.variables(placed, nearby.pc);
            nearby.readable = there.iter().filter(|v| v.state.is_known()).map(|v| v.name).collect();
        }
        Some(described)
    }

    /// The variables in scope at an address of the placement, parameters first.
    fn variables(&mut self, placed: Placed<'a>, pc: u32) -> Vec<VariableAt<'a>> {
        let view = self.view;
        self.spellings.enter(placed.record.function);
        let entry = placed.record.entry.get();
        let later = (pc == entry).then(|| after_fentry(&view, placed)).flatten();
        let at_entry = later.is_some() || select::root(&view, placed).record.entry.get() == pc;
        let stop = Stop { view: &view, object: view.object_of_place(placed.id), pc, at_entry };
        let mut found = vec![];
        // How many of the enclosing blocks do not hold the address.
        let mut closed = vec![];
        for item in view.details(placed.record).items {
            match item {
                Item::Block(mut ranges) => closed.push(pc == entry || !ranges.any(|r| r.contains(pc))),
                Item::End => {
                    closed.pop();
                }
                Item::Variable(index, at) if !closed.contains(&true) => {
                    let Some(variable) = self.spellings.variable(index) else { continue };
                    if variable.name == StrId::new(0) || !(variable.parameter || self.with_locals) {
                        continue;
                    }
                    let (mut state, mut location) = location::describe(at, pc, stop);
                    if state == State::Elsewhere
                        && let Some(later) = later
                    {
                        (state, location) = location::describe(at, later, stop);
                    }
                    let spelled = variable.type_id.and_then(|t| self.spellings.spelled(t));
                    found.push(VariableAt {
                        name: view.string(variable.name),
                        is_parameter: variable.parameter,
                        type_name: spelled.map(|s| self.spellings.text(s).to_owned()),
                        state,
                        location,
                    });
                }
                Item::Variable(..) => {}
            }
        }
        found.sort_by_key(|v| !v.is_parameter);
        found
    }
}

/// The calls through which a placement is inlined, innermost first.
fn inline_calls<'a>(view: &View<'a>, mut placed: Placed<'a>) -> Vec<InlineCall<'a>> {
    let unit = view.unit_of_place(placed.id);
    let mut calls = vec![];
    while let Some(outer) = placed.outer(view) {
        let name = select::function(view, outer.record).map_or(&[][..], |f| view.string(f.name));
        let CallSite { file, line, column } =
            view.details(placed.record).call.unwrap_or(CallSite { file: u32::MAX, line: 0, column: 0 });
        calls.push(InlineCall {
            function: name,
            file: view.string(view.unit_file(unit, file)),
            line,
            column,
        });
        placed = outer;
    }
    calls
}

/// The out-of-line function that starts at an address. Cost: a binary search.
pub fn entry_at<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<Placed<'a>> {
    let ranges = view.ranges_of(object);
    let first = ranges.partition_point(|r| r.start.get() < pc);
    let at_entry = |r: &RangeRecord| {
        let record = view.places.get(r.place.index()).filter(|p| p.entry.get() == pc)?;
        Some(Placed { id: r.place, record })
    };
    ranges[first..].iter().take_while(|r| r.start.get() == pc).find_map(at_entry)
}

/// The innermost placement that holds an address. Cost: a binary search, then the inline instances of the function.
pub fn holding<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<Placed<'a>> {
    let ranges = view.ranges_of(object);
    let after = ranges.partition_point(|r| r.start.get() <= pc);
    let range = ranges[..after].last().filter(|r| pc < r.end.get())?;
    let record = view.places.get(range.place.index())?;
    let mut innermost = Placed { id: range.place, record };
    for at in range.place.index() + 1..view.places_of(object).end {
        let inner = Placed { id: PlaceId::new(at as u32), record: &view.places[at] };
        let Some(outer) = view.outer(inner.id, inner.record) else { break };
        if outer == innermost.id && view.details(inner.record).ranges.any(|r| r.contains(pc)) {
            innermost = inner;
        }
    }
    Some(innermost)
}
