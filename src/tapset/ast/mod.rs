//! The syntax trees of scripts, after macros and conditionals.
//!
//! Trees are no deeper than the parser allows, so walks may recurse.
mod expression;
mod statement;

pub use expression::{Expression, ExpressionKind, Indexed, Operator, Print, Root, Step, Variable};
pub use statement::{For, Foreach, Order, Statement, StatementKind};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Place;
use super::stored::{Deferred, tree};

/// One file.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The number of the file, as in a [`Place`].
    pub file: u32,
    /// `probe name = point { … }`. All lists are in source order.
    pub aliases: Vec<Alias>,
    /// `probe point { … }`.
    pub probes: Vec<Probe>,
    /// `function name() { … }`.
    pub functions: Vec<Function>,
    /// `global name`.
    pub globals: Vec<Global>,
    /// C code outside of functions.
    pub embedded: Vec<Embedded>,
    /// The names of the macros that the file defines.
    pub macros: Vec<String>,
}

/// `probe name = point, point { … }`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alias {
    /// Usually one; `probe a = b = point {}` has two.
    pub names: Vec<Point>,
    /// The points that it stands for, each with its own handler.
    pub points: Vec<Point>,
    /// The rest. Of an alias in an index, it is decoded when it is first used.
    pub body: Deferred<AliasBody>,
}

/// What an alias adds to a handler, and where it is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AliasBody {
    /// Runs before the handler that uses the alias.
    pub prologue: Option<Statement>,
    /// Runs after it: the body of `+=`, or the second body of `=`.
    pub epilogue: Option<Statement>,
    /// The place of the word `probe`.
    pub place: Place,
    /// The text of its documentation comment, if any.
    pub comment: Option<String>,
}

/// `probe point, point { … }`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The points at which the body runs.
    pub points: Vec<Point>,
    /// The handler.
    pub body: Statement,
    /// The place of the word `probe`.
    pub place: Place,
}

/// `kernel.function("vfs_read").call ? if (x)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// The parts between the dots, from the left; never empty.
    pub components: Vec<Component>,
    /// `?` or `!`: it need not match.
    pub optional: bool,
    /// `!`: if it matches, the following points are not tried.
    pub sufficient: bool,
    /// `if (x)`: the handler runs only if this is not 0.
    #[serde(with = "tree::shared")]
    pub condition: Option<Arc<Expression>>,
}

/// `function("vfs_read")`. The name may contain wildcards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// The name without the argument.
    #[serde(deserialize_with = "tree::text")]
    pub name: String,
    /// The text in the parentheses.
    pub argument: Option<Literal>,
    /// The place of the name.
    pub place: Place,
}

/// A number or text, as an argument of a point, an initial value or an expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Literal {
    /// Signed, 64 bits.
    Number(i64),
    /// As written, with C's escapes, except that `\"` is `"`.
    String(#[serde(deserialize_with = "tree::text")] String),
}

/// The declared type of a function or parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Type {
    /// A signed 64-bit number.
    Long,
    /// A text; the runtime truncates it to `MAXSTRINGLEN` bytes.
    String,
    /// Not declared.
    #[default]
    Unknown,
}

/// `function name:long (parameter:string, …) { … }`, possibly `private`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// The name used in calls.
    pub name: String,
    /// Whether it is visible only in its own file.
    pub private: bool,
    /// In the order of a call.
    pub parameters: Vec<Parameter>,
    /// The type declared after the name.
    pub result: Type,
    /// Order among functions of the same name: the lowest is tried first.
    pub priority: Option<i64>,
    /// Its inferred types; handlers are checked against these.
    pub signature: Signature,
    /// The body.
    pub body: FunctionBody,
    /// The place of the name.
    pub place: Place,
    /// The text of its documentation comment, if any.
    pub comment: Option<String>,
}

/// The types of a function's parameters and result, as SystemTap infers them from its body; else as declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// One per parameter of the function.
    pub parameters: Vec<Type>,
    /// [`Type::Unknown`] for a function that returns nothing.
    pub result: Type,
}

/// The language of a function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FunctionBody {
    /// SystemTap's own language.
    Statement(Statement),
    /// C, between `%{` and `%}`.
    Embedded(Embedded),
}

/// A parameter of a function, `name:type`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameter {
    /// The name used in the body.
    pub name: String,
    /// The type after the `:`.
    pub declared: Type,
    /// The place of the name.
    pub place: Place,
}

/// `global name%[size] = value`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Global {
    /// The name used in handlers.
    pub name: String,
    /// Whether it is visible only in its own file.
    pub private: bool,
    /// `%`: a full array drops its oldest element.
    pub wraps: bool,
    /// The maximum number of elements of an array; `None` if not given.
    pub size: Option<u32>,
    /// The initial value; else 0 or the empty text.
    pub value: Option<Literal>,
    /// The place of the name.
    pub place: Place,
}

/// `%{ … %}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Embedded {
    /// The code between the brackets, as written.
    pub code: String,
    /// The place of `%{`.
    pub place: Place,
}

impl Point {
    /// The names of its components joined by dots, without arguments.
    pub fn name(&self) -> String {
        self.components.iter().map(|component| component.name.as_str()).collect::<Vec<_>>().join(".")
    }
}

impl Alias {
    /// Whether SystemTap's dump leaves it out.
    pub fn hidden(&self) -> bool {
        self.names.first().and_then(|n| n.components.first()).is_some_and(|c| c.name.starts_with('_'))
    }
}
