//! Checks texts on a thread of its own, when typing pauses, and publishes what was found.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keyloom_design::cost::Prices;
use keyloom_design::lint::Finding;
use keyloom_design::report::rule_link;
use keyloom_design::{CheckReport, Code, Severity};
use lsp_server::{Message, Notification};
use lsp_types::notification::{LogMessage, PublishDiagnostics};
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticSeverity, DiagnosticTag, LogMessageParams, MessageType,
    NumberOrString, PublishDiagnosticsParams, Uri,
};

use super::document::Document;
use crate::config::Config;
use crate::design_file::checked;

/// A text is checked when nothing was typed for so long.
const PAUSE: Duration = Duration::from_millis(150);
/// Longest delay of a check while the user types without a pause.
const PATIENCE: Duration = Duration::from_secs(1);

/// A checked text.
pub(super) struct Checked {
    /// The text as it was.
    pub(super) document: Document,
    pub(super) report: CheckReport,
}

/// The last check of each open file.
type Results = Arc<Mutex<HashMap<String, State>>>;

#[derive(Default)]
struct State {
    /// The newest version: older results are not shown.
    version: i32,
    checked: Option<Arc<Checked>>,
}

/// The checking thread.
pub(super) struct Checker {
    jobs: Sender<(Uri, Document)>,
    results: Results,
    thread: JoinHandle<()>,
}

fn lock(results: &Results) -> MutexGuard<'_, HashMap<String, State>> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checker {
    /// Starts the thread; it sends diagnostics to the editor itself.
    pub(super) fn start(editor: impl Fn(Message) + Send + 'static) -> Self {
        let (jobs, queue) = channel();
        let results = Results::default();
        let worker = Worker { results: results.clone(), editor: Box::new(editor) };
        let thread = std::thread::spawn(move || worker.work(&queue));
        Self { jobs, results, thread }
    }

    /// Has a text checked soon.
    pub(super) fn check(&self, uri: &Uri, document: &Document) {
        lock(&self.results).entry(uri.as_str().to_owned()).or_default().version = document.version;
        // The thread ends only with the server.
        drop(self.jobs.send((uri.clone(), document.clone())));
    }

    /// Forgets a file that was closed.
    pub(super) fn forget(&self, uri: &Uri) {
        lock(&self.results).remove(uri.as_str());
    }

    /// The last check of a file.
    pub(super) fn checked(&self, uri: &Uri) -> Option<Arc<Checked>> {
        lock(&self.results).get(uri.as_str())?.checked.clone()
    }

    /// Ends the thread, which forgets what it has not checked yet.
    pub(super) fn stop(self) {
        lock(&self.results).clear();
        drop(self.jobs);
        drop(self.thread.join());
    }
}

struct Worker {
    results: Results,
    editor: Box<dyn Fn(Message) + Send>,
}

impl Worker {
    fn work(&self, queue: &Receiver<(Uri, Document)>) {
        let mut waiting: HashMap<String, (Uri, Document)> = HashMap::new();
        let mut since = Instant::now();
        loop {
            let next = if waiting.is_empty() {
                queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                queue.recv_timeout(PAUSE.min(PATIENCE.saturating_sub(since.elapsed())))
            };
            match next {
                Ok((uri, document)) => {
                    if waiting.is_empty() {
                        since = Instant::now();
                    }
                    waiting.insert(uri.as_str().to_owned(), (uri, document));
                }
                Err(RecvTimeoutError::Timeout) => {
                    for (_, (uri, document)) in waiting.drain() {
                        self.check(&uri, document);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Whether this is still what the editor shows.
    fn is_newest(&self, uri: &Uri, version: i32) -> bool {
        lock(&self.results).get(uri.as_str()).is_some_and(|state| state.version == version)
    }

    fn check(&self, uri: &Uri, document: Document) {
        if !self.is_newest(uri, document.version) {
            return;
        }
        let name = file_name(uri);
        let prices = Prices::default();
        // A mistake in keyloom.toml is for `keyloom check` to tell; while typing, rules have their usual levels.
        let config = Config::find().unwrap_or_default();
        let checked =
            catch_unwind(AssertUnwindSafe(|| checked(&name, document.text(), &prices, &config)));
        let Ok(report) = checked else {
            let message = format!("keyloom failed to check {name}: this is a bug in Keyloom");
            self.send::<LogMessage>(LogMessageParams { typ: MessageType::ERROR, message });
            return;
        };
        let diagnostics =
            report.findings.iter().map(|finding| diagnostic(finding, &document)).collect();
        let version = document.version;
        let checked = Arc::new(Checked { document, report });
        // The lock keeps a file from being closed between the question and the answer.
        let mut results = lock(&self.results);
        let Some(state) = results.get_mut(uri.as_str()) else { return };
        state.checked = Some(checked);
        if state.version == version {
            let uri = uri.clone();
            let version = Some(version);
            self.send::<PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version });
        }
    }

    fn send<N: lsp_types::notification::Notification>(&self, params: N::Params) {
        let notification = Notification::new(N::METHOD.to_owned(), params);
        (self.editor)(Message::Notification(notification));
    }
}

/// The last part of the address, for messages and the design's name.
fn file_name(uri: &Uri) -> String {
    uri.as_str().rsplit('/').next().unwrap_or_default().to_owned()
}

/// A finding as editors show it.
pub(super) fn diagnostic(finding: &Finding, document: &Document) -> Diagnostic {
    let mut message = finding.message.clone();
    for (label, text) in [("", &finding.evidence), ("fix: ", &finding.fix)] {
        if !text.is_empty() {
            let _ = write!(message, "\n{label}{text}");
        }
    }
    let span = finding.span;
    let place = if span.is_some() { span.start()..span.end() } else { 0..0 };
    let unused = finding.rule == Code::UnusedAllow.as_str();
    Diagnostic {
        range: document.place(place),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warn => DiagnosticSeverity::WARNING,
            Severity::Info => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(finding.rule.to_owned())),
        code_description: rule_link(finding.rule).parse().ok().map(|href| CodeDescription { href }),
        source: Some("keyloom".to_owned()),
        message,
        tags: unused.then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..Diagnostic::default()
    }
}
