//! What a type is made of: members with their places, holes, enumerators, and what a typedef names.
use super::c_declaration::declare;
use super::lookup;
use super::member::position;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::MemberRecord;
use probeidx_format::types::TypeKind;

/// A type, laid out.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    /// The type that was asked for.
    pub named: Definition<'a>,
    /// What stands behind a typedef, one after another; the last is the type that is laid out.
    pub chain: Vec<Definition<'a>>,
    /// In bytes; `None` where it has none or is only declared.
    pub size: Option<u64>,
    /// Members, enumerators or neither.
    pub body: Body<'a>,
}

/// A type, and where it is defined.
#[derive(Clone, Debug)]
pub struct Definition<'a> {
    /// Its number in the index.
    pub type_id: TypeId,
    /// Struct, union, enum, typedef and so on.
    pub kind: TypeKind,
    /// Empty for a type without a name.
    pub name: &'a [u8],
    /// As the debug information has it; may be empty.
    pub file: &'a [u8],
    /// From 1; 0 where it is not known.
    pub line: u32,
    /// As C writes the type: `struct file`, `int (*)(void *)`; of a typedef what it names.
    pub spelled: String,
}

/// What a type consists of.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// Of a struct or union.
    Members(Aggregate<'a>),
    /// Of an enum, with their values.
    Enumerators(Vec<(&'a [u8], i64)>),
    /// A struct, union or enum of which only the name is known.
    Declared,
    /// A number, a pointer, an array, a function.
    Plain,
}

/// A struct or union.
#[derive(Clone, Debug)]
pub struct Aggregate<'a> {
    /// Struct or union.
    pub kind: TypeKind,
    /// In bytes.
    pub size: u64,
    /// In the order of their declaration.
    pub members: Vec<Member<'a>>,
    /// Between members, each before the member of this position.
    pub holes: Vec<(usize, Hole)>,
    /// Behind the last member.
    pub padding: Option<Hole>,
}

/// A member. Its place is counted from the start of the outermost struct.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Empty for an anonymous one.
    pub name: &'a [u8],
    /// Its type; none for one that is not described.
    pub type_id: Option<TypeId>,
    /// With its name, as C writes it, without the width of a bit-field.
    pub declaration: String,
    /// Its type, as C writes it.
    pub spelled: String,
    /// In bytes; of a bit-field, that of the number of its type that holds it.
    pub offset: u64,
    /// Of its type, in bytes; 0 where that is not known.
    pub size: u64,
    /// Of a bit-field: its first bit within that number, counted from the lowest one, on big-endian machines from the
    /// highest; and its width.
    pub bits: Option<(u32, u32)>,
    /// Of a struct or union without a name, an array of such or a pointer to it: what it is made of. Places behind a
    /// pointer are counted from where it points.
    pub within: Option<Aggregate<'a>>,
}

/// Bits that belong to no member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// In bytes from the start of the outermost struct.
    pub offset: u64,
    /// The first bit of that byte.
    pub bit: u32,
    /// In bits.
    pub width: u64,
}

impl Hole {
    fn between(start: u64, end: u64) -> Option<Self> {
        let width = end.checked_sub(start).filter(|w| *w > 0)?;
        Some(Self { offset: start / 8, bit: (start % 8) as u32, width })
    }
    /// In bytes, if it is whole ones.
    pub fn bytes(&self) -> Option<u64> {
        (self.bit == 0 && self.width.is_multiple_of(8)).then_some(self.width / 8)
    }
}

/// Lays out a type. Cost: its members.
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
            | TypeKind::Atomic => view.types[definition.type_id.index()].target.some(),
            _ => None,
        };
        chain.push(definition);
    }
    let named = chain.first()?.clone();
    // Qualifiers stand in what the typedef before them names.
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
    let record = &view.types[type_id.index()];
    let spelled = match kind {
        TypeKind::Typedef => declare(view, record.target.some(), ""),
        _ => declare(view, Some(type_id), ""),
    };
    let (name, file) = (view.string(record.name), view.string(record.file));
    Some(Definition { type_id, kind, name, file, line: record.line.get(), spelled })
}

/// Structs without a name that stand in one another are not deeper, and have together not more members, unless the index
/// is damaged.
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

fn member<'a>(view: &View<'a>, record: &MemberRecord, base: u64, depth: u32, left: &mut usize) -> Member<'a> {
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

/// The struct or union without a name that this is, of which it is an array or to which it points; and whether it does.
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
