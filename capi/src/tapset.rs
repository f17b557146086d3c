//! The aliases of the tapsets, and what they mean on this kernel.
use crate::border::{Answer, ErrorOut, text};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::kept::Kept;
use crate::resolve::{Local, locals};
use crate::text::{Text, Texts};
use probeidx::query::systemtap::alias;
use probeidx::query::systemtap::alias::explain::{self, Arm, Explained, Outcome};
use probeidx::tapset::ast::{self, Statement};
use probeidx::tapset::name::NamePattern;
use probeidx::tapset::{Definitions, Place};
use std::ffi::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;

/// Those that begin with `_` too.
pub const HIDDEN: u32 = 1;
/// Of aliases what becomes of their points on this kernel.
pub const EXPLAINED: u32 = 2;

/// `struct probeidx_arm`
#[repr(C)]
pub struct ArmOut {
    /// Of the struct.
    pub size: usize,
    /// As it is written, with its mark and condition.
    pub point: Text,
    /// The condition alone.
    pub condition: Text,
    /// Why it has no probes.
    pub why: Text,
    /// The points of the aliases that it names.
    pub through: *const *const ArmOut,
    /// How many.
    pub through_count: usize,
    /// How many probes it has.
    pub probes: u64,
    /// How many of them the kernel takes.
    pub reachable: u64,
    /// What came of it: see the header.
    pub outcome: u32,
    /// See the constants.
    pub flags: u32,
    /// Of how many of the probes it is not known whether the kernel takes them.
    pub undecided: u64,
    /// 0.
    pub reserved: u64,
}

impl ArmOut {
    /// Marked `?` or `!`.
    pub const OPTIONAL: u32 = 1;
    /// Marked `!`.
    pub const SUFFICIENT: u32 = 2;
    /// It has probes and is marked `!`: what stands behind it was not tried.
    pub const ENDS: u32 = 4;
    /// What became of it was not asked.
    pub const UNASKED: u32 = 4;
}

/// `struct probeidx_assignment`
#[repr(C)]
pub struct Assignment {
    /// Of the struct.
    pub size: usize,
    /// What is given.
    pub name: Text,
    /// As SystemTap spells the expression.
    pub value: Text,
    /// Of the expression.
    pub line: u32,
    /// Whether it runs behind the handler.
    pub is_behind: u32,
}

/// `struct probeidx_group`
#[repr(C)]
pub struct Group {
    /// Of the struct.
    pub size: usize,
    /// How many probes have these locals.
    pub probes: u64,
    /// What a handler has at them.
    pub locals: *const *const Local,
    /// How many.
    pub local_count: usize,
}

/// `struct probeidx_definition`
#[repr(C)]
pub struct Definition {
    /// Of the struct.
    pub size: usize,
    /// Usually one.
    pub names: *const Text,
    /// How many.
    pub name_count: usize,
    /// Where it is defined.
    pub file: Text,
    /// What the comment above it says.
    pub comment: Text,
    /// Its points, in order.
    pub arms: *const *const ArmOut,
    /// How many.
    pub arm_count: usize,
    /// What its bodies give to handlers.
    pub assignments: *const *const Assignment,
    /// How many.
    pub assignment_count: usize,
    /// What handlers have, apart for the probes where that differs.
    pub groups: *const *const Group,
    /// How many.
    pub group_count: usize,
    /// Of the definition.
    pub line: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the aliases that a pattern matches.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_tapset(
    index: *const Handle,
    pattern: *const c_char,
    flags: u32,
    each: EachFn<Definition>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there is no such alias"), |open, each| {
        let view = *open.lookup().view();
        let asked = Asked::new(pattern, flags)?;
        let definitions = Definitions::of_index(&view)?;
        let names = definitions.alias_names().into_iter().filter(|name| asked.is_meant(name));
        // By where they stand: an alias of several names is one, and a name can be defined again.
        let mut found: Vec<&ast::Alias> = vec![];
        for alias in names.flat_map(|name| definitions.alias(name)) {
            if !found.iter().any(|other| std::ptr::eq(*other, alias)) {
                found.push(alias);
            }
        }
        let words = alias::words(view, &definitions);
        for alias in found {
            let explained = match flags & EXPLAINED {
                0 => None,
                _ => Some(explain::explain(view, &definitions, &words, alias)?),
            };
            let (mut texts, mut kept) = (Texts::new(view.strings()), Kept::default());
            each.call(&definition(&definitions, alias, explained.as_ref(), &mut texts, &mut kept))?;
        }
        Ok(definitions.whole()?)
    })
}

/// Which names are asked for.
pub struct Asked {
    pattern: Option<NamePattern>,
    hidden: bool,
}

