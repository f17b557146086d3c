//! Placements: out-of-line functions and the inline instances within them, each with its ranges, call site and
//! locations of variables.
use super::abbrev::{Abbrev, Slot};
use super::attrs::{Attrs, block};
use super::cursor::Cursor;
use super::extractor::{Extractor, Source};
use super::facts::{LabelFacts, NO_PLACE, PlaceFacts, RangeFacts};
use super::functions::{DEEPEST_SCOPE, UnitVariable};
use super::header::{Fault, Role, UnitHeader};
use super::read_budget::LIST_ENTRY;
use super::sections::Sections;
use super::strings::{LocalStr, content_hash};
use super::unit::Unit;
use super::{has_functions_in_types, lists};
use gimli::constants::*;
use object::Endian;
use probeidx_format::details::{Buffer, CallSite, DetailWriter, Range};
use probeidx_format::expr::FrameBase;
use probeidx_format::record::FunctionRecord;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Memory reused for every placement.
#[derive(Default)]
pub struct Scratch<'d> {
    buffers: Vec<Buffer>,
    pub(super) ranges: Vec<Range>,
    pub(super) list: Vec<(Range, &'d [u8])>,
    /// The hashes of recently written details, and their offsets in the batch.
    recent: Vec<(u32, u32)>,
    /// The variables of a function without an abstract entry, found while its code is walked.
    pub(super) own: Vec<UnitVariable>,
    /// Functions within functions, to be walked later, with their depth.
    nested: Vec<(usize, u32)>,
    /// Batch numbers of the unit's files, by their number in the line table.
    file_numbers: Vec<u32>,
    /// Batch numbers of the unit's files, by path.
    numbers_of_paths: FxHashMap<LocalStr, u32>,
}

/// Number of recent details that new ones are compared with.
const RECENT_DETAILS: usize = 2048;

/// Longer details are not compared.
const SMALL_DETAILS: usize = 48;

/// Functions nested deeper than this within functions are left out.
const DEEPEST_FUNCTION: u32 = 16;

/// The placement whose scopes are walked.
#[derive(Clone, Copy)]
pub struct Frame {
    place: u32,
    pub(super) function: u32,
    /// Whether variables are described only here: their positions are those in `Scratch::own`.
    pub(super) is_own: bool,
    depth: u32,
    pub(super) nested: bool,
    /// The number of the lexical block, as in the details; 0 for none.
    block: u32,
    /// How many other functions enclose the out-of-line function.
    within: u32,
    /// The frame base of the out-of-line function.
    base: FrameBase,
}

