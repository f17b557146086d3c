//! The expressions of handlers, and the kernel variables that they read.
use serde::{Deserialize, Serialize};

use super::Literal;
use crate::tapset::Place;
use crate::tapset::stored::tree;

/// An operator as written, or a statistic (`@count`).
pub type Operator = &'static str;

/// An expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expression {
    /// The place of its first token, or of its operator.
    pub place: Place,
    /// Its kind, with the operands.
    #[serde(deserialize_with = "tree::deeper")]
    pub kind: ExpressionKind,
}

/// The expressions of the language.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExpressionKind {
    /// A number or a text.
    Literal(Literal),
    /// A local, global or parameter.
    Symbol(#[serde(deserialize_with = "tree::text")] String),
    /// An element of an array or histogram.
    Index {
        /// The array or histogram.
        of: Box<Indexed>,
        /// One per dimension; `None` for `*`.
        indexes: Vec<Option<Expression>>,
    },
    /// `[a, b] in array`: 1 if the element exists, else 0.
    In {
        /// One per dimension; `None` for `*`.
        indexes: Vec<Option<Expression>>,
        /// The array or histogram.
        array: Box<Indexed>,
    },
    /// `function(a, b)`.
    Call {
        /// The name as written.
        #[serde(deserialize_with = "tree::text")]
        function: String,
        /// In order.
        arguments: Vec<Expression>,
    },
    /// A call of one of the printing functions.
    Print(Box<Print>),
    /// `-x`, `!x`, `~x`, `++x`, `--x`.
    Unary {
        /// As written before the operand.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// The operand.
        operand: Box<Expression>,
    },
    /// `x++` and `x--`; in front of the operand they are unary.
    Postfix {
        /// `++` or `--`.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// The operand, which is modified.
        operand: Box<Expression>,
    },
    /// Including assignments.
    Binary {
        /// As written: `+`, `&&`, `.` of texts, `<<<` of statistics, `=`, `+=`.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// For an assignment, the target.
        left: Box<Expression>,
        /// For `&&` and `||`, evaluated only if needed.
        right: Box<Expression>,
    },
    /// `text =~ "regex"`, `text !~ "regex"`.
    Match {
        /// `=~` or `!~`.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// The text to search.
        text: Box<Expression>,
        /// In SystemTap's dialect, without the quotes.
        regex: String,
    },
    /// `condition ? then : otherwise`.
    Ternary {
        /// True if not 0.
        condition: Box<Expression>,
        /// The value if true.
        then: Box<Expression>,
        /// The value if false.
        otherwise: Box<Expression>,
    },
    /// A variable or other object of the kernel.
    Variable(Box<Variable>),
    /// `@defined($x)`: 1 if it can be read at the probe point, else 0; known at compile time.
    Defined(Box<Expression>),
    /// `@entry(x)`, in a return handler: the value at the function's entry.
    Entry(Box<Expression>),
    /// `@probewrite(x)`, in an alias: 1 if the handler that uses the alias assigns to the variable.
    Probewrite(String),
    /// `@perf("name")`: the counter of a `perf` probe.
    Perf(String),
    /// C code as an expression.
    Embedded(String),
    /// `@const("X")`: a C constant.
    Constant(String),
    /// `@kregister(N)`, `@uregister(N)`.
    Register {
        /// In the user program, not the kernel.
        user: bool,
        /// The register's DWARF number.
        number: i64,
    },
    /// `@kderef(SIZE, ADDRESS)`, `@uderef(SIZE, ADDRESS)`.
    Memory {
        /// In the user program, not the kernel.
        user: bool,
        /// The number of bytes to read: 1, 2, 4 or 8.
        size: i64,
        /// Their address.
        address: Box<Expression>,
    },
    /// `@count(x)`, `@variance(x, shift)`.
    Statistic {
        /// `@count`, `@sum` and so on.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// An element or global with statistics.
        of: Box<Expression>,
        /// The number of bits by which `@variance` scales its result.
        shift: Option<i64>,
    },
    /// `@enum("NAME")`: a constant of an enumeration of the kernel.
    Enumerator(String),
    /// `@enumname(x)`, `@enumname(x, "type", "module")`: the name of such a constant, as text.
    EnumeratorName {
        /// The constant.
        of: Box<Expression>,
        /// The enumeration, and where it is declared; without one it is the type of the value.
        named: Option<(String, Option<String>)>,
    },
}

/// A kernel object: `&$file->f_path`, `@cast(p, "inode", "kernel")->i_ino`, `@var("jiffies")`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// Its root.
    pub root: Root,
    /// Its path, from the left.
    pub path: Vec<Step>,
    /// Whether the address is wanted (`&`).
    pub address_of: bool,
    /// The place of its first token.
    pub place: Place,
    /// The place of the outermost macro call that produced it.
    pub called: Option<Place>,
}

/// The root of a kernel variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Root {
    /// `$file`, with its `$`; also `$$parms` and similar.
    Context(#[serde(deserialize_with = "tree::text")] String),
    /// `@cast(value, "of", "module")`.
    Cast {
        /// The address.
        value: Box<Expression>,
        /// The type at that address: `file`, `struct file`.
        of: String,
        /// Where the type is declared: a module, `kernel`, or a header, `kernel<linux/fs.h>`.
        module: Option<String>,
    },
    /// `@var("name@file", "module")`.
    Global {
        /// Includes `@file`, if given.
        name: String,
        /// The module or program that defines it.
        module: Option<String>,
    },
    /// A value whose type is inferred: `task->pid` for a local `task`.
    Value(Box<Expression>),
}

/// A step from a value to a part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    /// `->name`, which also covers C's `.name`.
    Member(#[serde(deserialize_with = "tree::text")] String),
    /// `[2]`.
    Index(i64),
    /// An index that is not a number.
    At(Box<Expression>),
    /// `$` or `$$` at the end: the whole value as text.
    Pretty(String),
}

/// `printf("%d", x)`, `sprintln(x)`, `print(@hist_log(x))`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Print {
    /// The name of the function, `printf`.
    #[serde(deserialize_with = "tree::text")]
    pub function: String,
    /// The format of `printf`, or the delimiter of `printd`.
    pub text: Option<String>,
    /// `@hist_log(x)` or `@hist_linear(…)`, which `print` shows in full.
    pub histogram: Option<Box<Indexed>>,
    /// The arguments, without format and delimiter.
    pub arguments: Vec<Expression>,
}

/// The target of an index in `[…]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Indexed {
    /// A global, by name.
    Array(String),
    /// `@hist_log(x)`, or `@hist_linear(x, low, high, width)`.
    Histogram {
        /// The element or global with statistics.
        of: Box<Expression>,
        /// The low end, high end and bucket width; `None` for `@hist_log`.
        bounds: Option<[i64; 3]>,
    },
}
