//! Aliases to the points that they stand for.
//!
//! An alias is tried point by point, each through further aliases down to points that no alias names. Whoever asks is
//! given those and says whether something matches there; behind a match that is marked `!` the rest of its list is
//! not tried. What is wanted behind the name of an alias goes to each of its points: `vm.brk.return` is an alias
//! nobody wrote.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::{Alias, Component, Expression, Point};
use crate::error::{Error, ErrorKind, Result};
use crate::query::pattern::Pattern;

/// How many aliases may lead to each other.
pub const DEEPEST: usize = 64;
/// How many points and aliases one question may come through.
pub const MOST: usize = 300_000;

/// Aliases by the components of their names.
pub struct Aliases<'l> {
    root: Node<'l>,
}

#[derive(Default)]
struct Node<'l> {
    below: BTreeMap<&'l str, Node<'l>>,
    /// Several, if the name is defined again.
    here: Vec<&'l Alias>,
}

/// A point that no alias names.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'q> {
    pub components: &'q [Component],
    /// Whether it or an alias on the way to it may match nothing.
    pub optional: bool,
    /// What has to hold for its handler to run.
    pub conditions: &'q [Arc<Expression>],
    /// The aliases on the way to it, the asked one first.
    pub through: &'q [&'q Alias],
}

/// On the way through aliases.
struct Walk<'l, 'v> {
    visit: &'v mut dyn FnMut(Leaf<'_>) -> bool,
    through: Vec<&'l Alias>,
    conditions: Vec<Arc<Expression>>,
    optional: usize,
    steps: usize,
}

impl<'l> Aliases<'l> {
    /// Aliases in the order of reading.
    pub fn new(aliases: impl IntoIterator<Item = &'l Alias>) -> Self {
        let mut root = Node::default();
        for alias in aliases {
            for name in &alias.names {
                let node = name.components.iter().fold(&mut root, |n, c| n.below.entry(&c.name).or_default());
                node.here.push(alias);
            }
        }
        Self { root }
    }

    /// Goes to every point that this one stands for, and gives whether anything matched. `*` matches in a component,
    /// `**` over several.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] for an alias that leads back to itself, and past [`DEEPEST`] and [`MOST`].
    pub fn expand(&self, point: &Point, mut visit: impl FnMut(Leaf<'_>) -> bool) -> Result<bool> {
        let (through, conditions) = (vec![], vec![]);
        let mut walk = Walk { visit: &mut visit, through, conditions, optional: 0, steps: 0 };
        self.point(point, &[], &mut walk)
    }

    fn point(&self, point: &Point, suffix: &[Component], walk: &mut Walk<'l, '_>) -> Result<bool> {
        walk.steps += 1;
        if walk.steps > MOST {
            return Err(wrong(format!("`{point}` stands for more than {MOST} points and aliases")));
        }
        let before = walk.conditions.len();
        walk.conditions.extend(point.condition.clone());
        walk.optional += usize::from(point.optional);
        let components = [&*point.components, suffix].concat();
        let (found, known) = self.root.find(&components, 0, self, walk)?;
        let found = found
            || !known && {
                let (optional, conditions) = (walk.optional > 0, &*walk.conditions);
                (walk.visit)(Leaf { components: &components, optional, conditions, through: &walk.through })
            };
        walk.optional -= usize::from(point.optional);
        walk.conditions.truncate(before);
        Ok(found)
    }

    /// The points of an alias, in order.
    fn alias(&self, alias: &'l Alias, suffix: &[Component], walk: &mut Walk<'l, '_>) -> Result<bool> {
        let name = || alias.names.first().map(Point::to_string).unwrap_or_default();
        if walk.through.iter().any(|other| std::ptr::eq(*other, alias)) {
            return Err(wrong(format!("the alias `{}` leads back to itself", name())));
        }
        if walk.through.len() == DEEPEST {
            return Err(wrong(format!("the alias `{}` lies behind {DEEPEST} others", name())));
        }
        walk.through.push(alias);
        let mut any = false;
        for point in &alias.points {
            let found = self.point(point, suffix, walk)?;
            any |= found;
            if found && point.sufficient {
                break;
            }
        }
        walk.through.pop();
        Ok(any)
    }
}

impl<'l> Node<'l> {
    /// What matches from component `at` on, below this node: whether something did, and whether there was an alias.
    fn find(
        &self,
        components: &[Component],
        at: usize,
        all: &Aliases<'l>,
        walk: &mut Walk<'l, '_>,
    ) -> Result<(bool, bool)> {
        let Some(component) = components.get(at) else { return self.these(&[], all, walk) };
        let (mut found, mut known) = (false, false);
        if let Some((start, end)) = component.name.split_once("**") {
            // In one component, or from here over the next.
            let replaced = |name: String| Component { name, ..component.clone() };
            let end = end.trim_start_matches('*');
            let mut one = components.to_vec();
            one[at] = replaced(format!("{start}*{end}"));
            let mut more = components.to_vec();
            more[at] = Component { argument: None, ..replaced(format!("{start}*")) };
            more.insert(at + 1, replaced(format!("**{end}")));
            for components in [one, more] {
                let (f, k) = self.matching(&components, at, all, walk)?;
                (found, known) = (found | f, known | k);
            }
        } else if component.name.contains('*') {
            (found, known) = self.matching(components, at, all, walk)?;
        } else if let Some(below) = self.below.get(&*component.name).filter(|_| component.argument.is_none())
        {
            return below.find(components, at + 1, all, walk);
        }
        if found {
            return Ok((true, true));
        }
        let (f, k) = self.these(&components[at..], all, walk)?;
        Ok((f, known | k))
    }

    /// The same with a `*` in the component.
    fn matching(
        &self,
        components: &[Component],
        at: usize,
        all: &Aliases<'l>,
        walk: &mut Walk<'l, '_>,
    ) -> Result<(bool, bool)> {
        let (mut found, mut known) = (false, false);
        if components[at].argument.is_some() {
            return Ok((false, false));
        }
        let pattern = Pattern::new(&components[at].name)?;
        for (name, below) in &self.below {
            walk.steps += 1;
            if pattern.matches(name.as_bytes()) {
                let (f, k) = below.find(components, at + 1, all, walk)?;
                (found, known) = (found | f, known | k);
            }
        }
        Ok((found, known))
    }

    /// The aliases whose name ends here, with what is wanted behind them.
    fn these(
        &self,
        suffix: &[Component],
        all: &Aliases<'l>,
        walk: &mut Walk<'l, '_>,
    ) -> Result<(bool, bool)> {
        let mut found = false;
        for alias in &self.here {
            found |= all.alias(alias, suffix, walk)?;
        }
        Ok((found, !self.here.is_empty()))
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Syntax, message)
}
