//! The debug sections of an object, followed by those of other files, in one space of offsets.
use object::Endianness;

/// The debug sections of an object, relocated; empty if the object lacks them.
///
/// The debug information in other files follows that of the object, file by file, in every section. An offset
/// therefore identifies its file ([`Part`]), and offsets within a unit are relative to the unit's share of a section
/// ([`Origin`]).
#[derive(Clone, Copy)]
pub struct Sections<'d> {
    /// Their byte order.
    pub order: Endianness,
    /// Bytes per address, for frame entries without a size of their own.
    pub address_size: u8,
    /// `.debug_info`, followed by `.debug_types` and the members of section groups.
    pub info: &'d [u8],
    pub abbrev: &'d [u8],
    pub line: &'d [u8],
    pub str: &'d [u8],
    pub line_str: &'d [u8],
    pub str_offsets: &'d [u8],
    pub addr: &'d [u8],
    pub rnglists: &'d [u8],
    pub ranges: &'d [u8],
    pub loclists: &'d [u8],
    pub loc: &'d [u8],
    pub frame: &'d [u8],
    /// Used without `frame`.
    pub eh_frame: &'d [u8],
    /// The address of `eh_frame`, as in its relocations.
    pub eh_frame_address: u64,
    /// The files with their shares, the object first; an empty list means only the object.
    pub parts: &'d [Part],
    /// The origins of units, by [`UnitHeader::origin`](super::UnitHeader); the first is that of the object.
    pub origins: &'d [Origin],
    /// The supplementary file, if any.
    pub supplement: Option<Origin>,
    /// The type described by each type unit, by signature; sorted.
    pub signatures: &'d [(u64, usize)],
}

impl Sections<'_> {
    /// The origin of a unit.
    pub fn origin(&self, number: u32) -> Origin {
        self.origins.get(number as usize).copied().unwrap_or_default()
    }
    /// The part that contains this offset of a section, and the start of the part's share.
    pub fn part_at(&self, section: &str, offset: usize) -> (usize, usize) {
        let start = |part: &Part| part.start.of(section).unwrap_or(usize::MAX);
        let after = 1 + self.parts.get(1..).unwrap_or_default().partition_point(|part| start(part) <= offset);
        (after - 1, self.parts.get(after - 1).map_or(0, |part| part.start.of(section).unwrap_or(0)))
    }
}

/// The role of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The object itself.
    Object,
    /// Shared by several objects, made by dwz.
    Supplementary,
    /// Split DWARF: a `.dwo` file, or a package of them.
    Split,
}

/// A file's share of the sections.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub kind: PartKind,
    pub start: Origin,
    /// The start of its `.debug_types` in [`Sections::info`], after its `.debug_info`.
    pub types: usize,
    /// The end of its share of [`Sections::info`].
    pub end: usize,
}

/// Start offsets in every section: of the share of a file, or of one unit in a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub info: usize,
    pub abbrev: usize,
    pub line: usize,
    pub str: usize,
    pub line_str: usize,
    pub str_offsets: usize,
    pub rnglists: usize,
    pub loclists: usize,
    pub loc: usize,
}

impl Origin {
    /// The start in a section; `None` for a section that only objects have.
    pub fn of(&self, section: &str) -> Option<usize> {
        Some(match section {
            ".debug_info" => self.info,
            ".debug_abbrev" => self.abbrev,
            ".debug_line" => self.line,
            ".debug_str" => self.str,
            ".debug_line_str" => self.line_str,
            ".debug_str_offsets" => self.str_offsets,
            ".debug_rnglists" => self.rnglists,
            ".debug_loclists" => self.loclists,
            ".debug_loc" => self.loc,
            _ => return None,
        })
    }
}
