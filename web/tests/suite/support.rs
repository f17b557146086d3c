//! The program, an index for it, and a client that sends what it is told.
#[path = "../../../tests/small_kernel/mod.rs"]
mod small_kernel;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;

pub const RELEASE: &str = "6.1.0-test";
/// The names that become markup: as long as what replaces them.
const HARMLESS: [&str; 2] = ["_img_src_x_onerror_document_title_1__", "_script_document_title_2___script_x_"];
pub const MARKUP: [&str; 2] =
    ["<img/src=x/onerror=document.title=1>>", "<script>document.title=2;</script>x>"];

/// A folder with the index of a small kernel.
pub static INDEX: LazyLock<TempDir> = LazyLock::new(|| index(&[]));
/// The same; a function and a struct have names that are markup.
pub static HOSTILE: LazyLock<TempDir> = LazyLock::new(|| {
    let text = format!(
        "struct {1} {{ int {1}; }};\n__attribute__((noinline)) int {0}(struct {1} *s) {{ asm volatile(\"\"); return s->{1}; }}\n",
        HARMLESS[0], HARMLESS[1]
    );
    index(&[("more.c", &text)])
});

/// A small kernel in a folder; gives vmlinux.
pub fn compile(folder: &Path, more: &[(&str, &str)]) -> PathBuf {
    small_kernel::compile(folder, RELEASE, "-O2", more)
}

/// The index of a kernel, in a folder.
pub fn index_of(vmlinux: &Path) -> TempDir {
    let db = tempfile::tempdir().unwrap();
    small_kernel::index(vmlinux.to_owned(), db.path());
    db
}

fn index(more: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), more);
    if !more.is_empty() {
        let mut bytes = fs::read(&path).unwrap();
        for (harmless, markup) in HARMLESS.iter().zip(MARKUP) {
            assert_eq!(harmless.len(), markup.len());
            let places: Vec<usize> = bytes
                .windows(harmless.len())
                .enumerate()
                .filter(|(_, w)| *w == harmless.as_bytes())
                .map(|(at, _)| at)
                .collect();
            assert!(!places.is_empty(), "{harmless}");
            places.into_iter().for_each(|at| bytes[at..at + markup.len()].copy_from_slice(markup.as_bytes()));
        }
        fs::write(&path, bytes).unwrap();
    }
    index_of(&path)
}

/// The program, until it is dropped.
pub struct Program {
    child: Child,
    /// What it printed.
    pub url: String,
}

impl Program {
    /// Listens on a free port of loopback.
    pub fn start(db: &Path) -> Self {
        Self::start_at(db, "127.0.0.1:0")
    }

    pub fn start_at(db: &Path, address: &str) -> Self {
        Self::start_with(db, &["--listen", address])
    }

    /// Starts it with these words behind the folder of indexes.
    pub fn start_with(db: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probeidx-web"));
        command.arg("--db").arg(db).args(words).env_remove("PROBEIDX_DB");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim_end().to_owned() }
    }

    /// `127.0.0.1:40000`.
    pub fn host(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    pub fn connect(&self) -> TcpStream {
        let host = self.host().replace("0.0.0.0", "127.0.0.1");
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes and reads all that comes until the program ends the connection.
    pub fn send(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        // It may have answered and left before all of it is sent.
        let _ = stream.write_all(bytes);
        let mut all = vec![];
        let _ = stream.read_to_end(&mut all);
        Response::read(&all)
    }

    /// Asks with these fields, besides `Host`.
    pub fn ask(&self, line: &str, fields: &str, body: &[u8]) -> Response {
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let head =
            format!("{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{length}{fields}\r\n", self.host());
        self.send(&[head.as_bytes(), body].concat())
    }

    pub fn get(&self, target: &str) -> Response {
        self.ask(&format!("GET {target}"), "", b"")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no response: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut body = bytes[end + 4..].to_vec();
        if head.contains("Transfer-Encoding: chunked") {
            body = joined(&body);
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn lines(&self) -> Vec<serde_json::Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn items(&self) -> Vec<serde_json::Value> {
        self.lines().into_iter().filter_map(|line| line.get("item").cloned()).collect()
    }
}

fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = vec![];
    loop {
        let end = rest.windows(2).position(|w| w == b"\r\n").expect("a whole body");
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
    }
}
