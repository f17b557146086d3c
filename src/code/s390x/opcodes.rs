//! Which instructions the kernel's own disassembler knows: those alone are probed (`is_known_insn`, called by
//! `probe_is_prohibited_opcode`). Its tables are data of the kernel, and grow with each processor; they are read where they lie.
//! (arch/s390/kernel/dis.c, arch/s390/tools/gen_opcode_table.c)
use super::Instruction;
use crate::link::Symbol;
use crate::load::elf::Elf;

/// Size of `struct s390_insn`: a name of five bytes, the fragment, the format.
const INSTRUCTION: usize = 7;
const FRAGMENT: usize = 5;
/// Size of `struct s390_opcode_offset`: first byte, mask, which byte has the fragment; where the instructions start and how many
/// there are, of two bytes each.
const GROUP: usize = 7;

/// The tables of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opcodes {
    /// What is left of each instruction by its group's mask.
    fragments: Vec<u8>,
    groups: Vec<Group>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    first: u8,
    mask: u8,
    /// Which byte of the instruction has the fragment.
    byte: usize,
    fragments: std::ops::Range<usize>,
}

impl Opcodes {
    /// Reads the tables of vmlinux; `None` where they are not there, or not such tables.
    pub fn of(object: &Elf<'_>, symbols: &[Symbol<'_>]) -> Option<Self> {
        let table = |name: &[u8], size: usize| {
            let mut of_name = symbols.iter().filter(|s| s.name == name && !s.is_function() && s.size > 0);
            let symbol = of_name.find(|s| (s.size as usize).is_multiple_of(size))?;
            let holds = |pc: u32, length: u64| pc <= symbol.pc && u64::from(symbol.pc - pc) < length;
            let section = object.sections.iter().find(|s| s.pc.is_some_and(|pc| holds(pc, s.size())))?;
            let start = (symbol.pc - section.pc?) as usize;
            section.raw().get(start..start.checked_add(symbol.size as usize)?)
        };
        let (instructions, groups) = (table(b"opcode", INSTRUCTION)?, table(b"opcode_offset", GROUP)?);
        let fragments: Vec<u8> = instructions.chunks_exact(INSTRUCTION).map(|i| i[FRAGMENT]).collect();
        let group = |bytes: &[u8]| {
            let half = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
            let (start, byte) = (half(3), usize::from(bytes[2]));
            let fragments = start..start + half(5);
            Some(Group { first: bytes[0], mask: bytes[1], byte, fragments }).filter(|group| {
                // Of an instruction that has less than six bytes the kernel looks at no more of them either.
                group.byte < 6 && group.fragments.end <= instructions.len() / INSTRUCTION
            })
        };
        let groups: Option<Vec<Group>> = groups.chunks_exact(GROUP).map(group).collect();
        Some(Self { fragments, groups: groups.filter(|groups| groups.len() > 1)? })
    }

    /// Whether the kernel knows an instruction (`find_insn`). The last group is that of all first bytes that have none.
    pub fn knows(&self, instruction: Instruction) -> bool {
        let bytes = instruction.bytes();
        let own = self.groups.iter().find(|g| g.first == bytes[0]).or(self.groups.last());
        own.is_some_and(|group| {
            let fragment = bytes[group.byte] & group.mask;
            self.fragments[group.fragments.clone()].contains(&fragment)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_known_by_first_byte_and_fragment() {
        // 01: by the second byte; c0: by its lower half; all others by the first byte.
        let group = |first, mask, byte, fragments| Group { first, mask, byte, fragments };
        let opcodes = Opcodes {
            fragments: vec![0x01, 0x02, 0x00, 0x04, 0x05, 0x07, 0x0d, 0xaf],
            groups: vec![group(0x01, 0xff, 1, 0..2), group(0xc0, 0x0f, 1, 2..5), group(0xff, 0xff, 0, 5..8)],
        };
        let knows = |bytes: &[u8]| opcodes.knows(Instruction::first(bytes).unwrap());
        assert!(knows(&[0x01, 0x02]) && !knows(&[0x01, 0x03]));
        assert!(knows(&[0xc0, 0xf4]) && !knows(&[0xc0, 0xf1]));
        assert!(knows(&[0x07, 0xfe]) && knows(&[0xaf, 0]) && !knows(&[0x08, 0]));
    }
}
