//! A value at an address: where it is, or why it cannot be had.
pub mod calling_convention;
pub(crate) mod dwarf_expr;
pub mod fetch_arg;
mod location;
pub mod nearest_location;
pub mod plan;
pub mod reader;
pub mod stap_visibility;
pub(crate) mod tracefs_features;
use calling_convention::Parameter;
use nearest_location::Elsewhere;
use plan::Plan;
use probeidx_format::id::TypeId;
use std::collections::HashSet;

/// What can be done with a value at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In a register or in memory.
    Readable,
    /// Always this value.
    Constant,
    /// It has a location, not at this address.
    Elsewhere,
    /// It is nowhere.
    OptimizedOut,
    /// It has a location here that cannot be fetched; the text says why.
    Unsupported,
}

impl State {
    /// Whether a probe can have the value.
    pub fn is_known(self) -> bool {
        matches!(self, Self::Readable | Self::Constant)
    }
    /// As JSON and text print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Readable => "readable",
            Self::Constant => "constant",
            Self::Elsewhere => "elsewhere",
            Self::OptimizedOut => "optimized-out",
            Self::Unsupported => "unsupported",
        }
    }
}

/// What a value is to the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A parameter.
    Parameter,
    /// A variable of a block.
    Local,
    /// What it returns.
    Return,
    /// Something the kernel knows of itself.
    Raw,
    /// Of the record of a tracepoint's event.
    Field,
}

/// A value at the placement's address.
#[derive(Clone, Debug)]
pub struct ValueAt {
    /// The variable's, or the argument as it was asked for.
    pub name: String,
    /// A parameter, a local, or what the kernel knows.
    pub role: Role,
    /// Its type; none where it is not described.
    pub type_id: Option<TypeId>,
    /// In SystemTap's spelling; `None` if it has none.
    pub type_name: Option<String>,
    /// Whether a probe can have it.
    pub state: State,
    /// Where it is, or why it cannot be fetched.
    pub location: Option<String>,
    /// The argument of kprobe_events that reads it: `name=+0(+96(%di)):string`.
    pub fetch: Option<String>,
    /// The same step by step.
    pub plan: Option<Plan>,
    /// Of a parameter at the entry of an out-of-line function.
    pub parameter: Option<Parameter>,
    /// Where it is known, if it is not here.
    pub elsewhere: Option<Elsewhere>,
    /// It was asked for, and is not one of all variables.
    pub is_asked: bool,
}

impl ValueAt {
    /// What was asked for and cannot be fetched.
    pub fn unsupported(name: &str, why: String) -> Self {
        Self {
            name: name.to_owned(),
            role: Role::Local,
            type_id: None,
            type_name: None,
            state: State::Unsupported,
            location: Some(why),
            fetch: None,
            plan: None,
            parameter: None,
            elsewhere: None,
            is_asked: true,
        }
    }
}

/// The fetch arguments of what was asked for and can be read, no name twice.
pub fn arguments(values: &[ValueAt]) -> Vec<String> {
    let mut names = HashSet::new();
    let fetched = values.iter().filter(|v| v.is_asked).filter_map(|v| v.fetch.as_deref());
    fetched
        .map(|fetch| {
            let Some((name, body)) = fetch.split_once('=') else { return fetch.to_owned() };
            let numbered = (2..).map(|n| format!("{name}_{n}"));
            let free = std::iter::once(name.to_owned()).chain(numbered).find(|n| names.insert(n.clone()));
            format!("{}={body}", free.unwrap_or_default())
        })
        .collect()
}
