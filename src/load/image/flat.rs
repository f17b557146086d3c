//! A flat `Image`, as arm64 and riscv boot it: the bytes of the kernel from its first address on, without any section
//! table (Documentation/arch/arm64/booting.rst, riscv/boot-image-header.rst).
//!
//! The layout follows from the kernel's own tables. Its symbols ([`Kallsyms`]) bound code and data. The relocations
//! by which it moves itself reveal its link address (`R_*_RELATIVE`, whose places are zero in an image, and RELR,
//! whose places hold the value). BTF and the build-id note have magic numbers. The result is an ELF object like a
//! stripped vmlinux, with its pointers in place.
use super::moved::{self, LINKED_TO, word};
use crate::error::{Error, ErrorKind, Result};
use crate::load::kallsyms::{Data, Kallsyms};
use crate::load::live::Writer;
use memchr::memmem;
use object::Endianness;
use object::elf::{EM_AARCH64, EM_RISCV, Machine};
use std::ops::Range;

/// The byte order of all supported images.
const ORDER: Endianness = Endianness::Little;

/// Converts an image to an object.
///
/// # Errors
/// [`ErrorKind::Unsupported`] without the kernel's own symbols, or if these do not bound its code.
pub(super) fn object(image: &[u8]) -> Result<Vec<u8>> {
    let machine = if image.get(0x38..0x3c) == Some(b"ARM\x64") { EM_AARCH64 } else { EM_RISCV };
    let relative: u64 = if machine == EM_AARCH64 { 1027 } else { 3 };
    // Bit 0 of `flags` on both machines.
    if word(image, 0x18).is_some_and(|flags| flags & 1 != 0) {
        return Err(Error::new(ErrorKind::Unsupported, "a big-endian Image")
            .hint("give the vmlinux that it was made of"));
    }
    let mut bytes = image.to_vec();
    let linked = moved::linked_at(image, relative);
    if let Some(linked) = linked {
        moved::put_pointers(image, relative, linked, &mut bytes);
    }
    let length = bytes.len() as u64;
    let may_be_code = |address: u64| match linked {
        Some(start) => address.wrapping_sub(start) < length,
        // In the upper half and at the start of a page.
        None => address >= 1 << 63 && address.is_multiple_of(4096),
    };
    let unsupported = |what| Error::new(ErrorKind::Unsupported, what);
    let symbols =
        Kallsyms::find(Data { bytes: &bytes, order: ORDER, address: linked.unwrap_or(0) }, may_be_code)
            .ok_or_else(|| {
                unsupported("a flat boot image without symbols (CONFIG_KALLSYMS): its layout is unknown")
            })??;
    let code = Code::of(&symbols, linked, length)
        .ok_or_else(|| unsupported("a flat boot image whose symbols do not bound its code"))?;
    Ok(code.write(&bytes, image, machine))
}

/// The code of an image.
struct Code {
    linked: u64,
    /// Sorted and disjoint, within the image.
    areas: Vec<(&'static str, Range<u64>)>,
}

impl Code {
    /// The areas bounded by the linker script (arch/*/kernel/vmlinux.lds.S).
    fn of(symbols: &Kallsyms, linked: Option<u64>, length: u64) -> Option<Self> {
        // `.rodata.text` starts with whichever of its first three the configuration has.
        const BOUNDS: [(&str, &str, &str); 8] = [
            (".head.text", "_text", "_stext"),
            (".text", "_stext", "_etext"),
            (".rodata.text", "__entry_tramp_text_start", "__idmap_text_end"),
            (".rodata.text", "__hibernate_exit_text_start", "__idmap_text_end"),
            (".rodata.text", "__relocate_new_kernel_start", "__idmap_text_end"),
            (".rodata.text", "__idmap_text_start", "__idmap_text_end"),
            (".init.text", "_sinittext", "_einittext"),
            (".exit.text", "__exittext_begin", "__exittext_end"),
        ];
        let mut bounds = vec![None; 2 * BOUNDS.len()];
        for symbol in symbols.symbols() {
            for (n, name) in BOUNDS.iter().flat_map(|(_, start, end)| [start, end]).enumerate() {
                if symbol.name == name.as_bytes() {
                    bounds[n] = Some(symbol.address);
                }
            }
        }
        // Without CONFIG_KALLSYMS_ALL, `_text` is kept only if it equals `_stext`.
        let start = bounds[1].or(bounds[2])?;
        let linked = linked.unwrap_or(bounds[0].unwrap_or(start) & !(LINKED_TO - 1));
        bounds[0].get_or_insert(linked);
        let image = linked..linked.checked_add(length)?;
        let mut areas: Vec<(&str, Range<u64>)> = BOUNDS
            .iter()
            .zip(bounds.chunks(2))
            .filter_map(|((section, ..), bound)| Some((*section, bound[0]?..bound[1]?)))
            .filter(|(_, area)| area.start < area.end && image.start <= area.start && area.end <= image.end)
            .collect();
        areas.sort_by_key(|(_, area)| area.start);
        areas.dedup_by(|next, area| next.1.start < area.1.end);
        areas.iter().any(|(section, _)| *section == ".text").then_some(Self { linked, areas })
    }

