//! The running kernel as an object, for when neither its debug information nor its image is readable. BTF, build id
//! and symbol names are readable by everyone; addresses only by root, or if `kernel.kptr_restrict` is 0.
//!
//! They are put into an ELF object like a linked vmlinux without code, so that all other code can treat it as one:
//!
//! | section | content |
//! | --- | --- |
//! | `.text`, `.init.text` | true addresses and sizes; no bytes |
//! | `.BTF`, `.notes` | the bytes |
//! | `.symtab` | names, and addresses if they are known |
//! | tables, [`LISTED`] | for root, if its memory can be read: see `running`; symbols are in the latter, as lines of nm |
//! | [`NO_CODE`] | why its memory cannot be read |
//! | [`NAMES_ONLY`] | present if addresses are unknown: those of symbols then only give their order |
use super::elf::Elf;
use super::running;
use super::symbol_table::{ListedSymbol, lines};
use crate::error::Result;
use object::elf::{
    ELFDATA2LSB, ELFDATA2MSB, EM_AARCH64, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, ET_EXEC, Machine,
};
use object::{Endian, Endianness};
use rustc_hash::FxHashMap;
use std::path::Path;

/// Where the running kernel exposes its BTF.
pub const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The section that marks addresses of symbols as unknown.
pub const NAMES_ONLY: &str = ".probeidx.names_only";

/// The section with the symbols of a kernel whose code is from memory.
pub const LISTED: &str = ".probeidx.listed";

/// The section with the reason for which the memory of the kernel could not be read.
pub const NO_CODE: &str = ".probeidx.no_code";

/// The distance between symbols without addresses: more than the longest instruction.
const STEP: u64 = 16;

/// Where code without known addresses starts.
const NOWHERE: u64 = 0x10_0000;

/// Where x86-64 kernels are linked: `__START_KERNEL_map` and CONFIG_PHYSICAL_START, which is 16 MiB in all
/// distributions known. The KASLR offset is the distance from there. Kernels of other machines keep their run-time
/// addresses.
const LINKED_AT: u64 = 0xffff_ffff_8100_0000;

/// Whether bytes are bare BTF, not an object that contains it.
pub fn is_btf(head: &[u8]) -> bool {
    order_of_btf(head).is_some() && head.get(2) == Some(&1)
}

/// The byte order of BTF, from its magic.
pub fn order_of_btf(head: &[u8]) -> Option<Endianness> {
    match head {
        [0x9f, 0xeb, ..] => Some(Endianness::Little),
        [0xeb, 0x9f, ..] => Some(Endianness::Big),
        _ => None,
    }
}

/// The release of the running kernel, if the path is that of its BTF.
pub fn release(path: &Path) -> Option<String> {
    let is_own = path.canonicalize().is_ok_and(|path| path == Path::new(BTF));
    let text = is_own.then(|| std::fs::read_to_string("/proc/sys/kernel/osrelease").ok())??;
    Some(text.trim().to_owned()).filter(|release| !release.is_empty())
}

/// Wraps BTF into an object. The BTF of the running kernel gets its build id and symbols.
pub fn object(path: &Path, btf: &[u8]) -> Vec<u8> {
    let order = order_of_btf(btf).unwrap_or(Endianness::Little);
    if release(path).is_none() {
        // BTF does not name its machine: the most common one with this byte order is assumed.
        let machine = if order.is_big_endian() { EM_S390 } else { EM_X86_64 };
        return Object { btf, notes: &[], text: &[], machine, order, root: None }.to_elf();
    }
    let read = |path: &str| std::fs::read(path).unwrap_or_default();
    let (notes, text) = (read("/sys/kernel/notes"), read("/proc/kallsyms"));
    Object { btf, notes: &notes, text: &text, machine: own_machine(order), order, root: Some(Path::new("/")) }
        .to_elf()
}

/// The machine of the running kernel.
fn own_machine(order: Endianness) -> Machine {
    match (cfg!(target_arch = "x86_64"), order.is_big_endian()) {
        (true, _) => EM_X86_64,
        (false, true) => EM_S390,
        (false, false) if cfg!(target_arch = "riscv64") => EM_RISCV,
        (false, false) if cfg!(target_arch = "powerpc64") => EM_PPC64,
        (false, false) => EM_AARCH64,
    }
}

