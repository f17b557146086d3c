//! Types, their members, and who takes them.
use crate::border::{Answer, Each, EachFn, ErrorOut, ask, text};
use crate::handle::Handle;
use crate::text::{Text, Texts};
use probeidx::lookup::{self, Lookup};
use probeidx::query::path::{self, Step};
use probeidx::query::users;
use probeidx::{Error, ErrorKind};
use probeidx_format::id::TypeId;
use std::ffi::{c_char, c_void};

/// `struct probeidx_type`
#[repr(C)]
pub struct Type {
    /// Of the struct.
    pub size: usize,
    /// Without `struct` and the like.
    pub name: Text,
    /// As C writes it.
    pub spelled: Text,
    /// Of its definition.
    pub file: Text,
    /// Members, enumerators, parameters or dimensions.
    pub members: *const *const Member,
    /// How many.
    pub member_count: usize,
    /// In bytes; `UINT64_MAX` where it has none.
    pub bytes: u64,
    /// Of its definition.
    pub line: u32,
    /// What it is: see the header.
    pub kind: u32,
    /// Its number.
    pub id: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// `struct probeidx_member`
#[repr(C)]
pub struct Member {
    /// Of the struct.
    pub size: usize,
    /// Empty for an anonymous one.
    pub name: Text,
    /// Its type, as C writes it.
    pub type_name: Text,
    /// In bytes from the start of the struct; of a bit-field, of the number that holds it.
    pub offset: u64,
    /// Of its type; `UINT64_MAX` where it has none.
    pub bytes: u64,
    /// Of an enumerator its value, of a dimension the number of elements, -1 unknown.
    pub value: i64,
    /// Of a bit-field its lowest bit within the number.
    pub lowest_bit: u32,
    /// Its width, or 0.
    pub width: u32,
    /// The number of its type, or `UINT32_MAX`.
    pub type_id: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the types of a name.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_type(
    index: *const Handle,
    name: *const c_char,
    each: EachFn<Type>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| -> Answer {
        let lookup = open.lookup();
        let mut each = Each::new(each, context)?;
        let name = text(name)?;
        let result = lookup.types(name).try_for_each(|one| call(lookup, one, &mut each));
        each.end(result, "there is no such type")
    })
}

/// Calls `each` with the type of a number.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_type_of(
    index: *const Handle,
    id: u32,
    each: EachFn<Type>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| -> Answer {
        let lookup = open.lookup();
        let mut each = Each::new(each, context)?;
        let found = lookup::Type::new(lookup, TypeId::new(id));
        let result = found.map_or(Ok(()), |one| call(lookup, one, &mut each));
        each.end(result, "there is no such type")
    })
}

fn call(lookup: Lookup<'_>, one: lookup::Type<'_>, each: &mut Each<Type>) -> probeidx::Result<()> {
    let mut texts = Texts::new(lookup.view().strings());
    let members: Vec<Member> = one.members().map(|m| member(&m, &mut texts)).collect();
    let pointers: Vec<*const Member> = members.iter().map(std::ptr::from_ref).collect();
    each.call(&Type {
        size: size_of::<Type>(),
        name: texts.of(one.name()),
        spelled: texts.keep(one.spelled()),
        file: texts.of(one.file()),
        members: pointers.as_ptr(),
        member_count: pointers.len(),
        bytes: one.size().unwrap_or(u64::MAX),
        line: one.line(),
        kind: one.kind() as u32,
        id: one.id().get(),
        reserved32: 0,
        reserved: [0; 2],
    })
}

fn member(m: &lookup::Member<'_>, texts: &mut Texts) -> Member {
    let place = m.place();
    let of = m.type_of();
    let (lowest_bit, width) = place.and_then(|p| p.bits).unwrap_or((0, 0));
    Member {
        size: size_of::<Member>(),
        name: texts.of(m.name()),
        type_name: of.map_or(Text::EMPTY, |t| texts.keep(t.spelled())),
        offset: place.map_or(0, |p| p.offset),
        bytes: of.and_then(|t| t.size()).unwrap_or(u64::MAX),
        value: if place.is_some() { 0 } else { m.value() },
        lowest_bit,
        width,
        type_id: of.map_or(u32::MAX, |t| t.id().get()),
        reserved32: 0,
        reserved: [0; 2],
    }
}

/// Calls `each` with the member at the end of a path: `struct file.f_path.dentry`, `task_struct->comm`; its offset is counted
/// from the start of what the last pointer on the way leads to.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_member(
    index: *const Handle,
    path: *const c_char,
    each: EachFn<Member>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| -> Answer {
        let lookup = open.lookup();
        let mut each = Each::new(each, context)?;
        let mut path = path::parse(text(path)?)?;
        // What is asked for is the type itself, no pointer to it.
        if let Some(first) = path.steps.first_mut()
            && let Step::Arrow(name) = first
        {
            *first = Step::Member(std::mem::take(name));
        }
        let mut result = Ok(());
        for root in lookup.types(&path.root) {
            let walked = path::walk_path(lookup.view(), root.id(), &path)?;
            let place = walked.place();
            let of = walked.type_id.and_then(|id| lookup::Type::new(lookup, id));
            let mut texts = Texts::new(lookup.view().strings());
            let (lowest_bit, width) = walked.bits.unwrap_or((0, 0));
            result = each.call(&Member {
                size: size_of::<Member>(),
                name: texts.keep(path.to_string()),
                type_name: of.map_or(Text::EMPTY, |t| texts.keep(t.spelled())),
                offset: place.offset,
                bytes: of.and_then(|t| t.size()).unwrap_or(u64::MAX),
                value: 0,
                lowest_bit,
                width,
                type_id: of.map_or(u32::MAX, |t| t.id().get()),
                reserved32: 0,
                reserved: [0; 2],
            });
            if result.is_err() {
                break;
            }
        }
        each.end(result, "there is no such type")
    })
}

/// `struct probeidx_user`
#[repr(C)]
pub struct User {
    /// Of the struct.
    pub size: usize,
    /// The function.
    pub function: Text,
    /// Of its declaration.
    pub file: Text,
    /// Pairs: 0 for what it returns or the number of a parameter, and how many pointers lead to the type.
    pub uses: *const u32,
    /// How many pairs.
    pub use_count: usize,
    /// Of its declaration.
    pub line: u32,
    /// Whether it is inlined somewhere.
    pub is_inlined: u32,
    /// In how many objects it has code.
    pub object_count: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
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
    ask(index, error, |open| -> Answer {
        let lookup = open.lookup();
        let mut each = Each::new(each, context)?;
        let wanted: Vec<TypeId> = lookup.types(text(name)?).map(|t| t.id()).collect();
        if wanted.is_empty() {
            return Err(Error::new(ErrorKind::NoMatch, "there is no such type").into());
        }
        let result = users::users(lookup.view(), &wanted, |user| {
            let mut texts = Texts::new(lookup.view().strings());
            let uses: Vec<u32> = user.uses.iter().flat_map(|(at, depth)| [*at, *depth]).collect();
            each.call(&User {
                size: size_of::<User>(),
                function: texts.of(user.name),
                file: texts.of(user.file),
                uses: uses.as_ptr(),
                use_count: user.uses.len(),
                line: user.line,
                is_inlined: user.is_inlined.into(),
                object_count: user.objects.len() as u32,
                reserved32: 0,
                reserved: [0; 2],
            })
        });
        each.end(result, "no function takes or returns it")
    })
}
