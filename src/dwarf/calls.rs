//! Call sites: which functions the code of a placement calls by name.
//!
//! An entry for a call names the function if the call is direct: `DW_TAG_call_site` (DWARF 5, section 3.4.1), or
//! `DW_TAG_GNU_call_site` as GCC wrote it before. A call through a pointer has no origin, and is left out. The function
//! may be described later in the unit than its call, so that origins are followed when all of the unit has been read.
use super::abbrev::{Abbrev, Slot};
use super::attrs::Attrs;
use super::cursor::Cursor;
use super::extractor::{Extractor, Source};
use super::facts::{CallFacts, Callee};
use super::header::Fault;
use super::types::MOST_PASSED_OVER;
use gimli::constants::DW_TAG_subprogram;
use object::Endian;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The calls of the unit that is being read.
#[derive(Default)]
pub struct UnitCalls {
    list: Vec<UnitCall>,
    /// What is called, by the offset of its entry; `None` if that leads nowhere.
    callees: FxHashMap<u64, Option<Callee>>,
}

/// A call whose origin is yet to be followed.
struct UnitCall {
    origin: u64,
    place: u32,
    pc: u32,
    is_tail: bool,
}

impl<'d, E: Endian> Extractor<'d, '_, E> {
    /// Reads the entry of a call in a placement. What it says of parameters is skipped.
    pub(super) fn call_site(
        &mut self,
        source: &Rc<Source<'d, E>>,
        cursor: &mut Cursor<'d, E>,
        abbrev: &Abbrev,
        place: u32,
    ) {
        let unit = &source.unit;
        let after = if abbrev.has_children { unit.sibling(cursor, abbrev) } else { None };
        let mut attrs = self.spare_attrs.take();
        unit.attrs(cursor, abbrev, &mut attrs);
        // The address after the call; in DWARF 5, clang 14 gives that of the call if it is a jump. Either way the last byte of
        // the instruction, or its first, is one of its own.
        let within = match (attrs.get(Slot::EntryPc), attrs.get(Slot::LowPc)) {
            (Some(call), _) => Some(call),
            (None, after) => after.and_then(|after| after.checked_sub(1)),
        };
        if let (Some(origin), Some(pc)) = (attrs.get(Slot::Origin), within.and_then(|pc| self.pc(pc))) {
            let is_tail = attrs.flag(Slot::TailCall);
            self.calls.list.push(UnitCall { origin, place, pc, is_tail });
        }
        self.spare_attrs.put(attrs);
        match after {
            Some(after) => cursor.pos = after,
            None if abbrev.has_children => unit.skip_children(cursor),
            None => {}
        }
    }

    /// Follows the origins of the unit's calls. Functions have their numbers in the unit until
    /// [`number_calls`](Self::number_calls).
    pub(super) fn follow_calls(&mut self, source: &Rc<Source<'d, E>>) -> usize {
        let first = self.batch.calls.len();
        let mut calls = std::mem::take(&mut self.calls);
        for UnitCall { origin, place, pc, is_tail } in calls.list.drain(..) {
            let callee = match calls.callees.get(&origin) {
                Some(known) => *known,
                None => {
                    let callee = self.callee(source, origin);
                    calls.callees.insert(origin, callee);
                    callee
                }
            };
            self.batch.calls.extend(callee.map(|callee| CallFacts { callee, place, pc, is_tail }));
        }
        calls.callees.clear();
        self.calls = calls;
        first
    }

    /// Gives the functions that the calls from this one on lead to their numbers in the batch.
    pub(super) fn number_calls(&mut self, first: usize, numbers: &[u32]) {
        for call in &mut self.batch.calls[first..] {
            if let Callee::Function(function) = &mut call.callee {
                *function = numbers[*function as usize];
            }
        }
    }

    /// What the entry at this offset describes: an abstract function, which its placements have too, or one with code,
    /// or one that is only declared.
    fn callee(&mut self, source: &Rc<Source<'d, E>>, offset: u64) -> Option<Callee> {
        if let Some(known) = self.functions.known(offset) {
            return Some(Callee::Function(known));
        }
        let Some(at) = self.source_of(source, offset).filter(|_| self.may_pass_over(source)) else {
            let at = self.place_of_reference(source, offset);
            self.fault(Fault::new(".debug_info", at, "the origin of a call cannot be followed"));
            return None;
        };
        let mut cursor = at.unit.cursor(offset as usize);
        let abbrev = *at.unit.abbrevs.get(cursor.uleb()).filter(|abbrev| abbrev.tag == DW_TAG_subprogram)?;
        let mut attrs = self.spare_attrs.take();
        at.unit.attrs(&mut cursor, &abbrev, &mut attrs);
        self.functions.passed_over += cursor.pos - offset as usize;
        let callee = self.described(source, &at, offset, &attrs);
        self.spare_attrs.put(attrs);
        callee
    }

    fn described(
        &mut self,
        source: &Rc<Source<'d, E>>,
        at: &Rc<Source<'d, E>>,
        offset: u64,
        attrs: &Attrs,
    ) -> Option<Callee> {
        if attrs.flag(Slot::Declaration) {
            let name = attrs.string(Slot::LinkageName).or(attrs.string(Slot::Name))?;
            return Some(Callee::Named(self.string(name)));
        }
        let has_code = [Slot::LowPc, Slot::Ranges, Slot::EntryPc].iter().any(|s| attrs.get(*s).is_some());
        if !has_code {
            return self.function_at(source, offset).map(Callee::Function);
        }
        if let Some(origin) = attrs.get(Slot::Origin) {
            return self.function_at(at, origin).map(Callee::Function);
        }
        let (entry, found) = self.entry_and_ranges(&at.unit, attrs);
        self.scratch.ranges = found;
        entry.map(Callee::At)
    }

    /// Whether entries outside of the order of a unit may still be read: those of calls may overlap.
    fn may_pass_over(&self, source: &Source<'d, E>) -> bool {
        self.functions.passed_over <= MOST_PASSED_OVER.saturating_mul(source.unit.sections.info.len())
    }
}
