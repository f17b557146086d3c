//! Compresses a page.
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use parquet::basic::Compression as Parquet;
use parquet::errors::{ParquetError, Result};

/// What compresses pages, one after another.
pub enum Codec {
    /// They stay as they are.
    None,
    /// Gzip: its state is 300 KB, which are made once.
    Gzip(Box<Compress>),
    /// LZ4's blocks.
    Lz4,
    /// Snappy.
    Snappy(Box<snap::raw::Encoder>),
    /// Zstandard.
    #[cfg(feature = "zstd")]
    Zstd(zstd::bulk::Compressor<'static>),
}

/// RFC 1952: no name, no time, an unknown system.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

impl Codec {
    /// The codec of a file.
    ///
    /// # Errors
    /// For one that no export writes.
    pub fn new(compression: Parquet) -> Result<Self> {
        Ok(match compression {
            Parquet::UNCOMPRESSED => Self::None,
            Parquet::GZIP(level) => {
                let level = Compression::new(level.compression_level());
                Self::Gzip(Box::new(Compress::new(level, false)))
            }
            Parquet::LZ4_RAW => Self::Lz4,
            Parquet::SNAPPY => Self::Snappy(Box::new(snap::raw::Encoder::new())),
            #[cfg(feature = "zstd")]
            Parquet::ZSTD(level) => Self::Zstd(zstd::bulk::Compressor::new(level.compression_level())?),
            other => return Err(ParquetError::NYI(format!("{other:?}"))),
        })
    }

    /// The bytes of a page as the file has them.
    ///
    /// # Errors
    /// Those of the codec, which has none for pages of some kilobytes.
    pub fn compress(&mut self, page: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Self::None => Ok(page),
            Self::Gzip(deflate) => gzip(deflate, &page),
            Self::Lz4 => Ok(lz4_flex::block::compress(&page)),
            Self::Snappy(snappy) => Ok(snappy.compress_vec(&page)?),
            #[cfg(feature = "zstd")]
            Self::Zstd(zstd) => Ok(zstd.compress(&page)?),
        }
    }
}

fn gzip(deflate: &mut Compress, page: &[u8]) -> Result<Vec<u8>> {
    // The longest that deflate makes of bytes that it cannot compress, and what stands around it.
    let mut out = Vec::with_capacity(page.len() + page.len() / 1000 + 64);
    out.extend_from_slice(&GZIP_HEADER);
    deflate.reset();
    loop {
        let left = &page[deflate.total_in() as usize..];
        match deflate.compress_vec(left, &mut out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => break,
            Ok(_) => out.reserve(page.len() / 8 + 64),
            Err(e) => return Err(ParquetError::External(Box::new(e))),
        }
    }
    let mut sum = Crc::new();
    sum.update(page);
    out.extend_from_slice(&sum.sum().to_le_bytes());
    out.extend_from_slice(&(page.len() as u32).to_le_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn each_page_is_a_gzip_file_of_its_own() {
        let mut codec = Codec::new(Parquet::GZIP(Default::default())).unwrap();
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        for page in [vec![], vec![7; 100_000], (0..100_000).map(|_| noise()).collect()] {
            let compressed = codec.compress(page.clone()).unwrap();
            let mut read = vec![];
            flate2::read::GzDecoder::new(&*compressed).read_to_end(&mut read).unwrap();
            assert_eq!(read, page);
        }
    }
}
