//! The console's API over HTTP, as `keyloom serve`, `keyloom console` and `keyloom demo --serve` answer it.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const DESIGN: &str = r#"[table.shop]
partition_key = "PK"
sort_key      = "SK"

[table.shop.index.GSI1]
partition_key = "GSI1PK"
sort_key      = "GSI1SK"

[entity.User]
PK = "USER#{user}"
SK = "PROFILE"

[entity.User.fields]
user = "token"
name = "string"

[entity.Order]
PK     = "USER#{user}"
SK     = "ORDER#{number}"
GSI1PK = "STATUS#{status}"
GSI1SK = "{number}"

[entity.Order.fields]
user   = "token"
number = "u32"
status = { type = "string", values = ["open", "sent"] }
total  = "number"

[access."orders of a user"]
find  = "Order"
where = "user = ?"
order = "number"

[access."a user"]
find  = "User"
where = "user = ?"
"#;

struct Served {
    child: Child,
    address: String,
    token: Option<String>,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().rfind(|word| word.starts_with("http://127.")).unwrap();
        let address = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let token = url.split_once("#token=").map(|(_, token)| token.to_owned());
        Self { child, address, token }
    }

    /// A server of the design, with a user and twelve orders.
    fn shop(file: &Path, arguments: &[&str]) -> Self {
        let fixed = ["serve", "--memory", "--port", "0", "--design", file.to_str().unwrap()];
        let served = Self::start(&[&fixed, arguments].concat());
        let url = format!("http://{}", served.address);
        let deploy = ["deploy", file.to_str().unwrap(), "--to", &url];
        let output = Command::new(env!("CARGO_BIN_EXE_keyloom")).args(deploy).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        served.put(&json!({ "PK": {"S": "USER#ann"}, "SK": {"S": "PROFILE"}, "user": {"S": "ann"}, "name": {"S": "Ann"} }));
        for number in 0..12 {
            served.put(&order(number));
        }
        served
    }

    fn put(&self, item: &Value) {
        let (status, answer) =
            self.operation("PutItem", &json!({ "TableName": "shop", "Item": item }));
        assert_eq!(status, 200, "{answer}");
    }

    fn operation(&self, name: &str, body: &Value) -> (u16, Value) {
        let target = format!(
            "X-Amz-Target: DynamoDB_20120810.{name}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        );
        let (status, text) = self.send("POST", "/", &target, &body.to_string());
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let token = self.token.as_deref().unwrap_or("page");
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nx-keyloom-console: {token}\r\n{headers}\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        (status, if is_chunked { joined(body) } else { body.to_owned() })
    }

    fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, text) = self.send(method, &format!("/keyloom/api/{path}"), "", &body);
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}")))
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.api("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.api("POST", path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}

/// A body without the lengths of its chunks; the last one must be there.
fn joined(body: &str) -> String {
    let (mut rest, mut whole) = (body, String::new());
    loop {
        let (length, after) = rest.split_once("\r\n").expect("an end of the body");
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.push_str(&after[..length]);
        rest = &after[length + 2..];
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn order(number: u32) -> Value {
    json!({
        "PK": {"S": "USER#ann"}, "SK": {"S": format!("ORDER#{number:010}")},
        "GSI1PK": {"S": "STATUS#open"}, "GSI1SK": {"S": format!("{number:010}")},
        "user": {"S": "ann"}, "number": {"N": number.to_string()}, "status": {"S": "open"},
        "total": {"N": "12345678901234567890123456789012345678"},
    })
}

fn design_file(folder: &Path) -> PathBuf {
    let path = folder.join("shop.toml");
    std::fs::write(&path, DESIGN).unwrap();
    path
}

#[test]
fn a_design_is_shown_checked_and_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = design_file(folder.path());
    let served = Served::shop(&file, &[]);
    assert_eq!(served.get("info")["designs"], json!(["shop"]));
    let shown = served.get("designs/shop");
    assert_eq!((&shown["writable"], &shown["whole"]), (&json!(true), &json!(true)));
    assert_eq!(shown["text"], json!(DESIGN));
    let order = &shown["entities"][1];
    assert_eq!(
        order["keys"][1]["pieces"],
        json!([{"literal": "ORDER#"}, {"field": "number", "format": "u32"}])
    );
    assert_eq!(shown["patterns"][0]["verdict"], json!("query"));
    assert_eq!(shown["patterns"][0]["inputs"][0]["op"], json!("="));
    assert!(shown["diagrams"]["er"].as_str().unwrap().starts_with("<svg"));
    assert!(shown["samples"]["shop"].as_array().unwrap().len() > 2);
    // An edited text with a mistake: found, with its place, and nothing is written.
    let wrong = DESIGN.replace("find  = \"User\"", "find  = \"Usr\"");
    let checked = served.post("designs/shop/check", &json!({ "text": wrong }));
    let finding = &checked["findings"][0];
    assert_eq!((&finding["level"], &checked["whole"]), (&json!("error"), &json!(false)));
    let line = wrong.lines().position(|line| line.contains("Usr")).unwrap() + 1;
    assert_eq!(finding["span"]["line"], json!(line));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), DESIGN);
    // Written where nobody changed it meanwhile; the second writer is told.
    let new = format!("{DESIGN}\n# seen\n");
    let (status, saved) =
        served.api("PUT", "designs/shop", &json!({ "text": new, "was": shown["sum"] }));
    assert_eq!(status, 200, "{saved}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), new);
    let (status, refused) =
        served.api("PUT", "designs/shop", &json!({ "text": DESIGN, "was": shown["sum"] }));
    assert_eq!((status, &refused["error"]), (409, &json!("Conflict")));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), new);
    assert_eq!(served.api("GET", "designs/nothing", &Value::Null).0, 404);
    assert_eq!(served.api("POST", "designs/shop/check", &json!([1])).0, 400);
}

