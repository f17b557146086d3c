//! Encodes tapset folders for an index: a list of the files, and their compressed texts.
use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use probeidx_format::tapset::SourcesMeta;

use super::sources::{Folder, Sources};
use crate::error::{Error, ErrorKind, Result};

/// The maximum total length of the texts in an index.
const MOST_TEXT: u64 = 256 << 20;

impl Sources {
    /// The encoded folders. Unreadable files are kept as such. Cost: reading and compressing everything.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut folders = self.listing();
        let mut texts = ZlibEncoder::new(vec![], Compression::default());
        let mut kept = 0;
        for (folder, meta) in self.folders.iter().zip(&mut folders) {
            for (source, file) in folder.parts.values().flatten().zip(&mut meta.files) {
                let Ok(text) = Folder::text(source, &folder.path_of(source)) else { continue };
                let length = text.len() as u64;
                // Writing to memory does not fail.
                if kept + length <= MOST_TEXT && texts.write_all(&text).is_ok() {
                    (file.text, kept) = (Some(length), kept + length);
                }
            }
        }
        let texts = texts.finish().unwrap_or_default();
        probeidx_format::tapset::encode(&SourcesMeta { folders, texts })
    }

    /// Adds the folders kept in an index.
    ///
    /// # Errors
    /// [`ErrorKind::IndexDamaged`] if their texts cannot be decompressed.
    pub fn unpack(&mut self, kept: SourcesMeta, index: &Path) -> Result<()> {
        let mut texts = vec![];
        let decoder = ZlibDecoder::new(&kept.texts[..]);
        decoder.take(MOST_TEXT).read_to_end(&mut texts).map_err(|e| {
            let why = format!("the texts of tapsets cannot be decompressed: {e}");
            Error::new(ErrorKind::IndexDamaged, why).at(index).section("tapset_sources")
        })?;
        self.add(kept.folders, &texts.into());
        Ok(())
    }
}
