//! `Index`: a kernel that is asked.
use crate::address::{self, Decoded, Locations, Moved};
use crate::callers::{self, Callers};
use crate::checking::{self, Checked};
use crate::compare::{self, Differences};
use crate::failure::{Answer, ask, usage};
use crate::kernel::Kernel;
use crate::lines;
use crate::live::Live;
use crate::offers::{self, Offer, Refused};
use crate::placement::texts;
use crate::placements::{Placements, html};
use crate::places::Question;
use crate::tables::Table;
use crate::tapset::{self, Definition};
use crate::types::{self, MemberAt, Type, User};
use probeidx::Argument;
use probeidx::answer;
use probeidx::cli::args::Global;
use probeidx::cli::config::Config;
use probeidx::cli::find;
use probeidx::cli::session::{Request, Session};
use probeidx::query::spec::argument;
use probeidx::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open index of a kernel, or of a program. Threads may share it; it is asked without the interpreter's lock.
#[pyclass(frozen, module = "probeidx")]
pub struct Index {
    /// What answers.
    pub kernel: Arc<Kernel>,
}

/// The configuration of the command line for this place and kernel. Notes do not go to stderr.
///
/// # Errors
/// Those of [`Config::new`].
pub fn config(db: Option<PathBuf>, kernel: Option<String>) -> Answer<Config> {
    let global = Global { db, kernel, ..Global::default() };
    Ok(Config::new(&global)?.for_request(&Global::default(), Session::Request(Arc::new(Request::default()))))
}

impl Index {
    /// The index of a file, or of a kernel in a folder or store, which may be named by its own path there.
    ///
    /// # Errors
    /// Those of choosing and opening.
    pub fn named(path: Option<PathBuf>, kernel: Option<String>) -> Answer<Self> {
        let config = config(path, kernel)?;
        let is_of_store = config.kernel.is_none()
            && !config.db.exists()
            && config.db.parent().is_some_and(probeidx::store::is_store);
        if is_of_store { Self::at(&config.db, &config) } else { Self::chosen(&config) }
    }

    /// The one index that a configuration chooses.
    ///
    /// # Errors
    /// Those of choosing and opening; [`ErrorKind::Usage`] for several.
    pub fn chosen(config: &Config) -> Answer<Self> {
        match &config.indexes()?[..] {
            [path] => Self::at(path, config),
            several => {
                let what = format!("{} kernels are chosen", several.len());
                Err(usage(what, "name one, or open all of them with Store"))
            }
        }
    }

    /// The index at a path.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn at(path: &Path, config: &Config) -> Answer<Self> {
        let kernel = Kernel::open(path, |path| config.open(path))?;
        Ok(Self { kernel: Arc::new(kernel) })
    }

    fn question(&self, texts: Vec<String>, arguments: Vec<Argument>, locals: bool) -> Answer<Question> {
        let specs = self.kernel.ask(|view| {
            let parsed = texts.iter().map(|text| answer::parse(view, text));
            Ok(parsed.collect::<probeidx::Result<Vec<_>>>()?.concat())
        })?;
        let kernel = Arc::clone(&self.kernel);
        Ok(Question { kernel, texts, specs, arguments, locals, lines: true, live: None })
    }
}

#[pymethods]
impl Index {
    /// Opens an index file, or the index of a kernel in a folder or store. Without a path it is where the command line
    /// looks: $PROBEIDX_DB, else the cache folder of the user.
    #[new]
    #[pyo3(signature = (path = None, *, kernel = None))]
    fn new(py: Python<'_>, path: Option<PathBuf>, kernel: Option<String>) -> PyResult<Self> {
        ask(py, || Self::named(path, kernel))
    }

