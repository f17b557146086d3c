//! What a running kernel says of itself, to be laid over an index elsewhere: `probeidx capture`.
//!
//! # The capture, version 1
//!
//! A text, one fact a line, that `gzip` made smaller; `zcat` shows it. Names have no blanks.
//!
//! ```text
//! probeidx capture 1
//! [kernel]
//! release 6.1.0-56-cloud-amd64
//! build-id 3b43fad5034874490492495d552c0af6a5fab235     of /sys/kernel/notes
//! text ffffffffa7400000                                 where _stext is; KASLR moves it
//! [modules]
//! overlay 5c8e…                                         each that is loaded, with its build id or -
//! [sections]
//! overlay .text ffffffffc0a31000                        where the module's sections lie
//! [symbols]
//! ffffffffc0a31000 t ovl_open overlay                   those of modules, as /proc/kallsyms has them
//! [refused]
//! ffffffffa8000000 ffffffffa8000040 entry_SYSCALL_64    the blacklist of kprobes
//! [traced]
//! vfs_read                                              functions with an ftrace site, and their module
//! ovl_open overlay
//! [missing]
//! refused Permission denied (os error 13)               what could not be read, and why
//! [end]
//! ```
//!
//! A part that could not be read is not there, and stands in `missing`; without `[end]` the file is not whole.
#[cfg(feature = "cli")]
pub mod gather;
mod text;

use crate::error::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// What a running kernel says of itself. A part that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// As `uname -r` prints it.
    pub release: String,
    /// Of the kernel's image, in hexadecimal.
    pub build_id: Option<String>,
    /// The address of `_stext`, which on x86-64 is that of `_text` too.
    pub text: Option<u64>,
    /// The modules that are loaded, by name.
    pub modules: Vec<Module>,
    /// The symbols of modules, by name: in which they stand, once for each time.
    pub symbols: Option<FxHashMap<String, Vec<Symbol>>>,
    /// The ranges of addresses that kprobes refuse, by start.
    pub refused: Option<Vec<Refused>>,
    /// Names of functions with an ftrace site, and their module; without one of the kernel.
    pub traced: Option<FxHashSet<(String, Option<String>)>>,
    /// What could not be read, and why.
    pub missing: Vec<(String, String)>,
}

/// A module that is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// As the kernel spells it.
    pub name: String,
    /// In hexadecimal.
    pub build_id: Option<String>,
    /// Names and addresses of its sections; empty where the kernel hid them.
    pub sections: Vec<(String, u64)>,
}

/// A symbol of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The module.
    pub module: String,
    /// Its address.
    pub address: u64,
    /// Its letter in `/proc/kallsyms`.
    pub letter: char,
}

/// A range that kprobes refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// At run time.
    pub addresses: Range<u64>,
    /// The symbol that the kernel names.
    pub name: String,
}

impl Live {
    /// Reads the text of a capture.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`](crate::error::ErrorKind::Damaged) with the line, for a text that is none, is of another version,
    /// or ends early.
    pub fn parse(text: &[u8]) -> Result<Self> {
        text::parse(text)
    }
    /// The text of a capture.
    pub fn to_text(&self) -> Vec<u8> {
        text::print(self)
    }
    /// A module that is loaded. Cost: a binary search.
    pub fn module(&self, name: &[u8]) -> Option<&Module> {
        let at = self.modules.binary_search_by(|m| m.name.as_bytes().cmp(name)).ok()?;
        self.modules.get(at)
    }
    /// What kprobes refuse: ranges that do not touch, by start. `None` where that could not be read.
    pub fn refused_ranges(&self) -> Option<Vec<Range<u64>>> {
        let mut apart: Vec<Range<u64>> = vec![];
        for Refused { addresses, .. } in self.refused.as_ref()? {
            match apart.last_mut() {
                Some(last) if addresses.start <= last.end => last.end = last.end.max(addresses.end),
                _ => apart.push(addresses.clone()),
            }
        }
        Some(apart)
    }
}
