//! The kernels that scripts are held against, and the questions about them.
use probeidx::cli::config::Config;
use probeidx::cli::serve::{Answers, Request, item};
use probeidx::query::Index;
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx::{Error, Result};
use serde_json::{Value, json};
use std::sync::Arc;

/// The kernels of the configuration. An index is opened by the first question, and again when another file has replaced it.
pub struct Kernels {
    config: Config,
    answers: Answers,
}

/// What a command says for people.
pub struct Said {
    pub lines: Vec<String>,
    /// Whether there is more.
    pub is_cut: bool,
}

impl Kernels {
    pub fn new(config: &Config) -> Self {
        let answers = Answers::new(config);
        Self { config: answers.config(), answers }
    }

    /// All kernels that are asked, in their order.
    ///
    /// # Errors
    /// Those of [`Config::indexes`], and of an index that cannot be opened.
    pub fn all(&self) -> Result<Vec<(KernelDescription, Arc<Index>)>> {
        self.config.described_of(self.config.indexes()?)
    }

    /// The kernel that completions and explanations are about: the newest of those that are asked.
    ///
    /// # Errors
    /// Those of [`all`](Self::all).
    pub fn newest(&self) -> Result<(KernelDescription, Arc<Index>)> {
        self.all()?.pop().ok_or_else(|| Error::new(probeidx::ErrorKind::NoIndex, "no kernel is indexed"))
    }

    /// What a command prints about one kernel, without its notes; nothing if it fails.
    pub fn said(&self, kernel: &KernelDescription, method: &str, params: Value, most: usize) -> Said {
        let mut params = params;
        params["json"] = false.into();
        params["kernel"] = kernel.id.release.clone().into();
        let line = json!({"id": 0, "method": method, "params": params, "limit": most}).to_string();
        let Ok(request) = Request::parse(line.as_bytes()) else {
            return Said { lines: vec![], is_cut: false };
        };
        let answer = self.answers.lines(&request);
        let items = answer.split(|byte| *byte == b'\n').filter_map(|line| item(&request, line));
        let lines: Vec<String> = items.filter_map(|item| serde_json::from_slice(item).ok()).collect();
        Said { is_cut: lines.len() == most, lines }
    }
}
