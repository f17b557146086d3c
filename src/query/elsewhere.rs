//! Where a variable is known that is not known at an address.
use super::symbols;
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
        line: if with_line { line(view, object, pc).map(|(file, line)| (text(file), line)) } else { None },
    })
}

/// File and line of an address: those of the last row up to it. Cost: of the rows before it in its sequence.
pub fn line(view: &View<'_>, object: ObjectId, pc: u32) -> Option<(StrId, u32)> {
    let sequences = view.sequences_of(object);
    let after = sequences.partition_point(|s| s.start.get() <= pc);
    let sequence = sequences[..after].last().filter(|s| pc < s.end.get())?;
    let row = view.rows(sequence).take_while(|row| row.pc <= pc).last()?;
    Some((view.unit_file(sequence.unit, row.position.file), row.position.line))
}
