//! Where a variable is known that is not known at an address.
use super::{rows, symbols};
use probeidx_format::View;
use probeidx_format::details::{Location, Range};
use probeidx_format::expr::Expr;
use probeidx_format::id::{ObjectId, StrId};

/// The closest address at which a variable has a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub pc: u32,
    /// As a placement's.
    pub address: u64,
    /// The symbol that holds it, and the offset.
    pub symbol: Option<(String, u32)>,
    /// Of the source; only where it was asked for.
    pub line: Option<(String, u32)>,
}

/// The closest address, before or behind, from which on the variable has a location. With the line: reads the line rows
/// up to it.
pub fn nearest(
    view: &View<'_>,
    object: ObjectId,
    location: Location<'_>,
    pc: u32,
    with_line: bool,
) -> Option<Elsewhere> {
    let is_known = |(_, expr): &(Range, Expr<'_>)| !expr.is_empty() && !expr.is_uninitialized();
    let ranges: Vec<Range> = match location {
        Location::List(list) => list.filter(is_known).map(|(range, _)| range).collect(),
        Location::Within(range, expr) => {
            Some((range, expr)).filter(is_known).map(|(range, _)| range).into_iter().collect()
        }
        _ => return None,
    };
    let starts = ranges.into_iter().filter(|r| r.start < r.end).map(|r| r.start);
    let pc = starts.min_by_key(|start| (start.abs_diff(pc), *start < pc))?;
    let held = symbols::holding(view, object, pc);
    let text = |id: StrId| String::from_utf8_lossy(view.string(id)).into_owned();
    Some(Elsewhere {
        pc,
        address: symbols::address(view, object, pc),
        symbol: held.map(|h| (text(h.record.name), h.offset)),
        line: if with_line { rows::at(view, object, pc).map(|row| (text(row.file), row.line)) } else { None },
    })
}
