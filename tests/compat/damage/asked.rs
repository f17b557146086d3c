//! A process that is asked one question after the other about an index that changes beneath it: `probeidx serve`. It takes
//! each question to the command that answers it, and a crash or a hang of it is seen from outside.
use serde_json::{Value, json};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Any question is answered when the process has computed for so long, under a sanitizer too. Time is what it computed: where
/// many share a machine, the clock says nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// Or has waited for so long.
const ENDLESS: Duration = Duration::from_secs(1800);

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// There is an answer; the exit code of the command.
    Answered(u64),
    /// There is an error, as `--json` tells it.
    Failed(Value),
    /// The process is gone; its last words.
    Crashed(String),
    /// There was no answer for [`PATIENCE`].
    Hung,
}

impl Fate {
    /// Whether this may be said to a question that is right, of a damaged index: an answer, or one error that names the file
    /// and what to do.
    pub fn is_fair(&self, question: &Value) -> bool {
        match self {
            Self::Answered(code) => *code < 2,
            Self::Crashed(_) | Self::Hung => false,
            Self::Failed(error) => {
                let remedy = error["hint"].as_str().unwrap_or_default();
                match error["kind"].as_str().unwrap_or_default() {
                    // What cannot be there is what the index says cannot.
                    "no-match" => true,
                    "usage" => hangs_on_the_index(question),
                    "index-damaged" => self.names_a_section() && remedy.contains("build"),
                    "no-index" | "index-too-old" | "index-too-new" => remedy.contains("build"),
                    _ => false,
                }
            }
        }
    }
    /// Whether it is refused as damaged, or as of another version.
    pub fn is_refusal(&self) -> bool {
        let Self::Failed(error) = self else { return false };
        ["index-damaged", "index-too-old", "index-too-new"]
            .contains(&error["kind"].as_str().unwrap_or_default())
    }
    /// Whether the question asks for what there cannot be, such as a member of a number.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Failed(error) if error["kind"] == "usage")
    }
    fn names_a_section(&self) -> bool {
        let Self::Failed(error) = self else { return false };
        let message = error["message"].as_str().unwrap_or_default();
        let whole_file = message == "not a probeidx index" || message.contains(" bytes, its header says ");
        error["path"].is_string() && (message.starts_with("section ") || whole_file)
    }
}

/// Whether the index tells if a question makes sense, so that damage of it can make it wrong: members of types, variables
/// with what is asked of them, and aliases, of which there are only those in its tapset. How all else is spelled is right or
/// wrong whatever is in an index.
fn hangs_on_the_index(question: &Value) -> bool {
    let params = &question["params"];
    let is_asked =
        |what: &str| params[what].as_array().is_some_and(|all| !all.is_empty()) || params[what].is_string();
    let is_alias = |point: &Value| {
        let point = point.as_str().unwrap_or_default();
        point.contains('.') && !point.contains(['(', '@'])
    };
    match question["method"].as_str().unwrap_or_default() {
        "type" => params["name"].as_str().is_some_and(|name| name.contains('.')),
        "resolve" => is_asked("args") || is_asked("defined") || is_alias(&params["spec"]),
        "find" => params["patterns"].as_array().is_some_and(|all| all.iter().any(is_alias)),
        _ => false,
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(code) => write!(f, "answered, code {code}"),
            Self::Failed(error) => write!(f, "{error}"),
            Self::Crashed(words) => write!(f, "crashed: {words}"),
            Self::Hung => write!(f, "no answer for {PATIENCE:?}"),
        }
    }
}

/// The process.
pub struct Asked {
    program: PathBuf,
    index: PathBuf,
    process: Option<Process>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    /// The last line of each answer.
    ends: Receiver<Value>,
    number: u64,
}

impl Asked {
    pub fn new(program: &Path, index: &Path) -> Self {
        Self { program: program.to_owned(), index: index.to_owned(), process: None }
    }

    /// The process, which a question starts.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.id())
    }

    /// Asks, waits for the end of the answer, and tells for how long it was computed.
    pub fn ask(&mut self, question: &Value) -> (Fate, Duration) {
        let (program, index) = (&self.program, &self.index);
        let process = self.process.get_or_insert_with(|| Process::start(program, index));
        let (start, computed) = (Instant::now(), process.computed());
        let took = |process: &Process| match start.elapsed() {
            // What is this short was not interrupted for long, and the other clock ticks in hundredths of a second.
            short if short < Duration::from_millis(30) => short,
            long => process.computed().zip(computed).map_or(long, |(now, before)| now.saturating_sub(before)),
        };
        process.number += 1;
        let mut request = question.clone();
        request["id"] = json!(process.number);
        // A process that is gone says so by the end of its answers.
        let _ = process.requests.write_all(format!("{request}\n").as_bytes());
        let end = loop {
            match process.ends.recv_timeout(Duration::from_secs(1)) {
                Err(RecvTimeoutError::Timeout) if took(process) < PATIENCE && start.elapsed() < ENDLESS => {}
                end => break end,
            }
        };
        let took = took(process);
        let fate = match end {
            Ok(end) if end["id"] != process.number => Fate::Crashed(format!("an answer to nothing: {end}")),
            Ok(end) if end["done"].is_object() => Fate::Answered(end["done"]["code"].as_u64().unwrap_or(99)),
            Ok(mut end) => Fate::Failed(end["error"].take()),
            Err(RecvTimeoutError::Timeout) => Fate::Hung,
            Err(RecvTimeoutError::Disconnected) => Fate::Crashed(process.last_words()),
        };
        if matches!(fate, Fate::Hung | Fate::Crashed(_)) {
            self.process = None;
        }
        (fate, took)
    }
}

impl Process {
    fn start(program: &Path, index: &Path) -> Self {
        let mut command = Command::new(program);
        command.arg("--db").arg(index).args(["serve", "--stdio"]).env("SYSTEMTAP_TAPSET", "");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        let requests = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, ends) = channel();
        std::thread::spawn(move || {
            for line in answers.split(b'\n').map_while(Result::ok) {
                // What follows `{"id":N,` tells what the line is.
                let field = line.splitn(3, |byte| *byte == b'"').nth(2).unwrap_or_default();
                let field = &field[field.iter().position(|byte| *byte == b'"').unwrap_or(0)..];
                if (field.starts_with(b"\"done\"") || field.starts_with(b"\"error\""))
                    && sender.send(serde_json::from_slice(&line).unwrap_or(Value::Null)).is_err()
                {
                    return;
                }
            }
        });
        Self { child, requests, ends, number: 0 }
    }

    /// For how long all of its threads have computed; none where the system does not tell.
    fn computed(&self) -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // The fields behind the name, which may hold anything; in ticks, of which Linux shows 100 a second.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u64>().ok();
        Some(Duration::from_millis((ticks()? + ticks()?) * 10))
    }

    /// How it ended, and the end of what it wrote to stderr.
    fn last_words(&mut self) -> String {
        let mut words = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        let _ = Read::by_ref(&mut stderr).take(20_000).read_to_string(&mut words);
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        format!("{status}: {}", words.trim())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
