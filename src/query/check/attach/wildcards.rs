//! Wildcards as bpftrace expands them: to the functions that ftrace lists (`available_filter_functions`), each of which is
//! attached by itself, and goes without a word if the kernel refuses it (`ProbeMatcher`, bpftrace 0.17 and later).
use super::super::outcome::{Finding, State};
use super::Attacher;
use crate::bpftrace::Version;
use crate::pattern::Pattern;
use crate::query::index::{functions, symbols};
use crate::query::verdict::reason::Reason;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SymbolRecord;

/// At most so many probes of one kind are taken: `BPFTRACE_MAX_PROBES` up to 0.22, and since then.
const MOST: [usize; 2] = [512, 1024];

/// What is in the names of functions that match nothing.
const PART: &[u8] = b".part.";

/// What the functions that a pattern matches are attached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// A kprobe, or kretprobe.
    Kprobe {
        /// Whether it is one at returns.
        is_return: bool,
    },
    /// A trampoline.
    Trampoline,
}

/// A pattern, and how its functions are attached.
#[derive(Clone, Copy, Debug)]
pub struct Expansion<'p> {
    /// A name or a pattern.
    pub module: Option<&'p str>,
    pub pattern: &'p str,
    pub each: Each,
    /// Whether each is attached by itself, whatever the kernel can do.
    pub one_by_one: bool,
    pub version: Option<Version>,
}

/// Functions that bpftrace leaves out (`is_bad_func`, from 0.21 on).
fn is_left_out(name: &[u8]) -> bool {
    matches!(name, b"arch_cpu_idle" | b"default_idle" | b"bpf_dispatcher_xdp_func")
        || name.starts_with(b"rcu_")
}

