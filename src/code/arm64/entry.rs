//! The no-ops at the entries of functions, which ftrace patches (`-fpatchable-function-entry`).
//!
//! A function starts with `bti c` if it needs that, then two no-ops. The first becomes `mov x9, x30` when the kernel
//! boots; the second is the site, a call while the function is traced. Kernels with
//! CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS (6.3 and later) have two more no-ops before the function. The table lists the
//! address of the first no-op. (`ftrace_call_adjust`, arch/arm64/kernel/ftrace.c)
use super::{Instruction, LENGTH};
use crate::code::table::Tables;
use crate::code::text::Text;
use crate::error::Result;

/// Bytes of no-ops before the function.
const BEFORE: u32 = 2 * LENGTH;

/// The entry of a function that ftrace can patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first instruction of the function.
    pub start: u32,
    /// The instruction that ftrace patches; `None` if the kernel skips the entry because the literal before the
    /// function is not aligned.
    pub site: Option<u32>,
    /// The first instruction after the no-ops; `None` without no-ops.
    pub body: Option<u32>,
}

/// The entries in the table of an object. `functions` are the starts of functions, ascending.
pub fn entries(tables: &Tables<'_, '_>, text: &Text<'_>, functions: &[u32]) -> Result<Vec<Entry>> {
    let listed = tables.ftrace()?;
    let word = |pc: u32| text.at(pc).and_then(Instruction::first);
    let is_function = |pc: u32| functions.binary_search(&pc).is_ok();
    let is_landing = |pc: u32| word(pc).is_some_and(Instruction::is_bti);
    // A weak function that lost has no symbol: it is taken to be like the majority.
    let stands_before = |at: &&u32| !is_function(**at) && is_function(at.saturating_add(BEFORE));
    let are_before = listed.iter().filter(stands_before).count() * 2 > listed.len();
    let entry = |at: u32| {
        // Built with `-pg`: the site is the call itself.
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

/// The address after the landing pad at the start of a function; `None` without one.
pub fn behind_landing(text: &Text<'_>, start: u32) -> Option<u32> {
    let first = text.at(start).and_then(Instruction::first)?;
    first.is_bti().then(|| start.saturating_add(LENGTH))
}
