//! Requests to a server and the meaning of responses: decisions without a socket.
use crate::error::{Error, ErrorKind};
use std::io::Read;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The full URL.
    pub url: String,
    /// Number of bytes already present.
    pub from: u64,
    /// The version they belong to (`If-Range`, RFC 9110, 13.1.5).
    pub version: Option<String>,
}

impl Request {
    /// Requests the file at a URL, or its missing part.
    pub fn new(url: &str, from: Option<(u64, String)>) -> Self {
        let (from, version) = from.map_or((0, None), |(from, version)| (from, Some(version)));
        Self { url: url.to_owned(), from, version }
    }
}

/// The status and header fields of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// `Content-Length`.
    pub length: Option<u64>,
    /// `Content-Range`.
    pub range: Option<String>,
    /// `ETag` if strong, else `Last-Modified`.
    pub tag: Option<String>,
    /// `X-DEBUGINFOD-SIZE`: of the file, independent of transfer encodings.
    pub size: Option<u64>,
}

/// The body of a response.
pub type Body = Box<dyn Read + Send>;

/// Sends requests to servers.
pub trait Transport: Sync {
    /// Sends a request, and returns the final response after redirects.
    ///
    /// # Errors
    /// Why there is no response.
    fn get(&self, request: &Request) -> Result<(Head, Body), String>;
}

/// The meaning of a response.
#[derive(Debug)]
pub enum Meaning {
    /// The body is the file from its start, of this size if known.
    FromStart(Option<u64>),
    /// The body is the missing part.
    GoesOn(Option<u64>),
    /// The server does not have the file.
    Absent,
    /// The bytes already present cannot be used.
    NotTheSame(String),
    /// It may work later.
    Later(String),
    /// Retrying is pointless.
    Refused(Error),
}

/// The meaning of a response to a request, given the largest allowed file size.
pub fn meaning(request: &Request, head: &Head, most: u64) -> Meaning {
    let status = head.status;
    let whole = match status {
        200 => head.length.or(head.size),
        206 => match head.range.as_deref().and_then(range) {
            Some((from, whole)) if from == request.from && request.from > 0 => {
                whole.or_else(|| Some(from.saturating_add(head.length?)))
            }
            _ => return Meaning::NotTheSame("it sent another part than requested".to_owned()),
        },
        404 | 410 => return Meaning::Absent,
        416 => return Meaning::NotTheSame("the file is shorter than the part already present".to_owned()),
        408 | 429 | 500..=599 => return Meaning::Later(format!("HTTP status {status}")),
        _ => {
            let error = Error::new(ErrorKind::Io, format!("HTTP status {status}"));
            return Meaning::Refused(error.hint("see whether DEBUGINFOD_URLS is right"));
        }
    };
    match whole {
        Some(whole) if whole > most => Meaning::Refused(too_large(whole, most)),
        whole if status == 206 => Meaning::GoesOn(whole),
        whole => Meaning::FromStart(whole),
    }
}

/// The error for a file that is too large.
pub fn too_large(size: u64, most: u64) -> Error {
    let what = format!("{size} bytes or more, and at most {most} are taken");
    Error::new(ErrorKind::Unsupported, what).hint("raise DEBUGINFOD_MAXSIZE if that is right")
}

/// The start of a part, and the size of the whole: `bytes 100-199/200`, `bytes 100-199/*`.
fn range(text: &str) -> Option<(u64, Option<u64>)> {
    let (part, whole) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (from, _) = part.split_once('-')?;
    Some((from.trim().parse().ok()?, whole.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_what_they_mean() {
        let first = Request::new("http://x", None);
        let next = Request::new("http://x", Some((100, "\"v1\"".to_owned())));
        let said = |request: &Request, status: u16, length: Option<u64>, range: Option<&str>| {
            let head = Head { status, length, range: range.map(str::to_owned), ..Head::default() };
            match meaning(request, &head, 1000) {
                Meaning::FromStart(whole) => format!("from start {whole:?}"),
                Meaning::GoesOn(whole) => format!("goes on {whole:?}"),
                Meaning::Absent => "absent".to_owned(),
                Meaning::NotTheSame(_) => "not the same".to_owned(),
                Meaning::Later(_) => "later".to_owned(),
                Meaning::Refused(error) => error.kind().name().to_owned(),
            }
        };
        for (request, status, length, range, expected) in [
            (&first, 200, Some(7), None, "from start Some(7)"),
            (&first, 200, None, None, "from start None"),
            (&first, 200, Some(1001), None, "unsupported"),
            (&first, 206, Some(7), Some("bytes 0-6/7"), "not the same"),
            (&next, 200, Some(200), None, "from start Some(200)"),
            (&next, 206, Some(100), Some("bytes 100-199/200"), "goes on Some(200)"),
            (&next, 206, Some(100), Some("bytes 100-199/*"), "goes on Some(200)"),
            (&next, 206, Some(100), Some("bytes 99-199/200"), "not the same"),
            (&next, 206, Some(100), None, "not the same"),
            (&next, 206, None, Some("bytes 100-1999/2000"), "unsupported"),
            (&next, 206, Some(u64::MAX), Some("bytes 100-1999/*"), "unsupported"),
            (&next, 416, None, None, "not the same"),
            (&first, 404, None, None, "absent"),
            (&first, 503, None, None, "later"),
            (&first, 429, None, None, "later"),
            (&first, 403, None, None, "io"),
            (&first, 302, None, None, "io"),
        ] {
            assert_eq!(said(request, status, length, range), expected, "{status} {length:?} {range:?}");
        }
    }
}
