//! Searches in trees: kernel variables, assignments, marks in C.
use super::ast::{
    Expression, ExpressionKind, For, Function, FunctionBody, Indexed, Root, Statement, StatementKind, Step,
    Variable,
};

/// Properties declared in comments of a function's C. `stap --dump-functions` prints the first four.
pub const MARKS: [&str; 8] = [
    "bpf",
    "guru",
    "myproc-unprivileged",
    "unprivileged",
    "pure",
    "stable",
    "unmangled",
    "unmodified-fnargs",
];

impl Function {
    /// The [`MARKS`] in the function's C, sorted by name.
    pub fn marks(&self) -> Vec<&'static str> {
        let mut marks = vec![];
        let mut look = |code: &str| {
            marks.extend(MARKS.iter().filter(|mark| {
                let ends = |rest: &str| rest.strip_prefix(**mark).is_some_and(|rest| rest.starts_with(" */"));
                code.match_indices("/* ").any(|(at, _)| ends(&code[at + 3..]))
            }));
        };
        match &self.body {
            FunctionBody::Embedded(embedded) => look(&embedded.code),
            FunctionBody::Statement(body) => body.each_expression(&mut |expression| match &expression.kind {
                ExpressionKind::Embedded(code) => look(code),
                ExpressionKind::Constant(_) => look("/* pure */ /* unprivileged */ /* stable */"),
                _ => {}
            }),
        }
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

impl Statement {
    /// The kernel variables it reads, in source order, including members in arguments.
    pub fn variables(&self) -> Vec<&Variable> {
        let mut variables = vec![];
        self.each_expression(&mut |expression| {
            if let ExpressionKind::Variable(variable) = &expression.kind {
                variables.push(&**variable);
            }
        });
        variables
    }

    /// The names assigned with `=`, with their values, in source order: handlers of an alias see them as its locals.
    pub fn assignments(&self) -> Vec<(&str, &Expression)> {
        let mut assignments = vec![];
        self.each_expression(&mut |expression| {
            if let ExpressionKind::Binary { operator: "=", left, right } = &expression.kind
                && let ExpressionKind::Symbol(name) = &left.kind
            {
                assignments.push((name.as_str(), &**right));
            }
        });
        assignments
    }

    /// Visits every expression of the statement, outer ones first.
    pub fn each_expression<'s>(&'s self, visit: &mut dyn FnMut(&'s Expression)) {
        match &self.kind {
            StatementKind::Block(statements) => statements.iter().for_each(|s| s.each_expression(visit)),
            StatementKind::Try { body, handler, .. } => {
                body.each_expression(visit);
                handler.each_expression(visit);
            }
            StatementKind::If { condition, then, otherwise } => {
                condition.each(visit);
                then.each_expression(visit);
                otherwise.iter().for_each(|s| s.each_expression(visit));
            }
            StatementKind::For(parts) => {
                let For { before, condition, after, body } = &**parts;
                before.iter().chain([condition]).chain(after).for_each(|e| e.each(visit));
                body.each_expression(visit);
            }
            StatementKind::Foreach(foreach) => {
                foreach.array.each(visit);
                foreach.slice.iter().flatten().chain(&foreach.limit).for_each(|e| e.each(visit));
                foreach.body.each_expression(visit);
            }
            StatementKind::Expression(expression) | StatementKind::Delete(expression) => {
                expression.each(visit)
            }
            StatementKind::Return(value) => value.iter().for_each(|e| e.each(visit)),
            StatementKind::Next | StatementKind::Break | StatementKind::Continue | StatementKind::Empty => {}
        }
    }
}

impl Expression {
    /// Visits this expression and every one in it, outer ones first.
    pub fn each<'s>(&'s self, visit: &mut dyn FnMut(&'s Expression)) {
        use ExpressionKind::*;
        visit(self);
        match &self.kind {
            Literal(_)
            | Symbol(_)
            | Probewrite(_)
            | Perf(_)
            | Embedded(_)
            | Constant(_)
            | Enumerator(_)
            | Register { .. } => {}
            Index { of: array, indexes } | In { indexes, array } => {
                array.each(visit);
                indexes.iter().flatten().for_each(|e| e.each(visit));
            }
            Call { arguments, .. } => arguments.iter().for_each(|e| e.each(visit)),
            Print(print) => {
                print.histogram.iter().for_each(|h| h.each(visit));
                print.arguments.iter().for_each(|e| e.each(visit));
            }
            Unary { operand: one, .. }
            | Postfix { operand: one, .. }
            | Match { text: one, .. }
            | Defined(one)
            | Entry(one)
            | EnumeratorName { of: one, .. }
            | Memory { address: one, .. }
            | Statistic { of: one, .. } => one.each(visit),
            Binary { left, right, .. } => {
                left.each(visit);
                right.each(visit);
            }
            Ternary { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(|e| e.each(visit));
            }
            Variable(variable) => {
                if let Root::Cast { value, .. } | Root::Value(value) = &variable.root {
                    value.each(visit);
                }
                for step in &variable.path {
                    if let Step::At(index) = step {
                        index.each(visit);
                    }
                }
            }
        }
    }
}

impl Indexed {
    fn each<'s>(&'s self, visit: &mut dyn FnMut(&'s Expression)) {
        if let Self::Histogram { of, .. } = self {
            of.each(visit);
        }
    }
}
