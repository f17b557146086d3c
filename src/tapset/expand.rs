//! Expands aliases to the points that they stand for.
//!
//! An alias is tried point by point, each through further aliases, down to points without an alias. These are passed
//! to the caller, who returns whether anything matches there. After a match marked with `!`, the rest of its list is
//! not tried. A suffix after the name of an alias is appended to each of its points: `vm.brk.return` is an alias that
//! nobody wrote.
mod node;

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Definitions;
use super::ast::{Alias, Component, Expression, Point};
use crate::error::{Error, ErrorKind, Result};
use node::Node;

/// The longest chain of aliases.
pub const DEEPEST: usize = 32;
/// The most points and names that a single query may pass through.
pub const MOST: usize = 300_000;

/// Points that are never aliases although their names begin like one.
const BUILT_IN: [&str; 3] = ["timer", "profile", "tick"];

/// A point that is not an alias.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'q> {
    /// Its names with their arguments, from the left.
    pub components: &'q [Component],
    /// Whether it, or an alias that led to it, may match nothing.
    pub optional: bool,
    /// Its own mark: `?`, `!`, or nothing.
    pub mark: &'static str,
    /// The conditions for its handler to run.
    pub conditions: &'q [Arc<Expression>],
    /// The aliases that led to it, starting with the requested one.
    pub through: &'q [&'q Alias],
    /// The suffix after the name of each of these aliases, as requested.
    pub behind: &'q [Vec<Component>],
}

/// A point met during expansion.
#[derive(Clone, Copy, Debug)]
pub enum Met<'q> {
    /// A point that is not an alias.
    Leaf(Leaf<'q>),
    /// A point whose aliases matched nothing, although it is not optional: SystemTap refuses that (elaborate.cxx of
    /// 4.8, `derive_probes`).
    Missing(Leaf<'q>),
}

/// A point to expand, or a part of one.
#[derive(Clone, Debug)]
pub struct Part<'p> {
    /// The point.
    pub point: &'p Point,
    /// If its first wildcard stands for components of names: those to try, in order. `None` for all that the point stands
    /// for.
    names: Option<Vec<&'p [u8]>>,
}

impl<'p> Part<'p> {
    /// All that a point stands for.
    pub fn whole(point: &'p Point) -> Self {
        Self { point, names: None }
    }
}

/// An expansion in progress.
struct Walk<'l, 'v> {
    visit: &'v mut dyn FnMut(Met<'_>) -> bool,
    chain: Chain<'l>,
    steps: usize,
    /// What was found below the root: thousands of points start with `kernel` or `syscall`.
    firsts: FxHashMap<String, Option<Node<'l>>>,
    /// What the next wildcard may stand for, if not all.
    names: Option<Vec<&'l [u8]>>,
}

#[derive(Default)]
struct Chain<'l> {
    through: Vec<&'l Alias>,
    behind: Vec<Vec<Component>>,
    conditions: Vec<Arc<Expression>>,
    optional: bool,
    /// Whether a wildcard led here: then nothing need match.
    wild: bool,
}

/// A saved state of a chain, to return to.
#[derive(Clone, Copy)]
struct Mark {
    aliases: usize,
    conditions: usize,
    optional: bool,
    wild: bool,
}

impl Chain<'_> {
    /// Whether nothing need match here.
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

