//! Kernels of a store whose facts are those of another one: the segments between the two say that nothing of the name differs.
use super::Subject;
use crate::pattern::Pattern;
use crate::query::spec::member_path::Step;
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
        let below = |at: usize| {
            let (kind, name) = named?;
            let chain = self.segments[at].iter().rev();
            let mut same = chain.take_while(|segment| !segment.may_differ(kind, name));
            same.find_map(|segment| self.at.get(&segment.header.before)).copied()
        };
        // Of a longer chain, the kernels below are known.
        let mut asked: Vec<usize> = (0..self.segments.len()).collect();
        let mut in_order = asked.clone();
        in_order.sort_by_key(|at| self.segments[*at].len());
        for at in in_order {
            if let Some(lower) = below(at) {
                asked[at] = asked[lower];
            }
        }
        asked
    }
}

/// What segments list a subject as; `None` if they say nothing about it: an alias, a line, what a pointer leads to.
fn named(subject: &Subject) -> Option<(Kind, &[u8])> {
    match subject {
        Subject::Function(asked) => Some((Kind::Function, literal(&asked.declared.name)?)),
        Subject::Tracepoint(asked) => Some((Kind::Tracepoint, literal(&asked.event)?)),
        Subject::Member(path) if matches!(path.steps[..], [] | [Step::Member(_)]) => {
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
