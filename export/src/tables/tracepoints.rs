//! `tracepoints`, and what becomes of them over kernels: the rows of one name.
use super::Kernel;
use crate::cell::{Cell, Field};
use crate::since::Facts;
use crate::sink::Tables;
use probeidx::Result;
use probeidx::cli::args::Table;
use probeidx::query::resolve::tracepoint::Tracepoint;
use probeidx::query::types::c_declaration::variable;

/// The rows of a tracepoint in one kernel.
///
/// # Errors
/// Those of writing.
pub fn rows<'a>(
    kernel: &Kernel<'a, '_>,
    found: &Tracepoint<'a>,
    facts: &mut Facts,
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    let view = kernel.view;
    let parameters: Vec<String> = found.parameters().map(|v| variable(view, v)).collect();
    let parameters = || found.prototype().map_or(Cell::Null, |_| Cell::texts(&parameters));
    let fields = || match found.fields() {
        Some(fields) => Cell::Fields(
            fields
                .iter()
                .map(|field| Field {
                    name: view.string(field.name),
                    type_name: view.string(field.type_name),
                    offset: i64::from(field.offset.get()),
                    size: i64::from(field.size.get()),
                })
                .collect(),
        ),
        None => Cell::Null,
    };
    let (name, system) = (Cell::Lasting(found.name()), Cell::lasting(found.system()));
    let module = Cell::lasting(found.module().unwrap_or_default());
    if out.has(Table::Tracepoints) {
        let row = [
            Cell::from(kernel.label),
            name.clone(),
            system.clone(),
            module.clone(),
            Cell::from(found.has_event()),
            Cell::from(found.is_system_call()),
            parameters(),
            fields(),
        ];
        out.push(Table::Tracepoints, kernel.partition, &row)?;
    }
    if out.has(Table::TracepointsSince) {
        facts.add(kernel.number, &[name, system, module, parameters(), fields()], None);
    }
    Ok(())
}
