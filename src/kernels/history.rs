//! Reads the history of a name from many kernels. Those of a store are opened only if they may have something else than another one.
use super::side_by_side;
use super::source::Source;
use crate::error::Result;
use crate::query::Index;
use crate::query::history::{
    About, Asked, Chains, Grouping, History, KernelSet, Subject, facts, has_no_alias, is_told,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Opens an index by its path.
pub type Open<'o> = &'o (dyn Fn(&Path) -> Result<Arc<Index>> + Sync);

/// The kernels that have what one of them has.
type Same = BTreeMap<usize, KernelSet>;

/// The histories of all that a name stands for, in these kernels.
///
/// # Errors
/// Those of the indexes.
pub fn histories<'s>(
    asked: &'s Asked,
    sources: &[Source],
    open: Open<'_>,
) -> Result<Vec<(&'s Subject, Vec<History>)>> {
    let subjects: Vec<&Subject> = asked.subjects.iter().collect();
    let found = of_subjects(&subjects, sources, open)?;
    match &asked.otherwise {
        Some(otherwise) if found.is_empty() => of_subjects(&[otherwise], sources, open),
        _ => Ok(found),
    }
}

/// The histories of those of these subjects that a kernel has anything of.
fn of_subjects<'s>(
    subjects: &[&'s Subject],
    sources: &[Source],
    open: Open<'_>,
) -> Result<Vec<(&'s Subject, Vec<History>)>> {
    let store = sources.iter().find_map(Source::stored).map(|(store, _)| store);
    let segment = |source: &Source| {
        let (of, segment) = source.stored()?;
        store.is_some_and(|store| Arc::ptr_eq(of, store)).then_some(segment)
    };
    let segments: Vec<Option<u32>> = sources.iter().map(segment).collect();
    let chains = Chains::of(store.map(|store| &**store), &segments)?;
    let mut same: Vec<Same> = vec![];
    for subject in subjects {
        same.push(match subject {
            Subject::Alias(_) => with_alias(subject, sets(chains.with_tapset()), sources, open)?,
            _ => sets(chains.asked(subject)),
        });
    }
    let kernels: BTreeSet<usize> = same.iter().flat_map(BTreeMap::keys).copied().collect();
    let kernels: Vec<usize> = kernels.into_iter().collect();
    let found = side_by_side(&kernels, |kernel| {
        let index = sources[*kernel].index(open)?;
        let read = || {
            let view = index.view()?;
            let of_each = subjects.iter().zip(&same).map(|(subject, same)| {
                if !same.contains_key(kernel) {
                    return Ok(None);
                }
                let found = facts(&view, subject)?;
                Ok(Some(found).filter(|found| !found.is_empty() || is_told(&view, subject)))
            });
            of_each.collect::<Result<Vec<Option<Vec<About>>>>>()
        };
        read().map_err(|error| index.named(error))
    });
    let found = kernels.into_iter().zip(found).map(|(kernel, found)| Ok((kernel, found?)));
    let found: BTreeMap<usize, _> = found.collect::<Result<_>>()?;
    let histories = same.iter().enumerate().map(|(subject, same)| {
        let mut grouping = Grouping::of(sources.len() as u32);
        same.iter().for_each(|(kernel, same)| match &found[kernel][subject] {
            Some(facts) => grouping.add(facts, same),
            None => grouping.add_unknown(same),
        });
        grouping.finish()
    });
    Ok(subjects.iter().copied().zip(histories).filter(|(_, found)| !found.is_empty()).collect())
}

/// The kernels by the one that is asked in their place.
fn sets(asked: Vec<usize>) -> Same {
    let mut sets = Same::new();
    (0..).zip(asked).for_each(|(at, asked)| sets.entry(asked).or_default().insert(at));
    sets
}

/// Kernels with the same tapset have the same if it lacks the alias; else each one has its own.
fn with_alias(subject: &Subject, same: Same, sources: &[Source], open: Open<'_>) -> Result<Same> {
    let kernels: Vec<usize> = same.keys().copied().collect();
    let lack_it = side_by_side(&kernels, |kernel| {
        Ok(same[kernel].len() == 1 || has_no_alias(&sources[*kernel].index(open)?.view()?, subject))
    });
    let mut sets = Same::new();
    for ((kernel, same), lacks_it) in same.into_iter().zip(lack_it) {
        match lacks_it? {
            true => drop(sets.insert(kernel, same)),
            false => sets.extend(same.iter().map(|at| (at as usize, KernelSet::from_iter([at])))),
        }
    }
    Ok(sets)
}
