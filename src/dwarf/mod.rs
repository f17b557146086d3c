//! Reads debug information into facts: a pure function from the sections of an object to owned values.
//!
//! An [`Extractor`] reads consecutive units. It knows nothing of files on disk, threads or the index. References to
//! other units are followed at once, so a batch of units can be read without any other.
#![allow(non_upper_case_globals, reason = "the constants bear the names that the DWARF standard gives them")]
mod abbrev;
mod attrs;
mod calls;
mod cursor;
mod expressions;
mod extractor;
pub mod facts;
mod followers;
mod frames;
mod functions;
mod header;
mod labels;
mod line;
mod lists;
mod locations;
mod members;
mod places;
mod read_budget;
mod sections;
mod slot;
mod source_tree;
mod split;
pub mod strings;
mod type_plan;
mod type_scopes;
mod types;
mod unit;

pub use extractor::{Gathered, KnownTypes, ObjectSource};
pub use header::{Fault, Role, UnitHeader, Units, header_at, in_part};
pub use sections::{Origin, Part, PartKind, Sections};
pub use source_tree::SourceTree;
pub use split::{Skeleton, is_one_table, skeletons, with_entries};

use abbrev::Slot;
use attrs::Attrs;
use cursor::Cursor;
use extractor::{Extractor, Source};
use facts::{SequenceFacts, UnitFacts};
use gimli::constants::*;
use object::{Endian, Endianness, LittleEndian};
use probeidx_format::lines::{self, Row, Rows};
use probeidx_format::record::UnitRecord;
use std::collections::BTreeSet;
use std::rc::Rc;
use strings::LocalStr;

/// Resumes a batch with these units of an object; `passed` is called with each once it is read.
///
/// Cost: most of the time of a build. Therefore little-endian objects have specialized code, which never checks the
/// byte order.
pub fn read_units(
    gathered: Gathered,
    object: ObjectSource<'_>,
    units: &[UnitHeader],
    known: &dyn KnownTypes,
    passed: &dyn Fn(&UnitHeader),
) -> Gathered {
    match object.sections.order {
        Endianness::Little => Extractor::new(gathered, object, LittleEndian, known).read_all(units, passed),
        order @ Endianness::Big => Extractor::new(gathered, object, order, known).read_all(units, passed),
    }
}

/// Resumes a batch with the frame rules of an object. Cost: below 1 % of a build.
pub fn read_frames(gathered: Gathered, object: ObjectSource<'_>) -> Gathered {
    Extractor::new(gathered, object, object.sections.order, &()).read_frames()
}

