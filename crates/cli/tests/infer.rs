//! `keyloom infer` as people run it: against a server, with what `keyloom doctor --save` recorded of its requests.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "../../design/tests/support/examples.rs"]
mod examples;

#[path = "../../design/tests/infer/compare.rs"]
#[expect(dead_code, reason = "keys alone are judged without a server")]
mod compare;
#[path = "shared/process.rs"]
mod process;

use std::path::Path;
use std::process::{Command, Output};

use keyloom::remote::{Credentials, Endpoint, Remote};
use keyloom::{Backend, Database, PlanRunner, Retry, TableClient, item};
use keyloom_core::Item;
use keyloom_core::json::write_item;
use keyloom_design::cost::Prices;
use keyloom_design::emit::create_table;
use keyloom_design::evaluate::Row;
use keyloom_design::generate::{GenerateOptions, generate, inputs_for};
use keyloom_design::plan::{Verdict, plan};
use keyloom_design::{Design, check_text};
use serde_json::{Value as Json, json};

use compare::{Stored, compare, designs, item_of};
use process::ServerProcess;

fn wire(item: &Item) -> Json {
    let mut bytes = Vec::new();
    write_item(item, &mut bytes);
    serde_json::from_slice(&bytes).unwrap()
}

fn keyloom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyloom")).args(arguments).output().unwrap()
}

fn remote(url: &str) -> Remote {
    let credentials = Credentials::new("local", "local");
    Remote::new(Endpoint::url(url).region("us-east-1").credentials(credentials)).unwrap()
}

/// Creates the tables of a design and writes the rows.
fn load(remote: &Remote, design: &Design, rows: &[Row], stored: Stored) {
    let call =
        |operation, body: &Json| remote.call(operation, body.to_string().as_bytes()).unwrap();
    for table in design.tables() {
        call("CreateTable", &create_table(table));
    }
    for row in rows {
        let item = wire(&item_of(row, stored));
        call("PutItem", &json!({ "TableName": row.entity.table.name, "Item": item }));
    }
}

/// Asks each pattern a few times; how many patterns are reads by key that the server saw.
fn ask(remote: Remote, design: &Design, rows: &[Row]) -> usize {
    let plans = plan(design, &Prices::default());
    let (backend, retry) = (Backend::from(remote), Retry::never());
    let runner = PlanRunner::new(&backend, &retry);
    let patterns = design.accesses().iter().zip(&plans);
    let mut asked = 0;
    for (access, plan) in patterns.filter(|(_, plan)| plan.verdict != Verdict::Refused) {
        let all = inputs_for(access, rows, 7, 3);
        let answered = all.iter().filter(|inputs| runner.run(access, plan, inputs).is_ok()).count();
        asked += usize::from(answered > 0);
    }
    asked
}

