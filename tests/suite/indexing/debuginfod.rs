//! Debug files from servers: what they may answer, and what is made of it. The server is a thread of the test.
use super::distributions::{MODULES, Machine, Part, QUESTIONS, build_id};
use crate::support::fixture::RELEASE;
use crate::support::program::{KERNEL, Run, command, run_in};
use probeidx::ErrorKind;
use probeidx::debuginfod::{Config, Fetched, Http, fetch};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it came.
#[derive(Clone, Debug, Default, PartialEq)]
struct Asked {
    path: String,
    from: Option<usize>,
    version: Option<String>,
}

/// What the server does: bytes that it sends, and how long it then says nothing before it hangs up.
type Answer = dyn Fn(&Asked, usize) -> (Vec<u8>, Duration) + Send + Sync;

struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// `answer` is told how many requests came before.
    fn start(answer: impl Fn(&Asked, usize) -> (Vec<u8>, Duration) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(vec![]));
        let (all, answer): (_, Arc<Answer>) = (asked.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, answer) = (all.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &all, &*answer));
            }
        });
        Self { url, asked }
    }

    /// Always the same.
    fn says(answer: Vec<u8>) -> Self {
        Self::start(move |_, _| (answer.clone(), Duration::ZERO))
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, all: &Mutex<Vec<Asked>>, answer: &Answer) {
    let mut text = vec![];
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|got| got == 1) {
        text.push(byte[0]);
    }
    let text = String::from_utf8(text).unwrap();
    let header = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let from =
        header("range").map(|r| r.strip_prefix("bytes=").unwrap().trim_end_matches('-').parse().unwrap());
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let request = Asked { path, from, version: header("if-range") };
    let before = {
        let mut all = all.lock().unwrap();
        all.push(request.clone());
        all.len() - 1
    };
    let (bytes, silence) = answer(&request, before);
    let _ = stream.write_all(&bytes);
    std::thread::sleep(silence);
}

fn head(status: &str, length: usize, more: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n").into_bytes()
}

fn whole(bytes: &[u8], more: &str) -> Vec<u8> {
    [head("200 OK", bytes.len(), more), bytes.to_vec()].concat()
}

fn part(bytes: &[u8], from: usize, more: &str) -> Vec<u8> {
    let range = format!("Content-Range: bytes {from}-{}/{}\r\n{more}", bytes.len() - 1, bytes.len());
    [head("206 Partial Content", bytes.len() - from, &range), bytes[from..].to_vec()].concat()
}

/// The vmlinux of the fixture, which grew to some MB, as debuginfo does.
struct Wanted {
    bytes: Vec<u8>,
    id: Vec<u8>,
    cache: tempfile::TempDir,
}

impl Wanted {
    fn new() -> Self {
        let mut bytes = std::fs::read(KERNEL.tree.vmlinux()).unwrap();
        bytes.resize(1 << 20, 7);
        let id = build_id(&KERNEL.tree.vmlinux());
        let id = (0..20).map(|n| u8::from_str_radix(&id[2 * n..][..2], 16).unwrap()).collect();
        Self { bytes, id, cache: tempfile::tempdir().unwrap() }
    }

    fn config(&self, servers: &[&Server]) -> Config {
        Config {
            servers: servers.iter().map(|server| server.url.clone()).collect(),
            cache: self.cache.path().join("cache"),
            timeout: Duration::from_millis(700),
            retries: 2,
            most: 64 << 20,
        }
    }

    fn fetch(&self, config: &Config) -> probeidx::Result<Option<Fetched>> {
        fetch(config, &Http::new(config.timeout), &self.id, &|_, _| {})
    }

    /// It comes, and is what was asked for.
    #[track_caller]
    fn comes(&self, servers: &[&Server]) -> Fetched {
        let fetched = self.fetch(&self.config(servers)).unwrap().unwrap();
        assert!(std::fs::read(&fetched.path).unwrap() == self.bytes);
        fetched
    }

