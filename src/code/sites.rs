//! The common part of all tables of sites: their names, and how their entries are read.
use super::assumptions;
use super::table::{Table, TableName};
use super::text::Text;
use super::{Object, Reading, SiteFacts};
use crate::error::{Error, ErrorKind, Result};
use crate::shapes::Shape;
use probeidx_format::record::{CodeTable, SiteKind};

/// A table, and how its entries become sites.
pub struct Reader {
    pub of: CodeTable,
    pub table: TableName,
    pub entries: Entries,
    /// Adds the sites of an entry; `None` if the entry is invalid.
    pub read: Read,
}

/// How the entries of a table are read.
pub type Read = fn(&Entry<'_, '_>, &mut Vec<SiteFacts>) -> Option<()>;

/// The table of jump labels, whose entries have their address relative to themselves; on machines of 32 bits it is absolute.
pub const fn jump_labels(read: Read) -> Reader {
    let entries = Entries::Struct("jump_entry", &["code"]);
    Reader { of: CodeTable::JumpLabels, table: JUMP_LABELS, entries, read }
}

/// The table of BUG and WARN, of which the same holds.
pub const fn bugs(read: Read) -> Reader {
    let entries = Entries::Struct("bug_entry", &["bug_addr_disp|bug_addr"]);
    Reader { of: CodeTable::Bugs, table: BUGS, entries, read }
}

/// The element type of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Structs of this name with these members.
    Struct(&'static str, &'static [&'static str]),
    /// Like `Struct`, but the last one may end after its last member.
    Unpadded(&'static str, &'static [&'static str]),
    /// 32-bit references, relative to their own location.
    References,
}

/// An entry of a table.
pub struct Entry<'a, 'd> {
    pub table: &'a Table<'d>,
    pub text: &'a Text<'d>,
    /// Its offset in the table.
    pub at: usize,
    pub shape: &'a Shape,
    /// Whether the kernel itself declares the struct; else its layout is assumed, and only valid entries confirm it.
    pub is_declared: bool,
}

impl Entry<'_, '_> {
    fn at(&self, member: &str) -> Option<usize> {
        Some(self.at + self.shape.offset(member)? as usize)
    }
    /// The target of a member that is relative to its own location.
    pub fn relative(&self, member: &str) -> Option<u32> {
        self.table.relative(self.at(member)?)
    }
    /// The target of a 64-bit member that is relative to the entry.
    pub fn distant(&self, member: &str) -> Option<u32> {
        self.table.distant(self.at(member)?, self.at)
    }
    /// The target of a member that is an address.
    pub fn address(&self, member: &str) -> Option<u32> {
        self.table.address(self.at(member)?)
    }
    /// A one-byte member.
    pub fn byte(&self, member: &str) -> Option<u8> {
        self.at(member).map(|at| self.table.byte(at))
    }
    /// A 16-bit member.
    pub fn half(&self, member: &str) -> Option<u16> {
        self.at(member).map(|at| self.table.half(at))
    }
    /// The symbol of another object that a member refers to.
    pub fn foreign(&self, member: &str) -> Option<&[u8]> {
        self.table.foreign(self.at(member)?)
    }
    /// The target of an entry that is a reference.
    pub fn reference(&self) -> Option<u32> {
        self.table.relative(self.at)
    }
}

/// Reads these tables. Unreadable ones are recorded with their errors.
pub fn read_all<'r>(
    readers: impl IntoIterator<Item = &'r Reader>,
    of: &Object<'_, '_, '_>,
    reading: &mut Reading<'_>,
) {
    for reader in readers {
        let sites = of.tables.table(&reader.table).and_then(|table| match table {
            Some(table) => read(reader, &table, of),
            None => Ok(vec![]),
        });
        match sites {
            Ok(sites) => reading.facts.sites.extend(sites),
            Err(error) => reading.lacks(reader.of, error),
        }
    }
}

/// The sites of a table.
fn read(reader: &Reader, table: &Table<'_>, of: &Object<'_, '_, '_>) -> Result<Vec<SiteFacts>> {
    let (name, members, is_unpadded) = match reader.entries {
        Entries::Struct(name, members) => (name, members, false),
        Entries::Unpadded(name, members) => (name, members, true),
        Entries::References => {
            return with(reader, table, of.text, &Shape::new::<&str>(4, []), false, true);
        }
    };
    for_shapes(table, name, members, of, |shape, is_declared| {
        with(reader, table, of.text, shape, is_unpadded, is_declared)
    })
}

/// Reads a table by the struct layout that the kernel declares; else by the first known layout that succeeds.
///
/// # Errors
/// The error of the table, or of a struct that lacks members and so is not a known one.
pub fn for_shapes<T>(
    table: &Table<'_>,
    name: &str,
    members: &[&str],
    of: &Object<'_, '_, '_>,
    read: impl Fn(&Shape, bool) -> Result<T>,
) -> Result<T> {
    if let Some(shape) = of.kernel.shapes.get(name) {
        if let Some(lost) =
            members.iter().find(|names| names.split('|').all(|name| shape.offset(name).is_none()))
        {
            let what = format!(
                "struct {name} of this kernel has no member {}: whether places in the table can be probed is undecided",
                lost.replace('|', " or ")
            );
            return Err(Error::new(ErrorKind::Unsupported, what).section(table.name()));
        }
        return read(shape, true);
    }
    let stride = table.entry_size();
    let fits = |shape: &Shape| stride.is_none_or(|stride| stride == shape.size);
    let mut fault = None;
    for shape in assumptions::shapes(name, of.object.machine).filter(fits) {
        match read(&shape, false) {
            Ok(found) => return Ok(found),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    Err(fault.unwrap_or_else(|| table.damaged(0)))
}

fn with(
    reader: &Reader,
    table: &Table<'_>,
    text: &Text<'_>,
    shape: &Shape,
    is_unpadded: bool,
    is_declared: bool,
) -> Result<Vec<SiteFacts>> {
    let mut found = vec![];
    let least = if is_unpadded { shape.end() } else { shape.size };
    for at in table.entries(shape.size as usize, least as usize)? {
        let entry = Entry { table, text, at, shape, is_declared };
        (reader.read)(&entry, &mut found).ok_or_else(|| table.damaged(at))?;
    }
    Ok(found)
}

macro_rules! tables {
    ($($name:ident = $section:literal from $start:literal to $stop:literal read by $reader:literal;)*) => {
        $(pub const $name: $crate::code::table::TableName =
            $crate::code::table::TableName { section: $section, start: $start, stop: $stop, reader: $reader };)*
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
