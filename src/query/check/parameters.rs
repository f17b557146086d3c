//! The functions whose code has a name, for their parameters.
use crate::query::index::{functions, symbols};
use probeidx_format::View;
use probeidx_format::record::{FunctionRecord, SymbolRecord};

/// The functions whose code starts at the symbols of a name, in one module or in all. Cost: linear in these symbols.
pub(super) fn functions(view: &View<'_>, module: Option<&[u8]>, name: &[u8]) -> Vec<FunctionRecord> {
    let Some(name) = view.name(name) else { return vec![] };
    let only = module.map(|module| match module {
        b"vmlinux" => functions::kernel(view),
        module => functions::module(view, module),
    });
    let placed = view.symbols_named(name).iter().filter_map(|id| {
        let object = view.object_of_symbol(id);
        let symbol = functions::symbol(view, id)?;
        let is_meant = only.is_none_or(|only| only == Some(object))
            && symbol.has(SymbolRecord::KEPT)
            && symbols::is_code(view, object, symbol);
        is_meant.then(|| functions::entry_at(view, object, symbol.pc.get()))?
    });
    placed.filter_map(|placed| functions::function(view, placed.record)).collect()
}
