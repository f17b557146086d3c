//! What a handler can read at its probe point.
//!
//! Scripts are read without any kernel. A [`Context`] knows the `$variables` at the probe point of the handler: an
//! address of the kernel, a tracepoint, or a timer, which has none.
use super::ast::{Step, Type, Variable};

/// The variables at the probe point of a handler.
pub trait Context {
    /// The type of a kernel variable here, with its whole path. `of` is the detail of the value that a
    /// [`Root::Value`](super::ast::Root::Value) starts from, or of a variable index.
    ///
    /// # Errors
    /// The variable does not exist here or cannot be read, or a member on its path does not exist.
    fn variable(&self, variable: &Variable, of: Option<Detail>) -> Result<Value, Absent>;

    /// Whether a constant of an enumeration is known here, `@enum("NAME")`.
    ///
    /// # Errors
    /// It is not known.
    fn enumerator(&self, name: &str) -> Result<(), Absent> {
        let why = "constants of the kernel are known in probes of its functions and lines alone";
        Err(Absent { what: format!("@enum(\"{name}\")"), why: why.to_owned(), ..<_>::default() })
    }

    /// Whether the handler runs at a function's return, so that it can use values saved at entry.
    fn returns(&self) -> bool {
        false
    }

    /// Why a variable that is there cannot be read, or written: those of the kernel are written in guru mode alone.
    fn refusal(&self, _: &Variable, access: Access) -> Option<&'static str> {
        (access.writes && !access.guru).then_some("writing to the kernel needs guru mode (stap -g)")
    }
}

/// How a variable is used.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Whether it is assigned to; otherwise it is read.
    pub writes: bool,
    /// As with `stap -g`.
    pub guru: bool,
}

/// The value of a kernel variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its type in the script: a number or text.
    pub kind: Type,
    /// Its type in the kernel, from which members can be read later.
    pub detail: Option<Detail>,
}

/// A kernel type, as a number with meaning only to its [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detail(pub u32);

impl Detail {
    /// A type that is not in the index, as one of a program: any member is assumed to be there.
    pub const UNKNOWN: Self = Self(u32::MAX);
    /// The same, of a variable of which the index does not tell whether it is seen here: it is assumed to be.
    pub const ASSUMED: Self = Self(u32::MAX - 1);
}

impl Value {
    /// A value of a type that is not in the index: any path is assumed to be right.
    pub fn of_unknown_type(variable: &Variable) -> Self {
        match variable.path.last() {
            Some(Step::Pretty(_)) => Self { kind: Type::String, detail: None },
            _ => Self { kind: Type::Long, detail: Some(Detail::UNKNOWN) },
        }
    }
}

/// Why a variable does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// The part of the path that fails: `$cachep`, `$s->nam`.
    pub what: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// Suggested replacements.
    pub instead: Vec<String>,
}

/// A probe point without variables: `begin`, `timer.s(1)`.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Context for Nowhere {
    fn variable(&self, variable: &Variable, _: Option<Detail>) -> Result<Value, Absent> {
        Err(Absent {
            what: variable.to_string(),
            why: "no variable of the kernel can be read here".to_owned(),
            ..<_>::default()
        })
    }
}
