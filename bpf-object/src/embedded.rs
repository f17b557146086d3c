//! BPF objects inside other files.
use crate::elf::Elf;
use std::ops::Range;

/// Finds every BPF object in a file: the file itself, or what programs carry (skeletons of libbpf in `.rodata`, Go's
/// embedded files), by its magic, machine and headers. Objects inside of objects are not looked for.
///
/// Ranges of bytes, ascending and disjoint. The end of each is computed from its headers. One pass; at most
/// [`MAX_EMBEDDED`] are given, as no program has so many.
pub fn embedded(file: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut tried = 0;
    let magic = memchr::memmem::Finder::new(b"\x7fELF\x02");
    while let Some(at) = file.get(from..).and_then(|rest| magic.find(rest)) {
        let start = from + at;
        from = start + 1;
        if !is_bpf(&file[start..]) {
            continue;
        }
        tried += 1;
        if tried > MAX_TRIED || found.len() == MAX_EMBEDDED {
            break;
        }
        if let Ok(elf) = Elf::parse(&file[start..]) {
            from = start + elf.length;
            found.push(start..from);
        }
    }
    found
}

/// The most objects that [`embedded`] gives.
pub const MAX_EMBEDDED: usize = 4096;
/// The most headers it reads, so that a file made of headers costs no more.
const MAX_TRIED: usize = 16384;

/// Whether the type is `ET_REL` and the machine `EM_BPF`, in the order that the header names.
fn is_bpf(file: &[u8]) -> bool {
    matches!(
        file.first_chunk::<20>(),
        Some([_, _, _, _, _, 1, .., 1, 0, 247, 0] | [_, _, _, _, _, 2, .., 0, 1, 0, 247])
    )
}
