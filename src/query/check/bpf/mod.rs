//! Checks BPF objects, and programs that carry some: each program of an object, on a kernel.
//!
//! [`probeidx_bpf`] reads the object and decides its relocations as libbpf does; here are the kernel's types for it
//! ([`types`]), what the attach points, helpers, maps and externs are there, and what is found where.
//!
//! `biosnoop` of libbpf-tools worked by hand, on 6.1.192: its program `blk_account_io_start` is in section
//! `fentry/blk_account_io_start`, which BTF of 6.1 does not have as a function with a site: all of it is inlined. The program
//! fails to attach (`ESRCH`), and `__blk_account_io_start` is what it has instead; the tool itself chooses among both.
mod attach_points;
mod context;
mod environment;
mod externs;
pub(super) mod helper_scope;
mod helpers;
mod instructions;
mod numbers;
mod pointees;
mod prototype;
mod relocations;
mod requirements;
mod returns;
pub mod types;

use super::attach::Attacher;
use super::outcome::{FileOutcome, Finding, ProgramOutcome, Severity, State};
use crate::error::{Error, ErrorKind, Result};
use environment::Surroundings;
use externs::Externs;
use probeidx_bpf::btf::RelocationKind;
use probeidx_bpf::object::{Function, FunctionId};
use probeidx_bpf::reach::{self, Place, Reached};
use probeidx_bpf::{Object, embedded};
use probeidx_bpf::{relocate, section};
use probeidx_format::View;
use relocations::Decided;
use requirements::Requirements;
use std::ops::Range;
use std::path::{Path, PathBuf};
use types::{KernelBtf, KernelTypes};

/// A file with BPF objects in it.
#[derive(Debug)]
pub struct BpfFile {
    bytes: Vec<u8>,
    objects: Vec<Range<usize>>,
}

impl BpfFile {
    /// Finds the objects in a file. Cost: one pass.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if there are none, or what is wrong with the only one.
    pub fn read(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let objects = embedded(&bytes);
        if objects.is_empty() {
            // What is an object itself, and damaged, says so.
            let what = match Object::open(&bytes) {
                Err(error) if error.kind != probeidx_bpf::ErrorKind::NotBpf => error.to_string(),
                _ => "there is no BPF object in it".to_owned(),
            };
            let error = Error::new(ErrorKind::Unsupported, what).at(path);
            return Err(error.hint("give an object of clang -target bpf, or a program that carries one"));
        }
        Ok(Self { bytes, objects })
    }

    /// Judges each program on the kernel of an index.
    pub fn judge(&self, view: &View<'_>) -> FileOutcome {
        let mut outcome = FileOutcome::default();
        for range in &self.objects {
            match Object::open(&self.bytes[range.clone()]) {
                Ok(object) => {
                    let one = judged(view, &object);
                    outcome.programs.extend(one.programs);
                    outcome.findings.extend(one.findings);
                }
                Err(error) => {
                    let place = format!("the object at byte {}", range.start);
                    outcome
                        .findings
                        .push(Finding::new(State::Loader, place, error.to_string()).errno("EINVAL"));
                }
            }
        }
        outcome
    }
}

fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error && !finding.guarded
}

/// The findings with the values that the file has; and of those with any values the rest, which are warnings: loaders set such
/// variables by what they see of the kernel.
fn conditional(whatever: Vec<Finding>, mut initial: Vec<Finding>) -> Vec<Finding> {
    let known: Vec<_> = initial.iter().filter(|f| is_error(f)).map(place).collect();
    let rest: Vec<Finding> =
        whatever.into_iter().filter(|f| is_error(f) && !known.contains(&place(f))).collect();
    initial.retain(|f| !f.guarded || !rest.iter().any(|other| place(other) == place(f)));
    initial.extend(rest.into_iter().map(|finding| {
        let reason = format!("{}; only if the loader sets a const volatile variable", finding.reason);
        Finding { reason, ..finding.severity(Severity::Warning) }
    }));
    initial
}

/// The findings where it is not known which stable kernel it is, of which those with the first and the last are given: what not
/// both have is not decided.
fn hanging_on_version(mut findings: Vec<Finding>, both: &[Vec<Finding>; 2]) -> Vec<Finding> {
    for finding in findings.iter_mut().filter(|finding| is_error(finding)) {
        let is_same = |other: &Finding| is_error(other) && place(other) == place(finding);
        if !both.iter().all(|all| all.iter().any(is_same)) {
            let which =
                "only on some stable kernels of the version, and the release does not say which it is";
            (finding.state, finding.errno) = (State::Undecided, None);
            finding.reason = format!("{}; {which}", finding.reason);
        }
    }
    findings
}

/// What a finding is about, and where.
fn place(finding: &Finding) -> (State, u32, String) {
    (finding.state, finding.line, finding.source.clone())
}

/// An object on a kernel.
struct Checking<'c, 'v, 'a> {
    view: &'v View<'v>,
    object: &'c Object<'a>,
    types: &'c KernelTypes<'v>,
    attacher: &'c Attacher<'v>,
    externs: &'c Externs<'a>,
    decisions: &'c [Decided],
    requirements: &'c Requirements,
}

