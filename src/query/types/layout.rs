//! The layout of a type: members with their places, holes, enumerators, and what a typedef names.
use super::c_declaration::declare;
use super::lookup;
use super::member::position;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::MemberRecord;
use probeidx_format::types::TypeKind;

/// A type and its layout.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    /// The requested type.
    pub named: Definition<'a>,
    /// The types that a typedef leads to, in order; the last is the one that is laid out.
    pub chain: Vec<Definition<'a>>,
    /// The size in bytes; `None` if it has none or is only declared.
    pub size: Option<u64>,
    /// Its members or enumerators, if it has any.
    pub body: Body<'a>,
}

/// A type, with its definition.
#[derive(Clone, Debug)]
pub struct Definition<'a> {
    /// Its number in the index.
    pub type_id: TypeId,
    /// The kind of type: struct, union, enum, typedef and so on.
    pub kind: TypeKind,
    /// The name; empty for an unnamed type.
    pub name: &'a [u8],
    /// The file as the debug information has it; may be empty.
    pub file: &'a [u8],
    /// From 1; 0 if unknown.
    pub line: u32,
    /// The type in C: `struct file`, `int (*)(void *)`; for a typedef, the type it names.
    pub spelled: String,
}

/// What a type consists of.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// The members of a struct or union.
    Members(Aggregate<'a>),
    /// The enumerators of an enum, with their values.
    Enumerators(Vec<(&'a [u8], i64)>),
    /// A struct, union or enum that is only declared.
    Declared,
    /// A number, pointer, array or function.
    Plain,
}

/// A struct or union.
#[derive(Clone, Debug)]
pub struct Aggregate<'a> {
    /// Struct or union.
    pub kind: TypeKind,
    /// The size in bytes.
    pub size: u64,
    /// The members, in the order of declaration.
    pub members: Vec<Member<'a>>,
    /// The holes between members, each before the member at this position.
    pub holes: Vec<(usize, Hole)>,
    /// The hole after the last member.
    pub padding: Option<Hole>,
}

/// A member. Its offset is from the start of the outermost struct.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The name; empty for an unnamed member.
    pub name: &'a [u8],
    /// The type; `None` if it is not described.
    pub type_id: Option<TypeId>,
    /// The declaration in C, with its name but without the width of a bit-field.
    pub declaration: String,
    /// The type in C.
    pub spelled: String,
    /// The offset in bytes; for a bit-field, that of the storage unit that holds it.
    pub offset: u64,
    /// The size of its type in bytes; 0 if unknown.
    pub size: u64,
    /// For a bit-field, its first bit in the storage unit, counted from the lowest bit or, on big-endian machines, from
    /// the highest; and its width.
    pub bits: Option<(u32, u32)>,
    /// The members of an unnamed struct or union, of an array of those, or of a pointer to one. After a pointer,
    /// offsets are from the address that it points to.
    pub within: Option<Aggregate<'a>>,
}

/// Bits that belong to no member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The offset in bytes from the start of the outermost struct.
    pub offset: u64,
    /// The first bit of that byte.
    pub bit: u32,
    /// The width in bits.
    pub width: u64,
}

impl Hole {
    fn between(start: u64, end: u64) -> Option<Self> {
        let width = end.checked_sub(start).filter(|w| *w > 0)?;
        Some(Self { offset: start / 8, bit: (start % 8) as u32, width })
    }
    /// The size in bytes, if it consists of whole bytes.
    pub fn bytes(&self) -> Option<u64> {
        (self.bit == 0 && self.width.is_multiple_of(8)).then_some(self.width / 8)
    }
}

/// Lays out a type. Cost: linear in its members.
pub fn layout<'a>(view: &View<'a>, type_id: TypeId) -> Option<Layout<'a>> {
    let mut chain = vec![];
    let mut at = Some(type_id);
    while let Some(definition) =
        at.filter(|_| chain.len() < lookup::DEEPEST as usize).and_then(|id| define(view, id))
    {
        at = match definition.kind {
            TypeKind::Typedef
            | TypeKind::Const
            | TypeKind::Volatile
            | TypeKind::Restrict
            | TypeKind::Atomic => view.types.at(definition.type_id.index()).target.some(),
            _ => None,
        };
        chain.push(definition);
    }
    let named = chain.first()?.clone();
    // The spelling of the preceding typedef includes the qualifiers.
    chain.retain(|d| {
        !matches!(d.kind, TypeKind::Const | TypeKind::Volatile | TypeKind::Restrict | TypeKind::Atomic)
    });
    let last = lookup::strip(view, type_id);
    let kind = last.and_then(|t| lookup::kind(view, t)).unwrap_or(TypeKind::Unspecified);
    let mut left = MOST_MEMBERS;
    let body = match last {
        Some(last) if lookup::is_declared(view, last) => Body::Declared,
        Some(last) if kind.is_aggregate() => Body::Members(aggregate(view, last, 0, 0, &mut left)),
        Some(last) if kind == TypeKind::Enum => Body::Enumerators(
            view.members(last).iter().map(|m| (view.string(m.name), m.value.get())).collect(),
        ),
        _ => Body::Plain,
    };
    Some(Layout {
        named,
        chain: chain.split_off(1.min(chain.len())),
        size: lookup::size_of(view, type_id),
        body,
    })
}

