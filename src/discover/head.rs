//! Reads the first bytes of files, those of many files side by side.
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::content;
use crate::error::{Error, Result};
use crate::load::decompress::Compression;

/// A disk answers many requests in the time of one: a thousand files that are not in memory, one after the other, are a
/// thousand times its delay.
pub(super) const AT_ONCE: usize = 16;

/// For fewer files, threads take longer than they save.
const FEW: usize = 64;

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

    /// [`Self::of`] for each file, in their order.
    pub(super) fn of_each(paths: &BTreeSet<PathBuf>) -> Vec<io::Result<Self>> {
        let paths: Vec<&PathBuf> = paths.iter().collect();
        let next = AtomicUsize::new(0);
        let some = || {
            let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
            numbers.map_while(|number| Some((number, Self::of(paths.get(number)?)))).collect::<Vec<_>>()
        };
        let helpers = if paths.len() < FEW { 0 } else { AT_ONCE - 1 };
        let mut heads = std::thread::scope(|scope| {
            // Threads that cannot be had only make it slower.
            let start = |_| std::thread::Builder::new().spawn_scoped(scope, some).ok();
            let helpers: Vec<_> = (0..helpers).map_while(start).collect();
            let mut heads = some();
            heads.extend(
                helpers.into_iter().flat_map(|helper| helper.join().expect("reading does not panic")),
            );
            heads
        });
        heads.sort_unstable_by_key(|(number, _)| *number);
        heads.into_iter().map(|(_, head)| head).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Tree, module};
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn each_file_of_many_has_its_own_answer() {
        let tree = Tree::new();
        let mut paths = BTreeSet::new();
        for number in 0..3 * FEW {
            let path = tree.path().join(format!("{number}.ko"));
            match number % 3 {
                0 => drop(tree.file(&format!("{number}.ko"), &module("", ""))),
                1 => drop(tree.file(&format!("{number}.ko"), &vec![b'x'; number])),
                _ => {}
            }
            paths.insert(path);
        }
        let heads = Head::of_each(&paths);
        assert_eq!(heads.len(), paths.len());
        for (path, head) in paths.iter().zip(heads) {
            let number: usize = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
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
