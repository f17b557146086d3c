//! What is assumed of kernels, each with where it is proven and from which to which version it was seen. Whatever a kernel
//! itself tells stands above it: its types ([`shapes`](crate::shapes)), the sizes in its section headers, its symbols, its code.
//!
//! | assumption | asked first | assumed only if that is missing | proven by | seen |
//! | --- | --- | --- | --- | --- |
//! | size and members of the structs of tables | types of vmlinux (BTF, else DWARF), of a module indexed alone its own; `sh_entsize` | [`SHAPES`]: the first of which every entry makes sense | `tests/kernel/live`, `tests/suite/tables` | 5.10 to 7.3 |
//! | the last `paravirt_patch_site` lacks its padding | length of the table | | 5.10 booted | to 5.10; 6.1 pads it, 6.8 has none |
//! | a table exists where a function reads it | size of that function: one that is empty reads none ([`EMPTY`]) | | clang build of 6.1 | 5.10 to 7.3 |
//! | x86: instructions that raise exceptions are refused | functions of the debug information (`is_exception_insn` or its callers) | version ≥ [`REFUSES_TRAPS`] | 6.1, 6.12, 7.2 booted | 6.9 to 7.3 |
//! | x86: which instructions are emulated, and so refused if they cannot be | `kprobe_emulate_*` functions of vmlinux | version ≥ [`EMULATES`] | 5.10, 6.1 booted | 5.13 to 7.3 |
//! | x86: the checks of called functions' types (kCFI) are refused | a call of `is_cfi_trap` in the code that checks probes | version ≥ [`KEEPS_TYPE_CHECKS`] | 6.1 of clang indexed, not booted | 6.6 to 7.3 |
//! | i386: rules of kprobes, of the same files, are those of x86-64; `pop %ds` counts as a load of `%ss` | as above | | 6.1 686-pae booted, 28,627 requests; `pop %ds` was not among them | 6.1 |
//! | i386: no-ops of static branches are `mov %esi, %esi` and a `lea` of 5 bytes | code at the entries of `__jump_table` | | 6.1 686-pae booted | 6.1 |
//! | i386: parameters are passed in `%ax`, `%dx`, `%cx`, then on the stack (`-mregparm=3`) | locations of the debug information; without them nothing is assumed | | values fetched in the booted 6.1 686-pae | 6.1 |
//! | arm64: what counts as exclusive load or store | the mask in the code of `arm_kprobe_decode_insn` | version ≥ [`NARROW_EXCLUSIVE`] | 5.10, 6.1, 6.12, 7.2 booted | 6.15 to 7.3: narrow |
//! | arm64: copies and fills of memory cannot be stepped | the mask in the code that decodes | version ≥ [`REFUSES_COPIES`] | 6.1, 6.12 booted | 6.12 to 7.3 |
//! | riscv64: which instructions are refused, and that compressed jumps are emulated | version ≥ [`RISCV64`], else none is decided | | 6.12, 7.2 booted, 4,536 requests | 6.11 to 7.2 |
//! | riscv64: ftrace patches the second instruction of an entry, not both | function `ftrace_call_adjust` of vmlinux, no-ops before functions | version ≥ [`PATCHES_SECOND`] | 6.12, 7.2 booted: all ftrace sites | 6.16 to 7.2 |
//! | s390x: which instructions are probed | the tables of its disassembler (`opcode`, `opcode_offset`) | nothing: undecided without them | 6.12, 7.2 booted | 6.1 to 7.2 |
//! | s390x: which known instructions are refused all the same, `probe_is_prohibited_opcode` | | the list of 6.12 | 6.12, 7.2 booted | 6.1 to 7.2: one list |
//! | ppc64le: a probe at the address of a symbol is one at the global entry, which calls within an object pass by; by name the kernel puts it at the ftrace site or the local entry (`kprobe_lookup_name`) | | nothing is decided (`NO_RULES`) until entries are where calls lead | 6.12 booted: one at `_text+N` of `vfs_write` never fired, by name it did | 6.12 |
//! | areas of the kprobe blacklist | symbols that bound them | | `tests/kernel/live/listed` | 5.10 to 7.3 |
//! | `__pfx_`, `__cfi_` symbols are refused | functions of the debug information (`is_cfi_preamble_symbol`) | taken to be refused where only BTF or symbols are known | 6.1, 6.12 booted | 6.6 to 7.3 |
//! | functions without an ftrace site are refused by kprobe_events | configuration; functions of the debug information (`within_notrace_func`) | taken to be refused | 5.10 to 7.2 booted | 5.10 to 7.3 |
//! | the sources lie where the unit of `init/main.c` is | its name and compilation directory | paths stay as they are | `tests/suite/built`; 6.1 indexed as built by GCC and by clang | 6.1; of rt and Rust the folders alone were looked at |
//! | x86: `endbr64` and the callee of an ftrace site leave all registers alone | table of ftrace's sites; `endbr64` in the code | | `tests/suite/built`; values fetched in a module of clang 16 on 6.1 booted | 6.1 |
//! | the kernel cuts `.llvm.N` from its own names | CONFIG_LTO_CLANG, and that text among its constants | not cut | source of 6.1.192 | 5.13 to 6.10 |
use crate::shapes::Shape;
use crate::version::Version;
use object::elf::{EM_386, EM_AARCH64, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, Machine};

