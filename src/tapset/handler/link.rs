//! Names to what they mean, in the order in which SystemTap meets them (elaborate.cxx of 4.8, `symresolution_info`).
//!
//! Variables of the kernel are asked for at once, and constants computed, so that what is dead is not met at all.
use std::collections::{HashMap, HashSet};

use super::super::Place;
use super::super::ast::{self, Expression, ExpressionKind, Root, StatementKind, Step};
use super::super::context::{Absent, Context};
use super::finding::Trouble;
use super::fold;
use super::program::{MOST, Program, Variable};
use super::tree::*;

/// Reads one body.
pub(super) struct Linker<'p, 'a> {
    program: &'p mut Program<'a>,
    context: &'p dyn Context,
    function: Option<FunctionId>,
    names: HashMap<&'a str, VariableId>,
    found: Found<'a>,
    /// Names that the handler assigns to, for `@probewrite`.
    written: HashSet<&'a str>,
    /// How many loops are around.
    loops: usize,
    /// Whether this is a condition, which sees neither locals nor functions.
    condition: bool,
}

/// What was met in a body.
#[derive(Default)]
pub(super) struct Found<'a> {
    /// In the order of their declaration.
    pub locals: Vec<VariableId>,
    /// What is asked of the kernel.
    pub read: Vec<&'a ast::Variable>,
    /// What only dead branches ask of it.
    pub dead: Vec<&'a ast::Variable>,
    /// Whether a value from the entry of the function is asked for.
    pub saves: bool,
}

