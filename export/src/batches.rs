//! Tables as record batches, for those that are in the same process.
use crate::rows::Batch;
use crate::schema::{self, arrow_schema};
use crate::selection::{self, Chosen};
use crate::sink::{Sink, Tables};
use crate::tables;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Int32Array, RecordBatch};
use arrow_schema::SchemaRef;
use probeidx::cli::args::Table;
use probeidx::kernels::side_by_side;
use probeidx::query::Index;
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx::query::verdict::sweep::Sweep;
use probeidx::{Error, ErrorKind, Result};
use probeidx_format::View;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

/// What takes the batches of a table.
pub type Batches<'b> = dyn FnMut(RecordBatch) -> Result<()> + 'b;

/// Calls `each` with the rows of a table, some thousands at a time, and gives the table's schema. The rows and their order are
/// those of `export`. Cost: that of an export, of one kernel shared by all processors; memory does not grow with the rows.
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
    match (&kernels[..], &views[..]) {
        ([kernel], [view]) if tables::BY_NAME.contains(&table) => in_parts(kernel, view, table, each)?,
        _ => fill(&kernels, &views, &[table], partitions.len(), &mut Passed::new(table, each))?,
    }
    Ok(arrow_schema(schema::of(table)))
}

/// In how many parts the names of a kernel are written: of a kernel of today a part has some thousand rows.
const PARTS: usize = 128;
/// How many parts are written for each processor, before they are handed over in their order.
const AT_ONCE: usize = 8;

/// Writes a table of one kernel in parts, on all processors, in the order of names.
fn in_parts(kernel: &Chosen, view: &View<'_>, table: Table, each: &mut Batches<'_>) -> Result<()> {
    let names = view.names.len().saturating_sub(1);
    let length = names.div_ceil(PARTS).max(1);
    let parts: Vec<Range<usize>> =
        (0..names).step_by(length).map(|start| start..(start + length).min(names)).collect();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let sweep = tables::OF_CODE.contains(&table).then(|| Sweep::of(view));
    let mut placements = 0i32;
    for at_once in parts.chunks(threads * AT_ONCE) {
        let written = side_by_side(at_once, |names| {
            let mut batches = vec![];
            let mut keep = |batch| {
                batches.push(batch);
                Ok(())
            };
            let mut passed = Passed::new(table, &mut keep);
            let mut out = Tables::new(&[table], kernel.partition + 1, &mut passed);
            let count = tables::write_names(kernel, view, sweep.as_ref(), names.clone(), &mut out)?;
            out.finish()?;
            Ok((batches, count))
        });
        for part in written {
            let (batches, count) = part?;
            for batch in batches {
                each(numbered_from(placements, batch)?)?;
            }
            placements = placements.checked_add(count).ok_or_else(too_many)?;
        }
    }
    Ok(())
}

/// The same rows, with placements that are numbered from `first`.
fn numbered_from(first: i32, batch: RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let Ok(at) = schema.index_of("placement") else { return Ok(batch) };
    let mut columns = batch.columns().to_vec();
    let numbers =
        columns[at].as_primitive::<Int32Type>().try_unary(|number| number.checked_add(first).ok_or(()));
    columns[at] = Arc::new(numbers.map_err(|()| too_many())? as Int32Array);
    Ok(RecordBatch::try_new(schema, columns).expect("the column is of the same type and length"))
}

fn too_many() -> Error {
    Error::new(ErrorKind::Damaged, "there are more placements than a table can number")
        .hint("build the index again with: probeidx build --force")
}

struct Passed<'p, 'b> {
    schema: SchemaRef,
    each: &'p mut Batches<'b>,
}

impl<'p, 'b> Passed<'p, 'b> {
    fn new(table: Table, each: &'p mut Batches<'b>) -> Self {
        Self { schema: arrow_schema(schema::of(table)), each }
    }
}

impl Sink for Passed<'_, '_> {
    fn is_of_files(&self) -> bool {
        false
    }

    fn write(&mut self, _: Table, _: usize, batch: Batch) -> Result<()> {
        (self.each)(batch.in_arrow(&self.schema))
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