    /// The index of the kernel that runs here.
    #[staticmethod]
    #[pyo3(signature = (path = None))]
    fn running(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Self> {
        ask(py, || {
            let mut config = config(path, None)?;
            let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
            let release = release.map_err(|e| Error::io("/proc/sys/kernel/osrelease".as_ref(), "read", e))?;
            config.kernel = Some(release.trim().to_owned());
            Self::chosen(&config)
        })
    }

    /// The path of the index.
    #[getter]
    fn path(&self) -> &Path {
        self.kernel.index.path()
    }
    /// As ``uname -r`` prints it; empty for a program or shared library.
    #[getter]
    fn release(&self) -> &str {
        self.kernel.release()
    }
    /// As ``uname -m`` prints it.
    #[getter]
    fn architecture(&self) -> &'static str {
        self.kernel.description.id.architecture
    }
    /// The build id of vmlinux, in hexadecimal; None if it has none.
    #[getter]
    fn build_id(&self) -> Option<&str> {
        self.kernel.description.id.build_id.as_deref()
    }
    /// Who built it, in lower case; ``unknown`` if nothing says so.
    #[getter]
    fn distribution(&self) -> &'static str {
        self.kernel.description.distribution
    }
    /// The names of the modules that are indexed.
    #[getter]
    fn modules(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        ask(py, || {
            self.kernel.ask(|view| {
                let names = view.object_ids().map(|object| view.string(view.objects[object.index()].name));
                let names = names.filter(|name| !name.is_empty() && !view.release().is_empty());
                Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
            })
        })
    }

    /// Every placement of a spec, with its verdicts, its anchor, and for each argument where it is readable. Without arguments all
    /// parameters are told, and with ``locals`` the locals too. With ``live`` the answer is that of the kernel that was captured.
    ///
    /// Raises NotFound if nothing matches, or if no placement has one of the arguments.
    #[pyo3(signature = (spec, *arguments, locals = false, live = None))]
    fn resolve(
        &self,
        py: Python<'_>,
        spec: String,
        arguments: &Bound<'_, PyTuple>,
        locals: bool,
        live: Option<&Bound<'_, Live>>,
    ) -> PyResult<Placements> {
        let arguments = texts(arguments)?;
        let live = live.map(Bound::get);
        ask(py, || {
            if arguments.len() > argument::MOST {
                let what = format!("{} arguments, and the kernel takes {}", arguments.len(), argument::MOST);
                return Err(Error::new(ErrorKind::Usage, what).into());
            }
            let arguments = arguments.iter().map(|text| Argument::parse(text));
            let arguments = arguments.collect::<probeidx::Result<Vec<_>>>()?;
            let live = live.map(|live| live.over(&self.kernel)).transpose()?;
            let question = Question { live, ..self.question(vec![spec.clone()], arguments, locals)? };
            Ok(Placements::new(spec, question.ask()?))
        })
    }

    /// The placements of several patterns, each once.
    #[pyo3(signature = (*patterns, locals = false))]
    fn find(&self, py: Python<'_>, patterns: &Bound<'_, PyTuple>, locals: bool) -> PyResult<Placements> {
        let patterns = texts(patterns)?;
        ask(py, || {
            let name = patterns.join(" ");
            let question = Question { lines: false, ..self.question(patterns, vec![], locals)? };
            Ok(Placements::new(name, question.ask()?))
        })
    }

    /// The probe points of patterns as ``stap -l`` lists them; with ``args`` as ``stap -L`` does.
    #[pyo3(signature = (*patterns, args = false))]
    fn listing(&self, py: Python<'_>, patterns: &Bound<'_, PyTuple>, args: bool) -> PyResult<Vec<String>> {
        let patterns = texts(patterns)?;
        ask(py, || {
            let config = config(None, None)?;
            let question = self.question(patterns, vec![], false)?;
            self.kernel.ask(|view| {
                let mut out = vec![];
                match find::listing(view, &question.specs, args, &config, &mut out)? {
                    Some(_) => Ok(String::from_utf8_lossy(&out).lines().map(str::to_owned).collect()),
                    None => Err(question.nothing()?),
                }
            })
        })
    }

    /// The tracepoints whose name matches: ``sched_*``, ``sched:sched_switch``.
    #[pyo3(signature = (pattern = "*"))]
    fn tracepoints(&self, py: Python<'_>, pattern: &str) -> PyResult<Placements> {
        ask(py, || {
            if pattern.contains(['"', '\\']) {
                let what = format!("'{pattern}' is no pattern of tracepoints");
                return Err(usage(what, "write NAME or SYSTEM:NAME, with * ? [..]"));
            }
            let spec = format!("kernel.trace(\"{pattern}\")");
            Ok(Placements::new(spec.clone(), self.question(vec![spec], vec![], false)?.ask()?))
        })
    }

    /// The lines of functions or files that have code, in their order, each with the addresses at which it can be probed:
    /// ``place.source`` is the line, ``place.best`` the address that is best. A spec is a function, a file, or either with lines:
    /// ``vfs_read``, ``fs/read_write.c:440-480``.
    fn lines(&self, py: Python<'_>, spec: String) -> PyResult<Placements> {
        ask(py, || {
            let pages = lines::lines(&self.kernel, &spec)?;
            Ok(Placements::new(spec, pages))
        })
    }

    /// Who reaches the functions of a name: through their entries, by calls and tail calls, or through inlined copies.
    fn callers(&self, py: Python<'_>, spec: &str) -> PyResult<Callers> {
        ask(py, || callers::callers(&self.kernel, spec))
    }

    /// What is at each address: a number, ``symbol+0xoff``, ``module:symbol+off``. Numbers are link addresses of vmlinux, unless
    /// ``base`` says where ``_text`` is, ``kallsyms`` names a copy of ``/proc/kallsyms``, or ``live`` is a capture.
    #[pyo3(signature = (*addresses, base = None, kallsyms = None, live = None))]
    fn addr(
        &self,
        py: Python<'_>,
        addresses: &Bound<'_, PyTuple>,
        base: Option<u64>,
        kallsyms: Option<PathBuf>,
        live: Option<&Bound<'_, Live>>,
    ) -> PyResult<Locations> {
        let addresses = address::written(addresses)?;
        let moved = Moved { base, kallsyms, live: live.map(Bound::get) };
        ask(py, || address::locations(&self.kernel, &addresses, moved))
    }

    /// The frames of a log, with the functions and lines that they mean. ``base``, ``kallsyms`` and ``live`` are those of ``addr``, for
    /// a log that does not say itself where the kernel was.
    #[pyo3(signature = (log, *, base = None, kallsyms = None, live = None))]
    fn decode(
        &self,
        py: Python<'_>,
        log: &Bound<'_, PyAny>,
        base: Option<u64>,
        kallsyms: Option<PathBuf>,
        live: Option<&Bound<'_, Live>>,
    ) -> PyResult<Decoded> {
        let log = address::log_of(log)?;
        let moved = Moved { base, kallsyms, live: live.map(Bound::get) };
        ask(py, || address::decode(&self.kernel, &log, moved))
    }

    /// The layout of a struct, union, enum or typedef. If several files define the name differently, the first.
    fn r#type(&self, py: Python<'_>, name: &str) -> PyResult<Type> {
        let all = ask(py, || types::layouts(&self.kernel, name))?;
        Ok(all.into_iter().next().expect("a name without a layout is not found"))
    }
    /// All the types of this name.
    fn types(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Type>> {
        ask(py, || types::layouts(&self.kernel, name))
    }
    /// A member at the end of a path: ``struct file.f_path.dentry``, ``task_struct->mm->pgd``.
    fn member(&self, py: Python<'_>, path: &str) -> PyResult<MemberAt> {
        ask(py, || types::member(&self.kernel, path))
    }
    /// The functions that take or return a type.
    fn users(&self, py: Python<'_>, name: &str) -> PyResult<Vec<User>> {
        ask(py, || types::users(&self.kernel, name))
    }

    /// What the kernel refuses to kprobes, as its own list has it: vmlinux, or modules by name, or ``all``.
    #[pyo3(signature = (*modules, all = false))]
    fn blacklist(&self, py: Python<'_>, modules: &Bound<'_, PyTuple>, all: bool) -> PyResult<Vec<Refused>> {
        let modules = texts(modules)?;
        ask(py, || offers::ranges(&self.kernel, &modules, all))
    }
    /// What the kernel offers to BPF programs: ``kfunc``, ``helper``, ``lsm``, ``iter``, ``struct_ops``, ``fmod_ret``, ``program``,
    /// ``attach``, ``map``, or ``all``.
    #[pyo3(signature = (kind = "all", pattern = "*"))]
    fn bpf(&self, py: Python<'_>, kind: &str, pattern: &str) -> PyResult<Vec<Offer>> {
        ask(py, || offers::offers(&self.kernel, kind, pattern))
    }
    /// What SystemTap's tapsets define: ``aliases``, ``functions`` or ``macros``, by name. An alias that is asked for by name is told
    /// with what it means on this kernel. With ``all`` those too whose names begin with ``_``.
    #[pyo3(signature = (*patterns, what = "aliases", all = false))]
    fn tapset(
        &self,
        py: Python<'_>,
        patterns: &Bound<'_, PyTuple>,
        what: &str,
        all: bool,
    ) -> PyResult<Vec<Definition>> {
        let patterns = texts(patterns)?;
        ask(py, || tapset::definitions(&self.kernel, patterns, what, all))
    }

    /// Checks scripts, BPF objects, policies, tools of bcc and lists of probe points against this kernel.
    #[pyo3(signature = (*files, arguments = None, guru = false))]
    fn check(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyTuple>,
        arguments: Option<Vec<String>>,
        guru: bool,
    ) -> PyResult<Checked> {
        let files: Vec<PathBuf> = files.iter().map(|file| file.extract()).collect::<PyResult<_>>()?;
        ask(py, || {
            checking::check(std::slice::from_ref(&self.kernel), files, arguments.unwrap_or_default(), guru)
        })
    }

    /// The differences to another kernel: functions, types and tracepoints that match the pattern.
    #[pyo3(signature = (after, pattern = "*"))]
    fn diff(&self, py: Python<'_>, after: &Bound<'_, Self>, pattern: &str) -> PyResult<Differences> {
        let after = Arc::clone(&after.get().kernel);
        ask(py, || compare::diff(&self.kernel, &after, pattern))
    }

    /// A table of the index for Arrow: ``kernels``, ``functions``, ``placements``, ``arguments``, ``members``, ``tracepoints`` or
    /// ``calls``. docs/tables.md has its columns.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        ask(py, || Table::new(name, vec![Arc::clone(&self.kernel)]))
    }
    /// The table of functions.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "functions")
    }
    /// The table of placements.
    fn placements(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "placements")
    }
    /// The table of the members of types.
    fn members(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "members")
    }

    /// Reads the whole index, and raises Error if a byte has changed since it was written.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        ask(py, || self.kernel.ask(|_| Ok(self.kernel.index.verify()?)))
    }

    fn __repr__(&self) -> String {
        let description = &self.kernel.description;
        match self.release() {
            "" => format!("<Index {}>", self.path().display()),
            release => {
                format!("<Index {release} {}, {}>", description.id.architecture, self.path().display())
            }
        }
    }
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        html(slf.as_any(), "index")
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = &other.get().kernel;
            self.kernel.description == other.description && self.path() == other.index.path()
        })
    }
    fn __hash__(&self) -> u64 {
        crate::record::hash(&(self.path(), self.release(), self.build_id()))
    }
}
