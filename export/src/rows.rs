//! Rows as columns: of Arrow, or numbers of a dictionary.
use crate::cell::Cell;
use crate::numbering::{KnownBy, NULL, Numbered, Numbers, Texts};
use crate::schema::{Column, Kind, Schema, Stored, arrow_schema};
use crate::text_array::{list_array, text_array};
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
    UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use probeidx::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::sync::Arc;

/// How many rows go on together: those of a page, which the index of pages finds.
pub const BATCH: usize = 16384;
/// A group of rows ends where the dictionary of a column has this many bytes.
pub const DICTIONARY: usize = 16 << 20;

/// Some rows of a table.
pub struct Batch {
    /// In the order of the schema.
    pub columns: Vec<Values>,
    /// Whether the next rows are of another group.
    #[cfg_attr(not(feature = "program"), allow(dead_code, reason = "only files have groups"))]
    pub ends_group: bool,
}

/// The values of a column.
pub enum Values {
    /// As Arrow has them.
    Array(ArrayRef),
    /// Numbers of a dictionary.
    #[cfg_attr(not(feature = "program"), allow(dead_code, reason = "only files have dictionaries"))]
    Numbered(Numbered),
    /// Lists of them.
    #[cfg_attr(not(feature = "program"), allow(dead_code, reason = "only files have dictionaries"))]
    Lists(Lists),
}

/// Some rows of a column of lists.
#[derive(Debug, Default)]
pub struct Lists {
    /// For each row, how many values its list has, or [`NULL`].
    pub lengths: Vec<u32>,
    /// The values of all lists, one after another.
    pub values: Numbered,
}

impl Batch {
    /// The rows in Arrow. None of the columns may be numbers of a dictionary.
    pub fn in_arrow(self, schema: &SchemaRef) -> RecordBatch {
        let array = |values| match values {
            Values::Array(array) => Some(array),
            Values::Numbered(_) | Values::Lists(_) => None,
        };
        let columns = self.columns.into_iter().filter_map(array).collect();
        RecordBatch::try_new(Arc::clone(schema), columns)
            .expect("every row has a value of each column's type")
    }
}

/// The rows of a table that are yet to be written.
pub struct Rows<'l> {
    schema: &'static Schema,
    columns: Vec<Builder<'l>>,
    count: usize,
    /// How many rows of the group were taken.
    in_group: usize,
}

