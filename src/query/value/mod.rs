//! A value at an address: how to read it, or why it cannot be read.
pub mod calling_convention;
pub(crate) mod dwarf_expr;
pub mod fetch_arg;
mod gcc_of_arm;
pub mod lifetime;
mod location;
mod lowered;
pub mod nearest_location;
pub mod parameter_list;
pub mod place;
pub mod plan;
pub mod reader;
pub mod stap_visibility;
pub(crate) mod tracefs_features;
use calling_convention::Parameter;
use nearest_location::Elsewhere;
use plan::Plan;
use probeidx_format::id::TypeId;
use std::collections::HashSet;

/// Whether a value can be read at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In a register or in memory.
    Readable,
    /// A constant.
    Constant,
    /// It has a location, but not at this address.
    Elsewhere,
    /// It has no location.
    OptimizedOut,
    /// It has a location here that cannot be fetched; the text gives the reason.
    Unsupported,
}

impl State {
    /// Whether a probe can read the value.
    pub fn is_known(self) -> bool {
        matches!(self, Self::Readable | Self::Constant)
    }
    /// The name in JSON and text.
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

/// The role of a value in the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A parameter.
    Parameter,
    /// A local variable.
    Local,
    /// The return value.
    Return,
    /// A register or another value that the kernel reads by itself.
    Raw,
    /// A field of a tracepoint's event record.
    Field,
}

/// A value at the placement's address.
#[derive(Clone, Debug)]
pub struct ValueAt {
    /// The name of the variable, or the requested argument.
    pub name: String,
    /// What kind of value it is.
    pub role: Role,
    /// The type; `None` if unknown.
    pub type_id: Option<TypeId>,
    /// The type in SystemTap's spelling; `None` if it has none.
    pub type_name: Option<String>,
    /// Whether a probe can read it.
    pub state: State,
    /// Where it is, or why it cannot be fetched.
    pub location: Option<String>,
    /// The argument of kprobe_events that reads it: `name=+0(+96(%di)):string`.
    pub fetch: Option<String>,
    /// The plan behind the fetch argument.
    pub plan: Option<Plan>,
    /// The calling convention's location, for a parameter at the entry of an out-of-line function.
    pub parameter: Option<Parameter>,
    /// The nearest address where it has a location, if it has none here.
    pub elsewhere: Option<Elsewhere>,
    /// Whether it was requested by name rather than listed with all variables.
    pub is_asked: bool,
}

impl ValueAt {
    /// A requested value that cannot be fetched.
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

/// The fetch arguments of the requested values that can be read, without duplicate names.
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
