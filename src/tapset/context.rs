//! What a handler can see where it runs.
//!
//! A script is read without any kernel. What its `$variables` are is told by whoever knows the place where the
//! handler runs: an address of the kernel, a tracepoint, a timer, which has none.
use super::ast::{Type, Variable};

/// The place where a handler runs, as far as its variables are concerned.
pub trait Context {
    /// What a variable of the kernel is here, with all of its path. `of` is what is known of the value that a
    /// [`Root::Value`](super::ast::Root::Value) starts from, or that a variable index has.
    ///
    /// # Errors
    /// It does not exist here, cannot be read, or a member on its path does not exist.
    fn variable(&self, variable: &Variable, of: Option<Detail>) -> Result<Value, Absent>;

    /// Whether the handler runs where a function returns, so that it can ask for values from its entry.
    fn returns(&self) -> bool {
        false
    }

    /// Whether a variable can be written without guru mode: it is one of SystemTap's, and none of the kernel's.
    fn writable(&self, _: &Variable) -> bool {
        false
    }
}

/// A value that a variable of the kernel gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// What it is to the script: a number, or text.
    pub kind: Type,
    /// What it is to the kernel, so that members can be taken of it later.
    pub detail: Option<Detail>,
}

/// A type of the kernel, as a number that only its [`Context`] can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detail(pub u32);

/// Why there is no such variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The part of the path that fails: `$cachep`, `$s->nam`.
    pub what: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// What could be written instead.
    pub instead: Vec<String>,
}

/// A place of which no variable is known: `begin`, `timer.s(1)`.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Context for Nowhere {
    fn variable(&self, variable: &Variable, _: Option<Detail>) -> Result<Value, Absent> {
        Err(Absent {
            what: variable.to_string(),
            why: "no variable of the kernel can be read here".to_owned(),
            instead: vec![],
        })
    }
}
