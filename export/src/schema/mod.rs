//! The tables: what each row is, and each column with its type, its meaning and an example. docs/tables.md is made of this.
mod tables;

use arrow_schema::{DataType, Field, SchemaRef};
use probeidx::cli::args::Table;
use std::sync::Arc;
pub use tables::ALL;

/// The version of all schemas. It rises when a column changes its name, type or meaning, or goes; not when one is added.
pub const VERSION: u32 = 1;

/// A table.
#[derive(Debug)]
pub struct Schema {
    /// Which it is.
    pub table: Table,
    /// Its name, which is also that of its folder.
    pub name: &'static str,
    /// What a row is, and in which order they are.
    pub meaning: &'static str,
    /// The column by which it is sorted, bytewise.
    pub sorted_by: &'static str,
    /// Whether there is a file for each line and flavour of kernels, or one for all.
    pub is_partitioned: bool,
    /// In their order.
    pub columns: &'static [Column],
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name: no reserved word of SQL.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// What null stands for; `None` if there is none.
    pub null: Option<&'static str>,
    /// What it is, with its unit.
    pub meaning: &'static str,
    /// A value, of Debian's 6.1.0-56-cloud-amd64.
    pub example: &'static str,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 32 bits, signed.
    Int,
    /// 64 bits, signed.
    Long,
    /// 64 bits, unsigned.
    Address,
    /// Yes or no.
    Flag,
    /// A list of texts.
    Texts,
    /// A list of numbers of 32 bits.
    Ints,
    /// A list of the fields of a record.
    Fields,
}

impl Kind {
    /// The name in SQL, as DuckDB prints it.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Text => "VARCHAR",
            Self::Int => "INTEGER",
            Self::Long => "BIGINT",
            Self::Address => "UBIGINT",
            Self::Flag => "BOOLEAN",
            Self::Texts => "VARCHAR[]",
            Self::Ints => "INTEGER[]",
            Self::Fields => "STRUCT(name VARCHAR, type VARCHAR, byte_offset BIGINT, byte_size BIGINT)[]",
        }
    }

    /// The type in Arrow.
    pub fn arrow(self) -> DataType {
        let list = |item: DataType, nullable| DataType::List(Arc::new(Field::new("element", item, nullable)));
        match self {
            Self::Text => DataType::Utf8,
            Self::Int => DataType::Int32,
            Self::Long => DataType::Int64,
            Self::Address => DataType::UInt64,
            Self::Flag => DataType::Boolean,
            Self::Texts => list(DataType::Utf8, false),
            Self::Ints => list(DataType::Int32, true),
            Self::Fields => {
                let field = |name, data| Field::new(name, data, false);
                let fields = vec![
                    field("name", DataType::Utf8),
                    field("type", DataType::Utf8),
                    field("byte_offset", DataType::Int64),
                    field("byte_size", DataType::Int64),
                ];
                list(DataType::Struct(fields.into()), false)
            }
        }
    }
}

/// A table's columns in Arrow.
pub fn arrow_schema(schema: &Schema) -> SchemaRef {
    let field = |column: &Column| Field::new(column.name, column.kind.arrow(), column.null.is_some());
    Arc::new(arrow_schema::Schema::new(schema.columns.iter().map(field).collect::<Vec<_>>()))
}

/// How the values of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Each once for a group of rows, with a number: most values are some of a few.
    Dictionary,
    /// The same, with the values in their order: an eighth less for names, most of which are there a few times. Where some are
    /// there often it takes more than that: those come early, and have low numbers.
    SortedDictionary,
    /// As what it has in common with the one before, and the rest: half of the size where names are sorted.
    Prefixes,
    /// As the distance from the one before.
    Distances,
    /// As it is.
    Plain,
    /// As the `parquet` crate does it, with dictionaries of its own: lists of which there are few.
    Nested,
}

impl Schema {
    /// Rows of a group: a name is found in one of them, engines give each group to a processor, and texts are written once in
    /// each. Of 6.1, groups of 65,536 rows take a tenth more; but of all kernels at once one name is asked for, and DuckDB
    /// reads the whole group, and of all groups what is in them: of the six million facts of 11 kernels' placements, groups of
    /// 81,920 rows take half of the time that those of 20,480 take.
    pub fn group_rows(&self) -> usize {
        match self.table {
            _ if self.is_partitioned => 256 << 10,
            Table::PlacementsSince => 80 << 10,
            _ => 20 << 10,
        }
    }

    /// How a column of it is written.
    pub fn stored(&self, column: &Column) -> Stored {
        match (column.kind, column.name) {
            (Kind::Text, name) if name == self.sorted_by => Stored::Prefixes,
            // Each is another, and most follow the one before.
            (Kind::Int, "placement") => Stored::Distances,
            // Nearly each is another.
            (Kind::Address | Kind::Flag, _) | (Kind::Long, "anchor_offset") => Stored::Plain,
            (Kind::Ints | Kind::Fields, _) => Stored::Nested,
            (Kind::Text, "symbol" | "anchor_symbol") | (Kind::Texts, _) => Stored::SortedDictionary,
            (Kind::Text | Kind::Int | Kind::Long, _) => Stored::Dictionary,
        }
    }
}

/// The schema of a table.
pub fn of(table: Table) -> &'static Schema {
    ALL.iter().find(|schema| schema.table == table).expect("each table has a schema")
}
