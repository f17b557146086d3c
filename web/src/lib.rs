//! The explorer: pages for a browser, from the indexes that are there.
//!
//! ```text
//! server ─▶ message (HTTP) ─▶ access (who may ask) ─▶ connection ─▶ questions ─▶ probeidx::cli::serve
//!                                                         │     ├─▶ search (all kernels)
//!                                                         │     ├─▶ code (instructions of a function), copies (placements in brief)
//!                                                         │     └─▶ watch (ends what nobody waits for)
//!                                                         └───────▶ assets (page, scripts, style)
//! ```
//!
//! The answers are those of `serve`; nothing here decides anything about kernels. `docs/web.md` has pages, requests and bounds.
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]
mod access;
mod assets;
mod code;
mod connection;
mod copies;
mod lines;
mod message;
mod questions;
mod search;
mod server;
mod watch;

use probeidx::cli::args::{Command, Web};
use probeidx::cli::config::Config;
use probeidx::cli::exit::Outcome;
use probeidx::cli::run_as;
use probeidx::{Error, ErrorKind, Result};
use server::Server;
use std::ffi::OsString;
use std::io::Write;
use std::process::Stdio;

/// Runs a command line, starting with the name of the program, and returns the exit code: see [`run_as`].
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    run_as("web", argv, |args| match &args.command {
        Command::Web(asked) => serve(asked, &Config::new(&args.global)?),
        _ => Err(Error::new(ErrorKind::Usage, "this program only shows pages").hint("use: probeidx")),
    })
}

/// Listens, says where, and answers until the process is ended.
fn serve(asked: &Web, config: &Config) -> Result<Outcome> {
    let server = Server::new(asked, config)?;
    let address = server.address();
    let line = match config.json {
        true => serde_json::json!({ "url": address }).to_string(),
        false => address.clone(),
    };
    // Who started it may not read what it says.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
    if asked.open {
        open(&address, config);
    }
    server.run()
}

/// Opens the page in the browser of the desktop.
fn open(address: &str, config: &Config) {
    let mut command = std::process::Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // Its end is of no interest; waiting leaves no zombie.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(failed) => config.session.note(&format!("cannot open a browser: xdg-open: {failed}")),
    }
}
