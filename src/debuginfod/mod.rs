//! Fetches debug files from debuginfod servers (debuginfod(8) of elfutils), into the cache shared with other clients.
//!
//! [`exchange`] builds requests and interprets responses, without a socket; `http` talks to a server; `cache` stores
//! files. A received file is used only if it has the requested build id.
mod cache;
mod download;
pub mod exchange;
mod http;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use crate::build_id::hex;
use crate::error::{Error, ErrorKind, Result};
use cache::{Entry, Part};
pub use download::download;
pub use exchange::{Body, Head, Transport};
use exchange::{Meaning, Request};
pub use http::Http;

/// Servers and cache.
#[derive(Clone, Debug)]
pub struct Config {
    /// `http://` and `https://` prefixes, in the order of use.
    pub servers: Vec<String>,
    /// The folder of the cache.
    pub cache: PathBuf,
    /// A server that sends less than [`LEAST`] within this time is given up.
    pub timeout: Duration,
    /// Number of retries after temporary failures.
    pub retries: u32,
    /// The largest allowed file, in bytes.
    pub most: u64,
}

/// The bytes that a server must send within the timeout (debuginfod-client-config(7), `DEBUGINFOD_TIMEOUT`).
pub const LEAST: u64 = 100 << 10;

/// A debug file in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its path.
    pub path: PathBuf,
    /// In bytes.
    pub size: u64,
    /// The server it was fetched from; `None` if it was already cached.
    pub server: Option<String>,
}

/// Receives the progress of a download: bytes so far, and the total if known.
pub type Watch<'w> = &'w (dyn Fn(u64, Option<u64>) + Sync);

/// The file with the debug information of a build id: from the cache, else from the first server that has it. `None`
/// if no server has it.
///
/// An interrupted download resumes where it stopped, in this run or another, if the server supports that and has the
/// same version.
///
/// # Errors
/// [`ErrorKind::Io`] if no server supplied it and one failed, with its address and response, or if the cache cannot
/// be written; [`ErrorKind::Mismatch`] for a file of another build id, which is not kept.
pub fn fetch(
    config: &Config,
    transport: &dyn Transport,
    id: &[u8],
    watch: Watch<'_>,
) -> Result<Option<Fetched>> {
    let entry = Entry::new(&config.cache, id);
    if let Some(size) = entry.there() {
        return Ok(Some(Fetched { path: entry.path(), size, server: None }));
    }
    let mut failed = None;
    for server in &config.servers {
        let mut part = entry.part()?;
        // Another process may have completed it meanwhile.
        if let Some(size) = entry.there() {
            return Ok(Some(Fetched { path: entry.path(), size, server: None }));
        }
        match from_server(config, transport, id, server, &mut part, watch) {
            Ok(false) => part.drop_empty(),
            Ok(true) => match part.verified(id) {
                Ok(size) => {
                    let path = part.keep(&entry)?;
                    return Ok(Some(Fetched { path, size, server: Some(server.clone()) }));
                }
                Err(error) => {
                    part.discard();
                    failed = Some(prefixed(server, &error));
                }
            },
            Err(error) => {
                part.drop_empty();
                failed = Some(prefixed(server, &error));
            }
        }
    }
    failed.map_or(Ok(None), Err)
}

fn prefixed(server: &str, error: &Error) -> Error {
    let error_of = Error::new(error.kind(), format!("debuginfod {server}: {}", error.message()));
    match error.remedy() {
        Some(remedy) => error_of.hint(remedy),
        None => error_of,
    }
}

fn io(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Io, what)
}

