//! Reports how many verdicts of a built kernel are decided, and why the others are not.
use crate::cli::config::Config;
use crate::cli::note;
use crate::pipeline::{self, Built};
use crate::query::Index;
use crate::query::verdict::decided::Decided;

/// Counts the decided verdicts of a kernel; `None` for a program, or if the index cannot be read again. Reports on
/// stderr the number of undecided placements, and a kernel newer than any that was tested.
pub fn of(built: &Built, config: &Config) -> Option<Decided> {
    if built.process.is_some() {
        return None;
    }
    let index = Index::open(&built.index).ok()?;
    let counts = Decided::of(&index.view().ok()?);
    let release = &built.release;
    if counts.undecided > 0 {
        let share = match counts.is_mostly_open() {
            true => "most placements of vmlinux".to_owned(),
            false => format!("{} % of placements", counts.percent_undecided()),
        };
        let because = because(&counts);
        note(config, &format!("{release}: verdicts of {share} stay undecided, as not known: {because}"));
    }
    let newest = pipeline::PROVEN;
    if pipeline::version(release).is_some_and(|version| version > newest) {
        let newest = format!("{}.{}", newest.0, newest.1);
        let what = "is newer than any kernel whose verdicts this version was proven on";
        note(config, &format!("{release} {what} ({newest}): try those that matter on the kernel itself"));
    }
    Some(counts)
}

/// `verdicts: 97.9 % decided; 6292 placements undecided, as not known: .parainstructions (6292)`
pub fn line(counts: &Decided) -> String {
    if counts.undecided == 0 {
        return "verdicts: all decided".to_owned();
    }
    let (percent, open) = (100.0 - counts.percent_undecided(), counts.undecided);
    format!(
        "verdicts: {percent:.1} % decided; {open} placements undecided, as not known: {}",
        because(counts)
    )
}

fn because(counts: &Decided) -> String {
    let causes: Vec<String> = counts.because.iter().map(|(cause, n)| format!("{cause} ({n})")).collect();
    causes.join(", ")
}
