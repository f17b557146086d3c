//! Explains an alias on this kernel: which of its points were tried, with what result, and what they provide to a
//! handler.
use super::locals::{self, Locals};
use crate::error::Result;
use crate::query::systemtap::derive::{Deriver, Place, Visited};
use crate::query::verdict::reason::Reason;
use crate::query::verdict::{Judge, Verdict};
use crate::tapset::Definitions;
use crate::tapset::ast::{Alias, Component, Point};
use crate::tapset::handler::Words;
use probeidx_format::View;

/// The explanation of an alias.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    /// Its points, in the order they are tried.
    pub arms: Vec<Arm>,
    /// The locals of its probes; each set with the number of probes that have it.
    pub locals: Vec<(Locals, usize)>,
}

/// A point of an alias.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The point as the tapset has it, with its mark and condition; within another alias, with the components requested
    /// after its name.
    pub point: Point,
    /// The result.
    pub outcome: Outcome,
    /// The points of the aliases that it refers to.
    pub inner: Vec<Arm>,
}

/// The result for a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has probes.
    Probes {
        /// The number of probes.
        places: usize,
        /// The number that the kernel accepts (`register_kprobe`); tracepoints and probes without a place always count.
        reachable: usize,
        /// The number whose verdict is undecided.
        undecided: usize,
        /// Whether it is marked `!`, so that later points are not tried.
        ends: bool,
    },
    /// It has no probes.
    Nothing {
        /// The reason.
        why: String,
    },
    /// A previous point was sufficient.
    NotTried,
    /// It is in a program, which is not in a kernel's index.
    Unindexed,
}

/// The largest number of reasons for a point.
const MOST_WHYS: usize = 3;
/// The deepest nesting of aliases to show.
const DEEPEST: usize = 8;

/// Explains an alias. Cost: derives its points, once for each level of nested aliases.
///
/// # Errors
/// Those of [`Deriver::visit`].
pub fn explain(
    view: &View<'_>,
    definitions: &Definitions<'_>,
    words: &Words<'_>,
    alias: &Alias,
) -> Result<Explained> {
    let mut explainer = Explainer { deriver: Deriver::new(view, definitions), judge: Judge::new(view) };
    let arms = explainer.arms(&alias.points, &[], 0)?;
    let mut found: Vec<(Locals, usize)> = vec![];
    if let Some(name) = alias.names.first() {
        explainer.deriver.derive(name, &mut |derived| {
            let locals = locals::read_copies(words, &derived);
            match found.iter_mut().find(|(known, _)| *known == locals) {
                Some((_, count)) => *count += 1,
                None => found.push((locals, 1)),
            }
            Ok(())
        })?;
    }
    Ok(Explained { arms, locals: found })
}

struct Explainer<'a, 'd> {
    deriver: Deriver<'a, 'd>,
    judge: Judge<'a, 'static>,
}

/// An alias that a point refers to, and the components after its name.
struct Inner {
    points: Vec<Point>,
    suffix: Vec<Component>,
}

impl Explainer<'_, '_> {
    fn arms(&mut self, points: &[Point], suffix: &[Component], depth: usize) -> Result<Vec<Arm>> {
        let mut arms: Vec<Arm> = vec![];
        let mut ended = false;
        for point in points {
            let shown = Point { components: [&*point.components, suffix].concat(), ..point.clone() };
            let arm = if ended {
                Arm { point: shown, outcome: Outcome::NotTried, inner: vec![] }
            } else {
                self.arm(&shown, depth)?
            };
            ended |= matches!(arm.outcome, Outcome::Probes { ends: true, .. });
            arms.push(arm);
        }
        Ok(arms)
    }

    fn arm(&mut self, point: &Point, depth: usize) -> Result<Arm> {
        let (mut places, mut reachable, mut undecided, mut unindexed) = (0, 0, 0, 0);
        let mut whys: Vec<String> = vec![];
        let mut inner: Vec<(*const Alias, Inner)> = vec![];
        let judge = &self.judge;
        let met = |through: &[&Alias], behind: &[Vec<Component>], inner: &mut Vec<_>| {
            let (Some(alias), Some(behind)) = (through.first(), behind.first()) else { return };
            let known = |(known, _): &(*const Alias, Inner)| std::ptr::eq(*known, *alias);
            if !inner.iter().any(known) {
                let inner_alias = Inner { points: alias.points.clone(), suffix: behind.clone() };
                inner.push((std::ptr::from_ref(*alias), inner_alias));
            }
        };
        let plain = Point { condition: None, ..point.clone() };
        self.deriver.visit(&plain, &mut |visited| {
            match visited {
                Visited::Derived(derived) => {
                    places += 1;
                    let verdict = match derived.place {
                        Place::Code { object, seen, .. } => {
                            let pc = seen.pc.unwrap_or(seen.placed.record.entry.get());
                            Some(judge.kprobe(object, pc))
                        }
                        Place::Symbol { object, symbol, .. } => {
                            let symbol = derived.view.symbols.get(symbol.index());
                            symbol.map(|s| judge.kprobe(object, s.pc.get()))
                        }
                        Place::Address { object, pc } => Some(judge.kprobe(object, pc)),
                        Place::Trace(_) | Place::Nowhere => Some(Verdict::Ok),
                        Place::Unindexed => {
                            unindexed += 1;
                            None
                        }
                    };
                    reachable += usize::from(verdict.is_some_and(Verdict::is_ok));
                    let reason = verdict.and_then(Verdict::reason);
                    undecided += usize::from(reason.is_some_and(Reason::is_open));
                    met(derived.through, derived.behind, &mut inner);
                }
                Visited::Missing(_) => {}
                Visited::Failed(failed) => {
                    if failed.through.is_empty() && whys.len() < MOST_WHYS {
                        let why = failed.briefly();
                        if !whys.contains(&why) {
                            whys.push(why);
                        }
                    }
                    met(failed.through, failed.behind, &mut inner);
                }
            }
            Ok(())
        })?;
        let mut arms = vec![];
        if depth < DEEPEST {
            for (_, Inner { points, suffix }) in inner {
                arms.extend(self.arms(&points, &suffix, depth + 1)?);
            }
        }
        let outcome = match places {
            0 if whys.is_empty() => Outcome::Nothing { why: "none of its points has a place".to_owned() },
            0 => Outcome::Nothing { why: whys.join("; ") },
            _ if unindexed == places => Outcome::Unindexed,
            _ => Outcome::Probes { places, reachable, undecided, ends: point.sufficient },
        };
        Ok(Arm { point: point.clone(), outcome, inner: arms })
    }
}
