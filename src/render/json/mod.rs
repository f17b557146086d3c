//! JSON Lines: one object for each placement, with the documented fields.
mod coverage;
mod refused;
mod variable;

use super::{kprobe_events, lossy as text, put_json_line};
use crate::query::index::{symbols, user_object};
use crate::query::resolve::defined::Defined;
use crate::query::resolve::placement::{self, Placement};
use crate::query::spec::Filter;
use crate::query::systemtap::probe_point;
use crate::query::verdict::alternative;
pub use coverage::{Coverage, Reached};
use probeidx_format::View;
pub use refused::{RefusedRange, refused, refused_range};
use serde::Serialize;
use std::borrow::Cow;
#[cfg(feature = "schema")]
use std::collections::BTreeMap;
use std::io::Write;
pub use variable::{Elsewhere, Passed, Variable};

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
    /// Where the probe lands, if the kernel moves it: behind `endbr64`, or on ppc64le where all calls of the function lead.
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
    put_json_line(&object, out)
}

/// Writes a placement as one line.
pub fn placement(
    view: &View<'_>,
    kernel: &str,
    placement: &Placement<'_>,
    filter: Filter,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    put_json_line(&object(view, kernel, placement, filter), out)
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
        coverage: Coverage::from(&**coverage),
        returns: (filter == Filter::Return)
            .then_some(Returns { never: placement.returns.never, tail_calls: placement.returns.tail_calls }),
        vars: placement.values.iter().map(|v| Variable::new(view, v)).collect(),
    }
}