/// Judges an object.
fn judged<'v>(view: &'v View<'v>, object: &Object<'_>) -> FileOutcome {
    let types = KernelTypes::new(view);
    let checking = Checking {
        view,
        object,
        types: &types,
        attacher: &Attacher::new(view),
        externs: &Externs::new(view, &types, object),
        decisions: &relocations::decide(object, &types),
        requirements: &Requirements::new(&types),
    };
    let plain = |decided: &Decided| decided.decision;
    let decisions: Vec<_> = checking.decisions.iter().map(plain).collect();
    FileOutcome {
        programs: object
            .programs()
            .map(|(id, function)| checking.program(id, function, &decisions))
            .collect(),
        findings: checking.whole(),
    }
}

impl<'a> Checking<'_, '_, 'a> {
    /// What keeps libbpf from loading the object as a whole.
    fn whole(&self) -> Vec<Finding> {
        let refused = self
            .object
            .refused
            .iter()
            .map(|error| Finding::new(State::Loader, "the object", error.to_string()).errno("EINVAL"));
        let maps = self.requirements.of_maps(self.object);
        refused.chain(self.without_btf()).chain(self.externs.findings()).chain(maps).collect()
    }

    /// Relocations need the kernel's BTF (`bpf_object__load_vmlinux_btf`, libbpf 1.7).
    fn without_btf(&self) -> Option<Finding> {
        let asks =
            self.object.relocations.iter().any(|one| !matches!(one.kind, Ok(RelocationKind::TypeIdLocal)));
        let is_missing = self.types.btf() == KernelBtf::Missing;
        (asks && is_missing).then(|| {
            let why = "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF), which its relocations need";
            Finding::new(State::Loader, "the object", why).errno("ESRCH")
        })
    }

    fn program(
        &self,
        id: FunctionId,
        function: &Function<'a>,
        decisions: &[relocate::Decision],
    ) -> ProgramOutcome {
        let section = section::read(function.section);
        let own = attach_points::findings(self, id, function, section.as_ref())
            .into_iter()
            .chain(self.requirements.of_program(section.as_ref()));
        let start = Place { function: id, instruction: 0 };
        let mut findings: Vec<Finding> = own.map(|finding| self.at(finding, start)).collect();
        let mut surroundings = Surroundings::new(self.attacher, self.types, self.externs, section.as_ref());
        let mut of_code = self.of_code(id, section.as_ref(), decisions, &mut surroundings);
        if self.externs.asks_for_version() && of_code.iter().any(is_error) {
            let both = [0, u8::MAX].map(|patch| {
                surroundings.stable = Some(patch.into());
                self.of_code(id, section.as_ref(), decisions, &mut surroundings)
            });
            of_code = hanging_on_version(of_code, &both);
        }
        findings.extend(of_code);
        let line = self.object.line(id, 0);
        ProgramOutcome {
            name: String::from_utf8_lossy(function.name).into_owned(),
            line: line.map_or(0, |line| line.line),
            column: line.map_or(0, |line| line.column),
            findings,
            ..ProgramOutcome::default()
        }
    }

    /// What the code of a program meets.
    fn of_code(
        &self,
        id: FunctionId,
        section: Option<&section::Section<'_>>,
        decisions: &[relocate::Decision],
        surroundings: &mut Surroundings<'_, '_, '_>,
    ) -> Vec<Finding> {
        let start = Place { function: id, instruction: 0 };
        let found = |reached: &Reached| -> Vec<Finding> {
            let of_context = context::findings(self, section, reached).into_iter();
            of_context
                .map(|finding| self.at(finding, start))
                .chain(self.requirements.of_code(self, section, reached))
                .chain(numbers::findings(self, reached))
                .chain(section.and_then(|section| returns::findings(self, section.definition, reached)))
                .chain(instructions::findings(self, id, reached))
                .collect()
        };
        let reached = reach::reach(self.object, id, decisions, surroundings);
        let whatever = found(&reached);
        // These say themselves on which variable they hang.
        let mut findings = relocations::findings(self, id, &reached);
        findings.extend(match whatever.iter().any(is_error) {
            false => whatever,
            true => {
                surroundings.is_initial = true;
                let initial = found(&reach::reach(self.object, id, decisions, surroundings));
                surroundings.is_initial = false;
                conditional(whatever, initial)
            }
        });
        findings
    }

    /// The line of the release: major and minor.
    fn line(&self) -> Option<(u32, u32)> {
        self.attacher.line()
    }

    /// A finding with the source line of an instruction, unless it has one.
    fn at(&self, finding: Finding, place: Place) -> Finding {
        if finding.line != 0 {
            return finding;
        }
        let Some(line) = self.object.line(place.function, place.instruction) else { return finding };
        let path = PathBuf::from(String::from_utf8_lossy(line.file).into_owned());
        finding.at(line.line, line.column).in_file(&path)
    }

    /// The source text of an instruction, or what stands for it.
    fn text(&self, place: Place, or: &str) -> String {
        let line = self.object.line(place.function, place.instruction);
        let text = line.map(|line| String::from_utf8_lossy(line.text).trim().to_owned());
        text.filter(|text| !text.is_empty()).unwrap_or_else(|| or.to_owned())
    }
}
