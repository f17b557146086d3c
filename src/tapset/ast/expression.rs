//! What a handler computes, and what of the kernel it reads.
use serde::{Deserialize, Serialize};

use super::Literal;
use crate::tapset::Place;
use crate::tapset::stored::tree;

/// As it is written: one of the operators of the language, or of its statistics (`@count`).
pub type Operator = &'static str;

/// An expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expression {
    /// Of its first token, or of its operator.
    pub place: Place,
    /// What it computes, with its operands.
    #[serde(deserialize_with = "tree::deeper")]
    pub kind: ExpressionKind,
}

/// The expressions of the language.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExpressionKind {
    /// A number or a text.
    Literal(Literal),
    /// A local, global or parameter.
    Symbol(String),
    /// None for `*`.
    Index {
        /// What has the elements.
        of: Box<Indexed>,
        /// One for each dimension.
        indexes: Vec<Option<Expression>>,
    },
    /// `[a, b] in array`: 1 where there is such an element, else 0.
    In {
        /// One for each dimension; none for `*`.
        indexes: Vec<Option<Expression>>,
        /// What has the elements.
        array: Box<Indexed>,
    },
    /// `function(a, b)`.
    Call {
        /// The name, as it is written.
        function: String,
        /// In their order.
        arguments: Vec<Expression>,
    },
    /// A call of one of the printing functions.
    Print(Box<Print>),
    /// `-x`, `!x`, `~x`, `++x`, `--x`.
    Unary {
        /// As it is written before the operand.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// What it is applied to.
        operand: Box<Expression>,
    },
    /// `x++` and `x--`; before the operand they are unary.
    Postfix {
        /// `++` or `--`.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// What is changed.
        operand: Box<Expression>,
    },
    /// Also assignments.
    Binary {
        /// As it is written: `+`, `&&`, `.` of texts, `<<<` of statistics, `=`, `+=`.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// Of an assignment, what is changed.
        left: Box<Expression>,
        /// Of `&&` and `||` evaluated only if it counts.
        right: Box<Expression>,
    },
    /// `text =~ "regex"`, `text !~ "regex"`.
    Match {
        /// `=~` or `!~`.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// What is searched.
        text: Box<Expression>,
        /// In SystemTap's dialect, without the quotes.
        regex: String,
    },
    /// `condition ? then : otherwise`.
    Ternary {
        /// Holds where it is not 0.
        condition: Box<Expression>,
        /// The value where it holds.
        then: Box<Expression>,
        /// The value where it does not.
        otherwise: Box<Expression>,
    },
    /// A variable, or another thing of the kernel.
    Variable(Box<Variable>),
    /// `@defined($x)`: 1 where it can be read at the point, else 0; known when the script is compiled.
    Defined(Box<Expression>),
    /// `@entry(x)`, in a handler of a return: what it was when the function was entered.
    Entry(Box<Expression>),
    /// `@probewrite(x)`, in an alias: 1 where the handler that uses the alias assigns to the variable.
    Probewrite(String),
    /// `@perf("name")`: the value of the counter of a `perf` probe.
    Perf(String),
    /// C in place of an expression.
    Embedded(String),
    /// `@const("X")`: a constant of C.
    Constant(String),
    /// `@kregister(N)`, `@uregister(N)`.
    Register {
        /// Of the user's program, not of the kernel.
        user: bool,
        /// The register's number in DWARF.
        number: i64,
    },
    /// `@kderef(SIZE, ADDRESS)`, `@uderef(SIZE, ADDRESS)`.
    Memory {
        /// Memory of the user's program, not of the kernel.
        user: bool,
        /// How many bytes are read: 1, 2, 4 or 8.
        size: i64,
        /// Where they start.
        address: Box<Expression>,
    },
    /// `@count(x)`, `@variance(x, shift)`.
    Statistic {
        /// `@count`, `@sum` and so on.
        #[serde(with = "tree::operator")]
        operator: Operator,
        /// An element or global with statistics.
        of: Box<Expression>,
        /// By how many bits `@variance` scales up what it computes.
        shift: Option<i64>,
    },
}

/// Something of the kernel: `&$file->f_path`, `@cast(p, "inode", "kernel")->i_ino`, `@var("jiffies")`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// What it starts from.
    pub root: Root,
    /// What follows, from the left.
    pub path: Vec<Step>,
    /// `&`: its address is wanted.
    pub address_of: bool,
    /// Of its first token.
    pub place: Place,
    /// Where the outermost macro was called that wrote it.
    pub called: Option<Place>,
}

/// What a variable starts from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Root {
    /// `$file`, with its `$`; `$$parms` and the like too.
    Context(String),
    /// `@cast(value, "of", "module")`.
    Cast {
        /// The address.
        value: Box<Expression>,
        /// The type that lies there: `file`, `struct file`.
        of: String,
        /// Where the type is found: a module, `kernel`, or a header, `kernel<linux/fs.h>`.
        module: Option<String>,
    },
    /// `@var("name@file", "module")`.
    Global {
        /// With `@file` behind it, where a file is named.
        name: String,
        /// The module or program that has it.
        module: Option<String>,
    },
    /// A value whose type is to be found: `task->pid` of a local `task`.
    Value(Box<Expression>),
}

/// A step from one value to a part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    /// `->name`, which is also `.name` of C.
    Member(String),
    /// `[2]`.
    Index(i64),
    /// An index that is not a number.
    At(Box<Expression>),
    /// `$` or `$$` at the end: all of it as text.
    Pretty(String),
}

/// `printf("%d", x)`, `sprintln(x)`, `print(@hist_log(x))`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Print {
    /// Its name, `printf`.
    pub function: String,
    /// The format of `printf`, the delimiter of `printd`.
    pub text: Option<String>,
    /// `@hist_log(x)` or `@hist_linear(…)`, which `print` shows as a whole.
    pub histogram: Option<Box<Indexed>>,
    /// Without the format and the delimiter.
    pub arguments: Vec<Expression>,
}

/// What `[…]` can stand behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Indexed {
    /// A global, by its name.
    Array(String),
    /// `@hist_log(x)`, or `@hist_linear(x, low, high, width)`.
    Histogram {
        /// The element or global with statistics.
        of: Box<Expression>,
        /// The low end, the high end and the width of a bucket; none of `@hist_log`.
        bounds: Option<[i64; 3]>,
    },
}
