//! `keyloom copy` where one side is an endpoint: every pair, killed and resumed, and behind a server that goes on.
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::copy::{keyloom, kills, shown};
use crate::postgres::Postgres;
use crate::server::Server;

/// A server with nothing but memory.
fn memory() -> Server {
    Server::run(Server::command().arg("--memory"))
}

fn endpoint(server: &Server) -> String {
    format!("http://{}", server.address)
}

/// A copy that must end well; what it says.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = copy(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", shown(&output));
    shown(&output)
}

/// A copy that must be refused for this reason.
fn refused(folder: &Path, arguments: &[&str], reason: &str) {
    let output = copy(arguments).current_dir(folder).output().unwrap();
    let said = shown(&output);
    assert!(!output.status.success() && said.contains(reason), "{arguments:?}: {said}");
}

fn copy(arguments: &[&str]) -> std::process::Command {
    let mut command = keyloom(&["copy"]);
    command.args(arguments);
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    command.env("AWS_REGION", "us-east-1");
    command
}

/// A table with everything that is copied.
fn create(server: &Server) {
    let text = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let units = json!({"ReadCapacityUnits": 50, "WriteCapacityUnits": 50});
    let request = json!({"TableName": "Orders",
        "AttributeDefinitions": [text("pk"), text("sk"), text("g"), text("l")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "ProvisionedThroughput": units,
        "LocalSecondaryIndexes": [{"IndexName": "by-l", "Projection": {"ProjectionType": "KEYS_ONLY"},
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]}],
        "GlobalSecondaryIndexes": [{"IndexName": "by-g", "ProvisionedThroughput": units,
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["b", "a"]},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "TableClass": "STANDARD_INFREQUENT_ACCESS", "DeletionProtectionEnabled": true,
        "Tags": [{"Key": "team", "Value": "green"}]});
    server.call("CreateTable", &request);
    server.call(
        "UpdateTimeToLive",
        &json!({"TableName": "Orders", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "dies"}}),
    );
    server.call(
        "UpdateContinuousBackups",
        &json!({"TableName": "Orders",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 7}}),
    );
    let small = json!({"TableName": "Small", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "VectorIndexes": [{"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
            "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "KEYS_ONLY"}}]});
    server.call("CreateTable", &small);
}

fn item(number: usize) -> Value {
    json!({"pk": {"S": format!("p{}", number % 50)}, "sk": {"S": format!("s{number:05}")},
        "g": {"S": format!("g{}", number % 7)}, "l": {"S": format!("l{}", number % 3)},
        "n": {"N": format!("{number}.50")}, "set": {"NS": ["3", "1"]}, "bin": {"B": "AAEC"},
        "m": {"M": {"deep": {"L": [{"NULL": true}, {"BOOL": false}]}}}, "pad": {"S": "x".repeat(200)}})
}

fn fill(server: &Server, items: std::ops::Range<usize>) {
    let items: Vec<usize> = items.collect();
    for some in items.chunks(25) {
        let puts: Vec<Value> =
            some.iter().map(|number| json!({"PutRequest": {"Item": item(*number)}})).collect();
        server.call("BatchWriteItem", &json!({"RequestItems": {"Orders": puts}}));
    }
}

/// All items of a table or an index, in one order.
fn everything(server: &Server, table: &str, index: Option<&str>) -> Vec<String> {
    let mut body = json!({"TableName": table});
    if let Some(index) = index {
        body["IndexName"] = index.into();
    }
    let mut items = Vec::new();
    loop {
        let page = server.call("Scan", &body);
        items.extend(page["Items"].as_array().unwrap().iter().map(ToString::to_string));
        match page.get("LastEvaluatedKey") {
            Some(key) => body["ExclusiveStartKey"] = key.clone(),
            None => break,
        }
    }
    items.sort();
    items
}

/// What a copy must have of a table's description.
fn settings(server: &Server) -> Vec<Value> {
    let name = json!({"TableName": "Orders"});
    let mut table = server.call("DescribeTable", &name)["Table"].clone();
    let arn = table["TableArn"].clone();
    let sorted = |list: &Value| {
        let mut list = list.as_array().cloned().unwrap_or_default();
        list.sort_by_key(ToString::to_string);
        json!(list)
    };
    table["AttributeDefinitions"] = sorted(&table["AttributeDefinitions"]);
    let index = &table["GlobalSecondaryIndexes"][0];
    let recovery = server.call("DescribeContinuousBackups", &name);
    let recovery = &recovery["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    vec![
        table["KeySchema"].clone(),
        table["AttributeDefinitions"].clone(),
        index["IndexName"].clone(),
        index["KeySchema"].clone(),
        sorted(&index["Projection"]["NonKeyAttributes"]),
        index["ProvisionedThroughput"]["WriteCapacityUnits"].clone(),
        table["LocalSecondaryIndexes"][0]["KeySchema"].clone(),
        table["ProvisionedThroughput"]["ReadCapacityUnits"].clone(),
        table["StreamSpecification"].clone(),
        table["TableClassSummary"]["TableClass"].clone(),
        table["DeletionProtectionEnabled"].clone(),
        server.call("DescribeTimeToLive", &name)["TimeToLiveDescription"].clone(),
        recovery["PointInTimeRecoveryStatus"].clone(),
        recovery["RecoveryPeriodInDays"].clone(),
        server.call("ListTagsOfResource", &json!({ "ResourceArn": arn }))["Tags"].clone(),
    ]
}

/// A server that is asked to end, and has.
fn end(mut server: Server) {
    let id = server.process.id().to_string();
    assert!(std::process::Command::new("kill").arg(id).status().unwrap().success());
    server.process.wait().unwrap();
}

#[test]
fn a_database_goes_through_every_pair_of_places() {
    let Some(postgres) = Postgres::start(false) else { return };
    let home = tempfile::tempdir().unwrap();
    let (first, last) = (memory(), memory());
    create(&first);
    fill(&first, 0..700);
    first.put("Small", "only");
    let (from, folder, url) = (endpoint(&first), "data", postgres.url("way"));
    let said = done(home.path(), &["--from", &from, "--to", folder]);
    assert!(said.contains("701 items of 2 tables") && said.contains("all equal"), "{said}");
    // A folder that a server has open: its endpoint is the way.
    let open = Server::run(Server::command().arg("--data").arg(home.path().join(folder)));
    for more in [&["--follow"][..], &[]] {
        let arguments = [&["--from", folder, "--to", &from][..], more].concat();
        refused(home.path(), &arguments, "endpoint");
    }
    refused(home.path(), &["--from", folder, "--to", &url], "name its endpoint");
    refused(home.path(), &["--from", folder, "--to", &url, "--follow"], "name its endpoint");
    let middle = memory();
    done(home.path(), &["--from", &endpoint(&open), "--to", &endpoint(&middle)]);
    end(open);
    done(
        home.path(),
        &["--from", &endpoint(&middle), "--to", &url, "--rate", "50", "--workers", "2"],
    );
    done(home.path(), &["--from", &url, "--to", &endpoint(&last)]);
    for (table, index) in
        [("Orders", None), ("Orders", Some("by-g")), ("Orders", Some("by-l")), ("Small", None)]
    {
        assert_eq!(everything(&first, table, index), everything(&last, table, index), "{table}");
    }
    assert_eq!(settings(&first), settings(&last));
    let near = |server: &Server| {
        let small = server.call("DescribeTable", &json!({"TableName": "Small"}));
        let index = &small["Table"]["VectorIndexes"][0];
        ["IndexName", "Dimensions", "VectorAttribute"].map(|member| index[member].clone())
    };
    assert_eq!(near(&first), near(&last));
    // Folder to endpoint, only some of it.
    let part = memory();
    done(home.path(), &["--from", folder, "--to", &endpoint(&part), "--table", "Small"]);
    assert_eq!(part.call("ListTables", &json!({}))["TableNames"], json!(["Small"]));
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "states of finished copies are gone: {left:?}");
}

#[test]
fn what_cannot_be_copied_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let (first, last) = (memory(), memory());
    first.create_table("Small");
    first.put("Small", "a");
    let (from, to) = (endpoint(&first), endpoint(&last));
    refused(home.path(), &["--from", &from, "--to", &from], "are the same");
    refused(home.path(), &["--from", &from, "--to", &to, "--table", "Tall"], "no table `Tall`");
    refused(home.path(), &["--from", &from, "--to", &to, "--follow"], "`Small`. Turn them on");
    last.create_table("Small");
    last.put("Small", "b");
    refused(home.path(), &["--from", &from, "--to", &to], "is not empty");
    last.call("DeleteTable", &json!({"TableName": "Small"}));
    let other = json!({"TableName": "Small", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "other", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}]});
    last.call("CreateTable", &other);
    refused(home.path(), &["--from", &from, "--to", &to], "other keys");
    refused(home.path(), &["--from", "a", "--to", "b", "--table", "x"], "--table: only where");
    std::fs::write(home.path().join("state"), "{").unwrap();
    refused(
        home.path(),
        &["--from", &from, "--to", &to, "--state", "state"],
        "not the state of a copy",
    );
    refused(home.path(), &["--from", &from, "--to", &to, "--state", "no/such/folder"], "--state");
    refused(home.path(), &["--from", &from, "--to", &to, "--rate", "0"], "--rate");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "nothing is left of what was refused: {left:?}");
}

