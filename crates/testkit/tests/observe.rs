//! Statistics of a real database: what was collected is what the requests cost.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::HashMap;
use std::sync::Arc;

use keyloom_core::observation::Observer as _;
use keyloom_design::cost::Prices;
use keyloom_engine::{Database, ManualClock, Options};
use keyloom_observe::report::{IndexFacts, Kind, TableFacts};
use keyloom_observe::{
    Judge, Monitor, RecommendationEngine, Report, Sampling, StatsCollector, StatsOptions, Throttle,
};
use serde_json::{Value, json};

struct Observed {
    database: Database,
    statistics: Arc<StatsCollector>,
}

impl Observed {
    fn new(sampling: Sampling) -> Self {
        let options = StatsOptions { sampling, ..StatsOptions::default() };
        let statistics = Arc::new(StatsCollector::new(options));
        let monitor = Monitor::new(Throttle::Observe).with(Arc::clone(&statistics) as _);
        let observer = Some(Arc::new(monitor) as _);
        let options = Options { background: false, observer, ..Options::default() };
        let observed = Self { database: Database::memory_with(options), statistics };
        let attributes = ["PK", "SK", "status"]
            .map(|name| json!({ "AttributeName": name, "AttributeType": "S" }));
        let key = |hash: &str, range: &str| {
            json!([
                { "AttributeName": hash, "KeyType": "HASH" },
                { "AttributeName": range, "KeyType": "RANGE" },
            ])
        };
        observed.call(
            "CreateTable",
            &json!({
                "TableName": "orders",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": attributes,
                "KeySchema": key("PK", "SK"),
                "GlobalSecondaryIndexes": [{
                    "IndexName": "by_status",
                    "KeySchema": key("status", "PK"),
                    "Projection": { "ProjectionType": "ALL" },
                }],
            }),
        );
        observed
    }

    fn call(&self, operation: &str, body: &Value) -> Value {
        let target = format!("DynamoDB_20120810.{operation}");
        let reply = self.database.call(&target, body.to_string().as_bytes());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
        serde_json::from_slice(&reply.body).unwrap()
    }

    fn put(&self, partition: &str, status: &str, size: usize) -> Value {
        let item = json!({
            "PK": { "S": partition }, "SK": { "S": "A" }, "status": { "S": status },
            "text": { "S": "x".repeat(size) },
        });
        self.call(
            "PutItem",
            &json!({ "TableName": "orders", "Item": item, "ReturnConsumedCapacity": "INDEXES" }),
        )
    }

    fn get(&self, partition: &str) -> Value {
        let key = json!({ "PK": { "S": partition }, "SK": { "S": "A" } });
        self.call(
            "GetItem",
            &json!({ "TableName": "orders", "Key": key, "ReturnConsumedCapacity": "TOTAL" }),
        )
    }

    fn report(&self) -> Report {
        self.statistics.snapshot()
    }
}

fn units(answer: &Value, path: &str) -> f64 {
    answer.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
}

#[test]
fn units_by_key_are_what_the_engine_charged() {
    let observed = Observed::new(Sampling::All);
    let mut by_key: HashMap<String, (f64, f64)> = HashMap::new();
    let mut index_units = 0.0;
    for step in 0..600_usize {
        let key = format!("ORDER#{}", step % 7 * (step % 5));
        if step % 3 == 0 {
            let status = ["OPEN", "DONE"][step % 2];
            let answer = observed.put(&key, status, step % 40 * 100);
            by_key.entry(key).or_default().1 +=
                units(&answer, "/ConsumedCapacity/Table/CapacityUnits");
            index_units +=
                units(&answer, "/ConsumedCapacity/GlobalSecondaryIndexes/by_status/CapacityUnits");
        } else {
            let answer = observed.get(&key);
            by_key.entry(key).or_default().0 += units(&answer, "/ConsumedCapacity/CapacityUnits");
        }
    }
    let report = observed.report();
    let table = report.place("orders", None).unwrap();
    assert_eq!(table.keys.len(), by_key.len());
    for key in &table.keys {
        let (reads, writes) = by_key[&key.key];
        assert!((key.reads - reads).abs() < 1e-9 && (key.writes - writes).abs() < 1e-9, "{key:?}");
        assert!(key.error == 0.0);
    }
    let index = report.place("orders", Some("by_status")).unwrap();
    assert!((index.writes - index_units).abs() < 1e-9, "{} {index_units}", index.writes);
    assert!((2.0 - index.distinct_keys).abs() < 0.1);
    assert_eq!(report.requests, 600);
}

