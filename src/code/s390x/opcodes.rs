//! Which instructions the kernel's own disassembler knows: only those can be probed (`is_known_insn`, called by
//! `probe_is_prohibited_opcode`). Its tables grow with each processor, so they are read from the kernel's data
//! (arch/s390/kernel/dis.c, arch/s390/tools/gen_opcode_table.c).
use super::Instruction;
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;

/// Size of `struct s390_insn`: a name of five bytes, the fragment, the format.
const INSTRUCTION: usize = 7;
const FRAGMENT: usize = 5;
/// Size of `struct s390_opcode_offset`: first byte, mask, position of the fragment, and two bytes each for start and
/// count of the instructions.
const GROUP: usize = 7;

/// The most groups: 6.12 has 22.
const MOST: usize = 40;

/// The tables of a kernel. Unused groups are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcodes {
    groups: [Group; MOST],
    count: usize,
}

/// The instructions of one group, with the same first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Group {
    first: u8,
    mask: u8,
    /// The position of the fragment in the instruction.
    byte: u8,
    /// A bit for each known fragment, which is the masked byte.
    fragments: [u64; 4],
}

impl Opcodes {
    /// Reads the tables of vmlinux; `None` if they are missing or invalid.
    pub fn of(object: &Elf<'_>, symbols: &[Symbol<'_>]) -> Option<Self> {
        let table = |name: &[u8], size: usize| {
            let mut of_name = symbols.iter().filter(|s| s.name == name && !s.is_function() && s.size > 0);
            let symbol = of_name.find(|s| (s.size as usize).is_multiple_of(size))?;
            let holds = |pc: u32, length: u64| pc <= symbol.pc && u64::from(symbol.pc - pc) < length;
            let section = object.sections.iter().find(|s| s.pc.is_some_and(|pc| holds(pc, s.size())))?;
            let start = (symbol.pc - section.pc?) as usize;
            section.raw().get(start..start.checked_add(symbol.size as usize)?)
        };
        let instructions: Vec<u8> =
            table(b"opcode", INSTRUCTION)?.chunks_exact(INSTRUCTION).map(|i| i[FRAGMENT]).collect();
        Self::from_tables(&instructions, table(b"opcode_offset", GROUP)?)
    }

    /// `fragments` has that of each instruction.
    fn from_tables(fragments: &[u8], table: &[u8]) -> Option<Self> {
        let count = table.len() / GROUP;
        let mut groups = [Group::default(); MOST];
        for (group, bytes) in
            groups.get_mut(..count).filter(|g| g.len() > 1)?.iter_mut().zip(table.chunks_exact(GROUP))
        {
            let half = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
            *group = Group { first: bytes[0], mask: bytes[1], byte: bytes[2], fragments: [0; 4] };
            let own = fragments.get(half(3)..half(3) + half(5)).filter(|_| group.byte < 6)?;
            own.iter().for_each(|f| group.fragments[usize::from(f / 64)] |= 1 << (f % 64));
        }
        Some(Self { groups, count })
    }

    /// Whether the kernel knows an instruction (`find_insn`). The last group is for first bytes without a group.
    pub fn knows(&self, instruction: Instruction) -> bool {
        let bytes = instruction.bytes();
        let groups = &self.groups[..self.count];
        let own = groups.iter().find(|g| g.first == bytes[0]).or(groups.last());
        own.is_some_and(|group| {
            let fragment = bytes[usize::from(group.byte)] & group.mask;
            group.fragments[usize::from(fragment / 64)] & 1 << (fragment % 64) != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_known_by_first_byte_and_fragment() {
        // 01: by the second byte; c0: by its lower half; all others by the first byte.
        let fragments = [0x01, 0x02, 0x00, 0x04, 0x05, 0x07, 0x0d, 0xaf];
        let table = [
            [0x01, 0xff, 1, 0, 0, 0, 2], //
            [0xc0, 0x0f, 1, 0, 2, 0, 3],
            [0xff, 0xff, 0, 0, 5, 0, 3],
        ];
        let opcodes = Opcodes::from_tables(&fragments, table.as_flattened()).unwrap();
        let knows = |bytes: &[u8]| opcodes.knows(Instruction::first(bytes).unwrap());
        assert!(knows(&[0x01, 0x02]) && !knows(&[0x01, 0x03]));
        assert!(knows(&[0xc0, 0xf4]) && !knows(&[0xc0, 0xf1]));
        assert!(knows(&[0x07, 0xfe]) && knows(&[0xaf, 0]) && !knows(&[0x08, 0]));
    }

    #[test]
    fn tables_that_lead_nowhere_are_none() {
        let beyond = [[0x01, 0xff, 1, 0, 0, 0, 9], [0xff, 0xff, 0, 0, 0, 0, 1]];
        assert_eq!(Opcodes::from_tables(&[1, 2], beyond.as_flattened()), None);
        assert_eq!(Opcodes::from_tables(&[1, 2], &[0; GROUP * (MOST + 1)]), None);
        assert_eq!(Opcodes::from_tables(&[1, 2], &[]), None);
    }
}
