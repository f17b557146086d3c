//! Assumptions about kernels, each with its proof and the range of versions seen. What a kernel itself reveals takes
//! precedence: its types ([`shapes`](crate::shapes)), the sizes in its section headers, its symbols, its code.
//!
//! | assumption | evidence used first | assumed only without it | proven by | seen |
//! | --- | --- | --- | --- | --- |
//! | size and members of the structs of tables | types of vmlinux (BTF, else DWARF), or of a module indexed without vmlinux; `sh_entsize` | [`SHAPES`]: the first by which every entry is valid | `tests/kernel/live`, `tests/suite/tables` | 5.10 to 7.3 |
//! | the last `paravirt_patch_site` lacks its padding | length of the table | | 5.10 booted | to 5.10; 6.1 pads it, 6.8 has none |
//! | a table exists if a function reads it | size of that function: an empty one reads none ([`EMPTY`]) | | clang build of 6.1 | 5.10 to 7.3 |
//! | x86: instructions that raise exceptions are refused | functions of the debug information (`is_exception_insn` or its callers) | version ≥ [`REFUSES_TRAPS`] | 6.1, 6.12, 7.2 booted | 6.9 to 7.3 |
//! | x86: which instructions are emulated, and so refused if they cannot be | `kprobe_emulate_*` functions of vmlinux | version ≥ [`EMULATES`] | 5.10, 6.1 booted | 5.13 to 7.3 |
//! | x86: an instruction of 15 bytes leaves no room for the breakpoint behind its copy, and is refused | as above: kprobes that emulate put one there | version ≥ [`EMULATES`] | 7.3 booted: no-ops of LLVM | 5.13 to 7.3 |
//! | x86: type checks of indirect calls (kCFI) are refused | a call of `is_cfi_trap` in the code that checks probes | version ≥ [`KEEPS_TYPE_CHECKS`] | 6.1 of clang indexed, not booted | 6.6 to 7.3 |
//! | i386: the rules of kprobes, in the same files, are those of x86-64; `pop %ds` counts as a load of `%ss` | as above | | 6.1 686-pae booted, 28,627 requests; `pop %ds` was not among them | 6.1 |
//! | i386: no-ops of static branches are `mov %esi, %esi` and a `lea` of 5 bytes | code at the entries of `__jump_table` | | 6.1 686-pae booted | 6.1 |
//! | i386: parameters are passed in `%ax`, `%dx`, `%cx`, then on the stack (`-mregparm=3`) | locations in the debug information; nothing is assumed without them | | values fetched in the booted 6.1 686-pae | 6.1 |
//! | arm64: which instructions count as exclusive loads or stores | the mask in the code of `arm_kprobe_decode_insn` | version ≥ [`NARROW_EXCLUSIVE`] | 5.10, 6.1, 6.12, 7.2 booted | 6.15 to 7.3: narrow |
//! | arm64: copies and fills of memory cannot be stepped | the mask in the decoder's code | version ≥ [`REFUSES_COPIES`] | 6.1, 6.12 booted | 6.12 to 7.3 |
//! | riscv64: which instructions are refused, and that compressed jumps are emulated | version ≥ [`RISCV64`]; undecided for older ones | | 6.12, 7.2 booted, 4,536 requests | 6.11 to 7.2 |
//! | riscv64: ftrace patches only the second instruction of an entry | function `ftrace_call_adjust` of vmlinux, no-ops before functions | version ≥ [`PATCHES_SECOND`] | 6.12, 7.2 booted: all ftrace sites | 6.16 to 7.2 |
//! | riscv64: names of registers for fetch arguments (`regoffset_table`, arch/riscv/kernel/ptrace.c) | | all of them | values fetched in the booted 7.2: 31 definitions | 7.2 |
//! | 32-bit ARM, mips64, loongarch64: names of registers (`regoffset_table`, arch/*/kernel/ptrace.c) and which pass parameters (AAPCS32, n64, LoongArch psABI) | | all of them | ARM: values of 61 definitions fetched in the booted 6.1 and 6.12 armmp; the others: source of 7.x, of mips64 also the locations at entries in the debug information | 6.1 to 7.2 |
//! | ARM: GCC is eight bytes off in location lists, of functions without frame pointer and saved arguments, in ARM code (`query/value/gcc_of_arm.rs`) | compiler and options of the unit, rules of the frame | | its source; programs of GCC 12; values fetched in the booted 6.1 and 6.12 armmp | GCC 10 to 16 |
//! | ARM: the handler of a probe is called only where the condition of the instruction holds (`kprobe_handler`) | | always | 6.1 armmp booted: no event at a branch that is not taken | source of 5.10 to 7.2 |
//! | ARM: which instructions are probed | the tables of its decoder (`probes_decode_arm_table`), from version [`ARM`] on | nothing: undecided without them, and where kprobes go by those of Thumb code | 5.10, 6.1, 6.12, 7.2 armmp booted | 5.10 to 7.2 |
//! | ARM: what stores more than 64 bytes below the stack, or by a register, is refused (`arm_check_stack`) | | always | source; 5.10 to 7.2 armmp booted, whose code has hardly any | 5.10 to 7.2 |
//! | ARM: entries, and code that is mapped at its own address, are refused without being listed (`arch_within_kprobe_blacklist`) | symbols that bound them | | 5.10 to 7.2 armmp booted | 5.10 to 7.2 |
//! | ARM: on one processor, instructions are replaced by those in `__smpalt_begin`; their places are addresses, or offsets from their own | which of both lead to code | | 5.10 and 7.2 indexed; none was booted on a machine that cannot have a second | 5.10 to 7.2 |
//! | s390x: which instructions are probed | the tables of its disassembler (`opcode`, `opcode_offset`) | nothing: undecided without them | 6.12, 7.2 booted | 6.1 to 7.2 |
//! | s390x: which known instructions are still refused, `probe_is_prohibited_opcode` | | the list of 6.12 | 6.12, 7.2 booted | 6.1 to 7.2: one list |
//! | ppc64le: which instructions are refused (`can_single_step`) | version ≥ [`PPC64LE`]; undecided for older ones | | 6.1, 6.12, 7.2 booted, 33,000 requests | 6.1 to 7.2 |
//! | ppc64le: a probe by the name of a symbol goes to the ftrace site in its first 16 bytes, or else to its local entry (`kprobe_lookup_name`) | which instructions stand between the entries and where most sites are; symbol `arch_prepare_kprobe_ftrace`, configuration | | 6.12 booted: one at `_text+N` of `vfs_write` never fired, one by name did | 6.1 to 7.2 |
//! | ppc64le: the first 16 bytes of a function count as its entry (`arch_kprobe_on_func_entry`); since 6.13 those up to its ftrace site, or 8 | a call of `ftrace_location` in the code of `arch_adjust_kprobe_addr` | version ≥ [`ENDS_ENTRIES_AT_SITES`] | 6.1, 6.12, 7.2 booted | 6.1 to 7.2 |
//! | ppc64le: of the code that is replaced for the processor, kprobes take either (`__ftr_fixup` and others), but for what is recorded | code of both | | 6.1, 6.12, 7.2 booted | 6.1 to 7.2 |
//! | x86: modules list no ftrace sites in `__patchable_function_entries` | kernels before 7.3 have that section for CONFIG_CALL_PADDING only, and list sites in `__mcount_loc` | | 6.12 booted: libcrc32c has the section and no site | 6.2 to 7.3 |
//! | tables of symbols aligned to 4 hold offsets from their own place, and have no base | the tables' distances in the image | | 7.3 of amd64 and arm64 booted from their images | 7.0 to 7.3 |
//! | tracepoints: `name` is the first member of `struct tracepoint`, `class` and `tp` follow the list of `struct trace_event_call`, `system` is the first of `struct trace_event_class`; `struct syscall_metadata` has name, number, count, types and names | types of vmlinux | offsets ([`Layout::assumed`](super::layout::Layout::assumed)), held against the symbols `__tracepoint_NAME` and `event_class_NAME`; system calls: version < [`COUNTS_PLAINLY`] | Ubuntu's 4.15, 5.3 and 5.6 booted: all names that tracefs lists | 4.15 to 7.3 |
//! | areas of the kprobe blacklist | symbols that bound them | | `tests/kernel/live/listed` | 5.10 to 7.3 |
//! | x86: the blacklist has `.noinstr.text`, and no longer the entries of interrupts | the bounds that its code names (`arch_populate_kprobe_blacklist`) | version ≥ [`CLOSES_NOINSTR`], [`OPENS_IRQ_ENTRIES`] | Ubuntu's 5.4 booted, which has that section without closing it; 5.10 to 7.3 booted | 5.4 to 7.3 |
//! | a symbol with a suffix is judged by the name before it, found in vmlinux or else in a loaded module (`within_notrace_func`, `within_kprobe_blacklist`) | symbols; a capture tells which modules are loaded | undecided if it depends on that | 7.3 booted: `node_copy.isra.0`, beside dm_persistent_data | 5.10 to 7.3 |
//! | `__pfx_`, `__cfi_` symbols are refused | functions in the debug information (`is_cfi_preamble_symbol`) | refused, with only BTF or symbols | 6.1, 6.12 booted | 6.6 to 7.3 |
//! | kprobe_events refuses functions without an ftrace site | configuration; functions in the debug information (`within_notrace_func`) | version ≥ [`CHECKS_NOTRACE`] | Ubuntu's 4.15 booted, which does not; 5.3 to 7.2 booted | 4.15 to 7.3 |
//! | the source tree is that of the unit of `init/main.c` | its name and compilation directory | paths stay unchanged | `tests/suite/built`; 6.1 indexed as built by GCC and by clang | 6.1; for rt and Rust only the directories were checked |
//! | x86: `endbr64` and the callee of an ftrace site preserve all registers | table of ftrace sites; `endbr64` in the code | | `tests/suite/built`; values fetched in a module of clang 16 on 6.1 booted | 6.1 |
//! | BPF trampolines (fentry, fexit, fmod_ret, lsm): variadic functions, and structs and unions returned by value, are refused (`btf_distill_func_proto`) | | always | 5.10, 6.1, 7.3 booted | 5.10 to 7.3 |
//! | BPF trampolines: structs of up to 16 bytes are passed, else none | | version ≥ [`Limits::structs`]; unions ≥ [`Limits::unions`] | 5.10, 6.1, 7.3 booted (x86-64), 7.3 (arm64), 7.2 (ppc64le) | 5.10 to 7.3 |
//! | BPF trampolines: up to 12 slots are passed (`MAX_BPF_FUNC_ARGS`), else those in registers, where a struct takes one for each 8 bytes | [`Limits::stack_witness`] in the debug information | version ≥ [`Limits::stack`] | 5.10, 6.1, 7.3 booted (x86-64), 7.2 (ppc64le); source of arm64 | 5.10 to 7.3 |
//! | BPF trampolines: none can be attached without direct calls of ftrace | symbol `register_ftrace_direct`, or CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS | | source of arm64, which has them since 6.4; 6.1 and 6.12 of ppc64le booted | 5.10 to 7.3 |
//! | BPF trampolines: the limits of other machines and releases | | undecided | | |
//! | BPF trampolines: a function of a module is looked up in that module, else by its name in vmlinux and all modules (`bpf_check_attach_target`, kernel/bpf/verifier.c) | | version ≥ [`LOOKS_IN_MODULE`] | source of 6.4 | 6.4 to 7.3 |
//! | the kernel cuts `.llvm.N` from its own names | CONFIG_LTO_CLANG, and that string among its constants | not cut | source of 6.1.192 | 5.13 to 6.10 |
use crate::shapes::Shape;
use crate::version::Version;
use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, Machine};

