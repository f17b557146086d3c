//! Runs line programs (DWARF 5, section 6.2; DWARF 4, section 6.2.4).
use super::attrs::StrRef;
use super::cursor::Cursor;
use super::header::Fault;
use super::unit::Unit;
use gimli::constants::*;
use object::Endian;
use probeidx_format::lines::{Position, Row};

/// A file of a unit's line table.
#[derive(Clone, Copy, Debug)]
pub struct File {
    pub directory: u32,
    pub name: FileName,
}

/// The position of a name in the line table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileName {
    Indirect(StrRef),
    /// An offset in `.debug_line`.
    Inline(u32),
}

impl FileName {
    /// The name's bytes.
    pub fn bytes<'d>(self, unit: &Unit<'d, impl Endian>) -> &'d [u8] {
        match self {
            Self::Indirect(string) => string.bytes(&unit.sections),
            Self::Inline(offset) => Cursor::new(unit.sections.line, offset as usize, unit.order).c_string(),
        }
    }
}

/// The header of a line program.
#[derive(Default)]
pub struct LineHeader {
    version: u16,
    minimum_instruction_length: u8,
    default_is_stmt: bool,
    line_base: i8,
    line_range: u8,
    opcode_base: u8,
    operand_counts: Vec<u8>,
    /// Numbered from 0; before DWARF 5 the first is the compilation directory, which is not in the table.
    pub directories: Vec<Option<FileName>>,
    /// Numbered from 0; before DWARF 5 the first is absent.
    pub files: Vec<Option<File>>,
    program: std::ops::Range<usize>,
    address_size: u8,
    /// The bytes of the header.
    length: usize,
}

impl LineHeader {
    /// The bytes of the program.
    pub fn program_size(&self) -> usize {
        self.program.len()
    }
    /// The cost of reading the header, in bytes of a program: constant per entry, because names are skipped quickly.
    pub fn size(&self) -> usize {
        4 * (self.directories.len() + self.files.len()) + self.length / 16
    }
}

/// Reads the header of the unit's line program; `None` if it has none.
pub fn header(unit: &Unit<'_, impl Endian>) -> Result<Option<LineHeader>, Fault> {
    let Some(offset) = unit.stmt_list else { return Ok(None) };
    let section = unit.sections.line;
    let fault = |what| Err(Fault::new(".debug_line", offset as usize, what));
    let mut cursor = Cursor::new(section, offset as usize, unit.order);
    let mut length = u64::from(cursor.u32());
    let offset_size = if length == 0xffff_ffff { 8 } else { 4 };
    if offset_size == 8 {
        length = cursor.u64();
    }
    let end = (cursor.pos as u64).saturating_add(length);
    if cursor.ended || end > section.len() as u64 {
        return fault("a line program is longer than the section");
    }
    let end = end as usize;
    let mut h = LineHeader { version: cursor.u16(), ..LineHeader::default() };
    if !(2..=5).contains(&h.version) {
        return fault("a line program of an unknown version");
    }
    h.address_size = unit.header.encoding.address_size;
    if h.version >= 5 {
        h.address_size = cursor.u8();
        cursor.u8();
    }
    let header_length = cursor.offset(offset_size);
    let program = (cursor.pos as u64).saturating_add(header_length);
    if cursor.ended || program > end as u64 {
        return fault("the header of a line program is longer than the program");
    }
    h.program = program as usize..end;
    let mut cursor = Cursor::new(&section[..h.program.start], cursor.pos, unit.order);
    h.minimum_instruction_length = cursor.u8();
    if h.version >= 4 {
        cursor.u8();
    }
    h.default_is_stmt = cursor.u8() != 0;
    h.line_base = cursor.u8() as i8;
    h.line_range = cursor.u8();
    h.opcode_base = cursor.u8();
    if h.line_range == 0 || h.opcode_base == 0 {
        return fault("the header of a line program is damaged");
    }
    h.operand_counts = cursor.bytes(u64::from(h.opcode_base) - 1).to_vec();
    if h.version >= 5 {
        let mut directories = vec![];
        entries5(&mut cursor, unit, offset_size, |name, _| directories.push(name));
        h.directories = directories;
        let mut files = vec![];
        entries5(&mut cursor, unit, offset_size, |name, directory| {
            files.push(name.map(|name| File { directory, name }));
        });
        h.files = files;
    } else {
        h.directories.push(unit.comp_dir.map(FileName::Indirect));
        h.files.push(None);
        while let Some(name) = inline_name(&mut cursor) {
            h.directories.push(Some(name));
        }
        while let Some(name) = inline_name(&mut cursor) {
            let directory = cursor.uleb() as u32;
            cursor.skip_leb();
            cursor.skip_leb();
            h.files.push(Some(File { directory, name }));
        }
    }
    if cursor.ended {
        return fault("the header of a line program is damaged");
    }
    h.length = cursor.pos - offset as usize;
    Ok(Some(h))
}

fn inline_name(cursor: &mut Cursor<'_, impl Endian>) -> Option<FileName> {
    let at = cursor.pos as u32;
    (!cursor.c_string().is_empty()).then_some(FileName::Inline(at))
}

