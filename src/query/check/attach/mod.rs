//! Where programs that name a function or event are attached, and what the kernel says to it: kprobes of BPF, kprobe.multi,
//! trampolines, tracepoints. Checked by booting the kernels: `tests/kernel/live/{named,trampolines}`.
mod errno;
mod events;
mod named;
mod sleepable;
mod trampoline;
mod wildcards;

use super::outcome::{Finding, State};
use crate::pattern::Pattern;
use crate::query::index::functions;
use crate::query::index::release::Release;
use crate::query::index::symbols;
use crate::query::verdict::reason::Reason;
use crate::query::verdict::{Judge, Verdict};
use crate::symbol_name;
pub use events::Found;
use named::Named;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::machine;
pub use trampoline::Trampoline;
pub use wildcards::{Each, Expansion};

/// Judges attach points on a kernel.
pub struct Attacher<'a> {
    view: &'a View<'a>,
    judge: Judge<'a, 'static>,
    /// Whether the kernel refuses a name of several functions for kprobes: it has `number_of_same_symbols`
    /// (kernel/trace/trace_kprobe.c, 6.7 and stable kernels of that time). Older ones take one of them.
    refuses_ambiguous: bool,
    /// Major and minor of the release.
    line: Option<(u32, u32)>,
}

impl<'a> Attacher<'a> {
    /// Determines the rules of a kernel. Cost: a look at a name.
    pub fn new(view: &'a View<'a>) -> Self {
        let refuses_ambiguous = view.name(b"number_of_same_symbols").is_some();
        let release = String::from_utf8_lossy(view.release());
        let line = Release::parse(&release).line().split_once('.');
        let line = line.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        Self { view, judge: Judge::new(view), refuses_ambiguous, line }
    }

    /// The index.
    pub fn view(&self) -> &'a View<'a> {
        self.view
    }

    /// The name of an object; empty if there is none.
    fn module_name(&self, object: ObjectId) -> &'a [u8] {
        self.view.objects.get(object.index()).map_or(&[], |object| self.view.string(object.name))
    }

    /// The line of the release: major and minor. Rules hang on it that nothing in the index shows.
    pub fn line(&self) -> Option<(u32, u32)> {
        self.line
    }

    /// A kprobe or kretprobe of BPF at a function, which is given by its name to perf's kprobe PMU.
    pub fn kprobe(&self, module: Option<&[u8]>, name: &[u8], offset: u64, is_return: bool) -> Vec<Finding> {
        let named = Named::find(self, module, name);
        let Some(first) = named.symbols.first() else {
            return named.missing(errno::KPROBE_ABSENT);
        };
        let mut findings = vec![];
        if named.symbols.len() > 1 {
            findings.push(named.ambiguous());
        }
        let (object, symbol) = *first;
        let pc = u32::try_from(offset).ok().and_then(|offset| symbol.pc.get().checked_add(offset));
        let verdict = match pc {
            Some(pc) => self.judge.verdicts(object, pc, false).definition(is_return),
            None => Verdict::No(Reason::NotBoundary),
        };
        if let Verdict::No(reason) = verdict {
            findings.push(refusal(name, "a kprobe", reason, errno::kprobe(reason)));
        }
        if offset == 0 {
            findings.extend(named.taken_for_the_next());
            findings.extend(named.partial());
        }
        findings.extend(named.module());
        findings
    }

    /// The function that implements a system call, as `ksyscall` and `kprobe:syscall` of the tools find it: with the
    /// architecture's prefix where the kernel has wrappers (`attach_ksyscall`, libbpf 1.7).
    pub fn system_call(&self, name: &[u8], is_return: bool) -> Vec<Finding> {
        let prefix: &[u8] = match self.view.machine() {
            machine::X86_64 => b"__x64_",
            machine::AARCH64 => b"__arm64_",
            machine::RISCV => b"__riscv_",
            machine::S390 => b"__s390x_",
            _ => b"",
        };
        let wrapped = [prefix, b"sys_", name].concat();
        let plain = [&b"__se_sys_"[..], name].concat();
        let name = if self.view.name(&wrapped).is_some() { wrapped } else { plain };
        self.kprobe(None, &name, 0, is_return)
    }

    /// kprobe.multi, and fprobe: at each function with an ftrace site whose name matches. A name without wildcards has to be
    /// there.
    pub fn multi(&self, pattern: &[u8]) -> Vec<Finding> {
        let text = String::from_utf8_lossy(pattern);
        // `bpf_kprobe_multi_link_attach` (kernel/trace/bpf_trace.c); Debian's cloud kernels of 6.1 are without.
        if self.view.option(b"FTRACE").is_some() && self.view.option(b"FPROBE").is_none() {
            let why = "the kernel has no fprobe (CONFIG_FPROBE)";
            return vec![Finding::new(State::NoSite, text, why).errno("EOPNOTSUPP")];
        }
        if !pattern.iter().any(|byte| matches!(byte, b'*' | b'?')) {
            let named = Named::find(self, None, pattern);
            if named.symbols.is_empty() {
                return named.missing(errno::SYMBOL_ABSENT);
            }
            let verdicts = named
                .symbols
                .iter()
                .map(|(object, symbol)| self.judge.verdicts(*object, symbol.pc.get(), false).ftrace());
            let best = verdicts.reduce(|best, next| if best.is_ok() { best } else { next });
            let refused = best.and_then(Verdict::reason);
            let refused = refused.map(|reason| refusal(pattern, "ftrace", reason, errno::multi(reason)));
            return refused.into_iter().chain(named.partial()).chain(named.module()).collect();
        }
        let Ok(asked) = Pattern::new(&text) else {
            return vec![Finding::new(State::Loader, text, "the pattern is wrong")];
        };
        let is_there = functions::names(self.view, &asked).into_iter().any(|name| {
            self.view.symbols_named(name).iter().any(|id| {
                let object = self.view.object_of_symbol(id);
                functions::symbol(self.view, id).is_some_and(|symbol| {
                    symbols::is_code(self.view, object, symbol)
                        && self.judge.verdicts(object, symbol.pc.get(), false).ftrace().is_ok()
                })
            })
        });
        match is_there {
            true => vec![],
            false => {
                vec![
                    Finding::new(State::Absent, text, "no function with an ftrace site matches")
                        .errno("ENOENT"),
                ]
            }
        }
    }
}