/// The newest kernel on which any of this was proven by booting it.
pub const PROVEN: Version = (7, 3);

/// A function of this size or less does nothing: any that walks a table is longer.
pub const EMPTY: u32 = 24;

/// `can_probe` refuses INT and UD since (arch/x86/kernel/kprobes/core.c).
pub const REFUSES_TRAPS: Version = (6, 9);
/// Kprobes emulate instructions instead of stepping them since (arch/x86/kernel/kprobes/core.c).
pub const EMULATES: Version = (5, 13);
/// `can_probe` refuses kCFI checks since (arch/x86/kernel/kprobes/core.c).
pub const KEEPS_TYPE_CHECKS: Version = (6, 6);
/// `populate_kprobe_blacklist` lists `.noinstr.text` since (kernel/kprobes.c).
pub const CLOSES_NOINSTR: Version = (5, 8);
/// `arch_populate_kprobe_blacklist` leaves out `.irqentry.text` since (arch/x86/kernel/kprobes/core.c).
pub const OPENS_IRQ_ENTRIES: Version = (5, 8);
/// `aarch64_insn_is_load_ex` and `_store_ex` test bit 23 since (arch/arm64/include/asm/insn.h).
pub const NARROW_EXCLUSIVE: Version = (6, 15);
/// `aarch64_insn_is_steppable` refuses copies and fills of memory since (arch/arm64/kernel/probes/decode-insn.c).
pub const REFUSES_COPIES: Version = (6, 12);