#[test]
fn a_copy_between_endpoints_that_is_killed_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let (first, last) = (memory(), memory());
    create(&first);
    fill(&first, 0..4000);
    let (from, to) = (endpoint(&first), endpoint(&last));
    let arguments = ["--from", &from, "--to", &to, "--state", "state"];
    let mut were_unfinished = 0;
    for kill in 0..kills() {
        let mut copying = copy(&arguments);
        copying.args(["--rate", "1"]).current_dir(home.path());
        let mut copying = copying.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // On a busy machine it takes long to begin.
        while !home.path().join("state").exists() && copying.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(97 * (kill as u64 % 7)));
        copying.kill().unwrap();
        copying.wait().unwrap();
        were_unfinished += usize::from(home.path().join("state").exists());
        // What is written and removed after it was copied: only the comparison finds that.
        first.call(
            "DeleteItem",
            &json!({"TableName": "Orders",
            "Key": {"pk": item(kill)["pk"], "sk": item(kill)["sk"]}}),
        );
    }
    assert!(were_unfinished > 0, "each copy was killed before it began or after it had ended");
    let said = done(home.path(), &arguments);
    assert!(said.contains("going on") && said.contains("all equal"), "{said}");
    assert_eq!(everything(&first, "Orders", None), everything(&last, "Orders", None));
    assert!(!home.path().join("state").exists());
}

