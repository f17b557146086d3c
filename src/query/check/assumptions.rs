//! What a handler can see where the index cannot decide: in a program, or in probes that SystemTap implements itself.
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::query::systemtap::derive::{Derived, HandlerContext, Place};
use crate::tapset::ast::{Root, Statement, Type, Variable};
use crate::tapset::context::{Absent, Access, Context, Detail, Value};

/// What the handler of a probe can see.
pub(super) struct Assumed<'q> {
    here: HandlerContext<'q>,
    place: Place<'q>,
    /// The kind of point, by its first component, which determines its variables.
    kind: Kind,
}

/// The kinds of points that have variables of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// `procfs(…).read`: what a reader of the file gets.
    ProcfsRead,
    /// `procfs(…).write`: what was written to the file.
    ProcfsWrite,
    Netfilter,
    /// `process(…).syscall`
    Syscall,
    /// `process(…).syscall.return`
    SyscallReturn,
    /// `process(…).begin`, `.end`, and those of threads.
    Lifetime,
    Other,
}

/// The variables of `netfilter` probes (tapset-netfilter.cxx of SystemTap 4.8).
const NETFILTER: [&str; 6] = ["$hooknum", "$skb", "$in", "$out", "$okfn", "$verdict"];

impl Kind {
    /// That of a point in its canonical spelling.
    fn of(point: &[u8]) -> Self {
        let ends = |with: &str| point.ends_with(with.as_bytes());
        match point {
            _ if point.starts_with(b"procfs") => match ends(".write") {
                true => Self::ProcfsWrite,
                false => Self::ProcfsRead,
            },
            _ if point.starts_with(b"netfilter") => Self::Netfilter,
            _ if !point.starts_with(b"process") => Self::Other,
            _ if ends(".syscall") => Self::Syscall,
            _ if ends(".syscall.return") => Self::SyscallReturn,
            _ if ends(".begin") || ends(".end") => Self::Lifetime,
            _ => Self::Other,
        }
    }

    /// The sort of a variable of its own; `None` if it has none of the name. `Other` has no variables of its own.
    fn variable(self, name: &str) -> Option<Type> {
        let argument = |name: &str| name.strip_prefix("$arg").and_then(|number| number.parse::<u8>().ok());
        match self {
            Self::ProcfsRead | Self::ProcfsWrite => (name == "$value").then_some(Type::String),
            Self::Netfilter => NETFILTER.contains(&name).then_some(Type::Long),
            Self::Syscall if name == "$$parms" => Some(Type::String),
            Self::Syscall if argument(name).is_some_and(|number| (1..=6).contains(&number)) => {
                Some(Type::Long)
            }
            Self::SyscallReturn if name == "$return" => Some(Type::Long),
            Self::Syscall | Self::SyscallReturn => (name == "$syscall").then_some(Type::Long),
            Self::Lifetime | Self::Other => None,
        }
    }

    /// The names of its variables, for those who ask for another one.
    fn variables(self) -> &'static str {
        match self {
            Self::ProcfsRead | Self::ProcfsWrite => "a probe of procfs has $value alone",
            Self::Netfilter => "a probe of netfilter has $hooknum, $skb, $in, $out, $okfn and $verdict",
            Self::Syscall => "a probe of system calls has $syscall, $arg1 to $arg6 and $$parms",
            Self::SyscallReturn => "a probe of returns from system calls has $syscall and $return",
            Self::Lifetime => "a probe of where processes and threads begin and end has no variables",
            Self::Other => "",
        }
    }

    /// Why a variable of its own cannot be read, or written.
    fn refusal(self, name: &str, access: Access) -> Option<&'static str> {
        match (self, access.writes) {
            (Self::Netfilter, _) if name == "$verdict" => {
                (!access.guru).then_some("it needs guru mode (stap -g)")
            }
            (Self::ProcfsRead, false) => Some("in a procfs read probe it can be written alone"),
            (Self::ProcfsRead, true) => None,
            (_, false) => None,
            (Self::ProcfsWrite, true) => Some("in a procfs write probe it can be read alone"),
            (_, true) => Some("it can be read alone"),
        }
    }
}

impl<'q> Assumed<'q> {
    pub fn new(derived: &Derived<'q>) -> Self {
        Self { here: derived.here(), place: derived.place, kind: Kind::of(derived.point) }
    }

    /// The name of a variable of this kind of point, whether it has such a one or not.
    fn own<'v>(&self, variable: &'v Variable) -> Option<&'v str> {
        match &variable.root {
            Root::Context(name) if self.kind != Kind::Other => Some(name),
            _ => None,
        }
    }

    /// Identifies equivalent handlers: two places with the same answers count as one.
    pub fn fingerprint(&self, parts: &[&Statement]) -> u64 {
        let mut hasher = FxHasher::default();
        (self.kind, self.returns()).hash(&mut hasher);
        for part in parts {
            std::ptr::from_ref(*part).hash(&mut hasher);
            for variable in part.variables() {
                if !matches!(variable.root, Root::Value(_)) {
                    match self.variable(variable, None) {
                        Ok(value) => (value.kind as u8, value.detail).hash(&mut hasher),
                        Err(absent) => (&absent.what, &absent.why).hash(&mut hasher),
                    }
                }
            }
        }
        hasher.finish()
    }
}

impl Context for Assumed<'_> {
    fn variable(&self, variable: &Variable, of: Option<Detail>) -> Result<Value, Absent> {
        if let Some(name) = self.own(variable) {
            let absent =
                |why: &str| Err(Absent { what: variable.to_string(), why: why.to_owned(), ..<_>::default() });
            return match self.kind.variable(name) {
                None => absent(self.kind.variables()),
                Some(_) if variable.address_of => absent("it has no address"),
                Some(kind) if variable.path.is_empty() => Ok(Value { kind, detail: None }),
                // SystemTap knows the type of `$skb`, `$in` and `$out` where the kernel's debug information has it.
                Some(_) if self.kind == Kind::Netfilter => Ok(Value::of_unknown_type(variable)),
                Some(_) => absent("it has no members"),
            };
        }
        let is_of_program = matches!(self.place, Place::Unindexed) && self.kind == Kind::Other;
        match &variable.root {
            Root::Context(name) if is_of_program && name.starts_with("$$") => {
                Ok(Value { kind: Type::String, detail: None })
            }
            // Where no module is named, variables and types are those of what is probed.
            Root::Context(_) | Root::Global { module: None, .. } | Root::Cast { module: None, .. }
                if is_of_program =>
            {
                Ok(Value::of_unknown_type(variable))
            }
            _ => self.here.variable(variable, of),
        }
    }

    fn enumerator(&self, name: &str) -> Result<(), Absent> {
        match self.place {
            Place::Unindexed => Ok(()),
            _ => self.here.enumerator(name),
        }
    }

    fn returns(&self) -> bool {
        matches!(self.place, Place::Unindexed) || self.here.returns()
    }

    fn refusal(&self, variable: &Variable, access: Access) -> Option<&'static str> {
        match self.own(variable) {
            Some(name) if self.kind.variable(name).is_some() => self.kind.refusal(name, access),
            Some(_) => None,
            None => self.here.refusal(variable, access),
        }
    }
}
