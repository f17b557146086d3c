//! What is wrong with a script, or at least not as it was meant.
use super::super::Place;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where it is written.
    pub place: Place,
    /// Of what kind it is.
    pub trouble: Trouble,
    /// The expression or name, as it is written.
    pub what: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// What could be written instead, the likeliest first.
    pub instead: Vec<String>,
}

/// Of which kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trouble {
    /// A variable of the kernel that does not exist where the handler runs, or lacks a member.
    Variable,
    /// A function that nothing defines.
    Function,
    /// A number of arguments or indexes that does not fit.
    Arity,
    /// An array that nothing declares, and other misuse of names.
    Name,
    /// Text where a number is wanted, and the like.
    Type,
    /// A value of which nothing says what it is.
    Untyped,
    /// `break` outside of a loop, an array that changes while a loop goes over it.
    Control,
    /// What needs guru mode, another runtime or more privileges.
    Privilege,
    /// A name that is read but never given a value: most often a misspelled one. The script runs.
    Unassigned,
}

impl Trouble {
    /// Whether SystemTap refuses the script.
    pub fn breaks(self) -> bool {
        self != Self::Unassigned
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Function => "function",
            Self::Arity => "arity",
            Self::Name => "name",
            Self::Type => "type",
            Self::Untyped => "untyped",
            Self::Control => "control",
            Self::Privilege => "privilege",
            Self::Unassigned => "unassigned",
        }
    }
}
