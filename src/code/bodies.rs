//! Finds the true starts of functions whose debug information starts after their first no-ops.
use super::table::Tables;
use super::text::Text;
use super::{arm64, ppc64, riscv64};
use crate::load::elf::Elf;
use crate::load::symbols::{self, Symbol};
use object::elf::{EM_AARCH64, EM_PPC64, EM_RISCV, Machine};
use rustc_hash::FxHashMap;

/// Maps the address after the no-ops of each function to its start. GCC's debug information starts after the no-ops
/// (GCC bug 98776, seen with 12 to 16; on ppc64le only of functions with one entry), where return probes are refused. The no-ops
/// change no value, so the function may as well start at its symbol. Empty for a damaged table, and on architectures without
/// such no-ops.
pub fn bodies(object: &Elf<'_>, is_module: bool) -> FxHashMap<u32, u32> {
    let machine = Machine(object.machine);
    if ![EM_AARCH64, EM_RISCV, EM_PPC64].contains(&machine) {
        return FxHashMap::default();
    }
    let text = Text::new(object);
    let functions: Vec<u32> = symbols::functions(object).iter().map(|s| s.pc).collect();
    let bounds: Vec<Symbol<'_>> = match is_module {
        true => vec![],
        false => symbols::symbols_where(object, Tables::bounds_ftrace),
    };
    let tables = Tables::new(object, &bounds, is_module);
    match machine {
        EM_AARCH64 => {
            let entries = arm64::entry::entries(&tables, &text, &functions).unwrap_or_default();
            entries.iter().filter_map(|e| Some((e.body?, e.start))).collect()
        }
        EM_RISCV => {
            let entries = riscv64::entry::entries(&tables, &text, &functions, false).unwrap_or_default();
            entries.iter().filter_map(|e| Some((e.body?, e.start))).collect()
        }
        _ => {
            let bodies = ppc64::entry::bodies(&tables, &text, &functions);
            bodies.unwrap_or_default().into_iter().collect()
        }
    }
}
