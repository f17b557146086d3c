//! A language server for scripts of SystemTap and bpftrace: what a kernel says to each probe point and to what its handler
//! reads, while it is written.
//!
//! ```text
//! lsp-server (protocol) ─▶ server ─▶ checker (a thread of its own) ─▶ findings ─▶ probeidx::query::check
//!                            ├─▶ completion ─▶ scan (where is the cursor) ─▶ probeidx::cli::complete
//!                            ├─▶ hover      ─▶ scan, expression (what is it) ─▶ probeidx::cli::serve
//!                            └─▶ definition ─▶ scan ─▶ probeidx::cli::source
//! ```
//!
//! The answers are those of the commands; nothing here decides anything about kernels. `docs/editors-and-agents.md` has the
//! requests, their bounds, and the settings of editors.
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]
mod checker;
mod completion;
mod definition;
mod document;
mod expression;
mod findings;
mod hover;
mod kernels;
mod points;
mod scan;
mod server;
mod settings;

use probeidx::cli::args::Command;
use probeidx::cli::config::Config;
use probeidx::cli::run_as;
use probeidx::{Error, ErrorKind};
use std::ffi::OsString;

/// Runs a command line, starting with the name of the program, and returns the exit code: see [`run_as`].
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    run_as("lsp", argv, |args| match &args.command {
        Command::Lsp(asked) => server::serve(asked, Config::new(&args.global)?),
        _ => Err(Error::new(ErrorKind::Usage, "this program only answers editors").hint("use: probeidx")),
    })
}
