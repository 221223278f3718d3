//! Contributor Insights of a real database: what its rules report is what the requests cost.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::insights::{Contributions, InsightSpan, NotCounted, Rank};
use keyloom_engine::{Database, ManualClock, Options};
use keyloom_observe::{Monitor, Redaction, Sampling, StatsCollector, StatsOptions, Throttle};
use keyloom_testkit::lockstep::{START_MS, target};
use serde_json::{Value, json};

const MINUTE_MS: u64 = 60_000;

struct Observed {
    database: Database,
    clock: Arc<ManualClock>,
}

impl Observed {
    /// With a table `orders` (PK, SK) that has an index `by_status` (status) and a local one, `by_time`
    /// (PK, at).
    fn new(throttle: &str, redaction: Redaction) -> Self {
        let clock = Arc::new(ManualClock::at_ms(START_MS));
        // Every request is looked at, so that values are exact.
        let options =
            StatsOptions { sampling: Sampling::All, redaction, ..StatsOptions::default() };
        let monitor = Monitor::new(throttle.parse::<Throttle>().unwrap());
        let monitor = monitor.with(Arc::new(StatsCollector::new(options)));
        let database = Database::memory_with(Options {
            clock: Arc::clone(&clock) as _,
            observer: Some(Arc::new(monitor)),
            background: false,
            ..Options::default()
        });
        let observed = Self { database, clock };
        observed.create("orders");
        observed
    }

    fn create(&self, table: &str) {
        let attributes = ["PK", "SK", "status", "at"]
            .map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let key = |name: &str, role: &str| json!({"AttributeName": name, "KeyType": role});
        self.call(
            "CreateTable",
            &json!({
                "TableName": table, "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": attributes,
                "KeySchema": [key("PK", "HASH"), key("SK", "RANGE")],
                "GlobalSecondaryIndexes": [{
                    "IndexName": "by_status", "KeySchema": [key("status", "HASH")],
                    "Projection": {"ProjectionType": "ALL"},
                }],
                "LocalSecondaryIndexes": [{
                    "IndexName": "by_time", "KeySchema": [key("PK", "HASH"), key("at", "RANGE")],
                    "Projection": {"ProjectionType": "ALL"},
                }],
            }),
        );
    }

    fn try_call(&self, operation: &str, body: &Value) -> (u16, Value) {
        let reply = self.database.call(&target(operation), body.to_string().as_bytes());
        (reply.status, serde_json::from_slice(&reply.body).unwrap())
    }

    fn call(&self, operation: &str, body: &Value) -> Value {
        let (status, reply) = self.try_call(operation, body);
        assert_eq!(status, 200, "{operation}: {reply}");
        reply
    }

    fn insights(&self, index: Option<&str>, action: &str) {
        let mut body = json!({"TableName": "orders", "ContributorInsightsAction": action});
        if let Some(index) = index {
            body["IndexName"] = index.into();
        }
        self.call("UpdateContributorInsights", &body);
    }

    fn put(&self, partition: &str, sort: &str, status: &str, size: usize) -> (u16, Value) {
        let item = json!({"PK": {"S": partition}, "SK": {"S": sort}, "status": {"S": status},
            "text": {"S": "x".repeat(size)}});
        let body =
            json!({"TableName": "orders", "Item": item, "ReturnConsumedCapacity": "INDEXES"});
        self.try_call("PutItem", &body)
    }

    fn rule_names(&self) -> Vec<String> {
        self.database.insight_rules().into_iter().map(|rule| rule.name).collect()
    }

    /// What the first rule of this kind, or of this kind and place, has found.
    fn found(&self, rule: &str) -> Contributions {
        self.report(rule, START_MS - 60 * MINUTE_MS, MINUTE_MS).unwrap()
    }

    fn report(&self, rule: &str, from_ms: u64, period: u64) -> Result<Contributions, NotCounted> {
        let rules = self.database.insight_rules();
        let rule = rules
            .iter()
            .find(|known| known.name.starts_with(&format!("DynamoDBContributorInsights-{rule}-")));
        let until_ms = from_ms + 1000 * 60 * MINUTE_MS;
        let span = InsightSpan { from_ms, until_ms, period_ms: period, rank: Rank::Sum, count: 25 };
        self.database.contributors(rule.unwrap(), span)
    }
}

