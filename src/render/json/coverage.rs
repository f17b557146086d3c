//! How much of a function can be probed.
use super::Map;
use crate::query::verdict::coverage;
use crate::query::verdict::mechanism::{ByMechanism, Mechanism};
use crate::query::verdict::reason::Reason;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many addresses a function runs at, and how many of them can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// The distinct addresses.
    pub instances: u32,
    /// Those that some mechanism reaches by address.
    pub reachable: u32,
    /// The entries.
    pub out_of_line: Reached,
    /// The inlined copies.
    pub inline: Reached,
    /// The functions that contain the copies.
    pub callers: u32,
    /// By mechanism, how many it accepts.
    pub by: Map<u32>,
    /// Copies in sections that are gone, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<&'static str, u32>,
}

/// The part of a coverage that is of entries, or of copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reached {
    /// The distinct addresses.
    pub instances: u32,
    /// Those that can be reached.
    pub reachable: u32,
    /// The others, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<&'static str, u32>,
    /// Those of which it is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub undecided: u32,
}

impl From<&coverage::Coverage> for Coverage {
    fn from(coverage: &coverage::Coverage) -> Self {
        Self {
            instances: coverage.instances(),
            reachable: coverage.by.any_address(),
            out_of_line: Reached::from(&coverage.out_of_line),
            inline: Reached::from(&coverage.inline),
            callers: coverage.callers,
            by: accepted(&coverage.by),
            left_out: by_name(&coverage.left_out),
        }
    }
}

impl From<&coverage::Reached> for Reached {
    fn from(reached: &coverage::Reached) -> Self {
        let coverage::Reached { total: instances, reachable, undecided, .. } = *reached;
        Self { instances, reachable, refused: by_name(&reached.refused), undecided }
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How many addresses each mechanism accepts, and `fentry` for both that need an ftrace site.
fn accepted(by: &ByMechanism<u32>) -> Map<u32> {
    let named = by.iter().map(|(mechanism, count)| (mechanism.name(), count));
    Map(named.chain(by.get(Mechanism::Trampoline).map(|count| (Mechanism::FENTRY, count))).collect())
}

fn by_name(counts: &[(Reason, u32)]) -> BTreeMap<&'static str, u32> {
    counts.iter().map(|(reason, n)| (reason.name(), *n)).collect()
}
