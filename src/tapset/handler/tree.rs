//! A body with its names resolved: the relevant part of the [`ast`](super::super::ast) trees at one probe point.
use std::borrow::Cow;

use super::super::Place;
use super::super::ast::{self, Order, Type};
use super::super::context::{Absent, Detail};

/// A variable of the program: a local, a parameter or a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct VariableId(pub u32);

/// A function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FunctionId(pub u32);

/// The sort of a value in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    /// Undetermined.
    #[default]
    Unknown,
    /// A signed 64-bit number.
    Long,
    /// A text.
    String,
    /// A statistic, filled by `<<<`.
    Statistics,
}

/// The kernel type of a value, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Known {
    #[default]
    Not,
    Is(Detail),
    /// It is assigned values of several types.
    Several,
}

#[derive(Debug)]
pub(super) struct Node<'a> {
    pub place: Place,
    pub sort: Sort,
    pub known: Known,
    pub kind: Kind<'a>,
}

#[derive(Debug)]
pub(super) enum Kind<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    Variable(VariableId),
    /// `None` for `*`.
    Element {
        of: Base<'a>,
        indexes: Vec<Option<Node<'a>>>,
    },
    In {
        of: Base<'a>,
        indexes: Vec<Option<Node<'a>>>,
    },
    Call {
        name: &'a str,
        of: Vec<FunctionId>,
        arguments: Vec<Node<'a>>,
    },
    Print {
        print: &'a ast::Print,
        histogram: Option<Base<'a>>,
        arguments: Vec<Node<'a>>,
    },
    Unary {
        operator: &'static str,
        operand: Box<Node<'a>>,
    },
    /// `++` and `--`, as prefix and postfix.
    Step(Box<Node<'a>>),
    /// Not an assignment.
    Binary {
        operator: &'static str,
        sides: Box<[Node<'a>; 2]>,
    },
    Assign {
        operator: &'static str,
        sides: Box<[Node<'a>; 2]>,
    },
    Match(Box<Node<'a>>),
    /// The condition, and both values.
    Ternary(Box<[Node<'a>; 3]>),
    /// An existing kernel variable.
    Read {
        operands: Vec<Node<'a>>,
        written: bool,
        /// The variable, if it is only assumed to exist.
        assumed: Option<&'a ast::Variable>,
    },
    /// A kernel variable that does not exist here, or whose root has no known type yet. The first operand is the
    /// value whose members are read, if there is one.
    Broken {
        variable: &'a ast::Variable,
        operands: Vec<Node<'a>>,
        absent: Box<Absent>,
        written: bool,
    },
    /// An `@defined` that depends on types still unknown.
    Defined(Box<Node<'a>>),
    /// C, or another construct that is not a variable of the script. It has side effects unless `pure`.
    Foreign {
        pure: bool,
        operand: Option<Box<Node<'a>>>,
    },
    /// `@count(x)` and similar.
    Statistic(Box<Node<'a>>),
}

/// The target of an index.
#[derive(Debug)]
pub(super) enum Base<'a> {
    Array(VariableId, Place),
    /// The statistic, and the bounds of the buckets.
    Histogram(Box<Node<'a>>, Option<[i64; 3]>),
}

#[derive(Debug)]
pub(super) enum Statement<'a> {
    Nothing,
    Block(Vec<Statement<'a>>),
    Try {
        body: Box<Statement<'a>>,
        error: Option<VariableId>,
        handler: Box<Statement<'a>>,
    },
    If {
        condition: Node<'a>,
        then: Box<Statement<'a>>,
        otherwise: Box<Statement<'a>>,
    },
    For(Box<For<'a>>),
    Foreach(Box<Foreach<'a>>),
    Expression(Node<'a>),
    Return(Option<Node<'a>>, Place),
    Delete(Node<'a>),
    /// `next`, `break` and `continue`: code after them is unreachable.
    Leave,
}

#[derive(Debug)]
pub(super) struct For<'a> {
    pub before: Option<Node<'a>>,
    pub condition: Node<'a>,
    pub after: Option<Node<'a>>,
    pub body: Statement<'a>,
}

#[derive(Debug)]
pub(super) struct Foreach<'a> {
    pub value: Option<Node<'a>>,
    pub indexes: Vec<Node<'a>>,
    pub of: Base<'a>,
    pub slice: Vec<Option<Node<'a>>>,
    pub order: Option<&'a Order>,
    pub limit: Option<Node<'a>>,
    pub body: Statement<'a>,
}

impl<'a> Node<'a> {
    pub fn new(place: Place, kind: Kind<'a>) -> Self {
        let sort = match &kind {
            Kind::Number(_) => Sort::Long,
            Kind::Text(_) => Sort::String,
            _ => Sort::Unknown,
        };
        Self { place, sort, known: Known::Not, kind }
    }

    /// Visits the direct children of this node, in the order of evaluation.
    pub fn children<'n>(&'n self, visit: &mut dyn FnMut(&'n Node<'a>)) {
        match &self.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Variable(_) => {}
            Kind::Element { of, indexes } | Kind::In { of, indexes } => {
                of.histogram().into_iter().chain(indexes.iter().flatten()).for_each(visit);
            }
            Kind::Call { arguments: all, .. }
            | Kind::Read { operands: all, .. }
            | Kind::Broken { operands: all, .. } => all.iter().for_each(visit),
            Kind::Print { histogram, arguments, .. } => {
                histogram.iter().filter_map(Base::histogram).chain(arguments).for_each(visit);
            }
            Kind::Unary { operand: one, .. }
            | Kind::Step(one)
            | Kind::Match(one)
            | Kind::Defined(one)
            | Kind::Statistic(one) => visit(one),
            Kind::Binary { sides, .. } | Kind::Assign { sides, .. } => sides.iter().for_each(visit),
            Kind::Ternary(parts) => parts.iter().for_each(visit),
            Kind::Foreign { operand, .. } => operand.iter().for_each(|one| visit(one)),
        }
    }

    /// Like [`Self::children`], with mutable access.
    pub fn children_mut(&mut self, visit: &mut dyn FnMut(&mut Node<'a>)) {
        match &mut self.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Variable(_) => {}
            Kind::Element { of, indexes } | Kind::In { of, indexes } => {
                if let Base::Histogram(histogram, _) = of {
                    visit(histogram);
                }
                indexes.iter_mut().flatten().for_each(visit);
            }
            Kind::Call { arguments: all, .. }
            | Kind::Read { operands: all, .. }
            | Kind::Broken { operands: all, .. } => all.iter_mut().for_each(visit),
            Kind::Print { histogram, arguments, .. } => {
                if let Some(Base::Histogram(of, _)) = histogram {
                    visit(of);
                }
                arguments.iter_mut().for_each(visit);
            }
            Kind::Unary { operand: one, .. }
            | Kind::Step(one)
            | Kind::Match(one)
            | Kind::Defined(one)
            | Kind::Statistic(one) => visit(one),
            Kind::Binary { sides, .. } | Kind::Assign { sides, .. } => sides.iter_mut().for_each(visit),
            Kind::Ternary(parts) => parts.iter_mut().for_each(visit),
            Kind::Foreign { operand, .. } => operand.iter_mut().for_each(|one| visit(one)),
        }
    }

    /// Visits this node and every one in it, outer ones first.
    pub fn each<'n>(&'n self, visit: &mut dyn FnMut(&'n Node<'a>)) {
        visit(self);
        self.children(&mut |child| child.each(visit));
    }

    /// Like [`Self::each`], with mutable access; descends into the result of the outer visit.
    pub fn each_mut(&mut self, visit: &mut dyn FnMut(&mut Node<'a>)) {
        visit(self);
        self.children_mut(&mut |child| child.each_mut(visit));
    }
}

/// A part of a statement.
pub(super) enum Part<'s, 'a> {
    Expression(&'s mut Node<'a>),
    Statement(&'s mut Statement<'a>),
}

impl<'a> Base<'a> {
    pub fn histogram(&self) -> Option<&Node<'a>> {
        match self {
            Self::Array(..) => None,
            Self::Histogram(of, _) => Some(of),
        }
    }
}

impl<'a> Statement<'a> {
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Visits the direct parts of the statement.
    pub fn parts_mut(&mut self, visit: &mut dyn FnMut(Part<'_, 'a>)) {
        match self {
            Self::Nothing | Self::Leave | Self::Return(None, _) => {}
            Self::Block(statements) => statements.iter_mut().for_each(|s| visit(Part::Statement(s))),
            Self::Try { body, handler, .. } => {
                visit(Part::Statement(body));
                visit(Part::Statement(handler));
            }
            Self::If { condition, then, otherwise } => {
                visit(Part::Expression(condition));
                visit(Part::Statement(then));
                visit(Part::Statement(otherwise));
            }
            Self::For(parts) => {
                let For { before, condition, after, body } = &mut **parts;
                before.iter_mut().chain([condition]).chain(after).for_each(|e| visit(Part::Expression(e)));
                visit(Part::Statement(body));
            }
            Self::Foreach(parts) => {
                if let Base::Histogram(of, _) = &mut parts.of {
                    visit(Part::Expression(of));
                }
                let indexes = parts.indexes.iter_mut().chain(parts.slice.iter_mut().flatten());
                let nodes = indexes.chain(&mut parts.value).chain(&mut parts.limit);
                nodes.for_each(|e| visit(Part::Expression(e)));
                visit(Part::Statement(&mut parts.body));
            }
            Self::Expression(one) | Self::Return(Some(one), _) | Self::Delete(one) => {
                visit(Part::Expression(one))
            }
        }
    }

    /// Visits every expression in the statement, outer ones first.
    pub fn each_mut(&mut self, visit: &mut dyn FnMut(&mut Node<'a>)) {
        self.parts_mut(&mut |part| match part {
            Part::Expression(node) => node.each_mut(visit),
            Part::Statement(statement) => statement.each_mut(visit),
        });
    }

    /// Visits each whole expression of the statement and of those in it.
    pub fn expressions<'s>(&'s self, visit: &mut dyn FnMut(&'s Node<'a>)) {
        match self {
            Self::Nothing | Self::Leave | Self::Return(None, _) => {}
            Self::Block(statements) => statements.iter().for_each(|s| s.expressions(visit)),
            Self::Try { body, handler, .. } => {
                body.expressions(visit);
                handler.expressions(visit);
            }
            Self::If { condition, then, otherwise } => {
                visit(condition);
                then.expressions(visit);
                otherwise.expressions(visit);
            }
            Self::For(parts) => {
                parts.before.iter().chain([&parts.condition]).chain(&parts.after).for_each(&mut *visit);
                parts.body.expressions(visit);
            }
            Self::Foreach(parts) => {
                parts.of.histogram().into_iter().chain(&parts.indexes).for_each(&mut *visit);
                parts.slice.iter().flatten().chain(&parts.value).chain(&parts.limit).for_each(&mut *visit);
                parts.body.expressions(visit);
            }
            Self::Expression(one) | Self::Return(Some(one), _) | Self::Delete(one) => visit(one),
        }
    }
}

impl From<Type> for Sort {
    fn from(declared: Type) -> Self {
        match declared {
            Type::Long => Self::Long,
            Type::String => Self::String,
            Type::Unknown => Self::Unknown,
        }
    }
}

impl std::fmt::Display for Sort {
    /// As printed by `stap -L`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Long => "long",
            Self::String => "string",
            Self::Statistics => "stats",
        })
    }
}
