//! Walks along the names of aliases, component by component.
use std::cmp::Ordering;
use std::ops::Range;

use probeidx_format::tapset::DefinitionKind;

use super::super::Definitions;
use super::super::ast::{Alias, Component};
use super::super::stored::Definition;
use super::{Stop, Walk};
use crate::pattern::Pattern;

/// The aliases whose names begin with the same components.
#[derive(Clone)]
pub(super) struct Node<'d> {
    all: &'d Definitions<'d>,
    /// Positions in the names of the index.
    stored: Range<usize>,
    /// Positions in the names of the script.
    own: Range<usize>,
    /// The length of these components, including the dot after each.
    length: usize,
}

impl<'d> Node<'d> {
    pub fn root(all: &'d Definitions<'d>) -> Self {
        let own = 0..all.own.as_ref().map_or(0, |own| own.aliases.len());
        Self { all, stored: all.stored.of_kind(DefinitionKind::Alias), own, length: 0 }
    }

    fn stored_name(&self, at: usize) -> &'d [u8] {
        self.all.stored.name(at)
    }
    fn own_name(&self, at: usize) -> &'d [u8] {
        self.all.own.as_ref().map_or(&[], |own| own.aliases[at].0.as_bytes())
    }

    /// The aliases with this next component.
    pub fn below(&self, component: &[u8]) -> Option<Self> {
        let Self { length, .. } = *self;
        let stored =
            narrow(self.stored.clone(), |at| self.all.stored.compare_component(at, length, component));
        let own =
            narrow(self.own.clone(), |at| next_component(self.own_name(at), length).cmp(&Some(component)));
        let length = length + component.len() + 1;
        (!stored.is_empty() || !own.is_empty()).then_some(Self { all: self.all, stored, own, length })
    }

    /// Like [`Self::below`], remembering what is below the root.
    fn named(&self, component: &str, walk: &mut Walk<'d, '_>) -> Option<Self> {
        if self.length > 0 {
            return self.below(component.as_bytes());
        }
        if let Some(found) = walk.firsts.get(component) {
            return found.clone();
        }
        let found = self.below(component.as_bytes());
        walk.firsts.insert(component.to_owned(), found.clone());
        found
    }

    /// All next components.
    pub fn components(&self) -> Vec<&'d [u8]> {
        let next = |name: &'d [u8]| next_component(name, self.length);
        let stored = self.stored.clone().filter_map(|at| next(self.stored_name(at)));
        let mut components: Vec<_> =
            stored.chain(self.own.clone().filter_map(|at| next(self.own_name(at)))).collect();
        components.sort_unstable();
        components.dedup();
        components
    }

    /// The aliases whose names end here.
    fn here(&self) -> Result<Vec<&'d Alias>, Stop> {
        let ends = |name: &[u8]| name.len() + 1 == self.length;
        let mut here = vec![];
        for at in self.stored.clone().take_while(|at| ends(self.stored_name(*at))) {
            here.extend(self.all.stored.at(at, Definition::alias));
            self.all.whole().map_err(Stop::Beyond)?;
        }
        for at in self.own.clone().take_while(|at| ends(self.own_name(*at))) {
            here.extend(self.all.own.iter().map(|own| own.aliases[at].1));
        }
        Ok(here)
    }

    /// Expands everything that matches from component `at` on, below this node. Returns whether anything matched, and
    /// whether there was an alias.
    pub fn find(
        &self,
        components: &[Component],
        at: usize,
        walk: &mut Walk<'d, '_>,
    ) -> Result<(bool, bool), Stop> {
        let Some(component) = components.get(at) else { return self.these(&[], walk) };
        let is_part = walk.names.is_some();
        let (mut found, mut known) = (false, false);
        if !component.name.contains('*') {
            if component.argument.is_none()
                && let Some(below) = self.named(&component.name, walk)
            {
                return below.find(components, at + 1, walk);
            }
        } else if let Some((start, end)) = component.name.split_once("**") {
            // Within one component, or from here across the next.
            let replaced = |name: String| Component { name, ..component.clone() };
            let end = end.trim_start_matches('*');
            let mut one = components.to_vec();
            one[at] = replaced(format!("{start}*{end}"));
            let mut more = components.to_vec();
            more[at] = Component { argument: None, ..replaced(format!("{start}*")) };
            more.insert(at + 1, replaced(format!("**{end}")));
            for components in [one, more] {
                let (f, k) = self.matching(&components, at, walk)?;
                (found, known) = (found | f, known | k);
            }
        } else {
            (found, known) = self.matching(components, at, walk)?;
        }
        if found || is_part {
            return Ok((found, known));
        }
        let (f, k) = self.these(&components[at..], walk)?;
        Ok((f, known | k))
    }

    /// Like [`Self::find`], for a component with `*`.
    fn matching(
        &self,
        components: &[Component],
        at: usize,
        walk: &mut Walk<'d, '_>,
    ) -> Result<(bool, bool), Stop> {
        let (mut found, mut known) = (false, false);
        if components[at].argument.is_some() {
            return Ok((false, false));
        }
        let pattern = Pattern::new(&components[at].name).map_err(Stop::Beyond)?;
        for name in walk.names.take().unwrap_or_else(|| self.components()) {
            walk.step()?;
            let Some(below) = Some(name).filter(|name| pattern.matches(name)).and_then(|n| self.below(n))
            else {
                continue;
            };
            let before = walk.chain.mark();
            walk.chain.wild = true;
            match below.find(components, at + 1, walk) {
                Ok((f, k)) => (found, known) = (found | f, known | k),
                Err(Stop::Loop(_)) => {}
                Err(stop) => return Err(stop),
            }
            walk.chain.back(before);
        }
        Ok((found, known))
    }

    /// Expands the aliases whose names end here, with this suffix.
    fn these(&self, suffix: &[Component], walk: &mut Walk<'d, '_>) -> Result<(bool, bool), Stop> {
        let (mut found, mut known) = (false, false);
        for alias in self.here()? {
            known = true;
            found |= self.all.through(alias, suffix, walk)?;
        }
        Ok((found, known))
    }
}

/// The component after the first `length` bytes of a name; `None` if the name ends before.
fn next_component(name: &[u8], length: usize) -> Option<&[u8]> {
    name.get(length..)?.split(|byte| *byte == b'.').next()
}

/// The part of a range that compares as equal. It is sorted by what is compared.
fn narrow(range: Range<usize>, compare: impl Fn(usize) -> Ordering) -> Range<usize> {
    let first = |range: Range<usize>, is_before: &dyn Fn(Ordering) -> bool| {
        let Range { mut start, mut end } = range;
        while start < end {
            let middle = start + (end - start) / 2;
            if is_before(compare(middle)) { start = middle + 1 } else { end = middle }
        }
        start
    };
    let Range { start, end } = range;
    let start = first(start..end, &|found| found.is_lt());
    // Few are equal: the end is near.
    let (mut from, mut step) = (start, 1);
    while from + step < end && compare(from + step).is_le() {
        from += step;
        step *= 2;
    }
    start..first(from..end.min(from + step), &|found| found.is_le())
}
