//! The row of a kernel in the README's table: `scripts/matrix-table` puts those that were written last into it.
use super::trial::{Outcome, Trial};
use crate::installed::{self, Kernel};
use probeidx::load::{Image, elf::Elf};

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
        let (release, compiler) = (&kernel.release, compiler(kernel));
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

/// As compilers leave their names in `.comment`.
fn compiler(kernel: &Kernel) -> String {
    let told = Image::open(&kernel.vmlinux).ok().and_then(|image| {
        let object = Elf::parse(image.bytes()).ok()?;
        let comment = object.section(".comment")?.data().ok()?;
        let names: Vec<String> = comment
            .split(|b| *b == 0)
            .map(|name| String::from_utf8_lossy(name).trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        Some(names)
    });
    let mut names = told.unwrap_or_default();
    names.dedup();
    // `GCC: (Debian 10.2.1-6) 10.2.1 20210110`, `rustc version 1.92.0 (…)`
    let short = |name: &String| {
        let outside = |text: &str| text.split(['(', ')']).step_by(2).collect::<String>();
        outside(name).replace("GCC:", "GCC").split_whitespace().take(3).collect::<Vec<_>>().join(" ")
    };
    if names.is_empty() {
        "not told".to_owned()
    } else {
        names.iter().map(short).collect::<Vec<_>>().join(", ")
    }
}
