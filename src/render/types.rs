//! Formats types as C declarations, followed by offsets and sizes like pahole.
use super::{printable, printable_bytes as text};
use crate::query::systemtap::probe_point::put_decimal;
use crate::query::types::c_declaration::{self, declare};
use crate::query::types::layout::{Aggregate, Body, Definition, Hole, Layout, Member};
use crate::query::types::lookup;
use crate::query::types::member::{Move, Walked};
use crate::query::types::users::User;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::types::TypeKind;
use std::io::{Result, Write};

/// Writes a type. `objects` are those that use this definition, if the name has several.
pub fn layout(view: &View<'_>, layout: &Layout<'_>, objects: &[String], out: &mut dyn Write) -> Result<()> {
    let used = if objects.is_empty() { String::new() } else { format!("  used in {}", few(objects)) };
    let named_at = place(&layout.named);
    if !named_at.is_empty() || !used.is_empty() {
        writeln!(out, "/* {}{used} */", named_at)?;
    }
    let definitions: Vec<&Definition<'_>> = std::iter::once(&layout.named).chain(&layout.chain).collect();
    for (at, definition) in definitions.iter().enumerate() {
        let next = definitions.get(at + 1);
        if definition.kind != TypeKind::Typedef {
            return content(layout, &printable(&definition.spelled), "", out);
        }
        if at > 0 {
            writeln!(out, "/* {} */", place(definition))?;
        }
        if next.is_some_and(|d| d.name.is_empty() && c_declaration::keyword(d.kind).is_some()) {
            let word = next.and_then(|d| c_declaration::keyword(d.kind)).unwrap_or_default();
            return content(layout, &format!("typedef {word}"), &format!(" {}", text(definition.name)), out);
        }
        let target = view.types.at(definition.type_id.index()).target.some();
        let declared = declare(view, target, &String::from_utf8_lossy(definition.name));
        let size = lookup::size_of(view, definition.type_id);
        let is_last = next.is_none_or(|d| d.kind != TypeKind::Typedef && matches!(layout.body, Body::Plain));
        let size = size.filter(|_| is_last).map_or(String::new(), |s| format!("  /* size: {s} */"));
        writeln!(out, "typedef {};{size}", printable(&declared))?;
        if is_last {
            return Ok(());
        }
    }
    Ok(())
}

fn place(definition: &Definition<'_>) -> String {
    match (definition.file, definition.line) {
        (b"", _) => String::new(),
        (file, line) => format!("{}:{line}", text(file)),
    }
}

fn content(layout: &Layout<'_>, head: &str, name: &str, out: &mut dyn Write) -> Result<()> {
    let size = layout.size.unwrap_or(0);
    match &layout.body {
        Body::Plain => writeln!(out, "{head}{name};  /* size: {size} */"),
        Body::Declared => writeln!(out, "{head}{name};  /* only declared */"),
        Body::Enumerators(all) => {
            writeln!(out, "{head} {{")?;
            for (name, value) in all {
                writeln!(out, "\t{} = {value},", text(name))?;
            }
            writeln!(out, "\n\t/* size: {size}, enumerators: {} */\n}}{name};", all.len())
        }
        Body::Members(aggregate) => {
            writeln!(out, "{head} {{")?;
            members(aggregate, 1, out)?;
            writeln!(out, "\n\t/* {} */\n}}{name};", summary(aggregate))
        }
    }
}

/// The width of declarations in columns, with tabs of eight.
const WIDTH: usize = 56;

fn members(aggregate: &Aggregate<'_>, depth: usize, out: &mut dyn Write) -> Result<()> {
    let tabs = "\t".repeat(depth);
    let mut holes = aggregate.holes.iter().peekable();
    for (at, member) in aggregate.members.iter().enumerate() {
        if let Some((_, hole)) = holes.next_if(|(before, _)| *before == at) {
            let start = if at == 0 { "" } else { "\n" };
            writeln!(out, "{start}{tabs}/* XXX {} hole */\n", amount(hole))?;
        }
        let declared = match &member.within {
            None => printable(&member.declaration).into_owned(),
            Some(within) => {
                let (head, tail) =
                    member.declaration.split_once("{...}").unwrap_or((&member.declaration, ""));
                writeln!(out, "{tabs}{}{{", printable(head))?;
                members(within, depth + 1, out)?;
                if let Some(padding) = &within.padding {
                    writeln!(out, "\n{tabs}\t/* {} padding */", amount(padding))?;
                }
                format!("}}{}", printable(tail.trim_end()))
            }
        };
        let width = member.bits.map_or(String::new(), |(_, width)| format!(":{width}"));
        let (declared, room) = (format!("{declared}{width};"), WIDTH.saturating_sub(8 * depth));
        writeln!(out, "{tabs}{declared:room$} /* {} */", numbers(member))?;
    }
    Ok(())
}

/// `   16: 3     2`: offset, bit, size.
fn numbers(member: &Member<'_>) -> String {
    match member.bits {
        Some((bit, _)) => format!("{:>5}:{bit:>2}  {:>3}", member.offset, member.size),
        None => format!("{:>5}  {:>6}", member.offset, member.size),
    }
}

