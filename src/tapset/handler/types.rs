//! Which values are numbers, which are text, and of which type of the kernel (elaborate.cxx of SystemTap 4.8,
//! `typeresolution_info`).
//!
//! All bodies of a program are gone over until nothing new is learnt. What disagrees then is said in one more round.
use std::mem;

use super::super::Place;
use super::super::ast::Root;
use super::super::context::Context;
use super::finding::Trouble;
use super::program::Program;
use super::tree::*;

/// How often a program is gone over: values that come from values that come from values cost one round each.
const ROUNDS: usize = 1000;

impl<'a> Program<'a> {
    /// Finds out what it can, without saying what is wrong.
    pub(super) fn infer(&mut self) {
        for _ in 0..ROUNDS {
            let learnt = self.round(Said::Nothing);
            let resolved = self.resolve_members();
            if learnt == 0 && !resolved && !self.answer_questions() {
                return;
            }
        }
    }

    /// Says what disagrees, for types alone, and gives whether anything does.
    pub(super) fn disagreements(&mut self) -> bool {
        for _ in 0..ROUNDS {
            if self.round(Said::Nothing) == 0 {
                break;
            }
        }
        let before = self.findings.len();
        self.round(Said::Disagreements);
        self.findings.len() > before
    }

    /// Says what is left that SystemTap would refuse.
    pub(super) fn complain(&mut self) {
        self.round(Said::All);
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

    /// Goes over everything once, and gives how much was learnt.
    fn round(&mut self, said: Said) -> usize {
        let mut learnt = 0;
        for id in 0..self.functions.len() {
            let mut body = mem::replace(&mut self.functions[id].body, Statement::Nothing);
            let reached = self.functions[id].reached;
            let said = if reached { said } else { Said::Nothing };
            let locals = self.functions[id].locals.clone();
            let mut types = Types { program: self, said, learnt: 0, function: Some(FunctionId(id as u32)) };
            types.statement(&mut body);
            types.locals(&locals);
            learnt += types.learnt;
            self.functions[id].body = body;
        }
        for id in 0..self.handlers.len() {
            let mut body = mem::replace(&mut self.handlers[id].body, Statement::Nothing);
            let mut conditions = mem::take(&mut self.handlers[id].conditions);
            let locals = self.handlers[id].found.locals.clone();
            let mut types = Types { program: self, said, learnt: 0, function: None };
            types.statement(&mut body);
            conditions.iter_mut().for_each(|condition| types.node(condition, Sort::Long));
            types.locals(&locals);
            learnt += types.learnt;
            (self.handlers[id].body, self.handlers[id].conditions) = (body, conditions);
        }
        learnt
    }

    /// Asks for members of values whose types are known by now.
    fn resolve_members(&mut self) -> bool {
        let mut resolved = false;
        // What a type has is the same everywhere.
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

    /// Takes questions for answered that nothing more will answer, and gives whether there were any.
    fn answer_questions(&mut self) -> bool {
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
                let kind = Kind::Read { operands: mem::take(operands), written: *written };
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

/// What a round says of what is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Nothing,
    Disagreements,
    All,
}

struct Types<'p, 'a> {
    program: &'p mut Program<'a>,
    said: Said,
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
                    self.disagree(place, "foreach", "only statistics can be sorted by `@count` and the like");
                }
                sort
            }
        };
        match (&mut parts.value, value) {
            (Some(node), Sort::Statistics) => {
                self.disagree(node.place, "foreach", "statistics are no value to loop over")
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
                self.disagree(
                    place,
                    "return",
                    format!("the function returns a {result} elsewhere, nothing here"),
                );
            }
            return;
        };
        self.node(value, result);
        match value.sort {
            Sort::Statistics => self.disagree(value.place, "return", "statistics cannot be returned"),
            Sort::Unknown => {}
            sort if result == Sort::Unknown => {
                result = sort;
                self.learnt += 1;
            }
            sort if sort != result => {
                self.disagree(
                    value.place,
                    "return",
                    format!("the function returns a {result} elsewhere, a {sort} here"),
                );
            }
            _ => {}
        }
        let function = &mut self.program.functions[id.0 as usize];
        function.result = result;
        if value.known != Known::Not && value.sort == result {
            self.learnt += usize::from(merge(&mut function.known, value.known));
        }
    }

    /// An expression of which a sort is expected, or `Unknown`.
    fn node(&mut self, node: &mut Node<'a>, wanted: Sort) {
        let place = node.place;
        match &mut node.kind {
            Kind::Number(_) | Kind::Text(_) => {
                let what = match &node.kind {
                    Kind::Text(text) => format!("\"{text}\""),
                    Kind::Number(number) => number.to_string(),
                    _ => String::new(),
                };
                if wanted != Sort::Unknown && wanted != node.sort {
                    self.disagree(place, &what, format!("this is a {}, a {wanted} is wanted", node.sort));
                }
            }
            Kind::Variable(id) => {
                let id = *id;
                let mut sort = if node.sort == Sort::Unknown { wanted } else { node.sort };
                let name = self.program.variables[id.0 as usize].name;
                if node.sort != Sort::Unknown && wanted != Sort::Unknown && node.sort != wanted {
                    self.disagree(place, name, format!("this is a {}, a {wanted} is wanted", node.sort));
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
                    self.disagree(place, name, format!("this is a {}, a {wanted} is wanted", node.sort));
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
                let (name, of) = (*name, of.clone());
                let mut arguments = mem::take(arguments);
                for id in of {
                    self.called(node, name, id, &mut arguments, wanted);
                }
                if let Kind::Call { arguments: empty, .. } = &mut node.kind {
                    *empty = arguments;
                }
            }
            Kind::Print { print, histogram, arguments } => {
                if let Some(Base::Histogram(of, _)) = histogram {
                    self.node(of, Sort::Statistics);
                }
                let mut unknown = false;
                match print.text.as_deref().filter(|_| print.function.contains("printf")) {
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
                        self.disagree(place, "?:", format!("this is a {}, a {sort} is wanted", node.sort));
                    }
                }
                if node.known == Known::Not && then.known == otherwise.known && then.known != Known::Not {
                    node.known = then.known;
                    self.learnt += 1;
                }
            }
            Kind::Read { operands, .. } => {
                operands.iter_mut().for_each(|operand| self.node(operand, Sort::Long));
                let sort = node.sort;
                if sort == Sort::Unknown {
                    // Something that was said to be wrong already agrees with everything.
                    self.learn(&mut node.sort, wanted);
                } else if wanted != Sort::Unknown && wanted != sort {
                    self.disagree(
                        place,
                        "a variable of the kernel",
                        format!("this is a {sort}, a {wanted} is wanted"),
                    );
                }
            }
            Kind::Broken { operands, absent, variable, .. } => {
                operands.iter_mut().for_each(|operand| self.node(operand, Sort::Long));
                if self.said == Said::All {
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
                self.disagree(side.place, operator, "statistics take values by `<<<` alone");
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

    /// One function of those that a call may run.
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
                self.disagree(place, name, format!("the function returns a {result}, a {wanted} is wanted"));
            }
            self.learn(&mut node.sort, sort);
            if sort == Sort::Statistics {
                self.disagree(place, name, "functions return no statistics");
            }
        }
        if known != Known::Not && result == node.sort && node.known != known {
            node.known = known;
            self.learnt += 1;
        }
        let parameters = self.program.functions[id.0 as usize].parameters.clone();
        for (at, (argument, parameter)) in arguments.iter_mut().zip(parameters).enumerate() {
            let takes = self.program.variables[parameter.0 as usize].sort;
            self.node(argument, takes);
            match (argument.sort, takes) {
                (Sort::Statistics, _) => {
                    self.disagree(argument.place, name, "statistics cannot be given to a function");
                }
                (Sort::Unknown, _) => self.untyped(argument.place, &format!("argument {} of {name}", at + 1)),
                (sort, Sort::Unknown) => {
                    self.program.variables[parameter.0 as usize].sort = sort;
                    self.learnt += 1;
                }
                (sort, takes) if sort != takes => {
                    let why = format!("argument {} is a {sort}, the function takes a {takes}", at + 1);
                    self.disagree(argument.place, name, why);
                }
                _ => {}
            }
        }
    }

    fn formatted(&mut self, place: Place, name: &str, format: &str, arguments: &mut [Node<'a>]) {
        let wanted = super::format::arguments(format);
        if wanted.len() != arguments.len() {
            if self.said != Said::Nothing {
                let why = format!("the format takes {} values, here are {}", wanted.len(), arguments.len());
                self.program.fault(place, Trouble::Arity, name, why, vec![]);
            }
            return;
        }
        for (argument, wanted) in arguments.iter_mut().zip(wanted) {
            self.wants(argument, wanted);
        }
    }

    /// An index of an array.
    fn index(&mut self, index: &mut Node<'a>, array: VariableId, at: usize) {
        let variable = &self.program.variables[array.0 as usize];
        let (name, Some(&sort)) = (variable.name, variable.indexes.get(at)) else { return };
        self.node(index, sort);
        match (index.sort, sort) {
            (Sort::Statistics, _) => self.disagree(index.place, name, "statistics are no index"),
            (Sort::Unknown, _) => self.untyped(index.place, name),
            (found, Sort::Unknown) => {
                self.program.variables[array.0 as usize].indexes[at] = found;
                self.learnt += 1;
            }
            (found, sort) if found != sort => {
                let why = format!("index {} is a {sort} elsewhere, here a {found}", at + 1);
                self.disagree(index.place, name, why);
            }
            _ => {}
        }
    }

    /// What is known of a variable, and of it at one place.
    fn variable(&mut self, id: VariableId, sort: &mut Sort, place: Place) {
        let variable = &mut self.program.variables[id.0 as usize];
        match (*sort, variable.sort) {
            (Sort::Unknown, known) => *sort = known,
            (known, Sort::Unknown) => {
                variable.sort = known;
                self.learnt += 1;
            }
            (here, elsewhere) if here != elsewhere => {
                let name = variable.name;
                self.disagree(
                    place,
                    name,
                    format!("this is a {elsewhere} elsewhere, here a {here} is wanted"),
                );
            }
            _ => {}
        }
    }

    /// An expression that must be of this sort.
    fn wants(&mut self, node: &mut Node<'a>, sort: Sort) {
        self.node(node, sort);
        self.learn(&mut node.sort, sort);
        if node.sort != sort {
            self.disagree(node.place, "an argument", format!("this is a {}, a {sort} is wanted", node.sort));
        }
    }

    /// The sort that an operation has.
    fn gives(&mut self, node: &mut Node<'a>, sort: Sort, wanted: Sort) {
        if wanted != Sort::Unknown && sort != Sort::Unknown && wanted != sort {
            self.disagree(node.place, "an expression", format!("this is a {sort}, a {wanted} is wanted"));
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
            self.disagree(place, operator, format!("the left side is a {left}, the right one a {right}"));
        }
    }

    fn locals(&mut self, locals: &[VariableId]) {
        for id in locals {
            let variable = &self.program.variables[id.0 as usize];
            let (name, place, sort) = (variable.name, variable.place, variable.sort);
            match sort {
                Sort::Statistics => self.disagree(place, name, "statistics must be declared as a global"),
                _ if self.said == Said::All && variable.arity.is_some_and(|arity| arity > 0) => {
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

    fn disagree(&mut self, place: Place, what: &str, why: impl Into<String>) {
        if self.said != Said::Nothing {
            self.program.fault(place, Trouble::Type, what, why, vec![]);
        }
    }

    fn untyped(&mut self, place: Place, what: &str) {
        if self.said == Said::All {
            let why = "nothing says whether it is a number or text";
            self.program.fault(place, Trouble::Untyped, what, why, vec![]);
        }
    }
}

/// Adds what is known of a value to what was known, and gives whether that changes it.
fn merge(known: &mut Known, new: Known) -> bool {
    let merged = match (*known, new) {
        (Known::Not, new) => new,
        (Known::Is(one), Known::Is(other)) if one == other => *known,
        _ => Known::Several,
    };
    mem::replace(known, merged) != merged
}
