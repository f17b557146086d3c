//! What the kernel's own tables name: code that it rewrites, keeps or may fault in; what stands near it; and what no table
//! names: trampolines, padding, and on arm64 instructions that work in pairs.
//!
//! The tables are read without their structs: of every word of one that may be an address of code, as such or as a distance
//! from where it stands, that is one. So a table that nobody foresaw is tried too.
use super::boot::Machine;
use super::sample::Place;
use crate::installed::{Architecture, Kernel};
use crate::sample::Random;
use probeidx::load::{Image, elf::Elf};
use probeidx::query::index::symbols;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::{SectionRecord, SymbolRecord};
use std::collections::{BTreeMap, HashMap};

/// By the name of the table or what it is, and of what: the entries that were chosen, and their neighbours.
pub type Kinds = BTreeMap<String, Vec<Place>>;

/// So many addresses that are asked for mean one entry of each kind, for vmlinux and the modules each.
const SHARE: usize = 40;

/// Of which that is so. Of other tables, which nothing here is known of, it is a tenth.
const FOREMOST: [&str; 17] = [
    "altinstructions",
    "bug_table",
    "call_sites",
    "ex_table",
    "exclusive loads and stores",
    "ibt_endbr_seal",
    "jump_table",
    "kcfi_traps",
    "longest no-ops",
    "mcount_loc",
    "padding",
    "parainstructions",
    "retpoline_sites",
    "return_sites",
    "smp_locks",
    "static_call_sites",
    "trampolines",
];

/// Of each kind as many as there are, up to a share of `count`. The first object is vmlinux.
pub fn places(
    kernel: &Kernel,
    view: &View<'_>,
    machine: &Machine,
    objects: &[ObjectId],
    count: Option<usize>,
    random: &mut Random,
) -> Kinds {
    let image = Image::open(&kernel.vmlinux).unwrap_or_else(|e| panic!("{e}"));
    let vmlinux = Elf::parse(image.bytes()).unwrap_or_else(|e| panic!("{e}"));
    let mut found = BTreeMap::<(String, bool), Vec<Place>>::new();
    for (kind, places) in of_vmlinux(&vmlinux, &Code::of(view, objects[0])) {
        found.entry((kind, false)).or_default().extend(places);
    }
    for object in &objects[1..] {
        let name = view.objects.get(object.index()).map_or(&[][..], |o| view.string(o.name));
        let file = std::str::from_utf8(name).ok().and_then(|name| machine.module(name));
        let Some(module) = file.and_then(|file| Elf::parse(file).ok()) else { continue };
        for (kind, place) in of_module(&module, &Code::of(view, *object)) {
            found.entry((kind, true)).or_default().push(place);
        }
    }
    for object in objects {
        let is_module = *object != objects[0];
        for (kind, place) in of_symbols(view, *object) {
            found.entry((kind.to_owned(), is_module)).or_default().push(place);
        }
    }
    let code = Code::of(view, objects[0]);
    let (kind, instructions) = match kernel.architecture {
        Architecture::Arm64 => ("exclusive loads and stores", exclusives(&vmlinux, &code)),
        _ => ("longest no-ops", longest_no_ops(&vmlinux, &code)),
    };
    found.insert((kind.to_owned(), false), instructions);
    let mut kinds = Kinds::new();
    for ((kind, is_module), mut places) in found {
        places.sort_unstable();
        places.dedup();
        let share = if FOREMOST.contains(&kind.as_str()) { SHARE } else { SHARE * 10 };
        let share = count.map_or(usize::MAX, |count| count.div_ceil(share));
        let chosen = random.choose(places, share);
        let with_neighbours = chosen.iter().flat_map(|place| {
            let near = near(view, *place, kernel.architecture, random);
            near.into_iter().chain([*place])
        });
        let label = format!("{kind} of {}", if is_module { "modules" } else { "vmlinux" });
        kinds.entry(label).or_default().extend(with_neighbours.collect::<Vec<_>>());
    }
    kinds
}

/// The code of an object that stays once the kernel runs.
struct Code<'a> {
    view: &'a View<'a>,
    object: ObjectId,
    sections: Vec<SectionRecord>,
}

