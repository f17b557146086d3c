//! The no-ops at the entries of functions, which ftrace patches (`-fpatchable-function-entry`).
//!
//! A function starts with `bti c` where it needs that, then two no-ops: `mov x9, x30` from the start of the kernel on, and the
//! site, a call while it is traced. Kernels with CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS (6.3 and later) have two more before the
//! function. The table has the address of the first of them all. (`ftrace_call_adjust`, arch/arm64/kernel/ftrace.c)
use super::{Instruction, LENGTH};
use crate::code::table::Tables;
use crate::code::text::Text;
use crate::error::Result;

/// No-ops before the function, in bytes.
const BEFORE: u32 = 2 * LENGTH;

/// The entry of a function that ftrace can patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first instruction of the function.
    pub start: u32,
    /// What ftrace patches; `None` where the kernel leaves it alone, as the literal before the function is not aligned.
    pub site: Option<u32>,
    /// Behind the no-ops; `None` where there are none.
    pub body: Option<u32>,
}

/// The entries that the table of an object has. `functions` are where functions start, rising.
pub fn entries(tables: &Tables<'_, '_>, text: &Text<'_>, functions: &[u32]) -> Result<Vec<Entry>> {
    let listed = tables.ftrace()?;
    let word = |pc: u32| text.at(pc).and_then(Instruction::first);
    let is_function = |pc: u32| functions.binary_search(&pc).is_ok();
    let is_landing = |pc: u32| word(pc).is_some_and(Instruction::is_bti);
    // Where a function lost to another of its name, no symbol tells: it is as most are.
    let stands_before = |at: &&u32| !is_function(**at) && is_function(at.saturating_add(BEFORE));
    let are_before = listed.iter().filter(stands_before).count() * 2 > listed.len();
    let entry = |at: u32| {
        // Built with `-pg`: the call itself.
        if word(at).is_some_and(Instruction::is_call) {
            return Entry { start: at, site: Some(at), body: None };
        }
        let before = if are_before { at.checked_add(BEFORE) } else { None };
        let start = match before {
            Some(start) => start,
            None if !is_function(at) && at >= LENGTH && is_landing(at - LENGTH) => at - LENGTH,
            None => at,
        };
        let first = if is_landing(start) { start.saturating_add(LENGTH) } else { start };
        let site = first.saturating_add(LENGTH);
        let is_patchable = [first, site].iter().all(|pc| word(*pc).is_some_and(Instruction::is_nop));
        Entry {
            start,
            site: (before.is_none() || at.is_multiple_of(BEFORE)).then_some(site),
            body: is_patchable.then_some(site.saturating_add(LENGTH)),
        }
    };
    Ok(listed.into_iter().map(entry).collect())
}

/// Behind the landing pad with which a function starts; `None` where it has none.
pub fn behind_landing(text: &Text<'_>, start: u32) -> Option<u32> {
    let first = text.at(start).and_then(Instruction::first)?;
    first.is_bti().then(|| start.saturating_add(LENGTH))
}
