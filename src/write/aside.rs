//! Bytes that have their final form long before the index is written: in a file meanwhile, not in memory.
use super::Memory;
use crate::error::{Error, Result};
use crate::merge::Piece;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A file without a name, which any number of threads add to. It is gone with the build, however that ends.
pub struct Aside {
    file: File,
    end: AtomicU64,
    /// Why some bytes are not there, which matters only once they are asked for.
    lost: Mutex<Option<io::Error>>,
}

impl Aside {
    /// Starts one in the folder of indexes, as what it takes there, the index takes too; without a folder, in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder cannot be written to.
    pub fn new(folder: Option<&Path>) -> Result<Self> {
        let file = match folder {
            Some(folder) => tempfile::tempfile_in(folder)
                .map_err(|e| Error::io(folder, "write into the folder of indexes", e))?,
            None => Memory::new()?.into_file(),
        };
        Ok(Self { file, end: AtomicU64::new(0), lost: Mutex::default() })
    }

    /// Adds bytes.
    pub fn put(&self, bytes: &[u8]) -> Piece {
        let length = bytes.len() as u64;
        let piece = Piece { at: self.end.fetch_add(length, Ordering::Relaxed), length };
        if let Err(error) = self.file.write_all_at(bytes, piece.at) {
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        piece
    }

    /// Passes on what was added, a part at a time.
    ///
    /// # Errors
    /// Those of `pass`, of reading, and the first of adding.
    pub fn get(&self, piece: Piece, pass: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if let Some(error) = self.lost.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        let mut part = vec![0; PART.min(piece.length as usize)];
        let mut at = piece.at;
        while at < piece.at + piece.length {
            let length = part.len().min((piece.at + piece.length - at) as usize);
            self.file.read_exact_at(&mut part[..length], at)?;
            pass(&part[..length])?;
            at += length as u64;
        }
        Ok(())
    }
}

/// Bytes read at a time.
const PART: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_aside_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let aside = Aside::new(Some(folder.path())).unwrap();
        let bytes: Vec<u8> = (0..2 * PART + 7).map(|at| (at / 11) as u8).collect();
        let pieces = [&bytes[..], &[], &bytes[..5]].map(|bytes| (aside.put(bytes), bytes));
        for (piece, bytes) in pieces {
            let mut got = vec![];
            aside
                .get(piece, &mut |part| {
                    got.extend_from_slice(part);
                    Ok(())
                })
                .unwrap();
            assert!(got == bytes);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
