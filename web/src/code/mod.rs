//! The code of a function, instruction by instruction: three questions of this program alone, for one kernel and address.
//!
//! ```text
//! place (which function is it?) ─▶ listing (what the index has)
//!                             ├──▶ image (its bytes) ─▶ disassembly (their text)
//!                             └──▶ source (its lines)
//! ```
mod disassembly;
mod image;
mod listing;
mod place;
mod source;

use crate::lines::Lines;
use image::Images;
use place::Shown;
use probeidx::Result;
use probeidx::cli::config::Config;
use probeidx_format::View;
use std::path::PathBuf;

/// What is asked of a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Scopes, variables and instructions with their verdicts and lines: of the index alone.
    Listing,
    /// Bytes and text of each instruction: of the installed image or the debug file.
    Instructions,
    /// The text of the lines.
    Source,
}

impl Part {
    /// The part that a method is for.
    pub fn of(method: &str) -> Option<Self> {
        match method {
            "code" => Some(Self::Listing),
            "instructions" => Some(Self::Instructions),
            "source" => Some(Self::Source),
            _ => None,
        }
    }
}

/// Answers; the code of kernels stays in memory for a while.
pub struct Code {
    images: Images,
    /// The folder of sources that was named.
    source: Option<PathBuf>,
}

impl Code {
    /// Sources are read below this folder, else where distributions install them.
    pub fn new(source: Option<PathBuf>) -> Self {
        Self { images: Images::default(), source }
    }

    /// The answer as lines of the protocol. Cost: see the parts.
    pub fn lines(&self, part: Part, kernel: &str, at: &str, config: &Config) -> Vec<u8> {
        let mut out = Lines::default();
        let answered = self.answer(part, kernel, at, config, &mut out);
        out.end(answered)
    }

    fn answer(&self, part: Part, kernel: &str, at: &str, config: &Config, out: &mut Lines) -> Result<()> {
        for path in probeidx::kernels::choose(&config.db, Some(kernel), None)?.iter().take(1) {
            let index = config.open(path)?;
            let view: View<'_> = index.view()?;
            let shown = Shown::find(&view, at)?;
            match part {
                Part::Listing => listing::write(&view, &shown, out),
                Part::Instructions => self.images.write(&view, &shown, out),
                Part::Source => source::write(&view, &shown, self.source.as_deref(), out),
            }
        }
        Ok(())
    }
}
