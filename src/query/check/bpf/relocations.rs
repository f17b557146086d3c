//! CO-RE relocations: what fails, and whether that does harm.
use super::super::outcome::{Finding, Severity, State};
use super::Checking;
use super::types::KernelTypes;
use crate::nearest;
use probeidx_bpf::Object;
use probeidx_bpf::object::FunctionId;
use probeidx_bpf::reach::{Assumption, Place, Reached};
use probeidx_bpf::relocate::{Decision, Failure, Mismatch, Poison, Reason, Relocator};
use probeidx_bpf::types::Types;
use rustc_hash::FxHashMap;

/// How a relocation ends.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    pub decision: Decision,
    /// Whether BTF has another definition of a type that was asked for than the index: the decision is not known.
    pub is_unsure: bool,
    /// The object of a type that vmlinux does not have.
    pub module: Option<u32>,
}

/// Decides all relocations of an object, in its order: those of programs that libbpf loads come first, as in
/// [`relocate`](probeidx_bpf::relocate::relocate).
pub fn decide(object: &Object<'_>, types: &KernelTypes<'_>) -> Vec<Decided> {
    let Some(btf) = &object.btf else { return vec![] };
    let mut relocator = Relocator::new(btf, object.byte_order(), types);
    let none = Decided { decision: Decision::Failed(Failure::BadRecord), is_unsure: false, module: None };
    let mut all = vec![none; object.relocations.len()];
    for autoload in [true, false] {
        for (relocation, decided) in object.relocations.iter().zip(&mut all) {
            let function = object.function(relocation.function);
            if function.autoload == autoload {
                let decision =
                    relocator.decide(relocation, &function.code[relocation.instruction as usize..]);
                *decided = Decided { decision, is_unsure: types.take_other(), module: types.take_module() };
            }
        }
    }
    all
}

/// What fails in a program and the subprograms that it calls. Each type and member counts once.
pub fn findings(checking: &Checking<'_, '_, '_>, program: FunctionId, reached: &Reached) -> Vec<Finding> {
    let object = checking.object;
    let Some(btf) = &object.btf else { return vec![] };
    let relocator = Relocator::new(btf, object.byte_order(), checking.types);
    let conditions: FxHashMap<u32, &[Assumption]> =
        reached.relocations.iter().map(|one| (one.relocation, &one.conditions[..])).collect();
    let linked = object.linked(program);
    let mut findings: Vec<Finding> = vec![];
    for (number, (relocation, decided)) in (0..).zip(object.relocations.iter().zip(checking.decisions)) {
        if !linked.contains(&relocation.function)
            || matches!(decided.decision, Decision::Applied { .. }) && !decided.is_unsure
        {
            continue;
        }
        let place = Place { function: relocation.function, instruction: relocation.instruction };
        let name = btf.get(relocation.type_id).map_or(&b""[..], |root| root.name);
        let name = String::from_utf8_lossy(name).into_owned();
        let text = checking.text(place, &name);
        let is_reached = conditions.get(&number);
        let finding = match decided.decision {
            _ if decided.is_unsure => {
                let why =
                    format!("not decided: BTF has another definition of {name} than the debug information");
                Finding::new(State::Undecided, text, why)
            }
            Decision::Failed(failure) => {
                let why = format!("libbpf does not load the object: {}", of_failure(failure, &name));
                Finding::new(State::Loader, text, why).errno("EINVAL")
            }
            Decision::Poisoned(poison) => {
                let reason = relocator.explain(relocation);
                let (why, instead) = of_poison(checking, poison, &name, reason.as_ref());
                Finding::new(State::Field, text, why).errno("EINVAL").instead(instead)
            }
            Decision::Applied { .. } => continue,
        };
        let finding = match (decided.decision, is_reached) {
            (Decision::Failed(_), _) => finding,
            (_, None) => finding.guarded(),
            (_, Some([])) => finding,
            (_, Some(hang)) => {
                let names = hang.iter().filter_map(|one| {
                    let (image, variable) = one.variable;
                    let variable = object.images.get(image as usize)?.variables.get(variable as usize)?;
                    let name = String::from_utf8_lossy(variable.name);
                    Some(if one.is_initial { name.into_owned() } else { format!("{name}, if it is set") })
                });
                let names: Vec<String> = names.collect();
                let reason =
                    format!("{}; whether it is reached hangs on {}", finding.reason, names.join(", "));
                Finding { reason, ..finding }
            }
        };
        let finding = checking.at(finding, place);
        // Reading several members by one path fails in each.
        let is_same = |known: &&mut Finding| (&known.reason, known.line) == (&finding.reason, finding.line);
        match findings.iter_mut().find(is_same) {
            Some(known) if known.guarded && !finding.guarded => *known = finding,
            Some(_) => {}
            None => findings.push(finding),
        }
    }
    findings.extend(of_modules(checking, &linked));
    findings
}

