//! Explains why a question found nothing, with similar names.
use crate::border::{Answer, ErrorOut, Failure, Status, text};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::kept::Kept;
use crate::text::{Text, Texts};
use probeidx::query::answer;
use probeidx::query::explain::definitions::{self, Kind};
use probeidx::query::explain::{self, Missing as Reason, no_module, types};
use probeidx::query::systemtap::alias::missing;
use probeidx::tapset::Definitions;
use probeidx_format::View;
use std::ffi::{c_char, c_void};

/// `struct probeidx_missing`
#[repr(C)]
pub struct Missing {
    /// The size of the struct.
    pub size: usize,
    /// Why nothing matched.
    pub why: Text,
    /// Similar names, the nearest first.
    pub near: *const Text,
    /// The length of `near`.
    pub near_count: usize,
    /// Whether the name exists, and something else prevents a match.
    pub is_known: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// What was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Sought {
    /// A spec in either spelling, including aliases.
    Spec = 0,
    /// A type.
    Type = 1,
    /// A module.
    Module = 2,
    /// A tapset alias.
    Alias = 3,
    /// A tapset function.
    Function = 4,
    /// A tapset macro.
    Macro = 5,
}

impl Sought {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Spec, Self::Type, Self::Module, Self::Alias, Self::Function, Self::Macro];
}

/// Calls `each` with the reasons why nothing was found.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_why_not(
    index: *const Handle,
    sought: u32,
    asked: *const c_char,
    each: EachFn<Missing>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("nothing is known against it"), |open, each| {
        let view = open.lookup().view();
        for reason in reasons(view, sought, text(asked)?)? {
            let (mut texts, mut kept) = (Texts::default(), Kept::default());
            let (near, near_count) = kept.list(texts.all(&reason.near));
            each.call(&Missing {
                size: size_of::<Missing>(),
                why: texts.of(&*reason.why),
                near,
                near_count,
                is_known: reason.is_known.into(),
                reserved32: 0,
                reserved: [0; 2],
            })?;
        }
        Ok(())
    })
}

fn reasons(view: &View<'_>, sought: u32, asked: &str) -> Answer<Vec<Reason>> {
    let what = Sought::ALL.into_iter().find(|s| *s as u32 == sought);
    let unknown = Failure::Border(Status::Argument, "there is no such kind of question", "ask for 0 to 5");
    let defined = |kind| Ok(vec![definitions::missing(&Definitions::of_index(view)?, kind, asked)]);
    match what.ok_or(unknown)? {
        Sought::Spec => {
            let specs = answer::parse(view, asked)?;
            let mut reasons = explain::why_not(view, &specs);
            reasons.extend(missing::why_not(view, &specs)?);
            Ok(reasons)
        }
        Sought::Type => Ok(vec![types::missing(view, asked)]),
        Sought::Module => Ok(vec![no_module(view, &asked.replace('-', "_"))]),
        Sought::Alias => defined(Kind::Alias),
        Sought::Function => defined(Kind::Function),
        Sought::Macro => defined(Kind::Macro),
    }
}
