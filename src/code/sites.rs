//! What the tables of sites have in common on all architectures: their names, and how they are read.
use super::SiteFacts;
use super::table::{Table, TableName, Tables};
use super::text::Text;
use crate::error::{Error, Result};
use probeidx_format::record::SiteKind;

/// Reads the entries of a table.
pub type Reader = fn(&Table<'_>, &Text<'_>) -> Result<Vec<SiteFacts>>;

/// Reads these tables; gives what could not be read.
pub fn read_all(
    readers: &[(&TableName, Reader)],
    tables: &Tables<'_, '_>,
    text: &Text<'_>,
    found: &mut Vec<SiteFacts>,
) -> Vec<Error> {
    let mut faults = vec![];
    for (name, read) in readers {
        let sites = tables.table(name).and_then(|table| match table {
            Some(table) => read(&table, text),
            None => Ok(vec![]),
        });
        match sites {
            Ok(sites) => found.extend(sites),
            Err(error) => faults.push(error),
        }
    }
    faults
}

macro_rules! tables {
    ($($name:ident = $section:literal from $start:literal to $stop:literal read by $reader:literal;)*) => {
        $(pub const $name: TableName =
            TableName { section: $section, start: $start, stop: $stop, reader: $reader };)*
    };
}
pub(super) use tables;

tables! {
    JUMP_LABELS = "__jump_table" from "__start___jump_table" to "__stop___jump_table"
        read by "jump_label_text_reserved";
    BUGS = "__bug_table" from "__start___bug_table" to "__stop___bug_table" read by "find_bug";
    ALTERNATIVES = ".altinstructions" from "__alt_instructions" to "__alt_instructions_end"
        read by "apply_alternatives";
}

/// A site of so many bytes.
pub fn site(start: u32, length: u8, kind: SiteKind) -> SiteFacts {
    SiteFacts { start, length, kind: kind as u8 }
}

/// Reads a table with entries of one size.
pub fn each(
    table: &Table<'_>,
    size: usize,
    read: impl Fn(usize) -> Option<SiteFacts>,
) -> Result<Vec<SiteFacts>> {
    table.entries(size)?.map(|at| read(at).ok_or_else(|| table.damaged(at))).collect()
}

/// Reads a table of which the size of an entry depends on the kernel: the first with which every entry makes sense.
pub fn first_that_fits(
    table: &Table<'_>,
    sizes: &[usize],
    read: impl Fn(usize, usize) -> Option<Vec<SiteFacts>>,
) -> Result<Vec<SiteFacts>> {
    let fitting = sizes.iter().filter(|size| table.length().is_multiple_of(**size));
    let with = |size: &usize| -> Option<Vec<SiteFacts>> {
        let entries = table.entries(*size).ok()?;
        let read: Option<Vec<_>> = entries.map(|at| read(at, *size)).collect();
        read.map(|sites| sites.concat())
    };
    fitting.into_iter().find_map(with).ok_or_else(|| table.damaged(0))
}
