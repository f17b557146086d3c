//! The flow within a function: where jumps lead, and which registers are still read.
use crate::instruction::{Instruction, class};

/// What an instruction does to the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The one after it; that is two slots on for a 64-bit load.
    Through(usize),
    /// Always there.
    Jump(usize),
    /// There or on.
    Branch(usize),
    /// Anywhere that a table says.
    Indirect,
    /// Nowhere.
    Exit,
}

/// What the instruction at a slot does. A target outside of the function ends the flow: the verifier refuses it.
pub(super) fn next(code: &[Instruction], at: usize) -> Next {
    let instruction = code[at];
    let target = |distance: i64| {
        let to = usize::try_from(at as i64 + 1 + distance).ok();
        to.filter(|&to| to < code.len())
    };
    let off = i64::from(instruction.off);
    match (instruction.class(), instruction.code >> 4) {
        (class::JMP, 0x9) => Next::Exit,
        (class::JMP | class::JMP32, 0x8) => Next::Through(at + 1),
        (class::JMP, 0x0) if instruction.is_register_operand() => Next::Indirect,
        (class::JMP, 0x0) => target(off).map_or(Next::Exit, Next::Jump),
        // gotol: the distance is in imm.
        (class::JMP32, 0x0) => target(instruction.imm.into()).map_or(Next::Exit, Next::Jump),
        // may_goto and the like (0xe) go on or there.
        (class::JMP | class::JMP32, _) => target(off).map_or(Next::Through(at + 1), Next::Branch),
        _ if instruction.is_wide() => Next::Through(at + 2),
        _ => Next::Through(at + 1),
    }
}

/// Facts about the instructions of a function.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// The registers that are read before they are set, from each instruction on.
    live: Vec<u16>,
    /// Whether several ways lead to an instruction.
    is_joint: Vec<bool>,
}

impl Flow {
    /// Three passes or so, backwards, until nothing changes.
    pub(super) fn new(code: &[Instruction]) -> Self {
        let mut live = vec![0u16; code.len()];
        let mut is_joint = vec![false; code.len()];
        for at in 0..code.len() {
            if let Next::Jump(to) | Next::Branch(to) = next(code, at) {
                is_joint[to] = true;
            }
        }
        // Tables lead anywhere: everything is live then.
        let has_tables = (0..code.len()).any(|at| next(code, at) == Next::Indirect);
        if has_tables {
            return Self { live: vec![0x3ff; code.len()], is_joint: vec![true; code.len()] };
        }
        let mut changed = true;
        while changed {
            changed = false;
            for at in (0..code.len()).rev() {
                let of = |to: usize| live.get(to).copied().unwrap_or(0);
                let after = match next(code, at) {
                    Next::Through(to) | Next::Jump(to) => of(to),
                    Next::Branch(to) => of(to) | of(at + 1),
                    Next::Exit | Next::Indirect => 0,
                };
                let (read, written) = registers(code[at]);
                let before = read | after & !written;
                changed |= live[at] != before;
                live[at] = before;
            }
        }
        Self { live, is_joint }
    }

    pub(super) fn live(&self, at: usize) -> u16 {
        self.live.get(at).copied().unwrap_or(0)
    }

    pub(super) fn is_joint(&self, at: usize) -> bool {
        self.is_joint[at]
    }
}

/// The registers that an instruction reads and sets.
fn registers(instruction: Instruction) -> (u16, u16) {
    let (dst, src) = (1u16 << instruction.dst, 1u16 << instruction.src);
    let operation = instruction.code >> 4;
    match instruction.class() {
        class::ALU | class::ALU64 => {
            let operand = if instruction.is_register_operand() && operation != 0x8 { src } else { 0 };
            let first = if operation == 0xb { 0 } else { dst };
            (operand | first, dst)
        }
        class::JMP if operation == 0x9 => (1, 0),
        // Calls read what their arguments are, and r0 to r5 are gone.
        class::JMP if operation == 0x8 => (0x3e, 0x3f),
        class::JMP | class::JMP32 => (dst | if instruction.is_register_operand() { src } else { 0 }, 0),
        class::LDX => (src, dst),
        class::LD if instruction.is_wide() => (0, dst),
        // Loads from packets: of r6, by src, to r0; r1 to r5 are gone.
        class::LD => (1 << 6 | src, 0x3f),
        class::ST => (dst, 0),
        // Atomic ones may read r0, and set src.
        _ => (dst | src | 1, 0),
    }
}
