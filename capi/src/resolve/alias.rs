//! What a tapset alias adds to a placement, as C structs.
use crate::kept::Kept;
use crate::text::{Text, Texts};
use probeidx::query::systemtap::alias::Named;
use probeidx::query::systemtap::alias::locals;

/// `struct probeidx_local`
#[repr(C)]
pub struct Local {
    /// The size of the struct.
    pub size: usize,
    /// Its name.
    pub name: Text,
    /// `long`, `string`, `stats`, or `unknown`.
    pub type_name: Text,
    /// The kernel variable that it is a plain copy of; empty if it is not one.
    pub copy_of: Text,
    /// For a broken local, the missing part of the kernel variable.
    pub variable: Text,
    /// For a broken local, the reason.
    pub why: Text,
    /// For a broken local, replacements to suggest.
    pub instead: *const Text,
    /// The length of `instead`.
    pub instead_count: usize,
    /// 0 fine, 1 of unknown type, 2 broken: SystemTap rejects scripts that use it.
    pub state: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

impl Local {
    /// `PROBEIDX_BROKEN`
    pub const BROKEN: u32 = 2;
}

/// `struct probeidx_alias`
#[repr(C)]
pub struct Alias {
    /// The size of the struct.
    pub size: usize,
    /// The requested name.
    pub name: Text,
    /// The point that the aliases lead to.
    pub point: Text,
    /// The aliases that lead to the point, the requested one first.
    pub through: *const Text,
    /// The length of `through`.
    pub through_count: usize,
    /// The locals that the aliases provide to a handler.
    pub locals: *const *const Local,
    /// The length of `locals`.
    pub local_count: usize,
    /// 0.
    pub reserved: [u64; 2],
}

impl Alias {
    /// Converts what was derived.
    pub fn new(named: &Named<'_>, texts: &mut Texts, kept: &mut Kept) -> Self {
        let (through, through_count) = kept.list(texts.all(named.through));
        let (locals, local_count) = locals(&named.locals.own, texts, kept);
        Self {
            size: size_of::<Self>(),
            name: texts.of(named.name),
            point: texts.of(named.point),
            through,
            through_count,
            locals,
            local_count,
            reserved: [0; 2],
        }
    }
}

/// Converts locals to C structs.
pub fn locals(own: &[locals::Local], texts: &mut Texts, kept: &mut Kept) -> (*const *const Local, usize) {
    let own = own.iter().map(|one| local(one, texts, kept)).collect();
    kept.pointers(own)
}

fn local(local: &locals::Local, texts: &mut Texts, kept: &mut Kept) -> Local {
    let broken = local.broken.as_ref();
    let (instead, instead_count) = kept.list(texts.all(broken.map_or(&[], |b| &b.instead)));
    Local {
        size: size_of::<Local>(),
        name: texts.of(&*local.name),
        type_name: texts.of(local.kind),
        copy_of: texts.of(local.copy_of.as_deref().unwrap_or_default()),
        variable: texts.of(broken.map_or("", |b| &b.variable)),
        why: texts.of(broken.map_or("", |b| &b.why)),
        instead,
        instead_count,
        state: match (broken, local.kind) {
            (Some(_), _) => Local::BROKEN,
            (None, "unknown") => 1,
            (None, _) => 0,
        },
        reserved32: 0,
        reserved: [0; 2],
    }
}
