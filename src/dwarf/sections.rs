//! The debug sections of an object, with those of other files behind them: one space of offsets for all.
use object::Endianness;

/// The debug sections of an object, relocated; empty where the object has none.
///
/// What other files have of its debug information stands behind what the object has, file after file and in every section:
/// an offset says in which file it is ([`Part`]), and what a unit says of offsets counts from where its own share of a
/// section starts ([`Origin`]).
#[derive(Clone, Copy)]
pub struct Sections<'d> {
    /// In which order the bytes of their numbers stand.
    pub order: Endianness,
    /// The bytes of an address, where frame entries do not say it.
    pub address_size: u8,
    /// `.debug_info`, and behind it what `.debug_types` and groups of sections have.
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
    /// Where there is no `frame`.
    pub eh_frame: &'d [u8],
    /// That of `eh_frame`, as its relocations have it.
    pub eh_frame_address: u64,
    /// The files that have them, the object first; none is as the object alone.
    pub parts: &'d [Part],
    /// From where units count, by [`UnitHeader::origin`](super::UnitHeader); the first is that of the object.
    pub origins: &'d [Origin],
    /// The supplementary file, where there is one.
    pub supplement: Option<Origin>,
    /// Where the type stands that a type unit describes, by signature; sorted.
    pub signatures: &'d [(u64, usize)],
}

impl Sections<'_> {
    /// From where a unit counts.
    pub fn origin(&self, number: u32) -> Origin {
        self.origins.get(number as usize).copied().unwrap_or_default()
    }
    /// The part in which this offset of a section lies, and where the part's share starts.
    pub fn part_at(&self, section: &str, offset: usize) -> (usize, usize) {
        let start = |part: &Part| part.start.of(section).unwrap_or(usize::MAX);
        let after = 1 + self.parts.get(1..).unwrap_or_default().partition_point(|part| start(part) <= offset);
        (after - 1, self.parts.get(after - 1).map_or(0, |part| part.start.of(section).unwrap_or(0)))
    }
}

/// What a file is to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The object itself.
    Object,
    /// Made by dwz, for several objects.
    Supplementary,
    /// Split DWARF: a `.dwo` file, or a package of them.
    Split,
}

/// The share that a file has of the sections.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub kind: PartKind,
    pub start: Origin,
    /// Where in [`Sections::info`] its `.debug_types` starts, behind its `.debug_info`.
    pub types: usize,
    /// Where in [`Sections::info`] its share ends.
    pub end: usize,
}

/// Where in every section something starts: the share of a file, or of one unit in a package.
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
    /// Where a section starts; `None` of one that only objects have.
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