#[test]
fn what_queries_scan_and_return_is_counted_by_shape() {
    let observed = Observed::new(Sampling::All);
    for order in 0..40 {
        observed.put(&format!("ORDER#{order}"), if order % 4 == 0 { "OPEN" } else { "DONE" }, 100);
    }
    for _ in 0..10 {
        observed.call(
            "Query",
            &json!({
                "TableName": "orders", "IndexName": "by_status",
                "KeyConditionExpression": "#s = :s",
                "FilterExpression": "SK = :none",
                "ExpressionAttributeNames": { "#s": "status" },
                "ExpressionAttributeValues": { ":s": { "S": "OPEN" }, ":none": { "S": "B" } },
            }),
        );
        observed.call("Scan", &json!({ "TableName": "orders", "Limit": 7 }));
    }
    let report = observed.report();
    let index = report.place("orders", Some("by_status")).unwrap();
    let query = &index.patterns[0];
    assert_eq!(query.shape, "Query status = OPEN, filter on SK");
    assert_eq!((query.requests, query.scanned, query.returned, query.empty), (10, 100, 0, 10));
    let table = report.place("orders", None).unwrap();
    let scan = table.patterns.iter().find(|pattern| pattern.operation == "Scan").unwrap();
    assert_eq!((scan.scanned, scan.returned, scan.limited), (70, 70, 10));
    let prices = Prices::default();
    let found = RecommendationEngine::new(Judge::new(&report, None, &prices)).diagnose();
    let ids: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
    assert!(ids.contains(&"fetch-to-filter") && ids.contains(&"scan"), "{ids:?}");
}

#[test]
fn a_busy_database_is_sampled_and_its_totals_stay_right() {
    let busy = |sampling, requests: u64| {
        let observed = Observed::new(sampling);
        observed.put("ORDER#1", "OPEN", 100);
        // A thread of its own: how often it is sampled depends on what it did before.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..requests {
                    observed.get("ORDER#1");
                }
            });
        });
        observed.report()
    };
    // The faster the machine, the wider are the gaps, and the more depends on a few of them: how right the
    // totals are is shown where they are always the same.
    let requests = 60_000;
    let report = busy(Sampling::OneIn(16.try_into().unwrap()), requests);
    let off = (report.requests as f64 - requests as f64).abs() / requests as f64;
    assert!(off < 0.15, "{} of {requests}", report.requests);
    let report = busy(Sampling::Adaptive, 6_000);
    assert!(report.sampled < report.requests, "{}", report.sampled);
}

#[test]
fn the_weights_of_looks_add_up_however_wide_their_gaps_become() {
    const REQUESTS: u32 = 3_000_000;
    let statistics = StatsCollector::new(StatsOptions::default());
    let stands_for: u32 = std::thread::scope(|scope| {
        let looks = || (0..REQUESTS).filter_map(|_| statistics.sample());
        scope.spawn(move || looks().map(std::num::NonZeroU32::get).sum()).join().unwrap()
    });
    // On the fastest machine there are some ninety gaps, of up to 65,520 requests each: five times what
    // their sum varies by is a third of all.
    let off = f64::from(stands_for.abs_diff(REQUESTS)) / f64::from(REQUESTS);
    assert!(off < 0.4, "{stands_for} of {REQUESTS}");
}