#[test]
fn patterns_run_page_by_page_and_items_are_recognized() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::shop(&design_file(folder.path()), &[]);
    let mut numbers = Vec::new();
    let mut cursor = Value::Null;
    for page in 0..3 {
        let asked = json!({ "pattern": "orders of a user", "inputs": {"user": "ann"}, "limit": 5, "cursor": cursor });
        let answer = served.post("designs/shop/run", &asked);
        assert_eq!(answer["requests"][0]["operation"], json!("Query"));
        assert!(answer["units"].as_f64().unwrap() >= 0.5, "{answer}");
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.len(), if page < 2 { 5 } else { 2 });
        assert!(rows.iter().all(|row| row["entity"] == json!("Order")));
        numbers.extend(
            rows.iter().map(|row| row["fields"]["number"]["N"].as_str().unwrap().to_owned()),
        );
        cursor = answer["cursor"].clone();
    }
    assert_eq!(cursor, Value::Null);
    assert_eq!(numbers, (0..12).map(|number: u32| number.to_string()).collect::<Vec<_>>());
    let known = served.post(
        "designs/shop/recognize",
        &json!({ "table": "shop", "items": [order(7), {"PK": {"S": "x"}, "SK": {"S": "y"}}] }),
    );
    let parts = &known[0]["keys"][1]["parts"];
    assert_eq!(
        parts,
        &json!([{"text": "ORDER#", "literal": true}, {"text": "0000000007", "field": "number"}])
    );
    assert_eq!(known[0]["fields"]["total"]["N"], json!("12345678901234567890123456789012345678"));
    assert_eq!(
        known[0]["references"][0]["key"],
        json!({ "PK": {"S": "USER#ann"}, "SK": {"S": "PROFILE"} })
    );
    assert_eq!(known[0]["problems"], json!([]));
    assert_eq!(
        (&known[1]["entity"], known[1]["problems"].as_array().unwrap().len()),
        (&Value::Null, 1)
    );
    for wrong in [
        json!({ "pattern": "nothing" }),
        json!({ "pattern": "orders of a user" }),
        json!({ "pattern": "orders of a user", "inputs": {"usr": "ann"} }),
        json!({ "pattern": "orders of a user", "inputs": {"user": "ann"}, "cursor": "forged" }),
        json!({ "pattern": "orders of a user", "inputs": "ann" }),
    ] {
        let (status, refused) = served.api("POST", "designs/shop/run", &wrong);
        assert_eq!(status, 400, "{wrong}: {refused}");
        assert!(!refused["message"].as_str().unwrap().is_empty());
    }
}

