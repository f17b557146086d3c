//! What is at addresses, and in the frames of logs.
use crate::failure::{Answer, usage};
use crate::kernel::Kernel;
use crate::live::Live;
use crate::placements::html;
use crate::record::{hash, position, record};
use crate::to_python::to_python;
use probeidx::cli::addr::loaded as given;
use probeidx::cli::args;
use probeidx::query::index::functions;
use probeidx::query::index::has_build_id;
use probeidx::query::runtime::address_map::Loaded;
use probeidx::query::spec::address;
use probeidx::query::symbolize::frames::{Cursor, Ground, Where};
use probeidx::query::symbolize::locate::{Absent, locate};
use probeidx::query::symbolize::log::{self, Frame, Header, Reader, Role};
use probeidx::query::symbolize::log_decoder::Decoder;
use probeidx::render::{address as render, frame};
use probeidx_format::View;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySlice, PyString, PyTuple};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Longer lines of a log are passed through unchanged, as by the command line.
const LONGEST: usize = 64 << 10;

/// A place that an address means, or why it means none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Spot {
    Known(Box<render::Object<'static>>),
    Absent(render::AbsentObject<'static>),
}

/// An answer, with the line of the log that it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    log_line: Option<u64>,
    #[serde(flatten)]
    spot: Spot,
}

/// Addresses as they were written: numbers and texts.
///
/// # Errors
/// A `TypeError` for anything else.
pub fn written(addresses: &Bound<'_, PyTuple>) -> PyResult<Vec<String>> {
    let one = |address: Bound<'_, PyAny>| match address.extract::<u64>() {
        Ok(number) => Ok(format!("{number:#x}")),
        Err(_) => address.extract::<String>(),
    };
    addresses.iter().map(one).collect()
}

/// Where the kernel lies, if that is given.
pub struct Moved<'l> {
    /// The address of `_text`.
    pub base: Option<u64>,
    /// A copy of `/proc/kallsyms`.
    pub kallsyms: Option<PathBuf>,
    /// A capture.
    pub live: Option<&'l Live>,
}

impl Moved<'_> {
    fn loaded(self, kernel: &Arc<Kernel>) -> Answer<Option<Loaded>> {
        match self {
            Self { base: None, kallsyms: None, live: None } => Ok(None),
            Self { base: None, kallsyms: None, live: Some(live) } => {
                Ok(Some(live.over(kernel)?.loaded().clone()))
            }
            Self { base: Some(_), kallsyms: None, live: None } | Self { base: None, live: None, .. } => {
                let Self { base, kallsyms, .. } = self;
                kernel.ask(|view| Ok(Some(given(view, &args::Loaded { base, kallsyms, live: None })?)))
            }
            _ => Err(usage("base, kallsyms and live exclude each other", "give one of them")),
        }
    }
}

/// What is at each address.
///
/// # Errors
/// [`Failure`](crate::failure::Failure) of usage for what is no address.
pub fn locations(kernel: &Arc<Kernel>, addresses: &[String], moved: Moved<'_>) -> Answer<Locations> {
    if let Some(wrong) = addresses.iter().find(|text| address::parse(text.as_bytes()).is_none()) {
        let remedy = "write 0xADDRESS, SYMBOL+OFFSET or MODULE:SYMBOL+OFFSET";
        return Err(usage(format!("'{wrong}' is no address"), remedy));
    }
    let loaded = moved.loaded(kernel)?;
    kernel.ask(|view| {
        let loaded = loaded.unwrap_or_else(|| Loaded::moved_by(view, 0));
        let mut cursor = Cursor::new(view);
        let mut found = vec![];
        for text in addresses {
            let asked = text.as_bytes();
            let parsed = address::parse(asked).ok_or(Absent::Unreadable);
            match parsed.and_then(|address| locate(view, &address, &loaded)) {
                Ok(spots) => {
                    for (nth, (object, pc)) in spots.iter().enumerate() {
                        let of = (nth + 1, spots.len());
                        found.push(known(view, kernel, asked, of, true, cursor.at(*object, *pc)));
                    }
                }
                Err(why) => found.push(absent(kernel, asked, &why)),
            }
        }
        Ok(Locations(Arc::new(found.into_iter().map(|spot| Found { log_line: None, spot }).collect())))
    })
}

