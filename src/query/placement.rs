//! Everything that is known of one placement.
use super::location::{self, State};
use super::readable::{Spellings, after_fentry};
use super::select::{self, Placed};
use super::symbols::{self, Anchor, Uniqueness};
use probeidx_format::View;
use probeidx_format::details::{CallSite, Item};
use probeidx_format::id::{ObjectId, PlaceId, StrId, SymbolId};
use probeidx_format::record::RangeRecord;

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
    pub anchor: Option<Anchor<'a>>,
    /// Distinct addresses at which the function runs in this object, discarded sections left out.
    pub instances: u32,
    pub variables: Vec<VariableAt<'a>>,
}

/// Puts placements together. One is used for many: it keeps the spellings of types.
pub struct Describer<'a> {
    view: View<'a>,
    spellings: Spellings<'a>,
    with_locals: bool,
}

impl<'a> Describer<'a> {
    /// With local variables, or parameters only.
    pub fn new(view: View<'a>, with_locals: bool) -> Self {
        Self { view, spellings: Spellings::new(view), with_locals }
    }

    /// The placement itself, at its entry.
    pub fn placement(
        &mut self,
        object: ObjectId,
        placed: Placed<'a>,
        instances: u32,
    ) -> Option<Placement<'a>> {
        let instance = if placed.is_inline(&self.view) { Instance::Inline } else { Instance::OutOfLine };
        self.describe(object, placed, placed.record.entry.get(), instance, instances)
    }

    /// A function that only the symbol table knows, such as assembly; a clone, of which it knows the name and the debug
    /// information the rest.
    pub fn symbol(&mut self, object: ObjectId, id: SymbolId) -> Option<Placement<'a>> {
        let view = self.view;
        let record = select::symbol(&view, id)?;
        let pc = record.pc.get();
        if let Some(placed) = entry_at(&view, object, pc) {
            return self.placement(object, placed, 1);
        }
        self.undescribed(object, pc, view.string(record.name), Instance::OutOfLine)
    }

    /// An address within code that only the symbol table knows.
    pub fn within_symbol(&self, object: ObjectId, pc: u32) -> Option<Placement<'a>> {
        let held = symbols::holding(&self.view, object, pc)?;
        let name = self.view.string(held.record.name);
        symbols::is_code(&self.view, object, held.record)
            .then(|| self.undescribed(object, pc, name, Instance::Statement))?
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
            anchor: symbols::anchor(&view, object, pc),
            instances: u32::from(section.is_some_and(|s| !symbols::is_discarded(&view, object, s))),
            variables: vec![],
        })
    }

    /// An address within a placement.
    pub fn statement(
        &mut self,
        object: ObjectId,
        placed: Placed<'a>,
        pc: u32,
        instances: u32,
    ) -> Option<Placement<'a>> {
        self.describe(object, placed, pc, Instance::Statement, instances)
    }

    fn describe(
        &mut self,
        object: ObjectId,
        placed: Placed<'a>,
        pc: u32,
        instance: Instance,
        instances: u32,
    ) -> Option<Placement<'a>> {
        let view = self.view;
        let function = select::function(&view, placed.record)?;
        Some(Placement {
            file: view.string(function.file),
            line: function.line.get(),
            inlined_into: inline_calls(&view, placed),
            instances,
            variables: self.variables(placed, pc),
            ..self.undescribed(object, pc, view.string(function.name), instance)?
        })
    }

    /// The variables in scope at an address of the placement, parameters first.
    fn variables(&mut self, placed: Placed<'a>, pc: u32) -> Vec<VariableAt<'a>> {
        let view = self.view;
        self.spellings.enter(placed.record.function);
        let entry = placed.record.entry.get();
        let later = (pc == entry).then(|| after_fentry(&view, placed)).flatten();
        let at_entry = later.is_some() || select::root(&view, placed).record.entry.get() == pc;
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
                    let (mut state, mut location) = location::describe(at, pc, at_entry, view.machine());
                    if state == State::Elsewhere
                        && let Some(later) = later
                    {
                        (state, location) = location::describe(at, later, at_entry, view.machine());
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

/// How many distinct addresses these placements of one function have. Those in discarded sections are left out, and an
/// instance within another of the same function counts once: partial inlining makes such.
pub fn distinct(view: &View<'_>, object: ObjectId, places: &[Placed<'_>]) -> u32 {
    let function = |p: &Placed<'_>| select::function(view, p.record).map(|f| (f.name, f.file, f.line.get()));
    let is_within_itself = |p: &Placed<'_>| {
        std::iter::successors(p.outer(view), |o| o.outer(view)).any(|o| function(&o) == function(p))
    };
    let mut addresses: Vec<u32> = places
        .iter()
        .filter(|p| !is_within_itself(p))
        .map(|p| p.record.entry.get())
        .filter(|pc| {
            symbols::section(view, object, *pc).is_some_and(|s| !symbols::is_discarded(view, object, s))
        })
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.len() as u32
}
