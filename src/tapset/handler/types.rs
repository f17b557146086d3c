//! Infers which values are numbers, which are text, and their kernel types (elaborate.cxx of SystemTap 4.8,
//! `typeresolution_info`).
//!
//! Passes over all bodies of a program until nothing new is learnt. One more pass then reports disagreements.
mod expressions;

use std::fmt::Display;
use std::mem;

use super::super::Place;
use super::super::ast::Root;
use super::super::context::Context;
use super::finding::Trouble;
use super::program::Program;
use super::tree::*;

/// The maximum number of passes: a chain of dependent values takes one pass per value.
const ROUNDS: usize = 1000;

impl<'a> Program<'a> {
    /// Infers what it can, without reporting errors.
    pub(super) fn infer(&mut self) {
        for _ in 0..ROUNDS {
            let learnt = self.round(Reports::Nothing);
            let resolved = self.resolve_members();
            if learnt == 0 && !resolved && !self.answer_questions() {
                return;
            }
        }
    }

    /// Reports only type disagreements; returns whether there are any.
    pub(super) fn disagreements(&mut self) -> bool {
        for _ in 0..ROUNDS {
            if self.round(Reports::Nothing) == 0 {
                break;
            }
        }
        let before = self.findings.len();
        self.round(Reports::Disagreements);
        self.findings.len() > before
    }

    /// Reports everything left that SystemTap would refuse.
    pub(super) fn complain(&mut self) {
        self.round(Reports::All);
        for id in 0..self.variables.len() {
            let variable = &self.variables[id];
            let Some(global) = variable.global else { continue };
            if global.wraps && variable.arity == Some(0) {
                let (place, name) = (global.place, variable.name);
                self.fault(
                    place,
                    Trouble::Type,
                    name,
                    "a scalar cannot forget its oldest element (%)",
                    vec![],
                );
            }
        }
    }

    /// Passes over everything once; returns how much was learnt.
    fn round(&mut self, reports: Reports) -> usize {
        let mut learnt = 0;
        for id in 0..self.functions.len() {
            let mut body = mem::replace(&mut self.functions[id].body, Statement::Nothing);
            let reached = self.functions[id].reached;
            let reports = if reached { reports } else { Reports::Nothing };
            let locals = mem::take(&mut self.functions[id].locals);
            let mut types =
                Types { program: self, reports, learnt: 0, function: Some(FunctionId(id as u32)) };
            types.statement(&mut body);
            types.locals(&locals);
            learnt += types.learnt;
            (self.functions[id].body, self.functions[id].locals) = (body, locals);
        }
        for id in 0..self.handlers.len() {
            let mut body = mem::replace(&mut self.handlers[id].body, Statement::Nothing);
            let mut conditions = mem::take(&mut self.handlers[id].conditions);
            let locals = mem::take(&mut self.handlers[id].found.locals);
            let mut types = Types { program: self, reports, learnt: 0, function: None };
            types.statement(&mut body);
            conditions.iter_mut().for_each(|condition| types.node(condition, Sort::Long));
            types.locals(&locals);
            learnt += types.learnt;
            (self.handlers[id].body, self.handlers[id].conditions) = (body, conditions);
            self.handlers[id].found.locals = locals;
        }
        learnt
    }

    /// Resolves members of values whose types are known by now.
    fn resolve_members(&mut self) -> bool {
        if !self.undecided {
            return false;
        }
        let mut resolved = false;
        // The members of a type are the same everywhere.
        let everywhere = self.words.everywhere.clone();
        let handlers = self.handlers.iter_mut().map(|handler| &mut handler.body);
        for body in handlers.chain(self.functions.iter_mut().map(|function| &mut function.body)) {
            resolved |= resolve_in(body, &*everywhere);
        }
        if resolved {
            self.handlers.iter_mut().for_each(|h| super::fold::statement(&mut h.body));
            self.functions.iter_mut().for_each(|f| super::fold::statement(&mut f.body));
        }
        resolved
    }

