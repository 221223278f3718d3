//! Lack of throughput, through the engine and through a server.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod batches;
mod injected;
mod loads;
mod servers;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use keyloom_core::observation::Observer;
use keyloom_engine::{Database, ManualClock, Options};
use keyloom_observe::{Monitor, Sampling, Throttle};
use keyloom_testkit::lockstep::target;
use serde_json::{Value, json};

/// A database under a clock that stands still until it is moved.
struct Throttled {
    database: Database,
    clock: Arc<ManualClock>,
    monitor: Arc<Monitor>,
}

impl Throttled {
    fn new(throttle: &str) -> Self {
        let clock = Arc::new(ManualClock::at_ms(1_794_700_800_000));
        // Every request is looked at: how many are sampled otherwise depends on the machine.
        let monitor = Monitor::new(throttle.parse::<Throttle>().unwrap());
        let monitor = Arc::new(monitor.sampling(Sampling::All));
        let database = Database::memory_with(Options {
            clock: Arc::clone(&clock) as _,
            observer: Some(Arc::clone(&monitor) as Arc<dyn Observer>),
            background: false,
            ..Options::default()
        });
        Self { database, clock, monitor }
    }

    /// One with a table `Orders` (id) that has an index `byStatus`, paid per request.
    fn with_orders(throttle: &str) -> Self {
        let throttled = Self::new(throttle);
        throttled.create(json!({"BillingMode": "PAY_PER_REQUEST"}));
        throttled
    }

    fn create(&self, billing: Value) {
        let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let mut index = json!({"IndexName": "byStatus", "KeySchema": key("status"),
            "Projection": {"ProjectionType": "KEYS_ONLY"}});
        let mut table = json!({"TableName": "Orders", "KeySchema": key("id"),
            "AttributeDefinitions": [attribute("id"), attribute("status")]});
        for (name, value) in billing.as_object().unwrap() {
            table[name] = value.clone();
            if name == "ProvisionedThroughput" {
                index[name] = json!({"ReadCapacityUnits": 1000, "WriteCapacityUnits": 1000});
            }
        }
        table["GlobalSecondaryIndexes"] = json!([index]);
        let (status, reply) = self.call("CreateTable", &table);
        assert_eq!(status, 200, "{reply}");
    }

    fn call(&self, operation: &str, body: &Value) -> (u16, Value) {
        let reply = self.database.call(&target(operation), body.to_string().as_bytes());
        (reply.status, serde_json::from_slice(&reply.body).unwrap())
    }

    fn put(&self, item: Value) -> (u16, Value) {
        self.call("PutItem", &json!({"TableName": "Orders", "Item": item}))
    }

    /// Puts `per_second` items in each of so many seconds; how many were taken, and the last refusal.
    fn load(
        &self,
        seconds: u64,
        per_second: u64,
        item: impl Fn(u64) -> Value,
    ) -> (u64, Option<Value>) {
        let (mut taken, mut refusal) = (0, None);
        for number in 0..seconds * per_second {
            let (status, reply) = self.put(item(number));
            match status {
                200 => taken += 1,
                _ => refusal = Some(reply),
            }
            if (number + 1) % (per_second / 10) == 0 {
                self.clock.advance(Duration::from_millis(100));
            }
        }
        (taken, refusal)
    }

    /// Puts an item until it is refused.
    fn exhaust(&self, id: &str) {
        assert!((0..2000).any(|_| self.put(order(id)).0 == 400), "it is never refused");
    }

    fn count(&self) -> u64 {
        self.database.tables()[0].items
    }
}

fn order(id: impl std::fmt::Display) -> Value {
    json!({"id": {"S": id.to_string()}})
}

/// The reason and the resource of a refusal.
fn reason(refusal: &Value) -> (&str, &str) {
    // AWS's model spells the member of `ThrottlingException` differently from the others.
    let members = ["ThrottlingReasons", "throttlingReasons"];
    let reason = members.iter().find_map(|member| refusal[member].get(0)).unwrap();
    (reason["reason"].as_str().unwrap(), reason["resource"].as_str().unwrap())
}
