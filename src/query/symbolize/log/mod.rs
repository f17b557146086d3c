//! Frames in the lines of a log: what the kernel (`%pS`, `%pB`), SystemTap, perf, drgn, crash, gdb and ftrace print.
mod frame_text;
mod header;
#[cfg(test)]
mod tests;

use crate::query::spec::address::{self, Address, Scope, Symbolic, hex, is_of_name, number};
use frame_text::Place;
pub use header::{Header, header};

/// An address in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'l> {
    /// The address as written in the line.
    pub address: Address<'l>,
    /// The text of the address, with its module.
    pub text: &'l [u8],
    /// The position in the line where the frame ends, and where symbolization is inserted.
    pub end: usize,
    /// The role of the address.
    pub role: Role,
    /// The address as a number, if the line has it along with the symbol.
    pub number: Option<u64>,
    /// The symbol that holds the number, if the line has no offset.
    pub symbol: Option<&'l [u8]>,
}

/// The role of an address in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The current instruction, or where a processor stopped.
    Exact,
    /// A return address: the call precedes it.
    Return,
    /// Something on the stack that looks like a return address (`?`).
    Unreliable,
    /// An entire function.
    Function,
}

/// The stack that the previous line belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stack {
    #[default]
    None,
    Kernel,
    SystemTap,
    Perf,
}

/// Reads a log line by line: the meaning of a frame depends on previous lines.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    stack: Stack,
    /// The last program counter printed, as symbol and offset.
    stopped_at: Vec<u8>,
}

/// The start of a line's text, after the prefixes of log daemons and the kernel: `<6>`, `… kernel: `, `[   12.345678]
/// `, `[  T123] `.
pub fn start(line: &[u8]) -> usize {
    const FAR: usize = 128;
    let mut at = 0;
    if line.first() == Some(&b'<') && line.get(2) == Some(&b'>') {
        at = 3;
    }
    let head = &line[at..line.len().min(FAR)];
    if head.first().is_some_and(|b| b.is_ascii_alphanumeric())
        && let Some(found) = memchr::memmem::find(head, b" kernel: ")
    {
        at += found + b" kernel: ".len();
    }
    for _ in 0..2 {
        let head = &line[at..line.len().min(at + FAR)];
        if head.first() != Some(&b'[') || head.get(1) == Some(&b'<') {
            break;
        }
        let Some(close) = memchr::memchr(b']', head) else { break };
        if !head[1..close].iter().any(u8::is_ascii_digit) {
            break;
        }
        at += close + 1;
        if line.get(at) == Some(&b' ') {
            at += 1;
        }
    }
    at
}

