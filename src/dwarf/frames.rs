//! Call frame information, reduced to the rules for the canonical frame address (DWARF 5, section 6.4; `.eh_frame`:
//! Linux Standard Base Core 5.0, section 10.6).
use super::cursor::Cursor;
use super::extractor::{Extractor, Gathered};
use super::facts::FrameFacts;
use super::header::Fault;
use super::strings::content_hash;
use gimli::constants::*;
use object::Endian;
use object::Endianness;
use probeidx_format::frames::{self, Row, Rule};
use rustc_hash::FxHashMap;

/// How many times over the bytes of the section may be read as common entries.
const MOST_COMMON: usize = 8;

impl<E: Endian> Extractor<'_, '_, E> {
    /// Reads the frame rules of the whole object.
    pub(super) fn read_frames(mut self) -> Gathered {
        self.frames();
        self.leave()
    }

    fn frames(&mut self) {
        let sections = self.object.sections;
        let order = sections.order;
        let address_size = sections.address_size;
        let section = match sections.frame {
            [] => {
                let eh = Some(sections.eh_frame_address);
                Section { name: ".eh_frame", data: sections.eh_frame, order, address_size, eh }
            }
            data => Section { name: ".debug_frame", data, order, address_size, eh: None },
        };
        let mut commons = FxHashMap::default();
        let mut rows = vec![];
        let mut of_object: Vec<Row> = vec![];
        let mut bytes = vec![];
        let mut known: FxHashMap<u64, u32> = FxHashMap::default();
        let mut start = 0;
        // Common entries may overlap, because their position is given by references.
        let mut common_bytes = 0;
        while start < section.data.len() {
            let entry = match section.entry(start) {
                Ok(entry) => entry,
                Err(fault) => return self.fault(fault),
            };
            let at = std::mem::replace(&mut start, entry.end);
            let Some(common) = entry.common else { continue };
            let common = commons.entry(common).or_insert_with(|| {
                common_bytes += section.common_size(common);
                let common = match common_bytes > MOST_COMMON.saturating_mul(section.data.len()) {
                    true => Err("common frame entries overlap"),
                    false => section.common(common),
                };
                common.map_err(|what| self.fault(section.fault(at, what))).ok()
            });
            let Some(common) = common else { continue };
            match section.described(common, &entry, &mut rows) {
                Ok((first, end)) => {
                    let (Some(start), Some(end)) = (self.pc(first), self.pc(end)) else { continue };
                    if start >= end {
                        continue;
                    }
                    let in_object = rows.iter().filter_map(|&(at, rule)| Some((self.pc(at)?, rule)));
                    of_object.clear();
                    of_object.extend(in_object.take_while(|&(pc, _)| pc < end));
                    bytes.clear();
                    frames::put(&mut bytes, start, &of_object);
                    let batch = &mut self.batch;
                    let next = batch.frame_rows.len() as u32;
                    let mut rows = *known.entry(content_hash(&bytes)).or_insert(next);
                    // No list of rows is a prefix of another.
                    if rows == next || !batch.frame_rows[rows as usize..].starts_with(&bytes) {
                        rows = next;
                        batch.frame_rows.extend_from_slice(&bytes);
                    }
                    batch.frames.push(FrameFacts { object: self.object.number, start, end, rows });
                }
                Err(what) => self.fault(section.fault(at, what)),
            }
        }
    }
}

/// `.debug_frame`, or `.eh_frame` with its address.
struct Section<'d> {
    name: &'static str,
    data: &'d [u8],
    order: Endianness,
    /// Address size of the object; entries of version 4 have their own.
    address_size: u8,
    eh: Option<u64>,
}

/// An entry, read up to where common entries (CIE) and others (FDE) differ.
struct Entry<'d> {
    /// After the id.
    cursor: Cursor<'d, Endianness>,
    end: usize,
    /// The offset of the common entry that this one refers to; `None` for a common entry itself.
    common: Option<u64>,
}

/// The content of a common entry.
struct Common {
    code_alignment: u64,
    data_alignment: i64,
    address_size: u8,
    segment_size: u8,
    /// The encoding of addresses (`DW_EH_PE_*`).
    pointers: u8,
    has_length: bool,
    rule: Option<Rule>,
}

type Result<T> = std::result::Result<T, &'static str>;

impl<'d> Section<'d> {
    fn fault(&self, offset: usize, what: &'static str) -> Fault {
        Fault::new(self.name, offset, what)
    }

