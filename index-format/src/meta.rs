//! The metadata section: the objects indexed and their files, serialized by serde with bincode 2 (its standard
//! configuration: little-endian, variable-length numbers). Only this module uses it, and only for this section. The
//! bytes are those of the fields below in order, so that another implementation can replace the crate without
//! changing the format.
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The objects indexed and their files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The kernel's release, as `uname -r` prints it; empty for a user object.
    pub release: String,
    /// The version of the program that wrote it.
    pub written_by: String,
    /// ELF machine (`EM_*`).
    pub machine: u16,
    /// Size of an address in bytes.
    pub address_size: u8,
    /// The files that were read: vmlinux first, then modules by name and path. After them come other files with debug
    /// information for these, marked with [`InputMeta::PART`].
    pub inputs: Vec<InputMeta>,
    /// Objects and parts that could not be read.
    pub skipped: Vec<SkippedMeta>,
    /// Whether modules were excluded by request.
    pub without_modules: bool,
    /// The names of a user object.
    pub user: Option<UserMeta>,
}

/// The names of a program or shared library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMeta {
    /// Its paths: first without symbolic links, then as given, if that differs.
    pub paths: Vec<String>,
    /// `DT_SONAME`, or empty.
    pub soname: String,
}

/// An input file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputMeta {
    /// Its path.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// The modification time, in nanoseconds since 1970.
    pub modified: i64,
    /// Its GNU build id in hexadecimal; empty if it has none.
    pub build_id: String,
}

impl InputMeta {
    /// Replaces the build id of a file that is not an object: a supplementary file, split DWARF.
    pub const PART: &str = "part";
}

/// An object or part that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedMeta {
    /// The file.
    pub path: String,
    /// The class of the failure.
    pub kind: String,
    /// The place in the file, the reason, and the remedy.
    pub message: String,
    /// The number of occurrences in this file.
    pub count: u64,
    /// Whether the whole object is missing, rather than a part of it.
    pub whole_object: bool,
}

impl Meta {
    /// The bytes of the section.
    pub fn to_bytes(&self) -> Vec<u8> {
        bincode::serde::encode_to_vec(self, bincode::config::standard())
            .expect("encoding to memory cannot fail")
    }

    /// Reads the section, whose checksum is already verified.
    ///
    /// # Errors
    /// [`Error::Section`] if it cannot be decoded.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let config = bincode::config::standard().with_limit::<{ 64 << 20 }>();
        match bincode::serde::decode_from_slice(bytes, config) {
            Ok((meta, read)) if read == bytes.len() => Ok(meta),
            _ => Err(Error::Section { section: "meta", offset: 0, what: "the metadata cannot be decoded" }),
        }
    }
}
