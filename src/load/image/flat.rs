//! A flat `Image`, as arm64 and riscv boot it: the bytes of the kernel from its first address on, without a word of what is
//! where. (Documentation/arch/arm64/booting.rst, riscv/boot-image-header.rst.)
//!
//! What the kernel has for itself tells it: its symbols ([`Carried`]) bound code and data; the relocations by which it moves
//! itself (`R_*_RELATIVE`, in whose places an image has zeros) tell where it was linked; BTF and the note of the build id have
//! marks. All of it is put into an ELF object like a stripped vmlinux, its pointers in place.
use crate::error::{Error, ErrorKind, Result};
use crate::load::kallsyms::{Carried, Data};
use crate::load::live::Writer;
use memchr::memmem;
use object::Endianness;
use object::elf::{EM_AARCH64, EM_RISCV, Machine};
use std::ops::Range;

/// Of the images that are read.
const ORDER: Endianness = Endianness::Little;

/// Kernels of both architectures are linked to a multiple of this.
const LINKED_TO: u64 = 2 << 20;

/// A table of relocations has at least so many; a kernel has a hundred thousand.
const FEWEST: usize = 64;

/// The object that an image is.
///
/// # Errors
/// [`ErrorKind::Unsupported`] without the kernel's own symbols, or if these do not say where its code is.
pub(super) fn object(image: &[u8]) -> Result<Vec<u8>> {
    let machine = if image.get(0x38..0x3c) == Some(b"ARM\x64") { EM_AARCH64 } else { EM_RISCV };
    let relative: u64 = if machine == EM_AARCH64 { 1027 } else { 3 };
    // Bit 0 of `flags`, on both.
    if word(image, 0x18).is_some_and(|flags| flags & 1 != 0) {
        return Err(Error::new(ErrorKind::Unsupported, "a big-endian Image")
            .hint("give the vmlinux that it was made of"));
    }
    let mut bytes = image.to_vec();
    let linked = Moved::find(image, relative).and_then(|moved| {
        let linked = moved.linked_at()?;
        moved.apply(linked, &mut bytes);
        Some(linked)
    });
    let length = bytes.len() as u64;
    let may_be_code = |address: u64| match linked {
        Some(start) => address.wrapping_sub(start) < length,
        // In the upper half, and at the start of a page.
        None => address >= 1 << 63 && address.is_multiple_of(4096),
    };
    let unsupported = |what| Error::new(ErrorKind::Unsupported, what);
    let symbols = Carried::find(Data { bytes: &bytes, order: ORDER }, may_be_code).ok_or_else(|| {
        unsupported("a flat boot image without symbols (CONFIG_KALLSYMS): nothing says what is where in it")
    })??;
    let code = Code::of(&symbols, linked, length)
        .ok_or_else(|| unsupported("a flat boot image whose symbols do not say where its code is"))?;
    Ok(code.write(&bytes, image, machine))
}

/// The relocations by which a kernel moves itself.
struct Moved<'d> {
    image: &'d [u8],
    /// Where their table is.
    table: Range<usize>,
}

/// Where it stands, its type, what is put there.
const RECORD: usize = 24;

impl<'d> Moved<'d> {
    /// The longest run of records of this type.
    fn find(image: &'d [u8], relative: u64) -> Option<Self> {
        let is_one = |at: usize| word(image, at + 8) == Some(relative);
        let (mut at, mut longest) = (0, 0..0);
        while at + RECORD <= image.len() {
            let start = at;
            while is_one(at) {
                at += RECORD;
            }
            if at - start > longest.len() {
                longest = start..at.min(image.len());
            }
            at = at.max(start + 8);
        }
        (longest.len() >= FEWEST * RECORD).then_some(Self { image, table: longest })
    }

    /// Address and value of each.
    fn records(&self) -> impl Iterator<Item = (u64, u64)> {
        self.table
            .clone()
            .step_by(RECORD)
            .filter_map(|at| Some((word(self.image, at)?, word(self.image, at + 16)?)))
    }

