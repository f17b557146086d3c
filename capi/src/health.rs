//! Checks the tapsets against the kernel of an index.
use crate::border::ErrorOut;
use crate::check::{Finding, of_handler, state};
use crate::each::{Each, EachFn, answers};
use crate::handle::Handle;
use crate::kept::Kept;
use crate::resolve::Local;
use crate::text::{Text, Texts};
use probeidx::query::check::{self, tapset_health};
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;

/// `struct probeidx_health`
#[repr(C)]
pub struct Health {
    /// The size of the struct.
    pub size: usize,
    /// The name of the alias.
    pub name: Text,
    /// The file that defines it.
    pub file: Text,
    /// Its points as written.
    pub points: *const Text,
    /// The length of `points`.
    pub point_count: usize,
    /// For each point, whether it resolves alone.
    pub matches: *const u32,
    /// The locals that scripts cannot use.
    pub broken: *const *const Local,
    /// The length of `broken`.
    pub broken_count: usize,
    /// The line of the definition.
    pub line: u32,
    /// The column of the definition.
    pub column: u32,
    /// A `probeidx_point_state`; failed if none of its points resolves.
    pub state: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with every tapset alias, then `found` with the findings in tapset functions.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_check_tapset(
    index: *const Handle,
    each: EachFn<Health>,
    found: EachFn<Finding>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there are no tapsets in the index"), |open, each| {
        let view = open.lookup().view();
        let definitions = check::definitions(view)?;
        let health = tapset_health::health(view, &definitions)?;
        let mut found = Each::new(found, context)?;
        for alias in &health.aliases {
            let (mut texts, mut kept) = (Texts::default(), Kept::default());
            each.call(&of_alias(alias, &mut texts, &mut kept))?;
        }
        let result = health.findings.iter().try_for_each(|one| {
            let mut texts = Texts::default();
            let instead = texts.all(&one.instead);
            found.call(&of_handler(one, &instead, &mut texts))
        });
        found.end(result.map_err(Into::into), None)
    })
}

fn of_alias(alias: &tapset_health::AliasHealth, texts: &mut Texts, kept: &mut Kept) -> Health {
    let (points, matches): (Vec<Text>, Vec<u32>) =
        alias.arms.iter().map(|(point, matches)| (texts.of(&**point), u32::from(*matches))).unzip();
    let ((points, point_count), (matches, _)) = (kept.list(points), kept.list(matches));
    let mut broken = vec![];
    for one in &alias.broken {
        let (instead, instead_count) = kept.list(texts.all(&one.instead));
        broken.push(Local {
            size: size_of::<Local>(),
            name: texts.of(&*one.local),
            type_name: Text::EMPTY,
            copy_of: Text::EMPTY,
            variable: texts.of(&*one.variable),
            why: texts.of(&*one.why),
            instead,
            instead_count,
            state: Local::BROKEN,
            reserved32: 0,
            reserved: [0; 2],
        });
    }
    let (broken, broken_count) = kept.pointers(broken);
    Health {
        size: size_of::<Health>(),
        name: texts.of(&*alias.name),
        file: texts.of(alias.path.as_os_str().as_bytes()),
        points,
        point_count,
        matches,
        broken,
        broken_count,
        line: alias.line,
        column: alias.column,
        state: state(alias.state),
        reserved32: 0,
        reserved: [0; 2],
    }
}
