//! What becomes of scripts and programs on kernels.
use crate::failure::{Answer, usage};
use crate::index::config;
use crate::kernel::Kernel;
use crate::list::{list, text, texts};
use crate::record::record;
use probeidx::cli::args::Check;
use probeidx::cli::check::grid;
use probeidx::render::check::values;
use serde_json::Value;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

/// Checks files on kernels.
///
/// # Errors
/// That of the first file that cannot be read, and those of the indexes.
pub fn check(
    kernels: &[Arc<Kernel>],
    files: Vec<PathBuf>,
    arguments: Vec<String>,
    guru: bool,
) -> Answer<Checked> {
    if files.is_empty() {
        return Err(usage(
            "there is nothing to check",
            "name a script, an object, a policy, or a list of probe points",
        ));
    }
    if files.iter().any(|file| file.as_os_str() == "-") {
        return Err(usage("stdin is not checked", "name a file"));
    }
    let args = Check { files, arg: arguments, guru, ..Check::default() };
    kernels.iter().try_for_each(|kernel| kernel.ask(|_| Ok(())))?;
    let mut opened: Vec<_> =
        kernels.iter().map(|kernel| (kernel.description.clone(), Arc::clone(&kernel.index))).collect();
    opened.sort_by(|(one, _), (other, _)| one.cmp(other));
    let grid = grid(&args, opened, &config(Some("/".into()), None)?)?;
    if let Some(error) =
        grid.files.iter().flat_map(|row| &row.outcomes).find_map(|outcome| outcome.as_ref().err())
    {
        return Err(error.clone().into());
    }
    let mut all = vec![];
    let walked = values(&grid, |value| {
        all.push(value);
        Ok::<(), Infallible>(())
    });
    walked.unwrap_or_else(|never| match never {});
    Ok(Checked { all: Arc::new(all), about: Value::from(!grid.fails(false)) })
}

list! {
    /// What becomes of files on kernels: an outcome for each program on each kernel, and one for each file on each kernel.
    Checked of Outcome(Value), "outcomes";
    /// Whether everything works.
    #[getter]
    fn works(&self) -> bool {
        self.about == true
    }
    /// The outcomes of files as a whole.
    #[getter]
    fn files(&self) -> Vec<Outcome> {
        self.all.iter().filter(|outcome| outcome["program"].is_null()).cloned().map(Outcome).collect()
    }
    /// All that is wrong.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        self.all.iter().flat_map(findings).collect()
    }
}

fn findings(outcome: &Value) -> Vec<Finding> {
    outcome["findings"].as_array().into_iter().flatten().cloned().map(Finding).collect()
}

record! {
    /// What becomes of a program on a kernel, or of a file.
    Outcome(Value), |it| format!("{} {}: {} on {}", text(it, "file"), text(it, "program"), text(it, "state"), text(it, "kernel"));
    /// The file as it was given.
    file: &str = text(it, "file");
    /// The program: a probe point of a script, a function of an object; None for the file as a whole.
    program: Option<&str> = it["program"].as_str();
    /// The release of the kernel.
    kernel: &str = text(it, "kernel");
    /// The build id of the kernel.
    build_id: Option<&str> = it["build_id"].as_str();
    /// ``ok``, or what is wrong: ``absent``, ``inlined``, ``field``, ….
    state: &str = text(it, "state");
    /// Whether it fires somewhere.
    reachable: bool = it["reachable"] == true;
    /// The line of the program, from 1.
    line: Option<u64> = it["line"].as_u64();
    /// Its column, from 1.
    column: Option<u64> = it["column"].as_u64();
    /// What is wrong.
    findings: Vec<Finding> = findings(it);
}

record! {
    /// Something that is wrong with a program.
    Finding(Value), |it| format!("{}: {}", text(it, "source"), text(it, "reason"));
    /// What it is about.
    state: &str = text(it, "state");
    /// ``error``, ``warning``, ``note``.
    severity: &str = text(it, "severity");
    /// From 1.
    line: Option<u64> = it["line"].as_u64();
    /// From 1.
    column: Option<u64> = it["column"].as_u64();
    /// What the source has there.
    source: &str = text(it, "source");
    /// The reason.
    reason: &str = text(it, "reason");
    /// The error that the kernel gives.
    errno: Option<&str> = it["errno"].as_str();
    /// What to write instead, the likeliest first.
    instead: Vec<String> = texts(&it["instead"]);
    /// Whether it fails and is never reached.
    guarded: bool = it["guarded"] == true;
}
