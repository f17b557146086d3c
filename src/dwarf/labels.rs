//! Labels with an address: jump targets that the compiler kept.
use super::abbrev::Slot;
use super::attrs::Attrs;
use super::extractor::{Extractor, Source};
use super::facts::LabelFacts;
use super::strings::LocalStr;
use gimli::constants::DW_TAG_label;
use object::Endian;
use std::rc::Rc;

impl<'d, E: Endian> Extractor<'d, '_, E> {
    /// Adds a label to a placement and a block in it, from its entry. Labels without an address are ignored.
    pub(super) fn label(&mut self, source: &Rc<Source<'d, E>>, (place, block): (u32, u32), attrs: &Attrs) {
        let Some(pc) = attrs.get(Slot::LowPc).and_then(|low| self.pc(low)) else { return };
        let (name, line) = match attrs.get(Slot::Origin) {
            Some(origin) => self.declared_label(source, origin),
            None => self.label_names(attrs),
        };
        if name != LocalStr::EMPTY {
            self.batch.labels.push(LabelFacts { place, name, line, pc, block });
        }
    }

    /// The name and line of a label in the abstract function.
    fn declared_label(&mut self, source: &Rc<Source<'d, E>>, origin: u64) -> (LocalStr, u32) {
        let unknown = (LocalStr::EMPTY, 0);
        let Some(source) = self.source_of(source, origin) else { return unknown };
        let mut cursor = source.unit.cursor(origin as usize);
        let Some(abbrev) = source.unit.abbrevs.get(cursor.uleb()).filter(|a| a.tag == DW_TAG_label) else {
            return unknown;
        };
        let mut attrs = Attrs::default();
        source.unit.attrs(&mut cursor, abbrev, &mut attrs);
        self.label_names(&attrs)
    }

    fn label_names(&mut self, attrs: &Attrs) -> (LocalStr, u32) {
        let name = attrs.string(Slot::Name).map_or(LocalStr::EMPTY, |name| self.string(name));
        (name, attrs.get(Slot::DeclLine).unwrap_or(0) as u32)
    }
}
