//! Where rows go: each table of each partition has some that are yet to be written.
use crate::cell::Cell;
use crate::rows::{Batch, Rows};
use crate::schema::{self, Schema};
use probeidx::Result;
use probeidx::cli::args::Table;

/// What takes the rows of tables, some thousands at a time.
pub trait Sink {
    /// Whether the rows go to files: see [`Rows::new`].
    fn is_of_files(&self) -> bool;

    /// Takes rows of a partition of a table.
    ///
    /// # Errors
    /// Those of writing.
    fn write(&mut self, table: Table, partition: usize, batch: Batch) -> Result<()>;
}

/// The tables that are wanted, by partition. What lasts as long as `'l` may be in their rows.
pub struct Tables<'s, 'l> {
    sink: &'s mut dyn Sink,
    /// By table, then by partition; empty for a table that is not wanted.
    rows: Vec<Vec<Rows<'l>>>,
}

impl<'s, 'l> Tables<'s, 'l> {
    /// Starts with no rows.
    pub fn new(wanted: &[Table], partitions: usize, sink: &'s mut dyn Sink) -> Self {
        let for_files = sink.is_of_files();
        let rows = |schema: &'static Schema| {
            let count = if schema.is_partitioned { partitions } else { 1 };
            let count = if wanted.contains(&schema.table) { count } else { 0 };
            (0..count).map(|_| Rows::new(schema, for_files)).collect()
        };
        debug_assert!(schema::ALL.iter().enumerate().all(|(at, schema)| schema.table as usize == at));
        Self { sink, rows: schema::ALL.iter().map(rows).collect() }
    }

    /// Whether a table is wanted.
    pub fn has(&self, table: Table) -> bool {
        !self.rows[table as usize].is_empty()
    }

    /// Adds a row to a table that is wanted.
    ///
    /// # Errors
    /// Those of [`Rows::push`] and of the sink.
    pub fn push(&mut self, table: Table, partition: usize, cells: &[Cell<'l, '_>]) -> Result<()> {
        let rows = &mut self.rows[table as usize][partition];
        rows.push(cells)?;
        match rows.full() {
            Some(batch) => self.sink.write(table, partition, batch),
            None => Ok(()),
        }
    }

    /// Passes on what is left.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> Result<()> {
        for (rows, schema) in self.rows.iter_mut().zip(&schema::ALL) {
            for (partition, rows) in rows.iter_mut().enumerate() {
                if let Some(batch) = rows.rest() {
                    self.sink.write(schema.table, partition, batch)?;
                }
            }
        }
        Ok(())
    }
}