impl<'a> Code<'a> {
    fn of(view: &'a View<'a>, object: ObjectId) -> Self {
        let stays = |s: &SectionRecord| {
            let name = view.string(s.name);
            let goes = [&b".init"[..], b".exit", b".altinstr"].iter().any(|goes| name.starts_with(goes));
            symbols::is_executable(*s) && !goes
        };
        Self { view, object, sections: view.sections_of(object).iter().filter(stays).collect() }
    }

    /// By its address in vmlinux.
    fn at(&self, address: u64) -> Option<Place> {
        let within = |s: &SectionRecord| address.checked_sub(s.address.get()).filter(|o| *o < s.size.get());
        self.sections.iter().find_map(|s| within(s).map(|offset| self.place(s, offset)))
    }

    fn in_section(&self, name: &str, offset: u64) -> Option<Place> {
        let is_it = |s: &&SectionRecord| self.view.string(s.name) == name.as_bytes() && offset < s.size.get();
        self.sections.iter().find(is_it).map(|s| self.place(s, offset))
    }

    fn place(&self, section: &SectionRecord, offset: u64) -> Place {
        Place { object: self.object, pc: section.pc.get() + offset as u32, is_inline: false }
    }
}

/// Sections that hold everything, not one table.
fn is_general(name: &str) -> bool {
    [".data", ".rodata", ".init", ".exit", ".bss", ".text", ".note", ".BTF", ".debug"]
        .iter()
        .any(|general| name.starts_with(general))
}

/// The tables of vmlinux are sections, or lie between two symbols.
fn of_vmlinux(object: &Elf<'_>, code: &Code<'_>) -> Vec<(String, Vec<Place>)> {
    /// A longer one is no table of code.
    const LONGEST: u64 = 16 << 20;
    let is_data = |address: u64| {
        object.sections.iter().any(|s| {
            s.is_allocated() && !s.is_executable() && (s.address()..s.address() + s.size()).contains(&address)
        })
    };
    let mut tables = BTreeMap::new();
    let named: HashMap<&[u8], u64> = object
        .symbols
        .iter()
        .map(|symbol| (object.symbol_name(symbol), symbol.st_value.get(object.order)))
        .collect();
    for (name, end) in &named {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let starts = match (name.strip_prefix("__stop_"), name.strip_suffix("_end")) {
            (Some(table), _) => [format!("__start_{table}"), format!("__start__{table}")],
            (None, Some(table)) => [table.to_owned(), format!("{table}_start")],
            _ => continue,
        };
        let start = starts.iter().find_map(|start| named.get(start.as_bytes()));
        let is_table = |start: &&u64| **start < *end && end - **start < LONGEST && is_data(**start);
        if let Some(start) = start.filter(is_table) {
            let table = name.trim_start_matches("__stop_").trim_end_matches("_end");
            tables.insert(*start, (table.trim_matches(['_', '.']).to_owned(), end - start));
        }
    }
    for section in
        object.sections.iter().filter(|s| s.is_allocated() && !s.is_executable() && !is_general(s.name))
    {
        let table = (section.name.trim_matches(['_', '.']).to_owned(), section.size());
        tables.insert(section.address(), table);
    }
    let mut found = vec![];
    for (start, (name, length)) in tables {
        let holding = object
            .sections
            .iter()
            .find(|s| start.checked_sub(s.address()).is_some_and(|o| o < s.size()) && s.is_allocated());
        let Some(bytes) = holding.and_then(|s| {
            let from = (start - s.address()) as usize;
            s.raw().get(from..from + length as usize)
        }) else {
            continue;
        };
        let mut places = vec![];
        for at in (0..bytes.len().saturating_sub(3)).step_by(4) {
            let distance = i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
            let relative = (start + at as u64).wrapping_add_signed(distance.into());
            places.extend(code.at(relative));
            let size = usize::from(object.address_size);
            if let Some(word) = bytes.get(at..at + size).filter(|_| at % size == 0) {
                let address = word.iter().rev().fold(0, |address, byte| address << 8 | u64::from(*byte));
                places.extend(code.at(address));
            }
        }
        found.push((name, places));
    }
    found
}

