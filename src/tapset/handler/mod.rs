//! What handlers mean: their locals with types, what in them is dead, and what is wrong.
//!
//! Two questions are answered. [`read`] takes one handler, as a listing shows it: everything in it counts, and what
//! cannot be read leaves its local without a type. [`Program`] takes a whole script, as SystemTap compiles it: what
//! nobody needs is dropped first, and what is broken in it breaks nothing.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `link` | names to variables and functions; branches that `@defined` decides |
//! | `fold` | constants |
//! | `effects`, `reduce` | what is computed for nothing |
//! | `types` | numbers, text, statistics, and the kernel's types |
//! | `loops` | arrays that change while a loop goes over them |
//! | `program` | handlers side by side, with the functions and globals that they use |
//! | [`finding`] | what is wrong |
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
use tree::{Kind, Node};

/// One handler, with everything in it.
#[derive(Debug, Default)]
pub struct Reading<'a> {
    /// In the order in which SystemTap declares them.
    pub locals: Vec<Local<'a>>,
    /// What is asked of the kernel, in the order of asking. Something that is asked for twice stands here twice.
    pub variables: Vec<&'a Variable>,
    /// What only dead branches ask of it.
    pub dead: Vec<&'a Variable>,
    /// Whether it asks for values from the entry of the function (`@entry`).
    pub saves: bool,
    /// What is wrong, in the order of reading.
    pub findings: Vec<Finding>,
}

/// A local of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local<'a> {
    /// As it is written.
    pub name: &'a str,
    /// Where it is written first.
    pub place: Place,
    /// `Unknown` where nothing says it, most often since it is broken.
    pub sort: Sort,
    /// Which of the findings makes its value unreadable.
    pub broken: Option<usize>,
}

/// Reads one handler: its parts in the order in which they run, prologues of aliases before what uses them. Functions
/// are taken by their signatures, so that it costs as much as the parts are long.
pub fn read<'a>(words: &Words<'a>, parts: &[&'a Statement], context: Rc<dyn Context + 'a>) -> Reading<'a> {
    let mut program = Program::brief(words.clone());
    program.add(parts, &[], &*context);
    program.infer();
    program.functions.iter_mut().for_each(|function| function.reached = true);
    program.complain();
    let Some(handler) = program.handlers.pop() else { return Reading::default() };
    // What is assigned to a local, and cannot be read.
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

/// Where the first thing stands in an expression that cannot be read.
fn first_broken(node: &Node<'_>) -> Option<Place> {
    let mut place = None;
    node.each(&mut |inner| {
        if let Kind::Broken { variable, .. } = &inner.kind {
            place = place.or(Some(variable.called.unwrap_or(variable.place)));
        }
    });
    place
}

/// What is wrong in a function, whoever calls it: what it is given may yet be of any type. Those that it calls are taken
/// by their signatures.
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
    /// What is wrong with the program, as far as SystemTap would notice in its second pass, and what else is.
    ///
    /// Costs a few walks over the trees, and one more for each step in which a value depends on a value.
    pub fn check(mut self) -> Vec<Finding> {
        self.link_functions();
        if self.nodes > MOST {
            let why = format!("with its functions it has more than {MOST} expressions");
            self.fault(Place::default(), Trouble::Control, "the script", why, vec![]);
            return self.findings;
        }
        self.warn_of_unassigned();
        // What disagrees is refused even where it is dropped later.
        self.reduce(&mut Program::disagreements);
        self.infer();
        self.loops();
        self.complain();
        // What is broken has no type: that it has none says nothing new.
        if self.findings.iter().any(|f| f.trouble.breaks() && f.trouble != Trouble::Untyped) {
            self.findings.retain(|f| f.trouble != Trouble::Untyped);
        }
        self.findings
    }
}
