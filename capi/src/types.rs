//! Types, their members, and the functions that use them.
use crate::border::{ErrorOut, text};
use crate::each::{Each, EachFn, answers};
use crate::handle::Handle;
use crate::resolve::Step;
use crate::text::{Text, Texts};
use probeidx::lookup::{self, Lookup};
use probeidx::query::spec::member_path;
use probeidx::query::types::member::{self, Move};
use probeidx::query::types::users;
use probeidx::render::types::{size, spelled};
use probeidx::{Error, ErrorKind};
use probeidx_format::id::TypeId;
use std::ffi::{c_char, c_void};

/// `struct probeidx_type`
#[repr(C)]
pub struct Type {
    /// The size of the struct.
    pub size: usize,
    /// The name without `struct` and the like.
    pub name: Text,
    /// The type in C.
    pub spelled: Text,
    /// The file of the definition.
    pub file: Text,
    /// Members, enumerators, parameters or dimensions.
    pub members: *const *const Member,
    /// The length of `members`.
    pub member_count: usize,
    /// The size in bytes; `UINT64_MAX` if it has none.
    pub bytes: u64,
    /// The line of the definition.
    pub line: u32,
    /// The kind of type: see the header.
    pub kind: u32,
    /// Its number.
    pub id: u32,
    /// For a typedef, pointer, array or qualified type, the number of the type it is made of; for a function, of its
    /// return type; else `UINT32_MAX`.
    pub target: u32,
    /// If several types have the name, the numbers of the objects that use this one.
    pub objects: *const u32,
    /// The length of `objects`.
    pub object_count: usize,
}

/// `struct probeidx_member`
#[repr(C)]
pub struct Member {
    /// The size of the struct.
    pub size: usize,
    /// The name; empty for an unnamed member.
    pub name: Text,
    /// The type in C.
    pub type_name: Text,
    /// The offset in bytes from the start of the struct; for a bit-field, that of its storage unit.
    pub offset: u64,
    /// The size of its type; `UINT64_MAX` if it has none.
    pub bytes: u64,
    /// The value of an enumerator; the number of elements of a dimension, -1 if unknown.
    pub value: i64,
    /// For a bit-field, its lowest bit in the storage unit; on big-endian kernels its highest, counted from the
    /// highest.
    pub lowest_bit: u32,
    /// The width of a bit-field, or 0.
    pub width: u32,
    /// The number of its type, or `UINT32_MAX`.
    pub type_id: u32,
    /// 0.
    pub reserved32: u32,
    /// For a path, the steps from the start of the type: reads and additions.
    pub steps: *const Step,
    /// The length of `steps`.
    pub step_count: usize,
}

const NO_TYPE: Option<&str> = Some("there is no such type");

/// Calls `each` with the types of a name.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_type(
    index: *const Handle,
    name: *const c_char,
    each: EachFn<Type>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, NO_TYPE, |open, each| {
        let (lookup, name) = (open.lookup(), text(name)?);
        let several = lookup.types(name).nth(1).is_some();
        Ok(lookup.types(name).try_for_each(|one| call(lookup, one, several, each))?)
    })
}

/// Calls `each` with the type with a number.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_type_of(
    index: *const Handle,
    id: u32,
    each: EachFn<Type>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, NO_TYPE, |open, each| {
        let lookup = open.lookup();
        let found = lookup::Type::new(*lookup, TypeId::new(id));
        Ok(found.map_or(Ok(()), |one| call(lookup, one, false, each))?)
    })
}

/// If `several` types have the name, includes the objects that use this one.
fn call(
    lookup: &Lookup<'_>,
    one: lookup::Type<'_>,
    several: bool,
    each: &mut Each<Type>,
) -> probeidx::Result<()> {
    let mut texts = Texts::default();
    let objects: Vec<u32> = match several {
        true => users::objects(lookup.view(), one.id()).iter().map(|o| o.get()).collect(),
        false => vec![],
    };
    let members: Vec<Member> = one.members().map(|m| member(&m, &mut texts)).collect();
    let pointers: Vec<*const Member> = members.iter().map(std::ptr::from_ref).collect();
    each.call(&Type {
        size: size_of::<Type>(),
        name: texts.of(one.name()),
        spelled: texts.of(one.spelled()),
        file: texts.of(one.file()),
        members: pointers.as_ptr(),
        member_count: pointers.len(),
        bytes: one.size().unwrap_or(u64::MAX),
        line: one.line(),
        kind: one.kind() as u32,
        id: one.id().get(),
        target: one.target().map_or(u32::MAX, |t| t.id().get()),
        objects: objects.as_ptr(),
        object_count: objects.len(),
    })
}

