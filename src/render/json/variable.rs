//! A value that can be read at a place.
use super::Hex;
use crate::query::value::nearest_location;
use crate::query::value::reader::{Role, ValueAt};
use crate::render::steps::{self, Step};
use crate::render::words;
use probeidx_format::View;
use serde::Serialize;

/// A value that can be read at a place, or cannot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variable {
    /// The name, or the expression as it was requested.
    pub name: String,
    /// `param`, `local`, `return`, `raw`, `field`.
    pub kind: &'static str,
    /// The type as C spells it.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// `readable`, `constant`, `elsewhere`, `optimized-out`, `unsupported`.
    pub state: &'static str,
    /// Where it is, or why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// For kprobe_events, where that is correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<String>,
    /// Where it can be read instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// Where the calling convention passes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Passed>,
    /// The reads that lead to a requested value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<Step>>,
    /// The same in C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<String>,
}

/// The nearest address where a variable has a location, if it has none here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Elsewhere {
    /// The address.
    pub address: Hex,
    /// The symbol that holds it.
    pub symbol: Option<String>,
    /// The offset from that.
    pub offset: Option<u32>,
    /// The file of its source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// That line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl From<&nearest_location::Elsewhere> for Elsewhere {
    fn from(e: &nearest_location::Elsewhere) -> Self {
        Self {
            address: Hex(e.address),
            symbol: e.symbol.as_ref().map(|s| s.0.clone()),
            offset: e.symbol.as_ref().map(|s| s.1),
            file: e.line.as_ref().map(|l| l.0.clone()),
            line: e.line.as_ref().map(|l| l.1),
        }
    }
}

/// Where the calling convention passes a parameter, and whether that is confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Passed {
    /// The position, from 1.
    pub number: u32,
    /// The register or slot.
    pub slot: String,
    /// What confirms it.
    pub proof: &'static str,
}

impl Variable {
    pub(in crate::render) fn new(view: &View<'_>, v: &ValueAt) -> Self {
        let plan = v.plan.as_ref().filter(|_| v.is_asked);
        Self {
            name: v.name.clone(),
            kind: match v.role {
                Role::Parameter => "param",
                Role::Local => "local",
                Role::Return => "return",
                Role::Raw => "raw",
                Role::Field => "field",
            },
            type_name: v.type_name.clone(),
            state: v.state.name(),
            location: v.location.clone(),
            fetch: v.fetch.clone(),
            elsewhere: v.elsewhere.as_ref().map(Elsewhere::from),
            passed: v.parameter.map(|p| Passed {
                number: p.number,
                slot: words::slot(p.slot, view.machine()),
                proof: p.proof.name(),
            }),
            steps: plan.map(|plan| steps::steps(view, plan)),
            c: plan.and_then(|plan| steps::c(view, plan)),
        }
    }
}
