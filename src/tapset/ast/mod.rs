//! What a script says, after its macros and conditionals are gone.
//!
//! Trees are no deeper than the parser allows, so that walks may recurse.
mod expression;
mod statement;

pub use expression::{Expression, ExpressionKind, Indexed, Operator, Print, Root, Step, Variable};
pub use statement::{Foreach, Order, Statement, StatementKind};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Place;
use super::stored::tree;

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
