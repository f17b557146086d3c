//! A range of the kernel's blacklist.
use super::Hex;
use crate::query::verdict::blacklist::Refused;
use crate::query::verdict::reason::Reason;
use crate::render::{lossy as text, put_json_line, words};
use serde::Serialize;
use std::io::Write;

/// A range that the kernel refuses to kprobes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedRange {
    /// The release.
    pub kernel: String,
    /// The module; `None` for vmlinux.
    pub module: Option<String>,
    /// The section's name.
    pub section: String,
    /// Its first address: a link address; in a module, an offset within the section.
    pub start: Hex,
    /// The address behind its last byte.
    pub end: Hex,
    /// The function, or what the kernel calls the range.
    pub name: String,
    /// The verdict of kprobes there.
    pub reason: &'static str,
    /// What says so.
    pub source: &'static str,
}

/// Writes a range of the kernel's blacklist as one line.
pub fn refused(kernel: &str, range: &Refused<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    put_json_line(&refused_range(kernel, range), out)
}

/// A range of the kernel's blacklist.
pub fn refused_range(kernel: &str, range: &Refused<'_>) -> RefusedRange {
    RefusedRange {
        kernel: kernel.to_owned(),
        module: range.module.map(text),
        section: text(range.section),
        start: Hex(range.start),
        end: Hex(range.end),
        name: text(range.name),
        reason: Reason::from(range.source).name(),
        source: words::source(range.source),
    }
}
