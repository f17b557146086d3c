//! Requests and responses of HTTP/1.1, of which little is taken: see the bounds.
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The largest head of a request in bytes, and its fields.
const HEAD: usize = 16 << 10;
const FIELDS: usize = 64;
/// The largest body in bytes.
pub const BODY: usize = 8 << 20;
/// How long a connection may be without a request, and how long a request may take to come in.
const IDLE: Duration = Duration::from_secs(30);
const COMING: Duration = Duration::from_secs(10);

/// A request.
#[derive(Debug, Default)]
pub struct Request {
    /// `GET`.
    pub method: String,
    /// The path, as it was sent.
    pub path: String,
    /// What stands behind the question mark.
    pub query: String,
    /// Names in lower case, and values.
    fields: Vec<(String, String)>,
    /// What was pasted.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a field; its name in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
    /// Whether the connection ends with the answer.
    pub fn is_last(&self) -> bool {
        self.field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Why a request is not answered: the status, and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub u16, pub &'static str);

/// What came of waiting for a request.
pub enum Received {
    /// A whole one.
    Request(Request),
    /// The other end has no more, or does not go on.
    Nothing,
    /// No request that is taken; the connection cannot be used any longer.
    Refused(Refusal),
}

/// The requests of a connection, one after the other.
pub struct Reader<'s> {
    stream: &'s TcpStream,
    /// What was read and is not used yet.
    read: Vec<u8>,
}

impl<'s> Reader<'s> {
    /// Of this connection.
    pub fn new(stream: &'s TcpStream) -> Self {
        Self { stream, read: vec![] }
    }

    /// Waits for the next request.
    pub fn next(&mut self) -> Received {
        self.receive().unwrap_or_else(|failed| match failed.kind() {
            // Linux says so where a timeout of the socket is over.
            ErrorKind::WouldBlock | ErrorKind::TimedOut if !self.read.is_empty() => {
                Received::Refused(Refusal(408, "the request did not come in within 10 s"))
            }
            _ => Received::Nothing,
        })
    }

