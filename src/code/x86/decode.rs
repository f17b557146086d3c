//! Where instructions start (x86-64 and i386), by the kernel's own method: it decodes from the symbol that contains
//! an address (`can_probe`, arch/x86/kernel/kprobes/core.c).
use super::candidates::Candidates;
use crate::code::exits::{self, Exits, Target};
use crate::code::text::{CodeSection, Text};
use crate::code::{SiteFacts, extent, symbol_starts};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, OpKind, Register};
use object::Endianness;
use object::elf::Rela64;
use probeidx_format::record::{SiteKind, SymbolRecord};

/// The reason for which an instruction, given with its bytes, cannot be probed.
pub type Refuses = fn(&Instruction, &[u8]) -> Option<SiteKind>;

/// Decodes all code. Returns the start of each section and a bit for every byte, appends to `sites` instructions that
/// cannot be probed or may be in an unreadable table, and marks the symbols that return or jump to other functions.
pub fn decode(
    object: &Elf<'_>,
    text: &Text<'_>,
    symbols: &mut [Symbol<'_>],
    refuses: Refuses,
    candidates: &Candidates,
    sites: &mut Vec<SiteFacts>,
) -> Vec<(u32, Vec<u8>)> {
    let starts = symbol_starts(symbols);
    let exits = Exits::new(object, symbols);
    let mut marks: Vec<(u32, u16)> = vec![];
    let mut bits = vec![];
    for section in text.sections().iter().filter(|s| s.is_whole()) {
        let mut walk = Walk {
            section,
            bits: text.bits,
            relocations: object.relocations(section.index).ok().flatten().unwrap_or_default(),
            is_relocatable: object.is_relocatable,
            order: object.order,
            exits: &exits,
            refuses,
            candidates,
            boundaries: vec![0; section.pcs.len().div_ceil(8)],
            sites,
        };
        let first = starts.partition_point(|s| *s < section.pcs.start);
        for (at, &start) in
            starts.iter().enumerate().skip(first).take_while(|(_, s)| section.pcs.contains(*s))
        {
            let next = starts.get(at + 1).map_or(section.pcs.end, |next| (*next).min(section.pcs.end));
            let flags = walk.symbol(start, start + extent::of_symbol(symbols, start, next - start));
            marks.push((start, flags));
        }
        bits.push((section.pcs.start, walk.boundaries));
    }
    exits::mark(symbols, marks);
    bits
}

/// The instructions in the first `length` bytes of code, each with the reason for which it cannot be probed. Behind an invalid one
/// there are none: the kernel stops there too.
pub fn part(code: &[u8], length: usize, bits: u32, refuses: Refuses) -> Vec<(u32, Option<SiteKind>)> {
    let mut decoder = Decoder::new(bits, code, DecoderOptions::NO_INVALID_CHECK);
    let mut found = vec![];
    while decoder.position() < length && decoder.can_decode() {
        let start = decoder.position();
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        let bytes = code.get(start..decoder.position()).unwrap_or_default();
        found.push((start as u32, refuses(&instruction, bytes)));
    }
    found
}

struct Walk<'a, 'd> {
    section: &'a CodeSection<'d>,
    /// The processor's mode: 64 or 32.
    bits: u32,
    relocations: &'d [Rela64<Endianness>],
    is_relocatable: bool,
    order: Endianness,
    exits: &'a Exits<'a, 'd>,
    refuses: Refuses,
    candidates: &'a Candidates,
    boundaries: Vec<u8>,
    sites: &'a mut Vec<SiteFacts>,
}

impl Walk<'_, '_> {
    /// Decodes the code of a symbol; returns the flags for its exits.
    fn symbol(&mut self, start: u32, end: u32) -> u16 {
        let first = (start - self.section.pcs.start) as usize;
        // An instruction may reach into the next symbol: retpolines overlap one with another.
        let code = &self.section.bytes[first..];
        let mut decoder = Decoder::with_ip(self.bits, code, start.into(), DecoderOptions::NO_INVALID_CHECK);
        let mut instruction = Instruction::default();
        let mut flags = 0;
        let mut is_behind_lea = false;
        while decoder.position() < (end - start) as usize && decoder.can_decode() {
            let offset = first + decoder.position();
            decoder.decode_out(&mut instruction);
            // The kernel stops here too: nothing after it is a boundary.
            if instruction.is_invalid() {
                break;
            }
            self.boundaries[offset / 8] |= 1 << (offset % 8);
            let bytes = self.section.bytes.get(offset..first + decoder.position()).unwrap_or_default();
            let pc = self.section.pcs.start + offset as u32;
            if let Some(kind) = (self.refuses)(&instruction, bytes) {
                self.sites.push(SiteFacts { start: pc, length: 1, kind: kind as u8 });
            }
            if !self.candidates.is_empty() {
                self.candidates.add(&instruction, bytes, pc, is_behind_lea, self.sites);
                is_behind_lea = distance_of_lea(bytes).is_some();
            }
            let code = instruction.code();
            flags |= match code {
                Code::Retnq | Code::Retnq_imm16 | Code::Retnd | Code::Retnd_imm16 => SymbolRecord::RETURNS,
                Code::Jmp_rel8_64 | Code::Jmp_rel32_64 | Code::Jmp_rel8_32 | Code::Jmp_rel32_32 => {
                    let target = instruction.near_branch_target();
                    if (u64::from(start)..u64::from(end)).contains(&target)
                        && !self.is_relocated(code, offset)
                    {
                        0
                    } else {
                        self.exits.kind(self.target(offset, target), start)
                    }
                }
                _ => 0,
            };
        }
        flags
    }
    /// Whether the linker fills in the target of a jump: then its four bytes are zero, or on i386 the addend -4.
    fn is_relocated(&self, code: Code, offset: usize) -> bool {
        let filler: [u8; 4] = match code {
            Code::Jmp_rel32_64 => [0; 4],
            Code::Jmp_rel32_32 => (-4i32).to_le_bytes(),
            _ => return false,
        };
        self.section.bytes.get(offset + 1..offset + 5) == Some(&filler[..])
    }
    /// The target of a jump, after relocation.
    fn target(&self, offset: usize, plain: u64) -> Target {
        let at = self.relocations.partition_point(|r| r.r_offset.get(self.order) < offset as u64 + 1);
        match self.relocations.get(at).filter(|r| r.r_offset.get(self.order) == offset as u64 + 1) {
            Some(relocation) if self.is_relocatable => {
                let addend = relocation.r_addend.get(self.order).wrapping_add(4);
                Target::Symbol((relocation.r_info.get(self.order) >> 32) as usize, addend)
            }
            _ => Target::Pc(plain as u32),
        }
    }
}

/// The length of the first instruction, if it is a direct call or jump.
pub fn length_of_branch(code: &[u8], bits: u32) -> Option<u8> {
    let first = first(code, bits);
    is_near_branch(&first).then_some(first.len() as u8)
}

/// Whether an instruction is a direct call or jump.
pub fn is_near_branch(instruction: &Instruction) -> bool {
    matches!(instruction.op0_kind(), OpKind::NearBranch64 | OpKind::NearBranch32)
}

/// Whether the kernel can neither copy nor emulate the first instruction.
pub fn is_unsupported(code: &[u8], bits: u32) -> bool {
    let first = first(code, bits);
    first.is_invalid() || refuses(&first) || leaves_no_room(&first)
}

/// Whether the first instruction is undefined, as used for BUG and WARN.
pub fn is_undefined(code: &[u8], bits: u32) -> bool {
    is_undefined_code(first(code, bits).code())
}

/// Whether an instruction is undefined.
pub fn is_undefined_code(code: Code) -> bool {
    matches!(code, Code::Ud2 | Code::Ud0_r16_rm16 | Code::Ud0_r32_rm32 | Code::Ud0_r64_rm64)
        || matches!(code, Code::Ud1_r16_rm16 | Code::Ud1_r32_rm32 | Code::Ud1_r64_rm64)
}

/// Whether code at an address calls or jumps to a function.
pub fn calls(code: &[u8], pc: u32, function: u64, bits: u32) -> bool {
    Decoder::with_ip(bits, code, pc.into(), DecoderOptions::NONE)
        .iter()
        .any(|i| is_near_branch(&i) && i.near_branch_target() == function)
}

/// The addresses that code has as numbers, or relative to its own.
pub fn addresses(code: &[u8], pc: u32, base: u64, bits: u32) -> Vec<u32> {
    let mut found = vec![];
    for instruction in Decoder::with_ip(bits, code, pc.into(), DecoderOptions::NONE).iter() {
        for operand in 0..instruction.op_count() {
            match instruction.op_kind(operand) {
                OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64 => {
                    found.push(instruction.immediate(operand).wrapping_sub(base) as u32);
                }
                OpKind::Memory if instruction.is_ip_rel_memory_operand() => {
                    found.push(instruction.ip_rel_memory_address() as u32);
                }
                _ => {}
            }
        }
    }
    found
}

fn first(code: &[u8], bits: u32) -> Instruction {
    Decoder::new(bits, &code[..code.len().min(MAX_LENGTH)], DecoderOptions::NO_INVALID_CHECK).decode()
}

/// Instructions that `__copy_instruction` and `prepare_emulation` refuse (arch/x86/kernel/kprobes/core.c, 5.13 to
/// 6.12): far transfers, returns from interrupts, indirect transfers through memory, `vmcall` and similar, loads of
/// `%ss`, breakpoints.
fn refuses(instruction: &Instruction) -> bool {
    match instruction.code() {
        Code::Int3 | Code::Iretw | Code::Iretd | Code::Iretq => true,
        Code::Call_m1616 | Code::Call_m1632 | Code::Call_m1664 => true,
        Code::Jmp_m1616 | Code::Jmp_m1632 | Code::Jmp_m1664 => true,
        Code::Call_ptr1616 | Code::Call_ptr1632 | Code::Jmp_ptr1616 | Code::Jmp_ptr1632 => true,
        Code::Call_rm64 | Code::Jmp_rm64 | Code::Call_rm32 | Code::Jmp_rm32 => {
            instruction.op0_kind() == OpKind::Memory
        }
        _ if masks_exceptions(instruction) => true,
        Code::Enclv | Code::Vmcall | Code::Vmlaunch | Code::Vmresume | Code::Vmxoff | Code::Pconfig => true,
        _ => false,
    }
}

/// The length of the longest instruction, in bytes.
const MAX_LENGTH: usize = 15;

/// Instructions refused by kprobes that emulate.
pub fn refuses_to_emulate(instruction: &Instruction, _: &[u8]) -> Option<SiteKind> {
    match instruction.code() {
        _ if refuses(instruction) || leaves_no_room(instruction) => Some(SiteKind::Unsupported),
        code if is_trap(code) => Some(SiteKind::Trap),
        _ => None,
    }
}

/// Whether an instruction fills the buffer of its copy (`MAX_INSN_SIZE`), which then has no room for the breakpoint
/// behind it (`prepare_singlestep`, arch/x86/kernel/kprobes/core.c, since 5.13). LLVM writes no-ops of that length.
fn leaves_no_room(instruction: &Instruction) -> bool {
    instruction.len() >= MAX_LENGTH
}

/// Instructions refused by kprobes that step out of line: breakpoints, and those that mask exceptions
/// (`__copy_instruction`, arch/x86/kernel/kprobes/core.c, to 5.12; `insn_masking_exception`,
/// arch/x86/include/asm/insn.h).
pub fn refuses_to_step(instruction: &Instruction, _: &[u8]) -> Option<SiteKind> {
    match instruction.code() {
        Code::Int3 => Some(SiteKind::Unsupported),
        _ if masks_exceptions(instruction) => Some(SiteKind::Unsupported),
        code if is_trap(code) => Some(SiteKind::Trap),
        _ => None,
    }
}

/// Whether `insn_masking_exception` takes it for a load of `%ss`: moves, and `pop %ds`, which it mistakes for `pop
/// %ss` (`POP_SS_OPCODE`, arch/x86/include/asm/insn.h).
fn masks_exceptions(instruction: &Instruction) -> bool {
    match instruction.code() {
        Code::Mov_Sreg_r32m16 | Code::Mov_Sreg_r64m16 | Code::Mov_Sreg_rm16 => {
            instruction.op0_register() == Register::SS
        }
        Code::Popd_DS | Code::Popw_DS => true,
        _ => false,
    }
}

/// Traps that cannot be probed in kernels with that rule (`can_probe`, 6.9).
fn is_trap(code: Code) -> bool {
    matches!(code, Code::Int_imm8 | Code::Int1) || is_undefined_code(code)
}

/// The length of a static branch: a jump of 2 or 5 bytes, or a no-op of that length (`arch_jump_entry_size`).
pub fn length_of_label(code: &[u8]) -> Option<u8> {
    match code {
        [0xeb, ..] | [0x66, 0x90, ..] => Some(2),
        [0xe9, ..] | [0x0f, 0x1f, ..] => Some(5),
        // No-ops of 32-bit kernels: `mov %esi, %esi`, `lea %ds:0(%esi,%eiz,1), %esi` (arch/x86/include/asm/nops.h).
        [0x89, 0xf6, ..] => Some(2),
        [0x3e, 0x8d, 0x74, 0x26, 0, ..] => Some(5),
        _ => None,
    }
}

/// The length of `lea disp(%rip), %r64`.
pub const LEA: u32 = 7;

/// The displacement of the first instruction, if it is such a `lea`.
pub fn distance_of_lea(code: &[u8]) -> Option<i32> {
    match code {
        [0x48 | 0x4c, 0x8d, modrm, rest @ ..] if modrm & 0xc7 == 0x05 => {
            rest.first_chunk().map(|distance| i32::from_le_bytes(*distance))
        }
        _ => None,
    }
}
