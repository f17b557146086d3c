//! Resolves names, in the order in which SystemTap does (elaborate.cxx of 4.8, `symresolution_info`).
//!
//! Kernel variables are looked up and constants folded at once, so that dead code is never visited.
mod expressions;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Place;
use super::super::ast::{self, Expression, ExpressionKind, StatementKind};
use super::super::context::Context;
use super::finding::Trouble;
use super::fold;
use super::program::Program;
use super::tree::*;

/// Resolves the names of one body.
pub(super) struct Linker<'p, 'a> {
    program: &'p mut Program<'a>,
    context: &'p dyn Context,
    function: Option<FunctionId>,
    names: FxHashMap<&'a str, VariableId>,
    found: Found<'a>,
    /// The names assigned in the handler, for `@probewrite`.
    written: FxHashSet<&'a str>,
    /// The number of enclosing loops.
    loops: usize,
    /// Whether this is a condition, which sees neither locals nor functions.
    condition: bool,
}

/// Everything found in a body.
#[derive(Default)]
pub(super) struct Found<'a> {
    /// In the order of declaration.
    pub locals: Vec<VariableId>,
    /// The kernel variables read.
    pub read: Vec<&'a ast::Variable>,
    /// The kernel variables read only in dead branches.
    pub dead: Vec<&'a ast::Variable>,
    /// Whether it uses a value saved at the function's entry.
    pub saves: bool,
}

impl<'p, 'a> Linker<'p, 'a> {
    pub fn new(program: &'p mut Program<'a>, context: &'p dyn Context) -> Self {
        Self {
            program,
            context,
            function: None,
            names: FxHashMap::default(),
            found: Found::default(),
            written: FxHashSet::default(),
            loops: 0,
            condition: false,
        }
    }

    pub fn of_function(mut self, function: FunctionId, parameters: &[VariableId]) -> Self {
        self.function = Some(function);
        for id in parameters {
            self.names.entry(self.program.variables[id.0 as usize].name).or_insert(*id);
        }
        self
    }

