//! `keyloom lsp`, as an editor talks to it.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod client;
#[path = "../../../design/tests/large_design/mod.rs"]
mod large_design;

use std::time::{Duration, Instant};

use client::Client;
use serde_json::{Value, json};

const URI: &str = "file:///designs/tasks.toml";

/// How long the server waits for more to be typed.
const PAUSE: Duration = Duration::from_millis(150);

/// Characters beyond ASCII stand before what is asked for, on its line and before it.
const DESIGN: &str = r#"# 😀 Aufgaben für Ünal
[table.app]
partition_key = "PK"
sort_key = "SK"

[entity.Task]
PK = "PROJECT#{project}"
SK = "TASK#{task:ulid}"
description = "😀 é"

[entity.Task.fields]
project = "token"
created = "datetime"
"état" = "string"

[access."😀 tasks"]
find = "Task"
where = "project = ?"
order = "task desc"
limit = 20
rate = "10/s"
"#;

/// Line and column, in UTF-16 code units, of a byte.
fn at(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count(), before[start..].encode_utf16().count())
}

/// Where a text stands in the design, and some columns on.
fn place(text: &str, needle: &str, more: usize) -> (usize, usize) {
    let (line, column) = at(text, text.find(needle).unwrap_or_else(|| panic!("{needle}")));
    (line, column + more)
}

fn labels(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap()).collect()
}

fn codes(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().map(|diagnostic| diagnostic["code"].as_str().unwrap()).collect()
}

fn position((line, character): (usize, usize)) -> Value {
    json!({ "line": line, "character": character })
}

