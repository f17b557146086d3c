//! The row of a kernel in docs/kernels.md: `scripts/matrix-table` puts those that were written last into it.
use super::trial::{Outcome, Trial};
use crate::installed::{self, Kernel};

#[derive(Default)]
pub struct Row {
    pub placements: usize,
    agree: usize,
    stricter: usize,
    disagree: usize,
    undecided: usize,
    patched: usize,
}

impl Row {
    pub fn count(&mut self, trial: &Trial, outcome: Outcome) {
        *match outcome {
            Outcome::Agrees => &mut self.agree,
            Outcome::Stricter => &mut self.stricter,
            Outcome::Disagrees => &mut self.disagree,
            Outcome::Open if trial.verdict == "patched" => &mut self.patched,
            Outcome::Open => &mut self.undecided,
        } += 1;
    }

    /// Into target/tmp/matrix.
    pub fn write(&self, kernel: &Kernel) {
        let Self { placements, agree, stricter, disagree, undecided, patched } = self;
        let (release, compiler) = (&kernel.release, installed::compiler(kernel));
        let row = format!(
            "| {release} | {compiler} | {placements} | {agree} | {stricter} | {patched} | {undecided} | {disagree} |"
        );
        installed::say(&row);
        let folder = installed::scratch("matrix");
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(release), format!("{row}\n")));
        written.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    }
}
