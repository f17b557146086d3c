//! `tracepoints`, and what becomes of them over kernels: the rows of one name.
use super::Kernel;
use crate::cell::{Cell, Field};
use crate::since::Facts;
use crate::sink::Tables;
use probeidx::Result;
use probeidx::cli::args::Table;
use probeidx::query::resolve::tracepoint::Tracepoint;
use probeidx::query::types::c_declaration::declare;

/// The facts of a name over kernels.
#[derive(Default)]
pub struct TracepointFacts(Facts);

impl TracepointFacts {
    /// Writes the facts of a name, and forgets them.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&mut self, names: &[String], out: &mut Tables<'_>) -> Result<()> {
        self.0.drain(names, |row, _| out.push(Table::TracepointsSince, 0, row))
    }
}

/// The rows of a tracepoint in one kernel.
///
/// # Errors
/// Those of writing.
pub fn rows(
    kernel: &Kernel<'_>,
    found: &Tracepoint<'_>,
    facts: &mut TracepointFacts,
    out: &mut Tables<'_>,
) -> Result<()> {
    let view = kernel.view;
    let declared = |v: probeidx_format::variables::Variable| {
        declare(view, v.type_id, &String::from_utf8_lossy(view.string(v.name)))
    };
    let parameters: Vec<String> = found.parameters().map(declared).collect();
    let parameters = || match found.prototype() {
        Some(_) => Cell::Texts(parameters.iter().map(|text| text.as_bytes()).collect()),
        None => Cell::Null,
    };
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
    let (name, system) = (Cell::Text(found.name()), Cell::text(found.system()));
    let module = Cell::text(found.module().unwrap_or_default());
    if out.has(Table::Tracepoints) {
        let row = [
            Cell::from(&*kernel.label),
            name.clone(),
            system.clone(),
            module.clone(),
            Cell::from(found.has_event()),
            Cell::from(found.is_system_call()),
            parameters(),
            fields(),
        ];
        out.push(Table::Tracepoints, kernel.partition, row)?;
    }
    if out.has(Table::TracepointsSince) {
        facts.0.add(kernel.number, &[name, system, module, parameters(), fields()], None);
    }
    Ok(())
}