fn summary(aggregate: &Aggregate<'_>) -> String {
    let mut parts = vec![format!("size: {}, members: {}", aggregate.size, aggregate.members.len())];
    if !aggregate.holes.is_empty() {
        let width = aggregate.holes.iter().map(|(_, hole)| hole.width).sum();
        let sum = amount(&Hole { offset: 0, bit: 0, width });
        parts.push(format!("holes: {}, sum of holes: {sum}", aggregate.holes.len()));
    }
    parts.extend(aggregate.padding.map(|padding| format!("padding: {}", amount(&padding))));
    parts.join(", ")
}

fn amount(hole: &Hole) -> String {
    match hole.bytes() {
        Some(bytes) => format!("{bytes} bytes"),
        None => format!("{} bits", hole.width),
    }
}

/// Writes what is at the end of a path, and the steps from the root.
pub fn member(view: &View<'_>, path: &str, walked: &Walked, out: &mut dyn Write) -> Result<()> {
    let place = walked.place();
    let spelled = spelled(view, walked);
    let mut said = vec![];
    if walked.moves.contains(&Move::Deref) {
        let moves = walked.moves.iter().map(|one| match one {
            Move::Deref => "read the pointer".to_owned(),
            Move::Add(bytes) => format!("{:+}", *bytes as i64),
        });
        said.push(format!("from the root: {}", moves.collect::<Vec<_>>().join(", ")));
    }
    said.push(format!("offset: {}", place.offset as i64));
    if let Some((bit, width)) = place.bits {
        said.push(format!("bit: {bit}, bits: {width}"));
    }
    said.extend(size(view, walked).map(|size| format!("size: {size}")));
    writeln!(out, "{}: {}  /* {} */", printable(path), printable(&spelled), said.join(", "))
}

/// The type at the end of a path, in C.
pub fn spelled(view: &View<'_>, walked: &Walked) -> String {
    let Some(type_id) = walked.type_id else { return "void".to_owned() };
    if walked.indexed == 0 {
        return declare(view, Some(type_id), "");
    }
    let array = lookup::strip(view, type_id).unwrap_or(type_id);
    let element = view.types.get(array.index()).and_then(|t| t.target.some());
    let rest = view.members(array).from(walked.indexed);
    let dimensions: String = rest.iter().map(|d| format!("[{}]", d.value.get())).collect();
    declare(view, element, &dimensions)
}

/// The size in bytes of what is at the end of a path.
pub fn size(view: &View<'_>, walked: &Walked) -> Option<u64> {
    let size = lookup::size_of(view, walked.type_id?)?;
    let array = lookup::strip(view, walked.type_id?)?;
    let gone = view.members(array).up_to(walked.indexed).iter().map(|d| d.value.get().max(1) as u64);
    Some(size / gone.fold(1, u64::saturating_mul))
}

/// Writes a function that takes or returns the type. `line` is reused memory.
pub fn user(view: &View<'_>, user: &User<'_>, line: &mut Vec<u8>, out: &mut dyn Write) -> Result<()> {
    line.clear();
    put(user.name, line);
    line.push(b'@');
    put(user.file, line);
    line.push(b':');
    put_decimal(user.line, line);
    let mut between: &[u8] = b"  ";
    for (position, depth) in &user.uses {
        line.extend_from_slice(between);
        match position {
            0 => line.extend_from_slice(b"returns"),
            n => put_decimal(*n, line),
        }
        if *depth > 0 {
            line.push(b' ');
            line.extend(std::iter::repeat_n(b'*', *depth as usize));
        }
        between = b", ";
    }
    between = b"  ";
    for object in user.objects.iter().take(SHOWN) {
        line.extend_from_slice(between);
        put(object_name(view, *object), line);
        between = b", ";
    }
    match user.objects.len().saturating_sub(SHOWN) {
        _ if user.objects.is_empty() => line.extend_from_slice(b"  no code"),
        0 => {}
        more => write!(line, " and {more} more")?,
    }
    line.push(b'\n');
    out.write_all(line)
}

/// Writes a name; most need no escaping.
fn put(name: &[u8], line: &mut Vec<u8>) {
    match name.iter().all(|b| (b' '..0x7f).contains(b)) {
        true => line.extend_from_slice(name),
        false => line.extend_from_slice(text(name).as_bytes()),
    }
}

/// `vmlinux`, or the name of a module.
pub fn object(view: &View<'_>, object: ObjectId) -> String {
    text(object_name(view, object))
}

fn object_name<'a>(view: &View<'a>, object: ObjectId) -> &'a [u8] {
    let name = view.objects.get(object.index()).map_or(&b""[..], |o| view.string(o.name));
    if name.is_empty() { b"vmlinux" } else { name }
}

/// The largest number of objects that a line lists.
const SHOWN: usize = 4;

fn few(names: &[String]) -> String {
    match names.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}
