//! An editor: speaks the Language Server Protocol to `keyloom lsp` over its standard input and output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take before the test fails; a debug build on a busy machine is slow.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: i64,
    /// Notifications that came while an answer was waited for.
    notes: Vec<Value>,
}

fn read(reader: &mut BufReader<ChildStdout>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

impl Client {
    /// Starts the server and shakes hands.
    pub(crate) fn start() -> (Self, Value) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let mut reader = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut reader) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client = Self { process, input, messages, next_id: 0, notes: Vec::new() };
        let server = client.request("initialize", json!({ "processId": null, "capabilities": {} }));
        client.notify("initialized", json!({}));
        (client, server)
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The whole response to a request.
    pub(crate) fn response(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect(method);
            if message["id"] == id {
                return message;
            }
            self.notes.push(message);
        }
    }

    /// The result of a request.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let response = self.response(method, params);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].clone()
    }

    pub(crate) fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "toml", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces a range, from line and column to line and column.
    pub(crate) fn change(&mut self, uri: &str, version: i32, place: [u32; 4], text: &str) {
        let [line, column, last_line, last_column] = place;
        let range = json!({
            "start": { "line": line, "character": column },
            "end": { "line": last_line, "character": last_column },
        });
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "range": range, "text": text }],
            }),
        );
    }

    pub(crate) fn at(&mut self, method: &str, uri: &str, (line, column): (usize, usize)) -> Value {
        let position = json!({ "line": line, "character": column });
        self.request(
            &format!("textDocument/{method}"),
            json!({ "textDocument": { "uri": uri }, "position": position }),
        )
    }

    /// The diagnostics of a version of a file, once they are published.
    pub(crate) fn diagnostics(&mut self, uri: &str, version: impl Into<Value>) -> Vec<Value> {
        let version = version.into();
        let is_it = |note: &Value| {
            note["method"] == "textDocument/publishDiagnostics"
                && note["params"]["uri"] == uri
                && note["params"].get("version").unwrap_or(&Value::Null) == &version
        };
        loop {
            if let Some(at) = self.notes.iter().position(is_it) {
                let note = self.notes.remove(at);
                return note["params"]["diagnostics"].as_array().unwrap().clone();
            }
            self.notes.push(self.messages.recv_timeout(PATIENCE).expect("diagnostics"));
        }
    }

    /// How many notifications came that nobody has asked for.
    pub(crate) fn unread(&mut self) -> usize {
        self.notes.extend(self.messages.try_iter());
        self.notes.len()
    }

    /// Leaves without a word; the exit code.
    pub(crate) fn leave(mut self) -> Option<i32> {
        self.input = None;
        self.process.wait().unwrap().code()
    }

    /// Says exit; the exit code.
    pub(crate) fn exit(mut self) -> Option<i32> {
        self.notify("exit", Value::Null);
        self.process.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves the server to be ended here; one that ended it has nothing to kill.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
