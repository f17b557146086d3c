//! Kernels in their order, by families: builds of one flavour for one architecture, of which one follows the other.
use super::kernel_set::KernelSet;
use crate::query::index::kernel_description::KernelDescription;
use rustc_hash::FxHashMap;

/// Sorted kernels, with their families.
pub struct Families<'k> {
    kernels: &'k [KernelDescription],
    /// The positions of the kernels of each family, in order.
    members: Vec<Vec<u32>>,
    /// Whether a release is that of a single kernel.
    is_unique: Vec<bool>,
}

/// Neighbours of a family that share a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The families that have it, with the same versions, by their first kernels.
    pub families: Vec<u32>,
    /// The first kernel, of the first of the families.
    pub first: u32,
    /// The last kernel.
    pub last: u32,
    /// The number of kernels in all of the families.
    pub count: usize,
}

impl<'k> Families<'k> {
    /// The families of these kernels, which are sorted.
    pub fn new(kernels: &'k [KernelDescription]) -> Self {
        let mut members: Vec<Vec<u32>> = vec![];
        let mut known = FxHashMap::default();
        let mut releases: FxHashMap<&str, u32> = FxHashMap::default();
        for (at, kernel) in (0..).zip(kernels) {
            let family = (kernel.id.architecture, kernel.distribution, kernel.release().flavour);
            let number = *known.entry(family).or_insert(members.len());
            if number == members.len() {
                members.push(vec![]);
            }
            members[number].push(at);
            *releases.entry(&kernel.id.release).or_default() += 1;
        }
        let is_unique = kernels.iter().map(|kernel| releases[&*kernel.id.release] == 1).collect();
        Self { kernels, members, is_unique }
    }

    /// The kernels.
    pub fn kernels(&self) -> &'k [KernelDescription] {
        self.kernels
    }

    /// The positions of the kernels of each family, in order.
    pub fn members(&self) -> &[Vec<u32>] {
        &self.members
    }

    /// The name of a kernel: its release or, where others share that, its build id.
    pub fn name(&self, at: u32) -> &'k str {
        let (kernel, is_unique) = (&self.kernels[at as usize].id, self.is_unique[at as usize]);
        kernel.build_id.as_deref().filter(|_| !is_unique).unwrap_or(&kernel.release)
    }

    /// The first and the last of some kernels, by version.
    pub fn span(&self, set: &KernelSet) -> Option<(u32, u32)> {
        let version = |at: &u32, other: &u32| {
            let [one, other] = [at, other].map(|at| self.kernels[*at as usize].release());
            one.cmp_version(&other)
        };
        Some((set.iter().min_by(version)?, set.iter().max_by(version)?))
    }

    /// A set as runs of neighbours, those with the same versions in one.
    pub fn runs(&self, set: &KernelSet) -> Vec<Run> {
        let mut runs: Vec<Run> = vec![];
        let versions = |run: &Run| {
            [run.first, run.last].map(|at| {
                let release = self.kernels[at as usize].release();
                (release.version, release.build)
            })
        };
        for family in &self.members {
            for neighbours in family.chunk_by(|one, other| set.contains(*one) == set.contains(*other)) {
                let (Some(&first), Some(&last)) = (neighbours.first(), neighbours.last()) else { continue };
                if set.contains(first) {
                    let run = Run { families: vec![family[0]], first, last, count: neighbours.len() };
                    add(&mut runs, run, versions);
                }
            }
        }
        runs.sort_by_key(|run| run.first);
        runs
    }
}

/// Adds a run, to one of the same versions if there is one.
fn add<'k>(runs: &mut Vec<Run>, run: Run, versions: impl Fn(&Run) -> [(&'k str, &'k str); 2]) {
    match runs.iter_mut().find(|known| versions(known) == versions(&run)) {
        Some(same) => {
            same.families.extend(run.families);
            same.count += run.count;
        }
        None => runs.push(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::index::kernel_id::KernelId;

    fn kernels(releases: &[&str]) -> Vec<KernelDescription> {
        let kernel = |(at, release): (usize, &&str)| KernelDescription {
            id: KernelId {
                release: (*release).to_owned(),
                architecture: "x86_64",
                build_id: Some(format!("{at:08x}")),
            },
            distribution: "debian",
        };
        let mut kernels: Vec<_> = releases.iter().enumerate().map(kernel).collect();
        kernels.sort();
        kernels
    }

    fn told(families: &Families<'_>, set: &[u32]) -> Vec<String> {
        let runs = families.runs(&set.iter().copied().collect());
        runs.iter().map(|r| format!("{} {}..{} {}", r.families.len(), r.first, r.last, r.count)).collect()
    }

    #[test]
    fn neighbours_of_a_flavour_are_a_run_although_others_lie_between() {
        let kernels =
            kernels(&["6.1.0-1-amd64", "6.1.0-1-rt", "6.1.0-2-amd64", "6.1.0-2-rt", "6.1.0-3-amd64"]);
        let families = Families::new(&kernels);
        assert_eq!(families.members(), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(told(&families, &[0, 2]), ["1 0..2 2"]);
        assert_eq!(told(&families, &[0, 1, 2, 3]), ["2 0..2 4"]);
        assert_eq!(told(&families, &[0, 1, 4]), ["2 0..0 2", "1 4..4 1"]);
        assert_eq!(told(&families, &[]), [] as [&str; 0]);
        assert_eq!(families.span(&[1, 4].into_iter().collect()), Some((1, 4)));
    }

    #[test]
    fn kernels_that_share_a_release_are_named_by_build_id() {
        let kernels = kernels(&["6.1.0", "6.1.0", "6.2.0"]);
        let families = Families::new(&kernels);
        assert_eq!([0, 1, 2].map(|at| families.name(at)), ["00000000", "00000001", "6.2.0"]);
    }
}
