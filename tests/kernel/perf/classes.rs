//! The known ways in which we and perf differ; the table in the module above says why.
use super::Parameter;
use probeidx::query::variables::State;
use std::fmt;

/// A parameter for which two tools do not say the same.
pub struct Difference<'a> {
    pub function: &'a str,
    pub parameter: &'a Parameter,
    /// What perf fetches, if it does.
    pub theirs: Option<&'a str>,
}

impl Difference<'_> {
    /// What perf reads from memory, if we fetch nothing.
    fn only_theirs(&self) -> Option<&str> {
        self.theirs.filter(|_| self.parameter.fetch().is_none())
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, parameter: Parameter { value, operations, .. }, theirs } = self;
        let type_name = value.type_name.as_deref().unwrap_or_default();
        let ours = self.parameter.fetch().or(value.location.as_deref()).unwrap_or("none");
        let (name, state, theirs) = (&value.name, value.state.name(), theirs.unwrap_or("none"));
        write!(f, "{function} {name}:{type_name}: {operations:02x?}, ours {state} {ours}, perf {theirs}")
    }
}

/// A class of differences.
pub struct Class {
    pub name: &'static str,
    /// Whether a difference is of this class.
    pub holds: fn(&Difference<'_>) -> bool,
}

/// All of them; a difference is counted in the first that holds.
pub const CLASSES: [Class; 3] = [
    Class { name: "cut to 64 bits", holds: cut },
    Class { name: "a computed value as memory", holds: computed },
    Class { name: "below the stack pointer", holds: below_the_stack_pointer },
];

fn cut(difference: &Difference<'_>) -> bool {
    difference.parameter.size > 8 && difference.only_theirs().is_some_and(|t| t.ends_with(":x64"))
}

fn computed(difference: &Difference<'_>) -> bool {
    const STACK_VALUE: u8 = 0x9f;
    let is_read = difference.only_theirs().is_some_and(|t| t.contains('('));
    is_read && difference.parameter.operations.last() == Some(&STACK_VALUE)
}

fn below_the_stack_pointer(difference: &Difference<'_>) -> bool {
    let is_below = difference.only_theirs().is_some_and(|t| t.starts_with('-') && t.contains("(%sp):"));
    is_below && difference.parameter.value.state == State::Elsewhere
}