/// What the kernel exposes.
struct Object<'a> {
    btf: &'a [u8],
    notes: &'a [u8],
    /// `/proc/kallsyms`.
    text: &'a [u8],
    machine: Machine,
    order: Endianness,
    /// Where its memory and lists are.
    root: Option<&'a Path>,
}

impl Object<'_> {
    fn to_elf(&self) -> Vec<u8> {
        let mut symbols: Vec<ListedSymbol<'_>> = lines(self.text).collect();
        let is_hidden = symbols.iter().all(|s| s.address == 0);
        let running =
            self.root.filter(|_| self.machine == EM_X86_64).map(|root| running::read(root, &symbols));
        if let Some(Ok(running)) = &running {
            let bounds: FxHashMap<&[u8], u64> = running.bounds.iter().copied().collect();
            for symbol in &mut symbols {
                symbol.address = bounds.get(symbol.name).copied().unwrap_or(symbol.address);
            }
        }
        let address = |symbols: &[ListedSymbol<'_>], name: &[u8]| {
            symbols.iter().find(|s| s.name == name).map(|s| s.address)
        };
        let mut slide = 0;
        if is_hidden {
            symbols = code_of(symbols);
            (0..).zip(&mut symbols).for_each(|(n, s)| s.address = NOWHERE + STEP * n);
        } else if let Some(text) = address(&symbols, b"_text").filter(|_| self.machine == EM_X86_64) {
            slide = text.wrapping_sub(LINKED_AT);
            let moved = |s: &&mut ListedSymbol<'_>| !s.letter.eq_ignore_ascii_case(&b'a');
            symbols.iter_mut().filter(moved).for_each(|s| s.address = s.address.wrapping_sub(slide));
        }
        let area = |start: &[u8], end: &[u8]| {
            let start = address(&symbols, start)?;
            Some((start, address(&symbols, end)?.checked_sub(start)?))
        };
        let (code, init) = match is_hidden {
            true => (Some((NOWHERE, STEP * symbols.len() as u64)), None),
            false => (area(b"_stext", b"_etext"), area(b"_sinittext", b"_einittext")),
        };
        let mut writer = Writer::new(self.order);
        let memory = running.as_ref().and_then(|running| running.as_ref().ok());
        let freed = |size: u64| vec![running::FREED; size as usize];
        for (name, area) in [(".text", code), (".init.text", init)] {
            let Some((start, size)) = area else { continue };
            match memory {
                // Allocated and executable, without bytes.
                None => writer.section(name, 8, 6, start, size, &[]),
                Some(memory) if name == ".text" => writer.section(name, 1, 6, start, size, &memory.code),
                Some(_) => writer.section(name, 1, 6, start, size, &freed(size)),
            }
        }
        // Exit code of drivers, behind what is patched in, is freed too (arch/x86/kernel/vmlinux.lds.S).
        let exit = area(b"__alt_instructions", b"__smp_locks")
            .or_else(|| area(b"__alt_instructions", b"__init_end"));
        if let Some((start, size)) = exit.filter(|_| memory.is_some()) {
            writer.section(".exit.text", 1, 6, start, size, &freed(size));
        }
        for (name, start, bytes) in memory.iter().flat_map(|memory| &memory.tables) {
            let bytes = unmoved(name, bytes, slide);
            writer.section(name, 1, 2, start.wrapping_sub(slide), bytes.len() as u64, &bytes);
        }
        writer.section(".notes", 7, 2, 0, self.notes.len() as u64, self.notes);
        writer.section(".BTF", 1, 0, 0, self.btf.len() as u64, self.btf);
        if is_hidden {
            writer.section(NAMES_ONLY, 1, 0, 0, 0, &[]);
        }
        match &running {
            Some(Ok(_)) => {
                // Their sizes come from the code.
                let listed: Vec<u8> = symbols.iter().flat_map(ListedSymbol::to_line).collect();
                writer.section(LISTED, 1, 0, 0, listed.len() as u64, &listed);
                return writer.finish(self.machine, &[]);
            }
            Some(Err(why)) => writer.section(NO_CODE, 1, 0, 0, why.len() as u64, why.as_bytes()),
            None => {}
        }
        let bytes = writer.finish(self.machine, &[]);
        // Symbols are assigned to the sections of the object written so far.
        let table = Elf::parse(&bytes)
            .map(|object| super::symbol_table::SymbolTable::new(&object, symbols.iter().copied()));
        let Ok(mut table) = table else { return bytes };
        if !is_hidden {
            return writer.finish(self.machine, &[table.records_bytes(), table.names]);
        }
        for (_, _, number) in table.functions() {
            table.set_size(number, STEP);
        }
        writer.finish(self.machine, &[table.records_bytes(), table.names])
    }
}