fn member(m: &lookup::Member<'_>, texts: &mut Texts) -> Member {
    let place = m.place();
    let of = m.type_of();
    let (lowest_bit, width) = place.and_then(|p| p.bits).unwrap_or((0, 0));
    Member {
        size: size_of::<Member>(),
        name: texts.of(m.name()),
        type_name: of.map_or(Text::EMPTY, |t| texts.of(t.spelled())),
        offset: place.map_or(0, |p| p.offset),
        bytes: of.and_then(|t| t.size()).unwrap_or(u64::MAX),
        value: if place.is_some() { 0 } else { m.value() },
        lowest_bit,
        width,
        type_id: of.map_or(u32::MAX, |t| t.id().get()),
        reserved32: 0,
        steps: std::ptr::null(),
        step_count: 0,
    }
}

/// What is at the end of a path; `steps` keeps the steps to it.
fn walked_to(
    lookup: &Lookup<'_>,
    walked: &member::Walked,
    steps: &mut Vec<Step>,
    texts: &mut Texts,
) -> Member {
    let place = walked.place();
    let of = walked.type_id.and_then(|id| lookup::Type::new(*lookup, id));
    let (lowest_bit, width) = walked.bits.unwrap_or((0, 0));
    let step = |op, size, value| Step { op, size, value, name: Text::EMPTY };
    steps.extend(walked.moves.iter().map(|one| match one {
        Move::Deref => step(Step::READ, 8, 0),
        Move::Add(bytes) => step(Step::ADD, 8, *bytes as i64),
    }));
    Member {
        size: size_of::<Member>(),
        name: Text::EMPTY,
        type_name: texts.of(spelled(lookup.view(), walked)),
        offset: place.offset,
        bytes: size(lookup.view(), walked).unwrap_or(u64::MAX),
        value: 0,
        lowest_bit,
        width,
        type_id: of.map_or(u32::MAX, |t| t.id().get()),
        reserved32: 0,
        steps: steps.as_ptr(),
        step_count: steps.len(),
    }
}

/// Calls `each` with the member at the end of a path: `struct file.f_path.dentry`, `task_struct->comm`. Its offset is
/// from the target of the last pointer on the path.
/// from the start of what the last pointer on the way leads to.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_member(
    index: *const Handle,
    path: *const c_char,
    each: EachFn<Member>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, NO_TYPE, |open, each| {
        let lookup = open.lookup();
        let mut path = member_path::parse(text(path)?)?;
        // The type itself is meant, not a pointer to it.
        if let Some(first) = path.steps.first_mut()
            && let member_path::Step::Arrow(name) = first
        {
            *first = member_path::Step::Member(std::mem::take(name));
        }
        // If several types have the name, some may lack the member.
        let (mut found, mut failed) = (false, None);
        for root in lookup.types(&path.root) {
            match member::walk_path(lookup.view(), root.id(), &path) {
                Ok(walked) => {
                    found = true;
                    let (mut texts, mut steps) = (Texts::default(), vec![]);
                    let name = texts.of(path.to_string());
                    each.call(&Member { name, ..walked_to(lookup, &walked, &mut steps, &mut texts) })?;
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed.filter(|_| !found) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    })
}

/// `struct probeidx_user`
#[repr(C)]
pub struct User {
    /// The size of the struct.
    pub size: usize,
    /// The function.
    pub function: Text,
    /// The file of the declaration.
    pub file: Text,
    /// Pairs: 0 for the return value or the number of a parameter, and the number of pointers to the type.
    pub uses: *const u32,
    /// The number of pairs in `uses`.
    pub use_count: usize,
    /// The line of the declaration.
    pub line: u32,
    /// Whether it is inlined somewhere.
    pub is_inlined: u32,
    /// The number of objects in which it has code.
    pub object_count: u32,
    /// 0.
    pub reserved32: u32,
    /// The numbers of these objects.
    pub objects: *const u32,
    /// 0.
    pub reserved: u64,
}

/// Calls `each` with the functions that take or return a type.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_users(
    index: *const Handle,
    name: *const c_char,
    each: EachFn<User>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("no function takes or returns it"), |open, each| {
        let (lookup, name) = (open.lookup(), text(name)?);
        let found: Vec<TypeId> = lookup.types(name).map(|t| t.id()).collect();
        if found.is_empty() {
            return Err(Error::new(ErrorKind::NoMatch, "there is no such type").into());
        }
        let wanted = users::asked(lookup.view(), name, &found);
        Ok(users::users(lookup.view(), &wanted, |user| {
            let mut texts = Texts::default();
            let objects: Vec<u32> = user.objects.iter().map(|o| o.get()).collect();
            let uses: Vec<u32> = user.uses.iter().flat_map(|(at, depth)| [*at, *depth]).collect();
            each.call(&User {
                size: size_of::<User>(),
                function: texts.of(user.name),
                file: texts.of(user.file),
                uses: uses.as_ptr(),
                use_count: user.uses.len(),
                line: user.line,
                is_inlined: user.is_inlined.into(),
                object_count: objects.len() as u32,
                reserved32: 0,
                objects: objects.as_ptr(),
                reserved: 0,
            })
        })?)
    })
}
