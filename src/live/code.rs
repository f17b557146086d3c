//! Captures code that the kernel patched when it started, from its memory.
use super::{Instruction, Live, Patched};
use crate::code::running::{self, BEFORE, BEHIND};
use crate::code::{Evidence, Kernel};
use crate::load::kcore::Kcore;
use crate::shapes::Shapes;
use crate::version::version;
use probeidx_format::record::SiteKind;
use std::io::Error as Failed;
use std::ops::Range;
use std::path::Path;

/// A part of code that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The run-time address of the function that holds it.
    pub function: u64,
    /// The run-time addresses, which start with an instruction.
    pub addresses: Range<u64>,
}

/// Adds to a capture of the kernel whose files are below `root` the instructions of these parts of its code, which are ordered by
/// address. `machine` is its `e_machine`. Parts in which there are kprobes are left out: memory has their breakpoints and jumps. If
/// none can be read, that is listed as missing.
pub fn add(live: &mut Live, root: &Path, machine: u16, parts: &[Part]) {
    match read(&live.release, root, machine, parts) {
        Ok(code) => live.code = Some(code),
        Err(failed) => live.missing.push(("code".to_owned(), failed.to_string())),
    }
}

fn read(release: &str, root: &Path, machine: u16, parts: &[Part]) -> Result<Vec<Patched>, Failed> {
    let mut memory = Kcore::open(&root.join("proc/kcore"))?;
    let list = root.join("sys/kernel/debug/kprobes/list");
    let probes = std::fs::read_to_string(&list)
        .map_err(|failed| Failed::new(failed.kind(), format!("{}: {failed}", list.display())))?;
    let mut probes: Vec<u64> = probes
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_ascii_whitespace().next()?, 16).ok())
        .collect();
    probes.sort_unstable();
    let names = std::fs::read_to_string(root.join("proc/kallsyms"))?;
    let emulates = running::emulates(names.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)));
    let shapes = Shapes::default();
    let evidence = Evidence { emulates: Some(emulates), ..Evidence::default() };
    let kernel = Kernel { version: version(release), config: None, shapes: &shapes, evidence };
    let mut found = vec![];
    for Part { function, addresses } in parts {
        let first = probes.partition_point(|probe| *probe < addresses.start.saturating_sub(BEHIND));
        if probes.get(first).is_some_and(|probe| *probe < addresses.end) {
            continue;
        }
        let before = addresses.start.saturating_sub(*function).min(BEFORE);
        let length = addresses.end - addresses.start;
        let code = memory.read(addresses.start - before, (before + length + BEHIND) as usize);
        if (code.len() as u64) < before + length {
            continue;
        }
        let instructions = running::instructions(machine, &kernel, &code, before as usize, length as usize);
        let Some(instructions) = instructions else { continue };
        let instructions = instructions.into_iter().map(|(at, refused)| (at, instruction(refused))).collect();
        found.push(Patched { addresses: addresses.clone(), instructions });
    }
    Ok(found)
}

fn instruction(refused: Option<SiteKind>) -> Instruction {
    match refused {
        None => Instruction::Taken,
        Some(SiteKind::Trap) => Instruction::Trap,
        Some(_) => Instruction::Unsupported,
    }
}
