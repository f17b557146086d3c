//! Functions by name, with their placements.
use super::{Lookup, Placement};
use crate::query::index::functions::{Declaration, Declarations, Placed};
use probeidx_format::id::{FunctionId, NameId};
use probeidx_format::view::Postings;

/// A function by its declaration: one name, file and line. It may be compiled into several objects.
#[derive(Clone, Copy)]
pub struct Function<'a> {
    pub(super) lookup: Lookup<'a>,
    declaration: Declaration,
}

impl<'a> Function<'a> {
    /// Its name.
    pub fn name(&self) -> &'a [u8] {
        self.lookup.view.string(self.declaration.name)
    }
    /// The file of its declaration, as the debug information has it.
    pub fn file(&self) -> &'a [u8] {
        self.lookup.view.string(self.declaration.file)
    }
    /// The line of its declaration, from 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.declaration.line
    }
    /// Its entries and inline instances in all objects, ordered by object and as in the debug information. If the
    /// objects describe it differently, there is one pass through the objects for each description. Finding each
    /// one decodes a byte or two.
    pub fn placements(&self) -> Placements<'a> {
        Placements { lookup: self.lookup, functions: self.declaration.ids(), postings: None }
    }
}

/// An iterator over the functions of one name.
#[derive(Clone)]
pub struct Functions<'a> {
    lookup: Lookup<'a>,
    declarations: Declarations<'a>,
}

impl<'a> Functions<'a> {
    pub(super) fn new(lookup: Lookup<'a>, name: Option<NameId>) -> Self {
        Self { lookup, declarations: Declarations::of(&lookup.view, name) }
    }
}

impl<'a> Iterator for Functions<'a> {
    type Item = Function<'a>;

    fn next(&mut self) -> Option<Function<'a>> {
        let declaration = self.declarations.next()?;
        Some(Function { lookup: self.lookup, declaration })
    }
}

/// An iterator over the placements of a function.
#[derive(Clone)]
pub struct Placements<'a> {
    lookup: Lookup<'a>,
    functions: std::ops::Range<u32>,
    postings: Option<Postings<'a>>,
}

impl<'a> Iterator for Placements<'a> {
    type Item = Placement<'a>;

    fn next(&mut self) -> Option<Placement<'a>> {
        let view = &self.lookup.view;
        loop {
            while let Some(id) = self.postings.as_mut().and_then(Iterator::next) {
                if let Some(record) = view.places.get(id.index()).filter(|r| r.entry.get() != 0) {
                    return Some(Placement::entry(self.lookup, Placed { id, record }));
                }
            }
            let function = FunctionId::new(self.functions.next()?);
            self.postings = Some(view.places_of_function(function));
        }
    }
}