fn known(
    view: &View<'_>,
    kernel: &Kernel,
    asked: &[u8],
    of: render::Candidate,
    exact: bool,
    at: &Where<'_>,
) -> Spot {
    let release = kernel.release();
    let context = render::Context { kernel: release, asked, of, exact };
    Spot::Known(Box::new(render::object(view, release.to_owned(), context, at)))
}

fn absent(kernel: &Kernel, asked: &[u8], why: &Absent) -> Spot {
    Spot::Absent(render::absent_object(kernel.release().to_owned(), asked, why))
}

/// A log: text, or bytes as they come from a file.
///
/// # Errors
/// A `TypeError` for anything else.
pub fn log_of(log: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = log.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned().into_bytes());
    }
    match log.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
        Err(_) => Err(PyTypeError::new_err("a log is str or bytes")),
    }
}

/// The frames of a log of this kernel.
///
/// # Errors
/// Those of the index; [`Failure`](crate::failure::Failure) of usage for a base that is none.
pub fn decode(kernel: &Arc<Kernel>, log: &[u8], moved: Moved<'_>) -> Answer<Decoded> {
    let loaded = moved.loaded(kernel)?;
    kernel.ask(|view| {
        let mut decoder = Decoder::new(view, loaded, &[]);
        let mut reader = Reader::default();
        let mut cursor = Cursor::new(view);
        let (mut found, mut text) = (vec![], Vec::with_capacity(log.len() * 2));
        // Frames of another build of the kernel stay as they are.
        let mut is_other = false;
        for (line, number) in log.split_inclusive(|b| *b == b'\n').zip(1..) {
            let (line, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |line| (line, b"\n"));
            let mut frames = vec![];
            if line.len() <= LONGEST {
                match log::header(&line[log::start(line)..]) {
                    Some(Header::Booted(_)) => decoder.forget(),
                    Some(Header::Slide(slide)) => decoder.moved_by(slide),
                    Some(Header::Release(_, Some(id))) => {
                        is_other = functions::kernel(view).is_some_and(|k| !has_build_id(view, k, id));
                    }
                    Some(Header::Release(_, None)) | None => {}
                }
                reader.frames(line, &mut frames);
            }
            let start = log::start(line);
            let content = start + line[start..].len() - line[start..].trim_ascii_start().len();
            let (mut at, mut below) = (0, vec![]);
            for one in frames.iter().filter(|_| !is_other) {
                let places = match decoder.locate(one) {
                    Ok(located) => {
                        let places = places(&mut cursor, one, &located.spots, located.exact);
                        for (nth, place) in places.iter().enumerate() {
                            let of = (nth + 1, places.len());
                            let spot = known(view, kernel, one.text, of, located.exact, place);
                            found.push(Found { log_line: Some(number), spot });
                        }
                        places
                    }
                    Err(why) => {
                        let spot = absent(kernel, one.text, &why);
                        found.push(Found { log_line: Some(number), spot });
                        continue;
                    }
                };
                text.extend_from_slice(&line[at..one.end]);
                at = one.end;
                frame::behind(one.role, &places, &mut text);
                if let ([place], false) = (&places[..], one.role == Role::Function) {
                    frame::lines(place, &mut below);
                }
            }
            text.extend_from_slice(&line[at..]);
            for below in below.split(|b| *b == b'\n').skip(1) {
                text.push(b'\n');
                text.extend_from_slice(&line[..content]);
                text.extend_from_slice(below);
            }
            text.extend_from_slice(end);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Decoded { frames: Arc::new(found), text })
    })
}

/// What is at the places of a frame.
fn places<'a>(
    cursor: &mut Cursor<'a>,
    frame: &Frame<'_>,
    spots: &[(probeidx_format::id::ObjectId, u32)],
    exact: bool,
) -> Vec<Where<'a>> {
    if let (&[(object, pc)], Role::Unreliable, false) = (spots, frame.role, exact) {
        // The kernel prints a function pointer like a return address at the end of the padding before the function
        // (`%pB`).
        if cursor.at(object, pc).ground != Ground::Code {
            let behind = cursor.at(object, pc.saturating_add(1));
            if behind.symbol.is_some_and(|(held, _)| held.offset == 0) {
                return vec![behind.clone()];
            }
        }
    }
    spots.iter().map(|(object, pc)| cursor.at(*object, *pc).clone()).collect()
}

