//! The functions that contain an address.
use super::{Address, Lookup};
use crate::query::index::functions::{self, Placed};
use crate::query::index::line_table::Row;
use probeidx_format::View;
use probeidx_format::record::FunctionRecord;

/// A source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The path as the line table has it.
    pub file: &'a [u8],
    /// From 1; 0 if the code belongs to no line.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// Whether the compiler recommends the address for breakpoints; always true for calls.
    pub is_stmt: bool,
}

impl<'a> Line<'a> {
    pub(super) fn of(view: &View<'a>, row: Row) -> Self {
        let Row { file, line, column, is_stmt, .. } = row;
        Self { file: view.string(file), line, column, is_stmt }
    }
}

/// A function whose code contains an address.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    lookup: Lookup<'a>,
    placed: Placed,
}

impl<'a> Frame<'a> {
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
    /// Where the next frame calls it; `None` if it is not inlined. Cost: linear in the ranges of the copy.
    pub fn call(&self) -> Option<Line<'a>> {
        let view = &self.lookup.view;
        let call = view.details(self.placed.id, self.placed.record).call?;
        let file = view.unit_file(view.unit_of_place(self.placed.id), call.file);
        let line = view.line(file, call.line);
        Some(Line { file: view.string(file), line, column: call.column, is_stmt: true })
    }
    /// Whether it is inlined into the next frame.
    pub fn is_inlined(&self) -> bool {
        self.placed.is_inline(&self.lookup.view)
    }
    fn record(&self) -> Option<FunctionRecord> {
        functions::function(&self.lookup.view, self.placed.record)
    }
}

/// An iterator over the functions that contain an address, innermost first.
#[derive(Clone, Copy)]
pub struct Frames<'a> {
    lookup: Lookup<'a>,
    next: Option<Placed>,
}

impl<'a> Frames<'a> {
    pub(super) fn new(lookup: Lookup<'a>, Address { object, pc }: Address) -> Self {
        Self::from_placed(lookup, functions::holding(&lookup.view, object, pc))
    }
    /// The frames from a placement outwards.
    pub(super) fn from_placed(lookup: Lookup<'a>, next: Option<Placed>) -> Self {
        Self { lookup, next }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        let placed = self.next?;
        self.next = placed.outer(&self.lookup.view);
        Some(Frame { lookup: self.lookup, placed })
    }
}
