//! The no-ops at the entries of functions, which ftrace patches (`-fpatchable-function-entry`).
//!
//! A function starts with eight bytes of no-ops, which become `auipc` and `jalr` while it is traced. Up to 6.15 both
//! are patched, and the site is the first of them. Since 6.16 `auipc` stays, and the site is the second. With
//! CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS there are eight more bytes before the function, for a pointer; the table lists
//! the address of the first no-op. (`ftrace_call_adjust`, arch/riscv/kernel/ftrace.c)
use super::Instruction;
use crate::code::table::Tables;
use crate::code::text::Text;
use crate::error::Result;

/// Length of the no-ops before the function, and of those at its start.
pub const LENGTH: u32 = 8;

/// The entry of a function that ftrace can patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first instruction of the function.
    pub start: u32,
    /// The instruction that ftrace patches.
    pub site: u32,
    /// The first instruction after the no-ops; `None` without no-ops.
    pub body: Option<u32>,
}

/// The entries in the table of an object. `functions` are the starts of functions, ascending.
pub fn entries(
    tables: &Tables<'_, '_>,
    text: &Text<'_>,
    functions: &[u32],
    patches_second: bool,
) -> Result<Vec<Entry>> {
    let listed = tables.ftrace()?;
    let is_function = |pc: u32| functions.binary_search(&pc).is_ok();
    // A weak function that lost has no symbol: it is taken to be like the majority.
    let stands_before = |at: &&u32| !is_function(**at) && is_function(at.saturating_add(LENGTH));
    let are_before = listed.iter().filter(stands_before).count() * 2 > listed.len();
    let into = if are_before || patches_second { LENGTH / 2 } else { 0 };
    let entry = |at: u32| {
        let start = if are_before { at.saturating_add(LENGTH) } else { at };
        let body = start.saturating_add(LENGTH);
        let code = text.at(start).unwrap_or_default();
        Entry { start, site: start.saturating_add(into), body: are_nops(code).then_some(body) }
    };
    Ok(listed.into_iter().map(entry).collect())
}

/// Whether code starts with the no-ops of an entry.
fn are_nops(code: &[u8]) -> bool {
    let mut length = 0;
    while length < LENGTH as usize {
        match code.get(length..).and_then(Instruction::first) {
            Some(instruction) if instruction.is_nop() => length += instruction.length() as usize,
            _ => return false,
        }
    }
    length == LENGTH as usize
}
