//! Maps: those that BTF defines, those of old objects, and tables of functions for the kernel.
use crate::btf::Btf;
use crate::bytes::Bytes;
use crate::elf::{self, Elf};
use crate::error::{Error, Result, shown};
use crate::object::code::{self, Function, FunctionId};
use crate::types::{Kind, Member, TypeId, Types};
use rustc_hash::FxHashMap;

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// `BPF_MAP_TYPE_…`, by number (`include/uapi/linux/bpf.h`).
    pub kind: u32,
    /// In bytes.
    pub key_size: u32,
    /// In bytes.
    pub value_size: u32,
    /// 0 where the loader sets it.
    pub max_entries: u32,
    /// `BPF_F_…`.
    pub flags: u32,
    /// The type of keys.
    pub key_type: Option<TypeId>,
    /// The type of values.
    pub value_type: Option<TypeId>,
    /// Of a map of maps, what the inner ones are.
    pub inner: Option<Box<Map<'a>>>,
    /// How it is declared, and where.
    pub origin: MapOrigin,
}

/// How a map is declared: the number of its section, and the offset there in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapOrigin {
    /// In `.maps`, by a type.
    Btf {
        /// The number of the section.
        section: u32,
        /// In bytes.
        offset: u32,
    },
    /// In `maps`, by `struct bpf_map_def`: libbpf 1.x refuses the object.
    Legacy {
        /// The number of the section.
        section: u32,
        /// In bytes.
        offset: u32,
    },
}

/// A table of functions that the kernel calls (`.struct_ops`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructOps<'a> {
    /// The name of the variable.
    pub name: &'a [u8],
    /// The struct, in the object's BTF.
    pub type_id: TypeId,
    /// Whether libbpf creates it by default: `SEC("?.struct_ops")` says no.
    pub autocreate: bool,
    /// Whether it is attached by a link.
    pub is_link: bool,
    /// The members that are set to functions.
    pub functions: Vec<(&'a [u8], FunctionId)>,
}

/// All maps, in the order of `.maps`.
pub(super) fn maps<'a>(
    elf: &Elf<'a>,
    btf: Option<&Btf<'a>>,
    refused: &mut Vec<Error>,
) -> Result<Vec<Map<'a>>> {
    let mut found = Vec::new();
    if let Some(section) = elf.section(b"maps") {
        found = legacy(elf, section)?;
        let remedy = "declare the maps in .maps, as libbpf 1.0 wants it";
        refused.push(Error::refused("section maps", "libbpf 1.x does not take maps declared so", remedy));
    }
    let Some(section) = elf.section(b".maps") else { return Ok(found) };
    let list = btf.and_then(|btf| Some((btf, btf.find(Kind::DataSection, b".maps")?)));
    let Some((btf, list)) = list else {
        refused.push(Error::refused("section .maps", "there is no BTF for it", "compile with -g"));
        return Ok(found);
    };
    let symbols = elf.objects();
    for index in 0..btf.get(list).map_or(0, |list| list.count) {
        let Some(entry) = btf.variable(list, index) else { continue };
        let Some(variable) = btf.get(entry.type_id) else { continue };
        // BTF of clang has no offsets: libbpf fixes them by symbols (btf_fixup_datasec).
        let offset = symbols.get(&(section, variable.name)).map_or(entry.offset, |&value| value as u32);
        let origin = MapOrigin::Btf { section: section as u32, offset };
        let name = btf.string_of(entry.type_id);
        let definition = btf.resolve(variable.target).filter(|(_, found)| found.kind == Kind::Struct);
        let map = definition
            .ok_or("it is no struct")
            .and_then(|(id, _)| definition_of(btf, name, id, origin, true));
        match map {
            Ok(map) => found.push(map),
            Err(what) => {
                let remedy = "declare it with __uint, __type, __array of bpf_helpers.h";
                refused.push(Error::refused(format!("map {}", shown(name)), what, remedy));
            }
        }
    }
    Ok(found)
}

/// The map that a struct defines (`parse_btf_map_def`).
fn definition_of<'a>(
    btf: &Btf<'a>,
    name: &'a [u8],
    id: TypeId,
    origin: MapOrigin,
    is_outer: bool,
) -> std::result::Result<Map<'a>, &'static str> {
    let mut map = Map {
        name,
        kind: 0,
        key_size: 0,
        value_size: 0,
        max_entries: 0,
        flags: 0,
        key_type: None,
        value_type: None,
        inner: None,
        origin,
    };
    for index in 0..btf.get(id).map_or(0, |found| found.count) {
        let member = btf.member(id, index).ok_or("a member is damaged")?;
        match member.name {
            b"type" => map.kind = number(btf, member)?,
            b"max_entries" => map.max_entries = number(btf, member)?,
            b"map_flags" => map.flags = number(btf, member)?,
            b"key_size" => map.key_size = number(btf, member)?,
            b"value_size" => map.value_size = number(btf, member)?,
            b"key" => (map.key_type, map.key_size) = pointee(btf, member)?,
            b"value" => (map.value_type, map.value_size) = pointee(btf, member)?,
            b"values" if is_outer => {
                map.value_size = 4;
                let target = |id| btf.resolve(id).map(|(_, found)| found.target);
                let inner = target(member.type_id).and_then(target).and_then(|id| btf.resolve(id));
                if let Some((inner, found)) = inner
                    && found.kind == Kind::Struct
                {
                    map.inner = Some(Box::new(definition_of(btf, name, inner, origin, false)?));
                }
            }
            b"values" => return Err("maps of maps of maps are not supported"),
            b"numa_node" | b"pinning" | b"map_extra" => {}
            _ => return Err("a member that libbpf does not know"),
        }
    }
    if map.kind == 0 { Err("its type is not specified") } else { Ok(map) }
}

