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
    record: &'a TypeRecord,
}

impl<'a> Type<'a> {
    /// The type of this number; `None` if there is no such.
    pub fn new(lookup: Lookup<'a>, id: TypeId) -> Option<Self> {
        lookup::kind(lookup.view(), id)?;
        Some(Self { lookup, id, record: lookup.view().types.get(id.index())? })
    }
    /// Its number in the index.
    pub fn id(&self) -> TypeId {
        self.id
    }
    /// What it is.
    pub fn kind(&self) -> TypeKind {
        TypeKind::from_u8(self.record.kind)
    }
    /// Its name without `struct` and the like; empty where it has none.
    pub fn name(&self) -> &'a [u8] {
        self.lookup.view().string(self.record.name)
    }
    /// The file of its definition; may be empty.
    pub fn file(&self) -> &'a [u8] {
        self.lookup.view().string(self.record.file)
    }
    /// The line of its definition, from 1; 0 unknown.
    pub fn line(&self) -> u32 {
        self.record.line.get()
    }
    /// In bytes; `None` for void, functions, and what is only declared.
    pub fn size(&self) -> Option<u64> {
        lookup::size_of(self.lookup.view(), self.id)
    }
    /// As C writes it: `struct file *`, `int (*)(void *)`. Allocates the text.
    pub fn spelled(&self) -> String {
        declare(self.lookup.view(), Some(self.id), "")
    }
    /// Without typedefs and qualifiers; `None` for void.
    pub fn stripped(&self) -> Option<Self> {
        Self::new(self.lookup, lookup::strip(self.lookup.view(), self.id)?)
    }
    /// What a pointer points to, a typedef names, an array consists of, a function returns; `None` for void, and for what
    /// has none.
    pub fn target(&self) -> Option<Self> {
        Self::new(self.lookup, self.record.target.some()?)
    }
    /// Members of a struct or union, enumerators, parameters of a function type, dimensions of an array; in their order.
    pub fn members(&self) -> Members<'a> {
        Members { of: *self, records: self.lookup.view().members(self.id).iter() }
    }
    /// The way to a member: `f_path.dentry`, `d_name.name`. Allocates the steps.
    ///
    /// # Errors
    /// [`NoMatch`](crate::ErrorKind::NoMatch) where there is no such member, with those that are near; [`Usage`](crate::ErrorKind::Usage) where the text
    /// is no path.
    pub fn walk(&self, members: &str) -> Result<Walked> {
        let path = member_path::parse(&format!("x.{members}"))?;
        member::walk(self.lookup.view(), self.id, &path.steps)
    }
    /// Calls `each` with the functions that take or return it, by name, file and line. Cost: for structs, unions and enums
    /// what is found; of others a look at each function.
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
    record: &'a MemberRecord,
}

impl<'a> Member<'a> {
    /// Its name; empty for an anonymous one.
    pub fn name(&self) -> &'a [u8] {
        self.of.lookup.view().string(self.record.name)
    }
    /// Its type; `None` for enumerators and dimensions.
    pub fn type_of(&self) -> Option<Type<'a>> {
        Type::new(self.of.lookup, self.record.target.some()?)
    }
    /// Of an enumerator its value, of a dimension the number of elements (-1 unknown); of a member its offset in bits, and
    /// from bit 48 on the width of a bit-field.
    pub fn value(&self) -> i64 {
        self.record.value.get()
    }
    /// Where a member of a struct or union stands: of a bit-field the number that holds it, and its bits there. `None` for
    /// what is no member.
    pub fn place(&self) -> Option<Position> {
        let view = self.of.lookup.view();
        self.of.kind().is_aggregate().then(|| member::position(view, self.record))
    }
}

/// Members: iterate.
#[derive(Clone)]
pub struct Members<'a> {
    of: Type<'a>,
    records: std::slice::Iter<'a, MemberRecord>,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let record = self.records.next()?;
        Some(Member { of: self.of, record })
    }
}
