//! `members`, and what becomes of them over kernels: the rows of the types of one name.
use super::Kernel;
use crate::cell::Cell;
use crate::since::Facts;
use crate::sink::Tables;
use probeidx::Result;
use probeidx::cli::args::Table;
use probeidx::query::types::layout::{Aggregate, Body, Member, layout};
use probeidx::query::types::lookup;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::types::TypeKind;

/// The rows of a type in one kernel, if it has members.
///
/// # Errors
/// Those of writing.
pub fn rows<'a>(
    kernel: &Kernel<'a, '_>,
    type_id: TypeId,
    facts: &mut Facts,
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    let view = kernel.view;
    let Some(kind) = kind(view, type_id) else { return Ok(()) };
    let Some(laid_out) = layout(view, type_id) else { return Ok(()) };
    let Body::Members(all) = &laid_out.body else { return Ok(()) };
    let mut members = vec![];
    flat(view, "", all, &mut members);
    let named = &laid_out.named;
    if out.has(Table::Members) {
        for (path, member) in &members {
            let [file, member_type, offset, size, bit_first, bit_width] = described(named.file, member);
            let row = [
                Cell::from(kernel.label),
                Cell::Lasting(named.name),
                Cell::from(kind),
                file,
                Cell::line(named.line),
                Cell::Number(all.size as i64),
                Cell::Text(path.as_bytes()),
                member_type,
                offset,
                size,
                bit_first,
                bit_width,
            ];
            out.push(Table::Members, kernel.partition, &row)?;
        }
    }
    if out.has(Table::MembersSince) {
        let whole = |file| [Cell::Lasting(named.name), Cell::from(kind), file];
        let type_itself =
            [Cell::Null, Cell::Null, Cell::Null, Cell::Number(all.size as i64), Cell::Null, Cell::Null];
        let fact: Vec<_> = whole(Cell::lasting(named.file)).into_iter().chain(type_itself).collect();
        facts.add(kernel.number, &fact, None);
        for (path, member) in &members {
            let [file, rest @ ..] = described(named.file, member);
            let fact: Vec<_> =
                whole(file).into_iter().chain([Cell::Text(path.as_bytes())]).chain(rest).collect();
            facts.add(kernel.number, &fact, None);
        }
    }
    Ok(())
}

/// The kind of a type that has members of its own; `None` of others. A typedef has those of an unnamed struct.
fn kind(view: &View<'_>, type_id: TypeId) -> Option<&'static str> {
    let record = view.types.get(type_id.index())?;
    match lookup::kind(view, type_id)? {
        _ if lookup::is_declared(view, type_id) => None,
        TypeKind::Struct | TypeKind::Class => Some("struct"),
        TypeKind::Union => Some("union"),
        TypeKind::Typedef => {
            let target = record.target.some()?;
            let is_unnamed = view.types.get(target.index())?.name.get() == 0;
            (is_unnamed && lookup::kind(view, target)?.is_aggregate()).then_some("typedef")
        }
        _ => None,
    }
}

/// The members that can be accessed by name, with their paths.
fn flat<'m, 'a>(
    view: &View<'_>,
    before: &str,
    of: &'m Aggregate<'a>,
    found: &mut Vec<(String, &'m Member<'a>)>,
) {
    for member in &of.members {
        // Behind a pointer or in an array, there is no offset from the start of the type.
        let holds = |id: TypeId| lookup::strip(view, id).and_then(|id| lookup::kind(view, id));
        let is_direct = member.type_id.and_then(holds).is_some_and(TypeKind::is_aggregate);
        let within = member.within.as_ref().filter(|_| is_direct);
        let mut path = format!("{before}{}", String::from_utf8_lossy(member.name));
        if !member.name.is_empty() {
            found.push((path.clone(), member));
            path.push('.');
        }
        if let Some(within) = within {
            flat(view, &path, within, found);
        }
    }
}

/// File of the type; type, offset, size and bits of the member.
fn described<'a, 'c>(file: &'a [u8], member: &'c Member<'_>) -> [Cell<'a, 'c>; 6] {
    let bits = |bit: Option<u32>| bit.map_or(Cell::Null, Cell::from);
    [
        Cell::lasting(file),
        Cell::Text(member.spelled.as_bytes()),
        Cell::Number(member.offset as i64),
        Cell::Number(member.size as i64),
        bits(member.bits.map(|(first, _)| first)),
        bits(member.bits.map(|(_, width)| width)),
    ]
}