    fn receive(&mut self) -> io::Result<Received> {
        let refused = |status, why| Ok(Received::Refused(Refusal(status, why)));
        if self.read.is_empty() && self.more(IDLE)? == 0 {
            return Ok(Received::Nothing);
        }
        let until = Instant::now() + COMING;
        let (mut request, length, end) = loop {
            match head(&self.read) {
                Ok(Some(head)) => break head,
                Ok(None) if self.read.len() >= HEAD => {
                    return refused(431, "the head of the request is too long");
                }
                Ok(None) => {}
                Err(Refusal(status, why)) => return refused(status, why),
            }
            if self.more(left(until)?)? == 0 {
                return Ok(Received::Nothing);
            }
        };
        if end > HEAD {
            return refused(431, "the head of the request is too long");
        }
        if length > BODY {
            return refused(413, "more than 8 MiB are not taken");
        }
        if length > 0 && request.field("expect").is_some() {
            (&mut &*self.stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        while self.read.len() < end + length {
            if self.more(left(until)?)? == 0 {
                return Ok(Received::Nothing);
            }
        }
        request.body = self.read[end..end + length].to_vec();
        self.read.drain(..end + length);
        Ok(Received::Request(request))
    }

    /// Reads what is there, and waits so long for something.
    fn more(&mut self, wait: Duration) -> io::Result<usize> {
        let mut piece = [0; 16 << 10];
        self.stream.set_read_timeout(Some(wait))?;
        let length = loop {
            match (&mut &*self.stream).read(&mut piece) {
                Err(failed) if failed.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.read.extend_from_slice(&piece[..length]);
        Ok(length)
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// The request, the length of its body and that of its head; `None` if the head is not whole.
fn head(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Refusal> {
    const WRONG: Refusal = Refusal(400, "this is no request of HTTP/1.1");
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let end = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal(431, "the request has too many fields")),
        Err(_) => return Err(WRONG),
    };
    if parsed.version != Some(1) {
        return Err(Refusal(505, "HTTP/1.1 is taken"));
    }
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else { return Err(WRONG) };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        ..Request::default()
    };
    for field in parsed.headers.iter() {
        let name = field.name.to_ascii_lowercase();
        let value = std::str::from_utf8(field.value).map_err(|_| WRONG)?.trim().to_owned();
        // Of two the program and what stands before it could each take another.
        if matches!(&*name, "host" | "content-length" | "origin") && request.field(&name).is_some() {
            return Err(WRONG);
        }
        request.fields.push((name, value));
    }
    if request.field("transfer-encoding").is_some() {
        return Err(Refusal(411, "the length of the text has to be said"));
    }
    let length = request.field("content-length").map_or(Ok(0), |text| {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if is_number { Ok(text.parse().unwrap_or(usize::MAX)) } else { Err(WRONG) }
    })?;
    Ok(Some((request, length, end)))
}

/// The fields of a query, in their order. `None` if what they stand for is no text.
pub fn parameters(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = vec![];
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? << 4 | digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

/// What each response says besides its own fields: what a page may do, and that nobody else reads it.
const SAFE: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Permissions-Policy: camera=(), geolocation=(), microphone=()\r\n";

/// The head of a response, up to the fields of its length.
pub fn head_of(status: u16, kind: &str, more: &str) -> String {
    let phrase = match status {
        200 => "OK",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    };
    format!("HTTP/1.1 {status} {phrase}\r\nContent-Type: {kind}\r\n{SAFE}{more}")
}

/// Writes a whole response; without its body for `HEAD`.
///
/// # Errors
/// Those of the connection.
pub fn respond(stream: &TcpStream, head: &str, body: &[u8], with_body: bool) -> io::Result<()> {
    let mut response = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    if with_body {
        response.extend_from_slice(body);
    }
    (&mut &*stream).write_all(&response)
}

/// Writes a response of one sentence.
///
/// # Errors
/// Those of the connection.
pub fn refuse(stream: &TcpStream, Refusal(status, why): Refusal, is_last: bool) -> io::Result<()> {
    let allow = if status == 405 { "Allow: GET, HEAD, POST\r\n" } else { "" };
    let close = if is_last { "Connection: close\r\n" } else { "" };
    let head =
        head_of(status, "text/plain; charset=utf-8", &format!("Cache-Control: no-store\r\n{allow}{close}"));
    respond(stream, &head, format!("{why}\n").as_bytes(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> u16 {
        head(text.as_bytes()).unwrap_err().0
    }

    #[test]
    fn a_head_is_read_and_what_could_be_read_in_two_ways_is_refused() {
        let text = "GET /a%20b?q=1+2&q=%C3%A4 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc";
        let (request, length, end) = head(text.as_bytes()).unwrap().unwrap();
        assert_eq!((request.path.as_str(), length, &text[end..]), ("/a%20b", 3, "abc"));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(parameters(&request.query).unwrap(), [pair("q", "1 2"), pair("q", "ä")]);
        assert!(head(&text.as_bytes()[..40]).unwrap().is_none());
        assert_eq!(refusal("GET / HTTP/1.0\r\n\r\n"), 505);
        assert_eq!(refusal("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(refusal("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400);
        assert_eq!(refusal("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n"), 400);
        assert_eq!(refusal("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
        assert_eq!(refusal("\0\0\r\n\r\n"), 400);
        let many = "A: b\r\n".repeat(FIELDS + 1);
        assert_eq!(refusal(&format!("GET / HTTP/1.1\r\n{many}\r\n")), 431);
    }

    #[test]
    fn what_is_no_text_is_no_parameter() {
        for wrong in ["q=%", "q=%4", "q=%zz", "q=%ff"] {
            assert!(parameters(wrong).is_none(), "{wrong}");
        }
        assert_eq!(parameters("&&").unwrap(), []);
    }
}