/// What is at addresses, in their order; of one that can mean several places, each.
#[pyclass(frozen, sequence, module = "probeidx")]
pub struct Locations(Arc<Vec<Found>>);

#[pymethods]
impl Locations {
    fn __len__(&self) -> usize {
        self.0.len()
    }
    fn __getitem__<'py>(&self, py: Python<'py>, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let one = |at: usize| Location { all: Arc::clone(&self.0), at };
        if let Ok(slice) = at.cast::<PySlice>() {
            let span = slice.indices(self.0.len() as isize)?;
            let nth = (0..span.slicelength as isize).map(|nth| one((span.start + nth * span.step) as usize));
            return nth.collect::<Vec<_>>().into_bound_py_any(py);
        }
        match position(at.extract()?, self.0.len()) {
            Some(at) => one(at).into_bound_py_any(py),
            None => Err(PyIndexError::new_err(format!("there are {} places", self.0.len()))),
        }
    }
    /// The position of the first place that is equal.
    fn index(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        crate::record::index(slf.as_any(), value)
    }
    /// How many are equal.
    fn count(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        crate::record::count(slf.as_any(), value)
    }
    fn __repr__(&self) -> String {
        format!("<Locations: {}>", self.0.len())
    }
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        html(slf.as_any(), "locations")
    }
}

/// A log with what its frames mean.
#[pyclass(frozen, module = "probeidx")]
pub struct Decoded {
    frames: Arc<Vec<Found>>,
    text: String,
}

#[pymethods]
impl Decoded {
    /// The log with functions and lines added to its frames, as ``probeidx decode`` prints it.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }
    /// What each frame means.
    #[getter]
    fn frames(&self) -> Locations {
        Locations(Arc::clone(&self.frames))
    }
    fn __str__(&self) -> &str {
        &self.text
    }
    fn __repr__(&self) -> String {
        format!("<Decoded: {} frames>", self.frames.len())
    }
}

/// What is at an address. It is true if there is code.
#[pyclass(frozen, module = "probeidx")]
pub struct Location {
    all: Arc<Vec<Found>>,
    at: usize,
}

impl Location {
    fn found(&self) -> &Found {
        &self.all[self.at]
    }
    fn known(&self) -> Option<&render::Object<'static>> {
        match &self.found().spot {
            Spot::Known(known) => Some(known),
            Spot::Absent(_) => None,
        }
    }
}