    /// Writes the object: the code areas, and everything between them as data.
    fn write(&self, bytes: &[u8], image: &[u8], machine: Machine) -> Vec<u8> {
        const PROGBITS: u64 = 1;
        const NOTE: u64 = 7;
        const NOBITS: u64 = 8;
        const ALLOCATED: u64 = 2;
        const EXECUTABLE: u64 = 4;
        let mut writer = Writer::new(ORDER);
        let end = self.linked + bytes.len() as u64;
        let mut put = |name: &str, flags: u64, area: Range<u64>| {
            let start = (area.start - self.linked) as usize;
            let size = area.end - area.start;
            if size > 0 {
                writer.section(name, PROGBITS, flags, area.start, size, &bytes[start..start + size as usize]);
            }
        };
        let mut done = self.linked;
        for (name, area) in &self.areas {
            put(if *name == ".exit.text" { ".data" } else { ".rodata" }, ALLOCATED, done..area.start);
            put(name, ALLOCATED | EXECUTABLE, area.clone());
            done = area.end;
        }
        put(".data", ALLOCATED, done..end);
        // `image_size` includes what is not in the file.
        let whole = word(image, 0x10).unwrap_or(0);
        if let Some(size) = whole.checked_sub(bytes.len() as u64).filter(|size| (1..1 << 30).contains(size)) {
            writer.section(".bss", NOBITS, ALLOCATED, end, size, &[]);
        }
        if let Some(note) = build_id(image) {
            writer.section(".notes", NOTE, 0, 0, note.len() as u64, note);
        }
        if let Some(btf) = btf(image) {
            writer.section(".BTF", PROGBITS, 0, 0, btf.len() as u64, btf);
        }
        writer.finish(machine, &[])
    }
}

/// The largest blob that is BTF by its header and its end: embedded BPF programs have BTF of their own
/// (Documentation/bpf/btf.rst, 2).
fn btf(image: &[u8]) -> Option<&[u8]> {
    let at_mark = |at: usize| {
        let data = &image[at..];
        let number = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?) as usize);
        let [header, types, types_length, names, names_length] =
            [number(4)?, number(8)?, number(12)?, number(16)?, number(20)?];
        let names = header.checked_add(names)?;
        let is_in_order = header >= 24 && types.checked_add(types_length)? <= names;
        let texts = data.get(names..names.checked_add(names_length)?)?;
        let is_whole = is_in_order && texts.first() == Some(&0) && texts.last() == Some(&0);
        is_whole.then(|| &data[..names + names_length])
    };
    memmem::find_iter(image, &[0x9f, 0xeb, 1, 0]).filter_map(at_mark).max_by_key(|btf| btf.len())
}

/// The note with the kernel's build id. The embedded vDSO objects have notes of their own.
fn build_id(image: &[u8]) -> Option<&[u8]> {
    const NAME: &[u8] = b"\x03\0\0\0GNU\0";
    let object_at = |at: usize| {
        let data = &image[at..];
        let sections = word(data, 0x28)?;
        let [size, count] =
            [0x3a, 0x3c].map(|at| data.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b)));
        let length = sections.checked_add(u64::from(size?) * u64::from(count?))?;
        Some(at as u64..at as u64 + length.min(data.len() as u64))
    };
    let objects: Vec<Range<u64>> =
        memmem::find_iter(image, b"\x7fELF\x02\x01\x01").take(64).filter_map(object_at).collect();
    let note = |at: usize| {
        let start = at.checked_sub(8)?;
        let length = match image.get(start..at)? {
            [4, 0, 0, 0, length @ 8..=64, 0, 0, 0] => usize::from(*length),
            _ => return None,
        };
        let is_inside = objects.iter().any(|object| object.contains(&(start as u64)));
        (!is_inside).then(|| image.get(start..at + NAME.len() + length))?
    };
    memmem::find_iter(image, NAME).find_map(note)
}

#[cfg(test)]
mod tests {
    use super::super::moved::FEWEST;
    use super::*;
    use crate::load::elf::Elf;
    use crate::load::kallsyms::tests::{Layout, TEXT, read_only_data};

