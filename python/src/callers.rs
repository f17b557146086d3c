//! Who reaches a function, through its entry or through a copy.
use crate::failure::Answer;
use crate::kernel::Kernel;
use crate::lines::nothing;
use crate::list::list;
use crate::record::record;
use probeidx::cli::callers::callees;
use probeidx::render::callers as render;
use serde_json::Value;
use std::sync::Arc;

/// The callers of the functions that a spec names.
///
/// # Errors
/// [`Failure::NotFound`](crate::failure::Failure::NotFound); usage for what is no function.
pub fn callers(kernel: &Kernel, spec: &str) -> Answer<Callers> {
    let specs = probeidx::query::spec::parse(spec)?;
    let all = kernel.ask(|view| {
        let found = callees(view, &specs, spec)?;
        let lines = found.iter().flat_map(|callee| render::lines(view, kernel.release(), callee));
        let lines: Vec<_> = lines.collect();
        Ok((!found.is_empty()).then(|| (lines, view.has_calls())))
    })?;
    match all {
        Some((all, has_calls)) => Ok(Callers { all: Arc::new(all), about: Value::from(has_calls) }),
        None => Err(nothing(kernel, &specs, spec)?),
    }
}

list! {
    /// Who reaches the functions of a name: direct calls, tail calls and inlined copies. Calls through pointers are not known.
    Callers of Caller(render::Line), "callers";
    /// Whether direct calls are known: an index that was made from BTF or symbols alone has none.
    #[getter]
    fn has_calls(&self) -> bool {
        self.about == true
    }
}

record! {
    /// A function that reaches another one, by one kind of sites.
    Caller(render::Line), |it| format!("{} of {} in {}, {} sites", it.kind, it.function, it.caller, it.sites.len());
    /// The release of the kernel; None for a program or shared library.
    kernel: Option<&str> = it.kernel.as_deref();
    /// The module that contains the sites; None for vmlinux.
    module: Option<&str> = it.module.as_deref();
    /// The path of the program or shared library.
    process: Option<&str> = it.process.as_deref();
    /// The function that is reached.
    function: &str = &it.function;
    /// The file of its declaration; empty if unknown.
    file: &str = &it.file;
    /// The line of that, from 1; 0 if unknown.
    line: u32 = it.line;
    /// The innermost function that contains the sites; empty if unknown.
    caller: &str = &it.caller;
    /// The file of its declaration; empty if unknown.
    caller_file: &str = &it.caller_file;
    /// The line of that, from 1; 0 if unknown.
    caller_line: u32 = it.caller_line;
    /// ``call``, ``tail-call``, or ``inlined``: a copy, which no probe of the entry sees.
    kind: &'static str = it.kind;
    /// The calls, or the copies.
    sites: Vec<Site> = it.sites.iter().cloned().map(Site).collect();
}

record! {
    /// A call, or an inlined copy.
    Site(render::At), |it| match (&it.symbol, it.offset) {
        (Some(symbol), Some(offset)) => format!("{symbol}+{offset:#x} at {}:{}", it.file, it.line),
        _ => format!("{:#x} at {}:{}", it.address.0, it.file, it.line),
    };
    /// A link address; in a module, an offset within the section.
    address: u64 = it.address.0;
    /// The symbol that holds the address.
    symbol: Option<&str> = it.symbol.as_deref();
    /// The offset from that.
    offset: Option<u32> = it.offset;
    /// The file of the source line; empty if unknown.
    file: &str = &it.file;
    /// That line, from 1; 0 if unknown.
    line: u32 = it.line;
    /// Why the code is not present in a running kernel.
    gone: Option<&'static str> = it.gone;
}
