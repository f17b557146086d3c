//! What a handler does.
use serde::{Deserialize, Serialize};

use super::{Expression, Indexed, Operator};
use crate::tapset::Place;
use crate::tapset::stored::tree;

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
