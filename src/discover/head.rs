//! Reads the first bytes of files.
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use super::content;
use crate::error::{Error, Result};
use crate::load::decompress::Compression;

/// What a file is by its first bytes.
pub(super) struct Head {
    pub(super) metadata: Metadata,
    /// How it is compressed; an error if it can be no input.
    pub(super) checked: Result<Option<Compression>>,
}

impl Head {
    /// Opens and reads a file.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(Self::read(&file, metadata, path))
    }

    /// Reads a file that was opened.
    pub(super) fn read(mut file: &File, metadata: Metadata, path: &Path) -> Self {
        let mut head = [0; content::READ];
        let checked = file
            .read(&mut head)
            .map_err(|e| Error::io(path, "read it", e))
            .and_then(|got| content::check(&head[..got], metadata.len()));
        Self { metadata, checked }
    }
}

#[cfg(test)]
mod tests {
    use super::super::at_once;
    use super::super::fixture::{Tree, module};
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn each_file_of_many_has_its_own_answer() {
        let tree = Tree::new();
        let mut paths = vec![];
        for number in 0..100 {
            let path = tree.path().join(format!("{number}.ko"));
            match number % 3 {
                0 => drop(tree.file(&format!("{number}.ko"), &module("", ""))),
                1 => drop(tree.file(&format!("{number}.ko"), &vec![b'x'; number])),
                _ => {}
            }
            paths.push(path);
        }
        let heads = at_once::each(&paths, |path| Head::of(path));
        assert_eq!(heads.len(), paths.len());
        for (number, head) in heads.into_iter().enumerate() {
            match number % 3 {
                0 => assert_eq!(head.unwrap().checked.unwrap(), None),
                1 => {
                    let Head { metadata, checked } = head.unwrap();
                    assert_eq!(
                        (metadata.len(), checked.unwrap_err().kind()),
                        (number as u64, ErrorKind::NotElf)
                    );
                }
                _ => assert_eq!(head.err().unwrap().kind(), io::ErrorKind::NotFound),
            }
        }
    }
}
