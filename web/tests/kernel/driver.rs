//! A browser: Debian's chromium without a window, through the WebDriver protocol (W3C) of its chromedriver.
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser with one page, until it is dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// How long a page may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

impl Browser {
    /// Starts one.
    ///
    /// # Errors
    /// What is missing on this machine.
    pub fn start() -> Result<Self, String> {
        let mut command = Command::new("chromedriver");
        let spawned = command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut driver = spawned.map_err(|e| format!("no browser: chromedriver: {e}"))?;
        let mut port = None;
        for line in BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok) {
            if let Some((_, after)) = line.split_once("started successfully on port ") {
                port = after.trim_end_matches('.').parse().ok();
                break;
            }
        }
        let mut browser = Self { driver, port: port.unwrap_or(0), session: String::new() };
        // Root's browser has no sandbox, and containers have little of /dev/shm.
        let args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
        let always = json!({"goog:chromeOptions": {"args": args}, "goog:loggingPrefs": {"browser": "ALL"}});
        let session = browser.call("POST", "", &json!({"capabilities": {"alwaysMatch": always}}));
        let session = session.map_err(|why| format!("no browser: chromium does not start: {why}"))?;
        browser.session = format!("/{}", session["sessionId"].as_str().unwrap_or_default());
        browser.size(1400, 1000);
        Ok(browser)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|e| e.to_string())?;
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let request = format!(
            "{method} /session{}{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.session,
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
        // The driver keeps the connection, whatever it is told.
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let begin = head.len();
            if reader.read_line(&mut head).map_err(|e| e.to_string())? == 0 {
                return Err("no answer".to_owned());
            }
            let line = head[begin..].to_ascii_lowercase();
            length =
                line.strip_prefix("content-length:").and_then(|n| n.trim().parse().ok()).unwrap_or(length);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).map_err(|e| e.to_string())?;
        let mut answer: Value = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        match head.starts_with("HTTP/1.1 200") {
            true => Ok(answer["value"].take()),
            false => Err(answer["value"]["message"].as_str().unwrap_or_default().to_owned()),
        }
    }

    fn must(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call(method, path, body).unwrap_or_else(|why| panic!("{method} {path} {body}: {why}"))
    }

    pub fn size(&self, width: u32, height: u32) {
        self.must("POST", "/window/rect", &json!({"width": width, "height": height}));
    }

    /// What the desktop prefers.
    pub fn scheme(&self, name: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": name}]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.must("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// What those are told who do not see the page: role and name of each node of the accessibility tree, for headings
    /// with the level.
    pub fn told(&self) -> Vec<(String, String)> {
        let tree = self.devtools("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().into_iter().flatten().filter(|node| node["ignored"] != true);
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().trim().to_owned();
        let of = |node: &Value| {
            let level = node["properties"].as_array().into_iter().flatten().find(|p| p["name"] == "level");
            let level = level.map_or(String::new(), |level| level["value"]["value"].to_string());
            (text(&node["role"]) + &level, text(&node["name"]))
        };
        nodes.map(of).collect()
    }

    /// The page as it is printed: a PDF.
    pub fn printed(&self) -> Vec<u8> {
        let encoded = self.must("POST", "/print", &json!({"background": true}));
        decoded(encoded.as_str().unwrap())
    }

    /// Opens an address, and waits until the page is whole.
    pub fn open(&self, address: &str) {
        self.must("POST", "/url", &json!({ "url": address }));
        self.until("document.documentElement.dataset.state === 'ready'");
    }

    /// The value of an expression.
    pub fn value(&self, expression: &str) -> Value {
        self.must("POST", "/execute/sync", &json!({"script": format!("return {expression};"), "args": []}))
    }

    pub fn text(&self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until this holds.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression) != Value::Bool(true) {
            assert!(
                begun.elapsed() < PATIENCE,
                "never: {expression} at {}: {}",
                self.text("location.href"),
                self.text("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The value that a promise comes to.
    pub fn promised(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[0]; Promise.resolve({expression}).then(done, (e) => done(String(e)));"
        );
        self.must("POST", "/execute/async", &json!({"script": script, "args": []}))
    }

    /// Presses keys one after the other.
    pub fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()})))
            .collect();
        self.must(
            "POST",
            "/actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    pub fn back(&self) {
        self.must("POST", "/back", &json!({}));
    }

    pub fn forward(&self) {
        self.must("POST", "/forward", &json!({}));
    }

    /// What the browser complained about since it was last asked: errors of scripts, of the policy, of files.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.must("POST", "/se/log", &json!({"type": "browser"}));
        log.as_array()
            .into_iter()
            .flatten()
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Keeps a picture of what is seen.
    pub fn picture(&self, path: &Path) {
        let encoded = self.must("GET", "/screenshot", &Value::Null);
        std::fs::write(path, decoded(encoded.as_str().unwrap())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.call("DELETE", "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let number = four.iter().fold(0_u32, |number, digit| number << 6 | u32::from(*digit))
            << (6 * (4 - four.len()));
        number.to_be_bytes()[1..four.len()].to_vec()
    });
    bytes.collect()
}