/// Why an expansion stops.
enum Stop {
    /// An alias leads back to itself: below a wildcard or something optional, this counts as no match.
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
    /// Passes every point that this one stands for to `visit`, and returns whether any matched. `*` matches within a
    /// component, `**` across components.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] for an alias that leads back to itself, and past [`DEEPEST`] and [`MOST`];
    /// [`ErrorKind::IndexDamaged`] for one that cannot be decoded.
    pub fn expand(&self, point: &Point, mut visit: impl FnMut(Leaf<'_>) -> bool) -> Result<bool> {
        self.walk(&Part::whole(point), |met| matches!(met, Met::Leaf(leaf) if visit(leaf)))
    }

    /// Like [`Self::expand`], but also visits missing points; the result of visiting those is ignored. If none of the
    /// [`parts`](Self::parts) of a point matches anything, the whole point still may.
    ///
    /// # Errors
    /// As for [`Self::expand`].
    pub fn walk(&self, part: &Part<'_>, mut visit: impl FnMut(Met<'_>) -> bool) -> Result<bool> {
        let Part { point, names } = part;
        let (chain, firsts) = (Chain { optional: point.optional, ..Chain::default() }, FxHashMap::default());
        let mut walk = Walk { visit: &mut visit, chain, steps: 0, firsts, names: names.clone() };
        let found = match names {
            None => self.point(point, &[], &mut walk),
            Some(_) => {
                walk.chain.conditions.extend(point.condition.clone());
                Node::root(self).find(&point.components, 0, &mut walk).map(|(found, _)| found)
            }
        };
        match found {
            Ok(found) => Ok(found),
            Err(Stop::Loop(_)) if point.optional => Ok(false),
            Err(Stop::Loop(error) | Stop::Beyond(error)) => Err(error),
        }
    }

    /// Cuts a point into parts of at most so many names of aliases, if it has a wildcard for them. Cost: reading the
    /// names.
    pub fn parts<'p>(&'p self, point: &'p Point, names: usize) -> Vec<Part<'p>> {
        let mut node = Some(Node::root(self));
        for component in &point.components {
            let Some(known) = node.filter(|_| component.argument.is_none()) else { break };
            match component.name.find('*') {
                None => node = known.below(component.name.as_bytes()),
                // What `**` stands for overlaps.
                Some(_) if component.name.contains("**") => break,
                Some(_) => {
                    let all = known.components();
                    let part = |names: &[&'p [u8]]| Part { point, names: Some(names.to_vec()) };
                    return all.chunks(names).map(part).collect();
                }
            }
        }
        vec![Part::whole(point)]
    }

    fn point<'d>(
        &'d self,
        point: &Point,
        suffix: &[Component],
        walk: &mut Walk<'d, '_>,
    ) -> Result<bool, Stop> {
        walk.step()?;
        let before = walk.chain.mark();
        walk.chain.conditions.extend(point.condition.clone());
        walk.chain.optional |= point.optional;
        let components = match suffix {
            [] => Cow::Borrowed(&*point.components),
            _ => Cow::Owned([&*point.components, suffix].concat()),
        };
        let built_in = components.len() >= BUILT_IN.len()
            && components.iter().zip(BUILT_IN).all(|(c, name)| c.name == name && c.argument.is_none());
        let named = if built_in { Ok((false, false)) } else { Node::root(self).find(&components, 0, walk) };
        let Chain { through, behind, conditions, .. } = &walk.chain;
        let optional = walk.chain.may_miss();
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
        walk.chain.back(before);
        found
    }

    /// Expands the points of an alias, in order.
    fn through<'d>(
        &'d self,
        alias: &'d Alias,
        suffix: &[Component],
        walk: &mut Walk<'d, '_>,
    ) -> Result<bool, Stop> {
        let name = || alias.names.first().map(Point::to_string).unwrap_or_default();
        if walk.chain.through.iter().any(|other| std::ptr::eq(*other, alias)) {
            return Err(Stop::Loop(wrong(format!("the alias `{}` leads back to itself", name()))));
        }
        if walk.chain.through.len() == DEEPEST {
            return Err(Stop::Beyond(wrong(format!("the alias `{}` lies behind {DEEPEST} others", name()))));
        }
        walk.chain.through.push(alias);
        walk.chain.behind.push(suffix.to_vec());
        // Errors of an alias below a wildcard are ignored, except if nothing follows the alias: then they are
        // reported (elaborate.cxx of 4.8, `derive_probes`: `rethrow_errors`).
        let before = walk.chain.wild;
        walk.chain.wild &= !suffix.is_empty();
        let mut any = false;
        for point in &alias.points {
            let found = self.point(point, suffix, walk)?;
            any |= found;
            if found && point.sufficient {
                break;
            }
        }
        walk.chain.wild = before;
        walk.chain.through.pop();
        walk.chain.behind.pop();
        Ok(any)
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Syntax, message)
}
