//! Types and their members.
use super::Lookup;
use crate::error::Result;
use crate::query::spec::member_path;
use crate::query::types::c_declaration::declare;
pub use crate::query::types::member::Position;
use crate::query::types::member::{self, Walked};
use crate::query::types::{lookup, users};
use probeidx_format::id::TypeId;
use probeidx_format::record::{MemberRecord, TypeRecord};
use probeidx_format::types::TypeKind;

/// A type.
#[derive(Clone, Copy)]
pub struct Type<'a> {
    lookup: Lookup<'a>,
    id: TypeId,
    record: TypeRecord,
}

impl<'a> Type<'a> {
    /// The type with this number; `None` if there is none.
    pub fn new(lookup: Lookup<'a>, id: TypeId) -> Option<Self> {
        lookup::kind(lookup.view(), id)?;
        Some(Self { lookup, id, record: lookup.view().types.get(id.index())? })
    }
    /// Its number in the index.
    pub fn id(&self) -> TypeId {
        self.id
    }
    /// The kind of type.
    pub fn kind(&self) -> TypeKind {
        TypeKind::from_u8(self.record.kind)
    }
    /// The name without `struct` and the like; empty for an unnamed type.
    pub fn name(&self) -> &'a [u8] {
        self.lookup.view().string(self.record.name)
    }
    /// The file of its definition; may be empty.
    pub fn file(&self) -> &'a [u8] {
        self.lookup.view().string(self.record.file)
    }
    /// The line of its definition, from 1; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.record.line.get()
    }
    /// The size in bytes; `None` for void, functions, and types that are only declared.
    pub fn size(&self) -> Option<u64> {
        lookup::size_of(self.lookup.view(), self.id)
    }
    /// The type in C: `struct file *`, `int (*)(void *)`. Allocates the text.
    pub fn spelled(&self) -> String {
        declare(self.lookup.view(), Some(self.id), "")
    }
    /// The type without typedefs and qualifiers; `None` for void.
    pub fn stripped(&self) -> Option<Self> {
        Self::new(self.lookup, lookup::strip(self.lookup.view(), self.id)?)
    }
    /// The type that a pointer points to, a typedef names, an array consists of, or a function returns; `None` for
    /// void, and for other types.
    pub fn target(&self) -> Option<Self> {
        Self::new(self.lookup, self.record.target.some()?)
    }
    /// The members of a struct or union, enumerators, parameters of a function type, or dimensions of an array; in
    /// order.
    pub fn members(&self) -> Members<'a> {
        Members { of: *self, records: self.lookup.view().members(self.id).iter() }
    }
    /// The path to a member: `f_path.dentry`, `d_name.name`. Allocates the steps.
    ///
    /// # Errors
    /// [`NoMatch`](crate::ErrorKind::NoMatch) for an unknown member, with similar names;
    /// [`Usage`](crate::ErrorKind::Usage) for a text that is not a path.
    pub fn walk(&self, members: &str) -> Result<Walked> {
        let path = member_path::parse(&format!("x.{members}"))?;
        member::walk(self.lookup.view(), self.id, &path.steps)
    }
    /// Calls `each` with the functions that take or return the type, ordered by name, file and line. Cost: linear in
    /// the results for structs, unions and enums; for other types, linear in all functions.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn users(&self, each: impl FnMut(&users::User<'a>) -> Result<()>) -> Result<()> {
        users::users(self.lookup.view(), &[self.id], each)
    }
}

/// A member, an enumerator, a parameter, or a dimension.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    of: Type<'a>,
    record: MemberRecord,
}

impl<'a> Member<'a> {
    /// Its name; empty for an unnamed member.
    pub fn name(&self) -> &'a [u8] {
        self.of.lookup.view().string(self.record.name)
    }
    /// Its type; `None` for enumerators and dimensions.
    pub fn type_of(&self) -> Option<Type<'a>> {
        Type::new(self.of.lookup, self.record.target.some()?)
    }
    /// The value of an enumerator; the number of elements of a dimension (-1 unknown); for a member, its offset in bits
    /// and, from bit 48, the width of a bit-field.
    pub fn value(&self) -> i64 {
        self.record.value.get()
    }
    /// The position of a member in its struct or union; for a bit-field, the storage unit and the bits in it. `None`
    /// for other kinds.
    pub fn place(&self) -> Option<Position> {
        let view = self.of.lookup.view();
        self.of.kind().is_aggregate().then(|| member::position(view, self.record))
    }
}

/// An iterator over members.
#[derive(Clone)]
pub struct Members<'a> {
    of: Type<'a>,
    records: probeidx_format::table::Iter<'a, MemberRecord>,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let record = self.records.next()?;
        Some(Member { of: self.of, record })
    }
}