/// Keys in the formats of their fields, a native number, a part of a time, a shard that is calculated.
const FORMATS: &str = r#"[table.seen]
partition_key = "PK"
sort_key      = ["number:N"]

[entity.Reading]
PK = "SENSOR#{sensor}#{at:month}#{shard}"

[entity.Reading.fields]
sensor = "u32"
number = "u32"
at     = "datetime"
shard  = { type = "shard", shards = 4, by = "number" }
note   = { type = "string", optional = true }

[entity.Latest]
PK = "LATEST#{kind}"

[entity.Latest.fields]
kind   = { type = "token", key_only = true }
number = "u32"
"#;

#[test]
fn keys_are_made_of_fields_as_the_design_writes_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen.toml");
    std::fs::write(&file, FORMATS).unwrap();
    let fixed = ["serve", "--memory", "--port", "0", "--design", file.to_str().unwrap()];
    let served = Served::start(&fixed);
    let ask = |entity: &str, item: Value| {
        let asked = json!({ "table": "seen", "entity": entity, "items": [item] });
        served.api("POST", "designs/seen/recognize", &asked)
    };
    // As a form has them: texts for keys, a number that was typed as a text.
    let item = json!({
        "PK": {"S": "SENSOR#{sensor}#{at:month}#{shard}"}, "number": {"S": "7"}, "sensor": {"N": "12"},
        "at": {"S": "2026-03-04T05:06:07Z"}, "shard": {"S": ""},
    });
    let (status, known) = ask("Reading", item.clone());
    assert_eq!((status, &known[0]["entity"]), (200, &json!("Reading")), "{known}");
    let made = &known[0]["made"];
    let key = made["PK"]["S"].as_str().unwrap();
    assert!(key.starts_with("SENSOR#0000000012#2026-03#") && key.len() == 27, "{key}");
    assert_eq!((&made["number"], &made["shard"]), (&json!({"N": "7"}), &Value::Null), "{made}");
    assert_eq!(known[0]["problems"], json!([]));
    // The same again, and what only the key says stays.
    assert_eq!(ask("Reading", made.clone()).1[0]["made"], *made);
    let latest = json!({ "PK": {"S": "LATEST#rain"}, "number": {"N": "8"} });
    assert_eq!(ask("Latest", latest.clone()).1[0]["made"], latest);
    // Why there is none.
    let mut without = item;
    without.as_object_mut().unwrap().remove("at");
    let (_, known) = ask("Reading", without);
    assert_eq!(known[0]["made"], Value::Null);
    assert!(known[0]["problems"][0].as_str().unwrap().contains("`at` of Reading is missing"));
    assert_eq!(ask("Nothing", json!({})).0, 400);
}

#[test]
fn numbers_that_make_no_sense_are_refused_or_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::shop(&design_file(folder.path()), &[]);
    for query in ["to=18446744073709551615", "from=18446744073709551615", "from=0&to=0"] {
        let heat = served.get(&format!("heat?table=shop&what=writes&{query}"));
        assert!(heat["columns"].as_u64().unwrap() >= 1, "{query}: {heat}");
    }
    // A recording may say anything.
    let most = u64::MAX;
    let level = json!({ "step_ms": most, "kept": most, "columns": [{ "start_ms": most }] });
    let fine = json!({ "step_ms": 1, "kept": most, "columns": [{ "start_ms": most }] });
    for level in [level, fine] {
        let map = json!({ "table": "shop", "index": null, "rows": most, "levels": [level] });
        let split = json!({ "table": "shop", "splits_for_heat": most, "splits_for_size": most });
        let recording = json!({ "version": 1, "heat": [map], "partitions": [split] });
        for query in ["to=18446744073709551615", "from=0"] {
            let heat = served.post(&format!("heat?table=shop&{query}"), &recording);
            assert!(heat["columns"].as_u64().unwrap() <= 1024, "{query}");
        }
    }
    for (asked, named) in [
        (json!({ "profile": "spike=2,527040" }), "`profile`"),
        (json!({ "profile": "launch=1400" }), "`profile`"),
        (json!({ "scale": [1e300] }), "`scale`"),
    ] {
        let mut body = json!({ "design": "shop" });
        body.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let (status, refused) = served.api("POST", "simulate", &body);
        assert_eq!(status, 400, "{asked}: {refused}");
        assert!(refused["message"].as_str().unwrap().starts_with(named), "{refused}");
    }
}

