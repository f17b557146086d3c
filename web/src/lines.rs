//! The lines of an answer of this program alone, as the protocol has them.
use probeidx::Result;
use probeidx::cli::exit;
use serde_json::{Value, json};
use std::fmt::{Display, Write};

/// Lines as they are put together.
#[derive(Default)]
pub struct Lines {
    text: String,
    count: usize,
    /// Whether there is more than is told.
    pub is_truncated: bool,
}

impl Lines {
    /// A result.
    pub fn item(&mut self, value: &Value) {
        self.written(value);
    }

    /// A result that is JSON already: of numbers and known names, there are thousands.
    pub fn written(&mut self, json: &dyn Display) {
        self.count += 1;
        self.line("item", json);
    }

    /// What is said besides.
    pub fn note(&mut self, text: &str) {
        self.line("note", &json!(text));
    }

    /// The whole answer.
    pub fn end(mut self, answered: Result<()>) -> Vec<u8> {
        let end = if self.is_truncated { "truncated" } else { "complete" };
        match answered {
            Ok(()) => {
                let done = json!({ "code": u8::from(self.count == 0), "items": self.count, "end": end });
                self.line("done", &done);
            }
            Err(error) => self.line("error", &exit::object(&error)),
        }
        self.text.into_bytes()
    }

    fn line(&mut self, field: &str, json: &dyn Display) {
        // A string takes all of it.
        let _ = writeln!(self.text, "{{\"id\":null,\"{field}\":{json}}}");
    }
}

/// A name of an index, which may be no UTF-8.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