    /// The address of the image's first byte: that by which nearly all places have nothing yet, or already what is put there.
    fn linked_at(&self) -> Option<u64> {
        /// So many are looked at, for each address that it may be.
        const SAMPLE: usize = 1024;
        let first = self.records().map(|r| r.0).min()?;
        let last = self.records().map(|r| r.0).max()?;
        let length = self.image.len() as u64;
        (last.checked_sub(first)? < length).then_some(())?;
        let lowest = last.saturating_sub(length).checked_next_multiple_of(LINKED_TO)?;
        let step = (self.table.len() / RECORD).div_ceil(SAMPLE);
        let fitting = |start: u64| {
            let fits = |(at, value): (u64, u64)| {
                let there = word(self.image, at.checked_sub(start)? as usize)?;
                (there == 0 || there == value).then_some(())
            };
            self.records().step_by(step).filter_map(fits).count()
        };
        let candidates = (lowest..=first).step_by(LINKED_TO as usize);
        let (fitting, start) = candidates.map(|start| (fitting(start), start)).max_by_key(|c| c.0)?;
        (fitting * 10 >= self.records().step_by(step).count() * 9).then_some(start)
    }

    fn apply(&self, linked: u64, bytes: &mut [u8]) {
        for (address, value) in self.records() {
            let at = address.wrapping_sub(linked) as usize;
            if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                *place = u64::to_le_bytes(value);
            }
        }
    }
}

fn word(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}

/// Where an image has code.
struct Code {
    linked: u64,
    /// Sorted, apart, within the image.
    areas: Vec<(&'static str, Range<u64>)>,
}

impl Code {
    /// The areas that the linker's script bounds (arch/*/kernel/vmlinux.lds.S).
    fn of(symbols: &Carried, linked: Option<u64>, length: u64) -> Option<Self> {
        // `.rodata.text` begins with what the configuration has of the first three.
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
        for told in symbols.told() {
            for (n, name) in BOUNDS.iter().flat_map(|(_, start, end)| [start, end]).enumerate() {
                if told.name == name.as_bytes() {
                    bounds[n] = Some(told.address);
                }
            }
        }
        // Without CONFIG_KALLSYMS_ALL `_text` is not kept where it is not `_stext`.
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

    /// The object: code, and what lies between it as data.
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
        // `image_size` counts what is not in the file too.
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

/// The BTF: what begins and ends like it, the largest. Programs for BPF that are built in have some of their own.
/// (Documentation/bpf/btf.rst, 2.)
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

/// The note with the build id of the kernel. The objects that it has for processes (vDSO) have notes of their own.
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
    use super::*;
    use crate::load::elf::Elf;
    use crate::load::kallsyms::tests::{Layout, TEXT, read_only_data};

    const CODE: usize = 299 * 16;

    /// An Image with code, symbols, BTF behind some that is no BTF, and a note behind that of an object for processes. If it
    /// moves itself, all pointers are in the relocations.
    fn image(layout: Layout, moves: bool) -> Vec<u8> {
        let mut image = vec![0x1f; CODE];
        image[..0x40].fill(0);
        image[0x38..0x3c].copy_from_slice(b"ARM\x64");
        let data = read_only_data(layout, ORDER);
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
        if moves {
            let base = memmem::find(&image, &TEXT.to_le_bytes()).unwrap();
            image[base..base + 8].fill(0);
            let free = image.len();
            image.resize(free + 8 * FEWEST, 0);
            let pointers = [base].into_iter().chain((free..image.len()).step_by(8));
            for at in pointers.collect::<Vec<_>>() {
                let record = [TEXT + at as u64, 1027, TEXT];
                record.iter().for_each(|word| image.extend(word.to_le_bytes()));
            }
        }
        let size = image.len() as u64 + 0x1000;
        image[0x10..0x18].copy_from_slice(&size.to_le_bytes());
        image
    }

    fn btf_of_nothing() -> Vec<u8> {
        let mut btf = vec![0x9f, 0xeb, 1, 0];
        [24, 0, 0, 0, 1_u32].iter().for_each(|word| btf.extend(word.to_le_bytes()));
        btf.push(0);
        btf
    }

    #[test]
    fn what_is_where_is_found() {
        for (layout, moves) in
            [(Layout::Older, false), (Layout::Newer, false), (Layout::Older, true), (Layout::Newer, true)]
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
                Carried::find(Data { bytes: object.section(".data").unwrap().raw(), order: ORDER }, |a| a
                    == TEXT)
                .unwrap()
                .is_ok()
            );
        }
    }

    #[test]
    fn what_is_cut_off_or_changed_is_an_error_or_another_image() {
        let whole = image(Layout::Newer, true);
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