#[test]
fn heat_tables_files_doctor_and_simulator_answer_and_recordings_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::shop(&design_file(folder.path()), &["--throttle", "observe"]);
    let heat = served.get("heat?table=shop&what=writes");
    let sum: f64 = heat["cells"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|column| column.as_array().unwrap())
        .map(|cell| cell.as_f64().unwrap())
        .sum();
    assert!((sum - 13.0).abs() < 1e-6, "{sum}");
    let key = &heat["keys"][0];
    assert_eq!((&key["key"], &key["entity"]), (&json!("USER#ann"), &json!("User, Order")));
    let hot = heat["hot"].as_array().unwrap().last().unwrap();
    // What the page names where the pointer is: key, entity, pattern, units.
    for name in ["row", "key", "entity", "pattern"] {
        assert_eq!(hot[name], key[name], "{name} of {hot}");
    }
    assert_eq!(hot["pattern"], json!("orders of a user, a user"));
    assert!(hot["units"].as_f64().is_some_and(|units| units > 0.0), "{hot}");
    assert!(!heat["partitions"].as_array().unwrap().is_empty());
    assert_eq!(served.get("heat")["places"][1]["index"], json!("GSI1"));
    // A recording says the same.
    let file = folder.path().join("load.json");
    let url = format!("http://{}", served.address);
    let save = ["doctor", "--endpoint", &url, "--save", file.to_str().unwrap()];
    assert!(
        Command::new(env!("CARGO_BIN_EXE_keyloom")).args(save).output().unwrap().status.success()
    );
    let recording: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let opened = served.post("heat?table=shop&what=writes", &recording);
    assert_eq!(opened["keys"], heat["keys"]);
    assert!(served.post("doctor", &recording)["findings"].is_array());
    assert_eq!(served.api("POST", "heat?table=shop", &json!({ "version": 99 })).0, 400);
    // Tables.
    let tables = served.get("tables?limit=1");
    assert_eq!((&tables["total"], &tables["tables"][0]["name"]), (&json!(1), &json!("shop")));
    assert_eq!(tables["tables"][0]["indexes"][0]["partitionKey"], json!(["GSI1PK"]));
    assert_eq!(served.get("tables?contains=zzz")["tables"], json!([]));
    // Files.
    let (status, dumped) =
        served.send("GET", "/keyloom/api/dump?table=shop&format=dynamodb-json", "", "");
    assert_eq!((status, dumped.lines().count()), (200, 13));
    let rows = "{\"user\":\"bob\",\"name\":\"Bob\",\"PK\":\"USER#bob\",\"SK\":\"PROFILE\"}\n{\"user\":1}\n";
    let (status, loaded) =
        served.send("POST", "/keyloom/api/load?table=shop&format=jsonl&design=shop", "", rows);
    let loaded: Value = serde_json::from_str(&loaded).unwrap();
    assert_eq!(
        (status, &loaded["loaded"], &loaded["refusedCount"]),
        (200, &json!(1), &json!(1)),
        "{loaded}"
    );
    assert_eq!(loaded["refused"][0]["line"], json!(2));
    assert_eq!(served.api("POST", "load?table=none", &json!({})).0, 404);
    // The rest.
    assert!(served.get("doctor")["findings"].is_array());
    assert!(served.post("simulate", &json!({ "design": "shop", "scale": [1] })).is_object());
    assert_eq!(served.api("POST", "simulate", &json!({ "design": "shop", "scale": [-1] })).0, 400);
    assert_eq!(served.get("migrations"), json!([]));
}

