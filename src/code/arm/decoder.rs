//! Which instructions can be probed: the kernel decides by tables of masks and values, so they are read from its data
//! (`probes_decode_arm_table`, arch/arm/probes/decode-arm.c; `probes_decode_insn`, arch/arm/probes/decode.c).
use super::Instruction;
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use object::{Endian, Endianness};

/// The table that refers to all others.
const ROOT: &[u8] = b"probes_decode_arm_table";
/// A kernel of Thumb code has this one too, and kprobes go by it.
const THUMB: &[u8] = b"probes_decode_thumb32_table";

/// The most rows of all tables: 7.2 has 117.
const MOST: usize = 192;

/// The tables of a kernel, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoder {
    rows: [Row; MOST],
}

/// What holds of the instructions that have this value under this mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    mask: u32,
    value: u32,
    /// Four bits for each register field, from the lowest: see [`takes`].
    fields: u32,
    then: Then,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Then {
    /// No row matches.
    #[default]
    End,
    /// Another table decides: that which starts there.
    Table(u8),
    Taken,
    /// As the next row, whether that matches or not.
    AsNext,
    Refused,
}

impl Decoder {
    /// Reads the tables of vmlinux; `None` if they are missing or invalid, or if its code is Thumb.
    pub fn of(object: &Elf<'_>, symbols: &[Symbol<'_>]) -> Option<Self> {
        if object.order == Endianness::Big || symbols.iter().any(|s| s.name == THUMB) {
            return None;
        }
        let root = symbols.iter().find(|s| s.name == ROOT && !s.is_function())?;
        Self::from_tables(
            root.pc,
            |pc| {
                let holds = |start: u32, length: u64| start <= pc && u64::from(pc - start) < length;
                let section =
                    object.sections.iter().find(|s| s.pc.is_some_and(|start| holds(start, s.size())))?;
                let word = |at: u32| {
                    let bytes = section.raw().get((pc - section.pc?) as usize + at as usize..)?;
                    Some(object.order.read_u32(*bytes.first_chunk()?))
                };
                Some([word(0)?, word(4).unwrap_or(0), word(8).unwrap_or(0), word(12).unwrap_or(0)])
            },
            |address| u32::try_from(u64::from(address).checked_sub(object.base)?).ok(),
        )
    }

    /// `words` has the four words at a place: type and fields, mask, value, and a reference to a table.
    fn from_tables(
        root: u32,
        words: impl Fn(u32) -> Option<[u32; 4]>,
        place: impl Fn(u32) -> Option<u32>,
    ) -> Option<Self> {
        let (mut rows, mut count) = ([Row::default(); MOST], 0);
        let mut tables = vec![root];
        let mut starts = vec![];
        let mut next = 0;
        while let Some(mut at) = tables.get(next).copied() {
            next += 1;
            starts.push(count as u8);
            loop {
                let [head, mask, value, table] = words(at)?;
                let row = rows.get_mut(count)?;
                count += 1;
                // `enum decode_type`, arch/arm/probes/decode.h
                let then = match head & 0xf {
                    0 => break,
                    1 => {
                        tables.push(place(table)?);
                        Then::Table(tables.len() as u8 - 1)
                    }
                    2..=4 => Then::Taken,
                    5 => Then::AsNext,
                    6 => Then::Refused,
                    _ => return None,
                };
                *row = Row { mask, value, fields: head >> 4, then };
                at = at.checked_add(if matches!(then, Then::AsNext | Then::Refused) { 12 } else { 16 })?;
                if value & !mask != 0 {
                    return None;
                }
            }
        }
        for row in &mut rows {
            if let Then::Table(number) = &mut row.then {
                *number = starts[usize::from(*number)];
            }
        }
        Some(Self { rows })
    }

    /// Whether kprobes refuse an instruction.
    pub fn refuses(&self, instruction: Instruction) -> bool {
        let (mut at, mut has_matched) = (0, false);
        while let Some(row) = self.rows.get(at) {
            at += 1;
            if row.then != Then::End && !has_matched && instruction.0 & row.mask != row.value {
                continue;
            }
            match row.then {
                Then::End | Then::Refused => return true,
                _ if !takes(row.fields, instruction) => return true,
                Then::Taken => return instruction.stores_below_stack(),
                Then::AsNext => has_matched = true,
                Then::Table(start) => at = usize::from(start),
            }
        }
        true
    }
}

