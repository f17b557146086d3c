//! The program, an index for it, and an editor of a few lines.
#[path = "../../../tests/small_kernel/mod.rs"]
mod small_kernel;

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

pub const RELEASE: &str = "6.1.0-test";
pub const NEWER: &str = "6.2.0-test";

/// A tapset of an alias and a function.
const TAPSET: &str = "/** probe work.submit - a request comes */\nprobe work.submit = kernel.function(\"submit\") { mode = $flags }\n\
    function twice:long (x:long) { return 2 * x }\n";

/// A folder with the index of a small kernel.
pub static INDEX: LazyLock<TempDir> = LazyLock::new(|| {
    let db = tempfile::tempdir().unwrap();
    index(db.path(), RELEASE, &[]);
    db
});

/// Puts the index of a small kernel into a folder.
pub fn index(db: &Path, release: &str, more: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let tapset = folder.path().join("tapset");
    fs::create_dir(&tapset).unwrap();
    fs::write(tapset.join("work.stp"), TAPSET).unwrap();
    small_kernel::index_with(small_kernel::compile(folder.path(), release, "-O2", more), db, vec![tapset]);
}

/// An editor.
pub struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    /// What it was told and did not ask for.
    told: Vec<Value>,
}

impl Editor {
    /// Starts the program, and shakes hands.
    pub fn start(db: &Path) -> Self {
        Self::start_with(db, &[], &Value::Null)
    }

    pub fn start_with(db: &Path, words: &[&str], options: &Value) -> Self {
        let mut editor = Self::spawn(db, words);
        let params =
            json!({"processId": null, "rootUri": null, "capabilities": {}, "initializationOptions": options});
        let answer = editor.request("initialize", &params);
        assert_eq!(answer["result"]["capabilities"]["positionEncoding"], "utf-16", "{answer}");
        editor.notify("initialized", &json!({}));
        editor
    }

    pub fn spawn(db: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probeidx-lsp"));
        command.arg("--db").arg(db).args(words).env_remove("PROBEIDX_DB");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, asked: 0, told: vec![] }
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let stdin = self.stdin.as_mut().unwrap();
        write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        stdin.flush().unwrap();
    }

    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The next message.
    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it ended");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", bytes)) => length = bytes.parse().unwrap(),
                _ if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stdout.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let asked = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": asked, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == asked {
                return message;
            }
            self.told.push(message);
        }
    }

    /// Waits for a notification of this method, and gives its parameters.
    pub fn told(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(|message| message["method"] == method) {
                return self.told.remove(at)["params"].clone();
            }
            let message = self.receive();
            self.told.push(message);
        }
    }

    pub fn open(&mut self, name: &str, text: &str) {
        let document = json!({"uri": uri(name), "languageId": "plaintext", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
    }

    /// Opens a script, and waits for what is wrong with it.
    pub fn findings(&mut self, name: &str, text: &str) -> Vec<Value> {
        self.open(name, text);
        self.shown(name, 1)
    }

    /// What is shown of a version of a script.
    pub fn shown(&mut self, name: &str, version: i32) -> Vec<Value> {
        loop {
            let told = self.told("textDocument/publishDiagnostics");
            if told["uri"] == uri(name) && told["version"] == version {
                return told["diagnostics"].as_array().unwrap().clone();
            }
        }
    }

    /// Opens a script with the cursor at `|`, and asks about that place.
    pub fn ask_at(&mut self, method: &str, name: &str, marked: &str) -> Value {
        let before = marked.split('|').next().unwrap();
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap().encode_utf16().count();
        self.open(name, &marked.replacen('|', "", 1));
        let params =
            json!({"textDocument": {"uri": uri(name)}, "position": {"line": line, "character": character}});
        let answer = self.request(method, &params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The script after each completion at `|` is taken over.
    pub fn completed(&mut self, name: &str, marked: &str) -> Vec<String> {
        let list = self.ask_at("textDocument/completion", name, marked);
        let text = marked.replacen('|', "", 1);
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| replaced(&text, &item["textEdit"])).collect()
    }

    /// Says goodbye, and gives the exit code.
    pub fn end(mut self) -> Option<i32> {
        assert!(self.request("shutdown", &Value::Null).get("error").is_none());
        self.notify("exit", &Value::Null);
        self.child.wait().unwrap().code()
    }

    /// Closes the pipe without a word, and gives the exit code.
    pub fn leave(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn uri(name: &str) -> String {
    format!("file:///scripts/{name}")
}

/// A text after an edit in one line of it.
fn replaced(text: &str, edit: &Value) -> String {
    let of = |end: &str| -> usize {
        let place = &edit["range"][end];
        let line = place["line"].as_u64().unwrap() as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let units: Vec<u16> =
            text[start..].encode_utf16().take(place["character"].as_u64().unwrap() as usize).collect();
        start + String::from_utf16(&units).unwrap().len()
    };
    format!("{}{}{}", &text[..of("start")], edit["newText"].as_str().unwrap(), &text[of("end")..])
}

/// `line:character-character severity code message`
pub fn brief(finding: &Value) -> String {
    let (start, end) = (&finding["range"]["start"], &finding["range"]["end"]);
    format!(
        "{}:{}-{} {} {} {}",
        start["line"],
        start["character"],
        end["character"],
        finding["severity"],
        finding["code"].as_str().unwrap(),
        finding["message"].as_str().unwrap()
    )
}
