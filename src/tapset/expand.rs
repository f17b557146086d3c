//! Aliases to the points that they stand for.
//!
//! An alias is tried point by point, each through further aliases down to points that no alias names. Whoever asks is
//! given those and says whether something matches there; behind a match that is marked `!` the rest of its list is
//! not tried. What is wanted behind the name of an alias goes to each of its points: `vm.brk.return` is an alias
//! nobody wrote.
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use probeidx_format::tapset::DefinitionKind;

use super::Definitions;
use super::ast::{Alias, Component, Expression, Point};
use super::stored::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::pattern::Pattern;

/// How many aliases may lead to each other.
pub const DEEPEST: usize = 32;
/// How many points and names one question may come through.
pub const MOST: usize = 300_000;

/// The one point that no alias names although it begins with the name of one.
const BUILT_IN: [&str; 3] = ["timer", "profile", "tick"];

/// A point that no alias names.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'q> {
    /// Its names, from the left, with their arguments.
    pub components: &'q [Component],
    /// Whether it or an alias on the way to it may match nothing.
    pub optional: bool,
    /// How it is itself marked: `?`, `!`, or nothing.
    pub mark: &'static str,
    /// What has to hold for its handler to run.
    pub conditions: &'q [Arc<Expression>],
    /// The aliases on the way to it, the asked one first.
    pub through: &'q [&'q Alias],
    /// Of each of these what was wanted behind its name, as it was asked.
    pub behind: &'q [Vec<Component>],
}

/// What is met on the way through aliases.
#[derive(Clone, Copy, Debug)]
pub enum Met<'q> {
    /// A point that no alias names.
    Leaf(Leaf<'q>),
    /// A point that names aliases of which nothing matched, although the alias before it needs it: SystemTap refuses that
    /// (elaborate.cxx of 4.8, `derive_probes`).
    Missing(Leaf<'q>),
}

/// On the way through aliases.
struct Walk<'l, 'v> {
    visit: &'v mut dyn FnMut(Met<'_>) -> bool,
    way: Way<'l>,
    steps: usize,
}

#[derive(Default)]
struct Way<'l> {
    through: Vec<&'l Alias>,
    behind: Vec<Vec<Component>>,
    conditions: Vec<Arc<Expression>>,
    optional: bool,
    /// Whether a wildcard led here: what it leads to may match nothing.
    wild: bool,
}

/// A point of a way to which it goes back.
#[derive(Clone, Copy)]
struct Mark {
    aliases: usize,
    conditions: usize,
    optional: bool,
    wild: bool,
}

impl Way<'_> {
    /// Whether what is here may match nothing.
    fn may_miss(&self) -> bool {
        self.optional || self.wild
    }
    fn mark(&self) -> Mark {
        let (aliases, conditions) = (self.through.len(), self.conditions.len());
        Mark { aliases, conditions, optional: self.optional, wild: self.wild }
    }
    fn back(&mut self, to: Mark) {
        self.through.truncate(to.aliases);
        self.behind.truncate(to.aliases);
        self.conditions.truncate(to.conditions);
        (self.optional, self.wild) = (to.optional, to.wild);
    }
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

impl<'l> Definitions<'l> {
    /// Goes to every point that this one stands for, and gives whether anything matched. `*` matches in a component,
    /// `**` over several.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] for an alias that leads back to itself, and past [`DEEPEST`] and [`MOST`];
    /// [`ErrorKind::IndexDamaged`] for one that cannot be decoded.
    pub fn expand(&self, point: &Point, mut visit: impl FnMut(Leaf<'_>) -> bool) -> Result<bool> {
        self.walk(point, |met| matches!(met, Met::Leaf(leaf) if visit(leaf)))
    }

    /// As [`Self::expand`], with what is missing on the way; what is said of that counts for nothing.
    ///
    /// # Errors
    /// The same.
    pub fn walk(&self, point: &Point, mut visit: impl FnMut(Met<'_>) -> bool) -> Result<bool> {
        let mut walk = Walk { visit: &mut visit, way: Way::default(), steps: 0 };
        self.point(point, &[], &mut walk).map_err(|(Stop::Loop(error) | Stop::Beyond(error))| error)
    }

    fn point<'d>(
        &'d self,
        point: &Point,
        suffix: &[Component],
        walk: &mut Walk<'d, '_>,
    ) -> Result<bool, Stop> {
        walk.step()?;
        let before = walk.way.mark();
        walk.way.conditions.extend(point.condition.clone());
        walk.way.optional |= point.optional;
        let components = match suffix {
            [] => Cow::Borrowed(&*point.components),
            _ => Cow::Owned([&*point.components, suffix].concat()),
        };
        let built_in = components.len() >= BUILT_IN.len()
            && components.iter().zip(BUILT_IN).all(|(c, name)| c.name == name && c.argument.is_none());
        let named = if built_in { Ok((false, false)) } else { Node::root(self).find(&components, 0, walk) };
        let Way { through, behind, conditions, .. } = &walk.way;
        let optional = walk.way.may_miss();
        let mark = match point {
            Point { sufficient: true, .. } => "!",
            Point { optional: true, .. } => "?",
            _ => "",
        };
        let leaf = Leaf { components: &components, optional, mark, conditions, through, behind };
        let found = match named {
            Ok((false, true)) if !optional && !through.is_empty() => {
                (walk.visit)(Met::Missing(leaf));
                Ok(false)
            }
            Ok((found, true)) => Ok(found),
            Ok((_, false)) => Ok((walk.visit)(Met::Leaf(leaf))),
            Err(Stop::Loop(_)) if point.optional || before.optional || before.wild => Ok(false),
            Err(stop) => Err(stop),
        };
        walk.way.back(before);
        found
    }

    /// The points of an alias, in order.
    fn through<'d>(
        &'d self,
        alias: &'d Alias,
        suffix: &[Component],
        walk: &mut Walk<'d, '_>,
    ) -> Result<bool, Stop> {
        let name = || alias.names.first().map(Point::to_string).unwrap_or_default();
        if walk.way.through.iter().any(|other| std::ptr::eq(*other, alias)) {
            return Err(Stop::Loop(wrong(format!("the alias `{}` leads back to itself", name()))));
        }
        if walk.way.through.len() == DEEPEST {
            return Err(Stop::Beyond(wrong(format!("the alias `{}` lies behind {DEEPEST} others", name()))));
        }
        walk.way.through.push(alias);
        walk.way.behind.push(suffix.to_vec());
        // A wildcard forgives what an alias throws. One with nothing wanted behind its name throws nothing: it says at once
        // what is wrong (elaborate.cxx of 4.8, `derive_probes`: `rethrow_errors`).
        let before = walk.way.wild;
        walk.way.wild &= !suffix.is_empty();
        let mut any = false;
        for point in &alias.points {
            let found = self.point(point, suffix, walk)?;
            any |= found;
            if found && point.sufficient {
                break;
            }
        }
        walk.way.wild = before;
        walk.way.through.pop();
        walk.way.behind.pop();
        Ok(any)
    }
}

