//! What observers are told of requests, and what they refuse.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod observed;
mod refusals;

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use keyloom_core::AttributeValue;
use keyloom_core::observation::{
    NotAdmitted, Observation, Observer, Outcome, ThrottleLimit, ThrottleReason, Touch,
};
use keyloom_engine::{Database, Error, Options};
use serde_json::{Value, json};

/// Writes down what it is told, and refuses what it is told to.
#[derive(Debug, Default)]
struct Recorder {
    is_gate: bool,
    /// Whether requests are looked at.
    is_blind: bool,
    log: Mutex<Vec<String>>,
    /// Partition keys that are refused.
    refused: Mutex<Vec<String>>,
}

impl Recorder {
    fn note(&self, event: String) {
        self.log.lock().unwrap().push(event);
    }

    /// What was told since the last time.
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    fn refuse(&self, partitions: &[&str]) {
        *self.refused.lock().unwrap() = partitions.iter().map(|&key| key.to_owned()).collect();
    }
}

fn shown(values: Vec<AttributeValue>) -> String {
    let shown = values.iter().map(|value| match value {
        AttributeValue::S(text) => text.to_string(),
        AttributeValue::N(number) => number.to_string(),
        other => format!("{other:?}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

/// `table(partition/sort)`, or `table.index(…)`, then the units.
fn touch(touch: &Touch<'_>) -> String {
    let index = touch.place.index_name().map(|name| format!(".{name}")).unwrap_or_default();
    let (partition, sort) = (shown(touch.partition_values()), shown(touch.sort_values()));
    let kind = if touch.work.is_write() { 'w' } else { 'r' };
    format!("{}{index}({partition}/{sort}) {kind}{}", touch.place.table, touch.work.units())
}

fn touches(touches: &[Touch<'_>]) -> String {
    touches.iter().map(touch).collect::<Vec<_>>().join(" ")
}

impl Observer for Recorder {
    fn sample(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(u32::from(!self.is_blind))
    }

    fn is_gate(&self) -> bool {
        self.is_gate
    }

    fn admit(&self, asked: &[Touch<'_>], _: u64) -> Result<(), NotAdmitted> {
        self.note(format!("admit {}", touches(asked)));
        let refused = self.refused.lock().unwrap();
        let position = asked.iter().position(|t| refused.contains(&shown(t.partition_values())));
        let Some(touch) = position else { return Ok(()) };
        let (is_index, is_write) =
            (asked[touch].place.is_global_index(), asked[touch].work.is_write());
        let limit = ThrottleLimit::KeyRange;
        Err(NotAdmitted { touch, reason: ThrottleReason { is_index, is_write, limit } })
    }

    fn charge(&self, done: &[Touch<'_>], _: u64) {
        self.note(format!("charge {}", touches(done)));
    }

    fn observe(&self, seen: &Observation<'_>) {
        let outcome = match seen.outcome {
            Outcome::Done => String::new(),
            Outcome::Throttled(reason, at) => format!(" {} at {at}", reason.name()),
            other => format!(" {other:?}"),
        };
        let mut text = format!("{}{outcome}: {}", seen.operation.name(), touches(seen.touches));
        if let Some(question) = &seen.question {
            let hash = question.condition.map(|condition| shown(condition.hash.clone()));
            let filter = question.filter.map(|filter| {
                filter.paths().iter().map(|path| path.attribute.to_string()).collect::<Vec<_>>()
            });
            let _ = write!(
                text,
                " | key {} filter {} limit {:?} continued {} more {} scanned {}",
                hash.unwrap_or("-".into()),
                filter.unwrap_or_default().join(","),
                question.limit,
                question.is_continued,
                question.has_more,
                question.scanned
            );
        }
        if !seen.operation.writes_items() {
            let _ = write!(
                text,
                " | {} returned{}{}",
                seen.returned,
                if seen.is_projected { ", projected" } else { "" },
                if seen.is_consistent { ", consistent" } else { "" },
            );
        }
        self.note(text);
    }

    fn failed(&self, operation: &str, error: &Error) {
        self.note(format!("{operation} failed: {}", error.code()));
    }

    fn forget(&self, table: &str, index: Option<&str>) {
        self.note(format!("forget {table} {index:?}"));
    }
}

/// A database with a table `tab` (pk, sk) that has a global index `gsi` on `status` and a local one `lsi` on
/// `grade`, watched by a recorder.
fn watched(recorder: Recorder) -> (Database, Arc<Recorder>) {
    let recorder = Arc::new(recorder);
    let observer = Arc::clone(&recorder) as Arc<dyn Observer>;
    let database = Database::memory_with(Options {
        observer: Some(observer),
        background: false,
        ..Options::default()
    });
    let index = |name: &str, hash: &str, range: Value| {
        let mut key = vec![json!({"AttributeName": hash, "KeyType": "HASH"})];
        key.extend(range.as_str().map(|r| json!({"AttributeName": r, "KeyType": "RANGE"})));
        json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "KEYS_ONLY"}})
    };
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let attributes = ["pk", "sk", "status", "grade"].map(attribute);
    let (status, reply) = call(
        &database,
        "CreateTable",
        json!({
            "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [index("gsi", "status", Value::Null)],
            "LocalSecondaryIndexes": [index("lsi", "pk", json!("grade"))]}),
    );
    assert_eq!(status, 200, "{reply}");
    (database, recorder)
}

fn call(database: &Database, operation: &str, body: Value) -> (u16, Value) {
    let target = format!("DynamoDB_20120810.{operation}");
    let reply = database.call(&target, body.to_string().as_bytes());
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

fn put(database: &Database, pk: &str, sk: &str) -> (u16, Value) {
    call(database, "PutItem", json!({"TableName": "tab", "Item": item(pk, sk)}))
}

fn item(pk: &str, sk: &str) -> Value {
    json!({"pk": {"S": pk}, "sk": {"S": sk}})
}
