//! Requests that nobody should send: every one gets an error of DynamoDB's shape, and none an
//! internal error or a panic.

use keyloom_engine::Database;
use keyloom_testkit::lockstep::{call, succeed, target};
use keyloom_testkit::rng::{Rng, SeedReport, seeds};
use keyloom_testkit::samples::{create_table, samples};
use serde_json::{Value, json};

fn database() -> Database {
    let database = Database::memory();
    succeed(&database, "CreateTable", &create_table());
    for sk in 0..3 {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()},
            "g": {"S": "c"}, "n": {"N": "5"}});
        succeed(&database, "PutItem", &json!({"TableName": "sample", "Item": item}));
    }
    // So that an export can begin.
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    succeed(
        &database,
        "UpdateContinuousBackups",
        &json!({"TableName": "sample", "PointInTimeRecoverySpecification": recovery}),
    );
    database
}

/// What is wrong with a reply to a hostile request, if anything.
fn problem(database: &Database, operation: &str, body: &[u8]) -> Option<String> {
    let answer = call(database, operation, body);
    let is_error = answer.body.get("__type").is_some_and(Value::is_string);
    match answer.status {
        200 if !is_error => None,
        400..500 if is_error && !answer.code().is_empty() => None,
        _ => Some(answer.to_string()),
    }
}

#[test]
fn a_wrong_json_type_anywhere_is_an_error() {
    let database = database();
    let (mut count, mut problems) = (0, Vec::new());
    for sample in samples() {
        for spoiled in sample.with_wrong_types() {
            count += 1;
            let fork = database.fork().unwrap();
            let answer = call(&fork, &sample.operation, spoiled.body.to_string().as_bytes());
            if !(400..500).contains(&answer.status) || answer.code().is_empty() {
                problems.push(format!("{}: {answer}", spoiled.what));
            }
        }
    }
    println!("{count} requests");
    assert!(problems.is_empty(), "{} of {count}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn odd_values_do_no_harm() {
    let database = database();
    let (mut count, mut problems) = (0, Vec::new());
    for sample in samples() {
        for spoiled in sample.with_odd_values() {
            count += 1;
            let fork = database.fork().unwrap();
            let body = spoiled.body.to_string();
            let found = problem(&fork, &sample.operation, body.as_bytes());
            problems.extend(found.map(|found| format!("{}: {found}", spoiled.what)));
        }
    }
    println!("{count} requests");
    assert!(problems.is_empty(), "{} of {count}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn what_is_not_json_is_an_error() {
    let database = database();
    let deep = |open: &str, close: &str, levels: usize| {
        [open.repeat(levels), close.repeat(levels)].concat().into_bytes()
    };
    let bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b" ".to_vec(),
        b"{".to_vec(),
        b"nul".to_vec(),
        b"{} {}".to_vec(),
        b"{\"TableName\"}".to_vec(),
        b"{\"TableName\":\"a\",}".to_vec(),
        b"{'TableName':'a'}".to_vec(),
        b"{\"TableName\":\"\xff\xfe\"}".to_vec(),
        b"{\"TableName\":\"\\ud800\"}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"\x00\x01\x02".to_vec(),
        deep("[", "]", 100_000),
        deep("{\"a\":", "}", 100_000),
        deep("{\"M\":{\"m\":", "}}", 64),
        vec![b'['; 1 << 20],
    ];
    for sample in samples() {
        for body in &bodies {
            let answer = call(&database, &sample.operation, body);
            let shown = String::from_utf8_lossy(body.get(..40).unwrap_or(body)).into_owned();
            let what = format!("{} {shown}: {answer}", sample.operation);
            assert_eq!(answer.status, 400, "{what}");
            assert!(!answer.code().is_empty(), "{what}");
        }
    }
}

#[test]
fn a_body_cut_off_anywhere_is_an_error() {
    let database = database();
    for sample in samples() {
        let text = sample.body.to_string();
        for end in 0..text.len() {
            let body = &text.as_bytes()[..end];
            let answer = call(&database, &sample.operation, body);
            assert_eq!(answer.status, 400, "{} cut at {end}: {answer}", sample.operation);
        }
    }
}

#[test]
fn random_damage_does_no_harm() {
    let database = database();
    for seed in seeds(3) {
        let _report = SeedReport(seed);
        let mut rng = Rng::new(seed);
        for sample in samples() {
            for _ in 0..30 {
                let mut body = sample.body.to_string().into_bytes();
                for _ in 0..=rng.below(4) {
                    let position = rng.below(body.len().max(1));
                    match rng.below(3) {
                        0 if !body.is_empty() => body[position] = rng.next_u64() as u8,
                        1 if !body.is_empty() => drop(body.remove(position)),
                        _ => body.insert(position, *rng.pick(b"\"{}[],:0-\\ax")),
                    }
                }
                let fork = database.fork().unwrap();
                if let Some(found) = problem(&fork, &sample.operation, &body) {
                    panic!("{}: {found}", String::from_utf8_lossy(&body));
                }
            }
        }
    }
}

#[test]
fn targets_that_name_no_operation_are_refused() {
    let database = database();
    let long = "x".repeat(100_000);
    for target in ["", ".", "DynamoDB_20120810.", "GetItem", "DynamoDB_20111205.GetItem", &long] {
        let reply = database.call(target, b"{}");
        let body: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(reply.status, 400, "{body}");
        assert!(body["__type"].as_str().unwrap().ends_with("UnknownOperationException"), "{body}");
    }
    // Every operation that the API model lists is known.
    let unknown: Vec<String> = samples()
        .into_iter()
        .filter(|sample| {
            let reply = database.call(&target(&sample.operation), b"{}");
            String::from_utf8_lossy(&reply.body).contains("UnknownOperationException")
        })
        .map(|sample| sample.operation)
        .collect();
    assert_eq!(unknown, [] as [String; 0]);
}
