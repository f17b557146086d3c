//! Kernels of a store whose facts are those of another one: the segments between the two say that nothing of the name differs.
use super::Subject;
use crate::pattern::Pattern;
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::store::differing::Kind;
use probeidx_format::store::{Segment, SegmentId};
use rustc_hash::FxHashMap;

/// Kernels by the last segments of their chains.
pub struct Chains<'a> {
    segments: Vec<&'a [Segment<'a>]>,
    at: FxHashMap<SegmentId, usize>,
}

impl<'a> Chains<'a> {
    /// Those of kernels of stores; others are by themselves. Cost: linear in the kernels.
    pub fn of(views: &[View<'a>]) -> Self {
        let segments: Vec<&[Segment<'a>]> =
            views.iter().map(|view| view.store().map_or(&[][..], |kernel| kernel.chain())).collect();
        let own = segments.iter().zip(0..).filter_map(|(chain, at)| Some((chain.last()?.id(), at)));
        let at = own.collect();
        Self { segments, at }
    }
    /// For each kernel the position of the one that is to be asked in its place, which is itself if there is none. Cost: a look-up
    /// in the segments between the two.
    pub fn asked(&self, subject: &Subject) -> Vec<usize> {
        let named = named(subject);
        let mut asked: Vec<Option<usize>> = vec![None; self.segments.len()];
        let below = |at: usize| {
            let (kind, name) = named?;
            let may_differ = |segment: &&Segment<'_>| segment.may_differ(kind, name);
            let same = self.segments[at].iter().rev().take_while(|segment| !may_differ(segment));
            same.filter_map(|segment| self.at.get(&segment.header.before)).copied().next()
        };
        for first in 0..asked.len() {
            let (mut at, mut passed) = (first, vec![]);
            // Each is below the one before.
            let found = loop {
                if let Some(known) = asked[at] {
                    break known;
                }
                passed.push(at);
                match below(at) {
                    Some(lower) => at = lower,
                    None => break at,
                }
            };
            passed.into_iter().for_each(|at| asked[at] = Some(found));
        }
        asked.into_iter().enumerate().map(|(at, found)| found.unwrap_or(at)).collect()
    }
}

/// What segments list a subject as; `None` if they say nothing about it: an alias, a line, what a pointer leads to.
fn named(subject: &Subject) -> Option<(Kind, &[u8])> {
    match subject {
        Subject::Function(asked) => Some((Kind::Function, literal(&asked.declared.name)?)),
        Subject::Tracepoint(asked) => Some((Kind::Tracepoint, literal(&asked.event)?)),
        Subject::Member(path) if path.steps.len() <= 1 => {
            Some((Kind::Type, lookup::split(&path.root).1.as_bytes()))
        }
        Subject::Member(_) | Subject::Alias(_) | Subject::Line(..) => None,
    }
}

fn literal(pattern: &Pattern) -> Option<&[u8]> {
    match pattern {
        Pattern::Literal(name) => Some(name.as_bytes()),
        _ => None,
    }
}