#[pymethods]
impl Location {
    /// The release of the kernel.
    #[getter]
    fn kernel(&self) -> Option<&str> {
        match &self.found().spot {
            Spot::Known(known) => known.kernel.as_deref(),
            Spot::Absent(absent) => absent.kernel.as_deref(),
        }
    }
    /// The address as it was asked for.
    #[getter]
    fn asked(&self) -> &str {
        match &self.found().spot {
            Spot::Known(known) => &known.asked,
            Spot::Absent(absent) => &absent.asked,
        }
    }
    /// Of a frame, the line of the log, from 1.
    #[getter]
    fn log_line(&self) -> Option<u64> {
        self.found().log_line
    }
    /// The module, with underscores; None for vmlinux.
    #[getter]
    fn module(&self) -> Option<&str> {
        self.known()?.module.as_deref()
    }
    /// The path of the program or shared library.
    #[getter]
    fn process(&self) -> Option<&str> {
        self.known()?.process.as_deref()
    }
    /// The link address in vmlinux; in a module, the offset within the section. None if it means nothing here.
    #[getter]
    fn address(&self) -> Option<u64> {
        Some(self.known()?.address.0)
    }
    /// The symbol that the kernel prints for it.
    #[getter]
    fn symbol(&self) -> Option<&str> {
        self.known()?.symbol.as_deref()
    }
    /// The offset from that.
    #[getter]
    fn offset(&self) -> Option<u32> {
        self.known()?.offset
    }
    /// The size of the symbol, in bytes.
    #[getter]
    fn size(&self) -> Option<u32> {
        self.known()?.size
    }
    /// Whether the symbol's name stands once.
    #[getter]
    fn symbol_unique(&self) -> bool {
        self.known().is_some_and(|known| known.symbol_unique)
    }
    /// The section's name.
    #[getter]
    fn section(&self) -> Option<&str> {
        self.known()?.section.as_deref()
    }
    /// The innermost function.
    #[getter]
    fn function(&self) -> Option<&str> {
        self.known()?.function.as_deref()
    }
    /// The file of the source line.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.known()?.file.as_deref()
    }
    /// That line, from 1.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.known()?.line
    }
    /// Its column, from 1; 0 if unknown.
    #[getter]
    fn column(&self) -> Option<u32> {
        self.known()?.column
    }
    /// Whether the compiler recommends the address for breakpoints.
    #[getter]
    fn is_stmt(&self) -> bool {
        self.known().is_some_and(|known| known.is_stmt)
    }
    /// The functions that the code belongs to, innermost first, each inlined into the next.
    #[getter]
    fn chain(&self) -> Vec<Level> {
        self.known().map(|known| known.chain.iter().cloned().map(Level).collect()).unwrap_or_default()
    }
    /// Whether the address itself was looked up, rather than the call before it.
    #[getter]
    fn exact(&self) -> bool {
        self.known().is_none_or(|known| known.exact)
    }
    /// Why the code is not present in a running kernel.
    #[getter]
    fn gone(&self) -> Option<&'static str> {
        self.known()?.gone
    }
    /// Why no function is known.
    #[getter]
    fn why(&self) -> Option<&str> {
        match &self.found().spot {
            Spot::Known(known) => known.why,
            Spot::Absent(absent) => Some(&absent.why),
        }
    }
    /// Among the places that the address can mean, the number of this one, from 1, and how many there are.
    #[getter]
    fn candidate(&self) -> Option<(usize, usize)> {
        let known = self.known()?;
        Some((known.candidate?, known.candidates?))
    }
    /// What ``--json`` prints of it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = to_python(py, &self.found().spot)?;
        if let Some(line) = self.log_line() {
            object.cast::<PyDict>()?.set_item("log_line", line)?;
        }
        Ok(object)
    }
    fn __bool__(&self) -> bool {
        self.known().is_some_and(|known| known.function.is_some())
    }
    fn __str__(&self) -> String {
        let Some(known) = self.known() else {
            return format!("{}: {}", self.asked(), self.why().unwrap_or_default());
        };
        let symbol = match (&known.symbol, known.offset) {
            (Some(symbol), Some(offset)) => format!("{symbol}+{offset:#x}"),
            _ => format!("{:#x}", known.address.0),
        };
        let module = known.module.as_ref().map_or(String::new(), |module| format!(" [{module}]"));
        let levels = known.chain.iter().map(|level| match (&level.file, level.line) {
            (Some(file), Some(line)) => format!("{} at {file}:{line}", level.function),
            _ => level.function.clone(),
        });
        let levels: Vec<String> = levels.collect();
        format!("{symbol}{module} {}", levels.join(", inlined into ")).trim_end().to_owned()
    }
    fn __repr__(&self) -> String {
        format!("<Location {}>", self.__str__())
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.found() == other.get().found())
    }
    fn __hash__(&self) -> u64 {
        hash(self.found())
    }
}

record! {
    /// A function that an address belongs to, with the line within it.
    Level(render::Step), |it| match (&it.file, it.line) {
        (Some(file), Some(line)) => format!("{} at {file}:{line}", it.function),
        _ => it.function.clone(),
    };
    /// The function's name.
    function: &str = &it.function;
    /// The file of the line.
    file: Option<&str> = it.file.as_deref();
    /// The line, from 1: of the code, or of the call of the function before it.
    line: Option<u32> = it.line;
    /// Its column, from 1; 0 if unknown.
    column: Option<u32> = it.column;
    /// The file and line of the function's declaration.
    declared: Option<(&str, u32)> = it.declared.as_ref().map(|declared| (&*declared.file, declared.line));
}
