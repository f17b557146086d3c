//! The machine code of kernels and modules, from the files of this machine that belong to an index.
//!
//! Debug files are taken while they are there, for they are read at once; else the installed image and modules, which are
//! unpacked. A file counts only if its build id is that of the index.
use super::disassembly;
use super::place::Shown;
use crate::lines::{Lines, text};
use probeidx::discover::{self, Found, Sysroot};
use probeidx::load::Image;
use probeidx::load::elf::Elf;
use probeidx::query::index::symbols;
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::ObjectId;
use probeidx_format::record::ObjectRecord;
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// So many objects stay in memory: a kernel's code takes some 15 MB.
const KEPT: usize = 4;
/// The largest image or module that is unpacked; Debian's images have 8 MB, flat ones of arm64 up to 60.
const LARGEST_PACKED: u64 = 128 << 20;

/// The code of objects, each read once while it is kept.
#[derive(Default)]
pub struct Images(Mutex<Vec<Arc<Slot>>>);

/// An object by its build id, and its code once it is read; `None` if it is not on this machine.
struct Slot {
    build_id: [u8; 20],
    code: Mutex<Option<Option<Arc<MachineCode>>>>,
}

/// The executable sections of an object.
pub struct MachineCode {
    path: PathBuf,
    sections: Vec<Section>,
}

struct Section {
    name: String,
    /// 0 in a module.
    address: u64,
    bytes: Vec<u8>,
    /// What is put into the code when a module is loaded: the offset, and the symbol's name. Ascending.
    relocations: Vec<(u32, String)>,
}

impl Images {
    /// Writes bytes and text of each instruction, as far as they are on this machine. Cost: of the first question to a
    /// kernel up to seconds, to unpack it; then some microseconds for an instruction.
    pub fn write(&self, view: &View<'_>, shown: &Shown, out: &mut Lines) {
        let Some(record) = view.objects.get(shown.object.index()) else { return };
        let Some(code) = self.code(view, shown.object, record) else {
            let what = shown.module(view).map_or("kernel".to_owned(), |name| format!("module {name}"));
            return out.note(&format!(
                "the {what} with this build id is not on this machine: its instructions have no text"
            ));
        };
        out.item(&json!({ "from": code.path.to_string_lossy() }));
        if !shown.has_boundaries(view) {
            return;
        }
        let reader = disassembly::Disassembler::new(view.machine());
        for Range { start, end } in shown.instructions(view) {
            let Some((bytes, relocated)) = code.at(view, shown.object, Range { start, end }) else {
                continue;
            };
            let target = |address: u64| named(view, shown.object, start, address);
            let read = reader.as_ref().and_then(|reader| {
                let address = symbols::address(view, shown.object, start);
                reader.read(bytes, address, relocated, &target)
            });
            let hex = bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
            let mut item = json!({ "at": shown.offset(start), "bytes": hex });
            if let Some(read) = read {
                item["text"] = read.text.into();
                if let Some(address) = read.target {
                    let base = symbols::address(view, shown.object, shown.base);
                    item["target"] = (address.wrapping_sub(base) as i64).into();
                }
            }
            out.item(&item);
        }
        if reader.is_none() {
            out.note("instructions of this architecture are shown as bytes");
        }
    }

    fn code(&self, view: &View<'_>, object: ObjectId, record: &ObjectRecord) -> Option<Arc<MachineCode>> {
        let slot = self.slot(record.build_id);
        let mut code = slot.code.lock().unwrap_or_else(PoisonError::into_inner);
        code.get_or_insert_with(|| MachineCode::find(view, object, record).map(Arc::new)).clone()
    }

    fn slot(&self, build_id: [u8; 20]) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = slots.iter().position(|slot| slot.build_id == build_id);
        let slot =
            at.map_or_else(|| Arc::new(Slot { build_id, code: Mutex::default() }), |at| slots.remove(at));
        slots.push(Arc::clone(&slot));
        // What is not found is looked for again by the next question.
        let is_needed =
            |slot: &Arc<Slot>| slot.code.try_lock().map_or(true, |code| !matches!(*code, Some(None)));
        slots.retain(is_needed);
        let beyond = slots.len().saturating_sub(KEPT);
        slots.drain(..beyond);
        slot
    }
}

impl MachineCode {
    fn find(view: &View<'_>, object: ObjectId, record: &ObjectRecord) -> Option<Self> {
        if record.build_id == [0; 20] {
            return None;
        }
        let is_vmlinux = view.string(record.name).is_empty();
        let found = candidates(view, record, is_vmlinux, &mut |path| match Self::read(
            &path,
            &record.build_id,
            view,
            object,
        ) {
            Some(code) => ControlFlow::Break(code),
            None => ControlFlow::Continue(()),
        });
        found.break_value()
    }

    fn read(path: &Path, build_id: &[u8; 20], view: &View<'_>, object: ObjectId) -> Option<Self> {
        // Nothing else ends; and what is packed may become 64 times as large.
        let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let mut magic = [0; 4];
        File::open(path).ok()?.read_exact(&mut magic).ok()?;
        if magic != *b"\x7fELF" && found.len() > LARGEST_PACKED {
            return None;
        }
        let image = Image::open(path).ok()?;
        let elf = Elf::parse(image.bytes()).ok()?;
        let own = elf.build_id()?;
        let is_same = own.len() <= build_id.len()
            && build_id.starts_with(own)
            && build_id[own.len()..].iter().all(|byte| *byte == 0);
        if !is_same || !elf.has_some_code() || elf.machine != view.machine() {
            return None;
        }
        let is_module = elf.is_relocatable;
        let mut sections = vec![];
        for (number, section) in elf.sections.iter().enumerate() {
            if !section.is_executable() || !section.is_allocated() {
                continue;
            }
            sections.push(Section {
                name: section.name.to_owned(),
                address: if is_module { 0 } else { section.address() },
                bytes: section.data().ok()?.into_owned(),
                relocations: if is_module { relocations(&elf, number, view, object) } else { vec![] },
            });
        }
        image.unchanged(path).ok()?;
        Some(Self { path: path.to_owned(), sections })
    }

