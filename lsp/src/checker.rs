//! Checks scripts on a thread of its own, so that nobody who types waits for it.
use crate::document::Document;
use crate::findings::findings;
use crate::kernels::Kernels;
use crate::settings::Settings;
use lsp_server::{Message, Notification};
use lsp_types::notification::{Notification as _, PublishDiagnostics, ShowMessage};
use lsp_types::{Diagnostic, MessageType, PublishDiagnosticsParams, ShowMessageParams, Uri};
use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a script rests before it is checked: who types fast is checked once.
const REST: Duration = Duration::from_millis(120);

/// What is sent to the editor.
pub type Send = Arc<dyn Fn(Message) + std::marker::Send + Sync>;

/// The way to the thread.
pub struct Checker {
    jobs: Sender<Job>,
    /// The version of each open script: what was found in an older one is not shown.
    versions: Arc<Mutex<HashMap<String, i32>>>,
    send: Send,
}

/// A script to check.
struct Job {
    uri: Uri,
    document: Arc<Document>,
}

impl Checker {
    /// Starts the thread, which ends with this.
    pub fn start(kernels: Arc<Kernels>, settings: Settings, send: Send) -> Self {
        let (jobs, waiting) = channel();
        let versions = Arc::<Mutex<HashMap<String, i32>>>::default();
        let worker = Worker {
            kernels,
            settings,
            send: Arc::clone(&send),
            versions: Arc::clone(&versions),
            said: HashSet::new(),
        };
        // Never joined: a long check does not keep the editor from leaving.
        std::thread::spawn(move || worker.work(&waiting));
        Self { jobs, versions, send }
    }

    /// Checks a script soon.
    pub fn check(&self, uri: Uri, document: Arc<Document>) {
        self.versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(uri.to_string(), document.version);
        // The thread ends after this alone.
        let _ = self.jobs.send(Job { uri, document });
    }

    /// Takes away what is shown of a script that is closed.
    pub fn close(&self, uri: Uri) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).remove(uri.as_str());
        (self.send)(shown(uri, vec![], None));
    }
}

struct Worker {
    kernels: Arc<Kernels>,
    settings: Settings,
    send: Send,
    versions: Arc<Mutex<HashMap<String, i32>>>,
    /// Errors that were shown.
    said: HashSet<String>,
}

impl Worker {
    fn work(mut self, waiting: &Receiver<Job>) {
        while let Ok(first) = waiting.recv() {
            let mut jobs = HashMap::from([(first.uri.to_string(), first)]);
            let due = Instant::now() + REST;
            loop {
                match waiting.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Ok(job) => drop(jobs.insert(job.uri.to_string(), job)),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            jobs.into_values().for_each(|job| self.check(job.uri, &job.document));
        }
    }

    fn check(&mut self, uri: Uri, document: &Document) {
        let found = match findings(document, &uri, &self.kernels, &self.settings) {
            Ok(found) => found,
            Err(error) => {
                let said = format!("probeidx: {error}");
                if self.said.insert(said.clone()) {
                    let params = ShowMessageParams { typ: MessageType::ERROR, message: said };
                    (self.send)(Notification::new(ShowMessage::METHOD.to_owned(), params).into());
                }
                vec![]
            }
        };
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.get(uri.as_str()) == Some(&document.version) {
            (self.send)(shown(uri, found, Some(document.version)));
        }
    }
}

fn shown(uri: Uri, diagnostics: Vec<Diagnostic>, version: Option<i32>) -> Message {
    let params = PublishDiagnosticsParams { uri, diagnostics, version };
    Notification::new(PublishDiagnostics::METHOD.to_owned(), params).into()
}