    /// Decides remaining `@defined`s that nothing can decide any more; returns whether there were any.
    fn answer_questions(&mut self) -> bool {
        if !self.undecided {
            return false;
        }
        let mut any = false;
        let mut answer = |node: &mut Node<'a>| {
            if let Kind::Defined(of) = &node.kind {
                *node = Node::new(node.place, Kind::Number(i64::from(of.sort != Sort::Unknown)));
                any = true;
            }
        };
        for body in self.handlers.iter_mut().map(|h| &mut h.body) {
            body.each_mut(&mut answer);
            super::fold::statement(body);
        }
        for body in self.functions.iter_mut().map(|f| &mut f.body) {
            body.each_mut(&mut answer);
            super::fold::statement(body);
        }
        any
    }
}

fn resolve_in(body: &mut Statement<'_>, context: &dyn Context) -> bool {
    let mut resolved = false;
    body.each_mut(&mut |node| {
        if let Kind::Defined(of) = &node.kind
            && let Kind::Broken { variable, operands, .. } = &of.kind
            && matches!(variable.root, Root::Value(_))
            && let Some(detail) = operands.first().and_then(Node::detail)
        {
            let there = context.variable(variable, Some(detail)).is_ok();
            *node = Node::new(node.place, Kind::Number(i64::from(there)));
            resolved = true;
            return;
        }
        let Kind::Broken { variable, operands, absent, written } = &mut node.kind else { return };
        if !matches!(variable.root, Root::Value(_)) {
            return;
        }
        let Some(detail) = operands.first().and_then(Node::detail) else { return };
        match context.variable(variable, Some(detail)) {
            Ok(value) => {
                let kind = Kind::Read { operands: mem::take(operands), written: *written, assumed: None };
                node.kind = kind;
                node.sort = value.kind.into();
                node.known = value.detail.map_or(Known::Not, Known::Is);
                resolved = true;
            }
            Err(why) => **absent = why,
        }
    });
    resolved
}

/// Which errors a pass reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reports {
    Nothing,
    Disagreements,
    All,
}

struct Types<'p, 'a> {
    program: &'p mut Program<'a>,
    reports: Reports,
    learnt: usize,
    function: Option<FunctionId>,
}