impl<'d, E: Endian> Extractor<'d, '_, E> {
    fn read_all(mut self, units: &[UnitHeader], passed: &dyn Fn(&UnitHeader)) -> Gathered {
        for header in units {
            self.read(*header);
            passed(header);
        }
        self.leave()
    }

    /// Reads a unit of the object, wherever its entries are, or a type unit.
    fn read(&mut self, header: UnitHeader) {
        if header.role == Role::Type {
            self.read_type_unit(header);
            return;
        }
        let header = self.object.with_entries(header);
        let Some(source) = self.open(header) else { return };
        let unit = &source.unit;
        let producer = unit.producer.map_or(LocalStr::EMPTY, |p| self.string(p));
        let name = unit.name.map_or(LocalStr::EMPTY, |n| self.unit_name(n));
        self.batch.units.push(UnitFacts {
            object: self.object.number,
            name,
            producer,
            language: unit.language,
            version: source.encoding().version,
            flags: unit_flags(self.batch.strings.get(producer)),
            first_place: self.batch.places.len() as u32,
            first_file: self.batch.files.len() as u32,
        });
        self.enter_unit(&header);
        let first_sequence = self.batch.sequences.len();
        self.read_lines(&source);
        let mut with_code = vec![];
        let mut cursor = unit.cursor(unit.children);
        self.read_entries(&source, &mut cursor, &mut with_code, 0);
        if cursor.ended {
            self.fault(Fault::new(".debug_info", header.start, "the entries of a unit are damaged"));
        }
        while let Some(offset) = self.imports.pop() {
            self.read_imported(&source, offset);
        }
        for offset in with_code {
            self.out_of_line(&source, offset);
        }
        let first_call = self.follow_calls(&source);
        self.locate_functions(first_sequence);
        let numbers = self.finish_functions();
        let first_place = self.batch.units.last().map_or(0, |u| u.first_place) as usize;
        for place in &mut self.batch.places[first_place..] {
            place.function = numbers[place.function as usize];
        }
        self.number_calls(first_call, &numbers);
        self.close(source);
    }

    /// Reads the entries of a unit or namespace: types and abstract functions. Functions with code are queued,
    /// because they may refer to abstract ones that follow.
    fn read_entries(
        &mut self,
        source: &Rc<Source<'d, E>>,
        cursor: &mut Cursor<'d, E>,
        with_code: &mut Vec<usize>,
        depth: u32,
    ) {
        let unit = &source.unit;
        let has_functions_in_types = has_functions_in_types(unit.language);
        let mut attrs = Attrs::default();
        while let Some((offset, abbrev)) = unit.next_entry(cursor) {
            match abbrev.tag {
                DW_TAG_subprogram if abbrev.is_declaration => unit.skip_entry(cursor, abbrev),
                DW_TAG_subprogram => {
                    unit.attrs(cursor, abbrev, &mut attrs);
                    let has_code =
                        [Slot::LowPc, Slot::Ranges, Slot::EntryPc].iter().any(|s| attrs.get(*s).is_some());
                    if has_code {
                        with_code.push(offset);
                    }
                    if has_code || attrs.flag(Slot::Declaration) {
                        if abbrev.has_children {
                            match attrs.get(Slot::Sibling).map(|s| s as usize) {
                                Some(sibling) if sibling > cursor.pos && sibling <= unit.header.end => {
                                    cursor.pos = sibling;
                                }
                                _ => unit.skip_children(cursor),
                            }
                        }
                    } else {
                        self.abstract_function(source, offset, cursor, abbrev.has_children, &attrs);
                    }
                }
                _ if abbrev.kind.is_some() && abbrev.has_name && !has_functions_in_types => {
                    self.pass_type(source, offset, cursor, abbrev, &mut attrs);
                }
                tag if abbrev.kind.is_some() && has_functions_in_types => {
                    unit.attrs(cursor, abbrev, &mut attrs);
                    self.meet_type(source, offset, tag, &attrs);
                    match abbrev.has_children {
                        true if depth < functions::DEEPEST_SCOPE => {
                            self.read_entries(source, cursor, with_code, depth + 1);
                        }
                        true => unit.skip_children(cursor),
                        false => {}
                    }
                }
                DW_TAG_namespace | DW_TAG_module
                    if abbrev.has_children && depth < functions::DEEPEST_SCOPE =>
                {
                    unit.skip_attrs(cursor, abbrev);
                    self.read_entries(source, cursor, with_code, depth + 1);
                }
                DW_TAG_imported_unit => {
                    unit.attrs(cursor, abbrev, &mut attrs);
                    self.imports.extend(attrs.get(Slot::Import));
                    if abbrev.has_children {
                        unit.skip_children(cursor);
                    }
                }
                _ => unit.skip_entry(cursor, abbrev),
            }
        }
    }

    /// Reads the types and functions of a unit of the supplementary file, once for all units that import it. Partial
    /// units of the object itself are read like all others.
    fn read_imported(&mut self, source: &Rc<Source<'d, E>>, offset: u64) {
        let Some(imported) = self.source_of(source, offset) else { return };
        let header = imported.unit.header;
        if header.role == Role::Supplementary && self.imported.insert(header.start) {
            self.read_without_code(&imported);
        }
    }

    /// Reads a type unit.
    fn read_type_unit(&mut self, header: UnitHeader) {
        let Some(source) = self.open(header) else { return };
        self.read_without_code(&source);
        self.finish_functions();
        self.close(source);
    }

    fn read_without_code(&mut self, source: &Rc<Source<'d, E>>) {
        let header = source.unit.header;
        let mut with_code = vec![];
        let mut cursor = source.unit.cursor(source.unit.children);
        self.read_entries(source, &mut cursor, &mut with_code, 0);
        if cursor.ended {
            self.fault(Fault::new(".debug_info", header.start, "the entries of a unit are damaged"));
        }
        if let Some(&offset) = with_code.first() {
            self.fault(Fault::new(".debug_info", offset, "a function with code outside of the object"));
        }
    }

    fn read_lines(&mut self, source: &Rc<Source<'d, E>>) {
        // Several units may share a table (dwz). Partial units have no code, and no table is run twice.
        let is_partial = source.unit.tag == DW_TAG_partial_unit;
        let Some(offset) = source.unit.stmt_list.filter(|o| !is_partial && self.programs.insert(*o)) else {
            return;
        };
        if !self.lines_left() {
            let what = "line tables are read more than 32 times: they overlap";
            return self.fault(Fault::new(".debug_line", offset as usize, what));
        }
        self.read_budget.lines += source.lines.program_size();
        let unit_number = self.batch.units.len() as u32 - 1;
        let object = self.object.number;
        let mut rows = vec![];
        let mut kept: Vec<Row> = vec![];
        let mut writer = std::mem::take(&mut self.line_writer);
        let result = line::run(&source.unit, &source.lines, &mut rows, |sequence| {
            let (Some(start), Some(end)) =
                (sequence.rows.first().and_then(|r| self.pc(r.0)), self.pc(sequence.end))
            else {
                return;
            };
            kept.clear();
            let mut last = None;
            for &(address, row) in sequence.rows {
                let Some(pc) = self.pc(address) else { continue };
                let file = match last {
                    Some((file, number)) if file == row.position.file => number,
                    _ => self.file_number(source, row.position.file),
                };
                last = Some((row.position.file, file));
                let position = lines::Position { file, ..row.position };
                let row = Row { pc, position, ..row };
                // Rows that differ only in their view number add nothing.
                if kept.last().is_none_or(|last| last.pc != pc || *last != row) {
                    kept.push(row);
                }
            }
            for (start, end, rows) in pieces(start, end, &kept) {
                let at = self.batch.lines.len() as u32;
                self.batch.sequences.push(SequenceFacts { object, start, end, unit: unit_number, rows: at });
                writer.put(&mut self.batch.lines, start, rows);
            }
        });
        self.line_writer = writer;
        if let Err(fault) = result {
            self.fault(fault);
        }
    }

    /// Sets the file and line of functions without `DW_AT_decl_file`, as assemblers write them, from their first row.
    fn locate_functions(&mut self, first_sequence: usize) {
        let list = self.functions.list.iter().enumerate();
        let mut wanted: BTreeSet<(u32, usize)> = list.filter_map(|(at, f)| Some((f.lookup?, at))).collect();
        if wanted.is_empty() {
            return;
        }
        let unknown = self.batch.strings.intern(UNKNOWN_SOURCE);
        let first_file = self.batch.units.last().map_or(0, |u| u.first_file);
        // Each row is read once, and each function is found in the first sequence that contains it.
        for sequence in &self.batch.sequences[first_sequence..] {
            let found: Vec<_> = wanted.range((sequence.start, 0)..(sequence.end, 0)).copied().collect();
            if found.is_empty() {
                continue;
            }
            let mut rows = Rows::read(&self.batch.lines[sequence.rows as usize..], sequence.start).peekable();
            let mut row = None;
            for (pc, at) in found {
                wanted.remove(&(pc, at));
                while let Some(next) = rows.next_if(|r| r.pc <= pc) {
                    row = Some(next);
                }
                let file = row.and_then(|r| self.batch.files.get((first_file + r.position.file) as usize));
                let function = &mut self.functions.list[at];
                match (file, row) {
                    (Some(file), Some(row)) => (function.file, function.line) = (*file, row.position.line),
                    _ => function.file = unknown,
                }
            }
        }
        for (_, at) in wanted {
            self.functions.list[at].file = unknown;
        }
    }
}

