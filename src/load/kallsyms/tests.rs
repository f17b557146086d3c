//! Tables as scripts/kallsyms.c writes them, in both byte orders, intact and damaged.
use super::*;
use crate::load::live::Writer;
use object::elf::{EM_S390, EM_X86_64};

const ORDERS: [Endianness; 2] = [Endianness::Little, Endianness::Big];

pub const TEXT: u64 = 0xffff_ffff_8100_0000;
const DATA: u64 = TEXT + 0x10_0000;

#[derive(Clone, Copy, PartialEq)]
pub enum Layout {
    Newer,
    Older,
    Absolute,
    /// Aligned to 4, without a base.
    FromItself,
}

impl Layout {
    pub const ALL: [Self; 4] = [Self::Newer, Self::Older, Self::Absolute, Self::FromItself];

    fn align(self, data: &mut Vec<u8>) {
        let to = if self == Self::FromItself { 4 } else { 8 };
        data.resize(data.len().next_multiple_of(to), 0);
    }
    /// Whether addresses follow the tokens.
    fn is_newer(self) -> bool {
        matches!(self, Self::Newer | Self::FromItself)
    }
}

/// 300 symbols; one has a name of more than 127 tokens, and the first is per-cpu data if the layout has any.
fn symbols(layout: Layout) -> Vec<(u64, String)> {
    let named = |n: u64| match n {
        0 if layout == Layout::FromItself => (TEXT - 16, "tpvh_start_xen".to_owned()),
        0 => (0, "Afixed_percpu_data".to_owned()),
        1 => (TEXT, "T_stext".to_owned()),
        299 => (TEXT + n * 16, "T_etext".to_owned()),
        7 => (TEXT + 7 * 16, format!("t{}", "long_".repeat(40))),
        n => (TEXT + n * 16, format!("tfunction_{n}")),
    };
    (0..300).map(named).collect()
}

/// The tables as scripts/kallsyms.c writes them, at this address, with each character as its own token.
pub fn read_only_data(layout: Layout, order: Endianness, start: u64) -> Vec<u8> {
    let symbols = symbols(layout);
    let mut data = b"Linux version 6.1.0\0\0\0\0\0".to_vec();
    layout.align(&mut data);
    let addresses = |data: &mut Vec<u8>| {
        for (address, _) in &symbols {
            let from_itself = address.wrapping_sub(start + data.len() as u64) as u32;
            match layout {
                Layout::Absolute => data.extend(order.write_u64(*address)),
                Layout::FromItself => data.extend(order.write_u32(from_itself)),
                _ if *address == 0 => data.extend([0; 4]),
                _ => data.extend(order.write_u32((TEXT.wrapping_sub(1).wrapping_sub(*address)) as u32)),
            }
        }
        layout.align(data);
        if !matches!(layout, Layout::Absolute | Layout::FromItself) {
            data.extend(order.write_u64(TEXT));
        }
    };
    if !layout.is_newer() {
        addresses(&mut data);
    }
    data.extend(order.write_u32(300));
    layout.align(&mut data);
    let (first, mut markers) = (data.len(), vec![]);
    for (n, (_, name)) in symbols.iter().enumerate() {
        if n.is_multiple_of(256) {
            markers.push((data.len() - first) as u32);
        }
        match name.len() {
            long @ 128.. => data.extend([long as u8 | 0x80, (long >> 7) as u8]),
            short => data.push(short as u8),
        }
        data.extend(name.as_bytes());
    }
    layout.align(&mut data);
    markers.iter().for_each(|m| data.extend(order.write_u32(*m)));
    layout.align(&mut data);
    if !layout.is_newer() {
        data.extend([0; 900]);
        layout.align(&mut data);
    }
    let (table, mut index) = (data.len(), vec![]);
    for token in 0..=255u8 {
        index.extend(order.write_u16((data.len() - table) as u16));
        data.extend([token].iter().filter(|t| t.is_ascii_graphic()));
        data.push(0);
    }
    layout.align(&mut data);
    data.extend(index);
    if layout.is_newer() {
        addresses(&mut data);
    }
    data.extend([0; 64]);
    data
}

fn kernel(data: &[u8], order: Endianness) -> Vec<u8> {
    let mut writer = Writer::new(order);
    writer.section(".text", 8, 6, TEXT, 0x10000, &[]);
    writer.section(".rodata", 1, 2, DATA, data.len() as u64, data);
    writer.section(".data..percpu", 8, 3, 0, 0x1000, &[]);
    writer.finish(if order.is_big_endian() { EM_S390 } else { EM_X86_64 }, &[])
}

#[test]
fn every_layout_gives_names_and_addresses() {
    for (layout, order) in Layout::ALL.into_iter().flat_map(|layout| ORDERS.map(|order| (layout, order))) {
        let bytes = kernel(&read_only_data(layout, order, DATA), order);
        let object = Elf::parse(&bytes).unwrap();
        let table = SymbolTable::embedded(&object).unwrap().expect("symbols");
        let object = Elf::parse(&bytes).unwrap().with_symbols(&table);
        let found: Vec<_> = object.symbols[1..]
            .iter()
            .map(|s| (s.st_value.get(order), String::from_utf8_lossy(object.symbol_name(s)).into_owned()))
            .collect();
        let due: Vec<_> =
            symbols(layout).into_iter().map(|(address, name)| (address, name[1..].to_owned())).collect();
        assert_eq!(found, due);
    }
}

#[test]
fn damaged_tables_are_none_or_an_error_and_end() {
    let order = Endianness::Little;
    let good = read_only_data(Layout::Older, order, DATA);
    assert!(SymbolTable::embedded(&Elf::parse(&kernel(&[0; 4096], order)).unwrap()).unwrap().is_none());
    for at in (0..good.len()).step_by(7) {
        for value in [0, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] = value;
            let bytes = kernel(&bad, order);
            let _ = SymbolTable::embedded(&Elf::parse(&bytes).unwrap());
        }
        let bytes = kernel(&good[..at], order);
        let _ = SymbolTable::embedded(&Elf::parse(&bytes).unwrap());
    }
}
