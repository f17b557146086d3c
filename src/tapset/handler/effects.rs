//! What a program reads and writes, and which functions have side effects (staptree.cxx of SystemTap 4.8,
//! `varuse_collecting_visitor`).
use std::collections::HashSet;

use super::program::Program;
use super::tree::{Base, FunctionId, Kind, Node, Statement, VariableId};

/// The variables used anywhere.
#[derive(Default)]
pub(super) struct Uses {
    pub read: HashSet<VariableId>,
    pub written: HashSet<VariableId>,
    /// The functions called.
    pub called: HashSet<FunctionId>,
}

impl Uses {
    /// The uses in a whole program: in its handlers, and the functions they reach.
    pub fn of(program: &Program<'_>) -> Self {
        let mut uses = Self::default();
        for handler in &program.handlers {
            uses.statement(&handler.body);
            handler.conditions.iter().for_each(|condition| uses.node(condition));
        }
        let mut seen = HashSet::new();
        loop {
            let new: Vec<_> = uses.called.difference(&seen).copied().collect();
            if new.is_empty() {
                return uses;
            }
            for id in new {
                seen.insert(id);
                let function = &program.functions[id.0 as usize];
                uses.statement(&function.body);
                uses.read.extend(&function.reads);
                uses.written.extend(&function.writes);
            }
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::Block(all) => return all.iter().for_each(|one| self.statement(one)),
            Statement::Try { body, error, handler } => {
                self.statement(body);
                self.statement(handler);
                self.written.extend(error);
                return;
            }
            Statement::If { condition, then, otherwise } => {
                self.node(condition);
                self.statement(then);
                self.statement(otherwise);
                return;
            }
            Statement::For(parts) => {
                parts.before.iter().chain([&parts.condition]).chain(&parts.after).for_each(|e| self.node(e));
                self.statement(&parts.body);
                return;
            }
            Statement::Foreach(parts) => {
                self.base(&parts.of);
                if let (Base::Array(id, _), Some(_)) = (&parts.of, parts.order) {
                    self.written.insert(*id);
                }
                parts.indexes.iter().chain(&parts.value).for_each(|e| self.target(e));
                parts.slice.iter().flatten().chain(&parts.limit).for_each(|e| self.node(e));
                self.statement(&parts.body);
                return;
            }
            // SystemTap treats it as a change of the value, so the value is kept.
            Statement::Delete(value) => self.target(value),
            _ => {}
        }
        statement.expressions(&mut |e| self.node(e));
    }

    fn node(&mut self, node: &Node<'_>) {
        match &node.kind {
            Kind::Variable(id) => {
                self.read.insert(*id);
            }
            Kind::Assign { operator, sides } => {
                let [left, right] = &**sides;
                self.target(left);
                // `x += 1` also reads it.
                if !matches!(*operator, "=" | "<<<") {
                    self.node(left);
                }
                return self.node(right);
            }
            Kind::Step(operand) => self.target(operand),
            Kind::Element { of, .. } | Kind::In { of, .. } => self.base(of),
            Kind::Call { of, .. } => self.called.extend(of),
            _ => {}
        }
        node.children(&mut |child| self.node(child));
    }

    fn base(&mut self, of: &Base<'_>) {
        match of {
            Base::Array(id, _) => {
                self.read.insert(*id);
            }
            Base::Histogram(of, _) => self.node(of),
        }
    }

    /// Visits the target of a write.
    fn target(&mut self, node: &Node<'_>) {
        match &node.kind {
            Kind::Variable(id) => {
                self.written.insert(*id);
            }
            Kind::Element { of: Base::Array(id, _), indexes } => {
                self.written.insert(*id);
                indexes.iter().flatten().for_each(|e| self.node(e));
            }
            _ => self.node(node),
        }
    }
}

/// Which functions have side effects, directly or in functions they call: they print, write to globals, or run C that
/// is not marked as pure.
pub(super) struct Acting(Vec<bool>);

impl Acting {
    pub fn of(program: &Program<'_>) -> Self {
        let directly = |function: &super::program::Function<'_>| {
            let mut acts = function.acts || !function.writes.is_empty();
            let mut callees = vec![];
            function.body.expressions(&mut |expression| {
                expression.each(&mut |node| match &node.kind {
                    Kind::Call { of, .. } => callees.extend(of),
                    _ => acts |= acts_itself(node, |id| program.variables[id.0 as usize].global.is_some()),
                });
            });
            (acts || deletes(&function.body), callees)
        };
        let direct: Vec<(bool, Vec<FunctionId>)> = program.functions.iter().map(directly).collect();
        let mut acting: Vec<bool> = direct.iter().map(|(acts, _)| *acts).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (id, (_, callees)) in direct.iter().enumerate() {
                if !acting[id] && callees.iter().any(|callee| acting[callee.0 as usize]) {
                    (acting[id], changed) = (true, true);
                }
            }
        }
        Self(acting)
    }

    /// Whether a call has side effects.
    pub fn any(&self, functions: &[FunctionId]) -> bool {
        functions.iter().any(|id| self.0[id.0 as usize])
    }

    /// Whether an expression has side effects that its handler could notice.
    pub fn expression(&self, node: &Node<'_>) -> bool {
        let mut acts = false;
        node.each(&mut |inner| {
            acts |= match &inner.kind {
                Kind::Call { of, .. } => self.any(of),
                _ => acts_itself(inner, |_| true),
            };
        });
        acts
    }
}

/// Whether a node itself has side effects, apart from its operands; `counts` selects the relevant variables.
fn acts_itself(node: &Node<'_>, counts: impl Fn(VariableId) -> bool) -> bool {
    match &node.kind {
        Kind::Assign { sides: of, .. } => target_counts(&of[0], counts),
        Kind::Step(of) => target_counts(of, counts),
        Kind::Print { print, .. } => !print.function.starts_with('s'),
        Kind::Foreign { pure, .. } => !pure,
        Kind::Read { written, .. } | Kind::Broken { written, .. } => *written,
        _ => false,
    }
}

fn target_counts(target: &Node<'_>, counts: impl Fn(VariableId) -> bool) -> bool {
    match &target.kind {
        Kind::Variable(id) | Kind::Element { of: Base::Array(id, _), .. } => counts(*id),
        _ => true,
    }
}

/// Whether a statement empties a global.
fn deletes(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Delete(_) => true,
        Statement::Block(all) => all.iter().any(deletes),
        Statement::Try { body, handler, .. } => deletes(body) || deletes(handler),
        Statement::If { then, otherwise, .. } => deletes(then) || deletes(otherwise),
        Statement::For(parts) => deletes(&parts.body),
        // Iterating over an array in an order sorts it.
        Statement::Foreach(parts) => parts.order.is_some() || deletes(&parts.body),
        _ => false,
    }
}
