//! The state shared while the units of a batch are read: strings, paths, and other units that references lead to.
use super::abbrev::Abbrevs;
use super::attrs::{SpareAttrs, StrRef};
use super::calls::UnitCalls;
use super::cursor::Cursor;
use super::facts::Batch;
use super::functions::UnitFunctions;
use super::header::{Encoding, Fault, Role, UnitHeader};
use super::line::{self, FileName, LineHeader};
use super::places::Scratch;
use super::read_budget::{ReadBudget, SharedAbbrevs};
use super::sections::Sections;
use super::source_tree::SourceTree;
use super::strings::{Key, LocalStr};
use super::types::{KnownInBatch, Types};
use super::unit::Unit;
use object::Endian;
use probeidx_format::lines;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// A unit with the files that its numbers refer to.
pub struct Source<'d, E> {
    pub unit: Unit<'d, E>,
    pub lines: LineHeader,
    /// By file number, filled on demand.
    paths: RefCell<Vec<Option<LocalStr>>>,
}

/// The object whose units are read.
#[derive(Clone, Copy)]
pub struct ObjectSource<'d> {
    /// Subtracted from addresses.
    pub number: u32,
    /// What is subtracted from addresses.
    pub base: u64,
    /// The first address of code, relative to the base.
    pub first_pc: u32,
    pub sections: Sections<'d>,
    /// All units of the object, in order, followed by those of other files.
    pub headers: &'d [UnitHeader],
    /// Maps the address at which debug information starts a function to its true start: see `code::bodies`. Usually
    /// empty.
    pub bodies: Option<&'d FxHashMap<u32, u32>>,
    /// Maps the address after no-op instructions at an entry to the start of the function: see `code::untouched`.
    pub untouched: Option<&'d FxHashMap<u32, u32>>,
    /// The tree to which paths are relative.
    pub tree: &'d SourceTree,
}

impl<'d> ObjectSource<'d> {
    /// The units to read: those of the object itself, and type units.
    pub fn own(&self) -> Vec<UnitHeader> {
        self.headers.iter().filter(|unit| matches!(unit.role, Role::Own | Role::Type)).copied().collect()
    }
    /// The unit that has the entries: this one, or for a skeleton its split unit.
    pub fn with_entries(&self, unit: UnitHeader) -> UnitHeader {
        self.companion(unit).filter(|_| unit.role == Role::Own).unwrap_or(unit)
    }
    /// See [`UnitHeader::companion`].
    fn companion(&self, unit: UnitHeader) -> Option<UnitHeader> {
        let at = self.headers.binary_search_by_key(&unit.companion?, |other| other.start).ok()?;
        Some(self.headers[at])
    }
    /// The start of a function that has changed no value before this address; `None` for most addresses.
    #[inline]
    pub(super) fn begins(&self, pc: u32) -> Option<u32> {
        self.untouched?.get(&pc).copied()
    }
    /// See [`Extractor::pc`].
    #[inline(always)]
    pub(super) fn pc(&self, address: u64) -> Option<u32> {
        let pc = address.checked_sub(self.base)?;
        let pc = (pc != 0 && pc >= self.first_pc.into() && pc < u64::from(u32::MAX)).then_some(pc as u32)?;
        Some(self.bodies.and_then(|bodies| bodies.get(&pc).copied()).unwrap_or(pc))
    }
}

/// A batch that grows from object to object.
#[derive(Default)]
pub struct Gathered {
    batch: Batch,
    types: KnownInBatch,
    functions: FxHashMap<Key, u32>,
    strings: FxHashMap<u64, LocalStr>,
    paths: FxHashMap<(u64, u64), LocalStr>,
    spare_abbrevs: Abbrevs,
    line_writer: lines::Writer,
}

