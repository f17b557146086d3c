//! Who may ask: decided by the request's head alone.
use crate::message::{Refusal, Request};
use probeidx::{Error, ErrorKind, Result};
use std::io::Read;
use std::net::SocketAddr;

/// What lets a request in.
#[derive(Debug)]
pub struct Access {
    /// The values of `Host` that lead here; any where it is not loopback, for there the token decides.
    hosts: Option<Vec<String>>,
    token: Option<String>,
}

/// The name of the cookie, and of the field in the printed address.
const COOKIE: &str = "probeidx_token";
const FIELD: &str = "token=";

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is answered.
    Granted,
    /// It brought the token in its address: it goes to the same without it, with the cookie.
    Introduced {
        /// The field `Set-Cookie`.
        cookie: String,
        /// The address without the token.
        target: String,
    },
}

impl Access {
    /// For a program that listens there.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if there are no random numbers for a token.
    pub fn new(address: SocketAddr) -> Result<Self> {
        let port = address.port();
        if address.ip().is_loopback() {
            let own = format!("{address}");
            let named = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}"));
            let bare = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
            // A browser leaves out the port of the scheme.
            let bare = bare.into_iter().filter(|_| port == 80);
            return Ok(Self {
                hosts: Some(named.into_iter().chain(bare).chain([own]).collect()),
                token: None,
            });
        }
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .map_err(|e| Error::new(ErrorKind::Io, format!("cannot make a token: {e}")))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { hosts: None, token: Some(token) })
    }

    /// What is printed behind the address.
    pub fn introduction(&self) -> String {
        self.token.as_ref().map_or(String::new(), |token| format!("?{FIELD}{token}"))
    }

    /// Decides.
    ///
    /// # Errors
    /// 403 for other hosts, origins and those without the token; 405 for methods that change something.
    pub fn admit(&self, request: &Request) -> std::result::Result<Admission, Refusal> {
        if !matches!(&*request.method, "GET" | "HEAD" | "POST") {
            return Err(Refusal(405, "GET and HEAD are taken, POST for pasted text"));
        }
        let host = request.field("host").unwrap_or_default();
        if self.hosts.as_ref().is_some_and(|known| !known.iter().any(|h| h.eq_ignore_ascii_case(host))) {
            return Err(Refusal(403, "this host is not answered for: ask for 127.0.0.1"));
        }
        let is_own =
            |origin: &str| origin.strip_prefix("http://").is_some_and(|o| o.eq_ignore_ascii_case(host));
        if request.field("origin").is_some_and(|origin| !is_own(origin)) {
            return Err(Refusal(403, "another page may not ask"));
        }
        let is_question = request.path.starts_with("/api/");
        let site = request.field("sec-fetch-site");
        if is_question && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(Refusal(403, "another page may not ask"));
        }
        let Some(token) = &self.token else { return Ok(Admission::Granted) };
        let cookies = request.field("cookie").unwrap_or_default().split(';');
        let named = cookies.filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='));
        if named.into_iter().any(|value| is_same(value, token)) {
            return Ok(Admission::Granted);
        }
        let mut fields: Vec<&str> = request.query.split('&').collect();
        let given =
            fields.iter().position(|f| f.strip_prefix(FIELD).is_some_and(|value| is_same(value, token)));
        match given {
            Some(at) if request.method == "GET" && !is_question => {
                fields.remove(at);
                let query = fields.join("&");
                let mark = if query.is_empty() { "" } else { "?" };
                // Two slashes would be another host's.
                let target = format!("/{}{mark}{query}", request.path.trim_start_matches('/'));
                let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
                Ok(Admission::Introduced { cookie, target })
            }
            _ => Err(Refusal(403, "the token is missing: open the address that was printed")),
        }
    }
}

/// Compares in a time that does not depend on where they differ.
fn is_same(given: &str, token: &str) -> bool {
    let differing = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differing == 0
}