impl Asked {
    /// As the caller says.
    ///
    /// # Errors
    /// The pattern is none.
    pub fn new(pattern: *const c_char, flags: u32) -> Answer<Self> {
        let pattern = match pattern.is_null() {
            true => None,
            false => Some(NamePattern::new(text(pattern)?)?),
        };
        Ok(Self { pattern, hidden: flags & HIDDEN != 0 })
    }
    /// Whether private functions are.
    pub fn with_private(&self) -> bool {
        self.hidden || self.pattern.is_some()
    }
    /// As the command line: those that are not meant for scripts only where the pattern, or the flag, says so.
    pub fn is_meant(&self, name: &str) -> bool {
        let hidden = self.hidden || self.pattern.as_ref().is_some_and(NamePattern::asks_for_hidden);
        (hidden || !name.starts_with('_')) && self.pattern.as_ref().is_none_or(|p| p.matches(name))
    }
}

/// The file of a definition.
pub fn file(definitions: &Definitions<'_>, place: Place, texts: &mut Texts) -> Text {
    texts.keep(definitions.path(place.file).as_os_str().as_bytes())
}

fn definition(
    definitions: &Definitions<'_>,
    alias: &ast::Alias,
    explained: Option<&Explained>,
    texts: &mut Texts,
    kept: &mut Kept,
) -> Definition {
    let names = alias.names.iter().map(|name| texts.keep(name.to_string())).collect();
    let (names, name_count) = kept.list(names);
    let unasked = |point: &ast::Point| plain(point, texts);
    let arms = match explained {
        Some(explained) => explained.arms.iter().map(|one| arm(one, texts, kept)).collect(),
        None => alias.points.iter().map(unasked).collect(),
    };
    let (arms, arm_count) = kept.pointers(arms);
    let bodies = [(&alias.prologue, 0), (&alias.epilogue, 1)].into_iter().flat_map(|(body, is_behind)| {
        body.iter().flat_map(Statement::assignments).map(move |one| (one, is_behind))
    });
    let given = bodies.map(|((name, value), is_behind)| Assignment {
        size: size_of::<Assignment>(),
        name: texts.keep(name),
        value: texts.keep(value.to_string()),
        line: value.place.line,
        is_behind,
    });
    let (assignments, assignment_count) = kept.pointers(given.collect());
    let mut groups = vec![];
    for (own, probes) in explained.map_or(&[][..], |e| &e.locals) {
        let (locals, local_count) = locals(&own.own, texts, kept);
        groups.push(Group { size: size_of::<Group>(), probes: *probes as u64, locals, local_count });
    }
    let (groups, group_count) = kept.pointers(groups);
    Definition {
        size: size_of::<Definition>(),
        names,
        name_count,
        file: file(definitions, alias.place, texts),
        comment: texts.keep(alias.comment.as_deref().unwrap_or_default()),
        arms,
        arm_count,
        assignments,
        assignment_count,
        groups,
        group_count,
        line: alias.place.line,
        reserved32: 0,
        reserved: [0; 2],
    }
}

fn plain(point: &ast::Point, texts: &mut Texts) -> ArmOut {
    let condition = point.condition.as_ref().map_or(String::new(), |c| c.to_string());
    let is = |is, flag| if is { flag } else { 0 };
    ArmOut {
        size: size_of::<ArmOut>(),
        point: texts.keep(point.to_string()),
        condition: texts.keep(condition),
        why: Text::EMPTY,
        through: std::ptr::null(),
        through_count: 0,
        probes: 0,
        reachable: 0,
        outcome: ArmOut::UNASKED,
        flags: is(point.optional, ArmOut::OPTIONAL) | is(point.sufficient, ArmOut::SUFFICIENT),
        undecided: 0,
        reserved: 0,
    }
}

fn arm(arm_of: &Arm, texts: &mut Texts, kept: &mut Kept) -> ArmOut {
    let inner = arm_of.inner.iter().map(|one| arm(one, texts, kept)).collect();
    let (through, through_count) = kept.pointers(inner);
    let plain = ArmOut { through, through_count, ..plain(&arm_of.point, texts) };
    match &arm_of.outcome {
        Outcome::Probes { places, reachable, undecided, ends } => ArmOut {
            outcome: 0,
            probes: *places as u64,
            reachable: *reachable as u64,
            undecided: *undecided as u64,
            flags: plain.flags | if *ends { ArmOut::ENDS } else { 0 },
            ..plain
        },
        Outcome::Nothing { why } => ArmOut { outcome: 1, why: texts.keep(&**why), ..plain },
        Outcome::NotTried => ArmOut { outcome: 2, ..plain },
        Outcome::Unindexed => ArmOut { outcome: 3, ..plain },
    }
}
