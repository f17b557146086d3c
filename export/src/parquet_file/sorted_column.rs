//! The column by which a table is sorted, for one group of rows: a name is found by the bounds of pages, or by a Bloom filter.
use super::codec::Codec;
use super::numbered_column::{bounds, of_texts};
use super::pages::Pages;
use super::prefixes;
use crate::numbering::Numbered;
use crate::text_array::texts;
use bytes::Bytes;
use parquet::basic::{BoundaryOrder, Compression, Encoding, Type};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnIndexBuilder;
use parquet::schema::types::ColumnDescPtr;

/// How many of the names that a group does not have its filter takes for one that it has: 1 in 20, as the `parquet` crate does.
const MISTAKEN: f64 = 0.05;

/// A column of a group that is being written.
pub struct SortedColumn {
    pages: Pages,
    filter: Sbbf,
    /// The first and the last text of each page.
    bounds: Vec<(Vec<u8>, Vec<u8>)>,
}

impl SortedColumn {
    /// A column without rows, of at most so many.
    ///
    /// # Errors
    /// None for a number of rows that a group may have.
    pub fn new(column: ColumnDescPtr, rows: usize) -> Result<Self> {
        let filter = Sbbf::new_with_ndv_fpp(rows as u64, MISTAKEN)?;
        Ok(Self { pages: Pages::new(column), filter, bounds: vec![] })
    }

    /// Adds a page: rows that have all their texts themselves.
    ///
    /// # Errors
    /// Those of the codec.
    pub fn page(&mut self, rows: &Numbered, codec: &mut Codec) -> Result<()> {
        let mut page = vec![];
        texts(&rows.new).for_each(|text| self.filter.insert(text));
        let (least, greatest) = bounds(texts(&rows.new));
        self.bounds.push((least.unwrap_or_default().to_vec(), greatest.unwrap_or_default().to_vec()));
        prefixes::encode(rows, &mut page);
        let count = rows.numbers.len();
        self.pages.add(page, count, count as u32, codec)
    }

    /// The bytes of the column, and what the file says of them.
    ///
    /// # Errors
    /// Those of the codec.
    pub fn close(self, codec: (Compression, &mut Codec)) -> Result<(Bytes, ColumnCloseResult)> {
        let Self { pages, mut filter, bounds: of_pages } = self;
        // To what the names need: as many as rows where each is another.
        filter.fold_to_target_fpp(MISTAKEN);
        let (least, _) = bounds(of_pages.iter().map(|(least, _)| &**least));
        let (_, greatest) = bounds(of_pages.iter().map(|(_, greatest)| &**greatest));
        let statistics = of_texts((least, greatest), Some(0));
        // A damaged index may not be sorted.
        let is_sorted = of_pages.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
        let mut index = ColumnIndexBuilder::new(Type::BYTE_ARRAY);
        index.set_boundary_order(if is_sorted { BoundaryOrder::ASCENDING } else { BoundaryOrder::UNORDERED });
        for (least, greatest) in of_pages {
            index.append(false, least, greatest, 0, None);
        }
        let (bytes, closed) = pages.close(Encoding::DELTA_BYTE_ARRAY, None, statistics, codec)?;
        Ok((
            bytes,
            ColumnCloseResult { bloom_filter: Some(filter), column_index: Some(index.build()?), ..closed },
        ))
    }
}
