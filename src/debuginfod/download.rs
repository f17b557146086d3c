//! Downloads a file by its address, once and whole.
use super::exchange::{Meaning, Request, Transport, meaning};
use crate::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// How often a failure that may pass is tried again.
const RETRIES: u32 = 2;

/// Larger than any package of a kernel.
const MOST: u64 = 16 << 30;

/// Writes what is at an address to a new file.
///
/// # Errors
/// [`ErrorKind::Io`] with the response of the server; what was written is incomplete then.
pub fn download(transport: &dyn Transport, address: &str, to: &Path) -> Result<()> {
    let mut left = RETRIES;
    loop {
        match attempt(transport, address, to) {
            Err((error, may_pass)) if may_pass && left > 0 => {
                drop(error);
                left -= 1;
                std::thread::sleep(Duration::from_millis(200));
            }
            result => return result.map_err(|(error, _)| error),
        }
    }
}

/// Tries once; an error says whether it may pass.
fn attempt(transport: &dyn Transport, address: &str, to: &Path) -> Result<(), (Error, bool)> {
    let refused = |what: String| Error::new(ErrorKind::Io, what).hint("see whether the address is right");
    let request = Request::new(address, None);
    let (head, mut body) = transport.get(&request).map_err(|why| (refused(why), true))?;
    let whole = match meaning(&request, &head, MOST) {
        Meaning::FromStart(whole) => whole,
        Meaning::Refused(_) | Meaning::Absent => {
            return Err((refused(format!("HTTP status {}", head.status)), false));
        }
        Meaning::Later(why) | Meaning::NotTheSame(why) => return Err((refused(why), true)),
        Meaning::GoesOn(_) => return Err((refused("a part of the file was sent".to_owned()), true)),
    };
    let mut file = File::create(to).map_err(|e| (Error::io(to, "write what is fetched", e), false))?;
    let got = std::io::copy(&mut body, &mut file)
        .map_err(|e| (refused(format!("the file was not sent or written in full: {e}")), true))?;
    match whole {
        Some(whole) if got != whole => {
            Err((refused(format!("the connection ended after {got} of {whole} bytes")), true))
        }
        _ => Ok(()),
    }
}
