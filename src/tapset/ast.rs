//! What a script says, after its macros and conditionals are gone.
//!
//! Trees are no deeper than the parser allows, so that walks may recurse.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Place;
use super::stored::tree;

/// As it is written: one of the operators of the language, or of its statistics (`@count`).
pub type Operator = &'static str;

/// One file.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Which file, as a [`Place`] counts.
    pub file: u32,
    pub aliases: Vec<Alias>,
    pub probes: Vec<Probe>,
    pub functions: Vec<Function>,
    pub globals: Vec<Global>,
    /// C that stands outside of functions.
    pub embedded: Vec<Embedded>,
    /// The names that the file defines macros for.
    pub macros: Vec<String>,
}

/// `probe name = point, point { … }`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alias {
    /// Usually one: `probe a = b = point {}` has two.
    pub names: Vec<Point>,
    pub points: Vec<Point>,
    /// What runs before the handler that uses the alias.
    pub prologue: Option<Statement>,
    /// What runs behind it: the body of `+=`, or the second one of `=`.
    pub epilogue: Option<Statement>,
    pub place: Place,
    pub comment: Option<String>,
}

/// `probe point, point { … }`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe {
    pub points: Vec<Point>,
    pub body: Statement,
    pub place: Place,
}

/// `kernel.function("vfs_read").call ? if (x)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    pub components: Vec<Component>,
    /// `?` or `!`: it is no error if nothing matches.
    pub optional: bool,
    /// `!`: if it matches, the points behind it are not tried.
    pub sufficient: bool,
    #[serde(with = "tree::shared")]
    pub condition: Option<Arc<Expression>>,
}

/// `function("vfs_read")`. The name may hold wildcards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    pub name: String,
    pub argument: Option<Literal>,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Literal {
    Number(i64),
    /// As it is written, with C's escapes, but `\"` as `"`.
    String(String),
}

/// What a function or parameter is declared as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Type {
    Long,
    String,
    /// Not declared.
    #[default]
    Unknown,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    pub name: String,
    /// Only for the file that declares it.
    pub private: bool,
    pub parameters: Vec<Parameter>,
    pub result: Type,
    /// Which of several functions of the name is tried first; the lowest.
    pub priority: Option<i64>,
    pub signature: Signature,
    pub body: FunctionBody,
    pub place: Place,
    pub comment: Option<String>,
}

/// What a function takes and gives, as SystemTap infers it from its body; else what is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub parameters: Vec<Type>,
    pub result: Type,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FunctionBody {
    Statement(Statement),
    Embedded(Embedded),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    pub declared: Type,
    pub place: Place,
}

/// `global name%[size] = value`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Global {
    pub name: String,
    pub private: bool,
    /// `%`: a full array forgets its oldest element.
    pub wraps: bool,
    pub size: Option<u32>,
    pub value: Option<Literal>,
    pub place: Place,
}

/// `%{ … %}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Embedded {
    pub code: String,
    pub place: Place,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statement {
    pub place: Place,
    #[serde(deserialize_with = "tree::deeper")]
    pub kind: StatementKind,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StatementKind {
    Block(Vec<Statement>),
    Try {
        body: Box<Statement>,
        error: Option<String>,
        handler: Box<Statement>,
    },
    If {
        condition: Expression,
        then: Box<Statement>,
        otherwise: Option<Box<Statement>>,
    },
    /// Also `while`, which has a condition alone.
    For {
        before: Option<Expression>,
        condition: Expression,
        after: Option<Expression>,
        body: Box<Statement>,
    },
    Foreach(Box<Foreach>),
    Expression(Expression),
    Return(Option<Expression>),
    Delete(Expression),
    Next,
    Break,
    Continue,
    Empty,
}

/// `foreach (value = [a, b+] in array[*, 1] @count- limit 10) …`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Foreach {
    pub value: Option<String>,
    pub indexes: Vec<String>,
    pub array: Indexed,
    /// None for `*`.
    pub slice: Vec<Option<Expression>>,
    pub order: Option<Order>,
    pub limit: Option<Expression>,
    pub body: Statement,
}