    /// The bytes of a range, and the symbol that is put into them.
    fn at(&self, view: &View<'_>, object: ObjectId, range: Range) -> Option<(&[u8], Option<&str>)> {
        let held = symbols::section(view, object, range.start)?;
        let address = symbols::address(view, object, range.start);
        let name = view.string(held.name);
        let length = (range.end - range.start) as usize;
        self.sections.iter().find_map(|section| {
            // A boot image has its sections under other names; a module has no addresses.
            if section.address == 0 && section.name.as_bytes() != name {
                return None;
            }
            let offset = usize::try_from(address.checked_sub(section.address)?).ok()?;
            let bytes = section.bytes.get(offset..offset.checked_add(length)?)?;
            let first = section.relocations.partition_point(|(at, _)| (*at as usize) < offset);
            let relocated = section.relocations.get(first).filter(|(at, _)| (*at as usize) < offset + length);
            Some((bytes, relocated.map(|(_, name)| name.as_str())))
        })
    }
}

/// The relocations of a module's section, with the symbols that they name.
fn relocations(elf: &Elf<'_>, number: usize, view: &View<'_>, object: ObjectId) -> Vec<(u32, String)> {
    let Ok(Some(all)) = elf.relocations(number) else { return vec![] };
    let mut named: Vec<(u32, String)> = all
        .iter()
        .filter_map(|relocation| {
            let offset = u32::try_from(relocation.r_offset.get(elf.order)).ok()?;
            let symbol = elf.symbols.get(relocation.r_sym(elf.order, false) as usize)?;
            let name = elf.symbol_name(symbol);
            let addend = relocation.r_addend.get(elf.order);
            if !name.is_empty() {
                return Some((offset, text(name)));
            }
            // A section's own symbol: what is meant is a symbol of the index, or a place in the section. x86 counts from
            // the end of the four bytes.
            let section = elf.sections.get(usize::from(symbol.st_shndx.get(elf.order).0))?;
            let ahead = if view.machine() == probeidx_format::machine::X86_64 { 4 } else { 0 };
            let place = addend.wrapping_add(ahead);
            let known =
                view.sections_of(object).iter().find(|s| view.string(s.name) == section.name.as_bytes());
            let pc = known.and_then(|known| known.pc.get().checked_add(u32::try_from(place).ok()?));
            let held = pc.and_then(|pc| symbols::holding(view, object, pc));
            Some((
                offset,
                held.map_or_else(|| format!("{}+{place:#x}", section.name), |held| spelled(view, held)),
            ))
        })
        .collect();
    named.sort_by_key(|(offset, _)| *offset);
    named
}

/// The symbol at an address, as code at `pc` counts addresses: in a module, those of its own section.
fn named(view: &View<'_>, object: ObjectId, pc: u32, address: u64) -> Option<String> {
    let away = address.wrapping_sub(symbols::address(view, object, pc));
    let pc = u32::try_from(i64::from(pc).checked_add(away as i64)?).ok()?;
    symbols::holding(view, object, pc).map(|held| spelled(view, held))
}

fn spelled(view: &View<'_>, held: symbols::Held) -> String {
    let name = text(view.string(held.record.name));
    if held.offset == 0 { name } else { format!("{name}+{:#x}", held.offset) }
}

/// Calls `each` with the files that may have the code of an object, those that are read at once first.
fn candidates<T>(
    view: &View<'_>,
    record: &ObjectRecord,
    is_vmlinux: bool,
    each: &mut dyn FnMut(PathBuf) -> ControlFlow<T>,
) -> ControlFlow<T> {
    let recorded = PathBuf::from(text(view.string(record.path)));
    if recorded.is_absolute() {
        each(recorded.clone())?;
    }
    let release = text(view.release());
    // A release is a folder's name below: that of a stranger's index may be a path.
    if !discover::is_release(&release) {
        return ControlFlow::Continue(());
    }
    if is_vmlinux {
        let places = discover::places(&Sysroot::default(), &release);
        for place in places.into_iter().filter(|place| place.found == Found::Something) {
            each(place.path)?;
        }
        return ControlFlow::Continue(());
    }
    let name = text(view.string(record.name));
    for tree in ["/usr/lib/debug/lib/modules", "/lib/modules"] {
        let tree = Path::new(tree).join(&release);
        // The paths of all modules, each with those that it needs (modules.dep(5)).
        let listed = std::fs::read_to_string(Path::new("/lib/modules").join(&release).join("modules.dep"));
        for line in listed.unwrap_or_default().lines() {
            let path = line.split(':').next().unwrap_or_default();
            let file = path.rsplit('/').next().unwrap_or_default();
            let stem = file.split(".ko").next().unwrap_or_default().replace('-', "_");
            if stem == name && !path.split('/').any(|part| part == "..") {
                each(tree.join(path))?;
            }
        }
    }
    ControlFlow::Continue(())
}
