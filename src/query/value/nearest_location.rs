//! Finds the nearest address where a variable has a location.
use crate::query::index::{line_table, symbols};
use probeidx_format::View;
use probeidx_format::details::{Location, Range};
use probeidx_format::expr::Expr;
use probeidx_format::id::{ObjectId, StrId};

/// The nearest address at which a variable has a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// As a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// The address as a placement has it.
    pub address: u64,
    /// The symbol that holds it, and the offset from that symbol.
    pub symbol: Option<(String, u32)>,
    /// The source file and line, if requested.
    pub line: Option<(String, u32)>,
}

/// The nearest address, before or after, at which a location of the variable starts. With the line: reads the line rows
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
    Some(Elsewhere::at(view, object, pc, with_line))
}

/// An address where a parameter that is always kept in memory, as in unoptimized code, has been stored: after the
/// prologue. The second line row marks the end of the prologue (gdb's manual, "Set Breaks"; `resolve_prologue_endings`,
/// dwflpp.cxx of SystemTap). Cost: linear in the rows up to there.
pub fn behind_prologue(view: &View<'_>, object: ObjectId, entry: u32, with_line: bool) -> Option<Elsewhere> {
    let second = line_table::after(view, object, entry)?;
    Some(Elsewhere::at(view, object, second, with_line))
}

impl Elsewhere {
    fn at(view: &View<'_>, object: ObjectId, pc: u32, with_line: bool) -> Self {
        let held = symbols::holding(view, object, pc);
        let text = |id: StrId| String::from_utf8_lossy(view.string(id)).into_owned();
        let line = || line_table::at(view, object, pc).map(|row| (text(row.file), row.line));
        Self {
            pc,
            address: symbols::address(view, object, pc),
            symbol: held.map(|h| (text(h.record.name), h.offset)),
            line: if with_line { line() } else { None },
        }
    }
}
