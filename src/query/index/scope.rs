//! The variables in scope at an address.
use super::functions::{self, Placed};
use probeidx_format::View;
use probeidx_format::details::{Item, Items, Location};
use probeidx_format::id::{StrId, TypeId};
use probeidx_format::variables::{Variable, Variables};
use std::rc::Rc;

/// A variable in scope.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Its position among the function's variables.
    pub position: u32,
    /// Its name, which is not empty.
    pub name: StrId,
    /// Whether it is a parameter, not a local variable.
    pub is_parameter: bool,
    /// The type, if it has one.
    pub type_id: Option<TypeId>,
    /// Its location, for all addresses.
    pub location: Location<'a>,
}

/// The variables in scope at an address of a placement, outer blocks before inner ones, in the order of the debug
/// information. At the entry, lexical blocks do not count. Allocates nothing.
pub fn in_scope<'a>(view: &View<'a>, placed: Placed, pc: u32) -> InScope<'a> {
    let all = functions::function(view, placed.record).map(|f| view.variables(f));
    in_scope_by(view, placed, pc, List::Read { all, next: all.map(|all| (0, all)) })
}

/// Like [`in_scope`], given the variables of the function.
pub fn in_scope_of<'a>(view: &View<'a>, placed: Placed, pc: u32, all: Rc<[Variable]>) -> InScope<'a> {
    in_scope_by(view, placed, pc, List::Known(all))
}

fn in_scope_by<'a>(view: &View<'a>, placed: Placed, pc: u32, variables: List<'a>) -> InScope<'a> {
    InScope {
        items: view.details(placed.id, placed.record).items,
        variables,
        pc,
        is_entry: pc == placed.record.entry.get(),
        depth: 0,
        open: 0,
    }
}

/// An iterator over the variables in scope.
#[derive(Clone)]
pub struct InScope<'a> {
    items: Items<'a>,
    variables: List<'a>,
    pc: u32,
    is_entry: bool,
    /// How many blocks are open, and how many of the outermost of them hold the address.
    depth: u32,
    open: u32,
}

/// The variables of a function.
#[derive(Clone)]
enum List<'a> {
    /// To be read, and from which position on they are read next.
    Read {
        all: Option<Variables<'a>>,
        next: Option<(u32, Variables<'a>)>,
    },
    Known(Rc<[Variable]>),
}

impl List<'_> {
    /// The variable at this position. Cost: if they are to be read, linear in those since the previous one.
    fn at(&mut self, position: u32) -> Option<Variable> {
        let (all, next) = match self {
            Self::Known(all) => return all.get(position as usize).copied(),
            Self::Read { all, next } => (all, next),
        };
        let (at, mut variables) = match *next {
            Some((at, variables)) if at <= position => (at, variables),
            _ => (0, (*all)?),
        };
        let found = variables.nth((position - at) as usize);
        *next = position.checked_add(1).map(|next| (next, variables));
        found
    }
}

impl<'a> Iterator for InScope<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        loop {
            match self.items.next()? {
                Item::Block(mut ranges) => {
                    let holds = !self.is_entry && ranges.any(|r| r.contains(self.pc));
                    self.open += u32::from(holds && self.open == self.depth);
                    self.depth += 1;
                }
                Item::End => {
                    self.depth = self.depth.saturating_sub(1);
                    self.open = self.open.min(self.depth);
                }
                Item::Variable(position, location) if self.open == self.depth => {
                    let Some(variable) = self.variables.at(position) else { continue };
                    let Variable { name, type_id, parameter: is_parameter, .. } = variable;
                    if name != StrId::new(0) {
                        return Some(Found { position, name, is_parameter, type_id, location });
                    }
                }
                Item::Variable(..) => {}
            }
        }
    }
}
