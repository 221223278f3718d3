//! `keyloom simulate`, run as people run it.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "shared/process.rs"]
mod process;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use process::ServerProcess;

fn simulate(arguments: &[&str]) -> Output {
    let designs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    command.current_dir(designs).arg("simulate").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_first_limit_comes_with_a_change_that_moves_it() {
    let shown = text(&simulate(&["hot-keys.as-written.toml"]));
    assert!(shown.contains("DAY#{day} of hot reaches 1,000 writes/s"), "{shown}");
    assert!(shown.contains("+ pk    = \"DAY#{day}#{shard}\""), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&text(&simulate(&["hot-keys.as-written.toml", "--format", "json"])))
            .unwrap();
    let advice = json.get("advice").unwrap();
    let number = |key: &str| advice.get(key).and_then(serde_json::Value::as_f64).unwrap();
    assert!(number("after") > number("before") * 5.0, "{advice}");
}

#[test]
fn the_same_input_gives_the_same_output() {
    let once =
        text(&simulate(&["tasks.toml", "--profile", "daily", "--minutes", "90", "--zipf", "1"]));
    assert_eq!(
        once,
        text(&simulate(&["tasks.toml", "--profile", "daily", "--minutes", "90", "--zipf", "1"]))
    );
}

#[test]
fn a_build_can_be_denied() {
    let output = simulate(&["hot-keys.as-written.toml", "--deny", "10"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--deny 10"), "{output:?}");
    assert!(simulate(&["tasks.toml", "--deny", "10"]).status.success());
}

#[test]
fn pages_and_pictures_need_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (page, pictures) = (folder.path().join("forecast.html"), folder.path().join("plots"));
    let (page, pictures) = (page.to_str().unwrap(), pictures.to_str().unwrap());
    text(&simulate(&["hot-keys.as-written.toml", "--html", page, "--svg", pictures]));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src="), "{html}");
    assert!(std::fs::read_dir(pictures).unwrap().count() >= 3);
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, named) in [
        (["--scale", "0"], "--scale 0"),
        (["--scale", "1e300"], "at most 1e9"),
        (["--minutes", "0"], "--minutes"),
        (["--minutes", "4294967295"], "--minutes"),
        (["--profile", "spike=1e300,1"], "times the load at most"),
        (["--profile", "spike=0,10"], "a spike takes some load for some minutes"),
        (["--profile", "spike=5,0"], "a spike takes some load for some minutes"),
        (["--growth", "much"], "expected a share per month, such as 0.1 or 10%"),
        (["--profile", "launch=1e300"], "a year"),
        (["--warm", "12000"], "two numbers"),
        (["--warm=-1,5", "--quota"], "not a number from 0"),
        (["--max", "0,5"], "--max: at least one"),
        (["--backoff", "fast,slow"], "`fast` is not a number"),
        (["--profile", "weekly"], "expected constant, daily, spike or launch"),
        (["--profile", "daily=2"], "a share"),
        (["--zipf", "9"], "--zipf 9"),
        (["--from", "nowhere.json"], "nowhere.json"),
    ] {
        let output = simulate(&["tasks.toml", arguments[0], arguments[1]]);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
}

const SHOP: &str = r#"
[table.shop]
partition_key = "PK"
sort_key      = "SK"
[entity.Order]
PK = "CUSTOMER#{customer}"
SK = "ORDER#{order}"
count = 1_000_000
size  = "1 KB"
[entity.Order.fields]
customer = { type = "token", distinct = 1_000 }
order    = "ulid"
[access."an order"]
find  = "Order"
where = "customer = ? and order = ?"
rate  = "5000/s"
[write."place"]
entity = "Order"
rate   = "1/s"
"#;

fn call(server: &ServerProcess, operation: &str, body: &Value) {
    let body = body.to_string();
    let mut socket = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// What a server was asked, recorded as people record it, is what is simulated: rates, and the keys that are hot.
#[test]
fn a_recording_of_a_server_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (design, recording) = (path("shop.toml"), path("monday.json"));
    std::fs::write(&design, SHOP).unwrap();
    let server = ServerProcess::start(&["--memory", "--stats", "all", "--design", design.as_str()]);
    let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let key = |name: &str, kind: &str| json!({ "AttributeName": name, "KeyType": kind });
    let table = json!({
        "TableName": "shop",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [attribute("PK"), attribute("SK")],
        "KeySchema": [key("PK", "HASH"), key("SK", "RANGE")],
    });
    call(&server, "CreateTable", &table);
    // Of 200 reads, 150 are for one customer.
    for number in 0..200 {
        let customer = if number % 4 == 0 { format!("c{number}") } else { "hot".to_owned() };
        let key = json!({
            "PK": { "S": format!("CUSTOMER#{customer}") },
            "SK": { "S": "ORDER#01HM5KXJ8M0000000000000001" },
        });
        if number < 40 {
            call(&server, "PutItem", &json!({ "TableName": "shop", "Item": key }));
        }
        call(&server, "GetItem", &json!({ "TableName": "shop", "Key": key }));
    }
    let doctor = Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .args(["doctor", "--endpoint", &server.url, "--design", &design, "--save", &recording])
        .output()
        .unwrap();
    assert!(Path::new(&recording).exists(), "{}", String::from_utf8_lossy(&doctor.stderr));
    let recorded: Value =
        serde_json::from_str(&std::fs::read_to_string(&recording).unwrap()).unwrap();
    let time = |name: &str| recorded.get(name).and_then(Value::as_f64).unwrap();
    let seconds = ((time("until_ms") - time("since_ms")) / 1000.0).max(1.0);

    let arguments = [design.as_str(), "--from", &recording, "--scale", "1", "--format", "json"];
    let foreseen: Value = serde_json::from_str(&text(&simulate(&arguments))).unwrap();
    let rate = |name: &str| {
        let flows = foreseen.pointer("/scales/0/patterns").and_then(Value::as_array).unwrap();
        let flow = flows.iter().find(|it| it.get("pattern") == Some(&json!(name))).unwrap();
        flow.get("calls_per_second").and_then(Value::as_f64).unwrap()
    };
    assert!((rate("an order") * seconds - 200.0).abs() < 1.0, "{} {seconds}", rate("an order"));
    assert!((rate("place") * seconds - 40.0).abs() < 1.0, "{} {seconds}", rate("place"));
    // The limit is the recorded key's: half a unit for each read, 150 of 200 reads and 30 of 40 writes are its.
    let first = foreseen.pointer("/breaks").and_then(Value::as_array).unwrap();
    let of = |name: &str| first.iter().find(|it| it.get("pattern") == Some(&json!(name))).unwrap();
    let reason = of("place").get("reason").and_then(Value::as_str).unwrap();
    assert!(reason.contains("CUSTOMER#hot of shop reaches"), "{reason}");
    let multiple = of("place").get("multiple").and_then(Value::as_f64).unwrap();
    let expected = 1000.0 / (rate("place") * 0.75);
    // Its collection can be split: then it carries more than one partition, by the number of its partitions.
    assert!((expected * 0.9..expected * 40.0).contains(&multiple), "{multiple} {expected}");
    // Without the recording, the design's own numbers.
    let declared = text(&simulate(&[&design, "--scale", "1", "--format", "json"]));
    assert!(
        declared.contains("\"calls_per_second\": 5000.0") && !declared.contains("CUSTOMER#hot")
    );
}