impl Gathered {
    /// The facts read so far.
    pub fn so_far(&self) -> &Batch {
        &self.batch
    }
    /// The facts read so far, to append some from elsewhere.
    pub fn facts(&mut self) -> &mut Batch {
        &mut self.batch
    }
    /// Finishes the batch; what remains is empty and keeps its memory for the next batch. The batch lives long: it has
    /// memory of its own, of exactly its size.
    pub fn finish(&mut self) -> Batch {
        let Batch {
            strings,
            types,
            members,
            functions,
            variables,
            units,
            files,
            places,
            details,
            ranges,
            sequences,
            lines,
            labels,
            calls,
            frames,
            frame_rows,
            faults,
        } = &mut self.batch;
        let table = strings.freeze();
        let batch = Batch {
            strings: std::mem::take(strings),
            types: own(types),
            members: own(members),
            functions: own(functions),
            variables: own(variables),
            units: own(units),
            files: own(files),
            places: own(places),
            details: own(details),
            ranges: own(ranges),
            sequences: own(sequences),
            lines: own(lines),
            labels: own(labels),
            calls: own(calls),
            frames: own(frames),
            frame_rows: own(frame_rows),
            faults: own(faults),
        };
        strings.reuse(table);
        self.types.clear();
        self.functions.clear();
        batch
    }
}

/// A copy of a list, which is emptied.
fn own<T: Clone>(list: &mut Vec<T>) -> Vec<T> {
    let own = list.clone();
    list.clear();
    own
}

/// Types that need not be described again.
pub trait KnownTypes: Sync {
    fn contains(&self, key: Key) -> bool;
}

/// No types are known.
impl KnownTypes for () {
    fn contains(&self, _: Key) -> bool {
        false
    }
}

/// Reads units into a batch.
pub struct Extractor<'d, 'k, E> {
    pub(super) batch: Batch,
    /// The byte order of the object, as a type known to the compiler.
    order: E,
    pub(super) object: ObjectSource<'d>,
    pub(super) known: &'k dyn KnownTypes,
    pub(super) types: Types<'d, E>,
    pub(super) functions: UnitFunctions,
    pub(super) calls: UnitCalls,
    pub(super) scratch: Scratch<'d>,
    pub(super) spare_attrs: SpareAttrs,
    strings: FxHashMap<u64, LocalStr>,
    paths: FxHashMap<(u64, u64), LocalStr>,
    foreign: FxHashMap<usize, Option<Rc<Source<'d, E>>>>,
    pub(super) spare_abbrevs: Abbrevs,
    pub(super) line_writer: lines::Writer,
    pub(super) shared_abbrevs: SharedAbbrevs,
    pub(super) read_budget: ReadBudget,
    /// The line programs already run.
    pub(super) programs: FxHashSet<u64>,
    /// Offsets in units that remain to be imported.
    pub(super) imports: Vec<u64>,
    /// The starts of units already imported.
    pub(super) imported: FxHashSet<usize>,
}

impl<'d, 'k, E: Endian> Extractor<'d, 'k, E> {
    /// Resumes a batch with an object.
    pub fn new(gathered: Gathered, object: ObjectSource<'d>, order: E, known: &'k dyn KnownTypes) -> Self {
        Self {
            order,
            batch: gathered.batch,
            object,
            known,
            types: Types::new(gathered.types),
            functions: UnitFunctions::new(gathered.functions),
            calls: UnitCalls::default(),
            scratch: Scratch::default(),
            spare_attrs: SpareAttrs::default(),
            strings: gathered.strings,
            paths: gathered.paths,
            foreign: FxHashMap::default(),
            spare_abbrevs: gathered.spare_abbrevs,
            line_writer: gathered.line_writer,
            shared_abbrevs: SharedAbbrevs::default(),
            read_budget: ReadBudget::default(),
            programs: FxHashSet::default(),
            imports: vec![],
            imported: FxHashSet::default(),
        }
    }

