//! The structs of the kernel's tables, from BTF.
use super::record::{Btf, Id, Kind};
use crate::dwarf::Fault;
use crate::shapes::{Shape, Shapes};

/// Anonymous structs within one another: the kernel's have two.
const DEEPEST: u32 = 4;

/// The structs that are asked for. Cost: a walk over all records, two milliseconds for those of a kernel.
///
/// # Errors
/// What is wrong with the header.
pub fn shapes(data: &[u8]) -> Result<Shapes, Fault> {
    let (btf, _) = Btf::parse(data, None)?;
    let mut found = Shapes::default();
    for id in btf.own() {
        let Some(record) = btf.record(id).filter(|r| r.kind == Kind::Struct) else { continue };
        if let Some(place) = Shapes::place(record.name) {
            found.add(place, || {
                let mut members = vec![];
                add_members(&btf, id, 0, 0, &mut members);
                Shape::new(record.word, members)
            });
        }
    }
    Ok(found)
}

/// Adds the members of a struct that starts at an offset, anonymous structs and unions looked through.
fn add_members<'d>(btf: &Btf<'d>, id: Id, start: u32, depth: u32, found: &mut Vec<(&'d [u8], u32)>) {
    let Some(record) = btf.record(id).filter(|r| matches!(r.kind, Kind::Struct | Kind::Union)) else {
        return;
    };
    for [name, target, bits] in record.rows() {
        // With bit-fields their width stands above the offset.
        let bits = if record.flag { bits & 0xff_ffff } else { bits };
        let Some(at) = start.checked_add(bits / 8) else { continue };
        match btf.string(name) {
            b"" if depth < DEEPEST => add_members(btf, Id(target), at, depth + 1, found),
            b"" => {}
            name => found.push((name, at)),
        }
    }
}
