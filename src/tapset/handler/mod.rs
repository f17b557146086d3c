//! Analyses handlers: their locals with types, dead code, and errors.
//!
//! There are two entry points. [`read`] analyses one handler for a listing: everything in it counts, and a local
//! whose value cannot be read has no type. [`Program`] analyses a whole script as SystemTap compiles it: unused code
//! is dropped first, and errors in it do not matter.
//!
//! | module | content |
//! | --- | --- |
//! | `link` | resolves names to variables and functions; decides branches on `@defined` |
//! | `fold` | folds constants |
//! | `effects`, `reduce` | drops unused computations |
//! | `types` | infers numbers, text, statistics, and kernel types |
//! | `loops` | finds arrays that change during iteration |
//! | `program` | handlers with the functions and globals that they use |
//! | [`finding`] | errors and probable mistakes |
mod effects;
pub mod finding;
mod fold;
mod format;
mod link;
mod loops;
mod program;
mod reduce;
mod tree;
mod types;

pub use finding::{Finding, Trouble};
pub use program::{MOST, Program, Signature, Words};
pub use tree::Sort;

use std::rc::Rc;

use super::Place;
use super::ast::{Function, Statement, Variable};
use super::context::Context;
use tree::{Kind, Node, VariableId};

/// One handler with everything in it.
#[derive(Debug, Default)]
pub struct Reading<'a> {
    /// In the order in which SystemTap declares them.
    pub locals: Vec<Local<'a>>,
    /// The kernel variables read, in order, with repetitions.
    pub variables: Vec<&'a Variable>,
    /// The kernel variables read only in dead branches.
    pub dead: Vec<&'a Variable>,
    /// Whether it uses values saved at the function's entry (`@entry`).
    pub saves: bool,
    /// The findings, in the order of reading.
    pub findings: Vec<Finding>,
}

/// A local of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local<'a> {
    /// As written.
    pub name: &'a str,
    /// The place where it first occurs.
    pub place: Place,
    /// `Unknown` if nothing determines it, usually because it is broken.
    pub sort: Sort,
    /// The finding that makes its value unreadable, by index.
    pub broken: Option<usize>,
}

/// The locals of one handler, given its parts like [`read`], without what is wrong with them; and whether it uses
/// values saved at the function's entry.
pub fn locals<'a>(
    words: &Words<'a>,
    parts: &[&'a Statement],
    context: &dyn Context,
) -> (Vec<Local<'a>>, bool) {
    let mut program = Program::brief(words.clone());
    program.silent = true;
    program.add(parts, &[], context);
    program.infer();
    let found = program.handlers.pop().map(|handler| handler.found).unwrap_or_default();
    let local = |id: &VariableId| {
        let variable = &program.variables[id.0 as usize];
        Local { name: variable.name, place: variable.place, sort: variable.sort, broken: None }
    };
    (found.locals.iter().map(local).collect(), found.saves)
}

/// Analyses one handler, given its parts in the order in which they run, with prologues of aliases first. Functions
/// are represented by their signatures, so the cost is proportional to the length of the parts.
pub fn read<'a>(words: &Words<'a>, parts: &[&'a Statement], context: Rc<dyn Context + 'a>) -> Reading<'a> {
    let mut program = Program::brief(words.clone());
    program.add(parts, &[], &*context);
    program.infer();
    program.functions.iter_mut().for_each(|function| function.reached = true);
    program.complain();
    let Some(handler) = program.handlers.pop() else { return Reading::default() };
    // Assignments of unreadable values to locals.
    let mut broken = vec![];
    handler.body.expressions(&mut |expression| {
        expression.each(&mut |node| {
            if let Kind::Assign { sides, .. } = &node.kind
                && let Kind::Variable(id) = sides[0].kind
                && let Some(place) = first_broken(&sides[1])
            {
                broken.push((id, place));
            }
        });
    });
    let (findings, found) = (program.findings, handler.found);
    let of = |place: Place| findings.iter().position(|f| f.place == place && f.trouble == Trouble::Variable);
    let locals = found.locals.iter().map(|id| {
        let variable = &program.variables[id.0 as usize];
        let broken = broken.iter().find(|(broken, _)| broken == id).and_then(|(_, place)| of(*place));
        Local { name: variable.name, place: variable.place, sort: variable.sort, broken }
    });
    let locals = locals.collect();
    Reading { locals, variables: found.read, dead: found.dead, saves: found.saves, findings }
}

/// The place of the first unreadable part of an expression.
fn first_broken(node: &Node<'_>) -> Option<Place> {
    let mut place = None;
    node.each(&mut |inner| {
        if let Kind::Broken { variable, .. } = &inner.kind {
            place = place.or(Some(variable.called.unwrap_or(variable.place)));
        }
    });
    place
}

/// The errors in a function, independent of its callers: arguments may be of any type. Functions that it calls are
/// represented by their signatures.
pub fn check_function<'a>(words: &Words<'a>, function: &'a Function) -> Vec<Finding> {
    let mut program = Program::of_function(words.clone(), function);
    program.link_functions();
    program.infer();
    program.functions.iter_mut().for_each(|function| function.reached = true);
    program.complain();
    program.findings.retain(|finding| finding.trouble != Trouble::Untyped);
    program.findings
}

impl Program<'_> {
    /// The findings that SystemTap would report in its second pass, and further ones.
    ///
    /// Costs a few walks over the trees, and one more for each step in a chain of dependent values.
    pub fn check(mut self) -> Vec<Finding> {
        self.link_functions();
        if self.nodes > MOST {
            let why = format!("with its functions it has more than {MOST} expressions");
            self.fault(Place::default(), Trouble::Control, "the script", why, vec![]);
            return self.findings;
        }
        self.warn_of_unassigned();
        // Type disagreements are refused even in code that is dropped later.
        self.reduce(&mut Program::disagreements);
        self.infer();
        self.loops();
        self.complain();
        // A broken value never has a type: reporting that adds nothing.
        if self.findings.iter().any(|f| f.trouble.breaks() && f.trouble != Trouble::Untyped) {
            self.findings.retain(|f| f.trouble != Trouble::Untyped);
        }
        self.findings
    }
}
