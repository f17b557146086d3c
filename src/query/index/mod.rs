//! An open index file.
pub mod cfa;
pub mod functions;
pub mod held_places;
pub mod instructions;
pub mod kernel_description;
pub mod kernel_id;
pub mod language;
pub mod line_table;
pub mod provenance;
pub mod registers;
pub mod release;
pub(crate) mod scope;
pub mod symbols;
pub mod user_object;
use crate::error::{Error, ErrorKind, Result};
use crate::mapping::{Kept, Mapping};
use crate::store;
use probeidx_format::id::ObjectId;
use probeidx_format::strings::Decoded;

use probeidx_format::View;
use std::path::{Path, PathBuf};

/// An index file, or a kernel of a store, mapped into memory. Opening takes some ten microseconds, depending on the
/// number of modules. It stays readable when the file is replaced.
pub struct Index {
    source: Source,
    path: PathBuf,
}

enum Source {
    File { mapping: Mapping, decoded: Decoded },
    Stored(Box<Kept>),
}

impl Index {
    /// Maps the file, and checks its header and the tables that most questions use.
    ///
    /// # Errors
    /// [`ErrorKind::NoIndex`], [`ErrorKind::IndexTooOld`], [`ErrorKind::IndexTooNew`], [`ErrorKind::IndexDamaged`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, store::kernel_at)
    }
    /// As [`open`](Self::open), given how a kernel of a store is opened by its path.
    pub(crate) fn open_with(
        path: &Path,
        kernel_at: impl FnOnce(&Path) -> Result<Option<Kept>>,
    ) -> Result<Self> {
        let mapped = Mapping::open(path);
        if mapped.is_err()
            && !path.exists()
            && let Some(kernel) = kernel_at(path)?
        {
            return Ok(Self { source: Source::Stored(Box::new(kernel)), path: path.to_owned() });
        }
        let mapping = mapped?;
        let index = Self { source: Source::File { mapping, decoded: Decoded::new() }, path: path.to_owned() };
        index.view()?.check_owners().map_err(|e| index.error(e))?;
        Ok(index)
    }
    /// The tables of the index. Cost: a microsecond.
    pub fn view(&self) -> Result<View<'_>> {
        match &self.source {
            Source::File { mapping, decoded } => {
                View::open(mapping.bytes(), decoded).map_err(|e| self.error(e))
            }
            Source::Stored(kept) => Ok(View::of_store(kept.kernel())),
        }
    }
    /// Removes the file from the process's memory until it is read again. A kernel of a store stays.
    #[cfg(feature = "build")]
    pub(crate) fn forget(&self) {
        if let Source::File { mapping, .. } = &self.source {
            mapping.forget(mapping.bytes());
        }
    }
    /// Checks that no byte has changed since it was written, and that its tables follow the format. Cost: reads the
    /// file.
    ///
    /// # Errors
    /// [`ErrorKind::IndexDamaged`], naming the section.
    pub fn verify(&self) -> Result<()> {
        self.view()?.whole().map_err(|e| self.error(e))
    }
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Adds the path of the file to an error about damaged content.
    pub fn named(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::IndexDamaged { error.at(&self.path) } else { error }
    }
    /// Converts an error of the format, with a hint.
    pub fn error(&self, error: probeidx_format::Error) -> Error {
        use probeidx_format::Error as E;
        let hint = match error {
            E::Newer { .. } => {
                "use the program that wrote it, or build it again with: probeidx build --force"
            }
            _ if self.path.parent().is_some_and(|folder| folder.ends_with(user_object::FOLDER)) => {
                "build it again with: probeidx build --user --force PATH"
            }
            _ => "build it again with: probeidx build --force",
        };
        Error::of_format(&error, &self.path, hint)
    }
}

/// Whether an object's build id starts with these hexadecimal digits, or is unknown.
pub fn has_build_id(view: &View<'_>, object: ObjectId, digits: &[u8]) -> bool {
    let Some(record) = view.objects.get(object.index()) else { return false };
    if record.build_id == [0; 20] {
        return true;
    }
    let nibble =
        |at: usize| record.build_id.get(at / 2).map(|b| if at.is_multiple_of(2) { b >> 4 } else { b & 15 });
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    digits.iter().enumerate().all(|(at, digit)| value(digit) == nibble(at).map(u32::from))
}