/// More than any answer may hold: it is read while it is sent, and whoever leaves stops that.
#[test]
fn a_large_table_is_exported_whole_and_whoever_leaves_frees_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::shop(&design_file(folder.path()), &[]);
    let text = "x".repeat(300_000);
    for number in 100..160 {
        let mut item = order(number);
        item["note"] = json!({ "S": text });
        // The last one has an attribute that no page before it has.
        if number == 159 {
            item["zip"] = json!({ "S": "a,\"b\"" });
        }
        served.put(&item);
    }
    let dump =
        |query: &str| served.send("GET", &format!("/keyloom/api/dump?table=shop&{query}"), "", "");
    let (status, lines) = dump("format=jsonl");
    assert_eq!((status, lines.lines().count()), (200, 73));
    assert!(lines.len() > 18_000_000 && lines.lines().all(|line| line.ends_with('}')));
    let (_, csv) = dump("format=csv");
    let head = csv.lines().next().unwrap();
    assert_eq!(head, "PK,SK,GSI1PK,GSI1SK,name,note,number,status,total,user,zip");
    assert_eq!(csv.lines().count(), 74);
    assert!(csv.contains(",\"a,\"\"b\"\"\"\n"));
    assert_eq!(dump("format=jsonl&limit=3").1.lines().count(), 3);
    assert_eq!(dump("format=ion").0, 400);
    // More of them than may run, and each goes away after the first bytes.
    for _ in 0..6 {
        let mut socket = TcpStream::connect(&served.address).unwrap();
        socket
            .write_all(b"GET /keyloom/api/dump?table=shop HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        let mut first = [0; 12];
        socket.read_exact(&mut first).unwrap();
        assert!(&first == b"HTTP/1.1 200" || &first == b"HTTP/1.1 503");
    }
    let end = Instant::now() + Duration::from_secs(20);
    while dump("limit=1").0 != 200 {
        assert!(Instant::now() < end, "the places are not free again");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_design_is_made_from_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = design_file(folder.path());
    let served =
        Served::start(&["serve", "--memory", "--port", "0", "--design", file.to_str().unwrap()]);
    let said = json!({
        "name": "shop-2",
        "entities": ["Order: order_id ulid, customer ulid, at datetime; 1M of 1 KB"],
        "patterns": ["order: Order where order_id = ?", "latest: Order where customer = ? order at desc limit 20 rate 300/s"],
        "writes": ["place: Order 100/s"],
    });
    let made = served.post("new", &said);
    assert_eq!((&made["proven"], &made["indexes"]), (&json!(true), &json!(1)), "{made}");
    assert_eq!(made["said"][2]["says"], json!("latest: query on GSI1; 1 index so far"));
    assert!(made["text"].as_str().unwrap().contains("GSI1PK = \"CUSTOMER#{customer}\""));
    assert!(made["design"]["patterns"].as_array().unwrap().len() == 2);
    assert!(made["dollars_a_month"].as_f64().unwrap() > 100.0);
    assert!(made["why"][0].as_str().unwrap().contains("no fewer"), "{made}");
    let ahead = &made["simulation"];
    assert!(ahead["breaks"].as_array().unwrap().len() == 2 && ahead["pictures"].is_object());
    // The same as the command makes of the same answers.
    let command = Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .current_dir(folder.path())
        .args(["new", "shop-2.toml", "--entity", said["entities"][0].as_str().unwrap()])
        .args(["--pattern", said["patterns"][0].as_str().unwrap()])
        .args(["--pattern", said["patterns"][1].as_str().unwrap()])
        .args(["--write", said["writes"][0].as_str().unwrap()])
        .output()
        .unwrap();
    assert!(command.status.success(), "{command:?}");
    let written = std::fs::read_to_string(folder.path().join("shop-2.toml")).unwrap();
    assert_eq!(made["text"], json!(written));
    // A line that cannot be used is named, and the others are still looked at.
    let wrong =
        json!({ "entities": ["Order: order_id ulid", "Order"], "patterns": ["all: Refund"] });
    let told = served.post("new", &wrong);
    assert!(told["text"].is_null(), "{told}");
    let is_wrong = |at: usize| told["said"][at]["wrong"] == json!(true);
    assert!(!is_wrong(0) && is_wrong(1) && is_wrong(2), "{told}");
    assert!(told["said"][2]["says"].as_str().unwrap().contains("Refund"), "{told}");
    for nonsense in [
        json!([]),
        json!({ "name": "../x", "entities": ["A: a ulid"] }),
        json!({ "entities": "A: a ulid" }),
        json!({ "entities": [7] }),
        json!({ "entities": vec!["A: a ulid"; 101] }),
    ] {
        let (status, body) = served.api("POST", "new", &nonsense);
        assert!(status == 400 || body["said"] == json!([]), "{nonsense}: {status} {body}");
    }
}

#[test]
fn the_console_before_an_endpoint_signs_and_wants_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = design_file(folder.path());
    let mut keys = vec!["--access-key", "AKIDEXAMPLE", "--secret-key", "a-secret-of-some-length"];
    let fixed = ["serve", "--memory", "--port", "0", "--design", file.to_str().unwrap()];
    let server = Served::start(&[&fixed, keys.as_slice()].concat());
    let url = format!("http://{}", server.address);
    let mut line =
        vec!["console", "--endpoint", &url, "--no-open", "--design", file.to_str().unwrap()];
    line.append(&mut keys);
    let mut console = Served::start(&line);
    assert_eq!(console.token.as_ref().unwrap().len(), 32);
    let create = json!({
        "TableName": "shop", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    });
    assert_eq!(console.operation("CreateTable", &create).0, 200);
    console.put(&order(1));
    let info = console.get("info");
    assert_eq!((&info["mode"], &info["signing"]), (&json!("console"), &json!("proxy")));
    assert!(!info.to_string().contains("a-secret") && !info.to_string().contains("AKID"));
    let run = json!({ "pattern": "orders of a user", "inputs": {"user": "ann"} });
    assert_eq!(console.post("designs/shop/run", &run)["rows"].as_array().unwrap().len(), 1);
    let heat = console.get("heat?table=shop&what=writes");
    assert_eq!(heat["keys"][0]["key"], json!("USER#ann"), "the statistics of the server behind it");
    // Refusals of the database come through as they are.
    let (status, refused) =
        console.operation("GetItem", &json!({ "TableName": "none", "Key": {"PK": {"S": "a"}} }));
    assert_eq!(status, 400);
    assert!(
        refused["__type"].as_str().unwrap().ends_with("ResourceNotFoundException"),
        "{refused}"
    );
    console.token = Some("0".repeat(32));
    assert_eq!(
        console.operation("GetItem", &json!({})).1["__type"].as_str().unwrap().rsplit('#').next(),
        Some("UnrecognizedClientException")
    );
    assert_eq!(console.api("GET", "tables", &Value::Null).0, 400);
}

