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

use image::Images;
use place::Shown;
use probeidx::Result;
use probeidx::cli::config::Config;
use probeidx::cli::exit;
use probeidx_format::View;
use serde_json::{Value, json};
use std::fmt::Write;
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
        let mut answer = Answer::default();
        match self.answer(part, kernel, at, config, &mut answer) {
            Ok(()) => answer.finish(),
            Err(error) => {
                answer.line("error", &exit::object(&error));
                answer.text.into_bytes()
            }
        }
    }

    fn answer(&self, part: Part, kernel: &str, at: &str, config: &Config, out: &mut Answer) -> Result<()> {
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

/// Lines of an answer.
#[derive(Default)]
struct Answer {
    text: String,
    items: usize,
    is_truncated: bool,
}

impl Answer {
    fn item(&mut self, value: &Value) {
        self.items += 1;
        self.line("item", value);
    }

    fn note(&mut self, text: &str) {
        self.line("note", &json!(text));
    }

    /// `value` is JSON.
    fn line(&mut self, field: &str, value: &dyn std::fmt::Display) {
        // A string takes all of it.
        let _ = writeln!(self.text, "{{\"id\":null,\"{field}\":{value}}}");
    }

    fn finish(mut self) -> Vec<u8> {
        let end = if self.is_truncated { "truncated" } else { "complete" };
        let done = json!({ "code": u8::from(self.items == 0), "items": self.items, "end": end });
        self.line("done", &done);
        self.text.into_bytes()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
