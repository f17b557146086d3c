//! What a handler can see where the index cannot decide: in a program, or in probes that SystemTap implements itself.
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::query::systemtap::derive::{Derived, HandlerContext, Place};
use crate::tapset::ast::{Root, Statement, Step, Type, Variable};
use crate::tapset::context::{Absent, Context, Detail, Value};

/// What the handler of a probe can see.
pub(super) struct Assumed<'q> {
    here: HandlerContext<'q>,
    place: Place<'q>,
    /// The kind of point, by its first component, which determines its variables.
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Procfs,
    Netfilter,
    Other,
}

/// The variables of `netfilter` probes (tapset-netfilter.cxx of SystemTap 4.8).
const NETFILTER: [&str; 8] = ["$hooknum", "$skb", "$in", "$out", "$okfn", "$verdict", "$pf", "$ops"];

impl<'q> Assumed<'q> {
    pub fn new(derived: &Derived<'q>) -> Self {
        let begins = |with: &str| derived.point.starts_with(with.as_bytes());
        let kind = match () {
            () if begins("procfs") => Kind::Procfs,
            () if begins("netfilter") => Kind::Netfilter,
            () => Kind::Other,
        };
        Self { here: derived.here(), place: derived.place, kind }
    }

    /// Identifies equivalent handlers: two places with the same answers count as one.
    pub fn fingerprint(&self, parts: &[&Statement]) -> u64 {
        let mut hasher = FxHasher::default();
        self.returns().hash(&mut hasher);
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
        let Root::Context(name) = &variable.root else { return self.here.variable(variable, of) };
        let is_text = variable.path.iter().any(|step| matches!(step, Step::Pretty(_)));
        let any = |kind| Ok(Value { kind, detail: None });
        match (self.place, self.kind) {
            (Place::Unindexed, _) if is_text || name.starts_with("$$") => any(Type::String),
            (Place::Unindexed, _) => any(Type::Long),
            (Place::Nowhere, Kind::Procfs) if name == "$value" => any(Type::String),
            (Place::Nowhere, Kind::Netfilter) if NETFILTER.contains(&&**name) || name.starts_with("$nf_") => {
                any(Type::Long)
            }
            _ => self.here.variable(variable, of),
        }
    }

    fn returns(&self) -> bool {
        matches!(self.place, Place::Unindexed) || self.here.returns()
    }

    fn writable(&self, variable: &Variable) -> bool {
        self.kind == Kind::Procfs && matches!(&variable.root, Root::Context(name) if name == "$value")
    }
}