/// `int (*name)[N]` is how `__uint(name, N)` says N.
fn number(btf: &Btf<'_>, member: Member<'_>) -> std::result::Result<u32, &'static str> {
    let pointer = btf.resolve(member.type_id).filter(|(_, found)| found.kind == Kind::Pointer);
    let array =
        pointer.and_then(|(_, pointer)| btf.get(pointer.target)).filter(|found| found.kind == Kind::Array);
    array.map(|array| array.count).ok_or("a number that is not declared with __uint")
}

/// The type and size that `__type(name, T)` says.
fn pointee(btf: &Btf<'_>, member: Member<'_>) -> std::result::Result<(Option<TypeId>, u32), &'static str> {
    let pointer = btf.get(member.type_id).filter(|found| found.kind == Kind::Pointer);
    let target = pointer.ok_or("a type that is not declared with __type")?.target;
    Ok((Some(target), btf.size_of(target).ok_or("a type without a size")?))
}

/// The maps of `struct bpf_map_def`: one a symbol.
fn legacy<'a>(elf: &Elf<'a>, section: usize) -> Result<Vec<Map<'a>>> {
    let data = Bytes::new(elf.sections[section].data, elf.order);
    let symbols = elf.symbols().filter(|symbol| {
        usize::from(symbol.section) == section && matches!(symbol.kind(), elf::STT_OBJECT | elf::STT_NOTYPE)
    });
    symbols
        .filter(|symbol| !symbol.name.is_empty())
        .map(|symbol| {
            let ends =
                || Error::truncated(format!("map {}", shown(symbol.name)), "it reaches past its section");
            let at = usize::try_from(symbol.value).map_err(|_| ends())?;
            let word = |n: usize| at.checked_add(n).and_then(|at| data.u32(at)).ok_or_else(ends);
            Ok(Map {
                name: symbol.name,
                kind: word(0)?,
                key_size: word(4)?,
                value_size: word(8)?,
                max_entries: word(12)?,
                // Older loaders knew no flags.
                flags: if symbol.size >= 20 { word(16)? } else { 0 },
                key_type: None,
                value_type: None,
                inner: None,
                origin: MapOrigin::Legacy { section: section as u32, offset: symbol.value as u32 },
            })
        })
        .collect()
}

/// The variables of `.struct_ops` and its like, with the functions that relocations put there.
pub(super) fn struct_ops<'a>(
    elf: &Elf<'a>,
    btf: Option<&Btf<'a>>,
    functions: &[Function<'a>],
) -> Vec<StructOps<'a>> {
    let mut found = Vec::new();
    let symbols = elf.objects();
    for (index, section) in elf.sections.iter().enumerate() {
        let name = section.name.strip_prefix(b"?").unwrap_or(section.name);
        let Some(btf) = btf.filter(|_| matches!(name, b".struct_ops" | b".struct_ops.link")) else {
            continue;
        };
        let Some(list) = btf.find(Kind::DataSection, section.name) else { continue };
        for entry in 0..btf.get(list).map_or(0, |list| list.count) {
            let Some(variable) =
                btf.variable(list, entry).and_then(|entry| btf.get(entry.type_id).map(|_| entry))
            else {
                continue;
            };
            let name = btf.string_of(variable.type_id);
            let target = btf.get(variable.type_id).map_or(TypeId::VOID, |found| found.target);
            let Some((type_id, _)) = btf.resolve(target).filter(|(_, found)| found.kind == Kind::Struct)
            else {
                continue;
            };
            let start = symbols.get(&(index, name)).copied().unwrap_or(variable.offset.into());
            if found.len() == MAX_STRUCT_OPS {
                break;
            }
            found.push(StructOps {
                name,
                type_id,
                autocreate: !section.name.starts_with(b"?"),
                is_link: section.name.ends_with(b".link"),
                functions: set_members(elf, btf, functions, index, start, type_id),
            });
        }
    }
    found
}

/// The most tables of functions that are read: each costs a pass over its section's relocations.
const MAX_STRUCT_OPS: usize = 256;

/// The members of a struct at `start` of a section that relocations set to functions.
fn set_members<'a>(
    elf: &Elf<'a>,
    btf: &Btf<'a>,
    functions: &[Function<'a>],
    section: usize,
    start: u64,
    type_id: TypeId,
) -> Vec<(&'a [u8], FunctionId)> {
    let Some(found) = btf.get(type_id) else { return Vec::new() };
    let by_offset: FxHashMap<u64, u32> = (0..found.count)
        .filter_map(|member| Some((u64::from(btf.member(type_id, member)?.bit_offset), member)))
        .collect();
    let tables = elf.sections.iter().filter(|s| s.kind == elf::SHT_REL && s.info as usize == section);
    let rels = tables.flat_map(|table| elf.rels(table));
    let end = start.saturating_add(found.size.into());
    rels.filter(|rel| (start..end).contains(&rel.offset))
        .filter_map(|rel| {
            let symbol = elf.symbol(rel.symbol)?;
            let member = *by_offset.get(&((rel.offset - start) * 8))?;
            let function = code::at(functions, symbol.section.into(), symbol.value / 8)?;
            Some((btf.part_name(type_id, member)?, function))
        })
        .collect()
}