/// kprobe_events refuses functions without an ftrace site since (`within_notrace_func`, kernel/trace/trace_kprobe.c).
pub const CHECKS_NOTRACE: Version = (4, 19);
/// `nb_args` of `struct syscall_metadata` is a whole `int` before (include/trace/syscall.h; a bit field in 7.2).
pub const COUNTS_PLAINLY: Version = (7, 0);

/// Older kernels have other rules: they refuse some compressed jumps, or accept kprobes where ftrace patches
/// (arch/riscv/kernel/probes/).
pub const RISCV64: Version = (6, 11);
/// `ftrace_call_adjust` skips an instruction since (arch/riscv/kernel/ftrace.c).
pub const PATCHES_SECOND: Version = (6, 16);

/// `arch_prepare_kprobe` refuses all that cannot be stepped since (arch/powerpc/kernel/kprobes.c); older kernels refuse less.
pub const PPC64LE: Version = (5, 19);
/// `arch_kprobe_on_func_entry` asks ftrace since (arch/powerpc/kernel/kprobes.c).
pub const ENDS_ENTRIES_AT_SITES: Version = (6, 13);

/// `arch_within_kprobe_blacklist` refuses entries since 5.1 (arch/arm/probes/kprobes/core.c); of older ones than this none was tried.
pub const ARM: Version = (5, 10);