/// The symbols of code, of a list in the order of addresses that has none. `T` are the variables of x86 since 6.14, too
/// ([`Section::is_of_code`](super::elf::Section::is_of_code)): they are not between the bounds of code.
fn code_of(symbols: Vec<ListedSymbol<'_>>) -> Vec<ListedSymbol<'_>> {
    let position = |name: &[u8]| symbols.iter().position(|s| s.name == name);
    let area = |start: &[u8], end: &[u8]| Some(position(start)?..=position(end)?);
    // `_text` and `_stext` have one address, and so any order.
    let core = area(b"_stext", b"_etext")
        .map(|area| *area.start().min(&position(b"_text").unwrap_or(usize::MAX))..=*area.end());
    let init = area(b"_sinittext", b"_einittext");
    let is_within = |n| core.is_none() || [&core, &init].into_iter().flatten().any(|area| area.contains(&n));
    let is_code = |s: &ListedSymbol<'_>| matches!(s.letter, b't' | b'T' | b'w' | b'W');
    (0..).zip(&symbols).filter(|(n, s)| is_code(s) && is_within(*n)).map(|(_, s)| *s).collect()
}

/// A table at link addresses: those that were made here have run-time addresses, all others distances.
fn unmoved(name: &str, bytes: &[u8], slide: u64) -> Vec<u8> {
    match name {
        "__mcount_loc" | "_kprobe_blacklist" => bytes
            .chunks_exact(8)
            .filter_map(|word| word.first_chunk())
            .flat_map(|word| u64::from_le_bytes(*word).wrapping_sub(slide).to_le_bytes())
            .collect(),
        _ => bytes.to_owned(),
    }
}

/// Writes an ELF object. (ELF-64, "Object file format".)
pub(crate) struct Writer {
    order: Endianness,
    names: Vec<u8>,
    data: Vec<u8>,
    headers: Vec<[u64; 8]>,
}

const HEADER: usize = 64;

impl Writer {
    pub fn new(order: Endianness) -> Self {
        Self { order, names: vec![], data: vec![], headers: vec![] }
    }

    pub fn section(&mut self, name: &str, kind: u64, flags: u64, address: u64, size: u64, bytes: &[u8]) {
        if self.headers.is_empty() {
            self.headers.push([0; 8]);
            self.names.push(0);
        }
        let offset = (HEADER + self.data.len()) as u64;
        self.headers.push([self.names.len() as u64, kind, flags, address, offset, size, 0, 0]);
        self.names.extend_from_slice(name.as_bytes());
        self.names.push(0);
        self.data.extend_from_slice(bytes);
        self.data.resize(self.data.len().next_multiple_of(8), 0);
    }

    /// The finished object, with a symbol table if `symbols` is not empty.
    pub fn finish(&self, machine: Machine, symbols: &[Vec<u8>]) -> Vec<u8> {
        let order = self.order;
        let (names, data, headers) = (self.names.clone(), self.data.clone(), self.headers.clone());
        let mut whole = Self { order, names, data, headers };
        if let [records, names] = symbols {
            let names_index = whole.headers.len() as u64 + 1;
            whole.section(".symtab", 2, 0, 0, records.len() as u64, records);
            if let Some(header) = whole.headers.last_mut() {
                (header[6], header[7]) = (names_index, 24);
            }
            whole.section(".strtab", 3, 0, 0, names.len() as u64, names);
        }
        let mut names = whole.names.clone();
        let own = names.len();
        names.extend_from_slice(b".shstrtab\0");
        let count = whole.headers.len() as u16 + 1;
        whole.section("", 3, 0, 0, names.len() as u64, &names);
        if let Some(header) = whole.headers.last_mut() {
            header[0] = own as u64;
        }
        let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        out[5] = if order.is_big_endian() { ELFDATA2MSB.0 } else { ELFDATA2LSB.0 };
        let put_halves = |out: &mut Vec<u8>, halves: &[u16]| {
            halves.iter().for_each(|half| out.extend(order.write_u16(*half)));
        };
        put_halves(&mut out, &[ET_EXEC.0, machine.0]);
        out.extend(order.write_u32(1));
        out.extend([0; 16]);
        out.extend(order.write_u64((HEADER + whole.data.len()) as u64));
        out.extend([0; 4]);
        put_halves(&mut out, &[HEADER as u16, 56, 0, 64, count, count - 1]);
        out.extend(&whole.data);
        for [name, kind, flags, address, offset, size, link, entry] in &whole.headers {
            out.extend([*name, *kind].iter().flat_map(|word| order.write_u32(*word as u32)));
            out.extend([*flags, *address, *offset, *size].iter().flat_map(|word| order.write_u64(*word)));
            out.extend([*link as u32, 0].iter().flat_map(|word| order.write_u32(*word)));
            out.extend([8, *entry].iter().flat_map(|word| order.write_u64(*word)));
        }
        out
    }
}

/// Reads a file whole: the kernel's own files cannot be mapped before 6.16.
///
/// # Errors
/// As for reading a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| crate::error::Error::io(path, "read", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object_of(text: &str) -> Vec<u8> {
        let btf = [&[0x9f, 0xeb, 1, 0, 24][..], &[0; 19]].concat();
        let order = Endianness::Little;
        Object { btf: &btf, notes: &[], text: text.as_bytes(), machine: EM_X86_64, order, root: None }
            .to_elf()
    }

    #[test]
    fn the_slide_is_taken_out() {
        let bytes = object_of(
            "0000000000000000 A fixed_percpu_data\nffffffffa3000000 T _stext\nffffffffa3000000 T _text\n\
             ffffffffa3000040 t do_open\nffffffffa3001000 T _etext\nffffffffc0000000 t ovl_x\t[overlay]\n",
        );
        let object = Elf::parse(&bytes).unwrap();
        assert!(
            object.section(NAMES_ONLY).is_none() && object.section(".BTF").is_some() && !object.has_code()
        );
        let symbols: Vec<_> =
            object.symbols.iter().map(|s| (object.symbol_name(s), s.st_value.get(object.order))).collect();
        assert!(symbols.contains(&(b"do_open", LINKED_AT + 0x40)), "{symbols:x?}");
        assert!(symbols.contains(&(b"fixed_percpu_data", 0)) && symbols.len() == 6);
        assert_eq!(
            (object.section(".text").unwrap().address(), object.section(".text").unwrap().size()),
            (LINKED_AT, 0x1000)
        );
    }

    #[test]
    fn without_addresses_there_are_names_in_order() {
        let bytes =
            object_of("0000000000000000 T _text\n0000000000000000 t do_open\n0000000000000000 d data\n");
        let object = Elf::parse(&bytes).unwrap();
        assert!(object.section(NAMES_ONLY).is_some());
        let names: Vec<_> = object.symbols.iter().map(|s| object.symbol_name(s)).collect();
        assert_eq!(names, [&b""[..], b"_text", b"do_open"]);
        assert!(Elf::parse(&object_of("")).is_ok_and(|o| o.symbols.len() < 2));
    }

    #[test]
    fn without_addresses_code_is_between_its_bounds() {
        let listed =
            ["A a", "T _text", "T _stext", "t do_open", "d data", "T _etext", "T init_task", "T _sinittext"];
        let listed = listed.iter().chain(&["t start", "T _einittext", "T __end"]);
        let text: String = listed.map(|line| format!("0000000000000000 {line}\n")).collect();
        let bytes = object_of(&text);
        let object = Elf::parse(&bytes).unwrap();
        let names: Vec<_> = object.symbols[1..].iter().map(|s| object.symbol_name(s)).collect();
        let code = [&b"_text"[..], b"_stext", b"do_open", b"_etext", b"_sinittext", b"start", b"_einittext"];
        assert_eq!(names, code);
    }
}