impl Reader {
    /// Restores a reader from [`Reader::memory`].
    pub fn remembering(stack: u32, stopped_at: &[u8]) -> Self {
        let stacks = [Stack::None, Stack::Kernel, Stack::SystemTap, Stack::Perf];
        let stack = stacks.into_iter().find(|s| *s as u32 == stack).unwrap_or_default();
        Self { stack, stopped_at: stopped_at.to_vec() }
    }
    /// The state carried between lines, for callers that store it: the stack being read, and where a processor stopped.
    pub fn memory(&self) -> (u32, &[u8]) {
        (self.stack as u32, &self.stopped_at)
    }
    /// Appends the frames of a line, in order, without those that are already decoded.
    pub fn frames<'l>(&mut self, line: &'l [u8], found: &mut Vec<Frame<'l>>) {
        let start = start(line);
        let text = line[start..].trim_ascii_start();
        if text.starts_with(b"inlined into ") {
            return;
        }
        let before = std::mem::take(&mut self.stack);
        let count = found.len();
        let mut at = start;
        while let Some(plus) = memchr::memchr(b'+', &line[at..]).map(|p| at + p) {
            at = plus + 1;
            if let Some(frame) = self.at_plus(line, start, plus, before) {
                at = frame.end;
                if !is_decoded(&line[frame.end..]) {
                    found.push(frame);
                }
            }
        }
        if found.len() == count
            && self.stack == Stack::None
            && let Some(frame) = self.without_offset(line, text, before)
            && !is_decoded(&line[frame.end..])
        {
            found.push(frame);
        }
    }

    /// Parses `SYMBOL+OFFSET…`, whose plus is at `plus`.
    fn at_plus<'l>(&mut self, line: &'l [u8], start: usize, plus: usize, before: Stack) -> Option<Frame<'l>> {
        let is_hex = line[plus + 1..].starts_with(b"0x");
        let (offset, rest) = number(&line[plus + 1..])?;
        let symbol_end = line.len() - rest.len();
        let name = line[start..plus].iter().rposition(|b| !is_of_name(*b)).map_or(start, |at| start + at + 1);
        let (lead, name) = (&line[start..name], &line[name..plus]);
        let symbol = &line[plus - name.len()..symbol_end];
        if let Some((path, lead)) = file(lead, name, rest) {
            let place = Place::of(lead);
            let role = self.role(place, symbol, rest, before);
            let text = &line[plus - path..symbol_end];
            let scope = Scope::Object(&text[..path]);
            let address =
                Address::Symbolic(Symbolic { scope, name: b"", offset, size: None, build_id: None });
            return Some(Frame { address, text, end: symbol_end + 1, role, number: None, symbol: None });
        }
        let (size, rest) = match rest.strip_prefix(b"/").and_then(number) {
            Some((size, behind)) => (Some(size), behind),
            None => (None, rest),
        };
        let place = Place::of(lead);
        let is_frame = match (size, place) {
            (Some(_), _) => is_hex,
            (None, Place::Other) => false,
            (None, Place::Stack | Place::Unreliable) => is_hex && place.number(lead).is_some(),
            (None, Place::Numbered(_) | Place::ExceptionRip) => true,
            (None, _) => is_hex,
        };
        if !is_frame || !is_name(name) {
            return None;
        }
        // crash prints the address after the symbol.
        let (number, rest) = match rest.strip_prefix(b" at ").and_then(kernel_number) {
            Some((number, rest)) => (Some(number), rest),
            None => (place.number(lead), rest),
        };
        let (object, rest) = object_behind(rest);
        let scope = match (object, place) {
            (Some(object), _) => object.scope,
            // drgn does not name the module; the kernel always does.
            (None, Place::Numbered(_)) => Scope::Any,
            (None, _) => Scope::Kernel,
        };
        let text_end = line.len() - rest.len();
        let closes = place == Place::ExceptionRip && rest.first() == Some(&b']');
        let build_id = object.and_then(|o| o.build_id);
        Some(Frame {
            address: Address::Symbolic(Symbolic {
                scope,
                name: &line[plus - name.len()..plus],
                offset,
                size,
                build_id,
            }),
            text: &line[plus - name.len()..text_end],
            end: text_end + usize::from(closes),
            role: self.role(place, symbol, rest, before),
            number,
            symbol: None,
        })
    }

    fn role(&mut self, place: Place, symbol: &[u8], rest: &[u8], before: Stack) -> Role {
        let first = |stack| if before == stack { Role::Return } else { Role::Exact };
        match place {
            Place::Stopped | Place::ExceptionRip => {
                self.stopped_at.clear();
                self.stopped_at.extend_from_slice(symbol);
                Role::Exact
            }
            Place::Unreliable => {
                self.stack = Stack::Kernel;
                Role::Unreliable
            }
            Place::Stack => {
                self.stack = Stack::Kernel;
                // arm64 starts a trace where the processor stopped; since 6.13 it marks that frame.
                let is_start = before != Stack::Kernel && symbol == self.stopped_at;
                if is_start || rest.starts_with(b" (P") { Role::Exact } else { Role::Return }
            }
            Place::SystemTap => {
                self.stack = Stack::SystemTap;
                first(Stack::SystemTap)
            }
            Place::Perf => {
                self.stack = Stack::Perf;
                first(Stack::Perf)
            }
            Place::Numbered(0) | Place::Other => Role::Exact,
            Place::Numbered(_) | Place::Return => Role::Return,
        }
    }

    /// Lines with only a number or a name.
    fn without_offset<'l>(&mut self, line: &'l [u8], text: &'l [u8], before: Stack) -> Option<Frame<'l>> {
        let frame = |address, text: &'l [u8], rest: &'l [u8], role| {
            let number = if let Address::Number(number) = address { Some(number) } else { None };
            Frame { address, text, end: line.len() - rest.len(), role, number, symbol: None }
        };
        let number_frame = |number: u64, rest: &'l [u8], role| {
            frame(Address::Number(number), &text[..text.len() - rest.len()], rest, role)
        };
        let function_frame = |rest: &'l [u8]| {
            let (name, rest) = word(rest);
            let (object, rest) = object_behind(rest);
            let scope = object.map_or(Scope::Kernel, |o| o.scope);
            let symbolic = Symbolic { scope, name, offset: 0, size: None, build_id: None };
            let is_whole = rest.trim_ascii().is_empty() && is_name(name);
            is_whole.then(|| frame(Address::Symbolic(symbolic), name, rest, Role::Function))
        };
        let whole = |rest: &[u8]| rest.trim_ascii().is_empty();
        match text.first()? {
            b'#' => {
                let (level, rest) = number(&text[1..])?;
                let role = if level == 0 { Role::Exact } else { Role::Return };
                let rest = rest.trim_ascii_start();
                if rest.first() == Some(&b'[') {
                    // crash: `#1 [ffffc900004a7d00] schedule at ffffffff81a11af0 [module]`
                    let (name, rest) = word(rest[memchr::memchr(b']', rest)? + 1..].trim_ascii_start());
                    let (number, rest) = kernel_number(rest.strip_prefix(b" at ")?)?;
                    // The return address of a waiting task is in the scheduler.
                    let role = if name == b"__schedule" { Role::Return } else { role };
                    let frame = number_frame(number, object_behind(rest).1, role);
                    return Some(Frame { symbol: Some(name), ..frame });
                }
                // gdb: `#1  0xffffffff81a11af0 in schedule ()`
                let (number, rest) = kernel_number(rest.strip_prefix(b"0x")?)?;
                let (name, rest) = word(rest.strip_prefix(b" in ")?);
                let rest = rest.strip_prefix(b" ()").filter(|rest| whole(rest))?;
                Some(Frame { symbol: Some(name).filter(|n| *n != b"??"), ..number_frame(number, rest, role) })
            }
            // ftrace
            b'=' => {
                let rest = text.strip_prefix(b"=> ")?;
                match kernel_number(rest.strip_prefix(b"0x").unwrap_or(rest)) {
                    Some((number, rest)) => whole(rest).then(|| number_frame(number, rest, Role::Return)),
                    None => function_frame(rest),
                }
            }
            b'W' => {
                let (_, rest) = word(text.strip_prefix(b"Workqueue: ")?);
                function_frame(rest.strip_prefix(b" ")?)
            }
            b'[' => {
                let (number, rest) = kernel_number(text.strip_prefix(b"[<")?)?;
                let rest = rest.strip_prefix(b">]").filter(|rest| whole(rest))?;
                self.stack = Stack::Kernel;
                Some(number_frame(number, rest, Role::Return))
            }
            // SystemTap
            b'0' => {
                let (number, rest) =
                    kernel_number(text.strip_prefix(b"0x")?).filter(|(_, rest)| whole(rest))?;
                Some(number_frame(number, rest, self.role(Place::SystemTap, b"", rest, before)))
            }
            // perf: `ffffffff8134c750 [unknown] ([kernel.kallsyms])`, or a name without offset.
            b'f' => {
                let (number, rest) = kernel_number(text)?;
                let (name, rest) = word(rest.strip_prefix(b" ")?);
                let (_, rest) = object_behind(rest).0.map(|object| (object, object_behind(rest).1))?;
                let role = self.role(Place::Perf, b"", rest, before);
                Some(Frame {
                    symbol: Some(name).filter(|n| *n != b"[unknown]"),
                    ..number_frame(number, rest, role)
                })
            }
            _ => None,
        }
    }
}

