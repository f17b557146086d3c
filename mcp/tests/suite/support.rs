//! The program, an index for it, and a client of a few lines.
#[path = "../../../tests/small_kernel/mod.rs"]
mod small_kernel;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

pub const RELEASE: &str = "6.1.0-test";
pub const NEWER: &str = "6.2.0-test";

/// A folder with the index of a small kernel.
pub static INDEX: LazyLock<TempDir> = LazyLock::new(|| {
    let db = tempfile::tempdir().unwrap();
    index(db.path(), RELEASE, &[]);
    db
});

/// Puts the index of a small kernel into a folder.
pub fn index(db: &Path, release: &str, more: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    small_kernel::index(small_kernel::compile(folder.path(), release, "-O2", more), db);
}

/// A client of the program.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    /// Starts the program, and shakes hands.
    pub fn start(db: &Path) -> Self {
        let mut client = Self::spawn(db, &[]);
        client.initialize("2025-06-18");
        client
    }

    pub fn spawn(db: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probeidx-mcp"));
        command.arg("--db").arg(db).args(words).env_remove("PROBEIDX_DB");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, asked: 0 }
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let result = self.request("initialize", &params)["result"].clone();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        result
    }

    pub fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// The next message that is an answer or an error.
    pub fn receive(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Asks, and waits for the answer.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let asked = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": asked, "method": method, "params": params}).to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], asked, "{answer}");
        answer
    }

    /// What a tool returns.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        answer["result"].clone()
    }

    /// Closes stdin, and gives the exit code.
    pub fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of the blocks of a result.
pub fn text(result: &Value) -> Vec<&str> {
    let blocks = result["content"].as_array().unwrap().iter();
    blocks.flat_map(|block| block["text"].as_str().unwrap().lines()).collect()
}

/// What the command line prints with `--json`, line by line.
pub fn printed(db: &Path, words: &[&str]) -> Vec<Value> {
    use probeidx::cli::args::{Request, parse};
    use probeidx::cli::config::Config;
    let words = ["probeidx", "--json", "--db", db.to_str().unwrap()].into_iter().chain(words.iter().copied());
    let Ok(Request::Run(args)) = parse(words.map(std::ffi::OsString::from)) else { panic!("a command") };
    let mut out = vec![];
    probeidx::cli::answer(&args.command, &Config::new(&args.global).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
