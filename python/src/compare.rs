//! What differs between kernels: two of them, or what many have of a name.
use crate::failure::{Answer, Failure};
use crate::kernel::Kernel;
use crate::list::{list, text, texts};
use crate::record::record;
use crate::to_python::{Tree, to_python};
use probeidx::cli::config::Config;
use probeidx::cli::history as many;
use probeidx::kernels::histories;
use probeidx::query::diff::{Asked, compare};
use probeidx::query::history::{Asked as Named, Families};
use probeidx::render::{diff as render, history as facts};
use pyo3::prelude::*;
use serde_json::Value;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

/// The differences between two kernels.
///
/// # Errors
/// [`Failure::NotFound`] if neither has what the pattern means.
pub fn diff(before: &Kernel, after: &Kernel, pattern: &str) -> Answer<Differences> {
    let asked = Asked::parse(pattern)?;
    let names = [before, after].map(Kernel::release);
    let mut all = vec![];
    let compared = before.ask(|before| {
        after.ask(|after| {
            let compared = compare([before, after], &asked, |difference| {
                all.push(render::value(names, difference));
                Ok::<(), Infallible>(())
            });
            Ok(compared.unwrap_or_else(|never| match never {}))
        })
    })?;
    if compared.all == 0 {
        let what = format!("neither kernel has a function, type or tracepoint {pattern}");
        return Err(Failure::NotFound(vec![what], vec![]));
    }
    Ok(Differences { all: Arc::new(all), about: render::summary_value(names, &compared) })
}

list! {
    /// The differences between two kernels.
    Differences of Difference(Value), "differences";
    /// How many functions, types and tracepoints were compared, added, removed and changed.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.about)
    }
}

record! {
    /// Something that differs between two kernels.
    Difference(Value), |it| format!("{} {} {}", text(it, "subject"), text(it, "name"), text(it, "change"));
    /// The releases of the two.
    kernels: Vec<String> = texts(&it["kernels"]);
    /// ``function``, ``struct``, ``union``, ``enum``, ``tracepoint``.
    subject: &str = text(it, "subject");
    /// Its name.
    name: &str = text(it, "name");
    /// ``added``, ``removed``, ``changed``.
    change: &str = text(it, "change");
    /// Where it is in the first kernel.
    before: Option<Home> = Some(&it["before"]).filter(|home| !home.is_null()).cloned().map(Home);
    /// Where it is in the second kernel.
    after: Option<Home> = Some(&it["after"]).filter(|home| !home.is_null()).cloned().map(Home);
    /// How the two differ; empty if only one of them exists.
    changes: Vec<Change> = it["changes"].as_array().into_iter().flatten().cloned().map(Change).collect();
}

record! {
    /// Where something is in a kernel.
    Home(Value), |it| format!("{}:{}", text(it, "file"), it["line"]);
    /// The first module that has it; None for vmlinux.
    module: Option<&str> = it["module"].as_str();
    /// The file of the declaration; empty if unknown.
    file: &str = text(it, "file");
    /// Its line, from 1; 0 if unknown.
    line: u64 = it["line"].as_u64().unwrap_or(0);
}

record! {
    /// A change: a parameter, a verdict, a member, ….
    Change(Value), |it| format!("{} {}: {} -> {}", text(it, "what"), text(it, "name"), it["before"], it["after"]);
    /// What changed.
    what: &str = text(it, "what");
    /// Which parameter, member or mechanism.
    name: Option<&str> = it["name"].as_str();
    /// Its state in the first kernel; None if it has none.
    before: Tree<Value> = Tree(it["before"].clone());
    /// Its state in the second kernel; None if it has none.
    after: Tree<Value> = Tree(it["after"].clone());
}

/// What the chosen kernels have of a name. Of a store only those are opened that may have something else than another one.
///
/// # Errors
/// [`Failure::NotFound`] if none has it.
pub fn history(config: &Config, name: &str, since: Option<&str>) -> Answer<History> {
    let asked = Named::parse(name)?;
    let mut kernels = config.kernels()?;
    if let Some(since) = since {
        kernels = many::after(kernels, since)?;
    }
    let (kernels, sources): (Vec<_>, Vec<_>) = kernels.into_iter().unzip();
    let open = |path: &Path| config.open(path);
    let families = Families::new(&kernels);
    let mut told = histories(&asked, &sources, &open)?;
    if told.iter().all(|(_, histories)| histories.is_empty()) {
        let newest = sources.last().map(|source| source.index(open)).transpose()?;
        return Err(Failure::NotFound(many::reasons(name, &asked, newest)?, vec![]));
    }
    if since.is_some() {
        told.iter_mut().flat_map(|(_, found)| found).for_each(|h| h.keep_changes(families.members()));
    }
    let mut all = vec![];
    for (subject, histories) in &told {
        for history in histories {
            all.extend(facts::values(subject.kind(), history, &families));
        }
    }
    Ok(History { all: Arc::new(all), about: Value::from(name) })
}

list! {
    /// What many kernels have of a name: of each kind of fact, every kernel that has the name has one.
    History of Fact(Value), "history";
    /// The name that was asked for.
    #[getter]
    fn name(&self) -> &str {
        self.about.as_str().unwrap_or_default()
    }
    /// The facts of a kind, such as ``offset`` or ``prototype``.
    fn of(&self, what: &str) -> Vec<Fact> {
        self.all.iter().filter(|fact| text(&fact["fact"], "what") == what).cloned().map(Fact).collect()
    }
}

record! {
    /// A fact about a name, with the kernels that have it.
    Fact(Value), |it| format!("{} {}: {}, {} kernels", text(it, "name"), text(&it["fact"], "what"),
        it["fact"].get("value").or(it["fact"].get("values")).unwrap_or(&Value::Null), it["kernels"].as_array().map_or(0, Vec::len));
    /// ``function``, ``member``, ``tracepoint``, ``alias``, ``line``.
    kind: &str = text(it, "kind");
    /// The name.
    name: &str = text(it, "name");
    /// What it is about: ``prototype``, ``offset``, ``attach``, ….
    what: &str = text(&it["fact"], "what");
    /// A number, a word, a list or a dictionary; where several of the name differ, the list of theirs. None if the kernels lack the name.
    value: Tree<Value> = Tree(it["fact"].get("value").or(it["fact"].get("values")).cloned().unwrap_or_default());
    /// Whether the kernels lack the name.
    absent: bool = it["fact"]["absent"] == true;
    /// The kernels that have it.
    kernels: Vec<String> = texts(&it["kernels"]);
    /// The first of them.
    since: Option<&str> = it["since"].as_str();
    /// The last of them.
    until: Option<&str> = it["until"].as_str();
}