#[test]
fn errors_are_counted_whether_requests_are_sampled_or_not() {
    let observed = Observed::new(Sampling::Adaptive);
    for _ in 0..500 {
        let reply =
            observed.database.call("DynamoDB_20120810.GetItem", br#"{"TableName":"orders"}"#);
        assert_eq!(reply.status, 400);
    }
    let report = observed.report();
    assert_eq!(report.errors.iter().map(|error| error.count).sum::<u64>(), 500);
    assert_eq!(report.errors[0].code, "ValidationException");
}

#[test]
fn what_is_removed_leaves_no_bytes() {
    let observed = Observed::new(Sampling::All);
    observed.put("a", "new", 3000);
    let key = json!({ "PK": { "S": "a" }, "SK": { "S": "A" } });
    let delete = json!([{ "DeleteRequest": { "Key": key } }]);
    observed.call("BatchWriteItem", &json!({ "RequestItems": { "orders": delete } }));
    let report = observed.report();
    let table = report.place("orders", None).unwrap();
    assert!((table.writes - 6.0).abs() < f64::EPSILON, "both are paid for: {}", table.writes);
    assert_eq!((table.sizes.count(), table.keys.first().unwrap().written_bytes), (1, 3019));
    let index = report.place("orders", Some("by_status")).unwrap();
    assert!((index.writes - 6.0).abs() < f64::EPSILON, "{}", index.writes);
    assert_eq!(index.keys.first().unwrap().written_bytes, 3019);
}

#[test]
fn expired_items_are_counted_where_they_are_read_until_they_are_removed() {
    let clock = Arc::new(ManualClock::at_ms(1_700_000_000_000));
    let statistics = Arc::new(StatsCollector::new(StatsOptions {
        sampling: Sampling::All,
        ..StatsOptions::default()
    }));
    let observer = Some(Arc::clone(&statistics) as _);
    let options =
        Options { background: false, observer, clock: clock.clone(), ..Options::default() };
    let observed = Observed { database: Database::memory_with(options), statistics };
    let call = |operation: &str, body: Value| observed.call(operation, &body);
    call(
        "CreateTable",
        json!({
            "TableName": "sessions", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                { "AttributeName": "user", "AttributeType": "S" },
                { "AttributeName": "id", "AttributeType": "S" },
            ],
            "KeySchema": [
                { "AttributeName": "user", "KeyType": "HASH" },
                { "AttributeName": "id", "KeyType": "RANGE" },
            ],
        }),
    );
    let ttl = json!({ "AttributeName": "until", "Enabled": true });
    call("UpdateTimeToLive", json!({ "TableName": "sessions", "TimeToLiveSpecification": ttl }));
    let key = |id: usize| json!({ "user": { "S": "ann" }, "id": { "S": format!("{id:04}") } });
    for id in 0..200 {
        let mut item = key(id);
        item["until"] =
            json!({ "N": (1_700_000_000 + if id % 4 == 0 { 10 } else { 9999 }).to_string() });
        call("PutItem", json!({ "TableName": "sessions", "Item": item }));
    }
    observed.database.run_maintenance().unwrap();
    let read = || {
        call(
            "Query",
            json!({
                "TableName": "sessions", "KeyConditionExpression": "#u = :u",
                "ExpressionAttributeNames": { "#u": "user" },
                "ExpressionAttributeValues": { ":u": { "S": "ann" } },
            }),
        );
        call("GetItem", json!({ "TableName": "sessions", "Key": key(4) }));
        let keys = [key(4), key(5), key(8)];
        call("BatchGetItem", json!({ "RequestItems": { "sessions": { "Keys": keys } } }));
        let get = |id| json!({ "Get": { "TableName": "sessions", "Key": key(id) } });
        call("TransactGetItems", json!({ "TransactItems": [get(4), get(5)] }));
        let report = observed.report();
        let mut all: Vec<(String, u64)> = report
            .patterns()
            .filter(|(_, pattern)| !pattern.operation.starts_with("Put"))
            .map(|(_, pattern)| (pattern.operation.clone(), pattern.expired))
            .collect();
        all.sort();
        all.into_iter().map(|(_, expired)| expired).collect::<Vec<_>>()
    };
    assert_eq!(read(), [0, 0, 0, 0]);
    clock.advance(std::time::Duration::from_mins(1));
    assert_eq!(observed.database.tables()[0].overdue_s, Some(50));
    // Of the 200 rows of a page 64 are sampled.
    let [batch, get, query, transaction] = read()[..] else { panic!() };
    assert_eq!((batch, get, transaction), (2, 1, 1));
    assert!((45..=55).contains(&query), "{query}");
    observed.database.run_maintenance().unwrap();
    assert_eq!(observed.database.tables()[0].overdue_s, None);
    call("GetItem", json!({ "TableName": "sessions", "Key": key(4) }));
    assert_eq!(read(), [2, 1, query, 1]);
}