    /// Files in the cache.
    fn kept(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.cache.path().join("cache")) else { return vec![] };
        let names = |folder: &Path| {
            let entries = std::fs::read_dir(folder).unwrap();
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        entries.flat_map(|entry| names(&entry.unwrap().path())).collect()
    }
}

#[test]
fn a_file_comes_once_and_lies_where_elfutils_looks() {
    let wanted = Wanted::new();
    let bytes = wanted.bytes.clone();
    let server = Server::start(move |_, _| (whole(&bytes, ""), Duration::ZERO));
    let none = Server::says(head("404 Not Found", 0, ""));
    let fetched = wanted.comes(&[&none, &server]);
    assert_eq!((fetched.server.as_ref(), fetched.size), (Some(&server.url), wanted.bytes.len() as u64));
    let id: String = wanted.id.iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(fetched.path, wanted.cache.path().join("cache").join(&id).join("debuginfo"));
    assert_eq!(server.asked()[0].path, format!("/buildid/{id}/debuginfo"));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&fetched.path), mode(fetched.path.parent().unwrap())), (0o400, 0o700));
    assert_eq!(wanted.kept(), ["debuginfo"]);
    assert_eq!(wanted.comes(&[&none, &server]).server, None);
    assert_eq!((none.asked().len(), server.asked().len()), (1, 1));
}

#[test]
fn a_download_that_broke_off_goes_on() {
    let wanted = Wanted::new();
    let bytes = wanted.bytes.clone();
    // Hangs up after half of it, and then it is busy.
    let server = Server::start(move |asked, before| {
        let tag = "ETag: \"one\"\r\n";
        let mut answer = asked.from.map_or_else(|| whole(&bytes, tag), |from| part(&bytes, from, tag));
        match before {
            0 => answer.truncate(answer.len() / 2),
            1 => answer = head("503 Service Unavailable", 0, ""),
            _ => {}
        }
        (answer, Duration::ZERO)
    });
    let once = Config { retries: 0, ..wanted.config(&[&server]) };
    let error = wanted.fetch(&once).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.message().starts_with("debuginfod http://127"), "{error}");
    assert_eq!(wanted.kept().len(), 2, "the part, and what it is of: {:?}", wanted.kept());
    // In a later run.
    wanted.comes(&[&server]);
    let [_, _, second] = &server.asked()[..] else { panic!("{:?}", server.asked()) };
    assert!(second.from.is_some_and(|from| from > 400_000), "{second:?}");
    assert_eq!(second.version.as_deref(), Some("\"one\""));
    assert_eq!(wanted.kept(), ["debuginfo"]);
}

#[test]
fn what_cannot_go_on_starts_again() {
    // No ranges; another version meanwhile; nothing by which to know the version.
    for tag in ["Last-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\n", "ETag: W/\"weak\"\r\n", ""] {
        let wanted = Wanted::new();
        let bytes = wanted.bytes.clone();
        let server = Server::start(move |_, before| {
            let mut answer = whole(&bytes, tag);
            if before < 2 {
                answer.truncate(answer.len() / (3 - before));
            }
            (answer, Duration::ZERO)
        });
        wanted.comes(&[&server]);
        assert_eq!(server.asked().len(), 3);
        assert_eq!(server.asked()[1].from.is_some(), tag.starts_with("Last"), "{tag}");
    }
    // What the server has now is shorter than what came before.
    let wanted = Wanted::new();
    let bytes = wanted.bytes.clone();
    let server = Server::start(move |asked, before| {
        let answer = match (before, asked.from) {
            (0, _) => whole(&bytes, "ETag: \"a\"\r\n")[..900_000].to_vec(),
            (_, Some(_)) => head("416 Range Not Satisfiable", 0, ""),
            _ => whole(&bytes, ""),
        };
        (answer, Duration::ZERO)
    });
    wanted.comes(&[&server]);
}

