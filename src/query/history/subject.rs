//! Parses what a history is asked of.
use crate::error::{Error, ErrorKind, Result};
use crate::query::resolve::event::as_event;
use crate::query::spec::member_path::{self, Path, Step};
use crate::query::spec::{self, FunctionSpec, Lines, Point, Spec, Spelled, StatementSpec, TraceSpec};
use crate::query::types::lookup;

/// What a name may stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// The functions of a name.
    Function(FunctionSpec),
    /// A type, or a member of it.
    Member(Path),
    /// A tracepoint.
    Tracepoint(TraceSpec),
    /// A tapset alias.
    Alias(String),
    /// A source line, as it was asked.
    Line(Spec, String),
}

impl Subject {
    /// The name in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Function(_) => "function",
            Self::Member(_) => "member",
            Self::Tracepoint(_) => "tracepoint",
            Self::Alias(_) => "alias",
            Self::Line(..) => "line",
        }
    }
}

/// What a text may stand for: a name may be that of a function and of a tracepoint, and only the indexes tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// All that it may be.
    pub subjects: Vec<Subject>,
    /// What it is if it is none of these.
    pub otherwise: Option<Subject>,
}

impl Asked {
    /// Parses `vfs_read`, `vfs_read@fs/read_write.c`, `task_struct.pid`, `struct file`, `sched:sched_switch`, `vm.brk`
    /// and `fs/open.c:1234`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a text that is none of these, for wildcards, and for addresses.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let one = |subject| Ok(Self { subjects: vec![subject], otherwise: None });
        if lookup::split(text).0.is_some() || text.contains("->") {
            return one(Subject::Member(path(text)?));
        }
        let specs = spec::parse(text)?;
        let [spec] = &specs[..] else { return Err(wrong(text, "it is several probe points")) };
        let has_wildcards = || wrong(text, "it is a pattern");
        match &spec.point {
            Point::Function(asked) if !asked.declared.name.is_literal() => Err(has_wildcards()),
            Point::Function(asked) => {
                let mut subjects = vec![Subject::Function(asked.clone())];
                let plain = FunctionSpec::of(spec::ModuleScope::Any, asked.declared.name.clone());
                // A name with a dot is that of a clone.
                let is_bare = spec.spelled == Spelled::Bare && *asked == plain && !text.contains('.');
                let event = plain.declared.name.clone();
                let event = TraceSpec { system: None, event, with_system_calls: true, by_number: None };
                subjects.extend(as_event(spec).or(is_bare.then_some(event)).map(Subject::Tracepoint));
                let otherwise = if is_bare { path(text).ok().map(Subject::Member) } else { None };
                Ok(Self { subjects, otherwise })
            }
            Point::Statement(StatementSpec {
                lines: Some(Lines::Absolute(_) | Lines::Relative(_)), ..
            }) => one(Subject::Line(spec.clone(), text.to_owned())),
            Point::Statement(asked) => match &asked.function {
                Some(name) if name.is_literal() && asked.lines.is_none() => {
                    let mut function = FunctionSpec::of(asked.module.clone(), name.clone());
                    function.declared.file.clone_from(&asked.file);
                    one(Subject::Function(function))
                }
                _ => Err(wrong(text, "it is a whole file")),
            },
            Point::Trace(asked) if asked.event.is_literal() => one(Subject::Tracepoint(asked.clone())),
            Point::Trace(_) => Err(has_wildcards()),
            Point::Alias(components) if components.iter().any(|c| c.name.contains(['*', '?'])) => {
                Err(has_wildcards())
            }
            // Dots separate the words of an alias, and members of a struct.
            Point::Alias(_) => {
                let members = path(text).ok().filter(|path| !path.steps.is_empty()).map(Subject::Member);
                let alias = Subject::Alias(text.to_owned());
                Ok(Self { subjects: members.into_iter().chain([alias]).collect(), otherwise: None })
            }
            Point::Address(_) => Err(wrong(text, "each build has other addresses")),
        }
    }
}

/// A path from a type, the first step of which may be written `->`.
fn path(text: &str) -> Result<Path> {
    let mut path = member_path::parse(text)?;
    if let Some(first) = path.steps.first_mut()
        && let Step::Arrow(name) = first
    {
        *first = Step::Member(std::mem::take(name));
    }
    Ok(path)
}

fn wrong(text: &str, why: &str) -> Error {
    let hint = "name a function, struct NAME or a member of it, a tracepoint, an alias, or FILE:LINE";
    Error::new(ErrorKind::Usage, format!("{text}: {why}, which has no history")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_may_stand_for() {
        for (text, kinds, otherwise) in [
            ("vfs_read", &["function", "tracepoint"][..], Some("member")),
            ("vfs_read@fs/read_write.c", &["function"], None),
            ("finish_task_switch.isra.0", &["function"], None),
            ("kernel.function(\"vfs_read\")", &["function"], None),
            ("sched:sched_switch", &["function", "tracepoint"], None),
            ("kernel.trace(\"sched_switch\")", &["tracepoint"], None),
            ("struct file", &["member"], None),
            ("struct file.f_path.dentry", &["member"], None),
            ("task_struct.pid", &["member", "alias"], None),
            ("task_struct->pid", &["member"], None),
            ("vm.brk", &["member", "alias"], None),
            ("syscall.open.return", &["member", "alias"], None),
            ("fs/open.c:1234", &["line"], None),
            ("vfs_read:3", &["line"], None),
            ("vfs_read@fs/read_write.c:452", &["line"], None),
        ] {
            let asked = Asked::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            let found: Vec<_> = asked.subjects.iter().map(Subject::kind).collect();
            assert_eq!(found, kinds, "{text}");
            assert_eq!(asked.otherwise.as_ref().map(Subject::kind), otherwise, "{text}");
        }
    }

    #[test]
    fn what_has_no_history() {
        for text in ["", "vfs_*", "0xffffffff81000000", "@fs/open.c", "syscall.*", "struct file.", "sched:*"]
        {
            let error = Asked::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}: {error}");
        }
    }
}
