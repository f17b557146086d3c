//! Code as it runs, read from memory: where the kernel has patched it, its instructions are others than in the file.
use super::{Kernel, arm64, x86};
use object::elf::{EM_386, EM_AARCH64, EM_X86_64, Machine};
use probeidx_format::record::SiteKind;

/// The instructions of a part of code, by their distance from its start, each with the reason for which kprobes refuse it by
/// itself. `code` has `before` bytes of the same function before that part, [`BEFORE`] if there are as many, and at least
/// [`BEHIND`] bytes behind it. `None` for machines whose rules are not known.
pub fn instructions(
    machine: u16,
    kernel: &Kernel<'_>,
    code: &[u8],
    before: usize,
    length: usize,
) -> Option<Vec<(u32, Option<SiteKind>)>> {
    match Machine(machine) {
        EM_X86_64 => Some(x86::running(code.get(before..)?, length, 64, kernel.emulates())),
        EM_386 => Some(x86::running(code.get(before..)?, length, 32, kernel.emulates())),
        EM_AARCH64 => Some(arm64::running(code, before, length, kernel)),
        _ => None,
    }
}

/// How many bytes before an instruction matter: arm64's kernel looks back so far for the start of a sequence of exclusive accesses
/// (`MAX_ATOMIC_CONTEXT_SIZE`, arch/arm64/kernel/probes/decode-insn.c).
pub const BEFORE: u64 = 128;

/// How many bytes behind a part may belong to its last instruction.
pub const BEHIND: u64 = 16;

/// The evidence that names of symbols give without the code of the kernel.
pub fn emulates<'n>(mut names: impl Iterator<Item = &'n str>) -> bool {
    names.any(x86::is_emulation)
}
