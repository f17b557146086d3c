//! Types as JSON Lines.
use super::{lossy as text, put_json_line, types as plain};
use crate::query::types::c_declaration;
use crate::query::types::layout::{Aggregate, Body, Definition, Hole, Layout, Member};
use crate::query::types::member::{Move, Walked};
use crate::query::types::users::User;
use probeidx_format::View;
use probeidx_format::types::TypeKind;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{Result, Write};

/// A struct, union, enum, typedef or base type; see [`layout_object`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Type<'a> {
    /// The release.
    pub kernel: Cow<'a, str>,
    /// `struct`, `union`, `enum`, `typedef`, `base`, ….
    pub kind: &'static str,
    /// Its name; `None` if it has none.
    pub name: Option<String>,
    /// In bytes; `None` if unknown.
    pub size: Option<u64>,
    /// The file of its definition.
    pub file: Option<String>,
    /// The line of that, from 1.
    pub line: Option<u32>,
    /// Whether it is only declared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
    /// The types that a typedef leads to, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
    /// For one of several definitions of a name, the objects that use it; `None` for vmlinux.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub used_in: Vec<Option<String>>,
    /// What a struct or union consists of.
    #[serde(flatten)]
    pub inside: Option<Inside>,
    /// Those of an enum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enumerators: Option<Vec<Enumerator>>,
}

/// A type that a typedef leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// As in [`Type`].
    pub kind: &'static str,
    /// As C spells it.
    #[serde(rename = "type")]
    pub spelled: String,
    /// The file of its definition.
    pub file: Option<String>,
    /// The line of that, from 1.
    pub line: Option<u32>,
}

/// The content of a struct or union.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inside {
    /// In the order of the definition.
    pub members: Vec<Inner>,
    /// Between the members.
    pub holes: Vec<Gap>,
    /// Behind the last member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padding: Option<Gap>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "InnerMember"))]
pub struct Inner {
    /// Its name; `None` for an unnamed struct or union, whose members are those of the outer one.
    pub name: Option<String>,
    /// Its type as C spells it.
    #[serde(rename = "type")]
    pub spelled: String,
    /// In bytes, from the start of the outermost type.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
    /// The first bit of a bit-field, from the lowest of the byte at the offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_offset: Option<u32>,
    /// The number of bits of a bit-field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_size: Option<u32>,
    /// What an unnamed struct or union consists of.
    #[serde(flatten)]
    pub inside: Option<Inside>,
}

/// Whole bytes, or bits from a bit of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// In bytes.
    pub offset: u64,
    /// In bytes; `None` for bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The first bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_offset: Option<u32>,
    /// The number of bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_size: Option<u64>,
}

/// A name of an enum, and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Enumerator {
    /// The name.
    pub name: String,
    /// The value.
    pub value: i64,
}

/// A member at the end of a path; see [`member_object`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Member"))]
pub struct AtPath<'a> {
    /// The release.
    pub kernel: Cow<'a, str>,
    /// The path as requested.
    pub path: Cow<'a, str>,
    /// Its type as C spells it.
    #[serde(rename = "type")]
    pub spelled: String,
    /// In bytes, from the last pointer on the path.
    pub offset: i64,
    /// In bytes; `None` if unknown.
    pub size: Option<u64>,
    /// The first bit of a bit-field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_offset: Option<u32>,
    /// The number of bits of a bit-field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_size: Option<u32>,
    /// The operations that lead there.
    pub moves: Vec<Operation>,
    /// The file of the definition of the type that the path starts with.
    pub file: Option<String>,
    /// The line of that, from 1.
    pub line: Option<u32>,
}

/// A step on the way to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Read the pointer there.
    Deref,
    /// Add so many bytes.
    Add(i64),
}

/// A function that takes or returns a type; see [`user_object`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "User"))]
pub struct UserObject<'a> {
    /// The release.
    pub kernel: Cow<'a, str>,
    /// The type.
    #[serde(rename = "type")]
    pub name: Cow<'a, str>,
    /// The function's name.
    pub function: String,
    /// The file of its declaration.
    pub file: String,
    /// The line of that, from 1; 0 if unknown.
    pub line: u32,
    /// Whether it is inlined somewhere.
    pub inlined: bool,
    /// Where it runs; `None` for vmlinux.
    pub objects: Vec<Option<String>>,
    /// The parameters that are of the type.
    pub uses: Vec<Use>,
}

/// A parameter of a type, or what is returned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Use {
    /// From 1, or `return`.
    pub position: Position,
    /// How many pointers lead to the type.
    pub depth: u32,
}

/// Which parameter it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Position {
    /// A parameter, from 1.
    Number(u32),
    /// What is returned.
    Return(Return),
}

/// The word for what is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Return {
    /// What is returned.
    Return,
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
    put_json_line(&layout_object(kernel, layout, objects), out)
}

/// A type as an object; `objects` as for [`layout`].
pub fn layout_object<'k>(
    kernel: impl Into<Cow<'k, str>>,
    layout: &Layout<'_>,
    objects: &[String],
) -> Type<'k> {
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
    Type {
        kernel: kernel.into(),
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
    }
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
    put_json_line(&member_object(view, kernel, path, root, walked), out)
}

/// A member at the end of a path, as an object.
pub fn member_object<'k>(
    view: &View<'_>,
    kernel: impl Into<Cow<'k, str>>,
    path: impl Into<Cow<'k, str>>,
    root: &Definition<'_>,
    walked: &Walked,
) -> AtPath<'k> {
    let place = walked.place();
    let one = |one: &Move| match one {
        Move::Deref => Operation::Deref,
        Move::Add(bytes) => Operation::Add(*bytes as i64),
    };
    AtPath {
        kernel: kernel.into(),
        path: path.into(),
        spelled: plain::spelled(view, walked),
        offset: place.offset as i64,
        size: plain::size(view, walked),
        bit_offset: place.bits.map(|b| b.0),
        bit_size: place.bits.map(|b| b.1),
        moves: walked.moves.iter().map(one).collect(),
        file: some(root.file),
        line: some(root.file).map(|_| root.line),
    }
}

/// Writes a function that takes or returns the type as one line.
pub fn user(view: &View<'_>, kernel: &str, name: &str, user: &User<'_>, out: &mut dyn Write) -> Result<()> {
    put_json_line(&user_object(view, kernel, name, user), out)
}

/// A function that takes or returns the type, as an object.
pub fn user_object<'k>(
    view: &View<'_>,
    kernel: impl Into<Cow<'k, str>>,
    name: impl Into<Cow<'k, str>>,
    user: &User<'_>,
) -> UserObject<'k> {
    let position = |n: u32| if n == 0 { Position::Return(Return::Return) } else { Position::Number(n) };
    UserObject {
        kernel: kernel.into(),
        name: name.into(),
        function: text(user.name),
        file: text(user.file),
        line: user.line,
        inlined: user.is_inlined,
        objects: user.objects.iter().map(|o| module(plain::object(view, *o))).collect(),
        uses: user.uses.iter().map(|(n, depth)| Use { position: position(*n), depth: *depth }).collect(),
    }
}