    /// The batch, to be resumed with another object.
    pub fn leave(self) -> Gathered {
        let Self { batch, mut strings, mut paths, spare_abbrevs, line_writer, .. } = self;
        // Their memory is reused; their content is specific to the object.
        strings.clear();
        paths.clear();
        let (types, functions) = (self.types.into_known(), self.functions.into_known());
        Gathered { batch, types, functions, strings, paths, spare_abbrevs, line_writer }
    }

    /// Records that something could not be read.
    pub(super) fn fault(&mut self, mut fault: Fault) {
        let (part, start) = self.object.sections.part_at(fault.section, fault.offset);
        fault.offset -= start;
        fault.part = part;
        self.batch.faults.push((self.object.number, fault));
    }

    /// Where to report a bad reference: at its target, or at its unit if the target may lie in another file.
    pub(super) fn place_of_reference(&self, source: &Source<'d, E>, target: u64) -> usize {
        if self.object.sections.parts.len() > 1 { source.unit.header.start } else { target as usize }
    }

    /// The distance of an address from the object's base; `None` for an address outside of the object, such as the
    /// zeros and ones that linkers leave for dropped code. Such addresses count up from there, so the distance must
    /// not wrap: the address space ends less than 4 GiB above a kernel's base, and continues at 0.
    #[inline(always)]
    pub(super) fn pc(&self, address: u64) -> Option<u32> {
        self.object.pc(address)
    }

    /// Interns a string of the debug information.
    #[inline]
    pub(super) fn string(&mut self, at: StrRef) -> LocalStr {
        if let Some(&known) = self.strings.get(&at.0) {
            return known;
        }
        let bytes = self.name_bytes(at);
        let string = self.batch.strings.intern(bytes);
        self.strings.insert(at.0, string);
        string
    }

    /// Interns the name of a unit, which is the path of a file.
    pub(super) fn unit_name(&mut self, at: StrRef) -> LocalStr {
        let name = self.name_bytes(at);
        self.batch.strings.intern(&self.object.tree.within(name))
    }

