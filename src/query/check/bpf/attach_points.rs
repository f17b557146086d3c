//! What the section of a program says, on a kernel.
use super::super::attach::Trampoline;
use super::super::outcome::{Finding, Severity, State};
use super::Checking;
use probeidx_bpf::object::Function;
use probeidx_bpf::section::{AttachType, Point, Section, When};

/// Whether the program can be attached where its section says.
pub fn findings(
    checking: &Checking<'_, '_, '_>,
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
    match point {
        Point::Kprobe { function, offset, is_return } => attacher.kprobe(None, function, offset, is_return),
        Point::KprobeMulti { pattern, .. } => attacher.multi(pattern),
        Point::Ksyscall { name, is_return } => attacher.system_call(name, is_return),
        Point::Tracepoint { category, name } => {
            attacher.event(category, name).map_or_else(|finding| vec![*finding], |(_, notes)| notes)
        }
        Point::RawTracepoint { name } => {
            attacher.raw_tracepoint(name, "ENOENT").map_or_else(|finding| vec![*finding], |(_, notes)| notes)
        }
        Point::Btf { module, name, prefix, .. } => match prefix {
            "btf_trace_" => attacher
                .raw_tracepoint(name, "ESRCH")
                .map_or_else(|finding| vec![*finding], |(_, notes)| notes),
            "bpf_lsm_" => attacher.trampoline(None, name, Trampoline::Hook),
            "bpf_iter_" => attacher.iterator(name),
            _ => {
                let kind = match section.definition.attach {
                    Some(AttachType::ModifyReturn) => Trampoline::Modifying,
                    _ => Trampoline::Function,
                };
                attacher.trampoline(module, name, kind)
            }
        },
        Point::StructOps => vec![],
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
