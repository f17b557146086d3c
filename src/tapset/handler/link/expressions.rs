//! Resolves the names in expressions.
use super::super::super::Place;
use super::super::super::ast::{self, Expression, ExpressionKind, Root, Step};
use super::super::super::context::{Absent, Access, Detail};
use super::super::super::regex;
use super::super::finding::Trouble;
use super::super::fold;
use super::super::program::{MOST, Variable};
use super::super::tree::*;
use super::{Linker, is_assignment};

impl<'a> Linker<'_, 'a> {
    pub fn node(&mut self, expression: &'a Expression) -> Node<'a> {
        self.program.nodes += 1;
        if self.program.nodes > MOST {
            // The whole program is refused.
            return Node::new(expression.place, Kind::Number(0));
        }
        let place = expression.place;
        let kind = match &expression.kind {
            ExpressionKind::Literal(ast::Literal::Number(number)) => Kind::Number(*number),
            ExpressionKind::Literal(ast::Literal::String(text)) => Kind::Text(text.into()),
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
            ExpressionKind::Match { text, regex, .. } => {
                if let Err(wrong) = regex::check(regex) {
                    self.program.fault(
                        place,
                        Trouble::Regex,
                        &format!("\"{regex}\""),
                        wrong.to_string(),
                        vec![],
                    );
                }
                Kind::Match(Box::new(self.node(text)))
            }
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
            ExpressionKind::Enumerator(name) => {
                if let Err(Absent { what, why, instead }) = self.context.enumerator(name) {
                    self.program.fault(place, Trouble::Variable, &what, why, instead);
                }
                let kind = Kind::Foreign { pure: true, operand: None };
                return Node { sort: Sort::Long, ..Node::new(place, kind) };
            }
            ExpressionKind::EnumeratorName { of, named } => {
                if named.is_none() && !matches!(of.kind, ExpressionKind::Variable(_)) {
                    let why = "nothing says of which enumeration it is: name one behind the value";
                    self.program.fault(place, Trouble::Variable, &expression.to_string(), why, vec![]);
                }
                let kind = Kind::Foreign { pure: true, operand: Some(Box::new(self.node(of))) };
                return Node { sort: Sort::String, ..Node::new(place, kind) };
            }
            ExpressionKind::Statistic { of, .. } => Kind::Statistic(Box::new(self.node(of))),
        };
        let mut node = Node::new(place, kind);
        fold::one(&mut node);
        node
    }

    /// A replacement for a node with a reported error.
    fn lost(&mut self, place: Place, operands: Vec<Node<'a>>) -> Node<'a> {
        Node::new(place, Kind::Read { operands, written: false, assumed: None })
    }

    fn indexes(&mut self, indexes: &'a [Option<Expression>]) -> Vec<Option<Node<'a>>> {
        indexes.iter().map(|e| e.as_ref().map(|e| self.node(e))).collect()
    }

    /// The target of an assignment.
    fn written(&mut self, expression: &'a Expression) -> Node<'a> {
        if self.condition {
            let (what, why) = (expression.to_string(), "conditions of probe points change no variables");
            self.program.fault(expression.place, Trouble::Control, &what, why, vec![]);
        }
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

    /// A scalar by name; a new local if the name is unknown.
    pub(super) fn named(&mut self, name: &'a str, place: Place) -> Node<'a> {
        let id = self.scalar(name, place);
        Node::new(place, Kind::Variable(id))
    }

    pub(super) fn scalar(&mut self, name: &'a str, place: Place) -> VariableId {
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

    /// An array or histogram; `None` if it is not declared.
    pub(super) fn base(&mut self, of: &'a ast::Indexed, indexes: usize, place: Place) -> Option<Base<'a>> {
        match of {
            ast::Indexed::Histogram { of, bounds } => Some(Base::Histogram(Box::new(self.node(of)), *bounds)),
            ast::Indexed::Array(name) => {
                let local = self.names.get(&**name).copied();
                // A parameter cannot be an array: SystemTap 4.8 looks for a global of its name.
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
                    let why = format!("it takes {takes} arguments, here {given}");
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
        let judged = if self.program.silent { &[][..] } else { &fit };
        for function in judged {
            if let Some(why) = self.program.words.forbids(function, place.file) {
                self.program.fault(place, Trouble::Privilege, name, why, vec![]);
            }
        }
        let of = fit.into_iter().map(|f| self.program.function(f)).collect();
        Node::new(place, Kind::Call { name, of, arguments })
    }

    /// A kernel variable with its whole path.
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
        let access = Access { writes: written, guru: self.program.words.guru };
        let answer = match (&variable.root, of, self.context.refusal(variable, access)) {
            (.., Some(why)) => {
                Err(Absent { what: variable.to_string(), why: why.to_owned(), ..<_>::default() })
            }
            (Root::Value(_), None, None) => Err(untyped(variable)),
            _ => {
                self.found.read.push(variable);
                self.context.variable(variable, of)
            }
        };
        match answer {
            Ok(value) => {
                let known = value.detail.map_or(Known::Not, Known::Is);
                let assumed = (value.detail == Some(Detail::ASSUMED)).then_some(variable);
                let kind = Kind::Read { operands, written, assumed };
                Node { known, sort: value.kind.into(), ..Node::new(place, kind) }
            }
            Err(absent) => {
                self.program.undecided |= matches!(variable.root, Root::Value(_));
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
            _ => {
                self.program.undecided = true;
                Node::new(place, Kind::Defined(Box::new(node)))
            }
        }
    }

    /// A value saved at the function's entry, used at its return.
    fn entry(&mut self, of: &'a Expression, place: Place) -> Node<'a> {
        self.found.saves = true;
        if !self.context.returns() {
            let why = "the value at the entry is known in probes of returns alone";
            self.program.fault(place, Trouble::Variable, &format!("@entry({of})"), why, vec![]);
        }
        self.node(of)
    }
}

/// Why members of a value cannot be read.
fn untyped(variable: &ast::Variable) -> Absent {
    Absent {
        what: variable.to_string(),
        why: "nothing says of which type of the kernel the value is".to_owned(),
        ..<_>::default()
    }
}