impl Attacher<'_> {
    /// The functions with an ftrace site that a pattern matches, each attached by itself: one of them has to be taken, from 0.24
    /// on all. Those of modules count where no other is there, as their modules have to be loaded. Cost: linear in the names
    /// that match.
    pub fn expanded(&self, asked: &Expansion<'_>) -> Vec<Finding> {
        let Expansion { module, pattern, each, one_by_one, version } = *asked;
        let leaves_out = version.is_some_and(|version| version >= Version::WITHOUT_BAD);
        let wants_all = version.is_some_and(|version| version >= Version::ALL_ATTACH);
        let (Ok(asked), Ok(of_module)) = (Pattern::new(pattern), module.map(Pattern::new).transpose()) else {
            return vec![Finding::new(State::Loader, pattern, "the pattern is wrong")];
        };
        // One module is found by its name, however it is spelled.
        let (modules, only) = match of_module {
            Some(Pattern::Glob(_)) => (of_module, None),
            _ => (None, module.map(str::as_bytes)),
        };
        let kernel = functions::kernel(self.view);
        let name_of = |object| if kernel == Some(object) { b"vmlinux" } else { self.module_name(object) };
        let is_asked = |object| modules.as_ref().is_none_or(|asked| asked.matches(name_of(object)));
        // kprobe.multi takes all at once, whatever their number, and minds no names.
        let (has_options, has_multi) =
            [&b"FTRACE"[..], b"FPROBE"].map(|option| self.view.option(option).is_some()).into();
        // Not of a module's: kprobe.multi has no names of modules.
        let is_multi = has_multi && !one_by_one && module.is_none() && matches!(each, Each::Kprobe { .. });
        let is_counted = has_options && !is_multi;
        let (mut of_kernel, mut is_taken, mut in_module) = (0, false, None);
        let mut refused: Vec<&[u8]> = vec![];
        for id in functions::names(self.view, &asked) {
            let name = self.view.string(self.view.names.at(id.index()).name);
            // Parts of functions match no pattern (0.17).
            if memchr::memmem::find(name, PART).is_some() || (leaves_out && is_left_out(name)) {
                continue;
            }
            let mut is_met = false;
            let named = symbols::code_named(self.view, only, name);
            for (object, symbol) in named.filter(|(object, _)| is_asked(*object)) {
                let verdicts = self.judge.verdicts(object, symbol.pc.get(), false);
                if !verdicts.ftrace().is_ok() {
                    continue;
                }
                let is_ok = match each {
                    Each::Kprobe { is_return } => verdicts.definition(is_return).is_ok(),
                    Each::Trampoline => {
                        let verdict = verdicts.trampoline();
                        // Not among those that BTF offers (`get_all_traceable_funcs_from_btf`).
                        if wants_all
                            && matches!(verdict.reason(), Some(Reason::NoBtf | Reason::TooManyArguments))
                        {
                            continue;
                        }
                        verdict.is_ok()
                    }
                };
                match kernel == Some(object) {
                    true => {
                        let minds =
                            matches!(each, Each::Kprobe { .. }) && !is_multi && self.refuses_ambiguous;
                        let is_ok = is_ok && !(minds && self.has_others(name));
                        is_taken |= is_ok;
                        is_met = true;
                        if !is_ok && refused.last() != Some(&name) {
                            refused.push(name);
                        }
                    }
                    false if is_ok => in_module = in_module.or(Some(object)),
                    false => {}
                }
            }
            of_kernel += usize::from(is_met);
        }
        let wrong = |state, reason: String| vec![Finding::new(state, pattern, reason)];
        let by_kernel = |state, reason: &str, errno| vec![Finding::new(state, pattern, reason).errno(errno)];
        match (of_kernel, in_module) {
            _ if is_counted && of_kernel > MOST[1] => {
                let reason = format!(
                    "{of_kernel} functions match, and bpftrace takes up to {} (BPFTRACE_MAX_PROBES)",
                    MOST[1]
                );
                wrong(State::Loader, reason)
            }
            _ if is_counted && of_kernel > MOST[0] && version.is_none_or(|v| v < Version::MORE_PROBES) => {
                let reason = format!(
                    "{of_kernel} functions match, and older versions of bpftrace take up to {} (BPFTRACE_MAX_PROBES)",
                    MOST[0]
                );
                wrong(State::Undecided, reason)
            }
            // kprobe.multi leaves out what it cannot take, and so did bpftrace of single ones up to 0.23.
            _ if is_taken && wants_all && !is_multi && !refused.is_empty() => {
                let first = String::from_utf8_lossy(refused[0]);
                let reason = format!(
                    "the kernel refuses {} of {of_kernel} functions that match, as {first}",
                    refused.len()
                );
                by_kernel(State::NoSite, &reason, "EINVAL")
            }
            _ if is_taken => vec![],
            (_, Some(object)) => vec![Finding::in_module(pattern, self.module_name(object))],
            (0, None) => by_kernel(State::Absent, "no function with an ftrace site matches", "ENOENT"),
            (_, None) => {
                by_kernel(State::NoSite, "the kernel takes none of the functions that match", "EINVAL")
            }
        }
    }

    /// Whether bpftrace finds a function of this name where it looks before it attaches a kprobe (0.25): among those that ftrace
    /// lists. `None` if the index does not tell.
    pub fn is_listed(&self, module: Option<&[u8]>, name: &[u8]) -> Option<bool> {
        self.view.option(b"FUNCTION_TRACER")?;
        let has_site = |(object, symbol): (ObjectId, SymbolRecord)| {
            self.judge.verdicts(object, symbol.pc.get(), false).ftrace().is_ok()
        };
        let is_left_out = memchr::memmem::find(name, PART).is_some() || is_left_out(name);
        Some(!is_left_out && symbols::code_named(self.view, module, name).any(has_site))
    }

    /// Whether several functions of the kernel have a name.
    fn has_others(&self, name: &[u8]) -> bool {
        let kernel = functions::kernel(self.view);
        symbols::code_named(self.view, None, name).filter(|(object, _)| Some(*object) == kernel).count() > 1
    }
}
