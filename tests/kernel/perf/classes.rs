//! The known ways in which we and perf differ; the table in the module above says why.
use super::Parameter;
use probeidx::query::value::reader::State;
use std::fmt;

/// A parameter for which two tools do not say the same.
pub struct Difference<'a> {
    pub function: &'a str,
    pub parameter: &'a Parameter,
    /// What perf fetches, if it does.
    pub theirs: Option<&'a str>,
}

impl Difference<'_> {
    /// What perf fetches, if we fetch nothing.
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
pub const CLASSES: [Class; 9] = [
    Class { name: "assigned before the first instruction", holds: |d| d.parameter.is_assigned },
    Class { name: "computed value", holds: is_computed },
    Class { name: "not yet in the frame", holds: is_not_yet_in_the_frame },
    Class { name: "cut to 64 bits", holds: is_cut },
    Class { name: "aggregate as number", holds: is_aggregate },
    Class { name: "sign of the only member", holds: is_signed_member },
    Class { name: "known from later on", holds: is_known_later },
    Class { name: "as at the entry", holds: is_entry_value },
    Class { name: "constant", holds: is_constant },
];

const STACK_VALUE: u8 = 0x9f;
const ENTRY_VALUES: [u8; 2] = [0xa3, 0xf3];

fn is_computed(difference: &Difference<'_>) -> bool {
    let is_read = difference.theirs.is_some_and(|t| t.contains('('));
    is_read && difference.parameter.operations.last() == Some(&STACK_VALUE)
}

fn is_not_yet_in_the_frame(difference: &Difference<'_>) -> bool {
    let is_slot = difference.only_theirs().is_some_and(|t| t.contains("(%sp):") || t.contains("(%bp):"));
    is_slot && difference.parameter.value.state == State::Elsewhere
}

fn is_cut(difference: &Difference<'_>) -> bool {
    difference.parameter.size > 8 && difference.only_theirs().is_some_and(|t| t.ends_with(":x64"))
}

fn is_aggregate(difference: &Difference<'_>) -> bool {
    let Parameter { value, operations, .. } = difference.parameter;
    let is_one = difference.parameter.is_aggregate && value.state == State::Readable;
    // Read from where we say that it is.
    let place = difference.only_theirs().and_then(|t| t.split(':').next());
    is_one && !operations.is_empty() && place == value.location.as_deref()
}

fn is_signed_member(difference: &Difference<'_>) -> bool {
    let unsigned = difference.parameter.fetch().map(|ours| ours.replace(":s", ":x"));
    difference.parameter.is_aggregate && unsigned.is_some() && unsigned.as_deref() == difference.theirs
}

fn is_known_later(difference: &Difference<'_>) -> bool {
    let is_register = difference.only_theirs().is_some_and(|t| t.starts_with('%'));
    is_register && difference.parameter.value.state == State::Elsewhere
}

fn is_entry_value(difference: &Difference<'_>) -> bool {
    let Parameter { value, operations, is_at_entry, .. } = difference.parameter;
    let is_one = is_of_entry(operations) || *is_at_entry && difference.parameter.is_in_register();
    is_one && difference.theirs.is_none() && value.state == State::Readable
}

/// Whether an expression says what a register held at the entry.
pub fn is_of_entry(operations: &[u8]) -> bool {
    operations.first().is_some_and(|op| ENTRY_VALUES.contains(op))
}

fn is_constant(difference: &Difference<'_>) -> bool {
    difference.theirs.is_none() && difference.parameter.value.state == State::Constant
}