/// The newest kernel that any of this was proven on, by booting it.
pub const PROVEN: Version = (7, 3);

/// A function of so many bytes does nothing: none that walks a table is as short.
pub const EMPTY: u32 = 24;

/// `can_probe` refuses INT and UD (arch/x86/kernel/kprobes/core.c).
pub const REFUSES_TRAPS: Version = (6, 9);
/// Kprobes emulate instead of stepping (arch/x86/kernel/kprobes/core.c).
pub const EMULATES: Version = (5, 13);
/// `can_probe` leaves the checks of kCFI alone (arch/x86/kernel/kprobes/core.c).
pub const KEEPS_TYPE_CHECKS: Version = (6, 6);
/// `aarch64_insn_is_load_ex` and `_store_ex` look at bit 23 (arch/arm64/include/asm/insn.h).
pub const NARROW_EXCLUSIVE: Version = (6, 15);
/// `aarch64_insn_is_steppable` looks for copies and fills of memory (arch/arm64/kernel/probes/decode-insn.c).
pub const REFUSES_COPIES: Version = (6, 12);

/// Kernels before have other rules: they refuse some compressed jumps, or take kprobes where ftrace patches
/// (arch/riscv/kernel/probes/).
pub const RISCV64: Version = (6, 11);
/// `ftrace_call_adjust` passes over an instruction (arch/riscv/kernel/ftrace.c).
pub const PATCHES_SECOND: Version = (6, 16);

/// A struct as kernels had it.
pub struct Assumed {
    name: &'static str,
    machines: &'static [Machine],
    size: u32,
    members: &'static [(&'static str, u32)],
}

const ALL: &[Machine] = &[EM_X86_64, EM_AARCH64, EM_S390, EM_PPC64, EM_RISCV];
const X86: &[Machine] = &[EM_X86_64, EM_386];
const ARM64: &[Machine] = &[EM_AARCH64];
const RISCV: &[Machine] = &[EM_RISCV];
const S390X: &[Machine] = &[EM_S390];
const I386: &[Machine] = &[EM_386];

/// Structs of kernels whose types are not at hand, those of newer kernels behind those of older ones.
pub const SHAPES: &[Assumed] = &[
    // include/linux/jump_label.h, 5.10 to 7.3
    Assumed { name: "jump_entry", machines: ALL, size: 16, members: &[("code", 0), ("target", 4)] },
    // include/linux/static_call_types.h, 5.10 to 7.3
    Assumed { name: "static_call_site", machines: ALL, size: 8, members: &[("addr", 0)] },
    // include/asm-generic/bug.h: with CONFIG_DEBUG_BUGVERBOSE, without, and from 6.19 on with a format
    Assumed { name: "bug_entry", machines: ALL, size: 12, members: &[("bug_addr_disp", 0)] },
    Assumed { name: "bug_entry", machines: ALL, size: 8, members: &[("bug_addr_disp", 0)] },
    Assumed {
        name: "bug_entry",
        machines: ALL,
        size: 16,
        members: &[("bug_addr_disp", 0), ("format_disp", 4)],
    },
    Assumed { name: "bug_entry", machines: ALL, size: 20, members: &[("bug_addr_disp", 0)] },
    // arch/x86/include/asm/alternative.h: 5.13 to 6.2, from 6.3 on, to 5.12
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
    // arch/s390/include/asm/alternative.h: from 6.11 on, from 5.19 on, before
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
    // arch/riscv/include/asm/alternative.h, 6.12 to 7.2
    Assumed {
        name: "alt_entry",
        machines: RISCV,
        size: 16,
        members: &[("old_offset", 0), ("alt_offset", 4), ("alt_len", 10)],
    },
    // arch/arm64/include/asm/extable.h: from 5.16 on, before
    Assumed { name: "exception_table_entry", machines: ALL, size: 12, members: &[("insn", 0), ("fixup", 4)] },
    Assumed { name: "exception_table_entry", machines: ALL, size: 8, members: &[("insn", 0), ("fixup", 4)] },
];

/// The shapes that a struct had on a machine.
pub fn shapes(name: &str, machine: u16) -> impl Iterator<Item = Shape> {
    let had = move |one: &&Assumed| one.name == name && one.machines.contains(&Machine(machine));
    SHAPES.iter().filter(had).map(|one| Shape::new(one.size, one.members.iter().copied()))
}
