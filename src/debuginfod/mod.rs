//! Debug files from debuginfod servers (debuginfod(8) of elfutils), into the cache that its other clients have too.
//!
//! [`exchange`] decides what is asked for and what an answer means, without a socket; `http` is the way to a server;
//! `cache` is where files lie. A file that comes is used only if the build id in it is the one that was asked for.
mod cache;
pub mod exchange;
mod http;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use crate::build_id::hex;
use crate::error::{Error, ErrorKind, Result};
use cache::{Entry, Part};
pub use exchange::{Body, Head, Transport};
use exchange::{Meaning, Request};
pub use http::Http;

/// What is known of servers and cache.
#[derive(Clone, Debug)]
pub struct Config {
    /// `http://` and `https://` prefixes, the first asked first.
    pub servers: Vec<String>,
    /// The folder of the cache.
    pub cache: PathBuf,
    /// A server that gives less than [`LEAST`] within this time is left.
    pub timeout: Duration,
    /// How often a server is asked again after a failure that may pass.
    pub retries: u32,
    /// No file is larger, in bytes.
    pub most: u64,
}

/// What a server has to give within the time, in bytes (debuginfod-client-config(7), `DEBUGINFOD_TIMEOUT`).
pub const LEAST: u64 = 100 << 10;

/// A debug file in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it lies.
    pub path: PathBuf,
    /// In bytes.
    pub size: u64,
    /// The server that gave it now; `None` if it was there.
    pub server: Option<String>,
}

/// Is told how far a download is: bytes, and of how many if that is known.
pub type Watch<'w> = &'w (dyn Fn(u64, Option<u64>) + Sync);

/// The file with the debug information of a build id: from the cache, else from the first server that has it. `None` if none
/// has it.
///
/// A download that broke off goes on where it ended, now or in another run, if the server can do that and still has the same.
///
/// # Errors
/// [`ErrorKind::Io`] where no server gave it and one failed, with its address and what it said, or the cache cannot be
/// written; [`ErrorKind::Mismatch`] for a file of another build id, which is not kept.
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
        // While another process had the part, it may have made it whole.
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

/// Asks one server until it has given all, and again after failures. Whether it has the file.
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
        // Who comes on by so much each time need not be counted; the largest size bounds it.
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

/// Why an attempt ended.
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

/// Writes what comes to the part. Another thread reads, so that a server that says nothing can be left.
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
            // Nobody waits for it any more where that fails.
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
