//! Over which addresses a variable has a value that can be found, and where it is there.
use super::State;
use super::location::stack_pointer;
use super::place::{self, Place};
use super::plan::{Missing, Op, Plan};
use super::reader::Values;
use crate::query::index::functions::{self, Placed};
use crate::query::index::scope::Found;
use crate::query::index::{cfa, instructions};
use probeidx_format::View;
use probeidx_format::details::{Item, Location, Range};
use probeidx_format::expr::Expr;
use probeidx_format::id::{ObjectId, StrId, TypeId};
use std::collections::BTreeSet;

/// Where a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// In a register.
    Register,
    /// In the frame of the function.
    Stack,
    /// Elsewhere in memory.
    Memory,
    /// It is a number, kept nowhere.
    Constant,
    /// It follows from other values: a sum, or parts in several places.
    Computed,
}

impl Medium {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Stack => "stack",
            Self::Memory => "memory",
            Self::Constant => "constant",
            Self::Computed => "computed",
        }
    }
}

/// A range of addresses over which a value stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Half open, of [`Pc`](probeidx_format::id::Pc)s.
    pub range: Range,
    /// Where it is.
    pub medium: Medium,
    /// [`State::Unsupported`] if no fetch argument can express it, else readable or constant.
    pub state: State,
    /// As [`ValueAt::location`](super::ValueAt::location) has it at these addresses: `%di`, `+40(%sp)`, `5`.
    pub text: String,
}

/// A variable of a placement.
#[derive(Clone, Debug)]
pub struct Lifetime {
    /// Its name, which is not empty.
    pub name: StrId,
    /// Whether it is a parameter, not a local variable.
    pub is_parameter: bool,
    /// Its type, if it has one.
    pub type_id: Option<TypeId>,
    /// The addresses of the innermost block that declares it, ascending: where a program could name it.
    pub scope: Vec<Range>,
    /// Where it is, ascending and disjoint, within `scope`. What is left of `scope` is where it has no value: not yet, no
    /// longer, or it was optimized out.
    pub stays: Vec<Stay>,
}

/// The variables of a placement without those of what is inlined into it, in the order of the debug information. Cost:
/// for each variable, its ranges, and the frame rules of the function if it is in the frame, with the logarithm of their number.
pub fn lifetimes<'a>(view: &'a View<'a>, object: ObjectId, placed: Placed) -> Vec<Lifetime> {
    let details = view.details(placed.id, placed.record);
    let declared: Vec<_> =
        functions::function(view, placed.record).map(|f| view.variables(f).collect()).unwrap_or_default();
    let mut blocks = vec![details.ranges.collect::<Vec<Range>>()];
    let mut lifetimes = vec![];
    for item in details.items {
        match item {
            Item::Block(ranges) => blocks.push(ranges.collect()),
            Item::End => drop(blocks.pop()),
            Item::Variable(position, location) => {
                let known = declared.get(position as usize).filter(|v| v.name != StrId::new(0));
                let (Some(variable), Some(scope)) = (known, blocks.last()) else { continue };
                let (name, is_parameter, type_id) = (variable.name, variable.parameter, variable.type_id);
                let found = Found { position, name, is_parameter, type_id, location };
                let stays = Walk { view, values: Values::new(view), object, placed, found }.stays(scope);
                lifetimes.push(Lifetime { name, is_parameter, type_id, scope: scope.clone(), stays });
            }
        }
    }
    lifetimes
}

/// What happens at an address, in the order in which it counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    /// An entry of the location list ends.
    Ends(usize),
    /// One starts.
    Starts(usize),
    /// The frame changes, or the registers are no longer those of the entry.
    Moves,
}

struct Walk<'a> {
    view: &'a View<'a>,
    values: Values<'a>,
    object: ObjectId,
    placed: Placed,
    found: Found<'a>,
}

impl<'a> Walk<'a> {
    fn stays(&self, scope: &[Range]) -> Vec<Stay> {
        let entries: Vec<(Range, Option<Expr<'a>>)> = match self.found.location {
            Location::None => return vec![],
            Location::Everywhere(expr) => scope.iter().map(|range| (*range, Some(expr))).collect(),
            Location::Constant(_) | Location::Bytes(_) => scope.iter().map(|range| (*range, None)).collect(),
            Location::Within(range, expr) => vec![(range, Some(expr))],
            Location::List(list) => list.map(|(range, expr)| (range, Some(expr))).collect(),
        };
        let mut stays: Vec<Stay> = vec![];
        for whole in scope {
            for (range, entry) in self.pieces(*whole, &entries) {
                let Some(stay) = self.stay(range, entries[entry].1) else { continue };
                match stays.last_mut() {
                    Some(last) if last.range.end == range.start && is_same(last, &stay) => {
                        last.range.end = range.end;
                    }
                    _ => stays.push(stay),
                }
            }
        }
        stays
    }

