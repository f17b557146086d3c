//! Drops unused computations: SystemTap does so before it checks that everything can be read, so that a broken local
//! of an alias does not matter to a script that does not use it (elaborate.cxx of 4.8, `semantic_pass_opt1` to
//! `semantic_pass_opt5`).
use std::mem;

use super::effects::{Acting, Uses};
use super::fold;
use super::program::Program;
use super::tree::{Kind, Node, Statement};

/// The maximum number of passes: a chain of unused values takes one pass per value.
const ROUNDS: usize = 500;

impl Program<'_> {
    /// Drops everything unused until nothing changes. `before` runs in each pass before constants are folded, and
    /// stops it by returning true.
    pub(super) fn reduce(&mut self, before: &mut dyn FnMut(&mut Self) -> bool) {
        for _ in 0..ROUNDS {
            let uses = Uses::of(self);
            for (id, function) in self.functions.iter_mut().enumerate() {
                function.reached = uses.called.contains(&super::tree::FunctionId(id as u32));
            }
            let acting = Acting::of(self);
            let mut reduction = Reduction { uses, acting, globals: vec![], changed: false };
            reduction.globals = self.variables.iter().map(|v| v.global.is_some()).collect();
            for handler in &mut self.handlers {
                reduction.statement(&mut handler.body);
            }
            for function in self.functions.iter_mut().filter(|f| f.reached) {
                reduction.statement(&mut function.body);
            }
            if before(self) {
                return;
            }
            self.handlers.iter_mut().for_each(|h| fold::statement(&mut h.body));
            self.functions.iter_mut().for_each(|f| fold::statement(&mut f.body));
            if !self.drop_overloads() && !reduction.changed {
                return;
            }
        }
    }

    /// Drops functions that are never tried: those after one without `next`.
    fn drop_overloads(&mut self) -> bool {
        let falls: Vec<bool> = self.functions.iter().map(|f| f.falls_through).collect();
        let mut changed = false;
        let mut shorten = |node: &mut Node<'_>| {
            if let Kind::Call { of, .. } = &mut node.kind
                && let Some(last) = of.iter().position(|id| !falls[id.0 as usize])
            {
                changed |= last + 1 < of.len();
                of.truncate(last + 1);
            }
        };
        for body in self.handlers.iter_mut().map(|h| &mut h.body) {
            body.each_mut(&mut shorten);
        }
        for body in self.functions.iter_mut().map(|f| &mut f.body) {
            body.each_mut(&mut shorten);
        }
        changed
    }
}

struct Reduction {
    uses: Uses,
    acting: Acting,
    globals: Vec<bool>,
    changed: bool,
}

impl Reduction {
    fn statement(&mut self, statement: &mut Statement<'_>) {
        let whole = mem::replace(statement, Statement::Nothing);
        *statement = self.reduced(whole);
    }

    fn reduced<'a>(&mut self, statement: Statement<'a>) -> Statement<'a> {
        match statement {
            Statement::Block(all) => {
                let mut left = vec![];
                for one in all {
                    match self.reduced(one) {
                        Statement::Nothing => {}
                        Statement::Block(inner) => left.extend(inner),
                        other => left.push(other),
                    }
                }
                match left.len() {
                    0 => Statement::Nothing,
                    1 => left.remove(0),
                    _ => Statement::Block(left),
                }
            }
            Statement::Try { mut body, error, mut handler } => {
                self.statement(&mut body);
                self.statement(&mut handler);
                let error = error.filter(|error| self.uses.read.contains(error));
                if body.is_nothing() { Statement::Nothing } else { Statement::Try { body, error, handler } }
            }
            Statement::If { mut condition, mut then, mut otherwise } => {
                self.forget(&mut condition);
                self.statement(&mut then);
                self.statement(&mut otherwise);
                if then.is_nothing() && otherwise.is_nothing() {
                    return self.for_nothing(condition);
                }
                Statement::If { condition, then, otherwise }
            }
            Statement::For(mut parts) => {
                for node in parts.before.iter_mut().chain([&mut parts.condition]).chain(&mut parts.after) {
                    self.forget(node);
                }
                self.statement(&mut parts.body);
                let acts = |node: &Node<'_>| self.acting.expression(node);
                let head_acts = parts.before.as_ref().is_some_and(acts)
                    || acts(&parts.condition)
                    || parts.after.as_ref().is_some_and(acts);
                if head_acts || !parts.body.is_nothing() { Statement::For(parts) } else { Statement::Nothing }
            }
            Statement::Foreach(mut parts) => {
                for node in parts.slice.iter_mut().flatten().chain(&mut parts.limit) {
                    self.forget(node);
                }
                self.statement(&mut parts.body);
                if parts.body.is_nothing() { Statement::Nothing } else { Statement::Foreach(parts) }
            }
            Statement::Expression(mut node) => {
                self.forget(&mut node);
                self.for_nothing(node)
            }
            Statement::Return(mut value, place) => {
                value.iter_mut().for_each(|node| self.forget(node));
                Statement::Return(value, place)
            }
            other => other,
        }
    }

    /// Replaces assignments by their values if the target is never read.
    fn forget(&mut self, node: &mut Node<'_>) {
        node.children_mut(&mut |child| self.forget(child));
        if let Kind::Assign { sides, .. } = &mut node.kind
            && let Kind::Variable(id) = sides[0].kind
            && !self.globals[id.0 as usize]
            && !self.uses.read.contains(&id)
        {
            let empty = Node::new(node.place, Kind::Number(0));
            *node = mem::replace(&mut sides[1], empty);
            self.changed = true;
        }
    }

    /// The remainder of an expression whose value is unused.
    fn for_nothing<'a>(&mut self, node: Node<'a>) -> Statement<'a> {
        let place = node.place;
        match node.kind {
            _ if !self.acting.expression(&node) => {
                self.changed = true;
                Statement::Nothing
            }
            Kind::Binary { operator: operator @ ("&&" | "||"), sides } => {
                let [left, right] = *sides;
                let right = Box::new(self.for_nothing(right));
                let condition = match operator {
                    "&&" => left,
                    _ => Node::new(place, Kind::Unary { operator: "!", operand: Box::new(left) }),
                };
                self.reduced(Statement::If {
                    condition,
                    then: right,
                    otherwise: Box::new(Statement::Nothing),
                })
            }
            Kind::Binary { sides, .. } => self.each_for_nothing(*sides),
            Kind::Ternary(parts) => {
                let [condition, then, otherwise] = *parts;
                let then = Box::new(self.for_nothing(then));
                let otherwise = Box::new(self.for_nothing(otherwise));
                self.reduced(Statement::If { condition, then, otherwise })
            }
            Kind::Unary { operand, .. } | Kind::Match(operand) => self.for_nothing(*operand),
            Kind::Call { ref of, .. } if self.acting.any(of) => Statement::Expression(node),
            Kind::Print { print, .. } if !print.function.starts_with('s') => Statement::Expression(node),
            Kind::Call { arguments: all, .. }
            | Kind::Print { arguments: all, .. }
            | Kind::Read { operands: all, written: false, .. }
            | Kind::Broken { operands: all, written: false, .. } => self.each_for_nothing(all),
            _ => Statement::Expression(node),
        }
    }

    fn each_for_nothing<'a>(&mut self, nodes: impl IntoIterator<Item = Node<'a>>) -> Statement<'a> {
        self.changed = true;
        let left: Vec<_> = nodes.into_iter().map(|node| self.for_nothing(node)).collect();
        self.reduced(Statement::Block(left))
    }
}
