//! All files on all kernels: the states side by side, and each finding once with the kernels that have it.
use super::outcome::{FileOutcome, Finding, State};
use crate::error::Error;
use crate::query::history::KernelSet;
use crate::query::index::kernel_description::KernelDescription;
use std::collections::{HashMap, HashSet};

/// Files on kernels.
#[derive(Debug)]
pub struct Grid {
    /// The kernels, in their order.
    pub kernels: Vec<KernelDescription>,
    /// The files, as they were given.
    pub files: Vec<Row>,
}

/// A file on all kernels.
#[derive(Debug)]
pub struct Row {
    /// The name as given.
    pub file: String,
    /// In the order of the kernels.
    pub outcomes: Vec<Result<FileOutcome, Error>>,
}

/// A finding, with the kernels that have it.
#[derive(Clone, Debug)]
pub struct Shared<'g> {
    /// The name of the program; `None` for the file as a whole.
    pub program: Option<&'g str>,
    /// The finding.
    pub finding: &'g Finding,
    /// The kernels.
    pub kernels: KernelSet,
}

/// A program on all kernels.
#[derive(Clone, Debug)]
pub struct Program<'g> {
    /// Its name.
    pub name: &'g str,
    /// From 1; 0 if it has no line.
    pub line: u32,
    /// In the order of the kernels; `None` where the file could not be judged.
    pub states: Vec<Option<State>>,
}

impl Row {
    /// Each finding once, in the order of the file.
    pub fn findings(&self) -> Vec<Shared<'_>> {
        let mut known: HashMap<(Option<&str>, &Finding), usize> = HashMap::new();
        let mut all: Vec<Shared<'_>> = vec![];
        for (at, outcome) in (0..).zip(&self.outcomes) {
            let Ok(outcome) = outcome else { continue };
            for (program, finding) in outcome.findings() {
                let program = program.map(|p| &*outcome.programs[p].name);
                let number = *known.entry((program, finding)).or_insert_with(|| {
                    all.push(Shared { program, finding, kernels: KernelSet::default() });
                    all.len() - 1
                });
                all[number].kernels.insert(at);
            }
        }
        all.sort_by(|one, other| {
            let place = |s: &Shared<'_>| (s.finding.path.clone(), s.finding.line, s.finding.column);
            place(one).cmp(&place(other))
        });
        all
    }

    /// The programs of the file. Those of one name and place are one on all kernels, the n-th of a kernel with the n-th of
    /// another: an object may have several of a name.
    pub fn programs(&self) -> Vec<Program<'_>> {
        let mut known: HashMap<(&str, u32, u32, usize), usize> = HashMap::new();
        let mut all: Vec<Program<'_>> = vec![];
        for (at, outcome) in self.outcomes.iter().enumerate() {
            let Ok(outcome) = outcome else { continue };
            let mut seen: HashMap<(&str, u32, u32), usize> = HashMap::new();
            for program in &outcome.programs {
                let times = seen.entry((&program.name, program.line, program.column)).or_default();
                let key = (&*program.name, program.line, program.column, *times);
                *times += 1;
                let number = *known.entry(key).or_insert_with(|| {
                    let states = vec![None; self.outcomes.len()];
                    all.push(Program { name: &program.name, line: program.line, states });
                    all.len() - 1
                });
                all[number].states[at] = Some(program.state());
            }
        }
        all
    }
}

impl Grid {
    /// Whether the check fails: a file that cannot be judged fails, too.
    pub fn fails(&self, strict: bool) -> bool {
        let outcomes = self.files.iter().flat_map(|row| &row.outcomes);
        let mut states = outcomes.map(|outcome| outcome.as_ref().map_or(State::Loader, FileOutcome::state));
        states.any(|state| state.fails(strict))
    }

    /// Keeps only what an update breaks: the kernels for which `is_new` holds, and of these the findings that the last
    /// kernel before them of the same family does not have; without such a one, the last kernel before.
    pub fn keep_new(&mut self, is_new: impl Fn(&KernelDescription) -> bool) {
        let is_new: Vec<bool> = self.kernels.iter().map(is_new).collect();
        let before: Vec<Option<usize>> = (0..self.kernels.len())
            .map(|at| {
                let others = || (0..self.kernels.len()).rev().filter(|other| !is_new[*other]);
                let kernel = &self.kernels[at];
                let family = others().find(|other| self.kernels[*other].is_of_family(kernel));
                let same = |other: &usize| self.kernels[*other].id.architecture == kernel.id.architecture;
                family.or_else(|| others().find(same)).or_else(|| others().next())
            })
            .collect();
        for row in &mut self.files {
            let mut kept = vec![];
            for (at, before) in before.iter().enumerate().filter(|(at, _)| is_new[*at]) {
                let had = before.and_then(|before| row.outcomes[before].as_ref().ok());
                kept.push(row.outcomes[at].clone().map(|outcome| outcome.without(had)));
            }
            row.outcomes = kept;
        }
        let mut at = 0..;
        self.kernels.retain(|_| at.next().is_some_and(|at: usize| is_new[at]));
    }
}

impl FileOutcome {
    /// The outcome without the findings that another kernel has, too. A finding is the same if it is about the same thing
    /// at the same place: the words of the reason may name a line of the kernel.
    fn without(mut self, had: Option<&Self>) -> Self {
        let key = |program: Option<&str>, f: &Finding| {
            (program.map(str::to_owned), f.state, f.line, f.column, f.source.clone())
        };
        let known: HashSet<_> = had
            .into_iter()
            .flat_map(|had| had.findings().map(|(at, f)| key(at.map(|at| &*had.programs[at].name), f)))
            .collect();
        for program in &mut self.programs {
            let name = program.name.clone();
            program.findings.retain(|finding| !known.contains(&key(Some(&name), finding)));
        }
        self.findings.retain(|finding| !known.contains(&key(None, finding)));
        self
    }
}
