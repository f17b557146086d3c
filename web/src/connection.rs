//! Answers the requests of one connection, one after the other.
use crate::access::Admission;
use crate::assets::Asset;
use crate::code::Part;
use crate::copies;
use crate::lines::Lines;
use crate::message::{Reader, Received, Refusal, Request, head_of, parameters, refuse, respond};
use crate::questions;
use crate::server::Shared;
use probeidx::cli::serve::{Outlet, Request as Asked};
use probeidx::query::check::Kind;
use serde_json::json;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// The paths that are pages.
const PAGES: [&str; 15] = [
    "/",
    "/function",
    "/code",
    "/lines",
    "/type",
    "/address",
    "/diff",
    "/history",
    "/log",
    "/script",
    "/tapsets",
    "/tracepoints",
    "/find",
    "/blacklist",
    "/kernel",
];

/// Answers until the other end is gone, or sends what is no request.
pub fn serve(stream: TcpStream, shared: &Shared) {
    let stream = Arc::new(stream);
    let mut reader = Reader::new(&stream);
    loop {
        match reader.next() {
            Received::Nothing => return,
            Received::Refused(refusal) => {
                let _ = refuse(&stream, refusal, true);
                return;
            }
            Received::Request(request) => {
                let written = match answer(&stream, &request, shared) {
                    Ok(written) => written,
                    Err(refusal) => refuse(&stream, refusal, false),
                };
                if written.is_err() || request.is_last() {
                    return;
                }
            }
        }
    }
}

fn answer(stream: &Arc<TcpStream>, request: &Request, shared: &Shared) -> Result<io::Result<()>, Refusal> {
    if let Admission::Introduced { cookie, target } = shared.access.admit(request)? {
        let fields = format!("Cache-Control: no-store\r\nSet-Cookie: {cookie}\r\nLocation: {target}\r\n");
        return Ok(respond(stream, &head_of(303, "text/plain; charset=utf-8", &fields), b"", true));
    }
    if let Some(method) = request.path.strip_prefix("/api/") {
        return question(stream, method, request, shared);
    }
    if request.method == "POST" {
        return Err(Refusal(405, "text is pasted to decode and check"));
    }
    if let Some(file) = request.path.strip_prefix("/assets/") {
        let file = shared.assets.file(file).ok_or(Refusal(404, "there is no such file"))?;
        return Ok(send(stream, request, file, "public, max-age=31536000, immutable"));
    }
    match PAGES.contains(&&*request.path) {
        true => Ok(send(stream, request, &shared.assets.page, "no-cache")),
        false => Err(Refusal(404, "there is no such page")),
    }
}

fn send(stream: &TcpStream, request: &Request, asset: &Asset, cached: &str) -> io::Result<()> {
    let accepted = request.field("accept-encoding").unwrap_or_default();
    let takes_gzip =
        accepted.split(',').any(|coding| coding.split(';').next().unwrap_or_default().trim() == "gzip");
    let (body, coding) = match takes_gzip {
        true => (asset.gzip(), "Content-Encoding: gzip\r\n"),
        false => (&asset.plain[..], ""),
    };
    let fields = format!("Cache-Control: {cached}\r\nVary: Accept-Encoding\r\n{coding}");
    respond(stream, &head_of(200, asset.kind, &fields), body, request.method != "HEAD")
}

/// Answers a question as lines of JSON.
fn question(
    stream: &Arc<TcpStream>,
    method: &str,
    request: &Request,
    shared: &Shared,
) -> Result<io::Result<()>, Refusal> {
    const KIND: &str = "application/x-ndjson";
    const FIELDS: &str = "Cache-Control: no-store\r\n";
    let text = match &*request.method {
        "GET" => None,
        "POST" => Some(&*request.body),
        _ => return Err(Refusal(405, "questions are asked with GET, or POST for pasted text")),
    };
    let parameters = parameters(&request.query).ok_or(Refusal(400, "the query is not UTF-8"))?;
    let config = shared.answers.config();
    if method == "search" {
        let [(name, typed)] = &parameters[..] else { return Err(Refusal(400, "search has the parameter q")) };
        if name != "q" || text.is_some() {
            return Err(Refusal(400, "search has the parameter q"));
        }
        let _place = shared.place();
        let lines = shared.search.lines(typed, &config);
        return Ok(respond(stream, &head_of(200, KIND, FIELDS), &lines, true));
    }
    if method == "kind" {
        let written = text.ok_or(Refusal(405, "decode, check and kind take POST, all others GET"))?;
        let mut lines = Lines::default();
        lines.item(&json!({ "kind": Kind::guessed(written).name() }));
        return Ok(respond(stream, &head_of(200, KIND, FIELDS), &lines.end(Ok(())), true));
    }
    let part = Part::of(method);
    if part.is_some() || method == "copies" {
        let about = if part.is_some() { "at" } else { "spec" };
        let [kernel, about] = two(&parameters, ["kernel", about])?;
        if text.is_some() {
            return Err(Refusal(405, "decode and check take POST, all others GET"));
        }
        let _place = shared.place();
        let lines = match part {
            Some(part) => shared.code.lines(part, kernel, about, &config),
            None => copies::lines(kernel, about, &config),
        };
        return Ok(respond(stream, &head_of(200, KIND, FIELDS), &lines, true));
    }
    let is_kernel = |name: &str| config.releases().is_ok_and(|known| known.iter().any(|known| known == name));
    let line = questions::line(method, &parameters, text, is_kernel)?;
    let asked = Asked::parse(&line).map_err(|_| Refusal(400, "this cannot be asked"))?;
    let asked = Arc::new(asked);
    let _watched = shared.watch.watch(stream, &asked);
    let _place = shared.place();
    let head = head_of(200, KIND, &format!("{FIELDS}Transfer-Encoding: chunked\r\n\r\n"));
    let outlet = Outlet::new(Box::new(Chunked { stream: Arc::clone(stream), head: Some(head) }));
    shared.answers.answer(&asked, &outlet);
    match outlet.is_closed() {
        true => Ok(Err(io::ErrorKind::BrokenPipe.into())),
        false => Ok((&mut &**stream).write_all(b"0\r\n\r\n")),
    }
}

/// The values of these parameters, each of which is needed, and no other.
fn two<'p>(parameters: &'p [(String, String)], names: [&str; 2]) -> Result<[&'p str; 2], Refusal> {
    let value =
        |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    match names.map(value) {
        [Some(first), Some(second)] if parameters.len() == 2 => Ok([first, second]),
        _ => Err(Refusal(400, "this method has two parameters: see docs/web.md")),
    }
}

/// A body whose length is not known before; each write is a piece of it.
struct Chunked {
    stream: Arc<TcpStream>,
    /// Goes before the first.
    head: Option<String>,
}

impl Write for Chunked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut piece = self.head.take().unwrap_or_default().into_bytes();
        write!(piece, "{:x}\r\n", bytes.len())?;
        piece.extend_from_slice(bytes);
        piece.extend_from_slice(b"\r\n");
        (&mut &*self.stream).write_all(&piece)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
