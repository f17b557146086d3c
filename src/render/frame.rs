//! Formats what is added to the frames of a log.
use super::address::{put_name, put_position};
use crate::query::symbolize::frames::{Level, Where};
use crate::query::symbolize::log::Role;

/// The largest number of places printed for a frame.
pub const MOST: usize = 4;

/// Appends the position of a frame: ` (file:line:column)`, preceded by the name of the function if it is inlined; for
/// an entire function, ` (declared at file:line)`. A frame with several possible places gets all of them. Appends
/// nothing if no line is known.
pub fn behind(role: Role, places: &[Where<'_>], out: &mut Vec<u8>) {
    if places.len() > MOST {
        return;
    }
    let positions: Option<Vec<_>> = places.iter().map(|at| position(role, at)).collect();
    let Some(positions) = positions.filter(|p| !p.is_empty()) else { return };
    if let (Role::Exact | Role::Return | Role::Unreliable, [place]) = (role, places)
        && place.chain.len() > 1
    {
        out.push(b' ');
        put_name(place.chain[0].function, out);
    }
    out.extend_from_slice(if role == Role::Function { b" (declared at " } else { b" (" });
    for (position, nth) in positions.iter().zip(0..) {
        if nth > 0 {
            out.extend_from_slice(b" or ");
        }
        put_position(position, out);
    }
    out.push(b')');
}

/// The line of a place, or of the declaration of its function.
fn position<'a>(role: Role, at: &Where<'a>) -> Option<Level<'a>> {
    let position = match role {
        Role::Function => at.chain.last().map(|level| {
            let (file, line) = level.declared;
            Level { file, line, column: 0, ..*level }
        }),
        Role::Exact | Role::Return | Role::Unreliable => at.chain.first().copied(),
    };
    position.filter(|level| level.line > 0)
}

/// Appends a line, preceded by a line break, for each function that the code of a frame is inlined into.
pub fn lines(at: &Where<'_>, out: &mut Vec<u8>) {
    if at.chain.first().is_none_or(|l| l.line == 0) {
        return;
    }
    for level in &at.chain[1..] {
        out.extend_from_slice(b"\n  inlined into ");
        put_name(level.function, out);
        if level.line > 0 {
            put_in_brackets(level, out);
        }
    }
}

fn put_in_brackets(level: &Level<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b" (");
    put_position(level, out);
    out.push(b')');
}
