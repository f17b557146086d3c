//! Whether a script is right on a kernel: every probe point, variable, member, function and type in it.
//!
//! The script is read for the kernel, its points are made into probes by [`derive`](super::systemtap::derive), and its handlers are
//! read together with those of the aliases on the way, as SystemTap 4.8 compiles them
//! ([`handler`](crate::tapset::handler)). What is in no index, a program or a module, is taken to be as the script says.
mod assumptions;
mod probe_points;
mod spec_list;
mod suggestions;
pub mod tapset_health;

pub use probe_points::{Point, State};
pub use spec_list::is_script;

use std::path::{Path, PathBuf};

use probeidx_format::View;

use super::systemtap::derive::handler_context::everywhere;
use crate::error::{Error, ErrorKind, Result};
use crate::tapset::ast::{self, Script};
use crate::tapset::handler::{Finding, Program, Trouble, Words};
use crate::tapset::target::Runtime;
use crate::tapset::{Definitions, Place};
use std::rc::Rc;

/// What is asked about scripts.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What stands behind the script on the command line of stap: `$1`, `@1`.
    pub arguments: Vec<String>,
    /// As with `stap -g`.
    pub guru: bool,
    /// As with `stap --runtime`: what the conditions of tapsets ask for.
    pub runtime: Runtime,
    /// As with `stap --compatible`.
    pub systemtap: Option<String>,
}

/// What was found in one script on one kernel.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order of the script; the points of one probe one by one.
    pub points: Vec<Point>,
    /// By file, line and column.
    pub findings: Vec<Located>,
}

/// A finding with the file that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The file, as it was given or as the index has it.
    pub path: PathBuf,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// Of what kind it is, and with that whether the script fails.
    pub trouble: Trouble,
    /// The expression or name, as it is written.
    pub what: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// What could be written instead, the likeliest first.
    pub instead: Vec<String>,
}

/// What is to be said of a script as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every point has a place or needs none, and nothing breaks a handler.
    Resolves,
    /// As far as the index knows: some of its points are in programs or modules that are not in it.
    Unindexed,
    /// A point or a handler does not hold on this kernel.
    Fails,
}

impl Report {
    /// What follows from the points and findings for the whole.
    pub fn verdict(&self) -> Verdict {
        let fails = self.points.iter().any(|p| p.state == State::Fails)
            || self.findings.iter().any(|f| f.trouble.breaks());
        match (fails, self.points.iter().any(|p| p.state == State::Unindexed)) {
            (true, _) => Verdict::Fails,
            (false, true) => Verdict::Unindexed,
            (false, false) => Verdict::Resolves,
        }
    }

    /// The findings that make it fail.
    pub fn failures(&self) -> impl Iterator<Item = &Located> {
        self.findings.iter().filter(|finding| finding.trouble.breaks())
    }
}

impl Verdict {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolves => "resolves",
            Self::Unindexed => "unindexed",
            Self::Fails => "fails",
        }
    }
}

/// Checks a script, or a list of probe points with one on each line.
///
/// # Errors
/// [`ErrorKind::Syntax`] with the place, if it cannot be parsed.
pub fn check(
    view: View<'_>,
    definitions: &Definitions<'_>,
    asked: &Asked,
    path: &Path,
    bytes: &[u8],
) -> Result<Report> {
    if !is_script(path, bytes) {
        return spec_list::check(view, definitions, asked, path, bytes);
    }
    let script = read(&view, definitions, asked, path, bytes)?;
    let mut report = of_script(view, definitions, asked, path, &script);
    // SystemTap wants something to run (elaborate.cxx of 4.8, `semantic_pass`).
    let none = match () {
        () if script.probes.is_empty() => Some("there are no probes in it"),
        () if report.points.iter().all(|p| p.probes == 0 && p.state != State::Fails) => {
            Some("no probes are left: none of its points matches anything, and all may")
        }
        () => None,
    };
    report.findings.splice(..0, none.map(|why| Located::of_whole(path, why)));
    Ok(report)
}

/// Reads a script for the kernel of the index.
fn read(
    view: &View<'_>,
    definitions: &Definitions<'_>,
    asked: &Asked,
    path: &Path,
    bytes: &[u8],
) -> Result<Script> {
    let config = |option: &str| {
        let value = view.option(option.strip_prefix("CONFIG_")?.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    let mut target = definitions.target(&config);
    (target.guru, target.runtime, target.arguments) = (asked.guru, asked.runtime, &asked.arguments);
    if let Some(version) = &asked.systemtap {
        target.systemtap = version;
    }
    definitions.read(path, bytes, &target)
}

fn of_script(
    view: View<'_>,
    definitions: &Definitions<'_>,
    asked: &Asked,
    path: &Path,
    script: &Script,
) -> Report {
    let with_own = definitions.with(script, path);
    let mut words = Words::new(definitions, Rc::new(everywhere(view)));
    (words.scripts, words.guru, words.runtime) = (vec![script], asked.guru, asked.runtime);
    let mut deriving = probe_points::Deriving::new(view, &with_own, Program::new(words));
    let mut report = Report::default();
    for probe in &script.probes {
        report.points.extend(deriving.probe(probe));
    }
    // What a tapset runs by itself once something of it is used has to resolve as well.
    loop {
        let probes: Vec<&ast::Probe> = deriving.program.probes_of_tapsets();
        if probes.is_empty() {
            break;
        }
        for probe in probes {
            report
                .points
                .extend(deriving.probe(probe).into_iter().filter(|point| point.state == State::Fails));
        }
    }
    let file_of = |file: u32| if file == script.file { path } else { definitions.path(file) };
    for point in &mut report.points {
        file_of(point.place.file).clone_into(&mut point.path);
    }
    for finding in deriving.program.check() {
        let mut located = Located::new(file_of(finding.place.file), finding);
        if located.trouble == Trouble::Variable && located.instead.is_empty() {
            located.instead = suggestions::of_member(&view, &located.what);
        }
        report.findings.push(located);
    }
    report.findings.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    report
}

impl Located {
    fn new(path: &Path, finding: Finding) -> Self {
        let Finding { place: Place { line, column, .. }, trouble, what, why, instead } = finding;
        Self { path: path.to_owned(), line, column, trouble, what, why, instead }
    }

    fn of_whole(path: &Path, why: &str) -> Self {
        Self {
            path: path.to_owned(),
            line: 1,
            column: 1,
            trouble: Trouble::Control,
            what: "the script".to_owned(),
            why: why.to_owned(),
            instead: vec![],
        }
    }
}

/// That there is a tapset to check scripts with.
///
/// # Errors
/// [`ErrorKind::NoIndex`], with the remedy.
pub fn definitions<'v>(view: &View<'v>) -> Result<Definitions<'v>> {
    Definitions::of_index(view).map_err(|error| match error.kind() {
        ErrorKind::NoIndex => Error::new(ErrorKind::NoIndex, "the index was built without tapsets")
            .hint("build it again with: probeidx build --tapset DIR"),
        _ => error,
    })
}