impl<'d, E: Endian> Extractor<'d, '_, E> {
    /// Walks the function with code at this offset, and everything inlined into it.
    pub(super) fn out_of_line(&mut self, source: &Rc<Source<'d, E>>, offset: usize) {
        self.walk_function(source, offset, 0);
        while let Some((offset, depth)) = self.scratch.nested.pop() {
            self.walk_function(source, offset, depth);
        }
    }

    fn walk_function(&mut self, source: &Rc<Source<'d, E>>, offset: usize, within: u32) {
        let unit = &source.unit;
        let mut cursor = unit.cursor(offset);
        let Some(abbrev) = unit.abbrevs.get(cursor.uleb()) else { return };
        let mut attrs = Attrs::default();
        unit.attrs(&mut cursor, abbrev, &mut attrs);
        let origin = attrs.get(Slot::Origin).and_then(|origin| self.function_at(source, origin));
        let (entry, found) = self.entry_and_ranges(unit, &attrs);
        if found.is_empty() && entry.is_none() {
            self.scratch.ranges = found;
            return;
        }
        let entry = entry.unwrap_or(0);
        let function = match origin {
            Some(function) => function,
            None => {
                let mut function = self.declaration(source, &attrs);
                if attrs.get(Slot::DeclFile).is_none() && function.file == LocalStr::EMPTY {
                    function.lookup = Some(entry);
                }
                self.functions.list.push(function);
                self.functions.list.len() as u32 - 1
            }
        };
        let place = self.batch.places.len() as u32;
        self.batch.places.push(PlaceFacts { function, entry, outer: NO_PLACE, details: 0 });
        let object = self.object.number;
        let whole = found.iter().filter(|r| r.start < r.end);
        self.batch.ranges.extend(whole.map(|r| RangeFacts { object, start: r.start, end: r.end, place }));
        let base = frame_base(&unit.sections, &attrs);
        let frame = Frame {
            place,
            function,
            is_own: origin.is_none(),
            depth: 0,
            nested: false,
            block: 0,
            within,
            base,
        };
        self.scratch.own.clear();
        self.walk_place(source, &mut cursor, abbrev.has_children, frame, entry, found, None);
        if cursor.ended {
            self.fault(Fault::new(".debug_info", offset, "the entries of a function are damaged"));
        }
        if origin.is_none() {
            let first = self.functions.variables.len() as u32;
            self.functions.variables.append(&mut self.scratch.own);
            let end = self.functions.variables.len() as u32;
            self.functions.list[function as usize].variables = first..end;
        }
    }

    fn inline_instance(
        &mut self,
        source: &Rc<Source<'d, E>>,
        cursor: &mut Cursor<'d, E>,
        abbrev: &Abbrev,
        outer: Frame,
    ) {
        let mut attrs = self.spare_attrs.take();
        source.unit.attrs(cursor, abbrev, &mut attrs);
        let function = attrs.get(Slot::Origin).and_then(|origin| self.function_at(source, origin));
        let Some(function) = function.filter(|_| outer.depth < DEEPEST_SCOPE) else {
            self.spare_attrs.put(attrs);
            self.fault(Fault::new(
                ".debug_info",
                cursor.pos,
                "an inline instance without origin, or nested too deep",
            ));
            if abbrev.has_children {
                source.unit.skip_children(cursor);
            }
            return;
        };
        let (entry, found) = self.entry_and_ranges(&source.unit, &attrs);
        let number = |slot| attrs.get(slot).unwrap_or(0) as u32;
        let (file, line, column) = (number(Slot::CallFile), number(Slot::CallLine), number(Slot::CallColumn));
        self.spare_attrs.put(attrs);
        let call = CallSite { file: self.file_number(source, file), line, column };
        let place = self.batch.places.len() as u32;
        let entry = entry.unwrap_or(0);
        self.batch.places.push(PlaceFacts { function, entry, outer: outer.place, details: 0 });
        let frame = Frame {
            place,
            function,
            is_own: false,
            depth: outer.depth + 1,
            nested: false,
            block: 0,
            within: outer.within,
            base: outer.base,
        };
        self.walk_place(source, cursor, abbrev.has_children, frame, entry, found, Some(call));
    }

    #[expect(clippy::too_many_arguments, reason = "the one place where out-of-line and inline meet")]
    fn walk_place(
        &mut self,
        source: &Rc<Source<'d, E>>,
        cursor: &mut Cursor<'d, E>,
        has_children: bool,
        frame: Frame,
        entry: u32,
        found: Vec<Range>,
        call: Option<CallSite>,
    ) {
        let mut buffer = self.scratch.buffers.pop().unwrap_or_default();
        let outer = self.batch.places[frame.place as usize].outer;
        let inlined = call.map(|call| (frame.place - outer, call));
        let mut writer = DetailWriter::new(&mut buffer, entry, frame.base, &found, inlined);
        self.scratch.ranges = found;
        if has_children {
            self.walk_scope(source, cursor, &mut writer, frame);
        }
        writer.end();
        self.batch.places[frame.place as usize].details = self.details(buffer.bytes());
        self.scratch.buffers.push(buffer);
    }

    /// The offset of these details in the batch: small placements are often alike.
    fn details(&mut self, bytes: &[u8]) -> u32 {
        let details = &mut self.batch.details;
        let end = details.len() as u32;
        if bytes.len() > SMALL_DETAILS {
            details.extend_from_slice(bytes);
            return end;
        }
        let recent = &mut self.scratch.recent;
        recent.resize(RECENT_DETAILS, (0, 0));
        let hash = content_hash(bytes) as u32;
        let (known, start) = &mut recent[hash as usize % RECENT_DETAILS];
        if *known != hash || !details[*start as usize..].starts_with(bytes) {
            (*known, *start) = (hash, end);
            details.extend_from_slice(bytes);
        }
        *start
    }

    fn walk_scope(
        &mut self,
        source: &Rc<Source<'d, E>>,
        cursor: &mut Cursor<'d, E>,
        writer: &mut DetailWriter<'_>,
        frame: Frame,
    ) {
        let unit = &source.unit;
        while let Some((offset, abbrev)) = unit.next_entry(cursor) {
            match abbrev.tag {
                DW_TAG_formal_parameter | DW_TAG_variable => {
                    let mut attrs = self.spare_attrs.take();
                    unit.attrs(cursor, abbrev, &mut attrs);
                    let parameter = abbrev.tag == DW_TAG_formal_parameter;
                    self.place_variable(source, offset, &attrs, parameter, writer, frame);
                    self.spare_attrs.put(attrs);
                    if abbrev.has_children {
                        unit.skip_children(cursor);
                    }
                }
                DW_TAG_inlined_subroutine => self.inline_instance(source, cursor, abbrev, frame),
                DW_TAG_call_site | DW_TAG_GNU_call_site => {
                    self.call_site(source, cursor, abbrev, frame.place);
                }
                DW_TAG_unspecified_parameters => {
                    if frame.is_own && frame.depth == 0 {
                        self.functions.list[frame.function as usize].flags |= FunctionRecord::VARIADIC;
                    }
                    unit.skip_entry(cursor, abbrev);
                }
                DW_TAG_lexical_block | DW_TAG_try_block | DW_TAG_catch_block
                    if abbrev.has_children && frame.depth < DEEPEST_SCOPE =>
                {
                    let mut attrs = self.spare_attrs.take();
                    unit.attrs(cursor, abbrev, &mut attrs);
                    let (_, found) = self.entry_and_ranges(unit, &attrs);
                    self.spare_attrs.put(attrs);
                    let block = writer.block(&found);
                    self.scratch.ranges = found;
                    let inner =
                        Frame { depth: frame.depth + 1, nested: true, block: writer.blocks(), ..frame };
                    let first_label = self.batch.labels.len();
                    self.walk_scope(source, cursor, writer, inner);
                    if !writer.end_block(block) {
                        let own = |l: &&mut LabelFacts| (l.place, l.block) == (frame.place, inner.block);
                        let labels = self.batch.labels[first_label..].iter_mut();
                        labels.filter(own).for_each(|l| l.block = frame.block);
                    }
                }
                DW_TAG_label => {
                    let mut attrs = self.spare_attrs.take();
                    unit.attrs(cursor, abbrev, &mut attrs);
                    self.label(source, (frame.place, frame.block), &attrs);
                    self.spare_attrs.put(attrs);
                    if abbrev.has_children {
                        unit.skip_children(cursor);
                    }
                }
                DW_TAG_subprogram => self.nested_function(unit, offset, cursor, abbrev, frame),
                _ if has_members(unit, abbrev) && frame.depth < DEEPEST_SCOPE => {
                    unit.skip_attrs(cursor, abbrev);
                    self.walk_members(unit, cursor, frame);
                }
                _ if abbrev.has_name && abbrev.kind.is_some() => {
                    let mut attrs = self.spare_attrs.take();
                    self.pass_type(source, offset, cursor, abbrev, &mut attrs);
                    self.spare_attrs.put(attrs);
                }
                _ => unit.skip_entry(cursor, abbrev),
            }
        }
    }

    /// Queues the methods of a class declared in a function.
    fn walk_members(&mut self, unit: &Unit<'d, E>, cursor: &mut Cursor<'d, E>, outer: Frame) {
        let frame = Frame { depth: outer.depth + 1, ..outer };
        while let Some((offset, abbrev)) = unit.next_entry(cursor) {
            match abbrev.tag {
                DW_TAG_subprogram => self.nested_function(unit, offset, cursor, abbrev, frame),
                _ if has_members(unit, abbrev) && frame.depth < DEEPEST_SCOPE => {
                    unit.skip_attrs(cursor, abbrev);
                    self.walk_members(unit, cursor, frame);
                }
                _ => unit.skip_entry(cursor, abbrev),
            }
        }
    }

    /// Queues a function within a function, to be walked after it.
    fn nested_function(
        &mut self,
        unit: &Unit<'d, E>,
        offset: usize,
        cursor: &mut Cursor<'d, E>,
        abbrev: &Abbrev,
        frame: Frame,
    ) {
        // Each level skips everything nested deeper.
        if frame.within < DEEPEST_FUNCTION {
            self.scratch.nested.push((offset, frame.within + 1));
        } else {
            self.fault(Fault::new(".debug_info", offset, "functions are nested too deep"));
        }
        unit.skip_entry(cursor, abbrev);
    }

    /// The entry of a placement and its ranges. The memory of the ranges is `Scratch::ranges`; the caller returns it.
    pub(super) fn entry_and_ranges(
        &mut self,
        unit: &Unit<'d, E>,
        attrs: &Attrs,
    ) -> (Option<u32>, Vec<Range>) {
        let mut found = std::mem::take(&mut self.scratch.ranges);
        found.clear();
        let object = self.object;
        let mut first = None;
        let mut read = 0;
        let list = attrs.get(Slot::Ranges);
        let may_read = if list.is_some() { self.lists_left(unit) } else { Ok(()) };
        let whole = may_read.and_then(|()| {
            lists::ranges(unit, attrs, |start, end| {
                read += LIST_ENTRY;
                first.get_or_insert(start);
                if let (Some(start), Some(end)) = (object.pc(start), object.pc(end))
                    && start <= end
                {
                    found.push(Range { start, end });
                }
            })
        });
        if let Some(offset) = list {
            self.read_budget.lists += read;
            if let Err(what) = whole {
                let (section, at) = match unit.header.role {
                    Role::Split => (".debug_info", unit.header.start),
                    _ => (lists::section_of_ranges(unit), offset as usize),
                };
                self.fault(Fault::new(section, at, what));
            }
        }
        let low = attrs.get(Slot::LowPc);
        let entry = match attrs.get(Slot::EntryPc) {
            Some(entry) if attrs.is_address(Slot::EntryPc) => Some(entry),
            Some(offset) => low.or(first).map(|low| low.wrapping_add(offset)),
            None => low.or(first),
        };
        (entry.and_then(|entry| self.pc(entry)), found)
    }

    /// The batch number of a file, by its number in the unit's line table.
    #[inline]
    pub(super) fn file_number(&mut self, source: &Source<'d, E>, file: u32) -> u32 {
        match self.scratch.file_numbers.get(file as usize) {
            Some(&known) if known != u32::MAX => known,
            _ => self.new_file_number(source, file),
        }
    }

    #[cold]
    fn new_file_number(&mut self, source: &Source<'d, E>, file: u32) -> u32 {
        let path = self.path(source, file.into());
        let first = self.batch.units.last().map_or(0, |u| u.first_file) as usize;
        let files = &mut self.batch.files;
        let number = *self.scratch.numbers_of_paths.entry(path).or_insert_with(|| {
            files.push(path);
            (files.len() - 1 - first) as u32
        });
        let at = file as usize;
        if at < source.lines.files.len() {
            if self.scratch.file_numbers.len() <= at {
                self.scratch.file_numbers.resize(at + 1, u32::MAX);
            }
            self.scratch.file_numbers[at] = number;
        }
        number
    }

    /// Forgets what is valid for the previous unit only.
    pub(super) fn enter_unit(&mut self, unit: &UnitHeader) {
        self.types.enter(unit);
        self.scratch.file_numbers.clear();
        self.scratch.numbers_of_paths.clear();
    }
}

/// Whether an entry is a type in which functions may be described.
fn has_members(unit: &Unit<'_, impl Endian>, abbrev: &Abbrev) -> bool {
    abbrev.has_children && abbrev.kind.is_some() && has_functions_in_types(unit.language)
}

/// The frame base of a function, to which its variables are relative.
fn frame_base(sections: &Sections<'_>, attrs: &Attrs) -> FrameBase {
    let Some(value) = attrs.get(Slot::FrameBase).filter(|_| attrs.is_block(Slot::FrameBase)) else {
        return FrameBase::Other;
    };
    match *block(sections, value) {
        [op] if DwOp(op) == DW_OP_call_frame_cfa => FrameBase::Cfa,
        [op] if (DW_OP_reg0.0..=DW_OP_reg31.0).contains(&op) => FrameBase::Register(op - DW_OP_reg0.0),
        _ => FrameBase::Other,
    }
}