/// A column that grows.
enum Builder<'l> {
    /// Texts, and where they go.
    Text(Texts<'l>, To),
    /// Lists of texts, and how many each has, or [`NULL`].
    Texts(Texts<'l>, Vec<u32>, To),
    /// Numbers of a dictionary.
    Numbered(Numbers),
    Int(Int32Builder),
    Long(Int64Builder),
    Address(UInt64Builder),
    Flag(BooleanBuilder),
    Ints(ListBuilder<Int32Builder>),
    Fields(ListBuilder<StructBuilder>),
}

/// Where texts go.
enum To {
    /// To Arrow: each batch has those that are in it.
    Arrow,
    /// To a file, as numbers of those that are in a batch.
    Batch,
    /// To a file, as numbers of those that are in a group.
    Group,
}

impl<'l> Rows<'l> {
    /// No rows of a table. `for_files`: in the form in which columns of files are [stored](Stored), else all in Arrow.
    pub fn new(schema: &'static Schema, for_files: bool) -> Self {
        let arrow = arrow_schema(schema);
        let builder = |column: &Column| {
            let is_sorted = column.name == schema.sorted_by;
            let to = match schema.stored(column) {
                _ if !for_files => To::Arrow,
                Stored::Prefixes => To::Batch,
                _ => To::Group,
            };
            let known_by = match to {
                _ if is_sorted => KnownBy::Row,
                To::Arrow => KnownBy::Address,
                _ => KnownBy::Content,
            };
            match column.kind {
                Kind::Text => Builder::Text(Texts::new(known_by), to),
                Kind::Texts => Builder::Texts(Texts::new(known_by), vec![], to),
                _ if !for_files || schema.stored(column) != Stored::Dictionary => builder(column, &arrow),
                Kind::Long => Builder::Numbered(Numbers::new(8)),
                _ => Builder::Numbered(Numbers::new(4)),
            }
        };
        Self { schema, columns: schema.columns.iter().map(builder).collect(), count: 0, in_group: 0 }
    }

    /// Adds a row: a value for each column.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] for a value that the column cannot hold, naming table and column.
    pub fn push(&mut self, cells: &[Cell<'l, '_>]) -> Result<()> {
        for ((builder, column), cell) in self.columns.iter_mut().zip(self.schema.columns).zip(cells) {
            append(builder, column.kind, cell).map_err(|()| misfit(self.schema, column, cell))?;
        }
        debug_assert_eq!(cells.len(), self.schema.columns.len(), "{}", self.schema.name);
        self.count += 1;
        Ok(())
    }

    /// The rows, once there are enough.
    pub fn full(&mut self) -> Option<Batch> {
        let is_group = self.in_group + self.count >= self.schema.group_rows();
        (self.count >= BATCH || is_group).then(|| self.take())
    }

    /// The rows that there are.
    pub fn rest(&mut self) -> Option<Batch> {
        (self.count > 0).then(|| self.take())
    }

    fn take(&mut self) -> Batch {
        self.in_group += std::mem::take(&mut self.count);
        let size = |builder: &mut Builder<'_>| match builder {
            Builder::Text(b, To::Group) | Builder::Texts(b, _, To::Group) => {
                b.settle();
                b.size()
            }
            Builder::Numbered(b) => b.size(),
            _ => 0,
        };
        let is_large = self.columns.iter_mut().map(size).max().unwrap_or(0) >= DICTIONARY;
        let ends_group = self.in_group >= self.schema.group_rows() || is_large;
        if ends_group {
            self.in_group = 0;
        }
        let columns = self.columns.iter_mut().map(|builder| match builder {
            Builder::Text(b, To::Arrow) => Values::Array(Arc::new(text_array(&b.take(true)))),
            Builder::Text(b, To::Batch) => Values::Numbered(b.take(true)),
            Builder::Text(b, To::Group) => Values::Numbered(b.take(ends_group)),
            Builder::Texts(b, lengths, to) => {
                let lengths = std::mem::take(lengths);
                match to {
                    To::Arrow => Values::Array(Arc::new(list_array(&lengths, &b.take(true)))),
                    _ => Values::Lists(Lists { lengths, values: b.take(ends_group) }),
                }
            }
            Builder::Numbered(b) => Values::Numbered(b.take(ends_group)),
            Builder::Int(b) => Values::Array(ArrayBuilder::finish(b)),
            Builder::Long(b) => Values::Array(ArrayBuilder::finish(b)),
            Builder::Address(b) => Values::Array(ArrayBuilder::finish(b)),
            Builder::Flag(b) => Values::Array(ArrayBuilder::finish(b)),
            Builder::Ints(b) => Values::Array(ArrayBuilder::finish(b)),
            Builder::Fields(b) => Values::Array(ArrayBuilder::finish(b)),
        });
        Batch { columns: columns.collect(), ends_group }
    }
}

fn builder<'l>(column: &Column, arrow: &SchemaRef) -> Builder<'l> {
    let item = |arrow: &SchemaRef| match arrow.field_with_name(column.name).map(|field| field.data_type()) {
        Ok(arrow_schema::DataType::List(item)) => Arc::clone(item),
        _ => unreachable!("a list is a list in Arrow"),
    };
    match column.kind {
        Kind::Int => Builder::Int(Int32Builder::new()),
        Kind::Long => Builder::Long(Int64Builder::new()),
        Kind::Address => Builder::Address(UInt64Builder::new()),
        Kind::Flag => Builder::Flag(BooleanBuilder::new()),
        Kind::Ints => Builder::Ints(ListBuilder::new(Int32Builder::new()).with_field(item(arrow))),
        Kind::Fields => {
            let item = item(arrow);
            let arrow_schema::DataType::Struct(fields) = item.data_type() else {
                unreachable!("a field is a struct in Arrow")
            };
            let record = StructBuilder::from_fields(fields.clone(), 0);
            Builder::Fields(ListBuilder::new(record).with_field(item))
        }
        Kind::Text | Kind::Texts => unreachable!("texts are collected elsewhere"),
    }
}