/// Reads a table of directories or files: the format of its entries, their number, and the entries.
fn entries5(
    cursor: &mut Cursor<'_, impl Endian>,
    unit: &Unit<'_, impl Endian>,
    offset_size: u8,
    mut each: impl FnMut(Option<FileName>, u32),
) {
    let format_count = cursor.u8();
    let format: Vec<(DwLnct, DwForm)> =
        (0..format_count).map(|_| (DwLnct(cursor.uleb() as u16), DwForm(cursor.uleb() as u16))).collect();
    let count = cursor.uleb();
    if format.is_empty() {
        return;
    }
    for _ in 0..count {
        let (mut name, mut directory) = (None, 0);
        for &(content, form) in &format {
            let at = cursor.pos as u32;
            let mut number = 0;
            let mut string = None;
            match form {
                DW_FORM_line_strp => string = Some(unit.line_str(cursor.offset(offset_size))),
                DW_FORM_strp => string = Some(unit.str(cursor.offset(offset_size))),
                DW_FORM_strx => string = Some(unit.string_at_index(cursor.uleb())),
                DW_FORM_string => {
                    cursor.c_string();
                }
                DW_FORM_udata => number = cursor.uleb(),
                DW_FORM_data1 => number = cursor.u8().into(),
                DW_FORM_data2 => number = cursor.u16().into(),
                DW_FORM_data4 => number = cursor.u32().into(),
                DW_FORM_data8 => number = cursor.u64(),
                DW_FORM_data16 => cursor.skip(16),
                DW_FORM_block => {
                    let length = cursor.uleb();
                    cursor.skip(length);
                }
                _ => cursor.skip(u64::MAX),
            }
            match content {
                DW_LNCT_path => name = Some(string.map_or(FileName::Inline(at), FileName::Indirect)),
                DW_LNCT_directory_index => directory = number as u32,
                _ => {}
            }
        }
        if cursor.ended {
            return;
        }
        each(name, directory);
    }
}

/// Rows with ascending addresses, and the address past them.
pub struct Sequence<'r> {
    /// Addresses and file numbers are those of the debug information.
    pub rows: &'r [(u64, Row)],
    pub end: u64,
}

/// Runs the program and calls `each` for every sequence. `rows` is scratch memory.
pub fn run(
    unit: &Unit<'_, impl Endian>,
    header: &LineHeader,
    rows: &mut Vec<(u64, Row)>,
    mut each: impl FnMut(Sequence<'_>),
) -> Result<(), Fault> {
    // There is no program, or its header could not be read and its numbers are meaningless.
    if header.program.is_empty() {
        return Ok(());
    }
    let mut cursor = Cursor::new(&unit.sections.line[..header.program.end], header.program.start, unit.order);
    let first = Position { file: 1, line: 1, column: 0 };
    let (mut address, mut position, mut is_stmt) = (0u64, first, header.default_is_stmt);
    let step = u64::from(header.minimum_instruction_length);
    let (line_base, line_range) = (i32::from(header.line_base), header.line_range);
    let constant_advance = u64::from((255 - header.opcode_base) / line_range) * step;
    // A division for each row would take as long as all else.
    let special: [(u64, i32); 256] = std::array::from_fn(|opcode| {
        let adjusted = (opcode as u8).wrapping_sub(header.opcode_base);
        (u64::from(adjusted / line_range) * step, line_base + i32::from(adjusted % line_range))
    });
    rows.clear();
    macro_rules! row {
        () => {
            rows.push((address, Row { pc: 0, position, is_stmt }))
        };
    }
    while !cursor.is_empty() {
        let opcode = cursor.u8();
        if opcode >= header.opcode_base {
            let (addresses, lines) = special[usize::from(opcode)];
            address = address.wrapping_add(addresses);
            position.line = position.line.wrapping_add_signed(lines);
            row!();
            continue;
        }
        match DwLns(opcode) {
            DwLns(0) => {
                let length = cursor.uleb();
                let next = cursor.pos.saturating_add(length as usize);
                if length == 0 {
                    continue;
                }
                match DwLne(cursor.u8()) {
                    DW_LNE_end_sequence => {
                        if rows.windows(2).any(|w| w[0].0 > w[1].0) {
                            rows.sort_by_key(|r| r.0);
                        }
                        each(Sequence { rows, end: address });
                        rows.clear();
                        (address, position, is_stmt) = (0, first, header.default_is_stmt);
                    }
                    DW_LNE_set_address => {
                        let size = if length == 9 { 8 } else { header.address_size };
                        address = cursor.address(size);
                    }
                    _ => {}
                }
                if next > header.program.end {
                    return Err(Fault::new(
                        ".debug_line",
                        cursor.pos,
                        "an opcode is longer than the program",
                    ));
                }
                cursor.pos = next;
            }
            DW_LNS_copy => row!(),
            DW_LNS_advance_pc => address = address.wrapping_add(cursor.uleb().wrapping_mul(step)),
            DW_LNS_advance_line => position.line = position.line.wrapping_add(cursor.sleb() as u32),
            DW_LNS_set_file => position.file = cursor.uleb() as u32,
            DW_LNS_set_column => position.column = cursor.uleb() as u32,
            DW_LNS_negate_stmt => is_stmt = !is_stmt,
            DW_LNS_const_add_pc => address = address.wrapping_add(constant_advance),
            DW_LNS_fixed_advance_pc => address = address.wrapping_add(cursor.u16().into()),
            DW_LNS_set_basic_block | DW_LNS_set_prologue_end | DW_LNS_set_epilogue_begin => {}
            _ => {
                for _ in 0..header.operand_counts.get(usize::from(opcode) - 1).copied().unwrap_or(0) {
                    cursor.skip_leb();
                }
            }
        }
    }
    if !rows.is_empty() || cursor.ended {
        return Err(Fault::new(".debug_line", header.program.start, "a line program ends within a sequence"));
    }
    Ok(())
}