impl<'p, 'a> Linker<'p, 'a> {
    pub fn new(program: &'p mut Program<'a>, context: &'p dyn Context) -> Self {
        Self {
            program,
            context,
            function: None,
            names: HashMap::new(),
            found: Found::default(),
            written: HashSet::new(),
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
        // What an alias writes itself does not count for its `@probewrite`: SystemTap 4.8 asks the handler that uses it
        // (alias_expansion_builder::build_with_suffix).
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
            StatementKind::For { before, condition, after, body } => {
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

    /// SystemTap 4.8 notices it in its third pass, `stap -p3`.
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

    /// What `delete` is given: an element, or all of a variable.
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

    pub fn node(&mut self, expression: &'a Expression) -> Node<'a> {
        self.program.nodes += 1;
        if self.program.nodes > MOST {
            // The program is refused as a whole.
            return Node::new(expression.place, Kind::Number(0));
        }
        let place = expression.place;
        let kind = match &expression.kind {
            ExpressionKind::Literal(ast::Literal::Number(number)) => Kind::Number(*number),
            ExpressionKind::Literal(ast::Literal::String(text)) => Kind::Text(text.clone()),
            ExpressionKind::Symbol(name) => return self.named(name, place),
            ExpressionKind::Index { of, indexes } => {
                let indexes = self.indexes(indexes);
                match self.base(of, indexes.len(), place) {
                    Some(of) => Kind::Element { of, indexes },
                    None => return self.lost(place, indexes.into_iter().flatten().collect()),
                }
            }
            ExpressionKind::In { indexes, array } => {
                let indexes = self.indexes(indexes);
                match self.base(array, indexes.len(), place) {
                    Some(of) => Kind::In { of, indexes },
                    None => return self.lost(place, indexes.into_iter().flatten().collect()),
                }
            }
            ExpressionKind::Call { function, arguments } => return self.call(function, arguments, place),
            ExpressionKind::Print(print) => {
                let histogram = print.histogram.as_deref().and_then(|of| self.base(of, 1, place));
                let arguments = print.arguments.iter().map(|e| self.node(e)).collect();
                Kind::Print { print, histogram, arguments }
            }
            ExpressionKind::Unary { operator: "++" | "--", operand }
            | ExpressionKind::Postfix { operand, .. } => Kind::Step(Box::new(self.written(operand))),
            ExpressionKind::Unary { operator, operand } => {
                Kind::Unary { operator, operand: Box::new(self.node(operand)) }
            }
            ExpressionKind::Binary { operator, left, right } if is_assignment(operator) => {
                Kind::Assign { operator, sides: Box::new([self.written(left), self.node(right)]) }
            }
            ExpressionKind::Binary { operator, left, right } => {
                let left = self.node(left);
                let decided = match (*operator, fold::number(&left)) {
                    ("&&", Some(0)) => Some(0),
                    ("||", Some(value)) if value != 0 => Some(1),
                    _ => None,
                };
                if let Some(value) = decided {
                    self.bury(right);
                    return Node::new(place, Kind::Number(value));
                }
                Kind::Binary { operator, sides: Box::new([left, self.node(right)]) }
            }
            ExpressionKind::Match { text, .. } => Kind::Match(Box::new(self.node(text))),
            ExpressionKind::Ternary { condition, then, otherwise } => {
                let condition = self.node(condition);
                if let Some(condition) = fold::number(&condition) {
                    let (taken, dead) = if condition != 0 { (then, otherwise) } else { (otherwise, then) };
                    self.bury(dead);
                    return self.node(taken);
                }
                Kind::Ternary(Box::new([condition, self.node(then), self.node(otherwise)]))
            }
            ExpressionKind::Variable(variable) => return self.of_kernel(variable, place, false),
            ExpressionKind::Defined(of) => return self.defined(of, place),
            ExpressionKind::Entry(of) => return self.entry(of, place),
            ExpressionKind::Probewrite(name) => Kind::Number(i64::from(self.written.contains(&**name))),
            ExpressionKind::Perf(_) | ExpressionKind::Constant(_) | ExpressionKind::Register { .. } => {
                let kind = Kind::Foreign { pure: true, operand: None };
                return Node { sort: Sort::Long, ..Node::new(place, kind) };
            }
            ExpressionKind::Embedded(code) => {
                let sort = if code.contains("/* string */") { Sort::String } else { Sort::Long };
                self.program.named_in_c(code, place);
                let kind = Kind::Foreign { pure: code.contains("/* pure */"), operand: None };
                return Node { sort, ..Node::new(place, kind) };
            }
            ExpressionKind::Memory { address, .. } => {
                let kind = Kind::Foreign { pure: true, operand: Some(Box::new(self.node(address))) };
                return Node { sort: Sort::Long, ..Node::new(place, kind) };
            }
            ExpressionKind::Statistic { of, .. } => Kind::Statistic(Box::new(self.node(of))),
        };
        let mut node = Node::new(place, kind);
        fold::one(&mut node);
        node
    }

    /// Stands for something that was said to be wrong.
    fn lost(&mut self, place: Place, operands: Vec<Node<'a>>) -> Node<'a> {
        Node::new(place, Kind::Read { operands, written: false })
    }

    fn indexes(&mut self, indexes: &'a [Option<Expression>]) -> Vec<Option<Node<'a>>> {
        indexes.iter().map(|e| e.as_ref().map(|e| self.node(e))).collect()
    }

    /// What is assigned to.
    fn written(&mut self, expression: &'a Expression) -> Node<'a> {
        match &expression.kind {
            ExpressionKind::Variable(variable) => self.of_kernel(variable, expression.place, true),
            ExpressionKind::Symbol(_) | ExpressionKind::Index { .. } => self.node(expression),
            _ => {
                let what = expression.to_string();
                self.program.fault(
                    expression.place,
                    Trouble::Name,
                    &what,
                    "nothing can be assigned to it",
                    vec![],
                );
                self.node(expression)
            }
        }
    }

    /// A scalar by its name; a new local, if nothing has the name.
    fn named(&mut self, name: &'a str, place: Place) -> Node<'a> {
        let id = self.scalar(name, place);
        Node::new(place, Kind::Variable(id))
    }

    fn scalar(&mut self, name: &'a str, place: Place) -> VariableId {
        let known = self.names.get(name).copied();
        let Some(id) = known.or_else(|| self.program.global(name, place.file)) else {
            if self.condition {
                let why = "conditions of probe points can use globals alone";
                self.program.fault(place, Trouble::Name, name, why, vec![]);
            }
            let id = self.program.variable(Variable { arity: Some(0), ..Variable::scalar(name, place) });
            self.names.insert(name, id);
            self.found.locals.push(id);
            return id;
        };
        self.fits(id, 0, place);
        id
    }

    /// An array or histogram; none if nothing declares it.
    fn base(&mut self, of: &'a ast::Indexed, indexes: usize, place: Place) -> Option<Base<'a>> {
        match of {
            ast::Indexed::Histogram { of, bounds } => Some(Base::Histogram(Box::new(self.node(of)), *bounds)),
            ast::Indexed::Array(name) => {
                let local = self.names.get(&**name).copied();
                // A parameter is no array: SystemTap 4.8 looks for a global of its name.
                let local = local.filter(|id| !self.program.variables[id.0 as usize].parameter);
                let Some(id) = local.or_else(|| self.program.global(name, place.file)) else {
                    let why = format!("nothing declares a global array of this name with {indexes} indexes");
                    self.program.fault(place, Trouble::Name, name, why, vec![]);
                    return None;
                };
                self.fits(id, indexes, place).then_some(Base::Array(id, place))
            }
        }
    }

    /// Whether a variable has, or may have, this number of indexes.
    fn fits(&mut self, id: VariableId, indexes: usize, place: Place) -> bool {
        let variable = &mut self.program.variables[id.0 as usize];
        let sized = variable.global.is_some_and(|g| g.size.is_some());
        match variable.arity {
            Some(arity) if arity != indexes => {
                let (name, why) =
                    (variable.name, format!("it has {arity} indexes elsewhere, here {indexes}"));
                self.program.fault(place, Trouble::Arity, name, why, vec![]);
                false
            }
            None if indexes == 0 && sized => {
                let name = variable.name;
                self.program.fault(place, Trouble::Arity, name, "it is declared as an array", vec![]);
                false
            }
            _ => {
                variable.arity = Some(indexes);
                variable.indexes.resize(indexes, Sort::Unknown);
                true
            }
        }
    }

    fn call(&mut self, name: &'a str, arguments: &'a [Expression], place: Place) -> Node<'a> {
        let arguments: Vec<_> = arguments.iter().map(|e| self.node(e)).collect();
        let all = self.program.words.functions(name, place.file);
        let fit: Vec<_> = all.iter().copied().filter(|f| f.parameters.len() == arguments.len()).collect();
        if self.condition {
            let why = "conditions of probe points can use globals alone";
            self.program.fault(place, Trouble::Function, name, why, vec![]);
        }
        if fit.is_empty() {
            match all.last() {
                Some(other) => {
                    let (takes, given) = (other.parameters.len(), arguments.len());
                    let why = format!("it takes {takes} arguments, here are {given}");
                    self.program.fault(place, Trouble::Arity, name, why, vec![other.to_string()]);
                }
                None => {
                    let instead = self.program.words.similar_functions(name);
                    let why = "no tapset has a function of this name";
                    self.program.fault(place, Trouble::Function, name, why, instead);
                }
            }
            return self.lost(place, arguments);
        }
        for function in &fit {
            if let Some(why) = self.program.words.forbids(function, place.file) {
                self.program.fault(place, Trouble::Privilege, name, why, vec![]);
            }
        }
        let of = fit.into_iter().map(|f| self.program.function(f)).collect();
        Node::new(place, Kind::Call { name, of, arguments })
    }

    /// A variable of the kernel, with all of its path.
    fn of_kernel(&mut self, variable: &'a ast::Variable, place: Place, written: bool) -> Node<'a> {
        let (mut operands, mut of) = (vec![], None);
        if let Root::Cast { value, .. } | Root::Value(value) = &variable.root {
            let value = self.node(value);
            of = value.detail();
            operands.push(value);
        }
        for step in &variable.path {
            if let Step::At(index) = step {
                operands.push(self.node(index));
            }
        }
        let answer = match (&variable.root, of) {
            _ if written && !self.program.words.guru && !self.context.writable(variable) => Err(Absent {
                what: variable.to_string(),
                why: "writing to the kernel needs guru mode (stap -g)".to_owned(),
                instead: vec![],
            }),
            (Root::Value(_), None) => Err(untyped(variable)),
            _ => {
                self.found.read.push(variable);
                self.context.variable(variable, of)
            }
        };
        match answer {
            Ok(value) => {
                let known = value.detail.map_or(Known::Not, Known::Is);
                Node { known, sort: value.kind.into(), ..Node::new(place, Kind::Read { operands, written }) }
            }
            Err(absent) => {
                let absent = Box::new(absent);
                Node::new(place, Kind::Broken { variable, operands, absent, written })
            }
        }
    }

    fn defined(&mut self, of: &'a Expression, place: Place) -> Node<'a> {
        let of = match &of.kind {
            ExpressionKind::Entry(of) => of,
            _ => of,
        };
        let node = self.node(of);
        match &node.kind {
            Kind::Read { .. } => Node::new(place, Kind::Number(1)),
            Kind::Broken { variable, .. } if !matches!(variable.root, Root::Value(_)) => {
                Node::new(place, Kind::Number(0))
            }
            _ => Node::new(place, Kind::Defined(Box::new(node))),
        }
    }

    /// A value from the entry of the function at its return.
    fn entry(&mut self, of: &'a Expression, place: Place) -> Node<'a> {
        self.found.saves = true;
        if !self.context.returns() {
            let why = "the value at the entry is known in probes of returns alone";
            self.program.fault(place, Trouble::Variable, &format!("@entry({of})"), why, vec![]);
        }
        self.node(of)
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
    /// The kernel's type of the value, if it is known.
    pub(super) fn detail(&self) -> Option<super::super::context::Detail> {
        match self.known {
            Known::Is(detail) => Some(detail),
            Known::Not | Known::Several => None,
        }
    }
}

/// Why members cannot be taken of a value.
fn untyped(variable: &ast::Variable) -> Absent {
    Absent {
        what: variable.to_string(),
        why: "nothing says of which type of the kernel the value is".to_owned(),
        instead: vec![],
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

/// The name that an expression gives a value to.
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