#[test]
fn a_read_only_console_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = design_file(folder.path());
    let served = Served::start(&[
        "serve",
        "--memory",
        "--port",
        "0",
        "--design",
        file.to_str().unwrap(),
        "--console",
        "read-only",
    ]);
    let shown = served.get("designs/shop");
    assert_eq!(shown["writable"], json!(false));
    assert_eq!(
        served.api("PUT", "designs/shop", &json!({ "text": "", "was": shown["sum"] })).0,
        403
    );
    let (status, refused) = served.operation("DeleteTable", &json!({ "TableName": "shop" }));
    assert!(status == 400 && refused.to_string().contains("read-only"), "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), DESIGN);
}

#[test]
fn the_demo_keeps_traffic_going() {
    let demo = Served::start(&["demo", "--serve", "--port", "0"]);
    let until = Instant::now() + Duration::from_secs(30);
    let keys =
        |demo: &Served| demo.get("heat?table=tasks&what=writes")["keys"][0]["writes"].as_f64();
    let first = loop {
        match keys(&demo) {
            Some(first) => break first,
            None => assert!(Instant::now() < until, "no traffic"),
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    while keys(&demo).unwrap() <= first {
        assert!(Instant::now() < until, "the traffic stopped");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(demo.get("designs/tasks")["findings"], json!([]));
}
