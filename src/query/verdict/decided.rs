//! How many verdicts of an index are decided, and what it lacks to decide the others.
use super::Judge;
use super::unknown::Unknown;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::ObjectRecord;
use std::collections::BTreeMap;

/// Counts of placements; each placement has a verdict for every mechanism.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// All placements.
    pub placements: u64,
    /// Placements with an undecided verdict.
    pub undecided: u64,
    /// Placements in vmlinux.
    pub of_kernel: u64,
    /// Placements in vmlinux with an undecided verdict.
    pub undecided_of_kernel: u64,
    /// What is not known, with the number of placements whose verdict it leaves undecided; the most frequent first.
    pub because: Vec<(&'static str, u64)>,
}

impl Decided {
    /// Counts the verdicts of an index. Cost: none if nothing is missing; else judges each placement of the incomplete
    /// objects.
    pub fn of(view: &View<'_>) -> Self {
        let judge = Judge::new(view);
        let kernel = crate::query::index::functions::kernel(view);
        let mut counts = Self { placements: view.places.len() as u64, ..Self::default() };
        let mut because: BTreeMap<&'static str, u64> = BTreeMap::new();
        // If vmlinux is missing or incomplete, the verdicts of every object may depend on what is missing.
        let is_all = kernel.is_none_or(|kernel| lacks(view, kernel));
        for object in view.object_ids() {
            let places = view.places_of(object);
            let is_kernel = Some(object) == kernel;
            if is_kernel {
                counts.of_kernel = places.len() as u64;
            }
            if !is_all && !lacks(view, object) {
                continue;
            }
            let own = view.places.part(places.clone());
            for (number, place) in (places.start as u32..).zip(own) {
                let id = PlaceId::new(number);
                let is_inline = view.outer(id, place).is_some();
                let unknown = judge.verdicts(object, place.entry.get(), is_inline).unknown().of_index();
                if unknown == Unknown::NOTHING {
                    continue;
                }
                counts.undecided += 1;
                counts.undecided_of_kernel += u64::from(is_kernel);
                unknown.causes().for_each(|cause| *because.entry(cause).or_default() += 1);
            }
        }
        counts.because = because.into_iter().collect();
        counts.because.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// The share of placements with an undecided verdict, in percent with one decimal; never 0 if there is one.
    pub fn percent_undecided(&self) -> f64 {
        (1000.0 * self.undecided.min(self.placements) as f64 / self.placements.max(1) as f64).ceil() / 10.0
    }

    /// Whether most placements of vmlinux have an undecided verdict.
    pub fn is_mostly_open(&self) -> bool {
        self.undecided_of_kernel * 2 > self.of_kernel
    }
}

/// Whether an object lacks something that verdicts depend on.
fn lacks(view: &View<'_>, object: ObjectId) -> bool {
    const LACKS: u32 = ObjectRecord::NO_CODE | ObjectRecord::NO_RULES | ObjectRecord::NO_KPROBES;
    const BTF: u32 = ObjectRecord::BTF | ObjectRecord::NO_BTF;
    let is_of_kernel = |o: &ObjectRecord| !o.has(ObjectRecord::USER);
    view.objects
        .get(object.index())
        .is_some_and(|o| o.has(LACKS) || !o.unread().is_empty() || (is_of_kernel(o) && !o.has(BTF)))
}