    pub fn finish(self) -> Found<'a> {
        self.found
    }

    pub fn parts(&mut self, parts: &[&'a ast::Statement]) -> Statement<'a> {
        // Assignments in an alias itself do not count for its `@probewrite`: SystemTap 4.8 checks the handler that
        // uses it (alias_expansion_builder::build_with_suffix).
        for part in parts.iter().filter(|part| self.program.words.is_script(part.place.file)) {
            part.each_expression(&mut |e| self.written.extend(assigned(e)));
        }
        let mut all: Vec<_> = parts.iter().map(|part| self.statement(part)).collect();
        match all.len() {
            1 => all.remove(0),
            _ => Statement::Block(all),
        }
    }

    pub fn conditions(&mut self, conditions: &[&'a Expression]) -> Vec<Node<'a>> {
        self.condition = true;
        conditions.iter().map(|condition| self.node(condition)).collect()
    }

    fn statement(&mut self, statement: &'a ast::Statement) -> Statement<'a> {
        match &statement.kind {
            StatementKind::Block(all) => {
                let mut linked = Vec::with_capacity(all.len());
                for (i, one) in all.iter().enumerate() {
                    linked.push(self.statement(one));
                    if let Some(Statement::Leave | Statement::Return(..)) = linked.last() {
                        all[i + 1..].iter().for_each(|dead| self.bury_statement(dead));
                        break;
                    }
                }
                Statement::Block(linked)
            }
            StatementKind::Try { body, error, handler } => {
                let body = Box::new(self.statement(body));
                let error = error.as_ref().map(|name| self.scalar(name, statement.place));
                Statement::Try { body, error, handler: Box::new(self.statement(handler)) }
            }
            StatementKind::If { condition, then, otherwise } => {
                let condition = self.node(condition);
                let (then, otherwise) = (&**then, otherwise.as_deref());
                match fold::number(&condition) {
                    Some(0) => {
                        self.bury_statement(then);
                        otherwise.map_or(Statement::Nothing, |o| self.statement(o))
                    }
                    Some(_) => {
                        let then = self.statement(then);
                        otherwise.iter().for_each(|dead| self.bury_statement(dead));
                        then
                    }
                    None => {
                        let then = Box::new(self.statement(then));
                        let otherwise = Box::new(otherwise.map_or(Statement::Nothing, |o| self.statement(o)));
                        Statement::If { condition, then, otherwise }
                    }
                }
            }
            StatementKind::For(parts) => {
                let ast::For { before, condition, after, body } = &**parts;
                let before = before.as_ref().map(|e| self.node(e));
                let condition = self.node(condition);
                let after = after.as_ref().map(|e| self.node(e));
                let body = self.inside_loop(body);
                Statement::For(Box::new(For { before, condition, after, body }))
            }
            StatementKind::Foreach(foreach) => self.foreach(foreach, statement.place),
            StatementKind::Expression(expression) => Statement::Expression(self.node(expression)),
            StatementKind::Return(value) => {
                Statement::Return(value.as_ref().map(|e| self.node(e)), statement.place)
            }
            StatementKind::Delete(value) => Statement::Delete(self.deleted(value)),
            StatementKind::Next => {
                if let Some(id) = self.function {
                    self.program.functions[id.0 as usize].falls_through = true;
                }
                Statement::Leave
            }
            StatementKind::Break => self.leave_loop("break", statement.place),
            StatementKind::Continue => self.leave_loop("continue", statement.place),
            StatementKind::Empty => Statement::Nothing,
        }
    }

    /// SystemTap 4.8 detects it in its third pass, `stap -p3`.
    fn leave_loop(&mut self, what: &str, place: Place) -> Statement<'a> {
        if self.loops == 0 {
            self.program.fault(place, Trouble::Control, what, "it stands in no loop", vec![]);
        }
        Statement::Leave
    }

    fn inside_loop(&mut self, body: &'a ast::Statement) -> Statement<'a> {
        self.loops += 1;
        let body = self.statement(body);
        self.loops -= 1;
        body
    }

    fn foreach(&mut self, foreach: &'a ast::Foreach, place: Place) -> Statement<'a> {
        let indexes: Vec<_> = foreach.indexes.iter().map(|name| self.named(name, place)).collect();
        let slice: Vec<_> = foreach.slice.iter().map(|e| e.as_ref().map(|e| self.node(e))).collect();
        let of = self.base(&foreach.array, indexes.len(), place);
        let value = foreach.value.as_ref().map(|name| self.named(name, place));
        let limit = foreach.limit.as_ref().map(|e| self.node(e));
        let body = self.inside_loop(&foreach.body);
        let Some(of) = of else { return Statement::Nothing };
        if !slice.is_empty() && slice.len() != indexes.len() {
            let why = format!("the slice has {} indexes, the loop {}", slice.len(), indexes.len());
            self.program.fault(place, Trouble::Arity, "foreach", why, vec![]);
        }
        let order = foreach.order.as_ref();
        Statement::Foreach(Box::new(Foreach { value, indexes, of, slice, order, limit, body }))
    }

    /// The operand of `delete`: an element, or a whole variable.
    fn deleted(&mut self, value: &'a Expression) -> Node<'a> {
        let ExpressionKind::Symbol(name) = &value.kind else { return self.node(value) };
        let known = self.names.get(&**name).copied().or_else(|| self.program.global(name, value.place.file));
        match known {
            Some(id) => Node::new(value.place, Kind::Variable(id)),
            None => {
                self.program.fault(value.place, Trouble::Name, name, "nothing declares it", vec![]);
                Node::new(value.place, Kind::Number(0))
            }
        }
    }

    fn bury(&mut self, dead: &'a Expression) {
        dead.each(&mut |e| {
            if let ExpressionKind::Variable(variable) = &e.kind {
                self.found.dead.push(variable);
            }
        });
    }

    fn bury_statement(&mut self, dead: &'a ast::Statement) {
        self.found.dead.extend(dead.variables());
    }
}

impl Node<'_> {
    /// The kernel type of the value, if known.
    pub(super) fn detail(&self) -> Option<super::super::context::Detail> {
        match self.known {
            Known::Is(detail) => Some(detail),
            Known::Not | Known::Several => None,
        }
    }
}

pub(super) fn is_assignment(operator: &str) -> bool {
    operator == "="
        || operator == "<<<"
        || (operator.len() > 1 && operator.ends_with('=') && !is_comparison(operator))
}

fn is_comparison(operator: &str) -> bool {
    matches!(operator, "==" | "!=" | "<=" | ">=")
}

/// The name that an expression assigns to.
fn assigned(expression: &Expression) -> Option<&str> {
    let target = match &expression.kind {
        ExpressionKind::Binary { operator, left, .. } if is_assignment(operator) => left,
        ExpressionKind::Unary { operator: "++" | "--", operand }
        | ExpressionKind::Postfix { operand, .. } => operand,
        _ => return None,
    };
    match &target.kind {
        ExpressionKind::Symbol(name) => Some(name),
        _ => None,
    }
}
