//! The layouts of the structs in the kernel's tables, from BTF.
use super::record::{Btf, Id, Kind};
use crate::dwarf::Fault;
use crate::shapes::{Shape, Shapes};

/// How deep anonymous structs may nest: the kernel has two levels.
const DEEPEST: u32 = 4;

/// The wanted structs. Cost: a walk over all records, two milliseconds for a kernel.
///
/// # Errors
/// An error in the header.
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

/// Adds the members of a struct at an offset, including those of anonymous structs and unions.
fn add_members<'d>(btf: &Btf<'d>, id: Id, start: u32, depth: u32, found: &mut Vec<(&'d [u8], u32)>) {
    let Some(record) = btf.record(id).filter(|r| matches!(r.kind, Kind::Struct | Kind::Union)) else {
        return;
    };
    for [name, target, bits] in record.rows() {
        // With bit-fields, the width is above the offset.
        let bits = if record.flag { bits & 0xff_ffff } else { bits };
        let Some(at) = start.checked_add(bits / 8) else { continue };
        match btf.string(name) {
            b"" if depth < DEEPEST => add_members(btf, Id(target), at, depth + 1, found),
            b"" => {}
            name => found.push((name, at)),
        }
    }
}