impl<'a> Types<'_, 'a> {
    fn statement(&mut self, statement: &mut Statement<'a>) {
        match statement {
            Statement::Nothing | Statement::Leave => {}
            Statement::Block(all) => all.iter_mut().for_each(|one| self.statement(one)),
            Statement::Try { body, error, handler } => {
                self.statement(body);
                if let Some(error) = error {
                    self.variable(*error, &mut Sort::String, Place::default());
                }
                self.statement(handler);
            }
            Statement::If { condition, then, otherwise } => {
                self.node(condition, Sort::Long);
                self.statement(then);
                self.statement(otherwise);
            }
            Statement::For(parts) => {
                parts.before.iter_mut().for_each(|node| self.node(node, Sort::Unknown));
                self.node(&mut parts.condition, Sort::Long);
                parts.after.iter_mut().for_each(|node| self.node(node, Sort::Unknown));
                self.statement(&mut parts.body);
            }
            Statement::Foreach(parts) => self.foreach(parts),
            Statement::Expression(node) => self.node(node, Sort::Unknown),
            Statement::Return(value, place) => self.returned(value, *place),
            Statement::Delete(node) => match &mut node.kind {
                Kind::Variable(_) => {}
                _ => self.node(node, Sort::Unknown),
            },
        }
    }

    fn foreach(&mut self, parts: &mut Foreach<'a>) {
        let value = match &mut parts.of {
            Base::Histogram(of, _) => {
                self.node(of, Sort::Statistics);
                parts.indexes.iter_mut().for_each(|index| self.wants(index, Sort::Long));
                Sort::Long
            }
            Base::Array(id, place) => {
                let (id, place) = (*id, *place);
                for (at, index) in parts.indexes.iter_mut().enumerate() {
                    self.index(index, id, at);
                }
                for (at, index) in parts.slice.iter_mut().enumerate() {
                    index.iter_mut().for_each(|index| self.index(index, id, at));
                }
                let sort = self.program.variables[id.0 as usize].sort;
                let by_statistic = parts.order.is_some_and(|order| order.statistic.is_some());
                if by_statistic && !matches!(sort, Sort::Unknown | Sort::Statistics) {
                    self.disagree(place, "foreach", || {
                        "only statistics can be sorted by `@count` and the like".to_owned()
                    });
                }
                sort
            }
        };
        match (&mut parts.value, value) {
            (Some(node), Sort::Statistics) => {
                self.disagree(node.place, "foreach", || "statistics are no value to loop over".to_owned())
            }
            (Some(node), Sort::Unknown) => self.node(node, Sort::Unknown),
            (Some(node), sort) => self.wants(node, sort),
            (None, _) => {}
        }
        parts.limit.iter_mut().for_each(|limit| self.node(limit, Sort::Long));
        self.statement(&mut parts.body);
    }

    fn returned(&mut self, value: &mut Option<Node<'a>>, place: Place) {
        let Some(id) = self.function else { return };
        let mut result = self.program.functions[id.0 as usize].result;
        let Some(value) = value else {
            if result != Sort::Unknown {
                self.disagree(place, "return", || {
                    format!("the function returns a {result} elsewhere, nothing here")
                });
            }
            return;
        };
        self.node(value, result);
        match value.sort {
            Sort::Statistics => {
                self.disagree(value.place, "return", || "statistics cannot be returned".to_owned())
            }
            Sort::Unknown => {}
            sort if result == Sort::Unknown => {
                result = sort;
                self.learnt += 1;
            }
            sort if sort != result => {
                self.disagree(value.place, "return", || {
                    format!("the function returns a {result} elsewhere, a {sort} here")
                });
            }
            _ => {}
        }
        let function = &mut self.program.functions[id.0 as usize];
        function.result = result;
        if value.known != Known::Not && value.sort == result {
            self.learnt += usize::from(merge(&mut function.known, value.known));
        }
    }

    /// Sets the sort of an operation's result.
    fn gives(&mut self, node: &mut Node<'a>, sort: Sort, wanted: Sort) {
        if wanted != Sort::Unknown && sort != Sort::Unknown && wanted != sort {
            self.disagree(node.place, "an expression", || format!("this is a {sort}, a {wanted} is wanted"));
        }
        self.learn(&mut node.sort, sort);
    }

    fn learn(&mut self, known: &mut Sort, sort: Sort) {
        if *known == Sort::Unknown && sort != Sort::Unknown {
            *known = sort;
            self.learnt += 1;
        }
    }

    fn agree(&mut self, place: Place, operator: &str, left: Sort, right: Sort) {
        if left != Sort::Unknown && right != Sort::Unknown && left != right {
            self.disagree(place, operator, || format!("the left side is a {left}, the right one a {right}"));
        }
    }

    fn locals(&mut self, locals: &[VariableId]) {
        for id in locals {
            let variable = &self.program.variables[id.0 as usize];
            let (name, place, sort) = (variable.name, variable.place, variable.sort);
            match sort {
                Sort::Statistics => {
                    self.disagree(place, name, || "statistics must be declared as a global".to_owned())
                }
                _ if self.reports == Reports::All && variable.arity.is_some_and(|arity| arity > 0) => {
                    self.program.fault(
                        place,
                        Trouble::Name,
                        name,
                        "arrays must be declared as a global",
                        vec![],
                    );
                }
                _ => {}
            }
        }
    }

    fn disagree(&mut self, place: Place, what: &str, why: impl FnOnce() -> String) {
        if self.reports != Reports::Nothing {
            self.program.fault(place, Trouble::Type, what, why(), vec![]);
        }
    }

    fn untyped(&mut self, place: Place, what: impl Display) {
        if self.reports == Reports::All {
            let why = "nothing says whether it is a number or text";
            self.program.fault(place, Trouble::Untyped, &what.to_string(), why, vec![]);
        }
    }
}

/// Merges new knowledge of a value's type; returns whether that changed it.
fn merge(known: &mut Known, new: Known) -> bool {
    let merged = match (*known, new) {
        (Known::Not, new) => new,
        (Known::Is(one), Known::Is(other)) if one == other => *known,
        _ => Known::Several,
    };
    mem::replace(known, merged) != merged
}
