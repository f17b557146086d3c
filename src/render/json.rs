//! JSON Lines: one object for each placement, with the documented fields.
use super::steps::{self, Step};
use super::{kprobe_events, lossy as text, words};
use crate::query::index::{symbols, user_object};
use crate::query::resolve::defined::Defined;
use crate::query::resolve::placement::{self, Placement};
use crate::query::spec::Filter;
use crate::query::systemtap::probe_point;
use crate::query::value::nearest_location;
use crate::query::value::reader::{Role, ValueAt};
use crate::query::verdict::blacklist::Refused;
use crate::query::verdict::mechanism::{ByMechanism, Mechanism};
use crate::query::verdict::reason::Reason;
use crate::query::verdict::{alternative, coverage};
use probeidx_format::View;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// A placement as JSON.
#[derive(Serialize)]
struct Object<'a> {
    kernel: Option<&'a str>,
    module: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<String>,
    probe: String,
    function: String,
    file: String,
    line: u32,
    instance: &'static str,
    /// `dwarf`, `btf`, `symbols`.
    rests_on: &'static str,
    section: String,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<bool>,
    inlined_into: Vec<Call>,
    symbol: Option<String>,
    offset: Option<u32>,
    symbol_unique: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collides_with: Vec<String>,
    anchor: Option<Anchor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lands: Option<String>,
    /// Whether its object is loaded in the captured kernel, and its address there.
    #[serde(skip_serializing_if = "Option::is_none")]
    loaded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_address: Option<String>,
    /// The verdict of each mechanism.
    attach: Map<&'static str>,
    /// What is not known about the undecided ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    because: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_name: Option<ByName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<Instead>,
    coverage: Coverage,
    #[serde(skip_serializing_if = "Option::is_none")]
    returns: Option<Returns>,
    vars: Vec<Variable>,
}

/// The source line that the address belongs to.
#[derive(Serialize)]
struct Source {
    file: String,
    line: u32,
    column: u32,
    is_stmt: bool,
    systemtap: bool,
}

impl From<&placement::Source<'_>> for Source {
    fn from(source: &placement::Source<'_>) -> Self {
        let placement::Source { file, line, column, is_stmt, is_systemtap: systemtap, .. } = *source;
        Self { file: text(file), line, column, is_stmt, systemtap }
    }
}

#[derive(Serialize)]
struct Call {
    function: String,
    file: String,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Anchor {
    Symbol { module: Option<String>, symbol: String, offset: u32 },
    File { path: String, offset: u64 },
}

impl From<&symbols::Anchor<'_>> for Anchor {
    fn from(anchor: &symbols::Anchor<'_>) -> Self {
        match *anchor {
            symbols::Anchor::Symbol { module, symbol, offset } => {
                Self::Symbol { module: module.map(text), symbol: text(symbol), offset }
            }
            symbols::Anchor::File { path, offset } => Self::File { path: text(path), offset },
        }
    }
}

/// What mechanisms that are given a name attach to.
#[derive(Serialize)]
struct ByName {
    name: String,
    state: &'static str,
}

/// What to do if the probe is refused: an address nearby, a mechanism, or returns of a function.
#[derive(Default, Serialize)]
struct Instead {
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<Anchor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readable: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mechanism: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_of: Option<String>,
}

impl From<&alternative::Alternative<'_>> for Instead {
    fn from(instead: &alternative::Alternative<'_>) -> Self {
        match instead {
            alternative::Alternative::At(nearby) => Self {
                address: Some(format!("{:#x}", nearby.address)),
                symbol: Some(text(nearby.symbol.0)),
                offset: Some(nearby.symbol.1),
                anchor: nearby.anchor.as_ref().map(Anchor::from),
                readable: Some(nearby.readable.clone()),
                ..Self::default()
            },
            alternative::Alternative::Mechanism(name) => Self { mechanism: Some(name), ..Self::default() },
            alternative::Alternative::BeforeLoading => {
                Self { mechanism: Some("before-loading"), ..Self::default() }
            }
            alternative::Alternative::ReturnOf(function) => {
                Self { return_of: Some(text(function)), ..Self::default() }
            }
        }
    }
}

#[derive(Serialize)]
struct Coverage {
    instances: u32,
    reachable: u32,
    out_of_line: Reached,
    inline: Reached,
    callers: u32,
    by: Map<u32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    left_out: BTreeMap<&'static str, u32>,
}

#[derive(Serialize)]
struct Reached {
    instances: u32,
    reachable: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    refused: BTreeMap<&'static str, u32>,
    #[serde(skip_serializing_if = "is_zero")]
    undecided: u32,
}

/// An ordered map of names and values.
struct Map<T>(Vec<(&'static str, T)>);

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Serialize)]
struct Returns {
    never: bool,
    tail_calls: bool,
}

#[derive(Serialize)]
pub(super) struct Variable {
    name: String,
    kind: &'static str,
    #[serde(rename = "type")]
    type_name: Option<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fetch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<Elsewhere>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passed: Option<Passed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<Step>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<String>,
}

