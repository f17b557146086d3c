//! Which instructions uprobes refuse (x86-64): `uprobe_init_insn` and `branch_setup_xol_ops` of
//! arch/x86/kernel/uprobes.c, the same from 5.10 to 6.12. Newer kernels also accept no-ops with any prefix (seen on
//! 7.3). A program is indexed for all kernels, so what any of them refuses is refused.
use iced_x86::Instruction;

/// Whether the kernel refuses an instruction, given with its bytes. It checks the prefixes and the first opcode byte,
/// even after a VEX or EVEX prefix, where that byte means another instruction. What it then mistakes for a jump or
/// return is refused here too: the program would not survive it.
pub fn refuses(instruction: &Instruction, bytes: &[u8]) -> bool {
    if instruction.is_invalid() {
        return true;
    }
    let is_prefix = |b: &u8| matches!(b, 0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3) || SEGMENTS.contains(b);
    let prefixes = bytes.iter().take_while(|b| is_prefix(b)).count();
    let (prefixes, rest) = bytes.split_at(prefixes);
    if prefixes.iter().any(|p| matches!(p, 0x26 | 0x2e | 0x36 | 0x3e | 0xf0)) {
        return true;
    }
    let rest = if rest.first().is_some_and(|b| b & 0xf0 == 0x40) { &rest[1..] } else { rest };
    let opcode_at = match rest.first() {
        Some(0xc5) => 2,
        Some(0xc4) => 3,
        Some(0x62) => 4,
        _ => 0,
    };
    let Some(&opcode) = rest.get(opcode_at) else { return true };
    let next = rest.get(opcode_at + 1).copied().unwrap_or_default();
    let is_branch = matches!(opcode, 0x70..=0x7f | 0x90 | 0xe8 | 0xe9 | 0xeb);
    let is_special = match opcode_at {
        0 => {
            let loads_ss = opcode == 0x8e && next >> 3 & 7 == 2;
            let is_long_branch = opcode == 0x0f && matches!(next, 0x80..=0x8f);
            loads_ss || ((is_branch || is_long_branch) && prefixes.contains(&0x66))
        }
        _ => is_branch || matches!(opcode, 0x8e | 0x9d | 0xc2 | 0xc3 | 0xca | 0xcb | 0xff),
    };
    is_special || !is_good(opcode)
}

const SEGMENTS: [u8; 6] = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65];

/// `good_insns_64`.
fn is_good(opcode: u8) -> bool {
    !matches!(
        opcode,
        0x06 | 0x07
            | 0x0e
            | 0x16
            | 0x17
            | 0x1e
            | 0x1f
            | 0x27
            | 0x2f
            | 0x37
            | 0x3f
            | 0x60..=0x62
            | 0x6c..=0x6f
            | 0x82
            | 0x9a
            | 0xcc..=0xcf
            | 0xd4..=0xd6
            | 0xe4..=0xe7
            | 0xea
            | 0xec..=0xef
            | 0xf1
            | 0xf4
            | 0xfa
            | 0xfb
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn is_refused(bytes: &[u8]) -> bool {
        let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        assert_eq!(instruction.len(), bytes.len(), "{bytes:x?}");
        refuses(&instruction, bytes)
    }

    #[test]
    fn prefixes_and_opcodes_decide() {
        for (bytes, what) in [
            (&[0xf0, 0x0f, 0xb1, 0x0a][..], "lock cmpxchg"),
            (&[0x3e, 0xff, 0xe0], "notrack jmp"),
            (&[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], "cs nopw"),
            (&[0x66, 0x90], "xchg ax, ax"),
            (&[0xcc], "int3"),
            (&[0xf4], "hlt"),
            (&[0x8e, 0xd0], "mov ss, eax"),
            (&[0xc5, 0xfe, 0x6f, 0x06], "vmovdqu ymm0, [rsi]: 6f is outs"),
            (&[0x62, 0xf1, 0xfe, 0x28, 0x6f, 0x06], "vmovdqu64"),
            (&[0xc5, 0xfe, 0x7f, 0x07], "vmovdqu [rdi], ymm0: 7f is jg"),
            (&[0xc5, 0xfb, 0xc2, 0xc1, 1], "vcmpltsd: c2 is ret"),
        ] {
            assert!(is_refused(bytes), "{what}");
        }
        for (bytes, what) in [
            (&[0xf3, 0x0f, 0x1e, 0xfa][..], "endbr64"),
            (&[0x55], "push rbp"),
            (&[0x41, 0x57], "push r15"),
            (&[0x64, 0x48, 0x8b, 4, 0x25, 0x28, 0, 0, 0], "mov rax, fs:[0x28]"),
            (&[0x66, 0x0f, 0x6f, 0xc1], "movdqa"),
            (&[0xc5, 0xf5, 0xfe, 0xc2], "vpaddd ymm0, ymm1, ymm2"),
            (&[0x0f, 5], "syscall"),
            (&[0x8e, 0xd8], "mov ds, eax"),
            (&[0xe8, 0, 0, 0, 0], "call"),
            (&[0xff, 0x25, 0, 0, 0, 0], "jmp [rip]"),
        ] {
            assert!(!is_refused(bytes), "{what}");
        }
    }
}