#[test]
fn vector_indexes_are_watched_by_bytes_and_those_that_nobody_searches_are_named() {
    let statistics = Arc::new(StatsCollector::new(StatsOptions {
        sampling: Sampling::All,
        ..StatsOptions::default()
    }));
    let monitor = Arc::new(
        Monitor::new(Throttle::Enforce { burst_seconds: 1 }).with(Arc::clone(&statistics) as _),
    );
    let observer = Some(Arc::clone(&monitor) as _);
    let options = Options { background: false, observer, ..Options::default() };
    let observed = Observed { database: Database::memory_with(options), statistics };
    let index = |name: &str| {
        json!({
            "IndexName": name, "VectorAttribute": { "AttributeName": "embedding" },
            "Dimensions": 3, "DistanceFunction": "COSINE",
            "Projection": { "ProjectionType": "ALL" },
            "SearchSchema": [{ "AttributeName": "tenant", "SearchSchemaElementType": "HASH" }],
        })
    };
    let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    observed.call(
        "CreateTable",
        &json!({
            "TableName": "docs", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("pk"), attribute("tenant")],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            "VectorIndexes": [index("near"), index("idle")],
        }),
    );
    let number = |number: usize| json!({ "N": number.to_string() });
    for id in 0..300 {
        let tenant = format!("T#{}", id % 3);
        let embedding = json!({ "L": [number(id), number(1), number(2)] });
        let item = json!({ "pk": { "S": id.to_string() }, "tenant": { "S": tenant }, "embedding": embedding });
        observed.call("PutItem", &json!({ "TableName": "docs", "Item": item }));
    }
    for _ in 0..5 {
        observed.call(
            "SearchVectors",
            &json!({
                "TableName": "docs", "IndexName": "near", "TopK": 4,
                "SearchVector": [number(1), number(1), number(2)],
                "SearchConditionExpression": "tenant = :t",
                "ExpressionAttributeValues": { ":t": { "S": "T#1" } },
            }),
        );
    }
    let facts = &observed.database.tables()[0];
    let indexes = facts.indexes.iter().map(|index| IndexFacts {
        name: index.schema.name.to_string(),
        kind: if index.is_vector { Kind::Vector } else { Kind::Global },
        ..IndexFacts::default()
    });
    let indexes = indexes.collect();
    let table = TableFacts { name: facts.name.clone(), indexes, ..TableFacts::default() };
    let report = Report { tables: vec![table], ..observed.report() };
    let near = report.place("docs", Some("near")).unwrap();
    assert_eq!((near.kind, near.reads, near.writes), (Kind::Vector, 0.0, 0.0));
    let [search] = near.patterns.as_slice() else { panic!("{:?}", near.patterns) };
    assert_eq!(search.shape, "SearchVectors tenant = T#…");
    assert_eq!((search.requests, search.scanned, search.returned), (5, 500, 20));
    assert!(search.bytes >= 5 * 1024, "{}", search.bytes);
    assert!(near.distinct_keys > 2.5 && near.requests == 305, "{}", near.requests);
    let prices = Prices::default();
    let found = RecommendationEngine::new(Judge::new(&report, None, &prices)).diagnose();
    let unused: Vec<&str> =
        found.iter().filter(|f| f.id == "unused-index").map(|f| f.place.as_str()).collect();
    assert_eq!(unused, ["docs.idle"]);
    assert!(monitor.partitions().heat("docs", Some("near"), 0).is_none());
}
