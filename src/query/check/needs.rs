//! Alternatives: programs of which one that works suffices.
use super::grid::Row;
use super::outcome::ProgramOutcome;
use crate::error::{Error, ErrorKind, Result};
use crate::pattern::Pattern;

/// Programs of which one suffices: a tool that attaches to the first function that is there.
#[derive(Clone, Debug)]
pub struct Need {
    alternatives: Vec<Pattern>,
}

impl Need {
    /// Reads `A|B`: names of programs, which may have wildcards.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for fewer than two, and for an empty one.
    pub fn parse(text: &str) -> Result<Self> {
        let names: Vec<&str> = text.split('|').map(str::trim).collect();
        if names.len() < 2 || names.contains(&"") {
            let hint = "write the names of at least two programs: 'A|B'";
            return Err(Error::new(ErrorKind::Usage, format!("--need {text}: no alternatives")).hint(hint));
        }
        let alternatives = names.into_iter().map(Pattern::new).collect::<Result<_>>()?;
        Ok(Self { alternatives })
    }

    /// The alternatives in the comments of a text: lines with `probeidx: need A|B`.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn of_text(text: &str) -> Result<Vec<Self>> {
        let needs = text.lines().filter_map(|line| line.split_once("probeidx: need ").map(|(_, need)| need));
        needs.map(|need| Self::parse(need.trim_end_matches("*/").trim())).collect()
    }

    fn has(&self, program: &ProgramOutcome) -> bool {
        self.alternatives.iter().any(|name| name.matches(program.name.as_bytes()))
    }

    /// Forgives on each kernel the alternatives that fail, if one of them works there. Alternatives may be in several
    /// files.
    pub fn forgive(&self, files: &mut [Row]) {
        let kernels = files.iter().map(|row| row.outcomes.len()).max().unwrap_or(0);
        for kernel in 0..kernels {
            let outcomes = || files.iter().filter_map(|row| row.outcomes.get(kernel)?.as_ref().ok());
            let all = || outcomes().flat_map(|outcome| &outcome.programs).filter(|p| self.has(p));
            let Some(works) = all().find(|program| !program.state().is_failure()) else { continue };
            let works = works.name.clone();
            let outcomes = files.iter_mut().filter_map(|row| row.outcomes.get_mut(kernel)?.as_mut().ok());
            for program in outcomes.flat_map(|outcome| &mut outcome.programs).filter(|p| self.has(p)) {
                program.forgive(&format!("{works} works, and one suffices"));
            }
        }
    }
}
