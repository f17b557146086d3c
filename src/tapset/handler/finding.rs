//! Errors and probable mistakes in a script.
use super::super::Place;

/// One error or probable mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its place in the source.
    pub place: Place,
    /// Its kind.
    pub trouble: Trouble,
    /// The expression or name, as written.
    pub what: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// Suggested replacements, the likeliest first.
    pub instead: Vec<String>,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trouble {
    /// A kernel variable that does not exist where the handler runs, or lacks a member.
    Variable,
    /// A kernel variable of which the index does not tell whether it exists where the handler runs: it is assumed to.
    Assumed,
    /// An undefined function.
    Function,
    /// A wrong number of arguments or indexes.
    Arity,
    /// An undeclared array, or another misuse of a name.
    Name,
    /// Text where a number is required, and similar.
    Type,
    /// A value whose type cannot be inferred.
    Untyped,
    /// `break` outside of a loop, or an array that changes during iteration.
    Control,
    /// A regular expression that SystemTap cannot compile.
    Regex,
    /// A feature that needs guru mode, another runtime or more privileges.
    Privilege,
    /// A name that is read but never assigned: most often a misspelling. The script still runs.
    Unassigned,
}

impl Trouble {
    /// Whether SystemTap refuses the script.
    pub fn breaks(self) -> bool {
        !matches!(self, Self::Unassigned | Self::Assumed)
    }

    /// The name in the JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Assumed => "assumed",
            Self::Function => "function",
            Self::Arity => "arity",
            Self::Name => "name",
            Self::Type => "type",
            Self::Untyped => "untyped",
            Self::Control => "control",
            Self::Regex => "regex",
            Self::Privilege => "privilege",
            Self::Unassigned => "unassigned",
        }
    }
}