/// The modules whose types the program reads.
fn of_modules(checking: &Checking<'_, '_, '_>, linked: &[FunctionId]) -> Option<Finding> {
    let own = checking.object.relocations.iter().zip(checking.decisions);
    let mut modules =
        own.filter(|(one, _)| linked.contains(&one.function)).filter_map(|(_, decided)| decided.module);
    let module = checking.view.objects.get(modules.next()? as usize)?;
    let name = String::from_utf8_lossy(checking.view.string(module.name)).into_owned();
    let why = format!("types of module {name} are there only while it is loaded");
    Some(Finding::new(State::Unindexed, name, why).severity(Severity::Note))
}

fn of_failure(failure: Failure, name: &str) -> String {
    match failure {
        Failure::AmbiguousOffset(one, other) => {
            format!(
                "several types are called {name}, and the member is at bit {one} of one and {other} of another"
            )
        }
        Failure::AmbiguousValue(one, other) => {
            format!("several types are called {name}, with different results: {one} and {other}")
        }
        Failure::BadRecord => "the relocation is damaged".to_owned(),
        Failure::Anonymous => "a type without a name cannot be looked for".to_owned(),
        Failure::BadTarget => format!("{name} of the kernel has no size"),
        Failure::NotApplicable => "that cannot be asked of such a member".to_owned(),
        Failure::UnexpectedValue { found, expected } => {
            format!("the instruction has {found} where its own types say {expected}")
        }
        Failure::TooFar(offset) => format!("the offset {offset} does not fit an instruction"),
        Failure::UnexpectedWidth => {
            "the instruction reads another number of bytes than the member has".to_owned()
        }
        Failure::BadInstruction => "the instruction cannot be relocated".to_owned(),
        Failure::TooComplex => format!("comparing {name} takes too many steps"),
    }
}

/// What is missing, and what to write instead.
fn of_poison(
    checking: &Checking<'_, '_, '_>,
    poison: Poison,
    name: &str,
    reason: Option<&Reason>,
) -> (String, Vec<String>) {
    if let Poison::Width { original, new } = poison {
        let why = format!("the member of {name} has {new} bytes, not {original}, and is no unsigned number");
        return (why, vec!["read it with BPF_CORE_READ_BITFIELD, or bpf_core_read and its size".to_owned()]);
    }
    let Some(reason) = reason else { return (format!("{name} does not fit"), vec![]) };
    let lossy = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let within =
        if reason.reached.is_empty() { name.to_owned() } else { format!("{name}.{}", reason.reached) };
    match &reason.mismatch {
        Mismatch::NoType { wanted, others } => {
            let wanted = wanted.name();
            let others: Vec<&str> = others.iter().map(|kind| kind.name()).collect();
            let but = if others.is_empty() { String::new() } else { format!(", but {}", others.join(", ")) };
            (
                format!("the kernel has no {wanted} {name}{but}"),
                vec![format!("guard it: bpf_core_type_exists({wanted} {name})")],
            )
        }
        Mismatch::NoMember { member } => {
            let member = lossy(member);
            let mut instead = near(checking, reason, &member);
            instead.push(format!("guard it: bpf_core_field_exists(struct {name}, {member})"));
            (format!("{within} has no member {member}"), instead)
        }
        Mismatch::Kind { member, wanted, found } => {
            let (member, wanted, found) = (lossy(member), wanted.name(), found.name());
            let flavour =
                format!("declare struct {name}___{found} with it, and guard by bpf_core_field_exists");
            (format!("{member} of {within} is a {found}, not a {wanted}"), vec![flavour])
        }
        Mismatch::OutOfBounds { index, found: 0 } => {
            (format!("{within} is no array: {index} is no index"), vec![])
        }
        Mismatch::OutOfBounds { index, found } => {
            (format!("{within} has {found} elements: no {index}"), vec![])
        }
        Mismatch::NoEnumerator { name: value } => {
            let value = lossy(value);
            let guard = format!("guard it: bpf_core_enum_value_exists(enum {name}, {value})");
            (format!("enum {name} has no {value}"), vec![guard])
        }
        Mismatch::Type => (format!("{name} of the kernel is another type"), vec![]),
    }
}

/// Members with similar names.
fn near(checking: &Checking<'_, '_, '_>, reason: &Reason, member: &str) -> Vec<String> {
    const MOST: usize = 2;
    let Some(candidate) = reason.nearest.filter(|_| reason.reached.is_empty()) else { return vec![] };
    let types = checking.types;
    let count = types.get(candidate.id).map_or(0, |found| found.count);
    let names: Vec<&[u8]> = (0..count).filter_map(|at| Some(types.member(candidate.id, at)?.name)).collect();
    nearest::nearest(member, names.into_iter(), MOST)
}
