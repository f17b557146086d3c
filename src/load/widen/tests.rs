use super::*;
use crate::load::elf::Elf;

/// An object of a machine with this `.text`, one relocation (`SHT_REL`) at its start, and two symbols.
fn object(order: Endianness, machine: Machine, text: &[u8], kind: u8, flags: u32) -> Vec<u8> {
    let names = b"\0.text\0.rel.text\0.symtab\0.strtab\0f\0";
    let mut out = Record::new(order);
    out.bytes.extend([0x7f, b'E', b'L', b'F', 1, if order == Endianness::Little { 1 } else { 2 }, 1]);
    out.bytes.resize(16, 0);
    out.halves([elf::ET_REL.0, machine.0]);
    let text_at = 52;
    let rel_at = text_at + text.len().next_multiple_of(4);
    let symbols_at = rel_at + 8;
    let names_at = symbols_at + 2 * 16;
    let headers_at = (names_at + names.len()).next_multiple_of(4);
    out.words([1, 0, 0, headers_at as u32, 0]);
    out.halves([52, 0, 0, 40, 5, 4]);
    out.bytes.extend(text);
    out.bytes.resize(rel_at, 0);
    out.words([0, 1 << 8 | u32::from(kind)]);
    out.words([0; 4]);
    out.words([33, 5, 2]);
    // A global function in the first section.
    out.bytes.extend([0x12, 0]);
    out.halves([1]);
    out.bytes.extend(names);
    out.bytes.resize(headers_at, 0);
    let mut section = |name: u32, kind: u32, flags: u32, at: usize, size: usize, link: u32, info: u32| {
        out.words([name, kind, flags, 0, at as u32, size as u32, link, info, 4, 0]);
    };
    section(0, 0, 0, 0, 0, 0, 0);
    section(1, 1, flags, text_at, text.len(), 0, 0);
    section(7, elf::SHT_REL.0, 0, rel_at, 8, 3, 1);
    section(17, elf::SHT_SYMTAB.0, 0, symbols_at, 32, 4, 1);
    section(25, elf::SHT_STRTAB.0, 0, names_at, names.len(), 0, 0);
    out.bytes
}

const CODE: u32 = 6;

#[test]
fn the_addend_stands_in_its_place() {
    let wanted = [(elf::EM_386, 1, -4), (elf::EM_386, 2, -4), (elf::EM_ARM, 2, -4), (elf::EM_ARM, 42, -4)];
    for order in [Endianness::Little, Endianness::Big] {
        for (machine, kind, addend) in wanted {
            let narrow = object(order, machine, &order.write_i32(-4), kind, CODE);
            let wide = widen(&narrow).unwrap();
            let object = Elf::parse(&wide).unwrap();
            assert_eq!((object.machine, object.address_size, object.order), (machine.0, 4, order));
            let relocation = object.relocations(1).unwrap().unwrap()[0];
            let info = relocation.r_info.get(order);
            assert_eq!((info >> 32, info as u32), (1, kind.into()));
            assert_eq!(relocation.r_addend.get(order), addend, "{machine:?} {kind}");
        }
    }
}

#[test]
fn symbols_keep_all_but_the_bit_of_thumb_code() {
    for (machine, value) in [(elf::EM_386, 5), (elf::EM_ARM, 4)] {
        let wide = widen(&object(Endianness::Little, machine, &[0; 8], 0, CODE)).unwrap();
        let object = Elf::parse(&wide).unwrap();
        let function = object.symbols[1];
        assert_eq!(object.symbol_name(&function), b"f");
        let order = object.order;
        assert_eq!((function.st_value.get(order), function.st_size.get(order)), (value, 2), "{machine:?}");
        assert_eq!(object.section(".text").map(|s| s.raw().len()), Some(8));
    }
}

#[test]
fn other_machines_are_named() {
    let narrow = object(Endianness::Little, elf::EM_MIPS, &[0; 4], 0, CODE);
    assert_eq!(widen(&narrow).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn compressed_sections_are_inflated() {
    let order = Endianness::Little;
    let content = [0x5a; 300];
    let mut packed = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &content).unwrap();
    let mut head = Record::new(order);
    head.words([1, content.len() as u32, 1]);
    let text = [head.bytes, packed.finish().unwrap()].concat();
    let flags = CODE | elf::SHF_COMPRESSED.0 as u32;
    let wide = widen(&object(order, elf::EM_386, &text, 1, flags)).unwrap();
    let object = Elf::parse(&wide).unwrap();
    assert_eq!(object.section(".text").unwrap().data().unwrap().as_ref(), content);
    assert_eq!(object.relocations(1).unwrap().unwrap()[0].r_addend.get(order), 0x5a5a_5a5a);
}

#[test]
fn damaged_headers_are_an_error_or_an_object_and_never_a_panic() {
    let good = object(Endianness::Little, elf::EM_386, &[0; 16], 1, CODE);
    for at in 4..good.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bad = good.clone();
            bad[at] = value;
            for bytes in [&bad[..], &bad[..at]] {
                if let Ok(wide) = widen(bytes) {
                    assert!(wide.len() < 64 * good.len());
                    let _ = Elf::parse(&wide);
                }
            }
        }
    }
}
