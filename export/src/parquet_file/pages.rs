//! The pages of a column, for one group of rows.
use super::codec::Codec;
use super::levels::Counts;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// The compressed pages of a column.
pub struct Pages {
    /// What the file says of the column.
    pub column: ColumnDescPtr,
    /// How often each level is there.
    pub counts: Counts,
    pages: Vec<DataPage>,
}

struct DataPage {
    compressed: Vec<u8>,
    size: usize,
    rows: u32,
    values: u32,
}

/// A dictionary of values in the encoding PLAIN.
pub struct Dictionary {
    /// The values.
    pub plain: Vec<u8>,
    /// How many they are.
    pub count: u32,
    /// Whether they ascend.
    pub is_sorted: bool,
}

impl Pages {
    /// A column without pages.
    pub fn new(column: ColumnDescPtr) -> Self {
        let counts = Counts::new(column.max_def_level());
        Self { column, counts, pages: vec![] }
    }

    /// Adds a page: its levels and values, of so many rows. `values` counts nulls and empty lists too.
    ///
    /// # Errors
    /// Those of the codec.
    pub fn add(&mut self, page: Vec<u8>, rows: usize, values: u32, codec: &mut Codec) -> Result<()> {
        let size = page.len();
        self.pages.push(DataPage { compressed: codec.compress(page)?, size, rows: rows as u32, values });
        Ok(())
    }

    /// The bytes of the column, and what the file says of them.
    ///
    /// # Errors
    /// Those of the codec.
    pub fn close(
        self,
        encoding: Encoding,
        dictionary: Option<Dictionary>,
        statistics: Statistics,
        (compression, codec): (Compression, &mut Codec),
    ) -> Result<(Bytes, ColumnCloseResult)> {
        let Self { column, counts, pages } = self;
        let mut sink = TrackedWrite::new(vec![]);
        let mut sum = Sum::default();
        let mut writer = SerializedPageWriter::new(&mut sink);
        let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
        let mut written = vec![];
        let mut encodings = vec![Encoding::RLE, encoding];
        let has_dictionary = dictionary.is_some();
        if let Some(Dictionary { plain, count, is_sorted }) = dictionary {
            let size = plain.len();
            let buf = codec.compress(plain)?.into();
            let page = Page::DictionaryPage { buf, num_values: count, encoding: Encoding::PLAIN, is_sorted };
            sum.add(&writer.write_page(CompressedPage::new(page, size))?);
            written.push(stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1));
            encodings.push(Encoding::PLAIN);
        }
        let behind = sum.compressed;
        written.push(stats(PageType::DATA_PAGE, encoding, pages.len() as i32));
        let mut offsets = OffsetIndexBuilder::new();
        for page in pages {
            let data = Page::DataPage {
                buf: page.compressed.into(),
                num_values: page.values,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let spec = writer.write_page(CompressedPage::new(data, page.size))?;
            offsets.append_row_count(page.rows.into());
            offsets.append_offset_and_size(spec.offset as i64, spec.compressed_size as i32);
            sum.add(&spec);
            sum.rows += u64::from(page.rows);
            sum.values += i64::from(page.values);
        }
        writer.close()?;
        let repetition = (column.max_rep_level() > 0).then(|| counts.repetition.to_vec().into());
        let definition = (column.max_def_level() > 0).then(|| counts.definition.into());
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(compression)
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
            .set_page_encoding_stats(written)
            .set_total_compressed_size(sum.compressed)
            .set_total_uncompressed_size(sum.uncompressed)
            .set_num_values(sum.values)
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_data_page_offset(behind)
            .set_definition_level_histogram(definition)
            .set_repetition_level_histogram(repetition)
            .set_statistics(statistics)
            .build()?;
        let bytes: Bytes = sink.into_inner()?.into();
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: sum.rows,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(offsets.build()),
        };
        Ok((bytes, closed))
    }
}

/// What of pages is summed up.
#[derive(Default)]
struct Sum {
    compressed: i64,
    uncompressed: i64,
    rows: u64,
    values: i64,
}

impl Sum {
    fn add(&mut self, written: &PageWriteSpec) {
        self.compressed += written.compressed_size as i64;
        self.uncompressed += written.uncompressed_size as i64;
    }
}