fn values(found: &Contributions) -> Vec<(&str, f64)> {
    let contributors = found.contributors.iter();
    contributors.map(|one| (one.keys[0].as_str(), one.value)).collect()
}

#[test]
fn values_are_three_times_the_write_units_and_the_read_units() {
    let observed = Observed::new("observe", Redaction::None);
    observed.put("a", "before", "OPEN", 10);
    observed.insights(None, "ENABLE");
    observed.insights(Some("by_status"), "ENABLE");
    let mut truth: HashMap<(String, String), f64> = HashMap::new();
    let mut index_truth: HashMap<String, f64> = HashMap::new();
    for step in 0..400_usize {
        let (partition, sort) =
            (format!("P#{}", step % 4 * (step % 3)), format!("S#{}", step / 3 % 4));
        let units = |answer: &Value, path: &str| {
            answer.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
        };
        let cost = if step % 2 == 0 {
            let status = ["OPEN", "DONE"][step / 2 % 2];
            let (_, answer) = observed.put(&partition, &sort, status, step % 30 * 100);
            // A status that changes is a removal and an addition: two entries of one write.
            let index = "/ConsumedCapacity/GlobalSecondaryIndexes/by_status/CapacityUnits";
            *index_truth.entry("all".into()).or_default() += 3.0 * units(&answer, index);
            3.0 * units(&answer, "/ConsumedCapacity/Table/CapacityUnits")
        } else {
            let key = json!({"PK": {"S": partition}, "SK": {"S": sort}});
            let body = json!({"TableName": "orders", "Key": key, "ConsistentRead": true,
                "ReturnConsumedCapacity": "TOTAL"});
            units(&observed.call("GetItem", &body), "/ConsumedCapacity/CapacityUnits")
        };
        *truth.entry((partition, sort)).or_default() += cost;
        observed.clock.advance(Duration::from_secs(1));
    }
    let mut partitions: HashMap<&str, f64> = HashMap::new();
    for ((partition, _), units) in &truth {
        *partitions.entry(partition).or_default() += units;
    }
    let found = observed.found("PKC");
    assert_eq!(values(&found).into_iter().collect::<HashMap<_, _>>(), partitions);
    assert!(found.contributors.is_sorted_by(|a, b| a.value >= b.value));
    assert!((found.total - truth.values().sum::<f64>()).abs() < 1e-9);
    assert_eq!(found.periods.len(), 7, "400 seconds");
    let items = observed.found("SKC");
    let pair = |keys: &[String]| (keys[0].clone(), keys[1].clone());
    let items: HashMap<_, _> =
        items.contributors.iter().map(|one| (pair(&one.keys), one.value)).collect();
    assert_eq!(items, truth);
    let rules = observed.rule_names();
    assert_eq!(rules.iter().filter(|name| name.contains("orders-by_status")).count(), 2);
    let index = observed.database.insight_rules();
    let index = index.iter().find(|rule| rule.index.is_some()).unwrap();
    let span = InsightSpan {
        from_ms: 0,
        until_ms: u64::MAX,
        period_ms: 60 * MINUTE_MS,
        rank: Rank::Sum,
        count: 1,
    };
    let index = observed.database.contributors(index, span).unwrap();
    assert!((index.total - index_truth["all"]).abs() < 1e-9, "{} {index_truth:?}", index.total);
}

