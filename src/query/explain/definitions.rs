//! Explains why no tapset definition matches a pattern.
use super::Missing;
use crate::nearest;
use crate::tapset::Definitions;

/// The kinds of tapset definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A probe alias.
    Alias,
    /// A function.
    Function,
    /// A macro.
    Macro,
}

/// The similar names.
pub fn missing(definitions: &Definitions<'_>, kind: Kind, pattern: &str) -> Missing {
    let nearest = |names: &mut dyn Iterator<Item = &str>| nearest::nearest(pattern, names, 5);
    let (what, near) = match kind {
        Kind::Function => ("function", nearest(&mut definitions.function_names().into_iter())),
        Kind::Macro => ("macro", nearest(&mut definitions.macros().map(|(name, _)| name))),
        Kind::Alias => ("alias", nearest(&mut definitions.alias_names().into_iter())),
    };
    Missing::unknown(format!("no {what} {pattern}"), near)
}
