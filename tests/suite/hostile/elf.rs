//! ELF objects with headers that lie: the object is left out and the reason said, and all the rest is whole.
use super::dwarf::{assert_victim, index, victim};
use crate::support::raw::Raw;

const SHT_SYMTAB: u32 = 2;
const SHT_RELA: u32 = 4;
const RELA: usize = 24;
const SYMBOL: usize = 24;

/// A field of a section header, by its offset there.
#[derive(Clone, Copy)]
enum Field {
    Name = 0,
    Type = 4,
    Offset = 24,
    Size = 32,
    Link = 40,
    Info = 44,
    EntrySize = 56,
}

/// A module with a function to be found, and with other sections.
struct Object(Vec<u8>);

impl Object {
    fn new(others: &[(&str, &[u8])]) -> Self {
        let mut raw = Raw::unit(4);
        victim(&mut raw);
        Self(raw.module(others))
    }
    /// Where the header of the section at this index is.
    fn header(&self, index: usize) -> usize {
        u64::from_le_bytes(self.0[40..48].try_into().unwrap()) as usize + 64 * index
    }
    fn set(mut self, index: usize, field: Field, value: u64) -> Self {
        let at = self.header(index) + field as usize;
        let width = if matches!(field, Field::Offset | Field::Size | Field::EntrySize) { 8 } else { 4 };
        self.0[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        self
    }
    /// Changes two bytes of the file header.
    fn set_u16(mut self, at: usize, value: u16) -> Self {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
        self
    }
    /// What is said of it.
    fn skipped(&self) -> Vec<String> {
        index(&self.0).1
    }
    #[track_caller]
    fn is_refused(&self, what: &str) {
        let skipped = self.skipped();
        let [line] = &skipped[..] else { panic!("{what}: {skipped:?}") };
        assert!(line.starts_with("hostile.ko") && line.contains(what), "{what}: {line}");
    }
    #[track_caller]
    fn is_whole(&self) {
        let (found, skipped) = index(&self.0);
        assert_victim(&found);
        assert_eq!(skipped, [] as [&str; 0]);
    }
}

/// Behind the null section, the three of any module, and two of debug information.
const FIRST: usize = 6;
const DEBUG_INFO: u64 = 4;

#[test]
fn relocations_that_lead_astray() {
    let symbols = [0; 2 * SYMBOL];
    let with = |offset: u64, symbol: u64, kind: u64| {
        let relocation = [offset, symbol << 32 | kind, 0].map(u64::to_le_bytes).concat();
        Object::new(&[(".rela.debug_info", &relocation), (".symtab", &symbols), (".strtab", &[0])])
            .set(FIRST, Field::Type, SHT_RELA.into())
            .set(FIRST, Field::Info, DEBUG_INFO)
            .set(FIRST + 1, Field::Type, SHT_SYMTAB.into())
            .set(FIRST + 1, Field::Link, FIRST as u64 + 2)
    };
    let info = Object::new(&[]).0.len() as u64;
    for (offset, symbol, kind) in [
        (u64::MAX, 1, 1),
        (u64::MAX - 3, 1, 10),
        (info, 1, 1),
        (1 << 32, 1, 1),
        (0, 2, 1),
        (0, u64::from(u32::MAX), 10),
    ] {
        let what = format!("at {offset:#x}: relocation of type {kind} outside of the section or its symbols");
        with(offset, symbol, kind).is_refused(&what);
    }
    let skipped = with(u64::MAX, u64::from(u32::MAX), 0x7777).skipped();
    let what = "part of hostile.ko: section .debug_info at 0xffffffffffffffff: \
                relocations of types such as 30583 are not known and were left out";
    assert_eq!(skipped, [what]);
    with(0, 1, 0)
        .set(FIRST, Field::Size, RELA as u64 - 1)
        .is_refused("section .rela.debug_info at 0x0: the relocations end within one");
    // Of a section that is not there.
    with(u64::MAX, 9, 1).set(FIRST, Field::Info, u32::MAX.into()).is_whole();
}

#[test]
fn section_headers_that_lie() {
    const SHOFF: usize = 40;
    const SHENTSIZE: usize = 58;
    const SHNUM: usize = 60;
    const SHSTRNDX: usize = 62;
    for shoff in [u64::MAX, u64::MAX - 64, 1 << 40] {
        let mut object = Object::new(&[]);
        object.0[SHOFF..SHOFF + 8].copy_from_slice(&shoff.to_le_bytes());
        object.is_refused("the file is cut off: its section headers end at 0x");
    }
    // The number of sections stands in the first of them, which says 0, or a billion.
    Object::new(&[]).set_u16(SHNUM, 0).is_refused("");
    for size in [1_000_000_000, u64::from(u32::MAX), u64::MAX] {
        Object::new(&[]).set_u16(SHNUM, 0).set(0, Field::Size, size).is_refused("invalid elf ");
    }
    Object::new(&[]).set_u16(SHSTRNDX, 0x7fff).is_refused("");
    Object::new(&[]).set_u16(SHENTSIZE, 63).is_refused("");
    // So it is right.
    let object = Object::new(&[]);
    let (count, names) = (u16::from_le_bytes([object.0[SHNUM], object.0[SHNUM + 1]]), SHSTRNDX);
    let object = object.set(0, Field::Size, count.into()).set(0, Field::Link, u64::from(count) - 1);
    object.set_u16(SHNUM, 0).set_u16(names, 0xffff).is_whole();
}

#[test]
fn symbol_tables_that_lie() {
    let symbols = [0; 3 * SYMBOL];
    let with = || {
        Object::new(&[(".symtab", &symbols), (".strtab", &[0])])
            .set(FIRST, Field::Type, SHT_SYMTAB.into())
            .set(FIRST, Field::Link, FIRST as u64 + 1)
    };
    with().is_whole();
    with().set(FIRST, Field::EntrySize, 0).is_whole();
    with().set(FIRST, Field::EntrySize, u64::MAX).is_whole();
    for size in [1_000_000_000 * SYMBOL as u64, u64::MAX, 1 << 32] {
        with().set(FIRST, Field::Size, size).is_refused("section .symtab at 0x");
    }
    with().set(FIRST, Field::Link, u32::MAX.into()).is_refused("");
    with()
        .set(FIRST + 1, Field::Offset, u64::MAX)
        .set(FIRST + 1, Field::Size, 9)
        .is_refused("section .symtab: invalid elf section size or offset");
}

/// So many that whoever reads the shared bytes for each of them is not done in minutes.
const MANY: usize = 60_000;

#[test]
fn sections_with_the_same_bytes() {
    let others = vec![(".text.x", &[][..]); MANY];
    let mut object = Object::new(&others);
    for index in FIRST..FIRST + MANY {
        // All of it is code: `SHF_ALLOC` and `SHF_EXECINSTR`.
        let flags = object.header(index) + 8;
        object.0[flags] = 6;
        object = object.set(index, Field::Offset, 64).set(index, Field::Size, 0x8000);
    }
    object.is_refused("its sections have more than twice the bytes of the file: they overlap");
}

#[test]
fn names_that_are_ends_of_one_another() {
    // The names of sections: a long one, and each section starts one byte further on.
    let long = "n".repeat(MANY);
    let mut others = vec![(".x", &[][..]); MANY];
    others.push((&long, &[]));
    let mut object = Object::new(&others);
    let start = {
        let at = object.header(FIRST + MANY);
        u64::from(u32::from_le_bytes(object.0[at..at + 4].try_into().unwrap()))
    };
    for index in 0..MANY {
        object = object.set(FIRST + index, Field::Name, start + index as u64);
    }
    object.is_refused("the names of its sections are 32 times as long as the file: they overlap");
    // Those of symbols.
    let symbol = |n: u32| [&n.to_le_bytes()[..], &[2, 0, 1, 0], &[0; 16]].concat();
    let symbols: Vec<u8> = (0..MANY as u32).flat_map(symbol).collect();
    let names = [&vec![b's'; MANY][..], &[0]].concat();
    let object = Object::new(&[(".symtab", &symbols), (".strtab", &names)])
        .set(FIRST, Field::Type, SHT_SYMTAB.into())
        .set(FIRST, Field::Link, FIRST as u64 + 1);
    object.is_refused("section .symtab: the names of symbols are more than 32 times as long as their table");
}

#[test]
fn more_sections_are_loaded_than_symbols_can_tell() {
    let others = vec![(".text.x", &[][..]); 0xff00];
    let mut object = Object::new(&others);
    for index in FIRST..FIRST + others.len() {
        let flags = object.header(index) + 8;
        object.0[flags] = 6;
    }
    object.is_refused("of its sections are loaded; of no more than 65279 symbols can tell");
}

/// More sections than the file header can count, all of a name that is looked for, and each inflates to nothing.
#[test]
fn more_sections_than_sixteen_bits_count() {
    let nothing =
        [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0; 8], &[1, 0, 0, 0, 0, 0, 0, 0], &[0x78, 0x9c, 3, 0, 0, 0, 0, 1]];
    let nothing = nothing.concat();
    let others: Vec<_> = (0..70_000)
        .map(|number| if number % 2 == 0 { (".debug_str", &nothing[..]) } else { (".eh_frame", &[][..]) })
        .collect();
    let mut object = Object::new(&others);
    for index in (FIRST..FIRST + others.len()).step_by(2) {
        // `SHF_COMPRESSED`.
        let flags = object.header(index) + 8;
        object.0[flags + 1] = 8;
    }
    object.is_whole();
}