#[test]
fn a_query_counts_for_its_partition_and_for_no_item() {
    let observed = Observed::new("observe", Redaction::None);
    observed.put("a", "1", "OPEN", 10);
    observed.insights(None, "ENABLE");
    observed.call(
        "Query",
        &json!({"TableName": "orders", "KeyConditionExpression": "PK = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}}}),
    );
    observed.call("Scan", &json!({"TableName": "orders"}));
    assert_eq!(values(&observed.found("PKC")), [("a", 0.5)]);
    assert!(observed.found("SKC").contributors.is_empty());
}

#[test]
fn a_local_index_is_a_part_of_its_table() {
    let observed = Observed::new("observe", Redaction::None);
    let put = |sort: &str| {
        let item = json!({"PK": {"S": "a"}, "SK": {"S": sort}, "at": {"S": "noon"}});
        observed.call("PutItem", &json!({"TableName": "orders", "Item": item}));
    };
    put("1");
    observed.insights(None, "ENABLE");
    // Nothing was asked of the table itself yet.
    observed.call(
        "Query",
        &json!({"TableName": "orders", "IndexName": "by_time", "KeyConditionExpression": "PK = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}}}),
    );
    assert_eq!(values(&observed.found("PKC")), [("a", 0.5)]);
    assert!(observed.found("SKC").contributors.is_empty());
    put("2");
    let found = observed.found("PKC");
    assert_eq!(values(&found), [("a", 6.5)], "one unit of the table and one of the index");
    assert_eq!((found.periods[0].samples, found.periods[0].maximum), (2.0, 6.0));
    let items = observed.found("SKC");
    assert_eq!((items.contributors[0].keys[1].as_str(), items.contributors[0].value), ("2", 6.0));
    assert_eq!(items.contributors.len(), 1);

    let both = json!({"PutRequest": {"Item": {"PK": {"S": "a"}, "SK": {"S": "3"},
        "at": {"S": "noon"}, "status": {"S": "OPEN"}}}});
    let other = json!({"PutRequest": {"Item": {"PK": {"S": "a"}, "SK": {"S": "4"}}}});
    observed.call("BatchWriteItem", &json!({"RequestItems": {"orders": [both, other]}}));
    let items = observed.found("SKC");
    let sorts: HashMap<&str, f64> =
        items.contributors.iter().map(|one| (one.keys[1].as_str(), one.value)).collect();
    assert_eq!(sorts, HashMap::from([("2", 6.0), ("3", 6.0), ("4", 3.0)]));

    for operation in ["UpdateContributorInsights", "DescribeContributorInsights"] {
        let answer = |index: &str| {
            let body = json!({"TableName": "orders", "IndexName": index,
                "ContributorInsightsAction": "ENABLE"});
            observed.try_call(operation, &body)
        };
        assert_eq!(answer("by_time"), answer("none"));
        assert_eq!(answer("by_time").0, 400);
    }
}

#[test]
fn another_mode_makes_new_rules_of_units_and_keeps_those_of_refusals() {
    let observed = Observed::new("inject=table=orders:write:every=2", Redaction::None);
    let enable = |mode: &str| {
        let body = json!({"TableName": "orders", "ContributorInsightsAction": "ENABLE",
            "ContributorInsightsMode": mode});
        observed.call("UpdateContributorInsights", &body);
    };
    enable("ACCESSED_AND_THROTTLED_KEYS");
    let statuses: Vec<u16> = (0..40).map(|_| observed.put("a", "1", "OPEN", 10).0).collect();
    let refused = statuses.iter().filter(|status| **status == 400).count() as f64;
    assert!(refused > 0.0);
    let before = observed.rule_names();
    enable("THROTTLED_KEYS");
    enable("ACCESSED_AND_THROTTLED_KEYS");
    let after = observed.rule_names();
    let kept: Vec<_> = before.iter().filter(|name| after.contains(name)).collect();
    assert!(kept.len() == 2 && kept.iter().all(|name| name.contains("T-orders")), "{kept:?}");
    assert!(observed.found("PKC").contributors.is_empty());
    assert_eq!(values(&observed.found("PKT")), [("a", refused)]);
    let (status, _) = observed.try_call(
        "GetItem",
        &json!({"TableName": "orders", "Key": {"PK": {"S": "a"}, "SK": {"S": "1"}}}),
    );
    assert_eq!(status, 200);
    assert_eq!(values(&observed.found("PKC")), [("a", 0.5)]);
    assert_eq!(values(&observed.found("PKT")), [("a", refused)]);
}

#[test]
fn refusals_are_counted_by_key_and_only_the_tables_own() {
    let observed = Observed::new("inject=table=orders:write:every=2", Redaction::None);
    observed.insights(None, "ENABLE");
    let statuses: Vec<u16> =
        (0..40).map(|turn| observed.put(["a", "b"][turn / 30], "1", "OPEN", 10).0).collect();
    let refused = |range: &[u16]| range.iter().filter(|status| **status == 400).count() as f64;
    assert!(refused(&statuses) >= 10.0);
    let expected = [("a", refused(&statuses[..30])), ("b", refused(&statuses[30..]))];
    assert_eq!(values(&observed.found("PKT")), expected);
    assert_eq!(values(&observed.found("SKT")), expected);
    // What was refused took nothing.
    let taken = 40.0 - refused(&statuses);
    assert!((observed.found("PKC").total - 3.0 * taken).abs() < 1e-9);

    let observed = Observed::new("inject=index=by_status:write:every=2", Redaction::None);
    observed.insights(None, "ENABLE");
    observed.insights(Some("by_status"), "ENABLE");
    let refused =
        (0..20).filter(|turn| observed.put("a", &turn.to_string(), "OPEN", 10).0 == 400).count();
    assert!(refused > 0);
    for rule in ["PKT-orders", "PKT-orders-by_status"] {
        assert!(observed.found(rule).contributors.is_empty(), "{rule}");
    }
}

#[test]
fn a_rule_that_was_disabled_is_gone_and_a_new_one_begins_anew() {
    let observed = Observed::new("observe", Redaction::None);
    observed.insights(None, "ENABLE");
    observed.put("a", "1", "OPEN", 10);
    // In the same minute, even in the same millisecond, and before anybody has come.
    for advance in [0, 1, 120_000] {
        let before = observed.rule_names();
        observed.clock.advance(Duration::from_millis(advance));
        observed.insights(None, "DISABLE");
        assert!(observed.rule_names().is_empty());
        observed.clock.advance(Duration::from_millis(advance));
        observed.insights(None, "ENABLE");
        assert!(observed.rule_names().iter().all(|name| !before.contains(name)), "{before:?}");
        assert!(observed.found("PKC").contributors.is_empty(), "nothing of the old rule");
        observed.put("b", "1", "OPEN", 10);
        assert_eq!(values(&observed.found("PKC")), [("b", 3.0)]);
    }
    // The same for a table of the same name.
    observed.call("DeleteTable", &json!({"TableName": "orders"}));
    assert!(observed.rule_names().is_empty());
    observed.create("orders");
    observed.insights(None, "ENABLE");
    assert!(observed.found("PKC").contributors.is_empty());
}

#[test]
fn keys_are_hidden_where_they_are_to_be() {
    let observed = Observed::new("observe", Redaction::Prefix);
    observed.insights(None, "ENABLE");
    observed.put("USER#ann", "ORDER#7", "OPEN", 10);
    assert_eq!(observed.found("SKC").contributors[0].keys, ["USER#…", "ORDER#…"]);

    // By their hashes they can still be told apart.
    let observed = Observed::new("observe", Redaction::Hash);
    observed.insights(None, "ENABLE");
    for user in ["ann", "ben", "ben"] {
        observed.put(&format!("USER#{user}"), "ORDER#7", "OPEN", 10);
    }
    let found = observed.found("SKC");
    let keys: Vec<&[String]> = found.contributors.iter().map(|one| &one.keys[..]).collect();
    let [[ben, order], [ann, same]] = keys[..] else { panic!("{keys:?}") };
    assert_eq!(
        (ben, order),
        (&Redaction::Hash.apply("USER#ben"), &Redaction::Hash.apply("ORDER#7"))
    );
    assert_eq!((ann, same), (&Redaction::Hash.apply("USER#ann"), order));
    assert!(ben.starts_with("USER#…") && ben.len() > "USER#…".len() && ann != ben, "{ann} {ben}");
}

#[test]
fn without_statistics_there_is_a_reason() {
    let mut observed = Observed::new("observe", Redaction::None);
    observed.database = Database::memory();
    observed.create("orders");
    observed.insights(None, "ENABLE");
    assert_eq!(observed.report("PKC", 0, MINUTE_MS), Err(NotCounted::Nobody));
}

#[test]
fn a_table_beyond_those_that_are_counted_is_not_called_idle() {
    let observed = Observed::new("observe", Redaction::None);
    for number in 0..33 {
        let table = format!("other{number}");
        observed.create(&table);
        for index in [Value::Null, "by_status".into()] {
            let body = json!({"TableName": table, "IndexName": index,
                "ContributorInsightsAction": "ENABLE"});
            observed.call("UpdateContributorInsights", &body);
        }
        let item = json!({"PK": {"S": "a"}, "SK": {"S": "b"}, "status": {"S": "c"}});
        observed.call("PutItem", &json!({"TableName": table, "Item": item}));
    }
    observed.insights(None, "ENABLE");
    observed.put("a", "1", "OPEN", 10);
    assert_eq!(observed.report("PKC", 0, MINUTE_MS), Err(NotCounted::TooManyPlaces));
}
