//! BPF objects inside other files.
use crate::elf::{self, Elf};
use std::ops::Range;

/// Finds every BPF object in a file: the file itself, or what programs carry (skeletons of libbpf in `.rodata`, Go's
/// embedded files), by its magic, machine and headers. Objects inside of objects are not looked for.
///
/// Ranges of bytes, ascending and disjoint. The end of each is computed from its headers. One pass; at most
/// [`MAX_EMBEDDED`] are given, as no program has so many.
pub fn embedded(file: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut left = MAX_SECTIONS;
    let magic = memchr::memmem::Finder::new(b"\x7fELF\x02");
    while let Some(at) = file.get(from..).and_then(|rest| magic.find(rest)) {
        let start = from + at;
        from = start + 1;
        let Some(sections) = elf::announced(&file[start..]) else { continue };
        left = match left.checked_sub(sections + 1) {
            Some(left) if found.len() < MAX_EMBEDDED => left,
            _ => break,
        };
        if let Ok(elf) = Elf::parse(&file[start..]) {
            from = start + elf.length;
            found.push(start..from);
        }
    }
    found
}

/// The most objects that [`embedded`] gives.
pub const MAX_EMBEDDED: usize = 4096;
/// The most section headers that it reads, so that a file made of headers costs little. Objects have some 30.
const MAX_SECTIONS: u32 = 1 << 20;
