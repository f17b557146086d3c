//! What is special of riscv64: instructions of two and four bytes, which the kernel counts from the symbol on, alternatives of
//! the same length, and no-ops at the entries of functions that ftrace patches. Read in 6.12 and 7.2, and compared with
//! running kernels (`tests/kernel/live`).
mod decode;
pub mod entry;
mod instruction;
mod sites;

use super::{Code, CodeFacts, mark_traced, sites::site};
use crate::code::rules::Version;
use crate::error::{Error, ErrorKind};
use crate::link::Symbol;
use instruction::Instruction;
use probeidx_format::record::{ObjectRecord, SiteKind};

/// Kernels before it have other rules: they refuse some compressed jumps, or take kprobes where ftrace patches.
/// (arch/riscv/kernel/probes/, 6.6 and 6.11)
const FIRST: Version = (6, 11);

/// Reads the code and the tables about it.
pub fn read(
    code: &Code<'_, '_, '_>,
    symbols: &mut [Symbol<'_>],
    facts: &mut CodeFacts,
    faults: &mut Vec<Error>,
) {
    let Code { object, text, tables, kernel, .. } = *code;
    code.lacks_bytes(facts, faults);
    if kernel.version.is_none_or(|version| version < FIRST) {
        facts.flags |= ObjectRecord::UNSURE;
        let (major, minor) = FIRST;
        let what = format!("the rules of riscv64 are known from {major}.{minor} on: verdicts stay undecided");
        faults.push(Error::new(ErrorKind::Unsupported, what));
    }
    let functions: Vec<u32> = symbols.iter().filter(|s| s.is_function()).map(|s| s.pc).collect();
    let entries = entry::entries(tables, text, &functions, kernel.version).unwrap_or_else(|error| {
        // No probe is taken on a site: without the table it is not known where any is.
        facts.flags |= ObjectRecord::NO_FTRACE_TABLE | ObjectRecord::UNSURE;
        faults.push(error);
        vec![]
    });
    let entries: Vec<_> = entries.into_iter().filter(|entry| code.stays(entry.site)).collect();
    let mut traced: Vec<u32> = entries.iter().map(|entry| entry.site).collect();
    traced.sort_unstable();
    let mut at_start: Vec<(u32, u32)> = entries.iter().map(|entry| (entry.start, entry.site)).collect();
    at_start.sort_unstable();
    mark_traced(symbols, &traced, text, |pc| {
        let found = at_start.binary_search_by_key(&pc, |e| e.0);
        (0, found.map_or(pc, |at| at_start[at].1))
    });
    // `check_ftrace_location`, kernel/kprobes.c: the first byte of the site alone.
    if !kernel.config.is_some_and(|c| c.has("KPROBES_ON_FTRACE")) {
        facts.sites.extend(traced.iter().map(|pc| site(*pc, 1, SiteKind::Ftrace)));
    }
    let mut lack = |error| {
        facts.flags |= ObjectRecord::UNSURE;
        faults.push(error);
    };
    sites::jump_labels(tables, text, &mut facts.sites).into_iter().for_each(&mut lack);
    let alternatives = sites::alternatives(tables, text).unwrap_or_else(|error| {
        lack(error);
        Default::default()
    });
    // The trap of a BUG or WARN is refused for what it is too: without the table it has another reason.
    faults.extend(sites::bugs(tables, text, &mut facts.sites));
    let patched = decode::Patched { entries: &at_start, alternatives: &alternatives };
    facts.boundaries = decode::decode(object, text, symbols, &patched, &mut facts.sites);
}
