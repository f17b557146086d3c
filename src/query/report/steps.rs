//! Which kernels are compared: each with the next of its family and line, and the newest of each line with that of the
//! next.
use crate::query::history::Families;

/// Two kernels that are compared, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What lies between them.
    pub between: Between,
    /// The older one.
    pub before: u32,
    /// The newer one.
    pub after: u32,
}

/// What lies between two kernels of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Between {
    /// An update: both are of one line.
    Kernels,
    /// Both are the newest that are there of their lines.
    Lines,
}

impl Between {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Lines => "lines",
        }
    }
}

/// The steps of all families, family by family in the order of their kernels.
pub fn steps(families: &Families<'_>) -> Vec<Step> {
    let kernels = families.kernels();
    let mut steps = vec![];
    for family in families.members() {
        let is_of_line = |one: &u32, other: &u32| {
            let [one, other] = [one, other].map(|at| kernels[*at as usize].release().line());
            one == other
        };
        let mut newest = None;
        for line in family.chunk_by(is_of_line) {
            for two in line.windows(2) {
                steps.push(Step { between: Between::Kernels, before: two[0], after: two[1] });
            }
            let Some(&after) = line.last() else { continue };
            if let Some(before) = newest.replace(after) {
                steps.push(Step { between: Between::Lines, before, after });
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::index::kernel_description::KernelDescription;
    use crate::query::index::kernel_id::KernelId;

    #[test]
    fn updates_within_a_line_and_the_newest_of_lines() {
        let releases =
            ["5.10.0-1-a", "6.1.0-1-a", "6.1.0-1-b", "6.1.0-2-a", "6.1.0-3-a", "6.12.0-1-b", "6.12.1-1-b"];
        let kernels = releases.map(|release| KernelDescription {
            id: KernelId { release: release.to_owned(), architecture: "x86_64", build_id: None },
            distribution: "debian",
        });
        let families = Families::new(&kernels);
        let found: Vec<_> =
            steps(&families).iter().map(|step| (step.between.name(), step.before, step.after)).collect();
        assert_eq!(
            found,
            [("kernels", 1, 3), ("kernels", 3, 4), ("lines", 0, 4), ("kernels", 5, 6), ("lines", 2, 6)]
        );
    }
}
