//! Functions that the kernel lists for BPF: kfuncs, LSM hooks, functions that may be made to fail.
//!
//! `.BTF_ids` has sets of numbers of BTF records (include/linux/btf_ids.h), each with a symbol: `__BTF_ID__set8__NAME` has a
//! count, flags, and pairs of number and flags (5.19 to 7.3); `__BTF_ID__set__NAME` a count and numbers. Sets of pairs are
//! those of kfuncs; since 6.9 these have the flag 1 (`BTF_SET8_KFUNCS`), and older ones had few others, of functions to
//! be modified. `_error_injection_whitelist` has an address and a number for each function that `ALLOW_ERROR_INJECTION`
//! names (include/asm-generic/error-injection.h).
use super::data::Data;
use super::table::{TableName, Tables};
use crate::load::elf::Elf;
use crate::load::symbols::{self, Symbol};
use probeidx_format::record::FunctionRecord;

const SET: &[u8] = b"__BTF_ID__set__";
const PAIRS: &[u8] = b"__BTF_ID__set8__";
/// The sets of hooks (kernel/bpf/bpf_lsm.c, 5.10 to 7.3), and what they say of a function.
const HOOKS: [(&[u8], u16); 2] = [
    (b"bpf_lsm_hooks", FunctionRecord::LSM_HOOK),
    (b"bpf_lsm_disabled_hooks", FunctionRecord::DISABLED_HOOK),
];
const INJECTION: TableName = TableName {
    section: "_error_injection_whitelist",
    start: "__start_error_injection_whitelist",
    stop: "__stop_error_injection_whitelist",
    reader: "",
};
/// More functions than any set has.
const MOST: i32 = 1 << 12;
/// Of a set: that it is of kfuncs.
const KFUNCS: i32 = 1;

/// The functions of an object that are listed, each with the flag of [`FunctionRecord`] that says so. `name_of` gives the
/// name of a record of its BTF. `with_code` is as in [`ObjectFacts::new`](crate::link::ObjectFacts::new). Damaged lists end
/// where they are damaged.
pub fn read<'d>(
    object: &Elf<'d>,
    with_code: &Elf<'d>,
    is_module: bool,
    name_of: &dyn Fn(u32) -> Option<Vec<u8>>,
) -> Vec<(Vec<u8>, u16)> {
    let has = |name: &str| with_code.section(name).is_some_and(|section| !section.raw().is_empty());
    if is_module && !has(".BTF_ids") && !has(INJECTION.section) {
        return vec![];
    }
    let with_symbols = if with_code.symbols.is_empty() { object } else { with_code };
    let is_bound =
        |name: &[u8]| [INJECTION.start, INJECTION.stop].iter().any(|bound| bound.as_bytes() == name);
    let is_set = |name: &[u8]| name.starts_with(SET) || name.starts_with(PAIRS);
    let symbols = symbols::symbols_where(with_symbols, |name| is_bound(name) || is_set(name));
    let data = Data::new(with_code);
    let mut found = sets(&data, &symbols, name_of);
    let table = Tables::new(with_code, &symbols, is_module).table(&INJECTION).ok().flatten();
    if let Some(table) = table {
        let functions = symbols::functions(with_symbols);
        // An address and a number, aligned.
        let step = 2 * usize::from(table.address_size());
        for at in (0..table.length()).step_by(step) {
            let Some(pc) = table.address(at) else { continue };
            let first = functions.partition_point(|symbol| symbol.pc < pc);
            let own = functions[first..].iter().take_while(|symbol| symbol.pc == pc);
            found.extend(own.map(|symbol| (symbol.name.to_vec(), FunctionRecord::MAY_FAIL)));
        }
    }
    found
}

fn sets(
    data: &Data<'_, '_>,
    symbols: &[Symbol<'_>],
    name_of: &dyn Fn(u32) -> Option<Vec<u8>>,
) -> Vec<(Vec<u8>, u16)> {
    let word = |symbol: &Symbol<'_>, number: i32| data.number(symbol.pc.checked_add(number as u32 * 4)?);
    let pairs = || symbols.iter().filter(|symbol| symbol.name.starts_with(PAIRS));
    // Kernels with the flag have it at all sets of kfuncs.
    let is_flagged = pairs().any(|symbol| word(symbol, 1) == Some(KFUNCS));
    let mut found = vec![];
    let mut add = |id: Option<i32>, flag: u16| {
        let name = id.and_then(|id| name_of(u32::try_from(id).ok()?)).filter(|name| !name.is_empty());
        found.extend(name.map(|name| (name, flag)));
    };
    for symbol in pairs().filter(|symbol| !is_flagged || word(symbol, 1) == Some(KFUNCS)) {
        let count = word(symbol, 0).filter(|count| (0..=MOST).contains(count)).unwrap_or(0);
        (0..count).for_each(|at| add(word(symbol, 2 + 2 * at), FunctionRecord::KFUNC));
    }
    for symbol in symbols {
        let name = symbol.name.strip_prefix(SET);
        let Some((_, flag)) = HOOKS.iter().find(|(set, _)| name == Some(*set)) else { continue };
        let count = word(symbol, 0).filter(|count| (0..=MOST).contains(count)).unwrap_or(0);
        (0..count).for_each(|at| add(word(symbol, 1 + at), *flag));
    }
    found
}
