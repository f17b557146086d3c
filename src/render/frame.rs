//! What is added to the frames of a log.
use super::address::{put_name, put_position};
use crate::query::log::Role;
use crate::query::reverse::{Level, Where};

/// How many places a frame is said to be able to be.
pub const MOST: usize = 4;

/// Appends what is known of a frame: ` (file:line:column)`, with the name of the function before it where it is inlined;
/// ` (file:line:column or …)` of a frame that can be several places. Nothing where no line is known.
pub fn behind(role: Role, places: &[Where<'_>], out: &mut Vec<u8>) {
    let [place] = places else {
        let known = places.iter().all(|at| at.chain.first().is_some_and(|l| l.line > 0));
        if !known || places.is_empty() || places.len() > MOST {
            return;
        }
        for (at, place) in places.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b" (" } else { b" or " });
            put_position(&place.chain[0], out);
        }
        out.push(b')');
        return;
    };
    if role == Role::Function {
        let function = place.chain.last().map(|l| l.declared).filter(|(_, line)| *line > 0);
        if let Some((file, line)) = function {
            out.extend_from_slice(b" (declared at ");
            put_position(&Level { function: &[], file, line, column: 0, declared: (&[], 0) }, out);
            out.push(b')');
        }
        return;
    }
    let Some(innermost) = place.chain.first().filter(|l| l.line > 0) else { return };
    if place.chain.len() > 1 {
        out.push(b' ');
        put_name(innermost.function, out);
    }
    put_in_brackets(innermost, out);
}

/// Appends for each function that the code of a frame is inlined into a line of its own, with a line break before it.
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
