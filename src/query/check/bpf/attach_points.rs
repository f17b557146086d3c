//! What the section of a program says, on a kernel.
use super::super::attach::{Found, Trampoline};
use super::super::outcome::{Finding, Severity, State};
use super::Checking;
use probeidx_bpf::object::{Function, FunctionId};
use probeidx_bpf::section::{AttachType, Point, Section, When};
use probeidx_bpf::types::{Types, essential};

/// Whether the program can be attached where its section says.
pub fn findings(
    checking: &Checking<'_, '_, '_>,
    id: FunctionId,
    function: &Function<'_>,
    section: Option<&Section<'_>>,
) -> Vec<Finding> {
    let name = String::from_utf8_lossy(function.section);
    let Some(section) = section else {
        let why = "libbpf does not know the section: set the type of the program in the loader";
        return vec![Finding::new(State::Loader, name, why).errno("EINVAL")];
    };
    let point = match &section.point {
        Ok(point) => *point,
        Err(refusal) => {
            let when = match refusal.when {
                When::Load => "libbpf does not load it",
                When::Attach => "libbpf does not attach it",
            };
            return vec![
                Finding::new(State::Loader, name, format!("{when}: {}", refusal.what)).errno("EINVAL"),
            ];
        }
    };
    let attacher = checking.attacher;
    let notes = |found: Found<'_>| found.map_or_else(|finding| vec![*finding], |(_, notes)| notes);
    match point {
        Point::Kprobe { function, offset, is_return } => attacher.kprobe(None, function, offset, is_return),
        Point::KprobeMulti { pattern, .. } => attacher.multi(pattern),
        Point::Ksyscall { name, is_return } => attacher.system_call(name, is_return),
        Point::Tracepoint { category, name } => notes(attacher.event(category, name)),
        Point::RawTracepoint { name } => notes(attacher.raw_tracepoint(name, "ENOENT")),
        Point::Btf { module, name, prefix, .. } => match prefix {
            "btf_trace_" => notes(attacher.raw_tracepoint(name, "ESRCH")),
            "bpf_lsm_" => {
                sleepable(checking, section, name, attacher.trampoline(None, name, Trampoline::Hook))
            }
            "bpf_iter_" => attacher.iterator(name),
            _ => sleepable(checking, section, name, attacher.trampoline(module, name, kind(section))),
        },
        Point::StructOps => struct_ops(checking, id),
        Point::Uprobe { binary, .. } | Point::UprobeMulti { binary, .. } | Point::Usdt { binary, .. } => {
            let binary = String::from_utf8_lossy(binary).into_owned();
            vec![Finding::new(State::Unindexed, binary, "programs are not checked").severity(Severity::Note)]
        }
        Point::Program { name } => {
            let name = String::from_utf8_lossy(name).into_owned();
            let why = "it replaces a function of another program, which the loader names";
            vec![Finding::new(State::Unindexed, name, why).severity(Severity::Note)]
        }
        // The loader attaches it to what it knows.
        Point::Loader => vec![],
    }
}

/// What a program with typed arguments runs in.
fn kind(section: &Section<'_>) -> Trampoline {
    match section.definition.attach {
        Some(AttachType::ModifyReturn) => Trampoline::Modifying,
        Some(AttachType::LsmMac | AttachType::LsmCgroup) => Trampoline::Hook,
        _ => Trampoline::Function,
    }
}

/// Adds whether the function takes programs that sleep, to what keeps all programs from it.
fn sleepable(
    checking: &Checking<'_, '_, '_>,
    section: &Section<'_>,
    name: &[u8],
    mut findings: Vec<Finding>,
) -> Vec<Finding> {
    let is_refused = findings.iter().any(|finding| finding.severity == Severity::Error);
    if section.definition.is_sleepable && !is_refused {
        findings.extend(checking.attacher.sleepable(name, kind(section)));
    }
    findings
}

/// The tables that a program implements a member of: the kernel has `bpf_struct_ops_NAME` for each, and a struct with the
/// member (`find_struct_ops_kern_types`, libbpf 1.7).
fn struct_ops(checking: &Checking<'_, '_, '_>, id: FunctionId) -> Vec<Finding> {
    let Some(btf) = &checking.object.btf else { return vec![] };
    let is_used = |id: &FunctionId| {
        let mut tables = checking.object.struct_ops.iter();
        tables.any(|table| table.functions.iter().any(|(_, function)| function == id))
    };
    if !is_used(&id) {
        let why = "no table of .struct_ops has it: libbpf does not know what it is for";
        return vec![Finding::new(State::Loader, "struct_ops", why).errno("EINVAL")];
    }
    let mut findings = vec![];
    for table in &checking.object.struct_ops {
        let Some((member, _)) = table.functions.iter().find(|(_, function)| *function == id) else {
            continue;
        };
        let Some(local) = btf.get(table.type_id) else { continue };
        let name = essential(local.name);
        let text = String::from_utf8_lossy(name);
        let whole = [b"bpf_struct_ops_", name].concat();
        if !checking.types.has_type(&whole) {
            let why = format!("the kernel has no struct_ops {text}");
            findings
                .push(Finding::new(State::Absent, String::from_utf8_lossy(table.name), why).errno("ESRCH"));
        } else if !checking.types.has_member(name, member) {
            let member = String::from_utf8_lossy(member);
            let why = format!("struct {text} of the kernel has no member {member}");
            findings.push(Finding::new(State::Field, member, why).errno("ENOTSUP"));
        }
    }
    findings
}
