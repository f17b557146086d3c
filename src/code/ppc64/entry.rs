//! The two entries of a function, and the instruction at the second that ftrace patches.
//!
//! A function starts with its global entry, which computes the TOC pointer from its own address in r12. Calls within an object
//! go to the local entry behind that (64-bit ELF V2 ABI for Power, 2.3.2.1), so that a probe at the address of the symbol
//! misses them. What ftrace patches is at the local entry or one instruction further:
//!
//! | built with | at the local entry | site |
//! | --- | --- | --- |
//! | `-mprofile-kernel` | `mflr r0`, `bl _mcount` | the call, which the table lists |
//! | `-fpatchable-function-entry` (6.5) | two no-ops | the second; the table lists the first |
//! | the same with CONFIG_PPC_FTRACE_OUT_OF_LINE (6.13) | one no-op | that one |
use super::{Instruction, LENGTH};
use crate::code::table::Tables;
use crate::code::text::Text;
use crate::error::Result;

/// The local entry of the function at an address: the address itself where it has one entry (`ppc_function_entry`,
/// arch/powerpc/include/asm/code-patching.h).
pub fn local(text: &Text<'_>, start: u32) -> u32 {
    let word = |code: &[u8], at: u32| Instruction::first(code.get(at as usize..)?);
    let has_two =
        |code| word(code, 0).zip(word(code, LENGTH)).is_some_and(|(first, next)| first.set_toc(next));
    if text.at(start).is_some_and(has_two) { start + 2 * LENGTH } else { start }
}

/// The start of the function whose local entry is at an address, else the address.
pub fn global(text: &Text<'_>, pc: u32) -> u32 {
    let start = pc.saturating_sub(2 * LENGTH);
    if local(text, start) == pc { start } else { pc }
}

/// The ftrace sites of an object, ascending (`ftrace_call_adjust`, arch/powerpc/kernel/trace/ftrace.c).
pub fn sites(tables: &Tables<'_, '_>, text: &Text<'_>, is_out_of_line: bool) -> Result<Vec<u32>> {
    let is_nop = |pc: u32| text.at(pc).and_then(Instruction::first).is_some_and(Instruction::is_nop);
    let site = |listed: u32| match !is_out_of_line && is_nop(listed) {
        true => listed.saturating_add(LENGTH),
        false => listed,
    };
    Ok(tables.ftrace()?.into_iter().map(site).collect())
}