/// Those of a module are sections; the words are what is relocated in them.
fn of_module(object: &Elf<'_>, code: &Code<'_>) -> Vec<(String, Place)> {
    let mut found = vec![];
    for (index, section) in object.sections.iter().enumerate() {
        if !section.is_allocated() || section.is_executable() || is_general(section.name) {
            continue;
        }
        let order = object.order;
        for relocation in object.relocations(index).ok().flatten().unwrap_or_default() {
            let symbol = object.symbols.get((relocation.r_info.get(order) >> 32) as usize);
            let place = symbol.and_then(|symbol| {
                let to = object.sections.get(usize::from(symbol.st_shndx.get(order).0))?;
                let offset = symbol.st_value.get(order).wrapping_add_signed(relocation.r_addend.get(order));
                code.in_section(to.name, offset)
            });
            found.extend(place.map(|place| (section.name.trim_matches(['_', '.']).to_owned(), place)));
        }
    }
    found
}

/// Trampolines of static calls, and the padding behind functions.
fn of_symbols(view: &View<'_>, object: ObjectId) -> Vec<(&'static str, Place)> {
    let own = view.symbols.part(view.symbols_of(object));
    let place = |pc| Place { object, pc, is_inline: false };
    let mut found = vec![];
    for (i, symbol) in own.iter().enumerate().filter(|(_, s)| s.has(SymbolRecord::KEPT)) {
        let Some(section) = symbols::section(view, object, symbol.pc.get()) else { continue };
        if !symbols::is_executable(section) || view.string(section.name).starts_with(b".init") {
            continue;
        }
        if view.string(symbol.name).starts_with(b"__SCT__") {
            found.push(("trampolines", place(symbol.pc.get())));
        }
        let end = symbol.pc.get() + symbol.size.get();
        let next = own.from(i + 1).iter().find(|s| s.pc > symbol.pc).map(|s| s.pc.get());
        if symbol.size.get() > 0 && next.is_some_and(|next| next > end) {
            found.push(("padding", place(end)));
        }
    }
    found
}

/// No-ops of 15 bytes, the longest that there are. LLVM writes them between functions and, aligning a loop, within.
fn longest_no_ops(object: &Elf<'_>, code: &Code<'_>) -> Vec<Place> {
    const NO_OP: [u8; 15] = [0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    let sections = object.sections.iter().filter(|s| s.is_allocated() && s.is_executable());
    let found = sections.flat_map(|section| {
        let starts = section.raw().windows(NO_OP.len()).enumerate().filter(|(_, bytes)| *bytes == NO_OP);
        starts.filter_map(|(offset, _)| code.at(section.address() + offset as u64))
    });
    found.collect()
}

/// What arm64 takes for the start or end of an exclusive access, and the instructions that may lie between
/// (`is_probed_address_atomic`, arch/arm64/kernel/probes/decode-insn.c): any of LDXR, STXR, LDAR, STLR, CAS and their like.
fn exclusives(object: &Elf<'_>, code: &Code<'_>) -> Vec<Place> {
    let mut found = vec![];
    for section in object.sections.iter().filter(|s| s.is_allocated() && s.is_executable()) {
        for (i, word) in section.raw().chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().unwrap_or_default());
            if word & 0x3f00_0000 == 0x0800_0000 {
                found.extend(
                    [0, 1, 4, 31].iter().filter_map(|n| code.at(section.address() + (i as u64 + n) * 4)),
                );
            }
        }
    }
    found
}

/// The instructions before and behind a place, and any byte up to 16 from it; where they are aligned, a place further off
/// where one may start.
fn near(view: &View<'_>, place: Place, architecture: Architecture, random: &mut Random) -> Vec<Place> {
    let Some(section) = symbols::section(view, place.object, place.pc) else { return vec![] };
    let (start, size) = (section.pc.get(), section.size.get());
    let offset = i64::from(place.pc - start);
    let is_within = |at: &i64| (0..size as i64).contains(at);
    let starts =
        |at: &i64| is_within(at) && view.is_boundary(place.object, section, *at as u32) == Some(true);
    let before = (1..=15).map(|n| offset - n).find(starts);
    let behind = (1..=15).map(|n| offset + n).find(starts);
    let any = match architecture {
        Architecture::X86_64 | Architecture::I386 => offset + random.below(33) as i64 - 16,
        Architecture::S390x | Architecture::Riscv64 => offset + (random.below(65) as i64 - 32) * 2,
        Architecture::Arm | Architecture::Arm64 | Architecture::Powerpc64 => {
            offset + (random.below(65) as i64 - 32) * 4
        }
    };
    let found = before.into_iter().chain(behind).chain([any]).filter(is_within);
    found.map(|at| Place { pc: start + at as u32, ..place }).collect()
}
