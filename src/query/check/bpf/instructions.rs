//! Instructions that old kernels do not have: their verifier refuses some where they are reached, and others wherever they are.
use super::super::outcome::{Finding, State};
use super::Checking;
use crate::query::index::functions;
use probeidx_bpf::feature::Feature;
use probeidx_bpf::instruction::class;
use probeidx_bpf::object::{FunctionId, Reference};
use probeidx_bpf::reach::{Place, Reached};
use rustc_hash::FxHashSet;

/// What of the instruction set the kernel does not have: each once, at the first instruction.
pub fn findings(checking: &Checking<'_, '_, '_>, program: FunctionId, reached: &Reached) -> Vec<Finding> {
    let Some(line) = checking.line() else { return vec![] };
    let mut met = FxHashSet::default();
    let is_new = line >= Feature::IndirectJump.since();
    let everywhere = if is_new { vec![] } else { unreached(checking, program) };
    let lacking = reached.features.iter().chain(&everywhere).filter(|(_, feature)| {
        line < feature.since() && !is_backported(checking, *feature) && met.insert(*feature)
    });
    let finding = |(place, feature): &_| {
        let (what, instead) = told(*feature);
        let (major, minor) = feature.since();
        let why = format!("the kernel has no {what}: they came with Linux {major}.{minor}");
        let finding = Finding::new(State::Loader, checking.text(*place, what), why).errno("EINVAL");
        checking.at(finding.instead(instead.map(str::to_owned)), *place)
    };
    lacking.map(finding).chain(unreached_callback(checking, line, program, reached)).collect()
}

/// Instructions that old verifiers refuse before they follow the code, reached or not: their codes, and fields that were reserved
/// (`resolve_pseudo_ldimm64`, kernel/bpf/verifier.c; "BPF_STX uses reserved fields" and "unknown opcode", seen on 5.10).
fn unreached(checking: &Checking<'_, '_, '_>, program: FunctionId) -> Vec<(Place, Feature)> {
    let object = checking.object;
    let code = object.linked(program).into_iter().flat_map(|function| {
        let numbered = (0..).zip(&object.function(function).code);
        numbered.map(move |(instruction, one)| (Place { function, instruction }, *one))
    });
    let refused = code.filter_map(|(place, one)| {
        let feature = Feature::of(one)?;
        // Signs and casts are in fields that are looked at later.
        let is_code = match feature {
            Feature::Atomic | Feature::AcquireRelease | Feature::MayGoto | Feature::IndirectJump => true,
            Feature::Version4 => one.off == 0 || one.class() == class::LDX,
            Feature::Callback | Feature::KfuncCall | Feature::AddressSpaceCast => false,
        };
        is_code.then_some((place, feature))
    });
    refused.collect()
}

/// A callback that is never reached: libbpf links it to the program all the same, and a kernel that does not know the address of a
/// subprogram takes it for a part of another one ("number of funcs in func_info doesn't match number of subprogs"; seen on 5.10).
fn unreached_callback(
    checking: &Checking<'_, '_, '_>,
    line: (u32, u32),
    program: FunctionId,
    reached: &Reached,
) -> Option<Finding> {
    let is_told = reached.features.iter().any(|(_, feature)| *feature == Feature::Callback);
    if is_told || line >= Feature::Callback.since() || is_backported(checking, Feature::Callback) {
        return None;
    }
    let object = checking.object;
    let linked = object.linked(program);
    let mut references =
        linked.iter().flat_map(|id| object.function(*id).references.iter().map(move |found| (*id, found)));
    let (function, (instruction, _)) =
        references.find(|(_, (_, reference))| matches!(reference, Reference::FunctionAddress(_)))?;
    let place = Place { function, instruction: *instruction };
    let why = "the kernel refuses programs with a callback, even where that is never reached";
    let finding = Finding::new(State::Loader, checking.text(place, "a callback"), why).errno("EINVAL");
    let instead =
        "keep the callback in a program of its own, and do not load that on such kernels".to_owned();
    Some(checking.at(finding.instead([instead]), place))
}

/// Distributions bring parts of newer versions to kernels with old numbers: the verifier then has the function that came with
/// it (kernel/bpf/verifier.c), inlined or not.
fn is_backported(checking: &Checking<'_, '_, '_>, feature: Feature) -> bool {
    let evidence: &[u8] = match feature {
        Feature::Atomic => b"check_atomic",
        Feature::Callback => b"set_map_elem_callback_state",
        Feature::KfuncCall => b"check_kfunc_call",
        Feature::Version4 => b"coerce_reg_to_size_sx",
        // Both came with arenas.
        Feature::MayGoto | Feature::AddressSpaceCast => b"arena_map_mmap",
        Feature::AcquireRelease => b"check_atomic_load",
        Feature::IndirectJump => b"check_indirect_jump",
    };
    functions::of_name(checking.view, evidence).next().is_some()
}

/// What they are called, and how to do without.
fn told(feature: Feature) -> (&'static str, Option<&'static str>) {
    match feature {
        Feature::Atomic => (
            "atomic operations but additions without a result",
            Some("compile with -mcpu=v2, or use __sync_fetch_and_add without its result"),
        ),
        Feature::Callback => ("callbacks of helpers", None),
        Feature::KfuncCall => ("calls of kfuncs", None),
        Feature::Version4 => ("instructions of version 4", Some("compile with -mcpu=v3")),
        Feature::MayGoto => ("bounded loops by may_goto", None),
        Feature::AddressSpaceCast => ("casts between address spaces", None),
        Feature::AcquireRelease => ("loads that acquire and stores that release", None),
        Feature::IndirectJump => ("indirect jumps", Some("compile with -fno-jump-tables")),
    }
}
