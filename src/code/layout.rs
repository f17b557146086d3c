//! The offsets of the struct members that are read, from the kernel's own types.
use super::assumptions;
use crate::dwarf::facts::{Batch, NO_TYPE, TypeFacts};
use crate::dwarf::strings::LocalStr;
use crate::shapes::{Shape, Shapes};
use crate::version::Version;
use probeidx_format::types::TypeKind;

/// Layout of the tracepoint structs. Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `name` of `struct tracepoint`.
    pub tracepoint_name: u32,
    /// `None` if events cannot be read.
    pub event: Option<EventLayout>,
    /// `None` if those of system calls cannot be.
    pub system_call: Option<SystemCallLayout>,
    /// Whether the kernel's types do not say so: see [`Layout::assumed`].
    pub is_assumed: bool,
}

/// Layout of `struct syscall_metadata`, and the size of `struct trace_entry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCallLayout {
    pub name: u32,
    pub arguments: u32,
    /// Where it has pointers to the texts of types and names.
    pub types: u32,
    pub names: u32,
    /// Whether `nb_args` has seven bits, and fields are added when the kernel starts (`user_mask`, seen on 7.2).
    pub has_user_mask: bool,
    /// With which every record starts.
    pub first: u32,
}

/// Layout of the event structs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLayout {
    /// `class` and `tp` of `struct trace_event_call`.
    pub class: u32,
    pub tracepoint: u32,
    /// `system` of `struct trace_event_class`.
    pub system: u32,
    /// `fields_array` of the class, since 5.6; older kernels called a function.
    pub fields: Option<(u32, FieldLayout)>,
}

/// Layout of `struct trace_event_fields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// Distance from one to the next.
    pub stride: u32,
    pub type_name: u32,
    pub name: u32,
    pub size: u32,
    pub align: u32,
    pub is_signed: u32,
    /// The number of elements of an array: later than 5.10.
    pub length: Option<u32>,
    /// The size of `struct trace_entry`, with which every record starts.
    pub first: u32,
}

impl Layout {
    /// From the kernel's types; `None` without `struct tracepoint`.
    pub fn of(shapes: &Shapes) -> Option<Self> {
        let [tracepoint, call, class, field, entry] =
            ["tracepoint", "trace_event_call", "trace_event_class", "trace_event_fields", "trace_entry"]
                .map(|name| shapes.get(name));
        let offset = |of: Option<&Shape>, name: &str| of?.offset(name);
        let fields = || {
            let layout = FieldLayout {
                stride: field?.size,
                type_name: offset(field, "type")?,
                name: offset(field, "name")?,
                size: offset(field, "size")?,
                align: offset(field, "align")?,
                is_signed: offset(field, "is_signed")?,
                length: offset(field, "len"),
                first: entry?.size,
            };
            Some((offset(class, "fields_array")?, layout))
        };
        let event = || {
            Some(EventLayout {
                class: offset(call, "class")?,
                tracepoint: offset(call, "tp")?,
                system: offset(class, "system")?,
                fields: fields(),
            })
        };
        let metadata = shapes.get("syscall_metadata");
        let system_call = || {
            Some(SystemCallLayout {
                name: offset(metadata, "name")?,
                arguments: offset(metadata, "nb_args")?,
                types: offset(metadata, "types")?,
                names: offset(metadata, "args")?,
                has_user_mask: offset(metadata, "user_mask").is_some(),
                first: entry?.size,
            })
        };
        Some(Self {
            tracepoint_name: offset(tracepoint, "name")?,
            event: event(),
            system_call: system_call(),
            is_assumed: false,
        })
    }

    /// Where these members have always been, for a kernel without types, whose pointers have so many bytes. Whoever reads with it holds
    /// what it finds against symbols.
    pub fn assumed(word: u8, version: Option<Version>) -> Self {
        let word = u32::from(word);
        // `struct list_head`, then these. How records are laid out is not assumed.
        let event = EventLayout { class: 2 * word, tracepoint: 3 * word, system: 0, fields: None };
        let (number, count) = (4, 4);
        let types = word + number + count;
        let system_call = SystemCallLayout {
            name: 0,
            arguments: word + number,
            types,
            names: types + word,
            has_user_mask: false,
            first: 8,
        };
        let is_plain = version.is_some_and(|version| version < assumptions::COUNTS_PLAINLY);
        Self {
            tracepoint_name: 0,
            event: Some(event),
            system_call: Some(system_call).filter(|_| is_plain),
            is_assumed: true,
        }
    }
}

/// The wanted structs among the types in batches. Cost: a look at each type.
pub fn shapes<'b>(batches: impl Iterator<Item = &'b Batch>) -> Shapes {
    let mut found = Shapes::default();
    for batch in batches {
        for one in &batch.types {
            if one.kind != TypeKind::Struct || one.declared || one.known || one.name == LocalStr::EMPTY {
                continue;
            }
            if let Some(place) = Shapes::place(batch.strings.get(one.name)) {
                found.add(place, || {
                    let mut members = vec![];
                    add_members(batch, one, 0, 0, &mut members);
                    Shape::new(one.size, members)
                });
            }
        }
    }
    found
}

/// How deep anonymous structs may nest: the kernel has two levels.
const DEEPEST: u32 = 4;

/// Adds the members of a struct at an offset, including those of anonymous structs and unions.
fn add_members<'b>(
    batch: &'b Batch,
    of: &TypeFacts,
    start: u32,
    depth: u32,
    found: &mut Vec<(&'b [u8], u32)>,
) {
    let first = of.first_member as usize;
    for member in batch.members.get(first..first + of.members as usize).unwrap_or_default() {
        let at = u32::try_from((member.value as u64 & 0xffff_ffff_ffff) / 8);
        let Some(at) = at.ok().and_then(|at| at.checked_add(start)) else { continue };
        if member.name != LocalStr::EMPTY {
            found.push((batch.strings.get(member.name), at));
        } else if member.target != NO_TYPE
            && depth < DEEPEST
            && let Some(inner) = batch.types.get(member.target as usize)
        {
            add_members(batch, inner, at, depth + 1, found);
        }
    }
}
