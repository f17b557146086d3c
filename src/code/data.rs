//! The initialized data of an object as it is after loading: numbers, texts, targets of pointers.
//!
//! In vmlinux, pointers are in place, or in `.rela.dyn` if the image is relocated at boot (arm64, riscv). A module
//! has relocations for them. Damaged data yields `None`, never a wrong address outside of the object.
use super::table::{moved, relocated};
use crate::load::elf::Elf;
use object::Endian;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Offsets in a section with the addresses that they refer to, sorted.
type Relocations = Rc<Vec<(u32, u32)>>;

/// Reads data by address.
pub struct Data<'o, 'd> {
    object: &'o Elf<'d>,
    /// The addresses of the sections with bytes, in order, and their positions.
    sections: Vec<(Range<u32>, usize)>,
    /// Relocations of a module's sections, read on demand.
    relocated: RefCell<HashMap<usize, Relocations>>,
    /// For an image relocated at boot: pairs of place and value, as link addresses, sorted; read on demand.
    moved: OnceCell<Vec<(u64, u64)>>,
}

impl<'o, 'd> Data<'o, 'd> {
    /// Cost: one look at each section; with the first pointer, at each relocation of an image relocated at boot.
    pub fn new(object: &'o Elf<'d>) -> Self {
        let all = object.sections.iter().enumerate().filter_map(|(index, section)| {
            let start = section.pc?;
            let end = start.checked_add(u32::try_from(section.raw().len()).ok()?)?;
            (start < end).then_some((start..end, index))
        });
        let mut sections: Vec<_> = all.collect();
        sections.sort_by_key(|(range, _)| range.start);
        Self { object, sections, relocated: RefCell::default(), moved: OnceCell::new() }
    }

    /// The target of the pointer at an address; `None` if null or outside of the object.
    pub fn pointer(&self, pc: u32) -> Option<u32> {
        let (index, offset) = self.place(pc)?;
        if self.object.is_relocatable {
            let known = self.relocations(index);
            let found = known.binary_search_by_key(&(offset as u32), |r| r.0).ok()?;
            return Some(known[found].1);
        }
        let link = self.object.base.wrapping_add(pc.into());
        let moved = self.moved.get_or_init(|| moved(self.object));
        let target = match moved.binary_search_by_key(&link, |m| m.0) {
            Ok(found) => moved[found].1,
            Err(_) => self.object.word(self.bytes(index, offset)?)?,
        };
        let pc = u32::try_from(target.checked_sub(self.object.base)?).ok()?;
        self.place(pc).map(|_| pc)
    }

    /// Whether all bits of the pointer at an address are set: the kernel's mark for no pointer.
    pub fn is_mark(&self, pc: u32) -> bool {
        self.word(pc) == Some(u64::MAX >> (64 - 8 * self.object.address_size))
    }

    /// Whether a pointer is null, and stays so when the object is loaded.
    pub fn is_null(&self, pc: u32) -> bool {
        self.word(pc) == Some(0) && self.pointer(pc).is_none()
    }

    /// The 32-bit number at an address.
    pub fn number(&self, pc: u32) -> Option<i32> {
        let (index, offset) = self.place(pc)?;
        self.bytes(index, offset)?.first_chunk().map(|b| self.object.order.read_i32(*b))
    }

    /// The text at an address, if it ends within `longest` bytes.
    pub fn text(&self, pc: u32, longest: usize) -> Option<&'d [u8]> {
        let (index, offset) = self.place(pc)?;
        let bytes = self.bytes(index, offset)?;
        let bytes = &bytes[..bytes.len().min(longest)];
        Some(&bytes[..memchr::memchr(0, bytes)?])
    }

    fn word(&self, pc: u32) -> Option<u64> {
        let (index, offset) = self.place(pc)?;
        self.object.word(self.bytes(index, offset)?)
    }

    fn bytes(&self, index: usize, offset: usize) -> Option<&'d [u8]> {
        self.object.sections[index].raw().get(offset..)
    }

    /// The section that contains an address, and the offset in it.
    fn place(&self, pc: u32) -> Option<(usize, usize)> {
        let after = self.sections.partition_point(|(range, _)| range.start <= pc);
        let (range, index) = self.sections[..after].last().filter(|(range, _)| pc < range.end)?;
        Some((*index, (pc - range.start) as usize))
    }

    /// The relocations of a section; none if they are damaged. The reader reports the missing values.
    fn relocations(&self, index: usize) -> Relocations {
        let mut all = self.relocated.borrow_mut();
        let read = || Rc::new(relocated(self.object, index).unwrap_or_default());
        all.entry(index).or_insert_with(read).clone()
    }
}
