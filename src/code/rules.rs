//! Which rules a kernel has, by its symbols and code, or else by its version.
use super::assumptions;
use super::table::Tables;
use super::text::Text;
use super::{arm, arm64, ppc64, riscv64, s390x, trampolines, x86};
use crate::load::config::KernelConfig;
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use crate::shapes::Shapes;
use crate::version::Version;
use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, Machine};
use probeidx_format::record::ObjectRecord;
use std::collections::HashSet;

/// What matters about a kernel for reading its code.
#[derive(Clone, Copy)]
pub struct Kernel<'a> {
    pub version: Option<Version>,
    /// Its configuration, if available.
    pub config: Option<&'a KernelConfig>,
    /// The structs of its tables, if its types are available.
    pub shapes: &'a Shapes,
    /// Which rules it has, from the code of vmlinux.
    pub evidence: Evidence,
}

impl Kernel<'_> {
    /// Whether it has a rule: by `evidence`, else by its version. Kernels of unknown version are taken to be new.
    fn has(&self, evidence: Option<bool>, since: Version) -> bool {
        evidence.unwrap_or_else(|| self.version.is_none_or(|version| version >= since))
    }
    /// kprobe_events refuses functions without an ftrace site, unless the configuration says otherwise.
    pub fn checks_notrace(&self) -> bool {
        self.has(None, assumptions::CHECKS_NOTRACE)
    }
    /// x86: kprobes emulate instructions, and refuse those they cannot emulate.
    pub fn emulates(&self) -> bool {
        self.has(self.evidence.emulates, assumptions::EMULATES)
    }
    /// x86: kprobes refuse kCFI checks.
    pub fn keeps_type_checks(&self) -> bool {
        self.has(self.evidence.keeps_type_checks, assumptions::KEEPS_TYPE_CHECKS)
    }
    /// arm64: `ldar`, `cas` and similar instructions do not count as exclusive loads and stores.
    pub fn has_narrow_exclusive(&self) -> bool {
        self.has(self.evidence.has_narrow_exclusive, assumptions::NARROW_EXCLUSIVE)
    }
    /// The blacklist has the functions that must not be instrumented, of vmlinux and of modules.
    pub fn closes_noinstr(&self) -> bool {
        self.has(self.evidence.closes_noinstr, assumptions::CLOSES_NOINSTR)
    }
    /// x86: the blacklist no longer has the entries of interrupts.
    pub fn opens_irq_entries(&self) -> bool {
        self.has(self.evidence.opens_irq_entries, assumptions::OPENS_IRQ_ENTRIES)
    }
    /// riscv64: ftrace patches only the second instruction of an entry.
    pub fn patches_second(&self) -> bool {
        self.has(self.evidence.patches_second, assumptions::PATCHES_SECOND)
    }
    /// ppc64le: a probe where ftrace patches is one of ftrace, and a probe by name goes there.
    pub fn probes_ftrace_sites(&self) -> bool {
        let configured = self.config.map(|config| config.has("KPROBES_ON_FTRACE"));
        self.evidence.probes_ftrace_sites.or(configured).unwrap_or(true)
    }
    /// ppc64le: what counts as entry of a function with an ftrace site ends with that.
    pub fn ends_entries_at_sites(&self) -> bool {
        self.has(self.evidence.ends_entries_at_sites, assumptions::ENDS_ENTRIES_AT_SITES)
    }
    /// arm64: copies and fills of memory are refused.
    pub fn refuses_copies(&self) -> bool {
        self.has(self.evidence.refuses_copies, assumptions::REFUSES_COPIES)
    }
}

/// Rules that changed between versions, as the code of vmlinux shows them; `None` if it shows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub emulates: Option<bool>,
    pub keeps_type_checks: Option<bool>,
    pub closes_noinstr: Option<bool>,
    pub opens_irq_entries: Option<bool>,
    pub has_narrow_exclusive: Option<bool>,
    pub refuses_copies: Option<bool>,
    pub patches_second: Option<bool>,
    pub probes_ftrace_sites: Option<bool>,
    pub ends_entries_at_sites: Option<bool>,
    /// s390x: the known instructions.
    pub opcodes: Option<s390x::Opcodes>,
    /// ARM: which instructions are probed.
    pub decoder: Option<arm::Decoder>,
}

impl Evidence {
    /// Reads the evidence in vmlinux.
    pub fn of(object: &Elf<'_>, symbols: &[Symbol<'_>], text: &Text<'_>, tables: &Tables<'_, '_>) -> Self {
        match Machine(object.machine) {
            EM_X86_64 | EM_386 => x86::evidence(object.base, symbols, text, tables),
            EM_AARCH64 => arm64::evidence(symbols, text),
            EM_RISCV => riscv64::evidence(symbols),
            EM_PPC64 => ppc64::evidence(symbols, text),
            EM_S390 => Self { opcodes: s390x::Opcodes::of(object, symbols), ..Self::default() },
            EM_ARM => Self { decoder: arm::Decoder::of(object, symbols), ..Self::default() },
            _ => Self::default(),
        }
    }
}

/// The object flags that follow from the configuration or the functions of vmlinux. Functions that are always inlined
/// have no symbol; linking adds their flags from the debug information.
pub fn of_kernel(machine: u16, symbols: &[Symbol<'_>], kernel: &Kernel<'_>) -> u32 {
    const WITNESSES: [&[u8]; 4] =
        [b"start_kernel", b"register_kprobe", b"arch_adjust_kprobe_addr", trampolines::DIRECT_CALLS];
    let found: HashSet<&[u8]> = symbols.iter().map(|s| s.name).filter(|n| WITNESSES.contains(n)).collect();
    let has_kprobes = match kernel.config {
        Some(config) => config.has("KPROBES"),
        None => !found.contains(WITNESSES[0]) || found.contains(WITNESSES[1]),
    };
    let mut flags = if has_kprobes { 0 } else { ObjectRecord::NO_KPROBES };
    // `within_notrace_func`, kernel/trace/trace_kprobe.c
    let refuses = |c: &KernelConfig| c.has("DYNAMIC_FTRACE") && !c.has("KPROBE_EVENTS_ON_NOTRACE");
    if kernel.checks_notrace() && kernel.config.is_some_and(refuses) {
        flags |= ObjectRecord::REFUSES_NOTRACE;
    }
    if found.contains(WITNESSES[2]) {
        flags |= ObjectRecord::SKIPS_ENDBR;
    }
    if kernel.has(None, assumptions::REFUSES_TRAPS) {
        flags |= ObjectRecord::REFUSES_TRAPS;
    }
    let has_direct_calls = match kernel.config {
        Some(config) => config.has("DYNAMIC_FTRACE_WITH_DIRECT_CALLS"),
        None => !found.contains(WITNESSES[0]) || found.contains(WITNESSES[3]),
    };
    flags | trampolines::limits(machine, kernel, has_direct_calls)
}

/// The code of the first function of one of these names, with its address.
pub fn code_of<'d>(symbols: &[Symbol<'_>], text: &Text<'d>, names: &[&[u8]]) -> Option<(u32, &'d [u8])> {
    names.iter().find_map(|name| {
        let symbol = symbols.iter().find(|s| s.is_function() && s.name == *name)?;
        let code = text.at(symbol.pc)?;
        Some((symbol.pc, code.get(..symbol.size as usize).unwrap_or(code)))
    })
}
