//! The conversation with the editor: which scripts are open, and who answers what is asked about them.
use crate::checker::{Checker, Send};
use crate::completion::completions;
use crate::definition::definitions;
use crate::document::Document;
use crate::hover::hover;
use crate::kernels::Kernels;
use crate::settings::Settings;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument, Notification as _,
    ShowMessage,
};
use lsp_types::request::{Completion, GotoDefinition, HoverRequest, Request as _};
use lsp_types::{
    CompletionOptions, CompletionParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, GotoDefinitionParams, GotoDefinitionResponse,
    HoverParams, HoverProviderCapability, InitializeParams, InitializeResult, MessageType, OneOf,
    PositionEncodingKind, ServerCapabilities, ServerInfo, ShowMessageParams, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, Uri,
};
use probeidx::cli::args::Lsp;
use probeidx::cli::config::Config;
use probeidx::cli::exit::Outcome;
use probeidx::{Error, ErrorKind, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The largest script that is taken, as `check` has it.
const LARGEST: usize = 16 << 20;

/// Answers until the editor ends it.
///
/// # Errors
/// [`ErrorKind::Io`] if what comes is not the protocol, or the editor leaves without a word.
pub fn serve(asked: &Lsp, mut config: Config) -> Result<Outcome> {
    let (connection, threads) = Connection::stdio();
    // Never joined: one waits for the editor, the other for a check that nobody waits for any more.
    drop(threads);
    converse(&connection, asked, &mut config)
}

fn converse(connection: &Connection, asked: &Lsp, config: &mut Config) -> Result<Outcome> {
    let Ok((id, params)) = connection.initialize_start() else {
        // The editor left, or is none.
        return Ok(Outcome::Done);
    };
    let params: InitializeParams = serde_json::from_value(params).map_err(|error| failed(&error))?;
    let mut settings = Settings::new(asked);
    let unknown = settings.take(&params.initialization_options.unwrap_or_default(), config);
    let result = InitializeResult {
        capabilities: capabilities(),
        server_info: Some(ServerInfo {
            name: "probeidx".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    let result = serde_json::to_value(result).map_err(|error| failed(&error))?;
    connection.initialize_finish(id, result).map_err(|error| failed(&error))?;
    let sender = connection.sender.clone();
    // Who has left is told nothing.
    let send: Send = Arc::new(move |message| drop(sender.send(message)));
    for message in unknown {
        let params = ShowMessageParams { typ: MessageType::WARNING, message: format!("probeidx: {message}") };
        send(Notification::new(ShowMessage::METHOD.to_owned(), params).into());
    }
    let kernels = Arc::new(Kernels::new(config));
    let checker = Checker::start(Arc::clone(&kernels), settings.clone(), Arc::clone(&send));
    let mut server = Server { kernels, settings, checker, open: HashMap::new() };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                // Who said that it is done may leave without more.
                if connection.handle_shutdown(&request).unwrap_or(true) {
                    return Ok(Outcome::Done);
                }
                send(server.answer(request).into());
            }
            Message::Notification(notification) => server.take(notification),
            Message::Response(_) => {}
        }
    }
    Err(Error::new(ErrorKind::Io, "the editor left without a word"))
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(lsp_types::TextDocumentSyncSaveOptions::Supported(true)),
            ..TextDocumentSyncOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([".", ":", "\"", "$", ">", "@"].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

struct Server {
    kernels: Arc<Kernels>,
    settings: Settings,
    checker: Checker,
    /// By their URIs.
    open: HashMap<String, Arc<Document>>,
}

impl Server {
    fn answer(&self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let answered = match method.as_str() {
            Completion::METHOD => serde_json::from_value(params).map(|params: CompletionParams| {
                self.at(&params.text_document_position, |document, at| {
                    completions(document, at, &self.kernels)
                })
            }),
            HoverRequest::METHOD => serde_json::from_value(params).map(|params: HoverParams| {
                self.at(&params.text_document_position_params, |document, at| {
                    hover(document, at, &self.kernels)
                })
            }),
            GotoDefinition::METHOD => serde_json::from_value(params).map(|params: GotoDefinitionParams| {
                self.at(&params.text_document_position_params, |document, at| {
                    let source = self.settings.source.as_deref();
                    GotoDefinitionResponse::Array(definitions(document, at, &self.kernels, source))
                })
            }),
            _ => {
                return Response::new_err(
                    id,
                    ErrorCode::MethodNotFound as i32,
                    format!("{method} is not answered"),
                );
            }
        };
        match answered {
            Ok(value) => Response::new_ok(id, value),
            Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
        }
    }

    /// What is answered at a place in a script; null if it is not open.
    fn at<T: serde::Serialize>(
        &self,
        place: &TextDocumentPositionParams,
        answer: impl FnOnce(&Document, usize) -> T,
    ) -> Value {
        let Some(document) = self.open.get(place.text_document.uri.as_str()) else { return Value::Null };
        let answer = answer(document, document.offset(place.position));
        serde_json::to_value(answer).unwrap_or_default()
    }

    /// Follows what happens to the scripts. What is no notification of these is of no interest.
    fn take(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Ok(DidOpenTextDocumentParams { text_document: opened }) =
                    serde_json::from_value(params)
                {
                    let document =
                        Document::new(&opened.uri, &opened.language_id, opened.version, opened.text);
                    self.changed(opened.uri, document);
                }
            }
            DidChangeTextDocument::METHOD => {
                let Ok(DidChangeTextDocumentParams { text_document: about, content_changes }) =
                    serde_json::from_value(params)
                else {
                    return;
                };
                let Some(document) = self.open.remove(about.uri.as_str()) else { return };
                let mut document = Arc::unwrap_or_clone(document);
                document.version = about.version;
                content_changes.into_iter().for_each(|change| document.change(change));
                self.changed(about.uri, document);
            }
            DidSaveTextDocument::METHOD => {
                if let Ok(DidSaveTextDocumentParams { text_document, .. }) = serde_json::from_value(params)
                    && let Some(document) = self.open.get(text_document.uri.as_str())
                {
                    // The index may be another one now.
                    self.checker.check(text_document.uri, Arc::clone(document));
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(params) {
                    self.open.remove(text_document.uri.as_str());
                    self.checker.close(text_document.uri);
                }
            }
            _ => {}
        }
    }

    fn changed(&mut self, uri: Uri, document: Document) {
        if document.text.len() > LARGEST {
            self.open.remove(uri.as_str());
            return self.checker.close(uri);
        }
        let document = Arc::new(document);
        self.open.insert(uri.to_string(), Arc::clone(&document));
        self.checker.check(uri, document);
    }
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot speak with the editor: {error}"))
}