#[test]
fn what_is_not_what_was_asked_for_is_not_kept() {
    let wanted = Wanted::new();
    let other = std::fs::read(KERNEL.tree.module("beta")).unwrap();
    let stripped = Machine::new("");
    stripped.vmlinux("vmlinux", Part::Stripped);
    let stripped = std::fs::read(stripped.path("vmlinux")).unwrap();
    let cut = wanted.bytes[..wanted.bytes.len() / 40].to_vec();
    for (answer, kind) in [
        (whole(&other, ""), ErrorKind::Mismatch),
        (whole(&stripped, ""), ErrorKind::NoDebugInfo),
        (whole(b"<html>hello</html>", ""), ErrorKind::Damaged),
        // A length that is not that of the file.
        (whole(&cut, ""), ErrorKind::Damaged),
        (head("200 OK", usize::MAX, ""), ErrorKind::Unsupported),
        (head("200 OK", 65 << 20, ""), ErrorKind::Unsupported),
        (head("403 Forbidden", 0, ""), ErrorKind::Io),
        (b"HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n".to_vec(), ErrorKind::Io),
        (b"220 smtp ready\r\n".to_vec(), ErrorKind::Io),
    ] {
        let server = Server::says(answer);
        let error = wanted.fetch(&wanted.config(&[&server])).unwrap_err();
        let is_kind = error.kind() == kind
            || (kind == ErrorKind::Damaged
                && matches!(error.kind(), ErrorKind::NotElf | ErrorKind::Mismatch));
        assert!(is_kind && error.message().starts_with("debuginfod "), "{kind:?}: {error}");
        assert_eq!(wanted.kept(), Vec::<String>::new(), "{error}");
    }
    // Another server has the right one.
    let bytes = wanted.bytes.clone();
    wanted.comes(&[&Server::says(whole(&other, "")), &Server::says(whole(&bytes, ""))]);
}

#[test]
fn servers_that_fail_are_asked_again_and_left() {
    let wanted = Wanted::new();
    assert_eq!(wanted.fetch(&wanted.config(&[&Server::says(head("404 Not Found", 0, ""))])).unwrap(), None);
    assert!(wanted.kept().is_empty());
    let busy = Server::says(head("503 Service Unavailable", 0, ""));
    let error = wanted.fetch(&wanted.config(&[&busy])).unwrap_err();
    assert!(busy.asked().len() == 3 && error.message().ends_with("HTTP status 503"), "{error}");
    // It says nothing, or gives a byte and then nothing.
    for said in [vec![], [head("200 OK", 1 << 20, ""), vec![0x7f]].concat()] {
        let slow = Server::start(move |_, _| (said.clone(), Duration::from_secs(5)));
        let config = Config { retries: 0, ..wanted.config(&[&slow]) };
        let error = wanted.fetch(&config).unwrap_err();
        assert!(error.kind() == ErrorKind::Io && !error.message().is_empty(), "{error}");
    }
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = Config { servers: vec![format!("http://{gone}")], ..wanted.config(&[]) };
    assert_eq!(wanted.fetch(&config).unwrap_err().kind(), ErrorKind::Io);

    let bytes = wanted.bytes.clone();
    let recovers = Server::start(move |_, before| match before {
        0 | 1 => (head("503 Service Unavailable", 0, ""), Duration::ZERO),
        _ => (whole(&bytes, ""), Duration::ZERO),
    });
    let to = format!("Location: {}/elsewhere\r\n", recovers.url);
    wanted.comes(&[&Server::says(head("302 Found", 0, &to))]);
    assert_eq!(recovers.asked()[2].path, "/elsewhere");
}

