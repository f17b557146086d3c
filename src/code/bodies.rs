//! Where functions begin whose debug information begins behind their first no-ops.
use super::table::Tables;
use super::text::Text;
use super::{arm64, riscv64};
use crate::load::elf::Elf;
use crate::load::symbols::{self, Symbol};
use object::elf::{EM_AARCH64, EM_RISCV, Machine};
use rustc_hash::FxHashMap;

/// For the addresses behind the no-ops of an object's functions where the functions start. GCC has the debug information
/// begin behind the no-ops, where no return probe is taken (GCC bug 98776, seen with 12 to 15). They change nothing that can
/// be read, so that the function may as well begin where its symbol is. Empty on architectures that have none; of a damaged
/// table, whatever it is.
pub fn bodies(object: &Elf<'_>, is_module: bool) -> FxHashMap<u32, u32> {
    let machine = Machine(object.machine);
    if ![EM_AARCH64, EM_RISCV].contains(&machine) {
        return FxHashMap::default();
    }
    let text = Text::new(object);
    let functions: Vec<u32> = symbols::functions(object).iter().map(|s| s.pc).collect();
    let bounds: Vec<Symbol<'_>> = match is_module {
        true => vec![],
        false => symbols::symbols_where(object, Tables::bounds_ftrace),
    };
    let tables = Tables::new(object, &bounds, is_module);
    if machine == EM_AARCH64 {
        let entries = arm64::entry::entries(&tables, &text, &functions).unwrap_or_default();
        entries.iter().filter_map(|e| Some((e.body?, e.start))).collect()
    } else {
        let entries = riscv64::entry::entries(&tables, &text, &functions, false).unwrap_or_default();
        entries.iter().filter_map(|e| Some((e.body?, e.start))).collect()
    }
}
