//! `keyloom mcp` as an assistant uses it, and `keyloom query`, which is one of its tools.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(clippy::indexing_slicing, reason = "a panic is how a test fails")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const NOTES: &str = r#"
[table.notes]
partition_key = "PK"
sort_key = "SK"

[entity.Note]
PK = "USER#{user}"
SK = "NOTE#{number}"
fields = { user = "token", number = "u32", text = "string" }

[access]
"a note" = { find = "Note", where = "user = ? and number = ?" }
"latest notes" = { find = "Note", where = "user = ?", order = "number desc", limit = 2 }
"#;

struct Assistant {
    server: Child,
    answers: BufReader<ChildStdout>,
    last: u64,
}

impl Assistant {
    fn new() -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(server.stdout.take().unwrap());
        Self { server, answers, last: 0 }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.server.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.write(&message.to_string());
        let answer = self.read();
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    /// What a tool says, and whether that is a failure.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"].as_bool().unwrap())
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}

#[test]
fn a_conversation_begins_as_the_protocol_says() {
    let mut assistant = Assistant::new();
    for (asked, got) in [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")] {
        let answer = assistant.ask("initialize", &json!({"protocolVersion": asked}));
        assert_eq!(answer["result"]["protocolVersion"], got);
        assert_eq!(answer["result"]["serverInfo"]["name"], "keyloom");
    }
    assistant.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(assistant.ask("ping", &json!({}))["result"], json!({}));
    let tools = assistant.ask("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["check", "explain", "synth", "try", "simulate", "query", "doctor", "rule"]);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
}

#[test]
fn messages_that_are_wrong_are_answered() {
    let mut assistant = Assistant::new();
    assistant.write("{");
    assert_eq!(assistant.read()["error"]["code"], -32700);
    assistant.write(r#"{"jsonrpc":"2.0","id":"x"}"#);
    let answer = assistant.read();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("x"), &json!(-32600)));
    assert_eq!(assistant.ask("tools/forget", &json!({}))["error"]["code"], -32601);
    let answer = assistant.ask("tools/call", &json!({"name": "chek"}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("there are check"), "{answer}");
    let uri = json!({"uri": "keyloom://rule/K99"});
    assert_eq!(assistant.ask("resources/read", &uri)["error"]["code"], -32002);
    for tool in ["check", "explain", "synth", "try", "simulate"] {
        let (said, failed) = assistant.call(tool, &json!({"file": "is-not-there.toml"}));
        assert!(failed && said.contains("is-not-there.toml"), "{tool}: {said}");
        // What is wrong with a design is what `check` is asked for.
        let (said, failed) = assistant.call(tool, &json!({"text": "broken"}));
        assert!(failed != (tool == "check") && said.contains("TOML"), "{tool}: {said}");
    }
}

#[test]
fn designs_are_checked_explained_and_tried() {
    let mut assistant = Assistant::new();
    let (said, failed) = assistant.call("check", &json!({"text": NOTES}));
    assert!(!failed && said.contains("proven: rows"), "{said}");
    let broken = NOTES.replace("\"u32\"", "{ type = \"u32\", plain = true }");
    let (said, failed) = assistant.call("check", &json!({"text": broken}));
    assert!(!failed && said.contains("error[K01]"), "findings are an answer: {said}");
    let pattern =
        json!({"text": NOTES, "pattern": "a note", "inputs": {"user": "ann", "number": 7}});
    let (said, failed) = assistant.call("explain", &pattern);
    assert!(!failed && said.contains("NOTE#0000000007"), "{said}");
    let (said, failed) = assistant.call("try", &json!({"text": NOTES, "items": 50}));
    assert!(!failed && said.contains("latest notes"), "{said}");
    let (said, failed) = assistant.call("try", &json!({"text": NOTES, "items": 100_000_000}));
    assert!(failed && said.contains("at most 100000"), "{said}");
    let (said, failed) = assistant.call("rule", &json!({"id": "k01"}));
    assert!(!failed && said.contains("K01"), "{said}");
    let language = assistant.ask("resources/read", &json!({"uri": "keyloom://design-language"}));
    let language = language["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(language.contains("partition_key"));
    let listed = assistant.ask("resources/list", &json!({}));
    assert!(listed["result"]["resources"].as_array().unwrap().len() > 70);
}

#[test]
fn patterns_run_where_the_data_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("notes.toml"), NOTES).unwrap();
    let row = |number: u32| json!({"user": "ann", "number": number, "text": "é"}).to_string();
    std::fs::write(path("notes.jsonl"), [row(1), row(2), row(10)].join("\n")).unwrap();
    let (design, data) = (path("notes.toml"), path("data"));
    let load = ["--to", &data, "--design", &design, "--entity", "Note", "--create"];
    let loaded = Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .args(["load", &path("notes.jsonl")])
        .args(load)
        .output()
        .unwrap();
    assert!(loaded.status.success(), "{loaded:?}");
    let mut assistant = Assistant::new();
    let mut query = json!({"file": design, "pattern": "latest notes", "from": data,
        "inputs": {"user": "ann"}});
    let (said, failed) = assistant.call("query", &query);
    let rows: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<&Value> = rows.iter().map(|row| &row["number"]).collect();
    assert!(!failed && numbers == [10, 2], "{said}");
    query["inputs"] = json!({"owner": "ann"});
    let (said, failed) = assistant.call("query", &query);
    assert!(failed && said.contains("has no input `owner`"), "{said}");
    query["pattern"] = "newest notes".into();
    let (said, failed) = assistant.call("query", &query);
    assert!(failed && said.contains("no access pattern"), "{said}");
}

#[test]
fn a_request_that_is_cancelled_ends_and_is_not_answered() {
    let mut assistant = Assistant::new();
    let slow = json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call",
        "params": {"name": "try", "arguments": {"text": NOTES, "items": 100_000}}});
    let started = Instant::now();
    assistant.write(&slow.to_string());
    // Others are answered meanwhile.
    assert_eq!(assistant.ask("ping", &json!({}))["result"], json!({}));
    std::thread::sleep(Duration::from_millis(300));
    assistant.write(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}"#,
    );
    assert_eq!(assistant.ask("ping", &json!({}))["result"], json!({}));
    drop(assistant);
    assert!(started.elapsed() < Duration::from_secs(20));
}
