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
pub const DEEPEST: usize = 32;
/// How many points and names one question may come through.
pub const MOST: usize = 300_000;

/// The one point that no alias names although it begins with the name of one.
const BUILT_IN: [&str; 3] = ["timer", "profile", "tick"];

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
    /// Of each of these how many of the last components were wanted behind its name.
    pub behind: &'q [usize],
}

/// On the way through aliases.
struct Walk<'l, 'v> {
    visit: &'v mut dyn FnMut(Leaf<'_>) -> bool,
    way: Way<'l>,
    steps: usize,
}

#[derive(Clone, Default)]
struct Way<'l> {
    through: Vec<&'l Alias>,
    behind: Vec<usize>,
    conditions: Vec<Arc<Expression>>,
    optional: bool,
}

/// Why a walk goes no further.
enum Stop {
    /// An alias leads back to itself: below a wildcard or something optional that is as if nothing matched.
    Loop(Error),
    Beyond(Error),
}

impl Walk<'_, '_> {
    fn step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        match self.steps > MOST {
            true => Err(Stop::Beyond(wrong(format!("this stands for more than {MOST} points and names")))),
            false => Ok(()),
        }
    }
}

impl<'l> Aliases<'l> {
    /// Aliases in the order of reading.
    pub fn new(aliases: impl IntoIterator<Item = &'l Alias>) -> Self {
        let mut root = Node::default();
        BUILT_IN.iter().fold(&mut root, |node, name| node.below.entry(name).or_default());
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
        let mut walk = Walk { visit: &mut visit, way: Way::default(), steps: 0 };
        self.point(point, &[], &mut walk).map_err(|(Stop::Loop(error) | Stop::Beyond(error))| error)
    }

    fn point(&self, point: &Point, suffix: &[Component], walk: &mut Walk<'l, '_>) -> Result<bool, Stop> {
        walk.step()?;
        let before = walk.way.clone();
        walk.way.conditions.extend(point.condition.clone());
        walk.way.optional |= point.optional;
        let components = [&*point.components, suffix].concat();
        let found = match self.root.find(&components, 0, self, walk) {
            Ok((found, true)) => Ok(found),
            Ok((_, false)) => {
                let Way { through, behind, conditions, optional } = &walk.way;
                let optional = *optional;
                Ok((walk.visit)(Leaf { components: &components, optional, conditions, through, behind }))
            }
            Err(Stop::Loop(_)) if point.optional || before.optional => Ok(false),
            Err(stop) => Err(stop),
        };
        walk.way = before;
        found
    }

    /// The points of an alias, in order.
    fn alias(&self, alias: &'l Alias, suffix: &[Component], walk: &mut Walk<'l, '_>) -> Result<bool, Stop> {
        let name = || alias.names.first().map(Point::to_string).unwrap_or_default();
        if walk.way.through.iter().any(|other| std::ptr::eq(*other, alias)) {
            return Err(Stop::Loop(wrong(format!("the alias `{}` leads back to itself", name()))));
        }
        if walk.way.through.len() == DEEPEST {
            return Err(Stop::Beyond(wrong(format!("the alias `{}` lies behind {DEEPEST} others", name()))));
        }
        walk.way.through.push(alias);
        walk.way.behind.push(suffix.len());
        let mut any = false;
        for point in &alias.points {
            let found = self.point(point, suffix, walk)?;
            any |= found;
            if found && point.sufficient {
                break;
            }
        }
        walk.way.through.pop();
        walk.way.behind.pop();
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
    ) -> Result<(bool, bool), Stop> {
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
    ) -> Result<(bool, bool), Stop> {
        let (mut found, mut known) = (false, false);
        if components[at].argument.is_some() {
            return Ok((false, false));
        }
        let pattern = Pattern::new(&components[at].name).map_err(Stop::Beyond)?;
        for (name, below) in &self.below {
            walk.step()?;
            if pattern.matches(name.as_bytes()) {
                let before = walk.way.clone();
                match below.find(components, at + 1, all, walk) {
                    Ok((f, k)) => (found, known) = (found | f, known | k),
                    Err(Stop::Loop(_)) => walk.way = before,
                    Err(stop) => return Err(stop),
                }
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
    ) -> Result<(bool, bool), Stop> {
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
