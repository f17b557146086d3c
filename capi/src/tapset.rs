//! Tapset aliases, and their meaning on this kernel.
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

/// Include those that begin with `_`.
pub const HIDDEN: u32 = 1;
/// For aliases, include the results of their points on this kernel.
pub const EXPLAINED: u32 = 2;

/// `struct probeidx_arm`
#[repr(C)]
pub struct ArmOut {
    /// The size of the struct.
    pub size: usize,
    /// The point as written, with its mark and condition.
    pub point: Text,
    /// The condition only.
    pub condition: Text,
    /// Why it has no probes.
    pub why: Text,
    /// The points of the aliases that it refers to.
    pub through: *const *const ArmOut,
    /// The length of `through`.
    pub through_count: usize,
    /// The number of probes.
    pub probes: u64,
    /// The number of probes that the kernel accepts.
    pub reachable: u64,
    /// The result: see the header.
    pub outcome: u32,
    /// See the constants.
    pub flags: u32,
    /// The number of probes whose verdict is undecided.
    pub undecided: u64,
    /// 0.
    pub reserved: u64,
}

impl ArmOut {
    /// Marked `?` or `!`.
    pub const OPTIONAL: u32 = 1;
    /// Marked `!`.
    pub const SUFFICIENT: u32 = 2;
    /// It has probes and is marked `!`: later points were not tried.
    pub const ENDS: u32 = 4;
    /// The results were not requested.
    pub const UNASKED: u32 = 4;
}

/// `struct probeidx_assignment`
#[repr(C)]
pub struct Assignment {
    /// The size of the struct.
    pub size: usize,
    /// The name that is assigned.
    pub name: Text,
    /// The expression in SystemTap's spelling.
    pub value: Text,
    /// The line of the expression.
    pub line: u32,
    /// Whether it runs after the handler.
    pub is_behind: u32,
}

/// `struct probeidx_group`
#[repr(C)]
pub struct Group {
    /// The size of the struct.
    pub size: usize,
    /// The number of probes with these locals.
    pub probes: u64,
    /// The locals of their handlers.
    pub locals: *const *const Local,
    /// The length of `locals`.
    pub local_count: usize,
}

/// `struct probeidx_definition`
#[repr(C)]
pub struct Definition {
    /// The size of the struct.
    pub size: usize,
    /// The names; usually one.
    pub names: *const Text,
    /// The length of `names`.
    pub name_count: usize,
    /// The file that defines it.
    pub file: Text,
    /// The comment above the definition.
    pub comment: Text,
    /// The points, in order.
    pub arms: *const *const ArmOut,
    /// The length of `arms`.
    pub arm_count: usize,
    /// The values that its bodies assign for handlers.
    pub assignments: *const *const Assignment,
    /// The length of `assignments`.
    pub assignment_count: usize,
    /// The locals of handlers, separately for the probes where they differ.
    pub groups: *const *const Group,
    /// The length of `groups`.
    pub group_count: usize,
    /// The line of the definition.
    pub line: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the aliases that match a pattern.
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
        let view = open.lookup().view();
        let asked = Asked::new(pattern, flags)?;
        let definitions = Definitions::of_index(view)?;
        let names = definitions.alias_names().into_iter().filter(|name| asked.is_meant(name));
        // By position: an alias with several names is one, and a name can be defined repeatedly.
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
            let (mut texts, mut kept) = (Texts::default(), Kept::default());
            each.call(&definition(&definitions, alias, explained.as_ref(), &mut texts, &mut kept))?;
        }
        Ok(definitions.whole()?)
    })
}

/// The requested names.
pub struct Asked {
    pattern: Option<NamePattern>,
    hidden: bool,
}

impl Asked {
    /// Takes pattern and flags from the caller.
    ///
    /// # Errors
    /// For an invalid pattern.
    pub fn new(pattern: *const c_char, flags: u32) -> Answer<Self> {
        let pattern = match pattern.is_null() {
            true => None,
            false => Some(NamePattern::new(text(pattern)?)?),
        };
        Ok(Self { pattern, hidden: flags & HIDDEN != 0 })
    }
    /// Whether private functions are included.
    pub fn with_private(&self) -> bool {
        self.hidden || self.pattern.is_some()
    }
    /// Like the command line: names not meant for scripts are included only if the pattern or the flag asks for them.
    pub fn is_meant(&self, name: &str) -> bool {
        let hidden = self.hidden || self.pattern.as_ref().is_some_and(NamePattern::asks_for_hidden);
        (hidden || !name.starts_with('_')) && self.pattern.as_ref().is_none_or(|p| p.matches(name))
    }
}

/// The file of a definition.
pub fn file(definitions: &Definitions<'_>, place: Place, texts: &mut Texts) -> Text {
    texts.of(definitions.path(place.file).as_os_str().as_bytes())
}

fn definition(
    definitions: &Definitions<'_>,
    alias: &ast::Alias,
    explained: Option<&Explained>,
    texts: &mut Texts,
    kept: &mut Kept,
) -> Definition {
    let names = alias.names.iter().map(|name| texts.of(name.to_string())).collect();
    let (names, name_count) = kept.list(names);
    let unasked = |point: &ast::Point| plain(point, texts);
    let arms = match explained {
        Some(explained) => explained.arms.iter().map(|one| arm(one, texts, kept)).collect(),
        None => alias.points.iter().map(unasked).collect(),
    };
    let (arms, arm_count) = kept.pointers(arms);
    let bodies =
        [(&alias.body.prologue, 0), (&alias.body.epilogue, 1)].into_iter().flat_map(|(body, is_behind)| {
            body.iter().flat_map(Statement::assignments).map(move |one| (one, is_behind))
        });
    let given = bodies.map(|((name, value), is_behind)| Assignment {
        size: size_of::<Assignment>(),
        name: texts.of(name),
        value: texts.of(value.to_string()),
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
        file: file(definitions, alias.body.place, texts),
        comment: texts.of(alias.body.comment.as_deref().unwrap_or_default()),
        arms,
        arm_count,
        assignments,
        assignment_count,
        groups,
        group_count,
        line: alias.body.place.line,
        reserved32: 0,
        reserved: [0; 2],
    }
}

fn plain(point: &ast::Point, texts: &mut Texts) -> ArmOut {
    let condition = point.condition.as_ref().map_or(String::new(), |c| c.to_string());
    let is = |is, flag| if is { flag } else { 0 };
    ArmOut {
        size: size_of::<ArmOut>(),
        point: texts.of(point.to_string()),
        condition: texts.of(condition),
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
        Outcome::Nothing { why } => ArmOut { outcome: 1, why: texts.of(&**why), ..plain },
        Outcome::NotTried => ArmOut { outcome: 2, ..plain },
        Outcome::Unindexed => ArmOut { outcome: 3, ..plain },
    }
}