#[test]
fn a_copy_follows_the_streams_of_an_endpoint_until_it_is_told() {
    let home = tempfile::tempdir().unwrap();
    let (first, last) = (memory(), memory());
    create(&first);
    first.call("DeleteTable", &json!({"TableName": "Small"}));
    fill(&first, 0..500);
    let (from, to) = (endpoint(&first), endpoint(&last));
    let mut next = 500;
    for is_killed in [true, false] {
        let mut copying = copy(&["--from", &from, "--to", &to, "--follow"]);
        copying.current_dir(home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut copying = copying.spawn().unwrap();
        let mut said = BufReader::new(copying.stdout.take().unwrap()).lines();
        let is_following = |line: &String| line.contains("press Enter");
        assert!(said.by_ref().map_while(Result::ok).any(|line| is_following(&line)));
        // Writes, overwrites and deletions, some of them of one item; a shard that ends.
        for round in 0..3 {
            fill(&first, next..next + 40);
            for number in [round, next, next + 1] {
                let key = json!({"pk": item(number)["pk"], "sk": item(number)["sk"]});
                first.call("DeleteItem", &json!({"TableName": "Orders", "Key": key}));
            }
            let key = json!({"pk": item(100)["pk"], "sk": item(100)["sk"]});
            first.call("UpdateItem", &json!({"TableName": "Orders", "Key": key,
                "UpdateExpression": "SET n = n + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}));
            next += 40;
        }
        if is_killed {
            copying.kill().unwrap();
            copying.wait().unwrap();
            continue;
        }
        writeln!(copying.stdin.take().unwrap()).unwrap();
        let last_line = said.map_while(Result::ok).last().unwrap_or_default();
        assert!(
            copying.wait().unwrap().success() && last_line.contains("all equal"),
            "{last_line}"
        );
    }
    assert_eq!(everything(&first, "Orders", None), everything(&last, "Orders", None));
    assert_eq!(settings(&first), settings(&last));
}
