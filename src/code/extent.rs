//! Measures functions whose symbols have no size: they extend to the padding before the next one.
use super::text::{CodeSection, Text};
use crate::load::elf::Elf;
use crate::load::symbol_table::SymbolTable;
use crate::load::symbols::Symbol;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction};
use object::elf::{EM_AARCH64, EM_X86_64};
use rayon::prelude::*;

/// Functions are measured up to this size; no kernel has a larger one.
const LARGEST: usize = 1 << 20;

/// Sets the sizes of the functions in a table. Cost: all code is decoded once, on all threads.
///
/// Padding is what compilers and linkers insert after an instruction that does not continue: any number of `int3` and
/// of `nop` of all lengths. With CONFIG_MITIGATION_SLS (5.17 and later), an `int3` right after a return or jump
/// belongs to the function. That cannot be distinguished; the difference is one byte, at which no probe can be. Nor
/// can a function without a symbol, such as a weak one that lost, be separated from the one before it: Debian's
/// 6.1.0-56 has 110, in 0.1 % of its code.
pub fn measure(object: &Elf<'_>, table: &mut SymbolTable) {
    let text = Text::new(object);
    let functions = table.functions();
    let addresses = table.addresses();
    let measured: Vec<(usize, u64)> = functions
        .par_iter()
        .with_min_len(1024)
        .filter_map(|&(section, address, number)| {
            let code = text.sections().iter().find(|s| s.index == usize::from(section))?;
            let start = address.checked_sub(object.sections[code.index].address())? as usize;
            let after = addresses.partition_point(|a| *a <= (section, address));
            let next = addresses.get(after).filter(|next| next.0 == section);
            let to_next = next.map(|next| (next.1 - address) as usize);
            let end = to_next.and_then(|length| start.checked_add(length)).unwrap_or(code.pcs.len());
            let size = match object.machine {
                machine if machine == EM_X86_64.0 => extent(code, start, end),
                machine if machine == EM_AARCH64.0 => extent_of_words(code, start, end),
                _ => end.saturating_sub(start),
            };
            Some((number, size as u64))
        })
        .collect();
    for (number, size) in measured {
        table.set_size(number, size);
    }
}

/// The length of a symbol's code: the size of the largest symbol at its address, else the distance to the next one.
/// What follows a function is padding, up to megabytes of it.
pub fn of_symbol(symbols: &[Symbol<'_>], start: u32, to_next: u32) -> u32 {
    const UNKNOWN: u32 = 1 << 16;
    let first = symbols.partition_point(|s| s.pc < start);
    let own = symbols[first..].iter().take_while(|s| s.pc == start && s.is_looked_up());
    match own.map(|s| s.size).max() {
        Some(size) if size > 0 => size.min(to_next),
        _ => to_next.min(UNKNOWN),
    }
}

/// The length of the function between two offsets of a section.
fn extent(section: &CodeSection<'_>, start: usize, end: usize) -> usize {
    let end = end.min(start.saturating_add(LARGEST));
    let Some(code) = section.bytes.get(start..end.min(section.bytes.len())) else {
        return end.saturating_sub(start);
    };
    let mut decoder = Decoder::with_ip(64, code, start as u64, DecoderOptions::NO_INVALID_CHECK);
    let mut instruction = Instruction::default();
    let mut used = 0;
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            return code.len();
        }
        if !is_padding(instruction.code()) {
            used = decoder.position();
        }
    }
    // A function may consist only of what looks like padding.
    if used == 0 { code.len() } else { used }
}

/// Like [`extent`], for arm64: padding is no-ops and zeros, including the no-ops before the next function.
fn extent_of_words(section: &CodeSection<'_>, start: usize, end: usize) -> usize {
    const PADDING: [[u8; 4]; 2] = [[0x1f, 0x20, 0x03, 0xd5], [0; 4]];
    let code = section.bytes.get(start..end.min(section.bytes.len())).unwrap_or_default();
    let words = code.chunks_exact(4);
    let used = words.clone().rposition(|word| !PADDING.iter().any(|padding| word == padding));
    used.map_or(end.saturating_sub(start), |last| (last + 1) * 4)
}

fn is_padding(code: Code) -> bool {
    matches!(
        code,
        Code::Nopd | Code::Nopw | Code::Nopq | Code::Nop_rm16 | Code::Nop_rm32 | Code::Nop_rm64 | Code::Int3
    )
}