/// BPF trampolines with these limits exist since; x86-64 has them since 5.5.
pub const TRAMPOLINES: Version = (5, 10);
/// `bpf_check_attach_target` looks up a function of a module in that module since (kernel/bpf/verifier.c).
pub const LOOKS_IN_MODULE: Version = (6, 4);

/// The limits of BPF trampolines on a machine.
pub struct Limits {
    /// `e_machine`.
    pub machine: Machine,
    /// Structs of up to 16 bytes are passed since.
    pub structs: Version,
    /// Unions of up to 16 bytes are passed since; `None` if that is not proven.
    pub unions: Option<Version>,
    /// Up to 12 slots are passed since.
    pub stack: Version,
    /// A static function that came with them.
    pub stack_witness: &'static [u8],
    /// A static function of the same file that was there before.
    pub file_witness: &'static [u8],
}

/// `arch_prepare_bpf_trampoline` (arch/*/net/bpf_jit_comp.c): x86-64 counts registers against `MAX_BPF_FUNC_ARGS` since
/// 6.6; arm64 refused structs in 6.1, and more than 8 registers until `calc_arg_aux`.
pub const LIMITS: &[Limits] = &[
    Limits {
        machine: EM_X86_64,
        structs: (6, 1),
        unions: Some((7, 0)),
        stack: (6, 6),
        stack_witness: b"save_args",
        file_witness: b"emit_prologue",
    },
    Limits {
        machine: EM_AARCH64,
        structs: (6, 6),
        unions: Some((7, 3)),
        stack: (6, 17),
        stack_witness: b"calc_arg_aux",
        file_witness: b"prepare_trampoline",
    },
    // It has trampolines since.
    Limits {
        machine: EM_PPC64,
        structs: (6, 13),
        unions: Some((7, 0)),
        stack: (6, 13),
        stack_witness: b"invoke_bpf_prog",
        file_witness: b"bpf_jit_fixup_addresses",
    },
];

/// A known layout of a struct.
pub struct Assumed {
    name: &'static str,
    machines: &'static [Machine],
    size: u32,
    members: &'static [(&'static str, u32)],
}

const ALL: &[Machine] = &[EM_X86_64, EM_AARCH64, EM_S390, EM_PPC64, EM_RISCV];
const X86_64: &[Machine] = &[EM_X86_64];
const X86: &[Machine] = &[EM_X86_64, EM_386];
const ARM64: &[Machine] = &[EM_AARCH64];
const PPC64: &[Machine] = &[EM_PPC64];
const RISCV: &[Machine] = &[EM_RISCV];
const S390X: &[Machine] = &[EM_S390];
const I386: &[Machine] = &[EM_386];
const ARM32: &[Machine] = &[EM_ARM];