    fn entry(&self, start: usize) -> std::result::Result<Entry<'d>, Fault> {
        let mut cursor = Cursor::new(self.data, start, self.order);
        let mut length = u64::from(cursor.u32());
        let mut size = 4;
        if length == 0xffff_ffff {
            (length, size) = (cursor.u64(), if self.eh.is_some() { 4 } else { 8 });
        }
        let end = usize::try_from(length).ok().and_then(|l| cursor.pos.checked_add(l));
        let Some(end) = end.filter(|e| *e <= self.data.len() && !cursor.ended) else {
            return Err(self.fault(start, "a frame entry is longer than the section"));
        };
        let mut cursor = Cursor::new(&self.data[..end], cursor.pos, self.order);
        // A zero length ends the entries of one object in `.eh_frame`, or fills a gap.
        if length == 0 {
            return Ok(Entry { cursor, end, common: None });
        }
        let at = cursor.pos as u64;
        let id = cursor.offset(size);
        let common = match self.eh {
            Some(_) => (id != 0).then(|| at.wrapping_sub(id)),
            None => (id != if size == 8 { u64::MAX } else { 0xffff_ffff }).then_some(id),
        };
        Ok(Entry { cursor, end, common })
    }

    /// The size of the entry at this offset; 0 if there is none.
    fn common_size(&self, offset: u64) -> usize {
        let entry = usize::try_from(offset).ok().and_then(|start| Some((start, self.entry(start).ok()?)));
        entry.map_or(0, |(start, entry)| entry.end - start)
    }

    fn common(&self, offset: u64) -> Result<Common> {
        const NONE: &str = "a frame entry refers to a common one that is none";
        let offset = usize::try_from(offset).map_err(|_| NONE)?;
        let Ok(Entry { mut cursor, common: None, .. }) = self.entry(offset) else { return Err(NONE) };
        let version = cursor.u8();
        if !matches!(version, 1 | 3 | 4) {
            return Err(if cursor.ended { NONE } else { "frame entries of an unknown version" });
        }
        let augmentation = cursor.c_string();
        let (mut address_size, mut segment_size) = (self.address_size, 0);
        if version == 4 {
            (address_size, segment_size) = (cursor.u8(), cursor.u8());
        }
        let mut common = Common {
            address_size,
            segment_size,
            code_alignment: cursor.uleb(),
            data_alignment: cursor.sleb(),
            pointers: DW_EH_PE_absptr.0,
            has_length: augmentation.starts_with(b"z"),
            rule: None,
        };
        if version == 1 {
            cursor.skip(1);
        } else {
            cursor.skip_leb();
        }
        if common.has_length {
            let length = cursor.uleb();
            let behind = cursor.pos as u64 + length.min(u32::MAX.into());
            self.augmentation(&mut common, &augmentation[1..], &mut cursor)?;
            cursor.skip(behind.wrapping_sub(cursor.pos as u64));
        } else if !augmentation.iter().all(is_bare) {
            return Err("frame entries of an unknown augmentation");
        }
        if cursor.ended || !matches!(address_size, 4 | 8) {
            return Err("a common frame entry is damaged");
        }
        common.rule = self.run(&common, cursor, 0, None, &mut vec![])?;
        Ok(common)
    }

    /// Reads the encoding of addresses from the augmentation letters. Data after an unknown letter is skipped.
    fn augmentation(
        &self,
        common: &mut Common,
        letters: &[u8],
        cursor: &mut Cursor<'d, Endianness>,
    ) -> Result<()> {
        for letter in letters {
            match letter {
                b'R' => common.pointers = cursor.u8(),
                b'L' => cursor.skip(1),
                b'P' => {
                    let encoding = cursor.u8();
                    self.pointer(common, cursor, encoding & 0xf)?;
                }
                letter if is_bare(letter) => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// The addresses covered by an entry, and its rows.
    fn described(
        &self,
        common: &Common,
        entry: &Entry<'d>,
        rows: &mut Vec<AddressRow>,
    ) -> Result<(u64, u64)> {
        let mut cursor = entry.cursor;
        cursor.skip(common.segment_size.into());
        let start = self.pointer(common, &mut cursor, common.pointers)?;
        let length = self.pointer(common, &mut cursor, common.pointers & 0xf)?;
        if common.has_length {
            let length = cursor.uleb();
            cursor.skip(length);
        }
        rows.clear();
        self.run(common, cursor, start, common.rule, rows)?;
        Ok((start, start.wrapping_add(length)))
    }

    /// An address in this encoding (Linux Standard Base Core 5.0, section 10.5).
    fn pointer(&self, common: &Common, cursor: &mut Cursor<'d, Endianness>, encoding: u8) -> Result<u64> {
        let at = self.eh.unwrap_or(0).wrapping_add(cursor.pos as u64);
        let value = match DwEhPe(encoding & 0xf) {
            DW_EH_PE_absptr => cursor.address(common.address_size),
            DW_EH_PE_uleb128 => cursor.uleb(),
            DW_EH_PE_udata2 => cursor.u16().into(),
            DW_EH_PE_udata4 => cursor.u32().into(),
            DW_EH_PE_sleb128 => cursor.sleb() as u64,
            DW_EH_PE_sdata2 => cursor.u16() as i16 as u64,
            DW_EH_PE_sdata4 => cursor.u32() as i32 as u64,
            DW_EH_PE_udata8 | DW_EH_PE_sdata8 => cursor.u64(),
            _ => return Err("a frame entry with an address of unknown encoding"),
        };
        match DwEhPe(encoding & 0xf0) {
            DW_EH_PE_absptr => Ok(value),
            DW_EH_PE_pcrel => Ok(value.wrapping_add(at)),
            _ => Err("a frame entry with an address of unknown encoding"),
        }
    }

    /// Executes the instructions, starting at address `start` with an initial rule. Returns the last rule and appends
    /// changes to `rows`.
    fn run(
        &self,
        common: &Common,
        mut cursor: Cursor<'d, Endianness>,
        start: u64,
        mut rule: Option<Rule>,
        rows: &mut Vec<AddressRow>,
    ) -> Result<Option<Rule>> {
        let mut address = start;
        let mut remembered = vec![];
        while !cursor.is_empty() {
            let instruction = cursor.u8();
            let mut advance = None;
            match (DwCfa(instruction & 0xc0), DwCfa(instruction)) {
                (DW_CFA_advance_loc, _) => advance = Some(u64::from(instruction & 0x3f)),
                (DW_CFA_offset, _) => cursor.skip_leb(),
                (DW_CFA_restore, _) => {}
                (_, DW_CFA_nop | DW_CFA_AARCH64_negate_ra_state | AARCH64_NEGATE_RA_STATE_WITH_PC) => {}
                (_, DW_CFA_advance_loc1) => advance = Some(cursor.u8().into()),
                (_, DW_CFA_advance_loc2) => advance = Some(cursor.u16().into()),
                (_, DW_CFA_advance_loc4) => advance = Some(cursor.u32().into()),
                (_, MIPS_ADVANCE_LOC8) => advance = Some(cursor.u64()),
                (_, DW_CFA_set_loc) => {
                    rows.push((address, rule));
                    let to = self.pointer(common, &mut cursor, common.pointers)?;
                    if to < address && !cursor.ended {
                        return Err("a frame entry goes backwards");
                    }
                    address = to;
                }
                (_, DW_CFA_def_cfa) => rule = defined(cursor.uleb(), cursor.uleb() as i64),
                (_, DW_CFA_def_cfa_sf) => {
                    let register = cursor.uleb();
                    rule = defined(register, cursor.sleb().wrapping_mul(common.data_alignment));
                }
                (_, DW_CFA_def_cfa_register) => {
                    let register = cursor.uleb();
                    rule = rule.and_then(|r| defined(register, r.offset));
                }
                (_, DW_CFA_def_cfa_offset) => {
                    let offset = cursor.uleb() as i64;
                    rule = rule.map(|r| Rule { offset, ..r });
                }
                (_, DW_CFA_def_cfa_offset_sf) => {
                    let offset = cursor.sleb().wrapping_mul(common.data_alignment);
                    rule = rule.map(|r| Rule { offset, ..r });
                }
                (_, DW_CFA_def_cfa_expression) => {
                    let length = cursor.uleb();
                    cursor.skip(length);
                    rule = None;
                }
                (_, DW_CFA_remember_state) => remembered.push(rule),
                (_, DW_CFA_restore_state) => {
                    rule = remembered
                        .pop()
                        .ok_or("a frame entry restores a state that it has not remembered")?;
                }
                (_, DW_CFA_expression | DW_CFA_val_expression) => {
                    cursor.skip_leb();
                    let length = cursor.uleb();
                    cursor.skip(length);
                }
                (
                    _,
                    DW_CFA_undefined | DW_CFA_same_value | DW_CFA_restore_extended | DW_CFA_GNU_args_size,
                ) => {
                    cursor.skip_leb();
                }
                (
                    _,
                    DW_CFA_offset_extended
                    | DW_CFA_offset_extended_sf
                    | DW_CFA_register
                    | DW_CFA_val_offset
                    | DW_CFA_val_offset_sf
                    | DW_CFA_GNU_negative_offset_extended,
                ) => {
                    cursor.skip_leb();
                    cursor.skip_leb();
                }
                _ => return Err("a frame entry with an unknown instruction"),
            }
            if let Some(count) = advance {
                rows.push((address, rule));
                let to = count.checked_mul(common.code_alignment).and_then(|by| address.checked_add(by));
                address = to.ok_or("a frame entry goes backwards")?;
            }
        }
        if cursor.ended {
            return Err("the instructions of a frame entry are cut off");
        }
        rows.push((address, rule));
        Ok(rule)
    }
}

/// A rule and the address from which it applies.
type AddressRow = (u64, Option<Rule>);

/// `DW_CFA_MIPS_advance_loc8`.
const MIPS_ADVANCE_LOC8: DwCfa = DwCfa(0x1d);

/// `DW_CFA_AARCH64_negate_ra_state_with_pc`.
const AARCH64_NEGATE_RA_STATE_WITH_PC: DwCfa = DwCfa(0x2c);

fn defined(register: u64, offset: i64) -> Option<Rule> {
    u8::try_from(register).ok().map(|register| Rule { register, offset })
}

/// Whether a letter of an augmentation has no data, so that it may stand without their length: a signal frame, a return address
/// signed by key B, tagged memory.
fn is_bare(letter: &u8) -> bool {
    matches!(letter, b'S' | b'B' | b'G')
}