    /// Reads a unit's header, abbreviations and file table.
    pub(super) fn open(&mut self, header: UnitHeader) -> Option<Rc<Source<'d, E>>> {
        let (unit, skeleton) = match self.unit(header) {
            Ok(read) => read,
            Err(fault) => {
                self.fault(fault);
                return None;
            }
        };
        let header = match self.lines_left() {
            true => line::header(skeleton.as_ref().unwrap_or(&unit)),
            false => {
                let at = unit.stmt_list.unwrap_or(0) as usize;
                Err(Fault::new(".debug_line", at, "line tables are read more than 32 times: they overlap"))
            }
        };
        let lines = match header {
            Ok(lines) => lines.unwrap_or_default(),
            Err(fault) => {
                // An upper bound: how far it was read is unknown.
                self.read_budget.lines += self.object.sections.line.len().saturating_sub(fault.offset);
                self.fault(fault);
                LineHeader::default()
            }
        };
        self.read_budget.lines += lines.size();
        let paths = RefCell::new(vec![None; lines.files.len()]);
        Some(Rc::new(Source { unit, lines, paths }))
    }

    /// A unit's header and abbreviations, and its skeleton if its entries are in another file.
    pub(super) fn unit(&mut self, header: UnitHeader) -> Result<(Unit<'d, E>, Option<Unit<'d, E>>), Fault> {
        // A type unit inherits from a unit with entries, that one from its skeleton, and a skeleton from none.
        let inherits = matches!(header.role, Role::Split | Role::Type);
        let companion = match self.object.companion(header).filter(|c| inherits && c.role != Role::Type) {
            Some(companion) if header.role == Role::Type || companion.role == Role::Own => {
                Some(self.unit(companion)?.0)
            }
            _ => None,
        };
        let abbrevs = self.abbreviations(header.abbrev, header.encoding)?;
        let unit = Unit::read(header, self.object.sections, self.order, abbrevs, companion.as_ref())?;
        Ok((unit, companion.filter(|_| header.role == Role::Split)))
    }

    /// A unit of which only its own entry can be read. Cost: a look at one abbreviation.
    pub(super) fn heading(&mut self, header: UnitHeader) -> Result<Unit<'d, E>, Fault> {
        if header.companion.is_some() {
            return Ok(self.unit(header)?.0);
        }
        let code = Cursor::new(self.object.sections.info, header.entries, self.order).uleb();
        let abbrevs = Rc::new(self.abbreviations_until(header.abbrev, header.encoding, Some(code))?);
        Unit::read(header, self.object.sections, self.order, abbrevs, None)
    }

    /// Reclaims the memory of a finished unit.
    pub(super) fn close(&mut self, source: Rc<Source<'d, E>>) {
        if let Ok(source) = Rc::try_unwrap(source) {
            self.spare_abbrevs = Rc::into_inner(source.unit.abbrevs).unwrap_or_default();
        }
    }

    /// The unit that contains this offset of `.debug_info`.
    pub(super) fn source_of(&mut self, source: &Rc<Source<'d, E>>, offset: u64) -> Option<Rc<Source<'d, E>>> {
        let offset = usize::try_from(offset).ok()?;
        if source.unit.contains(offset) {
            return Some(source.clone());
        }
        let after = self.object.headers.partition_point(|h| h.start <= offset);
        let header = *self.object.headers.get(after.checked_sub(1)?)?;
        if offset < header.entries || offset >= header.end || is_foreign(&source.unit.header, &header) {
            return None;
        }
        if let Some(known) = self.foreign.get(&header.start) {
            return known.clone();
        }
        let opened = self.open(header);
        self.foreign.insert(header.start, opened.clone());
        opened
    }

    /// The path of a file of the unit: unchanged if absolute, else with its directory in front. Paths of a kernel are
    /// relative to its source tree.
    ///
    /// Except for the source tree, this is the spelling of elfutils, and so of SystemTap: the compilation directory
    /// is not put in front of a relative directory.
    pub(super) fn path(&mut self, source: &Source<'d, E>, number: u64) -> LocalStr {
        let Some(Some(file)) = source.lines.files.get(number as usize) else { return LocalStr::EMPTY };
        let at = number as usize;
        if let Some(known) = source.paths.borrow()[at] {
            return known;
        }
        let directory = source.lines.directories.get(file.directory as usize).copied().flatten();
        let key = |name: FileName| match name {
            FileName::Indirect(string) => string.0,
            FileName::Inline(offset) => u64::from(offset) | 3 << 62,
        };
        let keys = (directory.map_or(u64::MAX, key), key(file.name));
        let path = match self.paths.get(&keys) {
            Some(&path) => path,
            None if !self.names_left() => {
                self.fault(Fault::new(".debug_line", 0, "paths are read more than 32 times: they overlap"));
                LocalStr::EMPTY
            }
            None => {
                let name = file.name.bytes(&source.unit);
                let directory = directory.map(|d| d.bytes(&source.unit)).unwrap_or_default();
                self.count_name(name.len() + directory.len());
                let tree = self.object.tree;
                let path = if name.starts_with(b"/") || directory.is_empty() {
                    self.batch.strings.intern(&tree.within(name))
                } else {
                    self.batch.strings.intern(&tree.within(&[directory, b"/", name].concat()))
                };
                self.paths.insert(keys, path);
                path
            }
        };
        source.paths.borrow_mut()[at] = Some(path);
        path
    }
}

/// Whether a reference is invalid because it crosses files: split units may refer to other files only by type
/// signature.
fn is_foreign(from: &UnitHeader, to: &UnitHeader) -> bool {
    from.origin != to.origin && to.role != Role::Type && matches!(from.role, Role::Split | Role::Type)
}

impl<E> Source<'_, E> {
    /// How its unit is encoded.
    pub fn encoding(&self) -> Encoding {
        self.unit.header.encoding
    }
}