/// The aliases whose names begin with the same components.
#[derive(Clone)]
struct Node<'d> {
    all: &'d Definitions<'d>,
    /// Positions in the names of the index.
    stored: Range<usize>,
    /// Positions in those of the script.
    own: Range<usize>,
    /// How long these components are, with the dot behind each.
    length: usize,
}

impl<'d> Node<'d> {
    fn root(all: &'d Definitions<'d>) -> Self {
        let own = 0..all.own.as_ref().map_or(0, |own| own.aliases.len());
        Self { all, stored: all.stored.of_kind(DefinitionKind::Alias), own, length: 0 }
    }

    fn stored_name(&self, at: usize) -> &'d [u8] {
        self.all.stored.name(at)
    }
    fn own_name(&self, at: usize) -> &'d [u8] {
        self.all.own.as_ref().map_or(&[], |own| own.aliases[at].0.as_bytes())
    }

    /// Those whose next component is this one.
    fn below(&self, component: &[u8]) -> Option<Self> {
        let next = |name: &'d [u8]| next_component(name, self.length);
        let stored = narrow(self.stored.clone(), |at| next(self.stored_name(at)), component);
        let own = narrow(self.own.clone(), |at| next(self.own_name(at)), component);
        let length = self.length + component.len() + 1;
        (!stored.is_empty() || !own.is_empty()).then_some(Self { all: self.all, stored, own, length })
    }

    /// The next components that there are.
    fn components(&self) -> Vec<&'d [u8]> {
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

    /// What matches from component `at` on, below this node: whether something did, and whether there was an alias.
    fn find(
        &self,
        components: &[Component],
        at: usize,
        walk: &mut Walk<'d, '_>,
    ) -> Result<(bool, bool), Stop> {
        let Some(component) = components.get(at) else { return self.these(&[], walk) };
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
                let (f, k) = self.matching(&components, at, walk)?;
                (found, known) = (found | f, known | k);
            }
        } else if component.name.contains('*') {
            (found, known) = self.matching(components, at, walk)?;
        } else if component.argument.is_none()
            && let Some(below) = self.below(component.name.as_bytes())
        {
            return below.find(components, at + 1, walk);
        }
        if found {
            return Ok((true, true));
        }
        let (f, k) = self.these(&components[at..], walk)?;
        Ok((f, known | k))
    }

    /// The same with a `*` in the component.
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
        for name in self.components() {
            walk.step()?;
            let Some(below) = Some(name).filter(|name| pattern.matches(name)).and_then(|n| self.below(n))
            else {
                continue;
            };
            let before = walk.way.mark();
            walk.way.wild = true;
            match below.find(components, at + 1, walk) {
                Ok((f, k)) => (found, known) = (found | f, known | k),
                Err(Stop::Loop(_)) => {}
                Err(stop) => return Err(stop),
            }
            walk.way.back(before);
        }
        Ok((found, known))
    }

    /// The aliases whose name ends here, with what is wanted behind them.
    fn these(&self, suffix: &[Component], walk: &mut Walk<'d, '_>) -> Result<(bool, bool), Stop> {
        let (mut found, mut known) = (false, false);
        for alias in self.here()? {
            known = true;
            found |= self.all.through(alias, suffix, walk)?;
        }
        Ok((found, known))
    }
}

/// The component of a name behind those of this length; none where the name ends before.
fn next_component(name: &[u8], length: usize) -> Option<&[u8]> {
    name.get(length..)?.split(|byte| *byte == b'.').next()
}

/// The part of the range where the next component is this one. They are sorted by it.
fn narrow<'n>(
    range: Range<usize>,
    next: impl Fn(usize) -> Option<&'n [u8]>,
    component: &[u8],
) -> Range<usize> {
    let first = |range: Range<usize>, is_before: &dyn Fn(Option<&[u8]>) -> bool| {
        let Range { mut start, mut end } = range;
        while start < end {
            let middle = start + (end - start) / 2;
            if is_before(next(middle)) { start = middle + 1 } else { end = middle }
        }
        start
    };
    let Range { start, end } = range;
    let start = first(start..end, &|found| found < Some(component));
    // Few are alike: the end is near.
    let is_it = |found: Option<&[u8]>| found <= Some(component);
    let (mut from, mut step) = (start, 1);
    while from + step < end && is_it(next(from + step)) {
        from += step;
        step *= 2;
    }
    start..first(from..end.min(from + step), &is_it)
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Syntax, message)
}
