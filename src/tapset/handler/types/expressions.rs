//! Infers the sort of an expression from its operands and its position.
use std::mem;

use super::super::super::Place;
use super::super::finding::Trouble;
use super::super::format;
use super::super::tree::*;
use super::{Reports, Types, merge};

impl<'a> Types<'_, 'a> {
    /// Infers an expression, given the expected sort or `Unknown`.
    pub(super) fn node(&mut self, node: &mut Node<'a>, wanted: Sort) {
        let place = node.place;
        match &mut node.kind {
            Kind::Number(_) | Kind::Text(_) => {
                if wanted != Sort::Unknown && wanted != node.sort {
                    let what = match &node.kind {
                        Kind::Text(text) => format!("\"{text}\""),
                        Kind::Number(number) => number.to_string(),
                        _ => String::new(),
                    };
                    self.disagree(place, &what, || format!("this is a {}, a {wanted} is wanted", node.sort));
                }
            }
            Kind::Variable(id) => {
                let id = *id;
                let mut sort = if node.sort == Sort::Unknown { wanted } else { node.sort };
                let name = self.program.variables[id.0 as usize].name;
                if node.sort != Sort::Unknown && wanted != Sort::Unknown && node.sort != wanted {
                    self.disagree(place, name, || format!("this is a {}, a {wanted} is wanted", node.sort));
                }
                self.variable(id, &mut sort, place);
                self.learn(&mut node.sort, sort);
                let variable = &mut self.program.variables[id.0 as usize];
                if node.sort == variable.sort {
                    match (node.known, variable.known) {
                        (known, Known::Not) | (Known::Not, known) if known != Known::Not => {
                            (node.known, variable.known) = (known, known);
                            self.learnt += 1;
                        }
                        (one, other) if one != other => {
                            (node.known, variable.known) = (Known::Several, Known::Several);
                            self.learnt += 1;
                        }
                        _ => {}
                    }
                }
                if node.sort == Sort::Unknown {
                    self.untyped(place, name);
                }
            }
            Kind::Element { of: Base::Histogram(of, _), indexes } => {
                self.node(of, Sort::Statistics);
                indexes.iter_mut().flatten().for_each(|index| self.wants(index, Sort::Long));
                self.gives(node, Sort::Long, wanted);
            }
            Kind::Element { of: Base::Array(id, _), indexes } => {
                let id = *id;
                for (at, index) in indexes.iter_mut().enumerate() {
                    index.iter_mut().for_each(|index| self.index(index, id, at));
                }
                let mut sort = if node.sort == Sort::Unknown { wanted } else { node.sort };
                let name = self.program.variables[id.0 as usize].name;
                if node.sort != Sort::Unknown && wanted != Sort::Unknown && node.sort != wanted {
                    self.disagree(place, name, || format!("this is a {}, a {wanted} is wanted", node.sort));
                }
                self.variable(id, &mut sort, place);
                self.learn(&mut node.sort, sort);
                if node.sort == Sort::Unknown {
                    self.untyped(place, name);
                }
            }
            Kind::In { of, indexes } => {
                match of {
                    Base::Histogram(of, _) => {
                        self.node(of, Sort::Statistics);
                        indexes.iter_mut().flatten().for_each(|index| self.wants(index, Sort::Long));
                    }
                    Base::Array(id, _) => {
                        let id = *id;
                        for (at, index) in indexes.iter_mut().enumerate() {
                            index.iter_mut().for_each(|index| self.index(index, id, at));
                        }
                    }
                }
                self.gives(node, Sort::Long, wanted);
            }
            Kind::Call { name, of, arguments } => {
                let (name, functions, mut all) = (*name, mem::take(of), mem::take(arguments));
                for id in &functions {
                    self.called(node, name, *id, &mut all, wanted);
                }
                if let Kind::Call { of, arguments, .. } = &mut node.kind {
                    (*of, *arguments) = (functions, all);
                }
            }
            Kind::Print { print, histogram, arguments } => {
                if let Some(Base::Histogram(of, _)) = histogram {
                    self.node(of, Sort::Statistics);
                }
                let mut unknown = false;
                match print.text.as_deref().filter(|_| print.function.ends_with("printf")) {
                    Some(format) => self.formatted(place, &print.function, format, arguments),
                    None => {
                        for argument in arguments.iter_mut() {
                            self.node(argument, Sort::Unknown);
                            unknown |= argument.sort == Sort::Unknown;
                        }
                    }
                }
                let sort = if print.function.starts_with('s') { Sort::String } else { Sort::Long };
                if !unknown {
                    self.gives(node, sort, Sort::Unknown);
                }
            }
            Kind::Unary { operand, .. } | Kind::Step(operand) => {
                self.node(operand, Sort::Long);
                self.gives(node, Sort::Long, wanted);
            }
            Kind::Binary { operator, sides } => {
                let [left, right] = &mut **sides;
                let gives = match *operator {
                    "." => {
                        self.node(left, Sort::String);
                        self.node(right, Sort::String);
                        Sort::String
                    }
                    "==" | "!=" | "<" | ">" | "<=" | ">=" => {
                        self.node(left, right.sort);
                        self.node(right, left.sort);
                        Sort::Long
                    }
                    _ => {
                        self.node(left, Sort::Long);
                        self.node(right, Sort::Long);
                        Sort::Long
                    }
                };
                self.agree(place, operator, left.sort, right.sort);
                self.gives(node, gives, wanted);
            }
            Kind::Assign { .. } => self.assigned(node, wanted),
            Kind::Match(text) => {
                self.node(text, Sort::String);
                self.gives(node, Sort::Long, wanted);
            }
            Kind::Ternary(parts) => {
                let [condition, then, otherwise] = &mut **parts;
                self.node(condition, Sort::Long);
                let wanted = if wanted == Sort::Unknown { node.sort } else { wanted };
                self.node(then, wanted);
                self.node(otherwise, wanted);
                let sort = [wanted, then.sort, otherwise.sort].into_iter().find(|s| *s != Sort::Unknown);
                if let Some(sort) = sort {
                    self.learn(&mut node.sort, sort);
                    if node.sort != sort {
                        self.disagree(place, "?:", || format!("this is a {}, a {sort} is wanted", node.sort));
                    }
                }
                if node.known == Known::Not && then.known == otherwise.known && then.known != Known::Not {
                    node.known = then.known;
                    self.learnt += 1;
                }
            }
            Kind::Read { operands, assumed, .. } => {
                operands.iter_mut().for_each(|operand| self.node(operand, Sort::Long));
                if let (Some(variable), Reports::All) = (assumed, self.reports) {
                    let why =
                        "assumed to be declared in the file of the function, which the index does not tell";
                    let place = variable.called.unwrap_or(variable.place);
                    self.program.fault(place, Trouble::Assumed, &variable.to_string(), why, vec![]);
                }
                let sort = node.sort;
                if sort == Sort::Unknown {
                    // A node with a reported error agrees with everything.
                    self.learn(&mut node.sort, wanted);
                } else if wanted != Sort::Unknown && wanted != sort {
                    self.disagree(place, "a variable of the kernel", || {
                        format!("this is a {sort}, a {wanted} is wanted")
                    });
                }
            }
            Kind::Broken { operands, absent, variable, .. } => {
                operands.iter_mut().for_each(|operand| self.node(operand, Sort::Long));
                if self.reports == Reports::All {
                    let place = variable.called.unwrap_or(variable.place);
                    let absent = (**absent).clone();
                    self.program.fault(place, Trouble::Variable, &absent.what, absent.why, absent.instead);
                }
            }
            Kind::Defined(of) => self.node(of, Sort::Unknown),
            Kind::Foreign { operand, .. } => {
                operand.iter_mut().for_each(|operand| self.node(operand, Sort::Long));
                let sort = node.sort;
                self.gives(node, sort, wanted);
            }
            Kind::Statistic(of) => {
                self.node(of, Sort::Statistics);
                self.gives(node, Sort::Long, wanted);
            }
        }
    }

    fn assigned(&mut self, node: &mut Node<'a>, wanted: Sort) {
        let place = node.place;
        let Kind::Assign { operator, sides } = &mut node.kind else { return };
        let operator = *operator;
        let [left, right] = &mut **sides;
        if operator == "<<<" {
            self.node(left, Sort::Statistics);
            self.node(right, Sort::Long);
            return self.gives(node, Sort::Long, wanted);
        }
        for side in [&*left, &*right] {
            if side.sort == Sort::Statistics {
                self.disagree(side.place, operator, || "statistics take values by `<<<` alone".to_owned());
                return;
            }
        }
        match operator {
            "=" => {
                let wanted = if wanted == Sort::Unknown { node.sort } else { wanted };
                let other = |side: &Node<'_>| if wanted == Sort::Unknown { side.sort } else { wanted };
                self.node(left, other(right));
                self.node(right, other(left));
                let sort = if wanted == Sort::Unknown { left.sort } else { wanted };
                self.agree(place, operator, left.sort, right.sort);
                if node.sort == Sort::Unknown && sort != Sort::Unknown {
                    node.sort = sort;
                    self.learnt += 1;
                }
                if node.sort == right.sort && node.known == Known::Not && right.known != Known::Not {
                    node.known = right.known;
                    self.learnt += 1;
                }
                if node.sort == left.sort && node.known != Known::Not {
                    self.learnt += usize::from(merge(&mut left.known, node.known));
                }
            }
            ".=" => {
                self.node(left, Sort::String);
                self.node(right, Sort::String);
                self.gives(node, Sort::String, wanted);
            }
            _ => {
                self.node(left, Sort::Long);
                self.node(right, Sort::Long);
                self.agree(place, operator, left.sort, right.sort);
                self.gives(node, Sort::Long, wanted);
            }
        }
    }

    /// One function that a call may run.
    fn called(
        &mut self,
        node: &mut Node<'a>,
        name: &'a str,
        id: FunctionId,
        arguments: &mut [Node<'a>],
        wanted: Sort,
    ) {
        let place = node.place;
        let function = &mut self.program.functions[id.0 as usize];
        let (result, known) = (function.result, function.known);
        let sorts = [node.sort, result, wanted].into_iter().filter(|s| *s != Sort::Unknown);
        let (mut sorts, first) = (sorts.clone(), sorts.clone().next());
        if let Some(sort) = first {
            if function.result == Sort::Unknown {
                function.result = sort;
                self.learnt += 1;
            }
            if sorts.any(|other| other != sort) {
                let wanted = if wanted == Sort::Unknown { node.sort } else { wanted };
                self.disagree(place, name, || {
                    format!("the function returns a {result}, a {wanted} is wanted")
                });
            }
            self.learn(&mut node.sort, sort);
            if sort == Sort::Statistics {
                self.disagree(place, name, || "functions return no statistics".to_owned());
            }
        }
        // For functions of one name with different results, SystemTap alternates between them without end.
        if known != Known::Not && result == node.sort {
            self.learnt += usize::from(merge(&mut node.known, known));
        }
        for (at, argument) in arguments.iter_mut().enumerate() {
            let parameters = &self.program.functions[id.0 as usize].parameters;
            let Some(&parameter) = parameters.get(at) else { break };
            let takes = self.program.variables[parameter.0 as usize].sort;
            self.node(argument, takes);
            match (argument.sort, takes) {
                (Sort::Statistics, _) => {
                    self.disagree(argument.place, name, || {
                        "statistics cannot be given to a function".to_owned()
                    });
                }
                (Sort::Unknown, _) => {
                    self.untyped(argument.place, format_args!("argument {} of {name}", at + 1));
                }
                (sort, Sort::Unknown) => {
                    self.program.variables[parameter.0 as usize].sort = sort;
                    self.learnt += 1;
                }
                (sort, takes) if sort != takes => {
                    let why = || format!("argument {} is a {sort}, the function takes a {takes}", at + 1);
                    self.disagree(argument.place, name, why);
                }
                _ => {}
            }
        }
    }

    fn formatted(&mut self, place: Place, name: &str, format: &str, arguments: &mut [Node<'a>]) {
        let wanted = format::arguments(format);
        if wanted.len() != arguments.len() {
            if self.reports != Reports::Nothing {
                let why = format!("the format takes {} values, here {}", wanted.len(), arguments.len());
                self.program.fault(place, Trouble::Arity, name, why, vec![]);
            }
            return;
        }
        for (argument, wanted) in arguments.iter_mut().zip(wanted) {
            self.wants(argument, wanted);
        }
    }

    /// An index of an array.
    pub(super) fn index(&mut self, index: &mut Node<'a>, array: VariableId, at: usize) {
        let variable = &self.program.variables[array.0 as usize];
        let (name, Some(&sort)) = (variable.name, variable.indexes.get(at)) else { return };
        self.node(index, sort);
        match (index.sort, sort) {
            (Sort::Statistics, _) => {
                self.disagree(index.place, name, || "statistics are no index".to_owned())
            }
            (Sort::Unknown, _) => self.untyped(index.place, name),
            (found, Sort::Unknown) => {
                self.program.variables[array.0 as usize].indexes[at] = found;
                self.learnt += 1;
            }
            (found, sort) if found != sort => {
                let why = || format!("index {} is a {sort} elsewhere, here a {found}", at + 1);
                self.disagree(index.place, name, why);
            }
            _ => {}
        }
    }

    /// Merges the sort of a variable with that at one place.
    pub(super) fn variable(&mut self, id: VariableId, sort: &mut Sort, place: Place) {
        let variable = &mut self.program.variables[id.0 as usize];
        match (*sort, variable.sort) {
            (Sort::Unknown, known) => *sort = known,
            (known, Sort::Unknown) => {
                variable.sort = known;
                self.learnt += 1;
            }
            (here, elsewhere) if here != elsewhere => {
                let name = variable.name;
                self.disagree(place, name, || {
                    format!("this is a {elsewhere} elsewhere, here a {here} is wanted")
                });
            }
            _ => {}
        }
    }

    /// An expression that must have this sort.
    pub(super) fn wants(&mut self, node: &mut Node<'a>, sort: Sort) {
        self.node(node, sort);
        self.learn(&mut node.sort, sort);
        if node.sort != sort {
            self.disagree(node.place, "an argument", || {
                format!("this is a {}, a {sort} is wanted", node.sort)
            });
        }
    }
}
