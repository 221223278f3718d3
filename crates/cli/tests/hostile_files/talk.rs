//! An editor and an assistant that show and ask everything at once.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// More than may be under way at once.
const FLOOD: u64 = 200;
/// How many processes the assistant's requests may be at once, and a few that are about to end.
const PROCESSES: usize = 4;

fn start(command: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    child
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The messages of a child, as a thread reads them.
fn messages(child: &mut Child, with_headers: bool) -> Receiver<Value> {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let mut length = 0;
        while out.read_line(&mut line).is_ok_and(|read| read > 0) {
            let text = std::mem::take(&mut line);
            let body = if !with_headers {
                text
            } else if let Some(stated) = text.strip_prefix("Content-Length: ") {
                length = stated.trim().parse().unwrap();
                continue;
            } else if text.trim().is_empty() {
                let mut bytes = vec![0; length];
                out.read_exact(&mut bytes).unwrap();
                String::from_utf8(bytes).unwrap()
            } else {
                continue;
            };
            let _ = sender.send(serde_json::from_str(&body).unwrap());
        }
    });
    receiver
}

/// Opens each text in an editor, and waits for what the server says about it.
pub(crate) fn editor(texts: &[String], patience: Duration) {
    let mut server = start("lsp");
    let mut input = server.stdin.take().unwrap();
    let answers = messages(&mut server, true);
    let mut send = |message: Value| {
        let body = message.to_string();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    };
    send(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}),
    );
    send(json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    for (at, text) in texts.iter().enumerate() {
        let uri = format!("file:///hostile/{at}.toml");
        let start: String = text.chars().take(80).collect();
        let document = json!({"uri": uri, "languageId": "toml", "version": 1, "text": text});
        send(
            json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}),
        );
        let place = json!({"textDocument": {"uri": uri}, "position": {"line": 4, "character": 8}});
        send(
            json!({"jsonrpc": "2.0", "id": at + 10, "method": "textDocument/hover", "params": place}),
        );
        send(
            json!({"jsonrpc": "2.0", "id": at + 100_000, "method": "textDocument/completion", "params": place}),
        );
        let mut wanted = BTreeSet::from(["diagnostics", "hover", "completion"]);
        let until = Instant::now() + patience;
        while !wanted.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let message = answers.recv_timeout(left);
            let message =
                message.unwrap_or_else(|why| panic!("{start:?}: {why}, without {wanted:?}"));
            if message["params"]["uri"] == uri.as_str() {
                wanted.remove("diagnostics");
            } else if message["id"] == at + 10 {
                wanted.remove("hover");
            } else if message["id"] == at + 100_000 {
                wanted.remove("completion");
            }
        }
        send(
            json!({"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": uri}}}),
        );
    }
    send(json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}));
    send(json!({"jsonrpc": "2.0", "method": "exit"}));
    assert!(server.wait().unwrap().success());
}

/// The processes that a process has started and that still run.
fn children(parent: u32) -> BTreeSet<String> {
    let parent = parent.to_string();
    let is_child = |entry: &std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut words = rest.split_whitespace();
        words.next().is_some_and(|state| state != "Z") && words.next() == Some(&parent)
    };
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_child).map(name).collect()
}

/// Asks for everything at once: each request is answered once, a few run at a time, and what is too many is refused.
pub(crate) fn assistant(texts: &[String], patience: Duration) {
    let mut server = start("mcp");
    let mut input = server.stdin.take().unwrap();
    let answers = messages(&mut server, false);
    let flood = (0..FLOOD).map(|id| {
        let text = texts.iter().cycle().nth(id as usize).unwrap();
        let call = json!({"name": "check", "arguments": {"text": text}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).to_string()
    });
    let flood: Vec<String> = flood.collect();
    let writer = std::thread::spawn(move || {
        for line in ["no json", "[[[[", "{\"id\":1}", "\u{0}", "{}"] {
            writeln!(input, "{line}").unwrap();
        }
        for line in flood {
            writeln!(input, "{line}").unwrap();
        }
        input
    });
    let (mut most, mut refused, mut answered) = (0, 0, BTreeSet::new());
    let until = Instant::now() + patience * 3;
    while answered.len() < FLOOD as usize {
        assert!(Instant::now() < until, "{} of {FLOOD} answers", answered.len());
        // A process that ends while the list is read, and its successor, would both be counted.
        let before = children(server.id());
        most = most.max(children(server.id()).intersection(&before).count());
        let Ok(answer) = answers.recv_timeout(Duration::from_millis(2)) else { continue };
        let Some(id) = answer["id"].as_u64().filter(|_| answer.get("result").is_some()) else {
            continue;
        };
        assert!(answered.insert(id), "{id} is answered twice");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        refused += usize::from(text.contains("requests are under way"));
    }
    assert!((1..=PROCESSES).contains(&most), "{most} processes at once");
    assert!(refused > 0 && refused < FLOOD as usize, "{refused} refused");
    drop(writer.join().unwrap());
    assert!(server.wait().unwrap().success());
}
