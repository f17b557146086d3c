//! The state of a running kernel, captured to apply to its index elsewhere: `probeidx capture`.
//!
//! # The capture, version 1
//!
//! A text with one fact on each line, compressed by `gzip`; `zcat` shows it. Names have no blanks.
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
//! [code]
//! ffffffffa7401230 9 0 3! 5                             patched code: where it lies, its length, and its instructions; those with
//!                                                       ! or t (a trap) kprobes refuse
//! [traced]
//! vfs_read                                              functions with an ftrace site, and their module
//! ovl_open overlay
//! [missing]
//! refused Permission denied (os error 13)               what could not be read, and why
//! [end]
//! ```
//!
//! Of code there is what an index of the kernel says is patched when it starts, but for what may be patched again.
//!
//! A part that could not be read is absent and listed in `missing`; without `[end]`, the file is incomplete.
#[cfg(feature = "cli")]
pub mod code;
#[cfg(feature = "cli")]
pub mod gather;
mod text;

use crate::error::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The state of a running kernel. A part that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// As `uname -r` prints it.
    pub release: String,
    /// The build id of the kernel's image, in hexadecimal.
    pub build_id: Option<String>,
    /// The address of `_stext`, which on x86-64 is also that of `_text`.
    pub text: Option<u64>,
    /// The loaded modules, by name.
    pub modules: Vec<Module>,
    /// The symbols of modules, by name, with an entry for each occurrence.
    pub symbols: Option<FxHashMap<String, Vec<Symbol>>>,
    /// The address ranges of the kprobe blacklist, by start.
    pub refused: Option<Vec<Refused>>,
    /// The names of functions with an ftrace site, with their module; `None` for functions of the kernel.
    pub traced: Option<FxHashSet<(String, Option<String>)>>,
    /// The code that was patched when the kernel started, by address.
    pub code: Option<Vec<Patched>>,
    /// What could not be read, and why.
    pub missing: Vec<(String, String)>,
}

/// A loaded module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The name as the kernel spells it.
    pub name: String,
    /// The build id in hexadecimal.
    pub build_id: Option<String>,
    /// The names and addresses of its sections; empty if the kernel hid them.
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

/// Code that was patched when the kernel or the module started, as it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The run-time addresses.
    pub addresses: Range<u64>,
    /// The distances of its instructions from its start, ascending.
    pub instructions: Vec<(u32, Instruction)>,
}

/// What kprobes make of an instruction by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// They take it.
    Taken,
    /// They refuse it.
    Unsupported,
    /// They refuse it if the kernel has that rule.
    Trap,
}

/// A range of the kprobe blacklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The run-time addresses.
    pub addresses: Range<u64>,
    /// The symbol that the kernel reports.
    pub name: String,
}

impl Live {
    /// Parses the text of a capture.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`](crate::error::ErrorKind::Damaged), with the line, if the text is not a capture, is of
    /// another version, or ends early.
    pub fn parse(text: &[u8]) -> Result<Self> {
        text::parse(text)
    }
    /// How many symbols its modules have, as far as they could be read.
    pub fn symbol_count(&self) -> usize {
        self.symbols.iter().flat_map(FxHashMap::values).map(Vec::len).sum()
    }
    /// The text of a capture.
    pub fn to_text(&self) -> Vec<u8> {
        text::print(self)
    }
    /// What is at an address of patched code; `None` if that was not captured, `Some(None)` if no instruction starts there. Cost: a
    /// binary search.
    pub fn instruction(&self, address: u64) -> Option<Option<Instruction>> {
        let code = self.code.as_ref()?;
        let after = code.partition_point(|patched| patched.addresses.start <= address);
        let patched = code[..after].last().filter(|patched| patched.addresses.contains(&address))?;
        let distance = address - patched.addresses.start;
        let found = patched.instructions.iter().find(|(at, _)| u64::from(*at) == distance);
        Some(found.map(|(_, instruction)| *instruction))
    }
    /// A loaded module. Cost: a binary search.
    pub fn module(&self, name: &[u8]) -> Option<&Module> {
        let at = self.modules.binary_search_by(|m| m.name.as_bytes().cmp(name)).ok()?;
        self.modules.get(at)
    }
    /// The ranges of the kprobe blacklist, merged and ordered by start; `None` if they could not be read.
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
