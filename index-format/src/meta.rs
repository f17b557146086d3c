//! The metadata section: what was indexed and from what, as serde writes it with bincode 2 (its standard
//! configuration: little-endian, numbers of variable length). Nothing else in the file is written so, and nothing
//! but this module knows it: the bytes are those of the fields below in order, so another implementation can
//! replace the crate without a change of format.
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What was indexed, and from which files.
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
    /// The files that were read, sorted by module name and path; vmlinux first. Behind them the other files that have debug
    /// information of these, with [`InputMeta::PART`].
    pub inputs: Vec<InputMeta>,
    /// What could not be read.
    pub skipped: Vec<SkippedMeta>,
    /// Whether modules were left out on demand.
    pub without_modules: bool,
    /// Of a user object: the names by which it is known.
    pub user: Option<UserMeta>,
}

/// The names of a program or shared library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMeta {
    /// Its paths: the one without symbolic links first, then the one that was given if it is another.
    pub paths: Vec<String>,
    /// `DT_SONAME`, or empty.
    pub soname: String,
}

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputMeta {
    /// Where it was.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// Its GNU build id, in hexadecimal; empty where it has none.
    pub build_id: String,
}

impl InputMeta {
    /// In place of the build id of a file that is no object: a supplementary file, split DWARF.
    pub const PART: &str = "part";
}

/// Something that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedMeta {
    /// The file.
    pub path: String,
    /// The class of the failure.
    pub kind: String,
    /// Where in the file, why, and what to do.
    pub message: String,
    /// How often, in this file.
    pub count: u64,
    /// Whether the whole object is missing, not a part of it.
    pub whole_object: bool,
}

impl Meta {
    /// The bytes of the section.
    pub fn to_bytes(&self) -> Vec<u8> {
        bincode::serde::encode_to_vec(self, bincode::config::standard())
            .expect("encoding to memory cannot fail")
    }

    /// Reads the section; its checksum was checked before.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let config = bincode::config::standard().with_limit::<{ 64 << 20 }>();
        match bincode::serde::decode_from_slice(bytes, config) {
            Ok((meta, read)) if read == bytes.len() => Ok(meta),
            _ => Err(Error::Section { section: "meta", offset: 0, what: "the metadata cannot be decoded" }),
        }
    }
}