/// `[libc.so.6+0x1234]`, `(/usr/lib/libc.so.6+0x1234)`: an address within a file. Returns the length of the file's name
/// and the text before it.
fn file<'l>(lead: &'l [u8], name: &[u8], behind: &[u8]) -> Option<(usize, &'l [u8])> {
    let open = lead.iter().rposition(|b| matches!(b, b'[' | b'('))?;
    let folder = &lead[open + 1..];
    let is_file = match (lead[open], behind.first()?) {
        (b'[', b']') => folder.is_empty() || folder[0] == b'/',
        (b'(', b')') => folder.first() == Some(&b'/'),
        _ => false,
    };
    (is_file && !folder.contains(&b' ')).then(|| (folder.len() + name.len(), &lead[..open]))
}

/// The module or file after a frame, and the rest of the text.
fn object_behind(rest: &[u8]) -> (Option<address::Object<'_>>, &[u8]) {
    match rest.strip_prefix(b" ").map(address::object) {
        Some((Some(object), behind)) => (Some(object), behind),
        _ => (None, rest),
    }
}

/// Whether a frame is followed by what this program, or another one that prints lines, adds: ` (file:12:3)`, ` name
/// (file:12)`, ` at file:12`.
fn is_decoded(behind: &[u8]) -> bool {
    let Some(rest) = behind.strip_prefix(b" ") else { return false };
    let rest = rest.strip_prefix(b"at ").unwrap_or(rest);
    let (name, after) = rest.split_at(rest.iter().position(|b| !is_of_name(*b)).unwrap_or(rest.len()));
    let rest = match after.strip_prefix(b" ") {
        Some(after) if !name.is_empty() => after,
        _ => rest,
    };
    let place = match rest.strip_prefix(b"(") {
        Some(inner) => &inner[..memchr::memchr(b')', inner).unwrap_or(0)],
        None => word(rest).0,
    };
    let place = place.strip_prefix(b"declared at ").unwrap_or(place);
    let colon = memchr::memchr(b':', place);
    colon.is_some_and(|at| at > 0 && place.get(at + 1).is_some_and(u8::is_ascii_digit))
        && place.contains(&b'.')
}

/// Sixteen digits that start with `ffff`, as kernel addresses do, and the rest of the text.
fn kernel_number(text: &[u8]) -> Option<(u64, &[u8])> {
    const DIGITS: usize = 16;
    let (digits, rest) = text.split_at_checked(DIGITS)?;
    let is_whole = digits.starts_with(b"ffff") && !rest.first().is_some_and(u8::is_ascii_alphanumeric);
    Some((hex(digits).filter(|_| is_whole)?, rest))
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|b| *b == b' ').unwrap_or(text.len()))
}

fn is_name(name: &[u8]) -> bool {
    name.first().is_some_and(|b| !b.is_ascii_digit()) && name.iter().all(|b| is_of_name(*b))
}