/// The finding for a function that the kernel refuses.
fn refusal(name: &[u8], mechanism: &str, reason: Reason, errno: Option<&'static str>) -> Finding {
    let name = String::from_utf8_lossy(name).into_owned();
    let (state, why) = match reason {
        Reason::Undecided(unknown) => (State::Undecided, format!("not decided, as not known: {unknown}")),
        Reason::Patched => {
            (State::Undecided, "the instruction depends on the processor that the kernel runs on".to_owned())
        }
        Reason::AmbiguousName => (State::Ambiguous, "several functions have the name".to_owned()),
        Reason::NoBtf => (State::Trampoline, "the function is not in the kernel's BTF".to_owned()),
        Reason::Inline => (State::Inlined, "it is inlined".to_owned()),
        Reason::Variadic | Reason::StructArgument | Reason::StructReturn | Reason::TooManyArguments => {
            (State::Trampoline, format!("BPF trampolines do not take it: {}", reason.name()))
        }
        Reason::NoTrampoline => {
            (State::Trampoline, "the kernel has no BPF trampolines on this architecture".to_owned())
        }
        reason => (State::NoSite, format!("{mechanism} cannot be placed there: {}", reason.name())),
    };
    Finding::new(state, name, why).errno(errno)
}

/// Names that begin with a name, or have underscores before it: what a function is called after a change. Cost: a few
/// binary searches.
pub(super) fn similar(view: &View<'_>, name: &[u8]) -> Vec<String> {
    const MOST: usize = 3;
    // Shorter names begin too many others.
    const SHORTEST: usize = 4;
    if name.len() < SHORTEST {
        return vec![];
    }
    let has_code = |id: &usize| {
        let id = probeidx_format::id::NameId::new(*id as u32);
        view.symbols_named(id).iter().any(|symbol| {
            let object = view.object_of_symbol(symbol);
            functions::symbol(view, symbol).is_some_and(|found| symbols::is_code(view, object, found))
        })
    };
    let text = |id: usize| view.string(view.names.at(id).name);
    let starting =
        |start: &[u8]| functions::names_starting(view, start).filter(has_code).map(text).collect::<Vec<_>>();
    let mut found: Vec<&[u8]> = [&b""[..], b"_", b"__", b"do_", b"__do_"]
        .iter()
        .flat_map(|before| starting(&[before, name].concat()))
        .filter(|found| *found != name && !symbol_name::is_prefix(found))
        .collect();
    found.sort_by_key(|found| (found.len(), *found));
    found.dedup();
    found.iter().take(MOST).map(|found| String::from_utf8_lossy(found).into_owned()).collect()
}
