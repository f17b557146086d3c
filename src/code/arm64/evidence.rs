//! Which rules an arm64 kernel has, from the masks in its code that classify instructions.
use super::instruction::{COPIES, exclusive_mask};
use super::{Instruction, LENGTH};
use crate::code::rules::{Evidence, code_of};
use crate::code::text::Text;
use crate::load::symbols::Symbol;

/// Reads `arm_kprobe_decode_insn` and its callees (arch/arm64/kernel/probes/decode-insn.c).
pub fn evidence(symbols: &[Symbol<'_>], text: &Text<'_>) -> Evidence {
    const DECODE: [&[u8]; 3] =
        [b"arm_kprobe_decode_insn", b"arm_probe_decode_insn", b"aarch64_insn_is_steppable"];
    let code = DECODE.iter().filter_map(|name| code_of(symbols, text, &[name]));
    let constants: Vec<u32> = code.flat_map(|(_, code)| constants(code)).collect();
    let has = |constant| constants.contains(&constant);
    let narrow = match (has(exclusive_mask(true)), has(exclusive_mask(false))) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    };
    // A missing mask proves nothing: the code may compute it in another way.
    let refuses_copies = has(COPIES.0).then_some(true);
    Evidence { has_narrow_exclusive: narrow, refuses_copies, ..Evidence::default() }
}

/// The constants that code computes: by `movz` and `movk`, or as the immediate of an `and`.
fn constants(code: &[u8]) -> Vec<u32> {
    let mut registers = [0u32; 32];
    let mut found = vec![];
    for bytes in code.chunks_exact(LENGTH as usize) {
        let Some(Instruction(word)) = Instruction::first(bytes) else { break };
        let register = (word & 0x1f) as usize;
        let (half, shift) = (word >> 5 & 0xffff, (word >> 21 & 3) * 16);
        match word & 0x7f80_0000 {
            // Larger shifts belong to 64-bit constants.
            0x5280_0000 if shift < 32 => registers[register] = half << shift,
            0x7280_0000 if shift < 32 => {
                registers[register] = registers[register] & !(0xffff << shift) | half << shift;
            }
            0x1200_0000 => {
                found.extend(immediate(word));
                continue;
            }
            _ => continue,
        }
        found.push(registers[register]);
    }
    found
}

/// The 32-bit immediate of a logical instruction: a rotated run of ones (`DecodeBitMasks`, Arm ARM).
fn immediate(word: u32) -> Option<u32> {
    let (is_wide, turned, ones) = (word >> 22 & 1 != 0, word >> 16 & 0x3f, (word >> 10 & 0x3f) + 1);
    // Only runs in 32-bit elements: masks of instructions have that form.
    let fits = !is_wide && turned < 32 && ones < 32;
    fits.then(|| ((1u32 << ones) - 1).rotate_right(turned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_found_however_they_are_made() {
        // 7.2: and w2, w2, #0x3fc00000
        let and = 0x120a_1c42u32;
        assert_eq!(constants(&and.to_le_bytes()), [0x3fc0_0000]);
        // mov w1, #0x3f400000; and mov w1, #0xc00; movk w1, #0x3b20, lsl #16
        let moved = [0x52a7_e801u32, 0x5281_8001, 0x72a7_6401];
        let code: Vec<u8> = moved.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(constants(&code), [0x3f40_0000, 0xc00, 0x3b20_0c00]);
    }
}
