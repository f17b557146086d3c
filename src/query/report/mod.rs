//! How much of a kernel its compiler inlined, transformed and duplicated, and how much changed from one kernel to the
//! next. The classes are those of DepSurf (Zhong et al., Revealing the Unstable Foundations of eBPF-Based Kernel
//! Extensions, EuroSys '25), by which other studies count as well: a function is a name.
use crate::query::diff::{Asked, Difference, Subject, compare};
use crate::query::index::functions::{self, Declarations, Placed, Scope};
use crate::query::index::symbols;
use crate::query::spec::ModuleScope;
use crate::query::verdict::coverage;
use probeidx_format::View;
use probeidx_format::id::{NameId, ObjectId};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// What became of the functions of a kernel: each name counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// The names of functions that have code.
    pub functions: usize,
    /// Those that only have code of their own.
    pub not_inlined: usize,
    /// Those without code of their own: a probe at the function finds nothing.
    pub fully_inlined: usize,
    /// Those with both: a probe at the function misses the inlined calls.
    pub selectively_inlined: usize,
    /// Those of which a symbol has a suffix, because the compiler changed or split them: `.isra.0`, `.constprop.0`,
    /// `.part.0`, `.cold`.
    pub transformed: usize,
    /// Those that one declaration has several functions of: static ones of headers.
    pub duplicated: usize,
    /// Those that several declarations have functions of.
    pub collided: usize,
}

/// The functions of vmlinux, as DepSurf counts them, or of other objects. Cost: linear in all placements.
pub fn shares(view: &View<'_>, objects: &ModuleScope) -> Shares {
    let scope = Scope::new(view, objects);
    let mut shares = Shares::default();
    let mut found = vec![];
    for at in 0..view.names.len() as u32 {
        let name = NameId::new(at);
        let (mut entries, mut copies, mut declared, mut has_suffix) = (0, 0, 0, false);
        for declaration in Declarations::of(view, Some(name)) {
            let before = entries;
            functions::places(view, &declaration, &scope, &mut found, |object, places| {
                for place in places.iter().filter(|place| !coverage::is_nested(view, **place)) {
                    match place.is_inline(view) {
                        true => copies += 1,
                        false => {
                            entries += 1;
                            has_suffix |= starts_with_suffix(view, object, *place);
                        }
                    }
                }
            });
            declared += usize::from(entries > before);
        }
        match (entries, copies) {
            (0, 0) => continue,
            (_, 0) => shares.not_inlined += 1,
            (0, _) => shares.fully_inlined += 1,
            _ => shares.selectively_inlined += 1,
        }
        shares.functions += 1;
        shares.transformed += usize::from(has_suffix || entries > 0 && has_parts(view, name, &scope));
        shares.duplicated += usize::from(declared == 1 && entries > 1);
        shares.collided += usize::from(declared > 1);
    }
    shares
}

/// Whether the symbol at an entry has a suffix.
fn starts_with_suffix(view: &View<'_>, object: ObjectId, place: Placed) -> bool {
    let held = symbols::holding(view, object, place.record.entry.get()).filter(|held| held.offset == 0);
    held.is_some_and(|held| view.string(held.record.name).contains(&b'.'))
}

/// Whether there are symbols of parts of the function: `NAME.cold`.
fn has_parts(view: &View<'_>, name: NameId, scope: &Scope) -> bool {
    let prefix = [view.string(view.names.at(name.index()).name), b"."].concat();
    functions::names_starting(view, &prefix).any(|at| {
        let named = view.symbols_named(NameId::new(at as u32));
        named.iter().any(|symbol| {
            scope.contains(view.object_of_symbol(symbol))
                && functions::symbol(view, symbol).is_some_and(|s| s.is_function())
        })
    })
}

/// How many things of a kind changed from one kernel to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The number that only the second kernel has.
    pub added: usize,
    /// The number that only the first kernel has.
    pub removed: usize,
    /// The number that both have and that differ.
    pub changed: usize,
}

/// The changes from one kernel to the next by kind: `function`, `struct`, `union`, `enum`, `tracepoint`. Cost: that of
/// comparing the two.
pub fn changes(views: [&View<'_>; 2]) -> BTreeMap<&'static str, Changes> {
    let Ok(everything) = Asked::parse("*") else { return BTreeMap::new() };
    let mut changes: BTreeMap<&'static str, Changes> = BTreeMap::new();
    for kind in [Subject::Function, Subject::Type("struct"), Subject::Tracepoint] {
        changes.insert(kind.name(), Changes::default());
    }
    let Ok(_) = compare::<Infallible>(views, &everything, |found: &Difference<'_>| {
        let counts = changes.entry(found.subject.name()).or_default();
        match (found.before, found.after) {
            (None, _) => counts.added += 1,
            (_, None) => counts.removed += 1,
            _ => counts.changed += 1,
        }
        Ok(())
    });
    changes
}
