//! Types as JSON Lines.
use super::{lossy as text, types as plain};
use crate::query::types::c_declaration;
use crate::query::types::layout::{Aggregate, Body, Definition, Hole, Layout, Member};
use crate::query::types::member::{Move, Walked};
use crate::query::types::users::User;
use probeidx_format::View;
use probeidx_format::types::TypeKind;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{Result, Write};

/// A struct, union, enum, typedef or base type.
#[derive(Serialize)]
struct Type<'a> {
    kernel: &'a str,
    kind: &'static str,
    name: Option<String>,
    size: Option<u64>,
    file: Option<String>,
    line: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    declared: bool,
    /// The types that a typedef leads to, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chain: Vec<Link>,
    /// For one of several definitions of a name, the objects that use it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    used_in: Vec<Option<String>>,
    #[serde(flatten)]
    inside: Option<Inside>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enumerators: Option<Vec<Enumerator>>,
}

#[derive(Serialize)]
struct Link {
    kind: &'static str,
    #[serde(rename = "type")]
    spelled: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Serialize)]
struct Inside {
    members: Vec<Inner>,
    holes: Vec<Gap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    padding: Option<Gap>,
}

#[derive(Serialize)]
struct Inner {
    name: Option<String>,
    #[serde(rename = "type")]
    spelled: String,
    offset: u64,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_offset: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_size: Option<u32>,
    #[serde(flatten)]
    inside: Option<Inside>,
}

/// Whole bytes, or bits from a bit of a byte.
#[derive(Serialize)]
struct Gap {
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_offset: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_size: Option<u64>,
}

#[derive(Serialize)]
struct Enumerator {
    name: String,
    value: i64,
}

fn some(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| text(bytes))
}

/// The name of a module; `None` for vmlinux.
fn module(object: String) -> Option<String> {
    Some(object).filter(|name| name != "vmlinux")
}

fn kind(kind: TypeKind) -> &'static str {
    c_declaration::keyword(kind).unwrap_or(match kind {
        TypeKind::Typedef => "typedef",
        TypeKind::Base => "base",
        TypeKind::Pointer => "pointer",
        TypeKind::Array => "array",
        TypeKind::Function => "function",
        _ => "other",
    })
}

/// Writes a type as one line. `objects` are those that use this definition, if the name has several.
pub fn layout(kernel: &str, layout: &Layout<'_>, objects: &[String], out: &mut dyn Write) -> Result<()> {
    let Definition { name, file, line, .. } = layout.named;
    let link = |d: &Definition<'_>| Link {
        kind: kind(d.kind),
        spelled: if d.kind == TypeKind::Typedef { text(d.name) } else { d.spelled.clone() },
        file: some(d.file),
        line: some(d.file).map(|_| d.line),
    };
    let (inside, enumerators) = match &layout.body {
        Body::Members(aggregate) => (Some(within(aggregate)), None),
        Body::Enumerators(all) => {
            let one = |(name, value): &(&[u8], i64)| Enumerator { name: text(name), value: *value };
            (None, Some(all.iter().map(one).collect()))
        }
        Body::Declared | Body::Plain => (None, None),
    };
    let object = Type {
        kernel,
        kind: kind(layout.named.kind),
        name: some(name),
        size: layout.size,
        file: some(file),
        line: some(file).map(|_| line),
        declared: matches!(layout.body, Body::Declared),
        chain: layout.chain.iter().map(link).collect(),
        used_in: objects.iter().cloned().map(module).collect(),
        inside,
        enumerators,
    };
    line_of(&object, out)
}

fn within(aggregate: &Aggregate<'_>) -> Inside {
    Inside {
        members: aggregate.members.iter().map(inner).collect(),
        holes: aggregate.holes.iter().map(|(_, hole)| gap(hole)).collect(),
        padding: aggregate.padding.as_ref().map(gap),
    }
}

fn inner(member: &Member<'_>) -> Inner {
    Inner {
        name: some(member.name),
        spelled: member.spelled.clone(),
        offset: member.offset,
        size: member.size,
        bit_offset: member.bits.map(|b| b.0),
        bit_size: member.bits.map(|b| b.1),
        inside: member.within.as_ref().map(within),
    }
}

fn gap(hole: &Hole) -> Gap {
    let size = hole.bytes();
    let bits = size.is_none();
    Gap {
        offset: hole.offset,
        size,
        bit_offset: bits.then_some(hole.bit),
        bit_size: bits.then_some(hole.width),
    }
}

/// Writes what is at the end of a path, and the operations that lead there.
pub fn member(
    view: &View<'_>,
    kernel: &str,
    path: &str,
    root: &Definition<'_>,
    walked: &Walked,
    out: &mut dyn Write,
) -> Result<()> {
    #[derive(Serialize)]
    struct Object<'a> {
        kernel: &'a str,
        path: &'a str,
        #[serde(rename = "type")]
        spelled: String,
        offset: i64,
        size: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bit_offset: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bit_size: Option<u32>,
        moves: Vec<Value>,
        file: Option<String>,
        line: Option<u32>,
    }
    let place = walked.place();
    let one = |one: &Move| match one {
        Move::Deref => json!("deref"),
        Move::Add(bytes) => json!({"add": *bytes as i64}),
    };
    let object = Object {
        kernel,
        path,
        spelled: plain::spelled(view, walked),
        offset: place.offset as i64,
        size: plain::size(view, walked),
        bit_offset: place.bits.map(|b| b.0),
        bit_size: place.bits.map(|b| b.1),
        moves: walked.moves.iter().map(one).collect(),
        file: some(root.file),
        line: some(root.file).map(|_| root.line),
    };
    line_of(&object, out)
}

/// Writes a function that takes or returns the type as one line.
pub fn user(view: &View<'_>, kernel: &str, name: &str, user: &User<'_>, out: &mut dyn Write) -> Result<()> {
    #[derive(Serialize)]
    struct Object<'a> {
        kernel: &'a str,
        #[serde(rename = "type")]
        name: &'a str,
        function: String,
        file: String,
        line: u32,
        inlined: bool,
        /// `None` for vmlinux.
        objects: Vec<Option<String>>,
        uses: Vec<Use>,
    }
    #[derive(Serialize)]
    struct Use {
        position: Value,
        depth: u32,
    }
    let position = |n: u32| if n == 0 { json!("return") } else { json!(n) };
    let object = Object {
        kernel,
        name,
        function: text(user.name),
        file: text(user.file),
        line: user.line,
        inlined: user.is_inlined,
        objects: user.objects.iter().map(|o| module(plain::object(view, *o))).collect(),
        uses: user.uses.iter().map(|(n, depth)| Use { position: position(*n), depth: *depth }).collect(),
    };
    line_of(&object, out)
}

fn line_of(object: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    out.write_all(b"\n")
}