/// Whether the registers of an instruction are such as its row wants (`decode_regs`; `enum decode_reg_type`).
fn takes(fields: u32, instruction: Instruction) -> bool {
    const STACK: u32 = 13;
    const PROGRAM_COUNTER: u32 = 15;
    (0..32).step_by(4).all(|bit| {
        let register = instruction.register(bit);
        match fields >> bit & 0xf {
            3 => register == STACK,
            4 => register == PROGRAM_COUNTER,
            5 => register != STACK,
            6 | 10 => register != STACK && register != PROGRAM_COUNTER,
            7 | 9 => register != PROGRAM_COUNTER,
            8 => register != PROGRAM_COUNTER || !instruction.writes_back(),
            _ => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 6.1, each from its first word on; a table starts at each hundred.
    fn decoder(tables: &[&[&[u32]]]) -> Option<Decoder> {
        let bytes: Vec<Vec<u32>> = tables.iter().map(|rows| rows.concat()).collect();
        let words = |pc: u32| {
            let own = bytes.get(pc as usize / 400)?.get(pc as usize % 400 / 4..)?;
            let mut four = [0; 4];
            four.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
            (!own.is_empty()).then_some(four)
        };
        Decoder::from_tables(0, words, Some)
    }

    const SIMULATE: u32 = 3;
    const EMULATE: u32 = 4;
    const OR: u32 = 5;
    const REJECT: u32 = 6;

    fn of_6_1() -> Decoder {
        let media: &[&[u32]] = &[
            // smuad or smmul: not of the program counter
            &[OR, 0x0ff0_f090, 0x0700_f010],
            &[EMULATE | 0x7_0707 << 4, 0x0ff0_f0d0, 0x0750_f010, 0],
            &[0],
        ];
        let tables: [&[&[u32]]; 2] = [
            &[
                &[1, 0x0f00_0010, 0x0700_0010, 400],
                // strt and others
                &[REJECT, 0x0d20_0000, 0x0420_0000],
                // str
                &[EMULATE | 0x8_2000 << 4, 0x0e10_0000, 0x0400_0000, 0],
                // b, bl
                &[SIMULATE, 0x0e00_0000, 0x0a00_0000, 0],
                &[0],
            ],
            media,
        ];
        decoder(&tables).unwrap()
    }

    #[test]
    fn the_first_row_that_matches_decides() {
        let decoder = of_6_1();
        for (word, text) in [
            (0xe58d_1004, "str r1, [sp, #4]"),
            (0xe52d_e004, "push {lr}"),
            (0xe58f_1004, "str r1, [pc, #4]"),
            (0xeb00_0000, "bl"),
            (0xe702_f113, "smuad r2, r3, r1"),
            (0xe752_f113, "smmul r2, r3, r1"),
        ] {
            assert!(!decoder.refuses(Instruction(word)), "{text}");
        }
        for (word, text) in [
            (0xe4a0_1004, "strt r1, [r0], #4"),
            (0xe58f_1004 | 1 << 21, "str r1, [pc, #4]!"),
            (0xe50d_1044, "str r1, [sp, #-68]"),
            (0xe702_f11f, "smuad r2, pc, r1"),
            (0xe702_1113, "smlad: no row of that table"),
            (0xee00_0000, "mcr: no row at all"),
        ] {
            assert!(decoder.refuses(Instruction(word)), "{text}");
        }
    }

    #[test]
    fn tables_that_lead_nowhere_are_none() {
        assert_eq!(decoder(&[&[&[1, 0xf, 0, 4000], &[0]]]), None, "a table outside of the data");
        assert_eq!(decoder(&[&[&[7, 0xf, 0, 0], &[0]]]), None, "an unknown type");
        assert_eq!(decoder(&[&[&[REJECT, 0xf, 0x10], &[0]]]), None, "a value outside of its mask");
        assert_eq!(decoder(&[&[&[REJECT, 0xf, 0]]]), None, "without end");
        assert_eq!(decoder(&[&[&[1, 0xf, 0, 0], &[0]]]), None, "a table that leads to itself");
    }
}
