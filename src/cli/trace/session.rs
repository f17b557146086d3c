//! Plants, prints until the end, and removes.
use super::chosen::Chosen;
use super::signals::Ending;
use super::steps::Steps;
use crate::cli::args::Trace;
use crate::cli::config::Config;
use crate::cli::exit::Outcome;
use crate::cli::note;
use crate::cli::output::failed;
use crate::error::{Error, Result};
use crate::tracefs::mount::Tracefs;
use crate::tracefs::planted::Planted;
use crate::tracefs::session_id::SessionId;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// How long nothing is looked at while nothing happens.
const PAUSE: Duration = Duration::from_millis(50);

/// Plants the steps, prints, and removes all of it, whatever happens.
pub fn run(
    tracefs: &Tracefs,
    session: SessionId,
    chosen: &Chosen,
    steps: &Steps<'_>,
    args: &Trace,
    config: &Config,
    out: &mut dyn Write,
) -> Result<Outcome> {
    let ending = Ending::watch()?;
    let planted = Planted::new(tracefs, session, steps.definitions.iter().copied())?;
    let result = start(&planted, steps).and_then(|()| print(&planted, chosen, args, config, &ending, out));
    let removed = planted.remove();
    let outcome = result?;
    removed.map(|()| outcome)
}

/// Sets filters and turns all events on.
fn start(planted: &Planted, steps: &Steps<'_>) -> Result<()> {
    for (name, text) in &steps.writes {
        match name.strip_suffix("/filter") {
            Some(event) => planted.instance.set_filter(event, text)?,
            // Kernels without it (before 4.16) follow no children.
            None if name == "options/event-fork" => {
                let _ = planted.instance.try_write(name, text);
            }
            None => planted.instance.write(name, text)?,
        }
    }
    Ok(())
}

fn print(
    planted: &Planted,
    chosen: &Chosen,
    args: &Trace,
    config: &Config,
    ending: &Ending,
    out: &mut dyn Write,
) -> Result<Outcome> {
    let events = chosen.plan.events.len();
    note(config, &format!("tracing {events} event{}; Ctrl-C ends it", if events == 1 { "" } else { "s" }));
    let path = planted.instance.folder().join("trace_pipe");
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
    let mut pipe = opened.map_err(|e| Error::io(&path, "read the trace", e))?;
    let end = args.duration.and_then(|time| Instant::now().checked_add(time));
    let mut printed = 0;
    let mut bytes = vec![0; 1 << 16];
    loop {
        let is_last = ending.is_asked() || end.is_some_and(|end| Instant::now() >= end);
        if is_last {
            let _ = planted.instance.record(false);
        }
        match pipe.read(&mut bytes) {
            Ok(got) if got > 0 => {
                for line in bytes[..got].split_inclusive(|b| *b == b'\n') {
                    out.write_all(line).map_err(failed)?;
                    printed += 1;
                    if args.limit.is_some_and(|limit| printed >= limit) {
                        return out.flush().map_err(failed).map(|()| Outcome::Done);
                    }
                }
                out.flush().map_err(failed)?;
                continue;
            }
            _ if is_last => return Ok(Outcome::Done),
            Ok(_) => std::thread::sleep(PAUSE),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io(&path, "read the trace", e)),
        }
    }
}