/// A machine with a stripped kernel, and a server that has its debug files.
fn machine() -> (Machine, Server) {
    let m = Machine::new("");
    m.vmlinux("boot/vmlinux-R", Part::Stripped).modules("lib/modules/R/kernel", ".xz", Part::Stripped);
    let mut files = HashMap::from([(build_id(&KERNEL.tree.vmlinux()), KERNEL.tree.vmlinux())]);
    files.extend(MODULES.map(|name| (build_id(&KERNEL.tree.module(name)), KERNEL.tree.module(name))));
    let server = Server::start(move |asked, _| {
        let file = asked.path.split('/').nth(2).and_then(|id| files.get(id));
        let answer = file.map(|file| whole(&std::fs::read(file).unwrap(), ""));
        (answer.unwrap_or_else(|| head("404 Not Found", 0, "")), Duration::ZERO)
    });
    (m, server)
}

fn build(m: &Machine, server: &Server, arguments: &[&str]) -> Run {
    let mut c = command(m.db.path());
    c.env("DEBUGINFOD_URLS", format!("file:///x {}", server.url));
    c.env("DEBUGINFOD_CACHE_PATH", m.db.path().join("cache"));
    c.args(["build", "--force", "--sysroot"]).arg(m.root.path()).args(arguments);
    Run::of(c.output().unwrap())
}

#[test]
fn a_kernel_whose_debug_files_are_elsewhere_is_fetched_and_answers() {
    let (m, server) = machine();
    let built = build(&m, &server, &["--debuginfod", "all"]);
    assert_eq!(built.code, 0, "{built:?}");
    assert!(built.out.starts_with(&format!("{RELEASE}: 4 objects, ")), "{built:?}");
    let lines: Vec<&str> = built.err.lines().collect();
    assert_eq!(lines.len(), 3, "{built:?}");
    assert!(lines[0].contains("neither http nor https, and left out: file:///x"), "{built:?}");
    assert!(lines[1].starts_with(&format!("probeidx: fetched vmlinux of {RELEASE}, ")), "{built:?}");
    assert!(
        lines[1].contains(&server.url) && lines[1].contains(&build_id(&KERNEL.tree.vmlinux())),
        "{built:?}"
    );
    assert!(lines[2].starts_with("probeidx: fetched 3 of 3 modules, "), "{built:?}");
    for asked in QUESTIONS {
        let [own, expected] = [m.db.path(), KERNEL.db.path()].map(|db| run_in(db, asked).found());
        assert_eq!(own, expected, "{asked:?}");
    }
    let again = build(&m, &server, &["--debuginfod", "all"]);
    assert!(again.code == 0 && again.err.contains("is in the cache of debuginfod: "), "{again:?}");
    assert_eq!(server.asked().len(), 4, "each file once");
}

#[test]
fn only_what_is_needed_is_fetched() {
    let (m, server) = machine();
    // The other root has no kernel that runs.
    let built = build(&m, &server, &[]);
    assert_eq!(built.code, 0, "{built:?}");
    assert!(built.err.contains("3 modules were not asked for as they are not loaded"), "{built:?}");
    assert!(built.out.starts_with(&format!("{RELEASE}: 1 objects, ")), "{built:?}");
    assert_eq!(server.asked().len(), 1);

    let (m, server) = machine();
    let built = build(&m, &server, &["--debuginfod", "nothing"]);
    assert!(built.code == 3 && server.asked().is_empty(), "{built:?}");
    assert!(built.err.lines().last().unwrap().contains("DEBUGINFOD_URLS"), "{built:?}");
    // What is here is not asked for.
    m.vmlinux("usr/lib/debug/boot/vmlinux-R", Part::Whole);
    m.modules("usr/lib/debug/lib/modules/R/kernel", "", Part::Debug);
    let built = build(&m, &server, &["--debuginfod", "all"]);
    assert!(built.code == 0 && server.asked().is_empty(), "{built:?}");

    let (m, _) = machine();
    let none = Server::says(head("404 Not Found", 0, ""));
    let built = build(&m, &none, &["--debuginfod", "all"]);
    assert!(built.code == 3 && built.err.contains("debuginfod has no vmlinux of "), "{built:?}");
    assert_eq!(none.asked().len(), 1, "nothing of its modules");
}