    const CODE: usize = 299 * 16;

    /// An Image with code, symbols, a BTF lookalike before the BTF, and a vDSO's note before its own. If it moves
    /// itself, all pointers are in the relocations.
    fn image(layout: Layout, moves: Moves) -> Vec<u8> {
        let mut image = vec![0x1f; CODE];
        image[..0x40].fill(0);
        image[0x38..0x3c].copy_from_slice(b"ARM\x64");
        let data = read_only_data(layout, ORDER, TEXT + CODE as u64);
        image.extend(&data);
        let note = |id: u8| [b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0".to_vec(), vec![id; 20]].concat();
        let mut process = vec![0; 64];
        process[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        process[0x28..0x30].copy_from_slice(&100_u64.to_le_bytes());
        process.extend(note(1));
        image.extend(process);
        image.extend(note(2));
        image.extend([0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        image.resize(image.len().next_multiple_of(8), 0);
        image.extend(btf_of_nothing());
        image.resize(image.len().next_multiple_of(8), 0);
        let first = image.len();
        let end = first + 8 * 2 * FEWEST;
        let pointers = || (first..end).step_by(8);
        match moves {
            Moves::No => {}
            Moves::ByRecords => {
                let base = memmem::find(&image, &TEXT.to_le_bytes());
                base.iter().for_each(|base| image[*base..base + 8].fill(0));
                image.resize(end, 0);
                for at in base.into_iter().chain(pointers()) {
                    let record = [TEXT + at as u64, 1027, TEXT];
                    record.iter().for_each(|word| image.extend(word.to_le_bytes()));
                }
            }
            Moves::ByBitmaps => {
                pointers().for_each(|at| image.extend((TEXT + at as u64).to_le_bytes()));
                // A lookalike, and longer.
                image.extend([0x81; 8 * 100]);
                image.extend([0; 8]);
                for at in pointers().step_by(16) {
                    let words = [TEXT + at as u64, 0xfffe | 1];
                    words.iter().for_each(|word| image.extend(word.to_le_bytes()));
                }
            }
        }
        let size = image.len() as u64 + 0x1000;
        image[0x10..0x18].copy_from_slice(&size.to_le_bytes());
        image
    }

    #[derive(Clone, Copy)]
    enum Moves {
        No,
        ByRecords,
        ByBitmaps,
    }

    fn btf_of_nothing() -> Vec<u8> {
        let mut btf = vec![0x9f, 0xeb, 1, 0];
        [24, 0, 0, 0, 1_u32].iter().for_each(|word| btf.extend(word.to_le_bytes()));
        btf.push(0);
        btf
    }

    #[test]
    fn what_is_where_is_found() {
        let moving = Layout::ALL.into_iter().flat_map(|l| [(l, Moves::ByRecords), (l, Moves::ByBitmaps)]);
        for (layout, moves) in
            [(Layout::Older, Moves::No), (Layout::Newer, Moves::No)].into_iter().chain(moving)
        {
            let image = image(layout, moves);
            let bytes = object(&image).unwrap();
            let object = Elf::parse(&bytes).unwrap();
            let areas: Vec<_> =
                object.sections[1..].iter().map(|s| (s.name, s.address(), s.size())).take(2).collect();
            let rest = (image.len() - CODE) as u64;
            assert_eq!(areas, [(".text", TEXT, CODE as u64), (".data", TEXT + CODE as u64, rest)]);
            assert_eq!(object.section(".bss").map(|s| s.size()), Some(0x1000));
            assert_eq!(object.build_id(), Some(&[2; 20][..]));
            assert_eq!(object.section(".BTF").unwrap().raw(), btf_of_nothing());
            assert!(
                Kallsyms::find(
                    Data {
                        bytes: object.section(".data").unwrap().raw(),
                        order: ORDER,
                        address: TEXT + CODE as u64
                    },
                    |address| address == TEXT
                )
                .unwrap()
                .is_ok()
            );
        }
    }

    #[test]
    fn what_is_cut_off_or_changed_is_an_error_or_another_image() {
        let whole = image(Layout::Newer, Moves::ByRecords);
        assert!(object(&whole[..CODE]).unwrap_err().message().contains("CONFIG_KALLSYMS"));
        for at in (0x40..whole.len()).step_by(13) {
            let _ = object(&whole[..at]);
            let mut changed = whole.clone();
            changed[at] ^= 0x81;
            if let Ok(bytes) = object(&changed) {
                Elf::parse(&bytes).unwrap();
            }
        }
    }
}