fn define<'a>(view: &View<'a>, type_id: TypeId) -> Option<Definition<'a>> {
    let kind = lookup::kind(view, type_id)?;
    let record = view.types.at(type_id.index());
    let spelled = match kind {
        TypeKind::Typedef => declare(view, record.target.some(), ""),
        _ => declare(view, Some(type_id), ""),
    };
    let (name, file) = (view.string(record.name), view.string(record.file));
    Some(Definition { type_id, kind, name, file, line: record.line.get(), spelled })
}

/// The limits on unnamed structs: the depth of nesting and the total number of members. Only damaged indexes exceed them.
const DEEPEST: u32 = 32;
const MOST_MEMBERS: usize = 1 << 16;

fn aggregate<'a>(view: &View<'a>, type_id: TypeId, base: u64, depth: u32, left: &mut usize) -> Aggregate<'a> {
    let kind = lookup::kind(view, type_id).unwrap_or(TypeKind::Struct);
    let size = lookup::size_of(view, type_id).unwrap_or(0);
    let mut members = vec![];
    for record in view.members(type_id) {
        let Some(fewer) = left.checked_sub(1) else { break };
        *left = fewer;
        members.push(member(view, record, base, depth, left));
    }
    let (holes, padding) = holes(kind, &members, base, size);
    Aggregate { kind, size, members, holes, padding }
}

fn member<'a>(view: &View<'a>, record: MemberRecord, base: u64, depth: u32, left: &mut usize) -> Member<'a> {
    let place = position(view, record);
    let offset = base.wrapping_add(place.offset);
    let type_id = record.target.some();
    let name = view.string(record.name);
    let inner = type_id.and_then(|t| unnamed(view, t)).filter(|_| depth < DEEPEST);
    Member {
        name,
        type_id,
        declaration: declare(view, type_id, &String::from_utf8_lossy(name)),
        spelled: declare(view, type_id, ""),
        offset,
        size: type_id.and_then(|t| lookup::size_of(view, t)).unwrap_or(0),
        bits: place.bits,
        within: inner.map(|(inner, pointed)| {
            let base = if pointed { 0 } else { offset };
            aggregate(view, inner, base, depth + 1, left)
        }),
    }
}

/// The unnamed struct or union that the type is, is an array of, or points to; and whether through a pointer.
fn unnamed(view: &View<'_>, type_id: TypeId) -> Option<(TypeId, bool)> {
    let (mut at, mut pointed) = (type_id, false);
    for _ in 0..DEEPEST {
        let record = view.types.get(at.index())?;
        match lookup::kind(view, at)? {
            kind if kind.is_aggregate() => return (record.name.get() == 0).then_some((at, pointed)),
            TypeKind::Pointer => pointed = true,
            TypeKind::Array | TypeKind::Const | TypeKind::Volatile => {}
            _ => return None,
        }
        at = record.target.some()?;
    }
    None
}

fn holes(kind: TypeKind, members: &[Member<'_>], base: u64, size: u64) -> (Vec<(usize, Hole)>, Option<Hole>) {
    let mut holes = vec![];
    let mut end = base.saturating_mul(8);
    for (at, member) in members.iter().enumerate() {
        let offset = member.offset.saturating_mul(8);
        let (start, width) = match member.bits {
            Some((bit, width)) => (offset.saturating_add(bit.into()), width.into()),
            None => (offset, member.size.saturating_mul(8)),
        };
        if kind != TypeKind::Union {
            holes.extend(Hole::between(end, start).map(|hole| (at, hole)));
        }
        end = end.max(start.saturating_add(width));
    }
    (holes, Hole::between(end, base.saturating_add(size).saturating_mul(8)))
}
