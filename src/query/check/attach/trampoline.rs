//! BPF trampolines: fentry, fexit, fmod_ret and LSM programs.
use super::super::outcome::{Finding, Severity, State};
use super::named::Named;
use super::{Attacher, errno, refusal, sleepable};
use crate::query::index::functions;
use probeidx_format::record::FunctionRecord;

/// What a trampoline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trampoline {
    /// fentry and fexit, of any function.
    Function,
    /// fmod_ret: of functions that may be made to fail.
    Modifying,
    /// LSM hooks.
    Hook,
}

impl Attacher<'_> {
    /// A program of a trampoline at a function, which libbpf looks for in BTF by its name.
    pub fn trampoline(&self, module: Option<&[u8]>, name: &[u8], kind: Trampoline) -> Vec<Finding> {
        if kind == Trampoline::Hook {
            return self.hook(name);
        }
        let named = Named::find(self, module, name);
        if named.symbols.is_empty() {
            return named.missing(errno::SYMBOL_ABSENT).into_iter().map(renamed).collect();
        }
        let verdicts = named
            .symbols
            .iter()
            .map(|(object, symbol)| self.judge.verdicts(*object, symbol.pc.get(), false).trampoline());
        // Of an ambiguous name, each symbol has the same verdict: which one is taken is not known.
        let worst = verdicts.filter_map(|verdict| verdict.reason()).max();
        let mut findings: Vec<Finding> = worst
            .map(|reason| refusal(name, "a trampoline", reason, errno::trampoline(reason)))
            .into_iter()
            .collect();
        // `check_attach_modify_return` (kernel/bpf/verifier.c).
        let may_fail = || name.starts_with(b"security_") || self.has_flag(name, FunctionRecord::MAY_FAIL);
        if findings.is_empty() && kind == Trampoline::Modifying && !may_fail() {
            let is_call = sleepable::is_system_call(name);
            let takes = if is_call { sleepable::takes_system_calls(self.line) } else { Some(false) };
            let text = String::from_utf8_lossy(name);
            match takes {
                Some(true) => {}
                Some(false) => {
                    let why =
                        "its result cannot be modified: it is neither security_… nor ALLOW_ERROR_INJECTION";
                    findings.push(Finding::new(State::Trampoline, text, why).errno("EINVAL"));
                }
                None => {
                    let why = "whether results of system calls can be modified is not known of this release";
                    findings.push(Finding::new(State::Undecided, text, why));
                }
            }
        }
        findings.extend(named.partial());
        findings.extend(named.module());
        findings
    }

    /// Whether a function of this name has a flag.
    pub(in super::super) fn has_flag(&self, name: &[u8], flag: u16) -> bool {
        functions::of_name(self.view, name).any(|function| function.has(flag))
    }

    /// A hook of the security modules: BTF has `bpf_lsm_NAME` (include/linux/bpf_lsm.h).
    fn hook(&self, name: &[u8]) -> Vec<Finding> {
        let text = String::from_utf8_lossy(name);
        let function = [b"bpf_lsm_", name].concat();
        let named = Named::find(self, Some(b"vmlinux"), &function);
        let Some((object, symbol)) = named.symbols.first() else {
            let reason = match self.view.option(b"BPF_LSM").is_none() {
                true => "the kernel has no LSM programs (CONFIG_BPF_LSM)",
                false => "the kernel has no such LSM hook",
            };
            return vec![Finding::new(State::Absent, text, reason).errno("ESRCH")];
        };
        // `bpf_lsm_verify_prog` and the like are no hooks (kernel/bpf/bpf_lsm.c); this one is everywhere.
        let knows_hooks = self.has_flag(b"bpf_lsm_file_open", FunctionRecord::LSM_HOOK);
        if knows_hooks && !self.has_flag(&function, FunctionRecord::LSM_HOOK) {
            return vec![
                Finding::new(State::Absent, text, "the kernel has no such LSM hook").errno("EINVAL"),
            ];
        }
        if self.has_flag(&function, FunctionRecord::DISABLED_HOOK) {
            let reason = "no program can be attached to this hook (bpf_lsm_disabled_hooks)";
            return vec![Finding::new(State::Trampoline, text, reason).errno("EINVAL")];
        }
        let refused = self.judge.verdicts(*object, symbol.pc.get(), false).trampoline().reason();
        let mut findings: Vec<Finding> = refused
            .map(|reason| refusal(&function, "a trampoline", reason, errno::trampoline(reason)))
            .into_iter()
            .collect();
        // The list may be given when the kernel starts, too.
        let is_listed = |list: &[u8]| list.split(|byte| matches!(byte, b',' | b'"')).any(|one| one == b"bpf");
        if self.view.option(b"LSM").is_some_and(|list| !is_listed(list)) {
            let reason =
                "it never runs unless the kernel is started with bpf in lsm=: CONFIG_LSM does not list it";
            findings.push(Finding::new(State::Partial, text, reason).severity(Severity::Warning));
        }
        findings
    }
}

/// BTF has no names of clones: a kprobe has.
fn renamed(finding: Finding) -> Finding {
    match finding.state {
        State::Renamed => {
            let instead: Vec<String> = finding.instead.iter().map(|name| format!("kprobe/{name}")).collect();
            finding.instead(instead)
        }
        _ => finding,
    }
}