/// In which order `foreach` goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// By which index, from 1; 0 is the value.
    pub column: usize,
    pub descending: bool,
    /// `@count`, `@sum` and so on of the value.
    #[serde(with = "tree::statistic")]
    pub statistic: Option<Operator>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expression {
    pub place: Place,
    #[serde(deserialize_with = "tree::deeper")]
    pub kind: ExpressionKind,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExpressionKind {
    Literal(Literal),
    /// A local, global or parameter.
    Symbol(String),
    /// None for `*`.
    Index {
        of: Box<Indexed>,
        indexes: Vec<Option<Expression>>,
    },
    In {
        indexes: Vec<Option<Expression>>,
        array: Box<Indexed>,
    },
    Call {
        function: String,
        arguments: Vec<Expression>,
    },
    Print(Box<Print>),
    Unary {
        #[serde(with = "tree::operator")]
        operator: Operator,
        operand: Box<Expression>,
    },
    /// `x++` and `x--`; before the operand they are unary.
    Postfix {
        #[serde(with = "tree::operator")]
        operator: Operator,
        operand: Box<Expression>,
    },
    /// Also assignments.
    Binary {
        #[serde(with = "tree::operator")]
        operator: Operator,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// `text =~ "regex"`, `text !~ "regex"`.
    Match {
        #[serde(with = "tree::operator")]
        operator: Operator,
        text: Box<Expression>,
        regex: String,
    },
    Ternary {
        condition: Box<Expression>,
        then: Box<Expression>,
        otherwise: Box<Expression>,
    },
    Variable(Box<Variable>),
    Defined(Box<Expression>),
    Entry(Box<Expression>),
    Probewrite(String),
    Perf(String),
    /// C in place of an expression.
    Embedded(String),
    /// `@const("X")`: a constant of C.
    Constant(String),
    /// `@kregister(N)`, `@uregister(N)`.
    Register {
        user: bool,
        number: i64,
    },
    /// `@kderef(SIZE, ADDRESS)`, `@uderef(SIZE, ADDRESS)`.
    Memory {
        user: bool,
        size: i64,
        address: Box<Expression>,
    },
    /// `@count(x)`, `@variance(x, shift)`.
    Statistic {
        #[serde(with = "tree::operator")]
        operator: Operator,
        of: Box<Expression>,
        shift: Option<i64>,
    },
}

/// Something of the kernel: `&$file->f_path`, `@cast(p, "inode", "kernel")->i_ino`, `@var("jiffies")`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variable {
    pub root: Root,
    pub path: Vec<Step>,
    /// `&`: its address is wanted.
    pub address_of: bool,
    pub place: Place,
    /// Where the outermost macro was called that wrote it.
    pub called: Option<Place>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Root {
    /// `$file`, with its `$`; `$$parms` and the like too.
    Context(String),
    Cast {
        value: Box<Expression>,
        of: String,
        module: Option<String>,
    },
    /// `@var("name@file", "module")`.
    Global {
        name: String,
        module: Option<String>,
    },
    /// A value whose type is to be found: `task->pid` of a local `task`.
    Value(Box<Expression>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    Member(String),
    Index(i64),
    /// An index that is not a number.
    At(Box<Expression>),
    /// `$` or `$$` at the end: all of it as text.
    Pretty(String),
}

/// `printf("%d", x)`, `sprintln(x)`, `print(@hist_log(x))`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Print {
    pub function: String,
    /// The format of `printf`, the delimiter of `printd`.
    pub text: Option<String>,
    pub histogram: Option<Box<Indexed>>,
    pub arguments: Vec<Expression>,
}

/// What `[…]` can stand behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Indexed {
    Array(String),
    /// `@hist_log(x)`, or `@hist_linear(x, low, high, width)`.
    Histogram {
        of: Box<Expression>,
        bounds: Option<[i64; 3]>,
    },
}

impl Point {
    /// The names of its components with dots between them, without arguments.
    pub fn name(&self) -> String {
        self.components.iter().map(|component| component.name.as_str()).collect::<Vec<_>>().join(".")
    }
}

impl Alias {
    /// Whether the dump of SystemTap leaves it out.
    pub fn hidden(&self) -> bool {
        self.names.first().and_then(|n| n.components.first()).is_some_and(|c| c.name.starts_with('_'))
    }
}