/// What `keyloom infer` finds on a server, and whether `check` is content with it.
fn infer(arguments: &[&str]) -> Json {
    let output = keyloom(&[&["infer", "--format", "json"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn servers_tell_the_keys_and_the_patterns_of_designs() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let (mut all, mut right, mut misses) = (0, 0, Vec::new());
    let (mut asked, mut found, mut left) = (0, 0, 0);
    for (name, design) in designs() {
        let rows = generate(&design, &GenerateOptions { items: 120, seed: 7, adversarial: true });
        let server = ServerProcess::start(&["--memory", "--stats", "all"]);
        load(&remote(&server.url), &design, &rows, Stored::All);
        asked += ask(remote(&server.url), &design, &rows);
        let saved =
            keyloom(&["doctor", "--endpoint", &server.url, "--save", report.to_str().unwrap()]);
        assert!(report.exists(), "{}", String::from_utf8_lossy(&saved.stderr));
        let answer = infer(&[&server.url, "--from", report.to_str().unwrap()]);
        std::fs::remove_file(&report).unwrap();
        let text = answer["design"].as_str().unwrap();
        assert_eq!(answer["exceptions"], 0, "{name}: {answer}");
        assert_eq!(answer["verified"], rows.len(), "{name}");
        let checked = check_text("found.toml", text, &Prices::default());
        assert!(
            checked.is_whole && !checked.has_errors(),
            "{name}:\n{text}\n{:?}",
            checked.findings
        );
        let other = checked.design.unwrap();
        let (some, good) = compare(&name, &design, &rows, &other, Stored::All, &mut misses);
        all += some;
        right += good;
        found += other.accesses().len();
        let unused = answer["unused_requests"].as_array().unwrap();
        left += unused.len();
        println!(
            "{name}: {} patterns, {} found, unused {unused:?}",
            design.accesses().len(),
            other.accesses().len()
        );
    }
    println!(
        "{right} of {all} key attributes; {asked} patterns asked, {found} found, {left} requests without one"
    );
    for miss in &misses {
        println!("{miss}");
    }
    assert!(right * 100 >= all * 95, "{right} of {all}");
    assert!(found * 100 >= asked * 85, "{found} of {asked}");
}

/// Puts items of one table with the keys `PK` and `SK`.
fn put_all(remote: &Remote, table: &str, items: impl Iterator<Item = Json>) {
    let key = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let schema = json!({
        "TableName": table, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [key("PK"), key("SK")],
        "KeySchema": [{ "AttributeName": "PK", "KeyType": "HASH" }, { "AttributeName": "SK", "KeyType": "RANGE" }],
    });
    remote.call("CreateTable", schema.to_string().as_bytes()).unwrap();
    let puts: Vec<Json> = items.map(|item| json!({ "PutRequest": { "Item": item } })).collect();
    for some in puts.chunks(25) {
        let body = json!({ "RequestItems": { table: some } });
        remote.call("BatchWriteItem", body.to_string().as_bytes()).unwrap();
    }
}

#[test]
fn a_sample_has_every_kind_of_item_wherever_its_keys_are() {
    let server = ServerProcess::start(&["--memory"]);
    let remote = remote(&server.url);
    let item = |pk: String, sk: String| json!({ "PK": { "S": pk }, "SK": { "S": sk } });
    let kinds = ["ALBUM", "BOOK", "CAR", "TRAIN"];
    let many = (0..4_000).map(|at| item(format!("{}#{at:06}", kinds[at % 4]), "META".to_owned()));
    put_all(&remote, "spread", many);
    let answer = infer(&[&server.url, "--table", "spread", "--sample", "400"]);
    let (text, read) = (answer["design"].as_str().unwrap(), answer["read"].as_u64().unwrap());
    assert!((200..=800).contains(&read), "{read}");
    for kind in kinds {
        assert!(text.contains(&format!("\"{kind}#{{")), "{kind}: {text}");
    }
    // One partition with nearly all of them.
    let lump = (0..3_000).map(|at| {
        let partition = if at < 50 { format!("USER#{at:03}") } else { "LOG#all".to_owned() };
        item(partition, format!("AT#{at:06}"))
    });
    put_all(&remote, "lump", lump);
    let answer = infer(&[&server.url, "--table", "lump", "--sample", "100"]);
    let (text, read) = (answer["design"].as_str().unwrap(), answer["read"].as_u64().unwrap());
    assert!((50..=400).contains(&read), "{read}");
    assert!(text.contains("AT#{"), "{text}");
    let answer = infer(&[&server.url, "--table", "lump", "--sample", "0"]);
    assert_eq!(answer["read"], 3_000);
}

#[test]
fn a_data_directory_and_an_export_of_it_tell_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, export) = (path("data"), path("export"));
    let table = TableClient::new(Database::open(&data).unwrap(), "orders").with_keys("PK", "SK");
    table.create().unwrap();
    let order = |at: usize| {
        let user = format!("u{}", at % 7);
        item! { "PK" => format!("USER#{user}"), "SK" => format!("ORDER#{at:04}"), "user" => user }
    };
    table.batch_put((0..60).map(order)).unwrap();
    drop(table);
    let dump =
        ["dump", "--from", &data, "--table", "orders", "--format", "export", "--out", &export];
    let dumped = keyloom(&dump);
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    let found = |arguments: &[&str]| {
        let answer = infer(arguments);
        assert_eq!((&answer["read"], &answer["exceptions"]), (&json!(60), &json!(0)));
        answer["design"].as_str().unwrap().to_owned()
    };
    let text = found(&[&data]);
    for wanted in ["[table.orders]", "\"USER#{user}\"", "\"ORDER#{order_id}\"", "count = 60"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert_eq!(found(&[&export, "--keys", "PK,SK", "--table", "orders"]), text);
}

/// What no item has yet is part of the table: a deployment of the design that was found changes nothing.
#[test]
fn a_design_that_was_found_is_the_table_that_it_was_found_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.toml");
    let server = ServerProcess::start(&["--memory"]);
    let remote = remote(&server.url);
    let item = |at: usize| json!({ "PK": { "S": format!("USER#{at}") }, "SK": { "S": "META" }, "day": { "S": format!("d{at}") } });
    put_all(&remote, "users", (0..20).map(item));
    let call = |operation, body: Json| remote.call(operation, body.to_string().as_bytes()).unwrap();
    call(
        "UpdateTimeToLive",
        json!({ "TableName": "users",
        "TimeToLiveSpecification": { "Enabled": true, "AttributeName": "ends" } }),
    );
    call(
        "UpdateTable",
        json!({ "TableName": "users",
        "AttributeDefinitions": [{ "AttributeName": "day", "AttributeType": "S" }],
        "GlobalSecondaryIndexUpdates": [{ "Create": { "IndexName": "by_day",
            "KeySchema": [{ "AttributeName": "day", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"] } } }] }),
    );
    let answer = infer(&[&server.url]);
    let text = answer["design"].as_str().unwrap();
    assert_eq!(answer["exceptions"], 0, "{text}");
    std::fs::write(&file, text).unwrap();
    let checked = keyloom(&["deploy", file.to_str().unwrap(), "--to", &server.url, "--check"]);
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && said.contains("is as designed"), "{said}{text}");
}

/// Whoever names the primary key of rows in a file has not said that there are no indexes.
#[test]
fn keys_that_are_named_leave_the_indexes_to_be_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("items.jsonl");
    let rows: Vec<String> = (0..60)
        .map(|at| {
            let (user, day) = (at % 7, format!("2024-01-{:02}", 1 + at % 28));
            let item = json!({
                "PK": format!("USER#{user}"), "SK": format!("ORDER#{at:04}"), "GSI1PK": format!("DAY#{day}"),
                "GSI1SK": format!("ORDER#{at:04}"), "user": user.to_string(), "order": format!("{at:04}"), "day": day,
            });
            item.to_string()
        })
        .collect();
    std::fs::write(&file, rows.join("\n")).unwrap();
    let answer = infer(&[file.to_str().unwrap(), "--keys", "PK,SK"]);
    let text = answer["design"].as_str().unwrap();
    for wanted in ["index.GSI1]", "GSI1PK = \"DAY#{day}\"", "GSI1SK = \"ORDER#{order}\""] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn batches_that_were_recorded_become_writes() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let report = report.to_str().unwrap();
    let server = ServerProcess::start(&["--memory", "--stats", "all"]);
    let remote = remote(&server.url);
    let order = |at: usize| json!({ "S": format!("ORDER#{at:04}") });
    let items = (0..80).map(|at| json!({ "PK": { "S": format!("USER#{at}") }, "SK": order(at) }));
    put_all(&remote, "orders", items);
    let one = json!({ "PK": { "S": "USER#1" }, "SK": order(9999) });
    let body = json!({ "TableName": "orders", "Item": one });
    remote.call("PutItem", body.to_string().as_bytes()).unwrap();
    keyloom(&["doctor", "--endpoint", &server.url, "--save", report]);
    let answer = infer(&[&server.url, "--from", report]);
    let text = answer["design"].as_str().unwrap();
    assert_eq!(text.matches("[write.").count(), 1, "a put is a put: {text}");
    assert!(text.contains("kind   = \"put\"") && text.contains("some may be deletes"), "{text}");
    assert_eq!(answer["unused_requests"], json!([]));
}

#[test]
fn what_is_no_source_is_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let items = file("items.jsonl", "{\"PK\": \"A#1\", \"SK\": \"B\"}\n");
    let other = file("other.jsonl", "{\"name\": \"x\"}\n{\"name\": \"y\"}\n");
    let broken = file("broken.jsonl", "not json\n");
    let empty = file("empty.jsonl", "");
    let server = ServerProcess::start(&["--memory"]);
    for (arguments, expected) in [
        (vec!["http://127.0.0.1:9"], "127.0.0.1:9"),
        (vec![server.url.as_str()], "there is no table"),
        (vec![server.url.as_str(), "--table", "nope"], "there is no table `nope`"),
        (vec![server.url.as_str(), "--keys", "PK"], "--keys and --described are for files"),
        (vec![items.as_str(), "--from", other.as_str()], "other.jsonl"),
        (vec![items.as_str(), "--from", "/nowhere.json"], "/nowhere.json"),
        (vec![items.as_str(), "--keys", "a,b,c"], "--keys takes"),
        (vec![items.as_str(), "--delimiter", "é"], "--delimiter"),
        (vec![other.as_str()], "--keys PK,SK"),
        (vec![broken.as_str()], "no row"),
        (vec![empty.as_str()], "--keys"),
        (vec![items.as_str(), "--described", broken.as_str()], "it is no JSON"),
        (vec!["/no/such/file"], "/no/such/file"),
    ] {
        let output = keyloom(&[&["infer"], arguments.as_slice()].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
    assert!(Path::new(&items).exists());
}
