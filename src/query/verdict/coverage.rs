//! The number of addresses at which a function runs, and how many of them can be probed.
use super::mechanism::ByMechanism;
use super::reason::{Reason, count};
use super::unknown::Unknown;
use super::{Judge, Verdict, Verdicts};
use crate::query::index::functions::{self, Placed, Scope};
use crate::query::spec::FunctionSpec;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, ObjectId, PlaceId};

/// How much of a function can be probed in one object. Each address counts once. An instance within another instance of
/// the same function, as partial inlining makes, does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Entries of the function.
    pub out_of_line: Reached,
    /// Inlined copies that are not at an entry of the function.
    pub inline: Reached,
    /// The number of functions into which it is inlined.
    pub callers: u32,
    /// The number of addresses that each mechanism accepts.
    pub by: ByMechanism<u32>,
    /// Copies that are not counted because their code is gone once the kernel runs, or never runs.
    pub left_out: Vec<(Reason, u32)>,
    /// The addresses in order, whether each is an inlined copy, and the position of its verdicts in `distinct`.
    addresses: Vec<(u32, bool, u8)>,
    distinct: Vec<Verdicts>,
}

/// More distinct verdicts than the addresses of a function have. Those behind are not kept.
const MOST_DISTINCT: usize = 64;

/// Addresses, and the verdicts of `register_kprobe` on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Distinct addresses.
    pub total: u32,
    /// Addresses that are accepted.
    pub reachable: u32,
    /// The reasons for refusals, with counts.
    pub refused: Vec<(Reason, u32)>,
    /// Addresses whose verdict is undecided; neither reachable nor refused.
    pub undecided: u32,
    /// What is not known about the undecided addresses.
    pub unknown: Unknown,
}

impl Reached {
    /// Counts an address.
    pub fn add(&mut self, verdict: Verdict) {
        self.total += 1;
        match verdict {
            Verdict::Ok => self.reachable += 1,
            Verdict::No(Reason::Undecided(unknown)) => {
                self.undecided += 1;
                self.unknown = self.unknown.and(unknown);
            }
            Verdict::No(reason) => count(&mut self.refused, reason),
        }
    }
}

impl Coverage {
    /// The coverage of a function with these placements in one object. Cost: judges each placement.
    pub fn of(view: &View<'_>, judge: &Judge<'_, '_>, object: ObjectId, places: &[Placed]) -> Self {
        let mut addresses: Vec<(u32, bool, u32)> = Vec::with_capacity(places.len());
        let mut callers: Vec<(u32, FunctionId)> = vec![];
        for place in places {
            let (pc, outer) = (place.record.entry.get(), place.outer(view));
            let is_nested = match judge.swept(place.id) {
                Some(known) => known.is_nested,
                None => outer.is_some_and(|outer| is_within_own(view, *place, outer)),
            };
            if is_nested {
                continue;
            }
            callers.extend(outer.map(|outer| (pc, outer.record.function)));
            addresses.push((pc, outer.is_some(), place.id.get()));
        }
        addresses.sort_unstable();
        addresses.dedup_by_key(|(pc, ..)| *pc);
        let by = ByMechanism::new(view.is_user(object), |_| 0);
        let mut coverage = Self { by, ..Self::default() };
        // The addresses that do not run, in order: few, if any.
        let mut idle: Vec<u32> = vec![];
        coverage.addresses.reserve_exact(addresses.len());
        for (pc, is_inline, place) in addresses {
            let (verdicts, is_running) = judge.of_place(object, PlaceId::new(place), pc, is_inline);
            if !is_running {
                idle.push(pc);
            }
            coverage.add(verdicts, is_inline);
            let position = coverage.keep(verdicts);
            coverage.addresses.push((pc, is_inline, position));
        }
        callers.retain(|(pc, _)| idle.binary_search(pc).is_err());
        callers.sort_unstable_by_key(|(_, function)| *function);
        callers.dedup_by_key(|(_, function)| *function);
        coverage.callers = callers.len() as u32;
        coverage
    }

    /// The position of these verdicts among the distinct ones.
    fn keep(&mut self, verdicts: Verdicts) -> u8 {
        let known = self.distinct.iter().position(|v| *v == verdicts);
        let at = known.unwrap_or(self.distinct.len());
        if known.is_none() && at < MOST_DISTINCT {
            self.distinct.push(verdicts);
        }
        at as u8
    }

    /// The verdicts on an address, if it was judged as such a copy.
    pub(crate) fn verdicts(&self, pc: u32, is_inline: bool) -> Option<Verdicts> {
        let at = self.addresses.binary_search_by_key(&(pc, is_inline), |a| (a.0, a.1)).ok()?;
        self.distinct.get(usize::from(self.addresses[at].2)).copied()
    }

    /// The coverage of a single address.
    pub fn of_one(verdicts: Verdicts) -> Self {
        let mut coverage = Self::default();
        coverage.add(verdicts, false);
        coverage
    }

    fn add(&mut self, verdicts: Verdicts, is_inline: bool) {
        if let Some(reason) = verdicts.any_address().reason().filter(|r| r.is_gone()) {
            return count(&mut self.left_out, reason);
        }
        let reached = if is_inline { &mut self.inline } else { &mut self.out_of_line };
        reached.add(verdicts.any_address());
        self.by = self.by.join(&verdicts.by, |count, verdict| count + u32::from(verdict.is_ok()));
    }

    /// The number of distinct addresses at which the function runs.
    pub fn instances(&self) -> u32 {
        self.out_of_line.total + self.inline.total
    }
}

/// The coverage of a function in one object.
#[derive(Clone, Debug)]
pub struct Covered<'a> {
    /// The object whose placements are counted.
    pub object: ObjectId,
    /// The function's name.
    pub function: &'a [u8],
    /// The file of the declaration; empty if unknown.
    pub file: &'a [u8],
    /// The line of the declaration.
    pub line: u32,
    /// The coverage of all its placements in the object.
    pub coverage: Coverage,
}

/// The coverage of all functions that a spec names, over all their placements. Cost: judges each placement.
pub fn of_spec<'a>(view: &View<'a>, spec: &FunctionSpec) -> Vec<Covered<'a>> {
    let judge = Judge::new(view);
    let scope = Scope::new(view, &spec.module);
    let mut found = vec![];
    let mut scratch = vec![];
    for name in functions::names(view, &spec.declared.name) {
        for declaration in functions::declarations(view, name, spec.declared.file.as_ref()) {
            functions::places(view, &declaration, &scope, &mut scratch, |object, own| {
                found.push(Covered {
                    object,
                    function: view.string(declaration.name),
                    file: view.string(declaration.file),
                    line: declaration.line,
                    coverage: Coverage::of(view, &judge, object, own),
                });
            });
        }
    }
    found
}

/// Whether a placement lies within another placement of the same function.
pub fn is_nested(view: &View<'_>, place: Placed) -> bool {
    place.outer(view).is_some_and(|outer| is_within_own(view, place, outer))
}

/// The same, given what it is inlined into.
fn is_within_own(view: &View<'_>, place: Placed, outer: Placed) -> bool {
    let function = |p: &Placed| functions::function(view, p.record).map(|f| (f.name, f.file, f.line.get()));
    let own = function(&place);
    std::iter::successors(Some(outer), |o| o.outer(view)).any(|o| function(&o) == own)
}
