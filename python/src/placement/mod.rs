//! A placement as Python has it.
mod parts;

use crate::pages::Page;
use crate::placements::html;
use crate::places::{Found, Place};
use crate::record::hash;
use crate::to_python::to_python;
use probeidx::render::{json, tracepoint};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

pub use parts::{
    Alias, AliasLocal, Anchor, Call, Coverage, Elsewhere, Field, Instead, Passed, Reached, Source, Variable,
};

/// One address at which a function runs, or a tracepoint, with everything known about it. ``to_dict()`` has the documented
/// JSON of the command line.
#[pyclass(frozen, module = "probeidx")]
pub struct Placement {
    pub page: Arc<Page>,
    /// Its position there.
    pub at: usize,
    /// Whether it is among those that lead nowhere.
    pub is_nowhere: bool,
}

/// A field that placements of code and tracepoints have both.
macro_rules! either {
    ($self:ident, $place:ident => $value:expr, $nowhere:expr) => {
        match &$self.found().place {
            Place::Code($place) => $value,
            Place::Event($place) => $value,
            Place::None(_) => $nowhere,
        }
    };
}

impl Placement {
    fn found(&self) -> &Found {
        let all = if self.is_nowhere { &self.page.nowhere } else { &self.page.found };
        &all[self.at]
    }
    fn code(&self) -> Option<&json::Object<'static>> {
        match &self.found().place {
            Place::Code(place) => Some(place),
            _ => None,
        }
    }
    fn event(&self) -> Option<&tracepoint::Object<'static>> {
        match &self.found().place {
            Place::Event(place) => Some(place),
            _ => None,
        }
    }
    fn verdicts(&self) -> &[(&'static str, &'static str)] {
        either!(self, place => &place.attach.0, &[])
    }
}

