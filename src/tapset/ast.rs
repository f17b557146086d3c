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
    /// `probe name = point { … }`, in the order of the file; so are all that follow.
    pub aliases: Vec<Alias>,
    /// `probe point { … }`.
    pub probes: Vec<Probe>,
    /// `function name() { … }`.
    pub functions: Vec<Function>,
    /// `global name`.
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
    /// What it stands for: all of them, each with its own handler.
    pub points: Vec<Point>,
    /// What runs before the handler that uses the alias.
    pub prologue: Option<Statement>,
    /// What runs behind it: the body of `+=`, or the second one of `=`.
    pub epilogue: Option<Statement>,
    /// Of the word `probe`.
    pub place: Place,
    /// The text of the comment that documents it, if there is one.
    pub comment: Option<String>,
}

/// `probe point, point { … }`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The points at which the body runs.
    pub points: Vec<Point>,
    /// The handler.
    pub body: Statement,
    /// Of the word `probe`.
    pub place: Place,
}

/// `kernel.function("vfs_read").call ? if (x)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// What stands between the dots, from the left; never empty.
    pub components: Vec<Component>,
    /// `?` or `!`: it is no error if nothing matches.
    pub optional: bool,
    /// `!`: if it matches, the points behind it are not tried.
    pub sufficient: bool,
    /// `if (x)`: the handler runs only where this is not 0.
    #[serde(with = "tree::shared")]
    pub condition: Option<Arc<Expression>>,
}

/// `function("vfs_read")`. The name may hold wildcards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// Without the argument.
    pub name: String,
    /// What stands in the parentheses.
    pub argument: Option<Literal>,
    /// Of the name.
    pub place: Place,
}

/// A number or a text, as arguments of points, initial values and expressions have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Literal {
    /// 64 bits, signed.
    Number(i64),
    /// As it is written, with C's escapes, but `\"` as `"`.
    String(String),
}

/// What a function or parameter is declared as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Type {
    /// A signed number of 64 bits.
    Long,
    /// A text; the runtime cuts it off behind `MAXSTRINGLEN` bytes.
    String,
    /// Not declared.
    #[default]
    Unknown,
}

/// `function name:long (parameter:string, …) { … }`, `private` before it or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// As handlers call it.
    pub name: String,
    /// Only for the file that declares it.
    pub private: bool,
    /// In the order in which a call has them.
    pub parameters: Vec<Parameter>,
    /// What is declared, behind the name.
    pub result: Type,
    /// Which of several functions of the name is tried first; the lowest.
    pub priority: Option<i64>,
    /// What is known of its types; handlers are checked with these.
    pub signature: Signature,
    /// What a call runs.
    pub body: FunctionBody,
    /// Of the name.
    pub place: Place,
    /// The text of the comment that documents it, if there is one.
    pub comment: Option<String>,
}

/// What a function takes and gives, as SystemTap infers it from its body; else what is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// As many as the function has parameters.
    pub parameters: Vec<Type>,
    /// [`Type::Unknown`] of a function that returns nothing.
    pub result: Type,
}

/// In which language a function is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FunctionBody {
    /// SystemTap's own.
    Statement(Statement),
    /// C, between `%{` and `%}`.
    Embedded(Embedded),
}

/// A parameter of a function, `name:type`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameter {
    /// As the body names it.
    pub name: String,
    /// What stands behind the `:`.
    pub declared: Type,
    /// Of the name.
    pub place: Place,
}

/// `global name%[size] = value`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Global {
    /// As handlers name it.
    pub name: String,
    /// Only for the file that declares it.
    pub private: bool,
    /// `%`: a full array forgets its oldest element.
    pub wraps: bool,
    /// How many elements an array may have; none where it is not said.
    pub size: Option<u32>,
    /// What it is before the first probe runs; else 0 or the empty text.
    pub value: Option<Literal>,
    /// Of the name.
    pub place: Place,
}

/// `%{ … %}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Embedded {
    /// What stands between the brackets, as it is written.
    pub code: String,
    /// Of `%{`.
    pub place: Place,
}

/// A statement of a handler or function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statement {
    /// Of its first token.
    pub place: Place,
    /// What it does, with all that belongs to it.
    #[serde(deserialize_with = "tree::deeper")]
    pub kind: StatementKind,
}

/// The statements of the language.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StatementKind {
    /// `{ … }`.
    Block(Vec<Statement>),
    /// `try { … } catch (error) { … }`.
    Try {
        /// What may fail.
        body: Box<Statement>,
        /// The local that gets the message of the error.
        error: Option<String>,
        /// What runs after an error.
        handler: Box<Statement>,
    },
    /// `if (condition) … else …`.
    If {
        /// Holds where it is not 0.
        condition: Expression,
        /// Where it holds.
        then: Box<Statement>,
        /// Behind `else`.
        otherwise: Option<Box<Statement>>,
    },
    /// Also `while`, which has a condition alone.
    For {
        /// Evaluated once, at the start.
        before: Option<Expression>,
        /// Evaluated before each turn; the loop ends where it is 0.
        condition: Expression,
        /// Evaluated behind each turn.
        after: Option<Expression>,
        /// One turn.
        body: Box<Statement>,
    },
    /// `foreach (key in array) …`.
    Foreach(Box<Foreach>),
    /// An expression whose value nobody takes.
    Expression(Expression),
    /// `return`, with a value or without.
    Return(Option<Expression>),
    /// `delete array[index]`, or all of an array.
    Delete(Expression),
    /// `next`: the handler ends; in a function, the next one of its name is tried.
    Next,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `;` alone.
    Empty,
}

/// `foreach (value = [a, b+] in array[*, 1] @count- limit 10) …`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Foreach {
    /// The local that gets the value of the element.
    pub value: Option<String>,
    /// The locals that get its indexes, one for each dimension.
    pub indexes: Vec<String>,
    /// What is gone through.
    pub array: Indexed,
    /// None for `*`.
    pub slice: Vec<Option<Expression>>,
    /// None where the elements come as they are kept.
    pub order: Option<Order>,
    /// How many elements at most.
    pub limit: Option<Expression>,
    /// What runs for each element.
    pub body: Statement,
}

/// In which order `foreach` goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// By which index, from 1; 0 is the value.
    pub column: usize,
    /// `-`: the greatest first; `+` else.
    pub descending: bool,
    /// `@count`, `@sum` and so on of the value.
    #[serde(with = "tree::statistic")]
    pub statistic: Option<Operator>,
}

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