/// Layouts for kernels whose types are unavailable, older ones first.
pub const SHAPES: &[Assumed] = &[
    // include/linux/jump_label.h, 5.10 to 7.3
    Assumed { name: "jump_entry", machines: ALL, size: 16, members: &[("code", 0), ("target", 4)] },
    // arch/x86/include/asm/jump_label.h, to 4.18: addresses
    Assumed { name: "jump_entry", machines: X86_64, size: 24, members: &[("code", 0), ("target", 8)] },
    // include/linux/static_call_types.h, 5.10 to 7.3
    Assumed { name: "static_call_site", machines: ALL, size: 8, members: &[("addr", 0)] },
    // include/asm-generic/bug.h: with CONFIG_DEBUG_BUGVERBOSE, without it, and with a format since 6.19
    Assumed { name: "bug_entry", machines: ALL, size: 12, members: &[("bug_addr_disp", 0)] },
    Assumed { name: "bug_entry", machines: ALL, size: 8, members: &[("bug_addr_disp", 0)] },
    Assumed {
        name: "bug_entry",
        machines: ALL,
        size: 16,
        members: &[("bug_addr_disp", 0), ("format_disp", 4)],
    },
    Assumed { name: "bug_entry", machines: ALL, size: 20, members: &[("bug_addr_disp", 0)] },
    // arch/x86/include/asm/alternative.h: 5.13 to 6.2, since 6.3, to 5.12
    Assumed {
        name: "alt_instr",
        machines: X86,
        size: 12,
        members: &[("instr_offset", 0), ("repl_offset", 4), ("instrlen", 10), ("replacementlen", 11)],
    },
    Assumed {
        name: "alt_instr",
        machines: X86,
        size: 14,
        members: &[("instr_offset", 0), ("repl_offset", 4), ("instrlen", 12), ("replacementlen", 13)],
    },
    Assumed {
        name: "alt_instr",
        machines: X86,
        size: 13,
        members: &[("instr_offset", 0), ("repl_offset", 4), ("instrlen", 10), ("replacementlen", 11)],
    },
    // arch/arm64/include/asm/alternative.h, 5.10 to 7.3
    Assumed {
        name: "alt_instr",
        machines: ARM64,
        size: 12,
        members: &[("orig_offset", 0), ("alt_offset", 4), ("orig_len", 10), ("alt_len", 11)],
    },
    // arch/s390/include/asm/alternative.h: since 6.11, since 5.19, older
    Assumed {
        name: "alt_instr",
        machines: S390X,
        size: 13,
        members: &[("instr_offset", 0), ("repl_offset", 4), ("instrlen", 12)],
    },
    Assumed {
        name: "alt_instr",
        machines: S390X,
        size: 11,
        members: &[("instr_offset", 0), ("repl_offset", 4), ("instrlen", 10)],
    },
    Assumed {
        name: "alt_instr",
        machines: S390X,
        size: 12,
        members: &[("instr_offset", 0), ("repl_offset", 4), ("instrlen", 10)],
    },
    // arch/x86/include/asm/paravirt_types.h, to 6.7
    Assumed {
        name: "paravirt_patch_site",
        machines: &[EM_X86_64],
        size: 16,
        members: &[("instr", 0), ("type", 8), ("len", 9)],
    },
    // The same headers for 32 bits, 6.1
    Assumed {
        name: "paravirt_patch_site",
        machines: I386,
        size: 8,
        members: &[("instr", 0), ("type", 4), ("len", 5)],
    },
    Assumed { name: "jump_entry", machines: I386, size: 12, members: &[("code", 0), ("target", 4)] },
    Assumed { name: "bug_entry", machines: I386, size: 12, members: &[("bug_addr", 0)] },
    // The same headers on ARM, 5.10 to 7.2
    Assumed { name: "jump_entry", machines: ARM32, size: 12, members: &[("code", 0), ("target", 4)] },
    Assumed { name: "bug_entry", machines: ARM32, size: 12, members: &[("bug_addr", 0)] },
    // arch/riscv/include/asm/alternative.h, 6.12 to 7.2
    Assumed {
        name: "alt_entry",
        machines: RISCV,
        size: 16,
        members: &[("old_offset", 0), ("alt_offset", 4), ("alt_len", 10)],
    },
    // arch/powerpc/include/asm/feature-fixups.h and arch/powerpc/lib/feature-fixups.c, 6.1 to 7.2
    Assumed {
        name: "fixup_entry",
        machines: PPC64,
        size: 48,
        members: &[("start_off", 16), ("end_off", 24), ("alt_start_off", 32), ("alt_end_off", 40)],
    },
    // arch/arm64/include/asm/extable.h: since 5.16, older
    Assumed { name: "exception_table_entry", machines: ALL, size: 12, members: &[("insn", 0), ("fixup", 4)] },
    Assumed { name: "exception_table_entry", machines: ALL, size: 8, members: &[("insn", 0), ("fixup", 4)] },
];

/// The layouts that a struct had on a machine.
pub fn shapes(name: &str, machine: u16) -> impl Iterator<Item = Shape> {
    let had = move |one: &&Assumed| one.name == name && one.machines.contains(&Machine(machine));
    SHAPES.iter().filter(had).map(|one| Shape::new(one.size, one.members.iter().copied()))
}
