//! The variable locations that SystemTap supports: the operations that `loc2stap.cxx` translates.
use crate::query::value::dwarf_expr;
use crate::tapset::Version;
use probeidx_format::View;
use probeidx_format::details::Location;
use probeidx_format::expr::Expr;
use probeidx_format::id::PlaceId;

/// Why SystemTap cannot read a variable that has a location at an address of a placement; `None` if it can. `later` is
/// another address whose location counts.
pub(super) fn refusal(
    view: &View<'_>,
    place: PlaceId,
    location: Location<'_>,
    pc: u32,
    later: Option<u32>,
) -> Option<&'static str> {
    let there = |pc: u32| location.at(pc).filter(|expr| !expr.is_empty());
    let expr = there(pc).or_else(|| there(later?))?;
    match expr {
        // Up to DWARF 4 it is `DW_OP_GNU_entry_value`, which 4.8 resolves at the calls; it does not know that of DWARF
        // 5.
        Expr::EntryValue(_) => {
            let dwarf = view.units.get(view.unit_of_place(place).index()).map_or(5, |u| u.version.get());
            (dwarf >= 5 && Version::of(view) < Version::ENTRY_VALUES).then_some(ENTRY_VALUE)
        }
        Expr::Verbatim(operations) => of_operations(&operations.to_vec(), Version::of(view)),
        _ => None,
    }
}

/// Whether a variable is in memory at an address of a placement, or at `later` if nowhere there. Of operations that is assumed.
pub(super) fn is_in_memory(location: Location<'_>, pc: u32, later: Option<u32>) -> bool {
    let there = |pc: u32| location.at(pc).filter(|expr| !expr.is_empty());
    let expr = there(pc).or_else(|| there(later?));
    matches!(expr, Some(Expr::BasedOn(..) | Expr::Frame(_) | Expr::Memory(_) | Expr::Verbatim(_)))
}

const ENTRY_VALUE: &str = "it is what a register held at the entry, which SystemTap reads from 5.6 on";

fn of_operations(mut rest: &[u8], version: Version) -> Option<&'static str> {
    while let Some((&op, operands)) = rest.split_first() {
        match op {
            0x28 if version < Version::BRANCHES => return Some("its location has branches"),
            // Only those ahead are followed.
            0x28 | 0x2f if operands.get(1).is_some_and(|high| *high >= 0x80) => {
                return Some("its location has branches back");
            }
            0x18 | 0x95 => return Some("its location is in another address space"),
            0xa3 if version < Version::ENTRY_VALUES => return Some(ENTRY_VALUE),
            0x97 => return Some("its location depends on an object"),
            0x9d => return Some("it lies in parts of bytes"),
            0xa3 => {}
            // DWARF 5's implicit pointer, indexed addresses, and typed operations of DWARF 5 and earlier GNU ones.
            0xa0..=0xa2 | 0xa4..=0xa9 | 0xf4..=0xf9 => {
                return Some("SystemTap does not know its location");
            }
            _ => {}
        }
        rest = operands;
        if dwarf_expr::skip_operands(op, &mut rest).is_none() {
            return Some("SystemTap does not know its location");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_systemtap_does_not_know_are_found_behind_others() {
        let of_operations = |operations: &[u8]| super::of_operations(operations, Version::OLDEST);
        assert_eq!(of_operations(&[0x75, 0x10, 0x06, 0x23, 0x08, 0x9f]), None);
        assert_eq!(of_operations(&[0x75, 0x10, 0xa3, 1, 0x55, 0x22, 0x9f]), Some(ENTRY_VALUE));
        // An operand that looks like an operation is not one.
        assert_eq!(of_operations(&[0x08, 0xa3, 0x9f]), None);
        assert!(of_operations(&[0x55, 0xa8, 0x00]).is_some());
    }

    #[test]
    fn later_versions_read_more() {
        let at_entry = [0x75, 0x10, 0xa3, 1, 0x55, 0x22, 0x9f];
        assert_eq!(of_operations(&at_entry, Version(5, 5)), Some(ENTRY_VALUE));
        assert_eq!(of_operations(&at_entry, Version::ENTRY_VALUES), None);
        let (ahead, back) = ([0x30, 0x28, 1, 0, 0x31, 0x9f], [0x30, 0x28, 0xfb, 0xff, 0x9f]);
        assert!(
            of_operations(&ahead, Version(5, 0)).is_some()
                && of_operations(&ahead, Version::BRANCHES).is_none()
        );
        assert!(of_operations(&back, Version::BRANCHES).is_some());
    }
}
