//! The messages of the Model Context Protocol: JSON-RPC, one message a line.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::resources;
use super::runs::Runs;
use super::tools;
use crate::output::Failure;

/// The versions of the protocol in which what is used here is the same, newest first. Not 2025-03-26, whose messages may come
/// several in an array.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const RESOURCE_NOT_FOUND: i32 = -32002;

/// A message of the assistant.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Missing in notifications, which are not answered.
    id: Option<Value>,
    method: String,
    params: Value,
}

impl Incoming {
    /// Reads a line; the error is the answer to it.
    pub(super) fn read(line: &str) -> Result<Self, Value> {
        let message: Value = serde_json::from_str(line)
            .map_err(|error| refusal(&Value::Null, PARSE_ERROR, &error.to_string()))?;
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message.get("method").and_then(Value::as_str);
        let Some(method) = method else {
            let id = id.unwrap_or(Value::Null);
            return Err(refusal(&id, INVALID_REQUEST, "the message has no method"));
        };
        let params = message.get("params").cloned().unwrap_or_default();
        Ok(Self { id, method: method.to_owned(), params })
    }
}

fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The conversation with one assistant.
pub(super) struct Session {
    out: Arc<Mutex<io::Stdout>>,
    runs: Arc<Runs>,
}

impl Session {
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self { out: Arc::new(Mutex::new(io::stdout())), runs: Arc::new(Runs::new()?) })
    }

    /// Answers a message; a tool answers later, when it is done.
    pub(super) fn handle(&self, message: Incoming) {
        let Incoming { id, method, params } = message;
        let Some(id) = id else {
            if method == "notifications/cancelled"
                && let Some(request) = params.get("requestId")
            {
                self.runs.cancel(request);
            }
            return;
        };
        let result = match method.as_str() {
            "initialize" => Ok(initialize(&params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": tools::list()})),
            "resources/list" => Ok(json!({"resources": resources::list()})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
            "resources/read" => read_resource(&params),
            "tools/call" => return self.call(id, &params),
            other => Err((METHOD_NOT_FOUND, format!("there is no method {other:?}"))),
        };
        self.send(&answer(&id, result));
    }

    /// Runs a tool on a thread of its own.
    fn call(&self, id: Value, params: &Value) {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let Some(tool) = tools::find(name) else {
            let names: Vec<&str> = tools::TOOLS.iter().map(|tool| tool.name).collect();
            let text = format!("there is no tool {name:?}; there are {}", names.join(", "));
            return self.send(&refusal(&id, INVALID_PARAMS, &text));
        };
        let line = tool.line(&arguments).and_then(|line| self.runs.admit(&id).map(|()| line));
        let line = match line {
            Ok(line) => line,
            Err(reason) => return self.send(&said(&id, &reason, true)),
        };
        let (out, runs) = (Arc::clone(&self.out), Arc::clone(&self.runs));
        let run = move || {
            let (text, is_error) = match runs.run(&id, &line) {
                // A request that was cancelled is not answered.
                Ok(None) => return,
                Ok(Some(done)) => (done.text, done.is_failure),
                Err(reason) => (reason, true),
            };
            write_line(&out, &said(&id, &text, is_error));
        };
        thread::spawn(run);
    }

    pub(super) fn send(&self, message: &Value) {
        write_line(&self.out, message);
    }

    /// Ends everything that still runs.
    pub(super) fn end(&self) {
        self.runs.cancel_all();
    }
}

/// What a tool says.
fn said(id: &Value, text: &str, is_error: bool) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    answer(id, Ok(json!({"content": content, "isError": is_error})))
}

fn write_line(out: &Mutex<io::Stdout>, message: &Value) {
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    // An assistant that went away is noticed by the end of its messages.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

fn answer(id: &Value, result: Result<Value, (i32, String)>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => refusal(id, code, &message),
    }
}

fn initialize(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|known| Some(*known) == asked);
    let [newest, ..] = VERSIONS;
    json!({
        "protocolVersion": version.unwrap_or(newest),
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "keyloom", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Composite-key data designs in the DynamoDB style. Write a design as TOML (read the resource \
            keyloom://design-language first), `check` it until every access pattern is proven, `synth` keys for entities and patterns \
            that have none, `try` it on a real engine, `simulate` its load; `query` and `doctor` ask a running endpoint.",
    })
}

fn read_resource(params: &Value) -> Result<Value, (i32, String)> {
    let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
    let text = resources::read(uri)
        .ok_or_else(|| (RESOURCE_NOT_FOUND, format!("there is no resource {uri:?}")))?;
    Ok(json!({"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}))
}
