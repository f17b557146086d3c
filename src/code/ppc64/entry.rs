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
    if text.at(start).is_some_and(has_two) { start.saturating_add(2 * LENGTH) } else { start }
}

/// The start of the function whose local entry is at an address, else the address.
pub fn global(text: &Text<'_>, pc: u32) -> u32 {
    let start = pc.saturating_sub(2 * LENGTH);
    if local(text, start) == pc { start } else { pc }
}

/// The ftrace sites of an object.
#[derive(Default)]
pub struct Sites {
    /// Their addresses, ascending (`ftrace_call_adjust`, arch/powerpc/kernel/trace/ftrace.c).
    pub all: Vec<u32>,
    /// How far they are behind the local entries.
    pub behind: u32,
}

/// Reads the sites. Whether no-ops stand alone or in pairs is seen by most of them.
pub fn sites(tables: &Tables<'_, '_>, text: &Text<'_>) -> Result<Sites> {
    let listed = tables.ftrace()?;
    let length = nops(text, &listed);
    let site = |at: u32| if is_nop(text, at) { at.saturating_add(length.max(LENGTH) - LENGTH) } else { at };
    let behind = if length == LENGTH { 0 } else { LENGTH };
    Ok(Sites { behind, all: listed.iter().copied().map(site).collect() })
}

/// The length of the no-ops that ftrace patches; 0 if it patches calls.
fn nops(text: &Text<'_>, listed: &[u32]) -> u32 {
    let most =
        |holds: &dyn Fn(u32) -> bool| listed.iter().filter(|at| holds(**at)).count() * 2 > listed.len();
    let is_pair = |at: u32| is_nop(text, at) && is_nop(text, at.saturating_add(LENGTH));
    match (most(&|at| is_nop(text, at)), most(&is_pair)) {
        (false, _) => 0,
        (true, false) => LENGTH,
        (true, true) => 2 * LENGTH,
    }
}

fn is_nop(text: &Text<'_>, pc: u32) -> bool {
    text.at(pc).and_then(Instruction::first).is_some_and(Instruction::is_nop)
}

/// Of each function with one entry that starts with these no-ops: the address behind them, and its start. `functions` are the
/// starts of functions, ascending.
pub fn bodies(tables: &Tables<'_, '_>, text: &Text<'_>, functions: &[u32]) -> Result<Vec<(u32, u32)>> {
    let listed = tables.ftrace()?;
    let length = nops(text, &listed);
    let starts = listed.into_iter().filter(|at| length > 0 && functions.binary_search(at).is_ok());
    Ok(starts.filter(|at| is_nop(text, *at)).map(|at| (at.saturating_add(length), at)).collect())
}
