//! Kernels of a store whose facts are those of another one: the segments between the two say that nothing of the name differs.
use super::Subject;
use crate::error::Result;
use crate::pattern::Pattern;
use crate::query::spec::member_path::Step;
use crate::query::types::lookup;
use crate::store::{Store, damaged};
use probeidx_format::store::Segment;
use probeidx_format::store::differing::Kind;

/// Kernels, and the segments that lie between those of a store.
pub struct Chains<'s> {
    kernels: usize,
    /// As in the manifest: each after the one before it.
    links: Vec<Link<'s>>,
}

/// A segment of a store.
struct Link<'s> {
    /// The position of the one before.
    before: usize,
    /// The kernel whose own it is, if that is asked.
    kernel: Option<usize>,
    /// If it is that of a kernel that is asked, or lies between two.
    segment: Option<Segment<'s>>,
}

impl<'s> Chains<'s> {
    /// Those of these kernels, each given by the position of its segment if it is one of the store. Cost: reads the headers of
    /// their segments and of those between them.
    ///
    /// # Errors
    /// [`ErrorKind::IndexDamaged`](crate::error::ErrorKind::IndexDamaged), for a segment.
    pub fn of(store: Option<&'s Store>, kernels: &[Option<u32>]) -> Result<Self> {
        let segments = store.map_or(&[][..], |store| store.manifest().segments);
        let link = |before: usize| Link { before, kernel: None, segment: None };
        let mut links: Vec<_> = segments.iter().map(|segment| link(segment.before.get() as usize)).collect();
        for (kernel, at) in kernels.iter().enumerate() {
            if let Some(link) = at.and_then(|at| links.get_mut(at as usize)) {
                link.kernel = Some(kernel);
            }
        }
        // Whether a kernel that is asked is at a segment or below it, and at it or above.
        let (mut is_from, mut is_to) = (vec![false; links.len()], vec![false; links.len()]);
        for (at, link) in links.iter().enumerate() {
            is_from[at] = link.kernel.is_some() || is_from.get(link.before).is_some_and(|is| *is);
        }
        for (at, link) in links.iter().enumerate().rev() {
            is_to[at] |= link.kernel.is_some();
            if is_to[at]
                && let Some(before) = is_to.get_mut(link.before)
            {
                *before = true;
            }
        }
        for (at, link) in links.iter_mut().enumerate().filter(|(at, _)| is_from[*at] && is_to[*at]) {
            link.segment = store.map(|store| open(store, at)).transpose()?;
        }
        Ok(Self { kernels: kernels.len(), links })
    }
    /// For each kernel the position of the one that is to be asked in its place, which is itself if there is none. Cost: a look-up in
    /// each segment between kernels.
    pub fn asked(&self, subject: &Subject) -> Vec<usize> {
        let Some((kind, name)) = named(subject) else { return (0..self.kernels).collect() };
        self.same(|link| link.segment.is_some_and(|segment| !segment.may_differ(kind, name)))
    }
    /// For each kernel the lowest one of its chain that has the same tapset as all between them. The same aliases are defined in both;
    /// what they mean is each kernel's own.
    pub fn with_tapset(&self) -> Vec<usize> {
        let tapset = |link: &Link<'s>| link.segment.map(|segment| segment.tapset());
        self.same(|link| {
            tapset(link).is_some() && self.links.get(link.before).map(tapset) == Some(tapset(link))
        })
    }
    /// For each kernel the lowest one of its chain from which all segments on are the same.
    fn same(&self, is_same: impl Fn(&Link<'s>) -> bool) -> Vec<usize> {
        let mut found: Vec<usize> = (0..self.kernels).collect();
        // Of each segment, the kernel whose facts are those of what it makes.
        let mut same: Vec<Option<usize>> = Vec::with_capacity(self.links.len());
        for link in &self.links {
            let below = same.get(link.before).copied().flatten();
            let own = below.filter(|_| is_same(link)).or(link.kernel);
            if let Some(kernel) = link.kernel {
                found[kernel] = own.unwrap_or(kernel);
            }
            same.push(own);
        }
        found
    }
}

/// The segment at a position of the manifest.
fn open(store: &Store, at: usize) -> Result<Segment<'_>> {
    let entry = &store.manifest().segments[at];
    Segment::open_as(entry.id, store.segment(entry)).map_err(|error| damaged(store.data(), error))
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
