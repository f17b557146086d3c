//! Tables as record batches, for those that are in the same process.
use crate::schema::{self, arrow_schema};
use crate::selection::{self, Chosen};
use crate::sink::{Sink, Tables};
use crate::tables;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use probeidx::Result;
use probeidx::cli::args::Table;
use probeidx::query::Index;
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx_format::View;
use std::sync::Arc;

/// What takes the batches of a table.
pub type Batches<'b> = dyn FnMut(RecordBatch) -> Result<()> + 'b;

/// Calls `each` with the rows of a table, some thousands at a time, and gives the table's schema. The kernels come in
/// their order. Cost: that of an export; memory does not grow with the rows.
///
/// # Errors
/// Those of the indexes, and any that `each` returns.
pub fn record_batches(indexes: Vec<Arc<Index>>, table: Table, each: &mut Batches<'_>) -> Result<SchemaRef> {
    let described = indexes.into_iter().map(|index| {
        let description = KernelDescription::of(&index.view()?);
        Ok((description, index))
    });
    let mut described = described.collect::<Result<Vec<_>>>()?;
    described.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (kernels, partitions) = selection::of(described);
    let views = kernels.iter().map(|kernel| kernel.index.view()).collect::<Result<Vec<_>>>()?;
    fill(&kernels, &views, &[table], partitions.len(), &mut Passed(each))?;
    Ok(arrow_schema(schema::of(table)))
}

struct Passed<'p, 'b>(&'p mut Batches<'b>);

impl Sink for Passed<'_, '_> {
    fn write(&mut self, _: Table, _: usize, batch: RecordBatch) -> Result<()> {
        (self.0)(batch)
    }
}

/// Writes the rows of the tables to a sink.
///
/// # Errors
/// Those of the indexes and of the sink.
pub fn fill(
    kernels: &[Chosen],
    views: &[View<'_>],
    wanted: &[Table],
    partitions: usize,
    sink: &mut dyn Sink,
) -> Result<()> {
    let mut out = Tables::new(wanted, partitions, sink);
    tables::write(kernels, views, &mut out)?;
    out.finish()
}