/// What SystemTap prints for a function without a file in its entry or the line table.
const UNKNOWN_SOURCE: &[u8] = b"<unknown source>";

/// Whether functions may be described within types, as methods are.
fn has_functions_in_types(language: u16) -> bool {
    !matches!(
        DwLang(language),
        DW_LANG_C | DW_LANG_C89 | DW_LANG_C99 | DW_LANG_C11 | DwLang(0x2c) | DW_LANG_Mips_Assembler
    )
}

/// With `-mfentry`, GCC starts location lists after the call at a function's entry (SystemTap PR15123).
fn unit_flags(producer: &[u8]) -> u32 {
    let has = |what: &[u8]| memchr::memmem::find(producer, what).is_some();
    if has(b"GNU ") && has(b"-mfentry") { UnitRecord::GCC_MFENTRY } else { 0 }
}

/// The rows of a piece. Shorter ones start with less to refer to: 512 would make the index of a kernel 0.6 % longer.
const ROWS: usize = 2048;

/// The rows of a sequence in pieces with their bounds, so that the row of an address is found without reading all of
/// them. Rows of one address stay together.
fn pieces(start: u32, end: u32, rows: &[Row]) -> impl Iterator<Item = (u32, u32, &[Row])> {
    let mut left = Some((start, rows));
    std::iter::from_fn(move || {
        let (start, rows) = left.take()?;
        let cut = (ROWS..rows.len()).find(|&at| rows[at - 1].pc < rows[at].pc);
        let Some((own, others)) = cut.map(|cut| rows.split_at(cut)) else { return Some((start, end, rows)) };
        left = Some((others[0].pc, others));
        Some((start, others[0].pc, own))
    })
}