fn append<'l>(builder: &mut Builder<'l>, kind: Kind, cell: &Cell<'l, '_>) -> Result<(), ()> {
    match (builder, cell) {
        (Builder::Text(b, _), Cell::Lasting(text)) => b.lasting(text),
        (Builder::Text(b, _), Cell::Text(text)) => b.text(text),
        (Builder::Text(b, _), Cell::Shared(text)) => b.shared(&[], text),
        (Builder::Text(b, _), Cell::Assigned(name, text)) => b.shared(name, text),
        (Builder::Text(b, _), Cell::Null) => b.null(),
        (Builder::Texts(b, lengths, _), Cell::LastingTexts(texts)) => {
            texts.iter().for_each(|text| b.lasting(text));
            lengths.push(texts.len() as u32);
        }
        (Builder::Texts(b, lengths, _), Cell::Texts(texts)) => {
            texts.iter().for_each(|text| b.text(text));
            lengths.push(texts.len() as u32);
        }
        (Builder::Texts(_, lengths, _), Cell::Null) => lengths.push(NULL),
        (Builder::Numbered(b), Cell::Number(number)) => match kind {
            Kind::Int => b.number(i32::try_from(*number).map_err(|_| ())?.into()),
            _ => b.number(*number),
        },
        (Builder::Numbered(b), Cell::Null) => b.null(),
        (Builder::Int(b), Cell::Number(number)) => b.append_value(i32::try_from(*number).map_err(|_| ())?),
        (Builder::Int(b), Cell::Null) => b.append_null(),
        (Builder::Long(b), Cell::Number(number)) => b.append_value(*number),
        (Builder::Long(b), Cell::Null) => b.append_null(),
        (Builder::Address(b), Cell::Address(address)) => b.append_value(*address),
        (Builder::Address(b), Cell::Null) => b.append_null(),
        (Builder::Flag(b), Cell::Flag(flag)) => b.append_value(*flag),
        (Builder::Flag(b), Cell::Null) => b.append_null(),
        (Builder::Ints(b), Cell::Numbers(numbers)) => {
            for number in numbers {
                let number = number.map(i32::try_from).transpose().map_err(|_| ())?;
                b.values().append_option(number);
            }
            b.append(true);
        }
        (Builder::Ints(b), Cell::Null) => b.append(false),
        (Builder::Fields(b), Cell::Fields(fields)) => {
            for field in fields {
                let record = b.values();
                let text = |record: &mut StructBuilder, at: usize, text: &[u8]| {
                    let column = record.field_builder::<StringBuilder>(at).expect("it is a text");
                    column.append_value(utf8(text));
                };
                text(record, 0, field.name);
                text(record, 1, field.type_name);
                for (at, number) in [(2, field.offset), (3, field.size)] {
                    let column = record.field_builder::<Int64Builder>(at).expect("it is a number");
                    column.append_value(number);
                }
                record.append(true);
            }
            b.append(true);
        }
        (Builder::Fields(b), Cell::Null) => b.append(false),
        _ => return Err(()),
    }
    Ok(())
}

/// The text, which is nearly always UTF-8.
fn utf8(text: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
}

fn misfit(schema: &Schema, column: &Column, cell: &Cell<'_, '_>) -> Error {
    let what =
        format!("table {}, column {}: the index has {cell:?}, which does not fit", schema.name, column.name);
    Error::new(ErrorKind::Damaged, what).hint("build the index again with: probeidx build --force")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use probeidx::cli::args::Table;

    #[test]
    fn a_value_that_does_not_fit_is_told_with_table_and_column() {
        let placement = [Cell::from("6.1"), Cell::Number(1 << 40)];
        let number = [Cell::from("6.1"), Cell::Number(1), Cell::from("f"), Cell::Number(1 << 40)];
        for for_files in [true, false] {
            let mut rows = Rows::new(schema::of(Table::Arguments), for_files);
            let error = rows.push(&placement).unwrap_err().to_string();
            assert!(error.starts_with("table arguments, column placement: the index has"), "{error}");
            let mut rows = Rows::new(schema::of(Table::Arguments), for_files);
            let error = rows.push(&number).unwrap_err().to_string();
            assert!(error.starts_with("table arguments, column parameter_number: the index has"), "{error}");
        }
    }
}
