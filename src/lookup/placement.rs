//! An address at which a function runs, whose properties are computed on demand.
use super::{Address, Frame, Frames, Line, Lookup, Symbol, VariablesAt};
use crate::error::Result;
use crate::query::index::functions::Instance;
use crate::query::index::functions::{self, Placed};
use crate::query::index::symbols::{self, Anchor};
use crate::query::spec::Filter;
use crate::query::spec::argument::Argument;
use crate::query::value::place::Place;
use crate::query::value::reader::{ValueAt, Values};
use crate::query::verdict::coverage::{self, Coverage};
use crate::query::verdict::{Judge, Verdicts};
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::FunctionRecord;

/// An address with one set of readable variables: the entry of a function, the start of an inlined copy, or an address
/// within one. Several placements can share an address.
#[derive(Clone, Copy)]
pub struct Placement<'a> {
    pub(super) lookup: Lookup<'a>,
    pub(super) placed: Placed,
    object: ObjectId,
    pc: u32,
    instance: Instance,
}

impl<'a> Placement<'a> {
    /// The entry of a placement of the index.
    pub(super) fn entry(lookup: Lookup<'a>, placed: Placed) -> Self {
        let instance = if placed.is_inline(&lookup.view) { Instance::Inline } else { Instance::OutOfLine };
        let object = lookup.view.object_of_place(placed.id);
        Self { lookup, placed, object, pc: placed.record.entry.get(), instance }
    }
    /// An address within a placement.
    pub(super) fn statement(lookup: Lookup<'a>, placed: Placed, address: Address) -> Self {
        let Address { object, pc } = address;
        Self { lookup, placed, object, pc, instance: Instance::Statement }
    }
    /// The placement at another address of the same copy, such as one after the prologue; `None` if the copy does not
    /// contain the address.
    pub fn moved_to(&self, address: Address) -> Option<Self> {
        let mut ranges = self.lookup.view.details(self.placed.id, self.placed.record).ranges;
        let is_within = address.object == self.object && ranges.any(|r| r.contains(address.pc));
        is_within.then(|| Self::statement(self.lookup, self.placed, address))
    }

    /// Its number in the index.
    pub fn id(&self) -> PlaceId {
        self.placed.id
    }
    /// The function's name.
    pub fn function(&self) -> &'a [u8] {
        self.record().map_or(&[], |f| self.lookup.view.string(f.name))
    }
    /// The file of its declaration.
    pub fn file(&self) -> &'a [u8] {
        self.record().map_or(&[], |f| self.lookup.view.string(f.file))
    }
    /// The line of its declaration, from 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.record().map_or(0, |f| f.line.get())
    }
    /// The kind of placement.
    pub fn instance(&self) -> Instance {
        self.instance
    }
    /// The module's name; empty for vmlinux.
    pub fn module(&self) -> &'a [u8] {
        self.lookup.object_name(self.object)
    }
    /// Its address.
    pub fn at(&self) -> Address {
        Address { object: self.object, pc: self.pc }
    }
    /// The address as the debug information has it: a link address, or an offset within the section in a module.
    pub fn address(&self) -> u64 {
        symbols::address(&self.lookup.view, self.object, self.pc)
    }
    /// The section that holds it; empty if none does.
    pub fn section(&self) -> &'a [u8] {
        symbols::section(&self.lookup.view, self.object, self.pc)
            .map_or(&[], |s| self.lookup.view.string(s.name))
    }
    /// The symbol that the kernel prints for the address. Cost: a binary search.
    pub fn symbol(&self) -> Option<Symbol<'a>> {
        Symbol::at(self.lookup, self.at())
    }
    /// The verdict of each mechanism. Cost: a few binary searches, about a microsecond.
    pub fn verdicts(&self) -> Verdicts {
        Judge::new(&self.lookup.view).verdicts(self.object, self.pc, self.instance == Instance::Inline)
    }
    /// What to write to the kernel to probe exactly this address; for an entry that starts with `endbr64`, the address
    /// after that if the kernel puts the probe there. Cost: that of the verdicts, and a few look-ups in modules.
    pub fn anchor(&self) -> Option<Anchor<'a>> {
        symbols::anchor(&self.lookup.view, self.object, self.pc.saturating_add(self.verdicts().shift))
    }
    /// The calls through which it is inlined, innermost first; empty if it is not inlined.
    pub fn calls(&self) -> Calls<'a> {
        let next = Some(self.placed);
        Calls(Frames::from_placed(self.lookup, next))
    }
    /// Whether it lies within another copy of the same function: a call passes both.
    pub fn is_nested(&self) -> bool {
        coverage::is_nested(&self.lookup.view, self.placed)
    }
    /// How much of the function can be probed in this object. Cost: judges each of its placements; allocates a list of
    /// them.
    pub fn coverage(&self) -> Coverage {
        let view = &self.lookup.view;
        let Some(function) = self.record() else { return Coverage::default() };
        let Some(name) = view.name(view.string(function.name)) else { return Coverage::default() };
        let mut found = Coverage::default();
        let judge = Judge::new(view);
        let scope = functions::Scope::of(view, self.object);
        for declaration in functions::Declarations::of(view, Some(name)) {
            if (declaration.file, declaration.line) == (function.file, function.line.get()) {
                functions::places(view, &declaration, &scope, &mut vec![], |object, own| {
                    found = Coverage::of(view, &judge, object, own);
                });
            }
        }
        found
    }

    /// The variables in scope, outer blocks before inner ones, in the order of the debug information; at an entry,
    /// those of the outermost block. A parameter that the debug information has again, behind the local variables, is there once,
    /// as its first entry says.
    pub fn variables(&self) -> VariablesAt<'a> {
        VariablesAt::new(*self)
    }
    /// Reads an argument: its state, type and plan. `filter` selects return probes. Allocates what the answer contains.
    ///
    /// # Errors
    /// Those of the path through the types: no such member, or an arrow instead of a dot.
    pub fn value(&self, argument: &Argument, filter: Filter) -> Result<ValueAt> {
        let place = Place { at_return: filter == Filter::Return, ..self.place() };
        Values::new(&self.lookup.view).argument(place, argument)
    }

    pub(super) fn place(&self) -> Place {
        let Self { object, placed, pc, .. } = *self;
        Place { object, placed, pc, at_return: false, with_lines: false }
    }
    fn record(&self) -> Option<FunctionRecord> {
        functions::function(&self.lookup.view, self.placed.record)
    }
}

/// An iterator over the calls through which a placement is inlined: the caller, and the line of the call.
#[derive(Clone, Copy)]
pub struct Calls<'a>(Frames<'a>);

impl<'a> Iterator for Calls<'a> {
    type Item = (Frame<'a>, Line<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let call = self.0.next()?.call()?;
        let mut outer = self.0;
        Some((outer.next()?, call))
    }
}
