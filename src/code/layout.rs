//! Where the kernel's structs about tracepoints have what is read of them, by the kernel's own types.
use crate::dwarf::facts::{Batch, NO_TYPE, TypeFacts};
use crate::dwarf::strings::LocalStr;
use probeidx_format::types::TypeKind;

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `name` of `struct tracepoint`.
    pub tracepoint_name: u32,
    /// Without, no events are known.
    pub event: Option<EventLayout>,
}

/// Of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLayout {
    /// `class` and `tp` of `struct trace_event_call`.
    pub class: u32,
    pub tracepoint: u32,
    /// `system` of `struct trace_event_class`.
    pub system: u32,
    /// `fields_array` of it, which 5.6 brought; those before called a function.
    pub fields: Option<(u32, FieldLayout)>,
}

/// Of `struct trace_event_fields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// From one to the next.
    pub stride: u32,
    pub type_name: u32,
    pub name: u32,
    pub size: u32,
    pub align: u32,
    pub is_signed: u32,
    /// How many elements an array has: later than 5.10.
    pub length: Option<u32>,
    /// The size of `struct trace_entry`, which every record starts with.
    pub first: u32,
}

impl Layout {
    /// Looks for the structs among the types of batches; `None` where there is no `struct tracepoint`. Cost: a look at each
    /// type.
    pub fn of<'b>(batches: impl Iterator<Item = &'b Batch> + Clone) -> Option<Self> {
        const NAMES: [&[u8]; 5] =
            [b"tracepoint", b"trace_event_call", b"trace_event_class", b"trace_event_fields", b"trace_entry"];
        let mut found: [Option<(&Batch, &TypeFacts)>; 5] = [None; 5];
        for batch in batches {
            for one in &batch.types {
                if one.kind != TypeKind::Struct || one.declared || one.known || one.name == LocalStr::EMPTY {
                    continue;
                }
                let name = batch.strings.get(one.name);
                if let Some(at) = NAMES.iter().position(|n| *n == name) {
                    found[at].get_or_insert((batch, one));
                }
            }
        }
        let [tracepoint, call, class, field, entry] = found;
        let offset = |of: Option<(&Batch, &TypeFacts)>, name: &str| {
            let (batch, of) = of?;
            offset(batch, of, name.as_bytes(), 0)
        };
        let fields = || {
            let layout = FieldLayout {
                stride: field?.1.size,
                type_name: offset(field, "type")?,
                name: offset(field, "name")?,
                size: offset(field, "size")?,
                align: offset(field, "align")?,
                is_signed: offset(field, "is_signed")?,
                length: offset(field, "len"),
                first: entry?.1.size,
            };
            Some((offset(class, "fields_array")?, layout)).filter(|_| layout.stride > 0)
        };
        let event = || {
            Some(EventLayout {
                class: offset(call, "class")?,
                tracepoint: offset(call, "tp")?,
                system: offset(class, "system")?,
                fields: fields(),
            })
        };
        Some(Self { tracepoint_name: offset(tracepoint, "name")?, event: event() })
    }
}

/// Anonymous structs within one another: the kernel's have two.
const DEEPEST: u32 = 4;

/// Where a struct has a member, anonymous structs and unions looked through.
fn offset(batch: &Batch, of: &TypeFacts, name: &[u8], depth: u32) -> Option<u32> {
    let first = of.first_member as usize;
    let members = batch.members.get(first..first + of.members as usize)?;
    members.iter().find_map(|member| {
        let at = (member.value as u64 & 0xffff_ffff_ffff) / 8;
        let within = match member.name {
            LocalStr::EMPTY if member.target != NO_TYPE && depth < DEEPEST => {
                offset(batch, batch.types.get(member.target as usize)?, name, depth + 1)?
            }
            known if batch.strings.get(known) == name => 0,
            _ => return None,
        };
        u32::try_from(at).ok()?.checked_add(within)
    })
}
