//! The statements of handlers.
use serde::{Deserialize, Serialize};

use super::{Expression, Indexed, Operator};
use crate::tapset::Place;
use crate::tapset::stored::tree;

/// A statement of a handler or function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statement {
    /// The place of its first token.
    pub place: Place,
    /// Its kind, with all parts.
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
        /// The body, which may fail.
        body: Box<Statement>,
        /// The local that receives the error message.
        error: Option<String>,
        /// Runs after an error.
        handler: Box<Statement>,
    },
    /// `if (condition) … else …`.
    If {
        /// True if not 0.
        condition: Expression,
        /// Runs if true.
        then: Box<Statement>,
        /// The part after `else`.
        otherwise: Option<Box<Statement>>,
    },
    /// Including `while`, which only has a condition.
    For(Box<For>),
    /// `foreach (key in array) …`.
    Foreach(Box<Foreach>),
    /// An expression whose value is unused.
    Expression(Expression),
    /// `return`, with or without a value.
    Return(Option<Expression>),
    /// `delete array[index]`, or a whole array.
    Delete(Expression),
    /// `next`: ends the handler; in a function, tries the next one of its name.
    Next,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// A lone `;`.
    Empty,
}

/// `for (before; condition; after) …`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct For {
    /// Evaluated once, at the start.
    pub before: Option<Expression>,
    /// Evaluated before each iteration; the loop ends if it is 0.
    pub condition: Expression,
    /// Evaluated after each iteration.
    pub after: Option<Expression>,
    /// One iteration.
    pub body: Statement,
}

/// `foreach (value = [a, b+] in array[*, 1] @count- limit 10) …`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Foreach {
    /// The local that receives the value of the element.
    pub value: Option<String>,
    /// The locals that receive its indexes, one per dimension.
    pub indexes: Vec<String>,
    /// The array to iterate over.
    pub array: Indexed,
    /// `None` for `*`.
    pub slice: Vec<Option<Expression>>,
    /// `None` to use the stored order.
    pub order: Option<Order>,
    /// The maximum number of elements.
    pub limit: Option<Expression>,
    /// Runs for each element.
    pub body: Statement,
}

/// The order of `foreach`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The index to sort by, from 1; 0 is the value.
    pub column: usize,
    /// `-`: greatest first; otherwise `+`.
    pub descending: bool,
    /// `@count`, `@sum` or another statistic of the value.
    #[serde(with = "tree::statistic")]
    pub statistic: Option<Operator>,
}
