//! What stands beside a placement to which a tapset alias leads, as C has it.
use crate::kept::Kept;
use crate::text::{Text, Texts};
use probeidx::query::systemtap::alias::Named;
use probeidx::query::systemtap::alias::locals;

/// `struct probeidx_local`
#[repr(C)]
pub struct Local {
    /// Of the struct.
    pub size: usize,
    /// Its name.
    pub name: Text,
    /// `long`, `string`, `stats`, or `unknown`.
    pub type_name: Text,
    /// The variable of the kernel that it is a copy of; empty where it is not just that.
    pub copy_of: Text,
    /// Of a broken one the part of the kernel's variable that is missing.
    pub variable: Text,
    /// Of a broken one.
    pub why: Text,
    /// Of a broken one: what there is.
    pub instead: *const Text,
    /// How many.
    pub instead_count: usize,
    /// 0 fine, 1 of no known type, 2 broken: a script that uses it is refused.
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
    /// Of the struct.
    pub size: usize,
    /// Under which it was asked.
    pub name: Text,
    /// To which the aliases lead.
    pub point: Text,
    /// The aliases on the way, the asked one first.
    pub through: *const Text,
    /// How many.
    pub through_count: usize,
    /// What the aliases give to a handler.
    pub locals: *const *const Local,
    /// How many.
    pub local_count: usize,
    /// 0.
    pub reserved: [u64; 2],
}

impl Alias {
    /// As it was derived.
    pub fn new(named: &Named<'_>, texts: &mut Texts, kept: &mut Kept) -> Self {
        let (through, through_count) = kept.list(texts.all(named.through));
        let (locals, local_count) = locals(&named.locals.own, texts, kept);
        Self {
            size: size_of::<Self>(),
            name: texts.keep(named.name),
            point: texts.keep(named.point),
            through,
            through_count,
            locals,
            local_count,
            reserved: [0; 2],
        }
    }
}

/// Locals as C has them.
pub fn locals(own: &[locals::Local], texts: &mut Texts, kept: &mut Kept) -> (*const *const Local, usize) {
    let own = own.iter().map(|one| local(one, texts, kept)).collect();
    kept.pointers(own)
}

fn local(local: &locals::Local, texts: &mut Texts, kept: &mut Kept) -> Local {
    let broken = local.broken.as_ref();
    let (instead, instead_count) = kept.list(texts.all(broken.map_or(&[], |b| &b.instead)));
    Local {
        size: size_of::<Local>(),
        name: texts.keep(&*local.name),
        type_name: texts.keep(local.kind),
        copy_of: texts.keep(local.copy_of.as_deref().unwrap_or_default()),
        variable: texts.keep(broken.map_or("", |b| &b.variable)),
        why: texts.keep(broken.map_or("", |b| &b.why)),
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
