//! Answers the editor: requests from the text as it is and from the last check, changes to the checker.

use std::collections::HashMap;
use std::error::Error;
use std::process::ExitCode;

use lsp_server::{Connection, ErrorCode, ExtractError, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Exit, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{
    CodeActionRequest, Completion, GotoDefinition, HoverRequest, Request as _, Shutdown,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionOrCommand, CodeActionProviderCapability,
    CompletionOptions, CompletionResponse, GotoDefinitionResponse, Hover, HoverContents,
    HoverProviderCapability, InitializeResult, Location, MarkupContent, MarkupKind, OneOf,
    Position, PositionEncodingKind, PublishDiagnosticsParams, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::actions::actions;
use super::checker::Checker;
use super::completion::complete;
use super::definition::definition;
use super::document::Document;
use super::hover::hover;
use super::outline::Outline;

/// An editor's session.
pub(super) struct Server {
    connection: Connection,
    checker: Checker,
    /// The open files by their addresses.
    documents: HashMap<String, (Uri, Document)>,
}

fn capabilities() -> ServerCapabilities {
    let triggers = ["\"", "'", "{", ":", "[", ".", " ", "="].map(str::to_owned).to_vec();
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        ..ServerCapabilities::default()
    }
}

impl Server {
    /// Talks to an editor until it leaves. The exit code is 1 if it leaves without a shutdown, as the protocol asks.
    pub(super) fn run(connection: Connection) -> Result<ExitCode, Box<dyn Error + Sync + Send>> {
        let (id, _) = connection.initialize_start()?;
        let info = ServerInfo {
            name: "keyloom".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        };
        let result = InitializeResult { capabilities: capabilities(), server_info: Some(info) };
        connection.initialize_finish(id, serde_json::to_value(result)?)?;
        let editor = connection.sender.clone();
        let checker = Checker::start(move |message| drop(editor.send(message)));
        let mut server = Self { connection, checker, documents: HashMap::new() };
        let code = server.serve();
        server.checker.stop();
        Ok(code)
    }

    fn serve(&mut self) -> ExitCode {
        let mut is_shut_down = false;
        while let Ok(message) = self.connection.receiver.recv() {
            match message {
                Message::Request(request) if request.method == Shutdown::METHOD => {
                    is_shut_down = true;
                    self.respond(Response::new_ok(request.id, ()));
                }
                Message::Request(request) if is_shut_down => {
                    let words = "the server was told to shut down".to_owned();
                    let code = ErrorCode::InvalidRequest as i32;
                    self.respond(Response::new_err(request.id, code, words));
                }
                Message::Request(request) => {
                    let response = self.answer(request);
                    self.respond(response);
                }
                Message::Notification(notification) if notification.method == Exit::METHOD => {
                    return if is_shut_down { ExitCode::SUCCESS } else { ExitCode::FAILURE };
                }
                Message::Notification(notification) => self.note(notification),
                Message::Response(_) => {}
            }
        }
        ExitCode::FAILURE
    }

    fn respond(&self, response: Response) {
        // An editor that does not listen any more has left.
        drop(self.connection.sender.send(Message::Response(response)));
    }

    fn answer(&self, request: Request) -> Response {
        match request.method.as_str() {
            HoverRequest::METHOD => with(request, |params: lsp_types::HoverParams| {
                let at = params.text_document_position_params;
                self.hover(&at.text_document.uri, at.position)
            }),
            Completion::METHOD => with(request, |params: lsp_types::CompletionParams| {
                let at = params.text_document_position;
                let document = self.document(&at.text_document.uri)?;
                Some(CompletionResponse::Array(complete(document, at.position)))
            }),
            GotoDefinition::METHOD => with(request, |params: lsp_types::GotoDefinitionParams| {
                let at = params.text_document_position_params;
                self.definition(at.text_document.uri, at.position)
            }),
            CodeActionRequest::METHOD => {
                with(request, |params: lsp_types::CodeActionParams| self.actions(&params))
            }
            other => {
                let words = format!("keyloom does not answer {other}");
                Response::new_err(request.id, ErrorCode::MethodNotFound as i32, words)
            }
        }
    }

    fn document(&self, uri: &Uri) -> Option<&Document> {
        self.documents.get(uri.as_str()).map(|(_, document)| document)
    }

    fn hover(&self, uri: &Uri, position: Position) -> Option<Hover> {
        let document = self.document(uri)?;
        let outline = Outline::of(document.text());
        let checked = self.checker.checked(uri);
        let value = hover(&outline, document.offset(position), checked.as_deref())?;
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
        Some(Hover { contents, range: None })
    }

    fn definition(&self, uri: Uri, position: Position) -> Option<GotoDefinitionResponse> {
        let document = self.document(&uri)?;
        let outline = Outline::of(document.text());
        let place = definition(&outline, document.offset(position))?;
        let range = document.place(place);
        Some(GotoDefinitionResponse::Scalar(Location { uri, range }))
    }

    /// Fixes of the last check, as long as it is of the text that the editor shows.
    fn actions(&self, params: &lsp_types::CodeActionParams) -> Option<Vec<CodeActionOrCommand>> {
        let uri = &params.text_document.uri;
        let wanted = params.context.only.as_ref();
        let is_wanted = wanted.is_none_or(|kinds| {
            kinds.iter().any(|kind| kind.as_str().is_empty() || *kind == CodeActionKind::QUICKFIX)
        });
        let checked = self.checker.checked(uri)?;
        let is_current = self.document(uri)?.version == checked.document.version;
        if !is_wanted || !is_current {
            return None;
        }
        let actions = actions(uri, &checked, params.range);
        Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect())
    }

    fn note(&mut self, notification: Notification) {
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let Some(params) = params::<DidOpenTextDocument>(notification) else { return };
                let opened = params.text_document;
                let document = Document::new(opened.text, opened.version);
                self.checker.check(&opened.uri, &document);
                self.documents.insert(opened.uri.as_str().to_owned(), (opened.uri, document));
            }
            DidChangeTextDocument::METHOD => {
                let Some(params) = params::<DidChangeTextDocument>(notification) else { return };
                let changed = params.text_document;
                let open = self.documents.get_mut(changed.uri.as_str());
                let Some((uri, document)) = open else { return };
                document.change(params.content_changes, changed.version);
                self.checker.check(uri, document);
            }
            DidCloseTextDocument::METHOD => {
                let Some(params) = params::<DidCloseTextDocument>(notification) else { return };
                let uri = params.text_document.uri;
                self.documents.remove(uri.as_str());
                self.checker.forget(&uri);
                let (diagnostics, version) = (Vec::new(), None);
                let empty = PublishDiagnosticsParams { uri, diagnostics, version };
                let note = Notification::new(PublishDiagnostics::METHOD.to_owned(), empty);
                drop(self.connection.sender.send(Message::Notification(note)));
            }
            // Saving changes nothing that is not known, and the rest is for servers that asked for it.
            _ => {}
        }
    }
}

/// The parameters of a notification; notifications have no response, so one that cannot be read is ignored.
fn params<N: lsp_types::notification::Notification>(
    notification: Notification,
) -> Option<N::Params> {
    serde_json::from_value(notification.params).ok()
}

/// Answers a request, or says that its parameters cannot be read.
fn with<P: DeserializeOwned, R: Serialize>(
    request: Request,
    answer: impl FnOnce(P) -> Option<R>,
) -> Response {
    let (id, method) = (request.id.clone(), request.method.clone());
    match request.extract::<P>(&method) {
        Ok((id, params)) => Response::new_ok(id, answer(params)),
        Err(ExtractError::MethodMismatch(_)) => {
            Response::new_err(id, ErrorCode::InternalError as i32, method)
        }
        Err(ExtractError::JsonError { error, .. }) => {
            Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string())
        }
    }
}
