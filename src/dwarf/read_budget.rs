//! Limits repeated reading: many references may lead to the same bytes, so a small file could take time quadratic in
//! its size. Compilers stay far below these limits.
use super::abbrev::Abbrevs;
use super::attrs::StrRef;
use super::extractor::Extractor;
use super::header::{Encoding, Fault};
use super::unit::Unit;
use object::Endian;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// How many times over the bytes of a section may be read through references from entries.
pub const MOST_READINGS: usize = 32;

/// This many bytes may always be read, however short the section.
const ALWAYS: usize = 1 << 20;

/// Longer names are dropped. The longest ones in C++ and Rust have some thousand bytes.
const LONGEST_NAME: usize = 64 << 10;

/// Names up to this length are read without limit: they cost no more than the entries themselves.
const SHORT_NAME: usize = 256;

/// The approximate size of an entry of a range list or location list, without its expression.
pub const LIST_ENTRY: usize = 8;

/// The bytes read so far for one object in one batch.
#[derive(Default)]
pub struct ReadBudget {
    abbrevs: usize,
    /// Bytes of line tables, including headers.
    pub lines: usize,
    /// Bytes of range lists and location lists.
    pub lists: usize,
    names: usize,
}

/// Abbreviation tables shared by several units, as by LLVM's full LTO and dwz.
#[derive(Default)]
pub struct SharedAbbrevs {
    read_once: FxHashSet<(usize, Encoding)>,
    read_again: FxHashMap<(usize, Encoding), Rc<Abbrevs>>,
}

fn is_too_much(read: usize, section: usize) -> bool {
    read > section.saturating_mul(MOST_READINGS).saturating_add(ALWAYS)
}

impl<'d, E: Endian> Extractor<'d, '_, E> {
    /// The abbreviations at this offset.
    pub(super) fn abbreviations(&mut self, offset: usize, encoding: Encoding) -> Result<Rc<Abbrevs>, Fault> {
        let key = (offset, encoding);
        if let Some(known) = self.shared_abbrevs.read_again.get(&key) {
            return Ok(known.clone());
        }
        let abbrevs = Rc::new(self.abbreviations_until(offset, encoding, None)?);
        if !self.shared_abbrevs.read_once.insert(key) {
            self.shared_abbrevs.read_again.insert(key, abbrevs.clone());
        }
        Ok(abbrevs)
    }

    /// The abbreviations at this offset, up to the one of the code `last`.
    pub(super) fn abbreviations_until(
        &mut self,
        offset: usize,
        encoding: Encoding,
        last: Option<u64>,
    ) -> Result<Abbrevs, Fault> {
        let section = self.object.sections.abbrev;
        let fault = |offset, what| Err(Fault::new(".debug_abbrev", offset, what));
        if is_too_much(self.read_budget.abbrevs, section.len()) {
            return fault(offset, "abbreviations are read more than 32 times: they overlap");
        }
        let mut abbrevs = std::mem::take(&mut self.spare_abbrevs);
        match abbrevs.read_until(section, offset, encoding, last) {
            Ok(end) => self.read_budget.abbrevs += end - offset,
            Err(at) => {
                self.read_budget.abbrevs += at.saturating_sub(offset);
                return fault(at, "the abbreviations are damaged");
            }
        }
        Ok(abbrevs)
    }

    /// Fails if the limit for range lists and location lists is reached.
    #[inline]
    pub(super) fn lists_left(&self, unit: &Unit<'_, E>) -> Result<(), &'static str> {
        let s = &unit.sections;
        let sections = s.ranges.len() + s.rnglists.len() + s.loc.len() + s.loclists.len();
        match is_too_much(self.read_budget.lists, sections) {
            true => Err("range and location lists are read more than 32 times: they overlap"),
            false => Ok(()),
        }
    }

    /// Whether another line table may be read.
    pub(super) fn lines_left(&self) -> bool {
        !is_too_much(self.read_budget.lines, self.object.sections.line.len())
    }

    /// The bytes of a name; empty if it is too long. The limit is lower once too many names were read again.
    #[inline]
    pub(super) fn name_bytes(&mut self, at: StrRef) -> &'d [u8] {
        let (most, what) = match self.names_left() {
            true => (LONGEST_NAME, "a name of more than 65536 bytes"),
            false => {
                (SHORT_NAME, "names are read more than 32 times: they overlap, the long ones are left out")
            }
        };
        let Some(name) = at.bytes_within(&self.object.sections, most) else {
            self.read_budget.names += most;
            // Offsets identify the file. For a single file they would only make each name a separate fault.
            let is_alone = self.object.sections.parts.len() < 2;
            self.fault(if is_alone { Fault::new(".debug_info", 0, what) } else { at.fault(what) });
            return &[];
        };
        self.read_budget.names += name.len();
        name
    }

    /// Counts the bytes of a name.
    #[inline]
    pub(super) fn count_name(&mut self, length: usize) {
        self.read_budget.names += length;
    }

    /// Whether more names may be read.
    pub(super) fn names_left(&self) -> bool {
        let s = &self.object.sections;
        !is_too_much(self.read_budget.names, s.info.len() + s.str.len() + s.line_str.len() + s.line.len())
    }
}
