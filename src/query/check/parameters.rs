//! The functions whose code has a name, for their parameters.
use crate::query::index::{functions, symbols};
use probeidx_format::View;
use probeidx_format::record::FunctionRecord;

/// The functions whose code starts at the symbols of a name, in one module or in all. Cost: linear in these symbols.
pub(super) fn functions(view: &View<'_>, module: Option<&[u8]>, name: &[u8]) -> Vec<FunctionRecord> {
    let code = symbols::code_named(view, module, name);
    let placed = code.filter_map(|(object, symbol)| functions::entry_at(view, object, symbol.pc.get()));
    placed.filter_map(|placed| functions::function(view, placed.record)).collect()
}