/// Requests the file from one server until it is complete, with retries. Returns whether the server has it.
fn from_server(
    config: &Config,
    transport: &dyn Transport,
    id: &[u8],
    server: &str,
    part: &mut Part,
    watch: Watch<'_>,
) -> Result<bool> {
    let url = format!("{}/buildid/{}/debuginfo", server.trim_end_matches('/'), hex(id));
    let (mut left, mut most) = (config.retries, part.length());
    loop {
        let from = part.resumable(server);
        let failure = match attempt(config, transport, &url, server, from, part, watch) {
            Ok(answer) => return Ok(answer),
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::MayPass(error)) => error,
        };
        // Attempts with this much progress do not count as retries; the largest size bounds them.
        let came_on = part.length() >= most.saturating_add(LEAST);
        most = most.max(part.length());
        match left.checked_sub(1) {
            _ if came_on => {}
            Some(less) => left = less,
            None => return Err(failure),
        }
        std::thread::sleep(config.timeout.min(Duration::from_millis(200)));
    }
}

/// Why an attempt failed.
enum Failure {
    Final(Error),
    MayPass(Error),
}

fn attempt(
    config: &Config,
    transport: &dyn Transport,
    url: &str,
    server: &str,
    from: Option<(u64, String)>,
    part: &mut Part,
    watch: Watch<'_>,
) -> Result<bool, Failure> {
    let request = Request::new(url, from);
    let (head, body) = transport.get(&request).map_err(|why| Failure::MayPass(io(why)))?;
    let whole = match exchange::meaning(&request, &head, config.most) {
        Meaning::Absent => return Ok(false),
        Meaning::Refused(why) => return Err(Failure::Final(why)),
        Meaning::Later(why) => return Err(Failure::MayPass(io(why))),
        Meaning::NotTheSame(why) => {
            part.restart(server, None).map_err(Failure::Final)?;
            return Err(Failure::MayPass(io(why)));
        }
        Meaning::FromStart(whole) => {
            part.restart(server, head.tag.as_deref()).map_err(Failure::Final)?;
            whole
        }
        Meaning::GoesOn(whole) => whole,
    };
    if let Some(whole) = whole {
        cache::check_space(part.folder(), whole.saturating_sub(part.length())).map_err(Failure::Final)?;
    }
    receive(config, body, whole, part, watch)?;
    match whole {
        Some(whole) if part.length() != whole => {
            let what = format!("the connection ended after {} of {whole} bytes", part.length());
            Err(Failure::MayPass(io(what)))
        }
        _ => Ok(true),
    }
}

/// Writes the body to the part. Another thread reads it, so that a silent server can be given up.
fn receive(
    config: &Config,
    mut body: Body,
    whole: Option<u64>,
    part: &mut Part,
    watch: Watch<'_>,
) -> Result<(), Failure> {
    let (send, chunks) = sync_channel::<std::io::Result<Vec<u8>>>(4);
    std::thread::spawn(move || {
        loop {
            let mut chunk = vec![0; 256 << 10];
            let read = body.read(&mut chunk).map(|got| {
                chunk.truncate(got);
                chunk
            });
            let is_last = read.as_ref().map_or(true, Vec::is_empty);
            // If this fails, the receiver has given up.
            if send.send(read).is_err() || is_last {
                return;
            }
        }
    });
    let (mut since, mut came) = (Instant::now(), 0);
    loop {
        let left = config.timeout.saturating_sub(since.elapsed());
        let chunk = match chunks.recv_timeout(left) {
            Ok(Ok(chunk)) if chunk.is_empty() => return Ok(()),
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => return Err(Failure::MayPass(io(format!("the connection broke off: {error}")))),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = config.timeout.as_secs_f64();
                let what = format!("{came} bytes in {seconds} s are too slow (DEBUGINFOD_TIMEOUT)");
                return Err(Failure::MayPass(io(what)));
            }
        };
        let length = part.length() + chunk.len() as u64;
        if length > config.most || whole.is_some_and(|whole| length > whole) {
            let bound = whole.unwrap_or(config.most).min(config.most);
            return Err(Failure::Final(exchange::too_large(length, bound)));
        }
        part.write_all(&chunk)
            .map_err(|e| Failure::Final(Error::io(part.path(), "write to the cache", e)))?;
        watch(part.length(), whole);
        came += chunk.len() as u64;
        if came >= LEAST {
            (since, came) = (Instant::now(), 0);
        }
    }
}