#[pymethods]
impl Placement {
    /// The release of the kernel; None for a program or shared library.
    #[getter]
    fn kernel(&self) -> Option<&str> {
        match &self.found().place {
            Place::Code(place) => place.kernel.as_deref(),
            Place::Event(place) => Some(&place.kernel),
            Place::None(place) => Some(&place.kernel),
        }
    }
    /// The module, with underscores; None for vmlinux.
    #[getter]
    fn module(&self) -> Option<&str> {
        either!(self, place => place.module.as_deref(), None)
    }
    /// The path of the program or shared library.
    #[getter]
    fn process(&self) -> Option<&str> {
        self.code()?.process.as_deref()
    }
    /// The probe point in SystemTap's spelling.
    #[getter]
    fn probe(&self) -> &str {
        match &self.found().place {
            Place::Code(place) => &place.probe,
            Place::Event(place) => &place.probe,
            Place::None(place) => &place.probe,
        }
    }
    /// The function's name, or the tracepoint's.
    #[getter]
    fn function(&self) -> &str {
        either!(self, place => &place.function, "")
    }
    /// The file of the declaration; empty if unknown.
    #[getter]
    fn file(&self) -> &str {
        either!(self, place => &place.file, "")
    }
    /// The line of the declaration, from 1; 0 if unknown.
    #[getter]
    fn line(&self) -> u32 {
        either!(self, place => place.line, 0)
    }
    /// ``out-of-line``, ``inline``, ``statement``, ``tracepoint``; of an alias that leads nowhere ``none`` or ``unindexed``.
    #[getter]
    fn instance(&self) -> &'static str {
        match &self.found().place {
            Place::Code(place) => place.instance,
            Place::Event(place) => place.instance,
            Place::None(place) => place.instance,
        }
    }
    /// What describes it: ``dwarf``, ``btf``, ``symbols``.
    #[getter]
    fn rests_on(&self) -> Option<&'static str> {
        Some(self.code()?.rests_on)
    }
    /// The section's name.
    #[getter]
    fn section(&self) -> &str {
        either!(self, place => &place.section, "")
    }
    /// A link address in vmlinux; in a module, an offset within the section.
    #[getter]
    fn address(&self) -> u64 {
        either!(self, place => place.address.0, 0)
    }
    /// The source line, if one was asked for.
    #[getter]
    fn source(&self) -> Option<Source> {
        self.code()?.source.clone().map(Source)
    }
    /// Whether it is the best address for the line that was asked for.
    #[getter]
    fn best(&self) -> Option<bool> {
        self.code()?.best
    }
    /// The calls through which it is inlined, from the innermost out to the out-of-line function.
    #[getter]
    fn inlined_into(&self) -> Vec<Call> {
        self.code().map(|place| place.inlined_into.iter().cloned().map(Call).collect()).unwrap_or_default()
    }
    /// The symbol that holds the address, as the kernel prints it.
    #[getter]
    fn symbol(&self) -> Option<&str> {
        either!(self, place => place.symbol.as_deref(), None)
    }
    /// The offset from that symbol.
    #[getter]
    fn offset(&self) -> Option<u32> {
        either!(self, place => place.offset, None)
    }
    /// Whether that name stands once among vmlinux and all modules.
    #[getter]
    fn symbol_unique(&self) -> bool {
        either!(self, place => place.symbol_unique, false)
    }
    /// The modules that have the name too.
    #[getter]
    fn collides_with(&self) -> Vec<String> {
        self.code().map(|place| place.collides_with.clone()).unwrap_or_default()
    }
    /// What to write to the kernel so that it lands on this address and no other.
    #[getter]
    fn anchor(&self) -> Option<Anchor> {
        self.code()?.anchor.clone().map(Anchor)
    }
    /// The address at which the probe lands, if that is behind ``endbr64``.
    #[getter]
    fn lands(&self) -> Option<u64> {
        Some(self.code()?.lands?.0)
    }
    /// With a capture, whether its object is loaded in the running kernel.
    #[getter]
    fn loaded(&self) -> Option<bool> {
        self.code()?.loaded
    }
    /// With a capture, its address in the running kernel; None if that is not known.
    #[getter]
    fn runtime_address(&self) -> Option<u64> {
        Some(self.code()?.runtime_address?.0)
    }
    /// By mechanism, ``ok`` or the first reason that applies.
    #[getter]
    fn attach<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let verdicts = PyDict::new(py);
        self.verdicts().iter().try_for_each(|(name, verdict)| verdicts.set_item(name, verdict))?;
        Ok(verdicts)
    }
    /// Whether a mechanism takes it: ``place.takes("fentry")``.
    fn takes(&self, mechanism: &str) -> PyResult<bool> {
        match self.verdicts().iter().find(|(name, _)| *name == mechanism) {
            Some((_, verdict)) => Ok(*verdict == "ok"),
            None => Err(PyKeyError::new_err(format!("no mechanism {mechanism}"))),
        }
    }
    /// What is not known, where a verdict is ``undecided``.
    #[getter]
    fn because(&self) -> Vec<&'static str> {
        self.code().map(|place| place.because.clone()).unwrap_or_default()
    }
    /// For mechanisms that are given a name: the name, and ``ok``, ``ambiguous``, ``renamed`` or ``absent``.
    #[getter]
    fn by_name(&self) -> Option<(&str, &'static str)> {
        self.code()?.by_name.as_ref().map(|by| (&*by.name, by.state))
    }
    /// A line for ``kprobe_events``, or ``dynamic_events``; None if that does not take it.
    #[getter]
    fn definition(&self) -> Option<&str> {
        either!(self, place => place.definition.as_deref(), None)
    }
    /// What to do if a mechanism refuses it.
    #[getter]
    fn instead(&self) -> Option<Instead> {
        self.code()?.instead.clone().map(Instead)
    }
    /// How much of the function can be reached.
    #[getter]
    fn coverage(&self) -> Option<Coverage> {
        Some(Coverage(self.code()?.coverage.clone()))
    }
    /// For a return probe: whether the function never returns, and whether some exits are jumps to other functions.
    #[getter]
    fn returns(&self) -> Option<(bool, bool)> {
        self.code()?.returns.map(|returns| (returns.never, returns.tail_calls))
    }
    /// Parameters, then locals; or the values that were asked for.
    #[getter]
    fn vars(&self) -> Vec<Variable> {
        either!(self, place => place.vars.iter().cloned().map(Variable).collect(), vec![])
    }
    /// The variable of this name, or the value that was asked for in these words.
    fn var(&self, name: &str) -> PyResult<Variable> {
        let found = self.vars().into_iter().find(|variable| variable.0.name == name);
        found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
    /// Of a tracepoint, the system of its event; None without one.
    #[getter]
    fn system(&self) -> Option<&str> {
        self.event()?.system.as_deref()
    }
    /// Of a tracepoint, the fields of its event's record; None if they are not known.
    #[getter]
    fn fields(&self) -> Option<Vec<Field>> {
        Some(self.event()?.fields.as_ref()?.iter().cloned().map(Field).collect())
    }
    /// The tapset alias that led here.
    #[getter]
    fn alias(&self) -> Option<Alias> {
        self.found().alias.clone().map(Alias)
    }
    /// What ``--json`` prints of it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.found();
        let object = to_python(py, &found.place)?;
        if let Some(alias) = &found.alias {
            object.cast::<PyDict>()?.update(to_python(py, alias)?.cast::<PyDict>()?.as_mapping())?;
        }
        Ok(object)
    }
    fn __repr__(&self) -> String {
        let at = match (self.symbol(), self.offset()) {
            (Some(symbol), Some(offset)) => format!("{symbol}+{offset:#x}"),
            _ => format!("{:#x}", self.address()),
        };
        let module = self.module().map_or(String::new(), |module| format!(" [{module}]"));
        let first = if self.event().is_some() { "tracepoint" } else { "kprobe" };
        let verdict = self.verdicts().iter().find(|(name, _)| *name == first);
        let verdict = verdict.map_or(String::new(), |(name, verdict)| format!(", {name} {verdict}"));
        format!("<Placement {} {} at {at}{module}{verdict}>", self.function(), self.instance())
    }
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        html(slf.as_any(), "placement")
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.found() == other.get().found())
    }
    fn __hash__(&self) -> u64 {
        hash(&(self.kernel(), self.module(), self.section(), self.address(), self.function()))
    }
}

/// The arguments of a call as texts.
pub fn texts(words: &Bound<'_, PyTuple>) -> PyResult<Vec<String>> {
    words.iter().map(|word| word.extract()).collect()
}