/// The nearest address where a variable has a location, if it has none here.
#[derive(Serialize)]
struct Elsewhere {
    address: String,
    symbol: Option<String>,
    offset: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl From<&nearest_location::Elsewhere> for Elsewhere {
    fn from(e: &nearest_location::Elsewhere) -> Self {
        Self {
            address: format!("{:#x}", e.address),
            symbol: e.symbol.as_ref().map(|s| s.0.clone()),
            offset: e.symbol.as_ref().map(|s| s.1),
            file: e.line.as_ref().map(|l| l.0.clone()),
            line: e.line.as_ref().map(|l| l.1),
        }
    }
}

/// Where the calling convention passes a parameter, and whether that is confirmed.
#[derive(Serialize)]
struct Passed {
    number: u32,
    slot: String,
    proof: &'static str,
}

impl Variable {
    pub(super) fn new(view: &View<'_>, v: &ValueAt) -> Self {
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

/// Writes a range of the kernel's blacklist as one line.
pub fn refused(kernel: &str, range: &Refused<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct Object<'a> {
        kernel: &'a str,
        module: Option<String>,
        section: String,
        start: String,
        end: String,
        name: String,
        reason: &'static str,
        source: &'static str,
    }
    let object = Object {
        kernel,
        module: range.module.map(text),
        section: text(range.section),
        start: format!("{:#x}", range.start),
        end: format!("{:#x}", range.end),
        name: text(range.name),
        reason: Reason::from(range.source).name(),
        source: words::source(range.source),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

/// Writes the number of placements at which something is defined, as one line.
pub fn defined(view: &View<'_>, argument: &str, found: &Defined, out: &mut dyn Write) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct Object<'a> {
        kernel: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        process: Option<String>,
        argument: &'a str,
        defined: bool,
        places: u32,
        defined_at: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
    }
    let process = user_object::path(view).map(text);
    let object = Object {
        kernel: process.is_none().then(|| text(view.release())),
        process,
        argument,
        defined: found.everywhere(),
        places: found.places,
        defined_at: found.defined,
        why: found.why.as_deref(),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

fn reached(reached: &coverage::Reached) -> Reached {
    let coverage::Reached { total: instances, reachable, undecided, .. } = *reached;
    Reached { instances, reachable, refused: by_name(&reached.refused), undecided }
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

/// Writes a placement as one line.
pub fn placement(
    view: &View<'_>,
    kernel: &str,
    placement: &Placement<'_>,
    filter: Filter,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut probe = vec![];
    probe_point::put_placement(view, placement, filter, &mut probe);
    let Placement { verdicts, coverage, running, .. } = placement;
    let object = Object {
        kernel: placement.process.is_none().then_some(kernel),
        module: placement.module.map(text),
        process: placement.process.map(text),
        probe: text(&probe),
        function: text(placement.function),
        file: text(placement.file),
        line: placement.line,
        instance: placement.instance.name(),
        rests_on: placement.provenance.name(),
        section: text(placement.section),
        address: format!("{:#x}", placement.address),
        source: placement.source.as_ref().map(Source::from),
        best: placement.source.map(|s| s.is_best),
        inlined_into: placement
            .inlined_into
            .iter()
            .map(|c| Call { function: text(c.function), file: text(c.file), line: c.line, column: c.column })
            .collect(),
        symbol: placement.symbol.map(|s| text(s.0)),
        offset: placement.symbol.map(|s| s.1),
        symbol_unique: placement.uniqueness.unique,
        collides_with: placement
            .uniqueness
            .collides_with
            .iter()
            .filter_map(|o| Some(text(view.string(view.objects.get(o.index())?.name))))
            .chain(running.iter().flat_map(|r| r.strangers.iter().cloned()))
            .collect(),
        anchor: placement.anchor.as_ref().map(Anchor::from),
        lands: (verdicts.shift > 0)
            .then(|| format!("{:#x}", placement.address.wrapping_add(verdicts.shift.into()))),
        loaded: running.as_ref().map(|r| r.loaded),
        runtime_address: running.as_ref().and_then(|r| Some(format!("{:#x}", r.address?))),
        attach: Map(verdicts.all().map(|(name, verdict)| (name, verdict.name())).collect()),
        because: verdicts.unknown().causes().collect(),
        by_name: placement.by_name.map(|by| ByName { name: text(by.name), state: by.state.name() }),
        instead: placement.instead.as_ref().map(Instead::from),
        definition: kprobe_events::definition(placement, filter, None).ok(),
        coverage: Coverage {
            instances: coverage.instances(),
            reachable: coverage.by.any_address(),
            out_of_line: reached(&coverage.out_of_line),
            inline: reached(&coverage.inline),
            callers: coverage.callers,
            by: accepted(&coverage.by),
            left_out: by_name(&coverage.left_out),
        },
        returns: (filter == Filter::Return)
            .then_some(Returns { never: placement.returns.never, tail_calls: placement.returns.tail_calls }),
        vars: placement.values.iter().map(|v| Variable::new(view, v)).collect(),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}