#[test]
fn an_editor_opens_changes_asks_and_leaves() {
    let (mut editor, server) = Client::start();
    assert_eq!(server["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(server["capabilities"]["textDocumentSync"], 2, "incremental");
    editor.open(URI, DESIGN);
    assert_eq!(editor.diagnostics(URI, 1), Vec::<Value>::new());

    // A field that is not there, behind an emoji of two code units.
    let (line, column) = place(DESIGN, "project = ?", 0);
    editor.change(URI, 2, [line as u32, column as u32, line as u32, column as u32 + 7], "projekt");
    let found = editor.diagnostics(URI, 2);
    assert_eq!(codes(&found), ["D04"]);
    assert_eq!(found[0]["range"]["start"], position((line, column)));
    assert_eq!(found[0]["range"]["end"], position((line, column + 7)));
    assert_eq!(found[0]["severity"], 1);
    assert_eq!(found[0]["source"], "keyloom");
    let link = found[0]["codeDescription"]["href"].as_str().unwrap();
    assert!(link.ends_with("/docs/rules/D04.md"), "{link}");

    // The quick fix puts it right.
    let actions = editor.request(
        "textDocument/codeAction",
        json!({
            "textDocument": { "uri": URI },
            "range": found[0]["range"],
            "context": { "diagnostics": found },
        }),
    );
    assert_eq!(actions[0]["title"], "Change to `project`");
    let change = &actions[0]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 2);
    assert_eq!(change["edits"][0]["range"], found[0]["range"]);
    assert_eq!(change["edits"][0]["newText"], "project");
    editor.change(URI, 3, [line as u32, column as u32, line as u32, column as u32 + 7], "project");
    assert_eq!(editor.diagnostics(URI, 3), Vec::<Value>::new());

    editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(editor.diagnostics(URI, Value::Null), Vec::<Value>::new(), "closing clears them");
    assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
    let refused = editor.response("textDocument/hover", json!({}));
    assert_eq!(refused["error"]["code"], -32600, "nothing is answered after a shutdown");
    assert_eq!(editor.exit(), Some(0));
}

#[test]
fn hover_shows_proofs_cost_keys_and_types() {
    let (mut editor, _) = Client::start();
    editor.open(URI, DESIGN);
    editor.diagnostics(URI, 1);
    let mut hover = |needle: &str, more: usize| {
        let answer = editor.at("hover", URI, place(DESIGN, needle, more));
        answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let pattern = hover("😀 tasks", 2);
    for part in
        ["one Query on the table", "order        proven", "cost per call", "a month on demand"]
    {
        assert!(pattern.contains(part), "{part}: {pattern}");
    }
    assert!(hover("limit", 2).contains("At most so many items"));
    let entity = hover("find = \"Task", 9);
    assert!(entity.contains("**Task** in table `app`"), "{entity}");
    assert!(entity.contains("TASK#{task:ulid}"), "{entity}");
    let field = hover("project = ?", 3);
    assert!(field.contains("`Task.project`: **token**"), "{field}");
    assert!(hover("created =", 2).contains("**datetime**"));
    assert_eq!(hover("# 😀", 3), "", "nothing is said about comments");
}

#[test]
fn completion_knows_keys_entities_fields_types_and_words() {
    let (mut editor, _) = Client::start();
    let text = format!(
        "{DESIGN}\n[access.\"😀 more\"]\nfind = \"Ta\"\nwhere = \"pro\"\nord\n\n[entity.Note]\nP\nSK = \"{{\"\n\
         table = \"\"\n[entity.Note.fields]\nat = \"da\"\nby = {{ ty }}\n[[allow]]\nrule = \"K\"\n[table.t]\nbilling = \"\"\n[ent"
    );
    editor.open(URI, &text);
    let mut complete = |needle: &str| {
        let end = text.find(needle).unwrap_or_else(|| panic!("{needle}")) + needle.len();
        let items = editor.at("completion", URI, at(&text, end));
        (labels(&items).into_iter().map(str::to_owned).collect::<Vec<_>>(), items)
    };
    let has = |list: &[String], wanted: &[&str]| {
        for name in wanted {
            assert!(list.iter().any(|label| label == name), "{name}: {list:?}");
        }
    };
    has(&complete("find = \"Ta").0, &["Task", "Note"]);
    let (fields, items) = complete("where = \"pro");
    has(&fields, &["project", "task", "created", "état"]);
    let edit = &items[0]["textEdit"];
    let (line, column) = place(&text, "where = \"pro", 0);
    assert_eq!(edit["range"]["start"], position((line, column + 9)), "the word is replaced");
    let (keys, _) = complete("where = \"pro\"\nord");
    has(&keys, &["order", "limit", "returns"]);
    assert!(!keys.contains(&"where".to_owned()), "it is there already");
    has(&complete("[entity.Note]\nP").0, &["PK", "count", "identity"]);
    has(&complete("table = \"").0, &["app", "t"]);
    has(&complete("at = \"da").0, &["date", "datetime:ms"]);
    has(&complete("by = { ty").0, &["type", "values", "width"]);
    has(&complete("rule = \"K").0, &["K01", "A03"]);
    has(&complete("billing = \"").0, &["on-demand", "provisioned"]);
    has(&complete("[ent").0, &["entity.NAME", "entity.Task.fields", "table.app.index.NAME"]);
}

#[test]
fn definitions_of_entities_and_fields_are_found_even_in_broken_files() {
    let (mut editor, _) = Client::start();
    let text = format!("{DESIGN}\n[access.broken\nlimit = = 3\n");
    editor.open(URI, &text);
    let found = editor.diagnostics(URI, 1);
    assert!(codes(&found).contains(&"D01"), "{found:?}");
    let mut jump = |needle: &str, more: usize| {
        let answer = editor.at("definition", URI, place(&text, needle, more));
        answer["range"]["start"].clone()
    };
    assert_eq!(jump("find = \"Task", 9), position(place(&text, "Task]", 0)));
    assert_eq!(jump("where = \"project", 10), position(place(&text, "project = \"token", 0)));
    assert_eq!(jump("{project}", 3), position(place(&text, "project = \"token", 0)));
    assert_eq!(
        jump("order = \"task", 10),
        position(place(&text, "task:ulid", 0)),
        "declared in a key"
    );
    assert_eq!(jump("limit", 1), Value::Null);
    assert_eq!(editor.leave(), Some(1), "leaving without a shutdown is a failure");
}

#[test]
fn verified_fixes_and_suppressions_are_offered() {
    let (mut editor, _) = Client::start();
    let text = "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n[entity.Post]\nPK = \"USER#{user:ulid}\"\nSK = \"POST#{at:datetime}\"\n";
    editor.open(URI, text);
    let found = editor.diagnostics(URI, 1);
    assert_eq!(codes(&found), ["U01"]);
    let ask = json!({ "textDocument": { "uri": URI }, "range": found[0]["range"], "context": { "diagnostics": [] } });
    let actions = editor.request("textDocument/codeAction", ask.clone());
    let list = actions.as_array().unwrap();
    assert_eq!(list.len(), 2, "{actions}");
    assert_eq!((&list[0]["isPreferred"], &list[0]["kind"]), (&json!(true), &json!("quickfix")));
    let edit = &list[0]["edit"]["documentChanges"][0]["edits"][0];
    assert_eq!(edit["range"]["start"], edit["range"]["end"], "it inserts: {edit}");
    let start = &edit["range"]["start"];
    let line = text.lines().nth(usize::try_from(start["line"].as_u64().unwrap()).unwrap()).unwrap();
    let column = usize::try_from(start["character"].as_u64().unwrap()).unwrap();
    let fixed =
        format!("{}{}{}", &line[..column], edit["newText"].as_str().unwrap(), &line[column..]);
    assert_eq!(fixed, "SK = \"POST#{at:datetime}#{id:ulid}\"");
    let allow = list[1]["edit"]["documentChanges"][0]["edits"][0]["newText"].as_str().unwrap();
    assert_eq!(allow, "\n[[allow]]\nrule = \"U01\"\nsubject = \"Post\"\nreason = \"\"\n");
    // Until the new text is checked, old fixes are not offered: they would change another place.
    editor.change(URI, 2, [0, 0, 0, 0], "# new\n");
    assert_eq!(editor.request("textDocument/codeAction", ask), Value::Null);
    let found = editor.diagnostics(URI, 2);
    assert_eq!(found[0]["range"]["start"]["line"], 6);
}

#[test]
fn a_large_design_is_answered_at_once_while_it_is_checked() {
    let (mut editor, _) = Client::start();
    let text = large_design::large_design();
    editor.open(URI, &text);
    let spot = place(&text, "find = \"E7\"", 9);
    // An answer that waits for the check comes after its diagnostics, always; others come first, unless the machine does
    // something else meanwhile.
    let comes_first = (1..=10).any(|version| {
        if version > 1 {
            editor.change(URI, version, [99_999, 0, 99_999, 0], "# again\n");
        }
        // By then the check is under way.
        std::thread::sleep(2 * PAUSE);
        for method in ["completion", "definition"] {
            assert!(!editor.at(method, URI, spot).is_null(), "{method}");
        }
        let comes_first = editor.unread() == 0;
        editor.diagnostics(URI, version);
        comes_first
    });
    assert!(comes_first, "answers wait for the check");
    assert!(!editor.at("hover", URI, place(&text, "pattern 499", 2)).is_null());
}

#[test]
fn fast_typing_is_checked_when_it_pauses() {
    let (mut editor, _) = Client::start();
    let start = Instant::now();
    editor.open(URI, "");
    for (at, c) in "[table.app]\npartition_key = \"PK\"\n".chars().enumerate() {
        // Typed at the end, wherever that is.
        editor.change(URI, at as i32 + 2, [99, 0, 99, 0], &c.to_string());
    }
    assert_eq!(editor.diagnostics(URI, 34), Vec::<Value>::new());
    // Whoever types more slowly, as on a busy machine, has paused so often at most.
    let pauses = start.elapsed().as_millis() / PAUSE.as_millis();
    let unread = editor.unread() as u128;
    assert!(unread <= pauses, "{unread} checks of half-written words in {pauses} pauses");
}

#[test]
fn what_cannot_be_answered_is_refused_or_empty() {
    let (mut editor, _) = Client::start();
    let unknown = editor.response("textDocument/rename", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    let bad = editor.response("textDocument/hover", json!({ "position": 3 }));
    assert_eq!(bad["error"]["code"], -32602);
    assert_eq!(editor.at("hover", "file:///nowhere.toml", (0, 0)), Value::Null);
    editor.notify("textDocument/didChange", json!({ "nonsense": true }));
    editor.notify("$/setTrace", json!({ "value": "off" }));
    editor.open(URI, "");
    for method in ["hover", "completion", "definition"] {
        editor.at(method, URI, (50, 50));
    }
    assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
    assert_eq!(editor.exit(), Some(0));
}
