//! What stands beside a placement to which a tapset alias leads, as C has it.
use crate::text::{Text, Texts};
use probeidx::query::aliased::Named;
use probeidx::query::derive;

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

/// An alias, with all to which it points but the texts. It is boxed: placements point to it.
pub struct Written {
    /// What a placement points to.
    pub alias: Alias,
    _through: Vec<Text>,
    _locals: Vec<Local>,
    _pointers: Vec<*const Local>,
    _instead: Vec<Vec<Text>>,
}

impl Written {
    /// As it was derived.
    pub fn new(named: &Named<'_>, texts: &mut Texts) -> Box<Self> {
        let through: Vec<Text> = named.through.iter().map(|name| texts.keep(&**name)).collect();
        let (locals, instead): (Vec<_>, Vec<_>) =
            named.locals.own.iter().map(|one| local(one, texts)).unzip();
        let pointers: Vec<*const Local> = locals.iter().map(std::ptr::from_ref).collect();
        let alias = Alias {
            size: size_of::<Alias>(),
            name: texts.keep(named.name),
            point: texts.keep(named.point),
            through: through.as_ptr(),
            through_count: through.len(),
            locals: pointers.as_ptr(),
            local_count: pointers.len(),
            reserved: [0; 2],
        };
        Box::new(Self { alias, _through: through, _locals: locals, _pointers: pointers, _instead: instead })
    }
}

fn local(local: &derive::Local, texts: &mut Texts) -> (Local, Vec<Text>) {
    let broken = local.broken.as_ref();
    let instead: Vec<Text> =
        broken.map_or(&[][..], |b| &b.instead).iter().map(|name| texts.keep(&**name)).collect();
    let written = Local {
        size: size_of::<Local>(),
        name: texts.keep(&*local.name),
        type_name: texts.keep(local.kind),
        copy_of: texts.keep(local.copy_of.as_deref().unwrap_or_default()),
        variable: texts.keep(broken.map_or("", |b| &b.variable)),
        why: texts.keep(broken.map_or("", |b| &b.why)),
        instead: instead.as_ptr(),
        instead_count: instead.len(),
        state: match (broken, local.kind) {
            (Some(_), _) => 2,
            (None, "unknown") => 1,
            (None, _) => 0,
        },
        reserved32: 0,
        reserved: [0; 2],
    };
    (written, instead)
}
