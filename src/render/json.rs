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
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// An address at which a function runs, or a line starts; see [`object`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Placement"))]
pub struct Object<'a> {
    /// The release; `None` for a program or shared library.
    pub kernel: Option<Cow<'a, str>>,
    /// The module; `None` for vmlinux.
    pub module: Option<String>,
    /// The path of a program or shared library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// The probe point in SystemTap's spelling.
    pub probe: String,
    /// The function's name.
    pub function: String,
    /// The file of its declaration; empty if unknown.
    pub file: String,
    /// The line of its declaration, from 1; 0 if unknown.
    pub line: u32,
    /// The kind of place.
    pub instance: &'static str,
    /// `dwarf`, `btf`, `symbols`.
    pub rests_on: &'static str,
    /// The section's name.
    pub section: String,
    /// A link address; in a module, an offset within the section.
    pub address: Hex,
    /// The source line, if a line was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Whether it is the best address of that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<bool>,
    /// From the innermost call out to the out-of-line function.
    pub inlined_into: Vec<Call>,
    /// The symbol that holds the address.
    pub symbol: Option<String>,
    /// The offset from that symbol.
    pub offset: Option<u32>,
    /// Whether that name stands once.
    pub symbol_unique: bool,
    /// The modules that have it too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collides_with: Vec<String>,
    /// What to write to the kernel.
    pub anchor: Option<Anchor>,
    /// The address behind `endbr64`, if the probe lands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lands: Option<Hex>,
    /// Whether its object is loaded in the captured kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<bool>,
    /// Its address there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_address: Option<Hex>,
    /// The verdict of each mechanism.
    pub attach: Map<&'static str>,
    /// What is not known about the undecided ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<&'static str>,
    /// The name for mechanisms that are given one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_name: Option<ByName>,
    /// For kprobe_events, if that takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// What to do if a mechanism refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
    /// How much of its function can be reached.
    pub coverage: Coverage,
    /// How the function returns, for a return probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<Returns>,
    /// Parameters, then locals; or the requested values.
    pub vars: Vec<Variable>,
}

/// A number that is written in hexadecimal, as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hex(pub u64);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Hex {
    fn schema_name() -> Cow<'static, str> {
        "Hex".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^0x[0-9a-f]+$"})
    }
}

impl Serialize for Hex {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// The source line that the address belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// The path as the line table has it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// Whether the compiler recommends it for breakpoints.
    pub is_stmt: bool,
    /// Whether it is the one that SystemTap probes.
    pub systemtap: bool,
}

impl From<&placement::Source<'_>> for Source {
    fn from(source: &placement::Source<'_>) -> Self {
        let placement::Source { file, line, column, is_stmt, is_systemtap: systemtap, .. } = *source;
        Self { file: text(file), line, column, is_stmt, systemtap }
    }
}

/// A call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    /// The caller.
    pub function: String,
    /// The file of the call.
    pub file: String,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// What to write so that it lands on this address and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Anchor {
    /// In a kernel.
    Symbol {
        /// The module; `None` for vmlinux.
        module: Option<String>,
        /// A symbol that is unique there.
        symbol: String,
        /// The offset from it.
        offset: u32,
    },
    /// In a program or shared library.
    File {
        /// Its path.
        path: String,
        /// The offset within the file.
        offset: u64,
    },
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByName {
    /// The name.
    pub name: String,
    /// `ok`, `ambiguous`, `renamed`, `absent`.
    pub state: &'static str,
}

/// What to do if the probe is refused: an address nearby, a mechanism, or returns of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instead {
    /// An address nearby.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
    /// The symbol that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The offset from that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// What to write for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// The variables that can be read there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readable: Option<Vec<String>>,
    /// Another mechanism.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<&'static str>,
    /// A function whose returns are those of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_of: Option<String>,
}

impl From<&alternative::Alternative<'_>> for Instead {
    fn from(instead: &alternative::Alternative<'_>) -> Self {
        match instead {
            alternative::Alternative::At(nearby) => Self {
                address: Some(Hex(nearby.address)),
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

/// An ordered map of names and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map<T>(pub Vec<(&'static str, T)>);

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Map<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("MapOf{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Whether and how a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Returns {
    /// It does not.
    pub never: bool,
    /// Some exits are jumps to other functions.
    pub tail_calls: bool,
}

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

/// A range that the kernel refuses to kprobes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedRange {
    /// The release.
    pub kernel: String,
    /// The module; `None` for vmlinux.
    pub module: Option<String>,
    /// The section's name.
    pub section: String,
    /// Its first address: a link address; in a module, an offset within the section.
    pub start: Hex,
    /// The address behind its last byte.
    pub end: Hex,
    /// The function, or what the kernel calls the range.
    pub name: String,
    /// The verdict of kprobes there.
    pub reason: &'static str,
    /// What says so.
    pub source: &'static str,
}

/// Writes a range of the kernel's blacklist as one line.
pub fn refused(kernel: &str, range: &Refused<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, &refused_range(kernel, range))?;
    out.write_all(b"\n")
}

/// A range of the kernel's blacklist.
pub fn refused_range(kernel: &str, range: &Refused<'_>) -> RefusedRange {
    RefusedRange {
        kernel: kernel.to_owned(),
        module: range.module.map(text),
        section: text(range.section),
        start: Hex(range.start),
        end: Hex(range.end),
        name: text(range.name),
        reason: Reason::from(range.source).name(),
        source: words::source(range.source),
    }
}

/// At how many placements something is defined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DefinedAt<'a> {
    /// The release; `None` for a program or shared library.
    pub kernel: Option<String>,
    /// The path of a program or shared library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// What was asked, as it was written.
    pub argument: &'a str,
    /// Whether it is defined at all of them.
    pub defined: bool,
    /// The number of placements.
    pub places: u32,
    /// The number at which it is defined.
    pub defined_at: u32,
    /// Why it is not defined at the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
}

/// Writes the number of placements at which something is defined, as one line.
pub fn defined(view: &View<'_>, argument: &str, found: &Defined, out: &mut dyn Write) -> std::io::Result<()> {
    let process = user_object::path(view).map(text);
    let object = DefinedAt {
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
    serde_json::to_writer(&mut *out, &object(view, kernel, placement, filter))?;
    out.write_all(b"\n")
}

/// A placement as an object.
pub fn object<'k>(
    view: &View<'_>,
    kernel: impl Into<Cow<'k, str>>,
    placement: &Placement<'_>,
    filter: Filter,
) -> Object<'k> {
    let mut probe = vec![];
    probe_point::put_placement(view, placement, filter, &mut probe);
    let Placement { verdicts, coverage, running, .. } = placement;
    Object {
        kernel: placement.process.is_none().then(|| kernel.into()),
        module: placement.module.map(text),
        process: placement.process.map(text),
        probe: text(&probe),
        function: text(placement.function),
        file: text(placement.file),
        line: placement.line,
        instance: placement.instance.name(),
        rests_on: placement.provenance.name(),
        section: text(placement.section),
        address: Hex(placement.address),
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
        lands: (verdicts.shift > 0).then(|| Hex(placement.address.wrapping_add(verdicts.shift.into()))),
        loaded: running.as_ref().map(|r| r.loaded),
        runtime_address: running.as_ref().and_then(|r| r.address).map(Hex),
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
    }
}
