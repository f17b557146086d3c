//! Judges the hooks of TracingPolicies: each is a program.
use super::attach::{Attacher, Trampoline};
use super::outcome::{FileOutcome, Finding, ProgramOutcome, Severity, State};
use super::parameters;
use crate::pattern::Pattern;
use crate::policy::{Argument, Hook, Kind};
use crate::query::resolve::tracepoint;
use crate::query::spec::TraceSpec;
use crate::query::types::c_declaration::declare;
use probeidx_format::View;

/// The fields that every event has before its own (`trace_define_common_fields`, kernel/trace/trace_events.c); Tetragon counts
/// them.
const COMMON_FIELDS: usize = 4;

/// The structs that Tetragon reads where a policy gives these types (`ArgTypes`, pkg/generictypes of Tetragon 1.4).
const STRUCTS: [(&str, &str); 15] = [
    ("file", "struct file *"),
    ("path", "struct path *"),
    ("dentry", "struct dentry *"),
    ("sock", "struct sock *"),
    ("skb", "struct sk_buff *"),
    ("socket", "struct socket *"),
    ("cred", "struct cred *"),
    ("kiocb", "struct kiocb *"),
    ("iov_iter", "struct iov_iter *"),
    ("linux_binprm", "struct linux_binprm *"),
    ("bpf_map", "struct bpf_map *"),
    ("bpf_attr", "union bpf_attr *"),
    ("perf_event", "struct perf_event *"),
    ("user_namespace", "struct user_namespace *"),
    ("module", "struct module *"),
];

/// Judges hooks on the kernel of an index.
pub fn judge(view: &View<'_>, hooks: &[Hook]) -> FileOutcome {
    let judged = Judged { view, attacher: Attacher::new(view) };
    FileOutcome { programs: hooks.iter().map(|hook| judged.hook(hook)).collect(), findings: vec![] }
}

struct Judged<'a> {
    view: &'a View<'a>,
    attacher: Attacher<'a>,
}

/// What can be read at a hook.
enum Readable {
    /// It is not known.
    Any,
    /// So many fields.
    Fields(usize),
    /// Parameters of these types, in C.
    Parameters(Vec<String>),
}

impl Judged<'_> {
    fn hook(&self, hook: &Hook) -> ProgramOutcome {
        let name = hook.name.as_bytes();
        let one = |state, reason: &str| vec![Finding::new(state, "", reason)];
        let (word, mut findings, readable) = match &hook.kind {
            Kind::Function => {
                let mut findings = self.attacher.kprobe(None, name, 0, false);
                if hook.is_return {
                    findings.extend(self.attacher.kprobe(None, name, 0, true));
                }
                ("kprobe:", findings, self.parameters(name))
            }
            Kind::SystemCall => {
                let findings = self.attacher.system_call(name, false);
                ("syscall:", findings, self.system_call(&hook.name))
            }
            Kind::Event(system) => match self.attacher.event(system.as_bytes(), name) {
                Ok((found, notes)) => {
                    let fields = found.fields().map(|fields| fields.len() + COMMON_FIELDS);
                    ("tracepoint:", notes, fields.map_or(Readable::Any, Readable::Fields))
                }
                Err(finding) => ("tracepoint:", vec![*finding], Readable::Any),
            },
            Kind::RawTracepoint => match self.attacher.raw_tracepoint(name, "ENOENT") {
                Ok((found, notes)) => {
                    let types = found.parameters().map(|v| declare(self.view, v.type_id, "")).collect();
                    let is_known = found.prototype().is_some();
                    let readable = if is_known { Readable::Parameters(types) } else { Readable::Any };
                    ("rawtracepoint:", notes, readable)
                }
                Err(finding) => ("rawtracepoint:", vec![*finding], Readable::Any),
            },
            Kind::Lsm => {
                let findings = self.attacher.trampoline(None, name, Trampoline::Hook);
                ("lsm:", findings, self.parameters(&[b"bpf_lsm_", name].concat()))
            }
            Kind::User => ("uprobe:", one(State::Unindexed, "the program is not indexed"), Readable::Any),
            Kind::Unknown => {
                let reason = "Tetragon makes the list when it loads the policy, or there is none";
                ("", one(State::Undecided, reason), Readable::Any)
            }
        };
        let text = match &hook.kind {
            Kind::Event(system) => format!("{word}{system}:{}", hook.name),
            _ => format!("{word}{}", hook.name),
        };
        for finding in &mut findings {
            (finding.line, finding.column) = (hook.place.line, hook.place.column);
            finding.source.clone_from(&text);
        }
        // The second of a function that is refused twice says nothing new.
        let mut known: Vec<Finding> = vec![];
        findings.retain(|finding| {
            let is_new = !known.contains(finding);
            known.push(finding.clone());
            is_new
        });
        findings.extend(hook.arguments.iter().filter_map(|argument| of_argument(&text, argument, &readable)));
        let mut program = ProgramOutcome {
            name: text,
            line: hook.place.line,
            column: hook.place.column,
            findings,
            ..ProgramOutcome::default()
        };
        let mut errors = program.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let is_missing = errors.all(|f| matches!(f.state, State::Absent | State::Inlined | State::Renamed));
        if hook.may_be_missing && is_missing {
            program.forgive("the policy goes on without it (callNotFound)");
        }
        program
    }

    /// The parameters of the one function of a name.
    fn parameters(&self, name: &[u8]) -> Readable {
        match parameters::functions(self.view, None, name)[..] {
            [function] => {
                let parameters = self.view.variables(function).parameters();
                Readable::Parameters(parameters.map(|v| declare(self.view, v.type_id, "")).collect())
            }
            _ => Readable::Any,
        }
    }

    /// The arguments of a system call, by its event.
    fn system_call(&self, name: &str) -> Readable {
        let event = Pattern::literal(&format!("sys_enter_{name}"));
        let system = Some(Pattern::literal("syscalls"));
        let asked = TraceSpec { system, event, with_system_calls: true, by_number: None };
        let fields = tracepoint::matching(self.view, &asked).next().and_then(|event| event.fields());
        // The first is the number of the call.
        fields.map_or(Readable::Any, |fields| Readable::Fields(fields.len().saturating_sub(1)))
    }
}

fn of_argument(hook: &str, argument: &Argument, readable: &Readable) -> Option<Finding> {
    let index = argument.index?;
    let count = match readable {
        Readable::Any => return None,
        Readable::Fields(count) => *count,
        Readable::Parameters(types) => types.len(),
    };
    let source = match argument.kind.is_empty() {
        true => format!("index: {index}"),
        false => format!("index: {index}, type: {}", argument.kind),
    };
    let at = |finding: Finding| finding.at(argument.place.line, argument.place.column);
    if index as usize >= count {
        let reason = format!("{hook} has {count} arguments, counted from 0");
        return Some(at(Finding::new(State::Argument, source, reason)));
    }
    let Readable::Parameters(types) = readable else { return None };
    let (_, wanted) = STRUCTS.iter().find(|(kind, _)| *kind == argument.kind)?;
    let plain = types[index as usize].replace("const ", "").replace(" const", "");
    let is_same = |one: &str, other: &str| one.split_whitespace().eq(other.split_whitespace());
    if is_same(&plain.replace('*', " * "), &wanted.replace('*', " * ")) {
        return None;
    }
    let reason = format!("argument {index} of {hook} is a {}, no {wanted}", types[index as usize].trim());
    Some(at(Finding::new(State::Argument, source, reason).severity(Severity::Warning)))
}
