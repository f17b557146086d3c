//! The questions of `probeidx` as tools for AI agents, over the Model Context Protocol on stdin and stdout.
//!
//! ```text
//! rmcp (protocol) ─▶ server ─▶ question (arguments to a request) ─▶ probeidx::cli::serve ─▶ answer (bounded)
//!                      └─────▶ tools (what there is, for those who have never seen it)
//! ```
//!
//! The answers are those of `serve`; nothing here decides anything about kernels, and nothing writes or runs anything.
//! `docs/editors-and-agents.md` has the tools, their bounds, and the settings of clients.
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]
mod answer;
mod question;
mod server;
mod tools;

use probeidx::cli::args::Command;
use probeidx::cli::config::Config;
use probeidx::cli::exit::Outcome;
use probeidx::cli::run_as;
use probeidx::{Error, ErrorKind, Result};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use server::Server;
use std::ffi::OsString;

/// Runs a command line, starting with the name of the program, and returns the exit code: see [`run_as`].
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    run_as("mcp", argv, |args| match &args.command {
        Command::Mcp(_) => serve(&Config::new(&args.global)?),
        _ => Err(Error::new(ErrorKind::Usage, "this program only answers agents").hint("use: probeidx")),
    })
}

/// Answers until the client closes stdin.
fn serve(config: &Config) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    let server = Server::new(config);
    let ended = runtime.block_on(async {
        match server.serve(rmcp::transport::stdio()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| failed(&error)),
            // The client left before it asked anything.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    });
    // A question that nobody waits for any more is not waited for.
    runtime.shutdown_background();
    ended.map(|()| Outcome::Done)
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot speak with the client: {error}"))
}
