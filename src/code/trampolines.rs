//! The limits of BPF trampolines (fentry, fexit, fmod_ret, lsm) in a kernel, as object flags.
//!
//! Which functions are refused is in `btf_distill_func_proto` (kernel/bpf/btf.c) and `arch_prepare_bpf_trampoline`
//! (arch/*/net/bpf_jit_comp.c); the table stands in [`assumptions`](super::assumptions).
use super::assumptions::{self, Limits};
use super::rules::Kernel;
use object::elf::Machine;
use probeidx_format::record::ObjectRecord;

/// Names of symbols that [`limits`] wants to know of.
pub const DIRECT_CALLS: &[u8] = b"register_ftrace_direct";

/// The flags of a kernel. Without [`ObjectRecord::TRAMPOLINES`], its limits are unknown.
pub fn limits(machine: u16, kernel: &Kernel<'_>, has_direct_calls: bool) -> u32 {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let since = |from: Option<_>| kernel.version.zip(from).is_some_and(|(version, from)| version >= from);
    let looks_in_module = flag(since(Some(assumptions::LOOKS_IN_MODULE)), ObjectRecord::LOOKS_IN_MODULE);
    let is_proven =
        kernel.version.is_some_and(|v| (assumptions::TRAMPOLINES..=assumptions::PROVEN).contains(&v));
    // Whatever the machine: to a function of ftrace's they are attached by its direct calls alone.
    let of_all = looks_in_module | flag(is_proven && !has_direct_calls, ObjectRecord::NO_TRAMPOLINES);
    let is_known = |limits: &&Limits| is_proven && limits.machine == Machine(machine);
    let Some(limits) = assumptions::LIMITS.iter().find(is_known) else { return of_all };
    of_all
        | ObjectRecord::TRAMPOLINES
        | flag(since(Some(limits.structs)), ObjectRecord::STRUCT_ARGUMENTS)
        | flag(since(limits.unions), ObjectRecord::UNION_ARGUMENTS)
        | flag(since(Some(limits.stack)), ObjectRecord::STACK_ARGUMENTS)
}

/// Corrects the flags by the functions of the debug information: distributions backport what they show.
pub fn by_functions(flags: u32, machine: u16, exists: impl Fn(&[u8]) -> bool) -> u32 {
    let of_machine = |limits: &&Limits| limits.machine == Machine(machine);
    let Some(limits) = assumptions::LIMITS.iter().find(of_machine) else { return flags };
    // Static functions of the same file: the second one exists if the debug information has that file.
    match (exists(limits.stack_witness), exists(limits.file_witness)) {
        (true, _) => flags | ObjectRecord::STACK_ARGUMENTS,
        (false, true) => flags & !ObjectRecord::STACK_ARGUMENTS,
        (false, false) => flags,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Evidence;
    use crate::shapes::Shapes;
    use object::elf::{EM_AARCH64, EM_PPC64, EM_S390, EM_X86_64};

    const STRUCTS: u32 = ObjectRecord::STRUCT_ARGUMENTS;
    const STACK: u32 = ObjectRecord::STACK_ARGUMENTS;

    fn flags(machine: Machine, version: Option<(u32, u32)>) -> u32 {
        of(machine, version, true)
    }

    fn of(machine: Machine, version: Option<(u32, u32)>, has_direct_calls: bool) -> u32 {
        let shapes = Shapes::default();
        let kernel = Kernel { version, config: None, shapes: &shapes, evidence: Evidence::default() };
        limits(machine.0, &kernel, has_direct_calls)
    }

    #[test]
    fn limits_follow_the_release_and_are_unknown_outside_of_the_table() {
        let limits = |machine, version| flags(machine, Some(version)) & (STRUCTS | STACK);
        assert_eq!(limits(EM_X86_64, (5, 10)), 0);
        assert_eq!(limits(EM_X86_64, (6, 1)), STRUCTS);
        assert_eq!(limits(EM_X86_64, (7, 3)), STRUCTS | STACK);
        assert_eq!(limits(EM_AARCH64, (6, 1)), 0);
        let is_known = |machine, version| flags(machine, version) & ObjectRecord::TRAMPOLINES != 0;
        assert!(is_known(EM_X86_64, Some((6, 12))));
        assert!(!is_known(EM_X86_64, None) && !is_known(EM_X86_64, Some((5, 4))));
        assert!(!is_known(EM_X86_64, Some((99, 0))) && !is_known(EM_S390, Some((6, 12))));
    }

    #[test]
    fn without_direct_calls_there_are_none_on_any_machine() {
        let has_none =
            |machine, version, direct| of(machine, version, direct) & ObjectRecord::NO_TRAMPOLINES != 0;
        for machine in [EM_X86_64, EM_AARCH64, EM_PPC64, EM_S390] {
            assert!(has_none(machine, Some((6, 1)), false) && !has_none(machine, Some((6, 1)), true));
            assert!(!has_none(machine, None, false) && !has_none(machine, Some((5, 4)), false));
        }
    }

    #[test]
    fn what_the_debug_information_shows_counts_more_than_the_release() {
        let backported: &[&[u8]] = &[b"save_args", b"emit_prologue"];
        let with = |flags, names: &[&[u8]]| by_functions(flags, EM_X86_64.0, |name| names.contains(&name));
        assert_eq!(with(0, backported), STACK);
        assert_eq!(with(STACK, &[b"emit_prologue"]), 0);
        assert_eq!(with(STACK, &[]), STACK);
    }
}