    /// The ranges over which neither the entry nor the frame changes, with the first entry that covers them.
    fn pieces(&self, whole: Range, entries: &[(Range, Option<Expr<'a>>)]) -> Vec<(Range, usize)> {
        let mut edges: Vec<(u32, Edge)> = vec![];
        for (at, (range, _)) in entries.iter().enumerate() {
            let (start, end) = (range.start.max(whole.start), range.end.min(whole.end));
            if start < end {
                edges.extend([(start, Edge::Starts(at)), (end, Edge::Ends(at))]);
            }
        }
        let is_of_frame =
            |expr: &Expr<'_>| matches!(expr, Expr::Frame(_) | Expr::FrameSum(_) | Expr::Verbatim(_));
        // What is said of the whole function may count from registers that have their values while the frame is there.
        let is_of_body = matches!(self.found.location, Location::Everywhere(_));
        if is_of_body || entries.iter().any(|(_, expr)| expr.as_ref().is_some_and(is_of_frame)) {
            let rules = cfa::changes(self.view, self.object, whole);
            edges.extend(rules.into_iter().map(|pc| (pc, Edge::Moves)));
        }
        let entry = functions::root(self.view, self.placed).record.entry.get();
        if whole.contains(entry) {
            let second = instructions::after(self.view, self.object, entry);
            edges.extend(second.filter(|pc| whole.contains(*pc)).map(|pc| (pc, Edge::Moves)));
        }
        edges.sort_unstable();
        let (mut open, mut pieces) = (BTreeSet::new(), vec![]);
        for (at, (pc, edge)) in edges.iter().enumerate() {
            match edge {
                Edge::Starts(entry) => drop(open.insert(*entry)),
                Edge::Ends(entry) => drop(open.remove(entry)),
                Edge::Moves => {}
            }
            let next = edges.get(at + 1).map_or(*pc, |(next, _)| *next);
            if let Some(entry) = open.first().filter(|_| *pc < next) {
                pieces.push((Range { start: *pc, end: next }, *entry));
            }
        }
        pieces
    }

    /// Where it is from the start of a range on.
    fn stay(&self, range: Range, expr: Option<Expr<'a>>) -> Option<Stay> {
        let Self { view, object, placed, found, .. } = *self;
        let place = Place { object, placed, pc: range.start, at_return: false, with_lines: false };
        let is_entry = functions::root(view, placed).record.entry.get() == range.start;
        // At the entry the whole list counts, and what is true before the first instruction.
        let location = match (expr, found.location) {
            (Some(expr), Location::List(_)) if !is_entry => Location::Within(range, expr),
            (_, location) => location,
        };
        let is_kept_on_stack = matches!(expr, Some(Expr::Frame(_)));
        match place::plan_of(view, place, &Found { location, ..found }) {
            Ok(plan) => {
                let (state, text, _) = self.values.lower((object, range.start), &plan, None, "value");
                let medium = if is_kept_on_stack { Medium::Stack } else { medium(view, &plan) };
                Some(Stay { range, medium, state, text: text.unwrap_or_default() })
            }
            Err(Missing::Unsupported(text)) => {
                let medium = if is_kept_on_stack { Medium::Stack } else { Medium::Computed };
                Some(Stay { range, medium, state: State::Unsupported, text })
            }
            Err(Missing::Elsewhere | Missing::OptimizedOut) => None,
        }
    }
}

fn is_same(one: &Stay, other: &Stay) -> bool {
    (one.medium, one.state, &one.text) == (other.medium, other.state, &other.text)
}

fn medium(view: &View<'_>, plan: &Plan) -> Medium {
    if plan.constant().is_some() {
        return Medium::Constant;
    }
    match &plan.ops[..] {
        _ if !plan.pieces.is_empty() => Medium::Computed,
        [Op::Register(register), ..]
            if plan.in_memory && Some(*register) == stack_pointer(view.machine()) =>
        {
            Medium::Stack
        }
        _ if plan.in_memory => Medium::Memory,
        [Op::Register(_)] => Medium::Register,
        _ => Medium::Computed,
    }
}
