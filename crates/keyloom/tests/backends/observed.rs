//! What a client tells its observer agrees with what the server tells its own, as far as answers state it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom::designs::cost::Prices;
use keyloom::observe::report::{Pattern, PlaceReport};
use keyloom::observe::{
    Confidence, Finding, Judge, Monitor, RecommendationEngine, Report, Sampling, Severity,
    StatsCollector, StatsOptions, Throttle,
};
use keyloom::prelude::*;
use keyloom::{Backend, ItemKey, Op, Options, Retry, TableClient, Update, item};
use keyloom_engine::{Clock, ManualClock, SystemClock};
use keyloom_server::{Config, RunningServer, Server};

use crate::endpoint::{self, Independent};
use crate::model::*;
use crate::suite;

/// A server and a client that both count.
pub(crate) struct Both {
    server: RunningServer,
    there: Arc<StatsCollector>,
    pub(crate) here: Arc<StatsCollector>,
    bodies: Arc<Mutex<Vec<(String, String)>>>,
    pub(crate) remote: Remote,
}

/// A database that keeps what it is asked, and says nothing of its tables if it is told so.
struct Recorded {
    database: Database,
    is_silent: bool,
    bodies: Arc<Mutex<Vec<(String, String)>>>,
}

impl keyloom_server::Backend for Recorded {
    fn call(&self, target: &str, body: &[u8]) -> keyloom_engine::Reply {
        let body_text = String::from_utf8_lossy(body).into_owned();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        self.bodies.lock().unwrap().push((operation, body_text));
        if self.is_silent && target.contains(".Describe") {
            let body = br#"{"__type":"x#AccessDeniedException","message":"no"}"#.to_vec();
            return keyloom_engine::Reply { status: 400, body };
        }
        self.database.call(target, body)
    }
}

fn collector(sampling: Sampling) -> Arc<StatsCollector> {
    Arc::new(StatsCollector::new(StatsOptions { sampling, ..StatsOptions::default() }))
}

impl Both {
    pub(crate) fn new(throttle: &str) -> Self {
        Self::sampled(throttle, Sampling::All)
    }

    fn sampled(throttle: &str, sampling: Sampling) -> Self {
        Self::serving(throttle, sampling, false)
    }

    fn serving(throttle: &str, sampling: Sampling, is_silent: bool) -> Self {
        Self::timed(throttle, sampling, is_silent, Arc::new(SystemClock))
    }

    fn timed(throttle: &str, sampling: Sampling, is_silent: bool, clock: Arc<dyn Clock>) -> Self {
        let there = collector(Sampling::All);
        let monitor = Monitor::new(throttle.parse::<Throttle>().unwrap()).with(there.clone());
        let observer = Some(Arc::new(monitor) as _);
        let options = Options { background: false, observer, clock, ..Options::default() };
        let database = Database::memory_with(options);
        let bodies = Arc::default();
        let recorded = Recorded { database, is_silent, bodies: Arc::clone(&bodies) };
        let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
        let server = Server::start(config, recorded).unwrap();
        let here = collector(sampling);
        let endpoint = Endpoint::url(server.url()).observer(here.clone());
        Self { remote: Remote::new(endpoint).unwrap(), server, there, here, bodies }
    }

    fn suite(&self) -> Table<Suite> {
        let table = Suite::open(self.remote.clone()).unwrap();
        let design = std::slice::from_ref(table.design().unwrap());
        self.here.load_designs(design);
        self.there.load_designs(design);
        table.create_tables().unwrap();
        table.with_retry(Retry { base: Duration::from_millis(1), ..Retry::default() })
    }

    /// What the client knows and what the server knows.
    pub(crate) fn reports(self) -> (Report, Report) {
        let here = Backend::from(self.remote).report(&self.here);
        self.server.shutdown();
        (here, self.there.snapshot())
    }
}

pub(crate) fn units(place: &PlaceReport) -> BTreeMap<&str, (f64, f64, u64)> {
    place.keys.iter().map(|key| (key.key.as_str(), (key.reads, key.writes, key.requests))).collect()
}

/// What both sides can know of a pattern. No answer states what a failed condition cost.
fn counts(pattern: &Pattern) -> [u64; 12] {
    let writes = if pattern.condition_failed > 0 { 0.0 } else { pattern.writes };
    [
        pattern.requests,
        (pattern.reads * 2.0) as u64,
        (writes * 2.0) as u64,
        pattern.scanned,
        pattern.returned,
        pattern.empty,
        pattern.condition_failed,
        pattern.throttled,
        pattern.projected,
        pattern.consistent,
        pattern.filtered,
        pattern.continued,
    ]
}

pub(crate) fn patterns(report: &Report) -> BTreeMap<(String, String, String), [u64; 12]> {
    let all = report.patterns().map(|(place, pattern)| {
        ((place.name(), pattern.operation.clone(), pattern.label().to_owned()), counts(pattern))
    });
    all.collect()
}

#[test]
fn the_whole_suite_is_counted_alike_on_both_sides() {
    let both = Both::new("observe");
    // Without the transaction that is sent twice under one token: the server does nothing for it, but it costs reads.
    suite::run(&both.suite(), suite::Can::NoTokens);
    let (here, there) = both.reports();
    assert_eq!(patterns(&here), patterns(&there));
    let (mine, theirs) = (here.place("suite", None).unwrap(), there.place("suite", None).unwrap());
    assert!(mine.keys.len() > 20);
    assert_eq!(mine.keys.len(), theirs.keys.len());
    for (key, (reads, writes, requests)) in units(mine) {
        let known = units(theirs)[key];
        assert_eq!((reads, requests), (known.0, known.2), "{key}");
        // The server knows what failed conditions cost.
        assert!(writes <= known.1, "{key}");
    }
    for index in ["GSI1", "GSI2"] {
        let (mine, theirs) =
            (here.place("suite", Some(index)).unwrap(), there.place("suite", Some(index)).unwrap());
        assert_eq!((mine.reads, mine.writes), (theirs.reads, theirs.writes), "{index}");
        // The keys of entries that were written are known to the server alone.
        for (key, (reads, writes, _)) in units(mine) {
            assert_eq!((reads, writes), (units(theirs)[key].0, 0.0), "{index} {key}");
        }
    }
    assert_eq!(here.requests, there.requests);
    assert_eq!(here.errors, there.errors);
    assert_eq!(here.tables.len(), 1);
    assert_eq!(here.tables[0].indexes.len(), 2);
}

#[test]
fn a_skewed_load_is_judged_from_the_client_as_from_the_server() {
    let both = Both::new("observe");
    let table = both.suite();
    for step in 0..1500_u32 {
        // A Zipf of sorts: project 0 has half of it, project 1 a quarter, and so on.
        let project = format!("{}", (step + 1).trailing_zeros());
        let task = Task { number: step, ..suite::task(&project, step) };
        table.put(&task).unwrap();
        if step % 3 == 0 {
            table.get(task.key()).unwrap();
        }
    }
    let (here, there) = both.reports();
    let heaviest = |report: &Report| -> Vec<(String, f64, f64)> {
        let keys = &report.place("suite", None).unwrap().keys;
        keys.iter().take(10).map(|key| (key.key.clone(), key.load, key.error)).collect()
    };
    assert_eq!(heaviest(&here), heaviest(&there));
    assert_eq!(heaviest(&here)[0].0, "PROJECT#0");
    assert!(findings(&here).iter().any(|id| id == "low-cardinality"));
    assert_eq!(findings(&here), findings(&there));
    // Whether others read an index is more than one program can know, however long it observes.
    let long = Report { since_ms: here.since_ms - 60 * 86_400_000, ..here };
    let unused: Vec<Finding> =
        diagnosed(&long).into_iter().filter(|found| found.id == "unused-index").collect();
    assert_eq!(unused.len(), 2, "{unused:?}");
    for found in unused {
        assert_eq!((found.severity, found.confidence), (Severity::Info, Confidence::Low));
        assert!(found.title.starts_with("this program never read GSI"), "{}", found.title);
        assert_eq!(found.diff, None);
    }
}

/// What the doctor would say of a recording.
fn diagnosed(report: &Report) -> Vec<Finding> {
    let report = Report::from_json(&report.to_json()).unwrap();
    let (prices, design) = (Prices::default(), Suite::model().as_ref().unwrap().design());
    RecommendationEngine::new(Judge::new(&report, Some(design), &prices)).diagnose()
}

/// The same, but for what depends on threads and times, and on what others do; as if all had happened within two seconds,
/// however long the machine took for it.
fn findings(report: &Report) -> Vec<String> {
    let mut report = report.clone();
    for place in &mut report.places {
        (place.peak_reads, place.peak_writes) = (place.reads / 2.0, place.writes / 2.0);
        for key in &mut place.keys {
            (key.peak_reads, key.peak_writes) = (key.reads / 2.0, key.writes / 2.0);
        }
    }
    let mut ids: Vec<String> = diagnosed(&report).into_iter().map(|found| found.id).collect();
    ids.retain(|id| !["slow-requests", "unused-index", "batch-opportunity"].contains(&id.as_str()));
    ids.sort_unstable();
    ids
}

#[test]
fn refusals_have_their_reasons_and_repeated_requests_are_counted() {
    let both =
        Both::new("inject=table=suite:write:every=3,table=suite:read:every=5:reason=provisioned");
    let table = both.suite();
    for number in 0..60 {
        let task = suite::task("slow", number);
        table.put(&task).unwrap();
        assert_eq!(table.get(task.key()).unwrap(), Some(task));
    }
    let found = table.query(TasksInProject { project_id: "slow".into() }).collect().unwrap();
    assert_eq!(found.len(), 60);
    let (here, there) = both.reports();
    let throttled = |report: &Report| report.place("suite", None).unwrap().throttled.clone();
    assert_eq!(throttled(&here), throttled(&there));
    assert!(throttled(&here)["TableWriteKeyRangeThroughputExceeded"] >= 10);
    assert!(throttled(&here)["TableReadProvisionedThroughputExceeded"] >= 8);
    let key = |report: &Report| report.place("suite", None).unwrap().keys[0].clone();
    assert_eq!(key(&here).throttled, key(&there).throttled);
    assert!(findings(&here).iter().any(|id| id == "hot-partition"), "{:?}", findings(&here));
    assert!(findings(&here).iter().any(|id| id == "retry-storm"), "{:?}", findings(&here));
    assert_eq!(findings(&here), findings(&there));
    let retries: u64 = here.patterns().map(|(_, pattern)| pattern.retries).sum();
    assert_eq!(retries, throttled(&here).values().sum::<u64>());
    assert!(there.patterns().all(|(_, pattern)| pattern.retries == 0));
}

#[test]
fn what_a_partition_really_refuses_is_told_to_the_client_with_its_key() {
    // Time stands still there, so no capacity comes back however long the puts take.
    let clock = Arc::new(ManualClock::at_ms(1_794_700_800_000));
    let both = Both::timed("enforce:burst=1", Sampling::All, false, clock);
    let client = TableClient::new(both.remote.clone(), "hot").with_retry(Retry::never());
    client.create().unwrap();
    // Items of 100 KB: ten of them are what a partition takes in a second.
    let text = "x".repeat(100 * 1024);
    let puts = (0..40).map(|number| {
        client.put(item! { "pk" => "A#1", "sk" => format!("{number}"), "text" => text.clone() })
    });
    let refused = puts.filter(Result::is_err).count() as u64;
    assert!(refused > 5, "{refused}");
    let (here, there) = both.reports();
    for report in [&here, &there] {
        let table = report.place("hot", None).unwrap();
        assert_eq!(table.throttled["TableWriteKeyRangeThroughputExceeded"], refused);
        assert_eq!((table.keys[0].key.as_str(), table.keys[0].throttled), ("A#1", refused));
    }
    assert_eq!(patterns(&here), patterns(&there));
    assert!(findings(&here).iter().any(|id| id == "hot-partition"));
}

#[test]
fn where_tables_may_not_be_described_requests_are_counted_all_the_same() {
    let both = Both::serving("observe", Sampling::All, true);
    let client = TableClient::new(both.remote.clone(), "secret");
    let key =
        r#"[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]"#;
    let names = r#"[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]"#;
    let create = format!(
        r#"{{"TableName":"secret","BillingMode":"PAY_PER_REQUEST","KeySchema":{key},"AttributeDefinitions":{names}}}"#
    );
    client.call("CreateTable", &create).unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "B" }).unwrap();
    assert_eq!(client.query("A#1").collect().unwrap().len(), 1);
    assert_eq!(client.batch_get([("A#1", "B")]).unwrap().len(), 1);
    let select = r#"{"Statement":"SELECT * FROM secret WHERE pk = 'A#1' AND sk = 'B'"}"#;
    client.call("ExecuteStatement", select).unwrap();
    client.call("BatchExecuteStatement", &format!(r#"{{"Statements":[{select}]}}"#)).unwrap();
    let report = both.here.snapshot();
    assert_eq!((report.requests, report.places.len()), (5, 0));
    assert!(report.errors.is_empty(), "the program asked for none of them: {:?}", report.errors);
    let bodies = both.bodies.lock().unwrap();
    // Once in ten seconds: on a machine that stalls perhaps more often.
    assert!(bodies.iter().any(|(operation, _)| operation == "DescribeTable"));
    drop(bodies);
    both.server.shutdown();
}

#[test]
fn an_endpoint_that_is_gone_is_not_asked_for_its_tables() {
    let both = Both::new("observe");
    let client = TableClient::new(both.remote.clone(), "gone").with_retry(Retry::never());
    client.create().unwrap();
    client.get(("A#1", "B")).unwrap();
    both.server.shutdown();
    client.get(("A#1", "B")).unwrap_err();
    client.query("A#1").collect().unwrap_err();
    let report = both.here.snapshot();
    let failed: Vec<(&str, u64)> = report
        .patterns()
        .map(|(_, pattern)| (pattern.operation.as_str(), pattern.failed))
        .collect();
    assert_eq!(failed, [("GetItem", 1), ("Query", 1)]);
    assert!(report.errors.iter().all(|error| error.operation != "DescribeTable"));
}

#[test]
fn an_index_that_refuses_is_named() {
    let both = Both::new("inject=index=GSI1:write:first=3");
    let table = both.suite();
    let due = Some(Timestamp::from_secs(1_000));
    table.put(&Task { due, ..suite::task("p", 1) }).unwrap();
    let (here, there) = both.reports();
    for report in [&here, &there] {
        let index = report.place("suite", Some("GSI1")).unwrap();
        assert_eq!(index.throttled["IndexWriteKeyRangeThroughputExceeded"], 3);
        assert!(report.place("suite", None).unwrap().throttled.is_empty());
    }
}

#[test]
fn what_a_batch_leaves_counts_as_refused_though_nobody_says_why() {
    let both = Both::new("inject=table=suite:every=3");
    let table = both.suite();
    let tasks: Vec<Task> = (0..60).map(|number| suite::task("batch", number)).collect();
    table.batch().put_all(&tasks).run().unwrap();
    let found = table.get_many(tasks.iter().map(Entity::key)).unwrap();
    assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), tasks);
    let bodies = both.bodies.lock().unwrap();
    let sent = bodies.iter().filter(|(operation, _)| operation == "BatchGetItem").count() as u64;
    drop(bodies);
    let (here, there) = both.reports();
    // The first request has all 60 keys and leaves every third; each later one is a retry, and so is what it leaves.
    let gets = here.patterns().filter(|(_, one)| one.operation == "BatchGetItem");
    let (throttled, retries) =
        gets.fold((0, 0), |sum, (_, one)| (sum.0 + one.throttled, sum.1 + one.retries));
    assert_eq!(retries, sent - 1 + throttled - 20);
    assert!(sent > 2 && there.patterns().all(|(_, one)| one.retries == 0));
    let (mine, theirs) = (here.place("suite", None).unwrap(), there.place("suite", None).unwrap());
    assert_eq!((mine.reads, mine.writes), (theirs.reads, theirs.writes));
    let sum = |place: &PlaceReport| place.throttled.values().sum::<u64>();
    assert_eq!(sum(mine), sum(theirs));
    assert!(mine.throttled["TableWriteThroughputExceeded"] >= 20, "{:?}", mine.throttled);
    assert!(mine.throttled["TableReadThroughputExceeded"] >= 20, "{:?}", mine.throttled);
}

/// More than the widest gap between two runs of samples of one request in eight, which is 112: some of so many requests are
/// sampled, whatever the random gaps are.
const SOME_SAMPLED: usize = 256;

#[test]
fn only_sampled_requests_ask_what_they_cost() {
    let asking = |both: Both| {
        let client = TableClient::new(both.remote.clone(), "plain");
        client.create().unwrap();
        for turn in 0..SOME_SAMPLED {
            client.put(item! { "pk" => format!("A#{turn}"), "sk" => "B" }).unwrap();
        }
        let bodies = both.bodies.lock().unwrap();
        let puts = bodies.iter().filter(|(operation, _)| operation == "PutItem");
        puts.filter(|(_, body)| body.contains("ReturnConsumedCapacity")).count()
    };
    let transactions = Both::sampled("observe", Sampling::OneIn(8.try_into().unwrap()));
    let client = TableClient::new(transactions.remote.clone(), "plain");
    client.create().unwrap();
    for turn in 0..32 {
        let put = item! { "pk" => format!("A#{turn}"), "sk" => "B" };
        client.transaction().put(put).token(format!("token-{turn}")).commit().unwrap();
    }
    // What is sent again under its token must be the same, whichever attempt is sampled.
    let bodies = transactions.bodies.lock().unwrap();
    let mut sent = bodies.iter().filter(|(operation, _)| operation == "TransactWriteItems");
    assert!(sent.all(|(_, body)| body.contains("ReturnConsumedCapacity")));
    drop(bodies);
    assert_eq!(asking(Both::new("observe")), SOME_SAMPLED);
    let some = asking(Both::sampled("observe", Sampling::OneIn(8.try_into().unwrap())));
    assert!((1..SOME_SAMPLED).contains(&some), "{some}");
    let mut unobserved = Both::new("observe");
    unobserved.remote = Remote::new(Endpoint::url(unobserved.server.url())).unwrap();
    let (bodies, report) = (Arc::clone(&unobserved.bodies), Arc::clone(&unobserved.here));
    assert_eq!(asking(unobserved), 0);
    assert_eq!(report.snapshot().requests, 0);
    let described = |(operation, _): &&(String, String)| operation == "DescribeTable";
    assert!(bodies.lock().unwrap().iter().filter(described).count() <= 2, "only by `create`");
}

#[test]
fn a_dropped_table_is_forgotten_and_a_missing_one_is_an_error() {
    let both = Both::new("observe");
    let client = TableClient::new(both.remote.clone(), "short").with_index("by_g", ["g"], ["pk"]);
    client.create().unwrap();
    let key = ItemKey::pair("A#1", "B");
    client.put(item! { "pk" => "A#1", "sk" => "B", "g" => "X#1" }).unwrap();
    client.update(key.clone(), Update::new().set("g", "X#2")).unwrap();
    assert_eq!(client.query("X#2").index("by_g").collect().unwrap().len(), 1);
    let report = both.here.snapshot();
    let keys = units(report.place("short", Some("by_g")).unwrap());
    assert_eq!(keys.keys().copied().collect::<Vec<_>>(), ["X#2"], "only what was asked for");
    client.drop_table().unwrap();
    assert!(both.here.snapshot().places.is_empty());
    client.get(key).unwrap_err();
    let (here, there) = both.reports();
    let missing = |report: &Report| {
        let gets = report.errors.iter().filter(|error| error.operation == "GetItem");
        gets.map(|error| (error.code.clone(), error.count)).collect::<Vec<_>>()
    };
    assert_eq!(missing(&here), [("ResourceNotFoundException".to_owned(), 1)]);
    assert_eq!(missing(&here), missing(&there));
}

#[test]
fn a_removed_index_is_forgotten_and_a_table_has_one_name() {
    let both = Both::new("observe");
    let client = TableClient::new(both.remote.clone(), "named").with_index("by_g", ["g"], ["pk"]);
    client.create().unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "B", "g" => "X#1" }).unwrap();
    let described = client.call("DescribeTable", r#"{"TableName":"named"}"#).unwrap();
    let (_, rest) = described.split_once(r#""TableArn":""#).unwrap();
    let arn = rest.split_once('"').unwrap().0;
    let key = r#"{"pk":{"S":"A#1"},"sk":{"S":"B"}}"#;
    client.call("GetItem", &format!(r#"{{"TableName":"{arn}","Key":{key}}}"#)).unwrap();
    assert!(both.here.snapshot().place("named", Some("by_g")).is_some());
    let update =
        r#"{"TableName":"named","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by_g"}}]}"#;
    client.call("UpdateTable", update).unwrap();
    assert!(both.here.snapshot().place("named", Some("by_g")).is_none());
    for name in ["named", arn] {
        client.call("GetItem", &format!(r#"{{"TableName":"{name}","Key":{key}}}"#)).unwrap();
    }
    let (here, _) = both.reports();
    let names: Vec<&str> = here.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["named"]);
}

#[test]
fn a_check_writes_no_index() {
    let both = Both::new("observe");
    let client = TableClient::new(both.remote.clone(), "check").with_index("by_sk", ["sk"], ["pk"]);
    client.create().unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "S#1" }).unwrap();
    let put = item! { "pk" => "A#2", "sk" => "S#2" };
    client.transaction().check(("A#1", "S#1"), ("pk", Op::Exists)).put(put).commit().unwrap();
    let (here, there) = both.reports();
    let place = |report: &Report| report.place("check", None).unwrap().clone();
    assert_eq!(units(&place(&here)), units(&place(&there)));
    let entries = |report: &Report| report.place("check", Some("by_sk")).unwrap().writes;
    assert_eq!((entries(&here), entries(&there)), (2.0, 2.0));
}

#[test]
fn what_is_stated_and_refused_counts_with_its_key() {
    let both = Both::new("inject=table=stated:read:every=1");
    let client = TableClient::new(both.remote.clone(), "stated").with_retry(Retry::never());
    client.create().unwrap();
    let query = r#"{"TableName":"stated","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"A#1"}}}"#;
    client.call("Query", query).unwrap_err();
    client.call("Query", r#"{"TableName":"stated","KeyConditionExpression":"??"}"#).unwrap_err();
    let (here, there) = both.reports();
    for report in [&here, &there] {
        let table = report.place("stated", None).unwrap();
        assert_eq!(table.throttled["TableReadKeyRangeThroughputExceeded"], 1);
        assert_eq!((table.keys[0].key.as_str(), table.keys[0].throttled), ("A#1", 1));
    }
    let codes = |report: &Report| -> Vec<(String, String, u64)> {
        let errors = report.errors.iter();
        errors.map(|one| (one.operation.clone(), one.code.clone(), one.count)).collect()
    };
    assert_eq!(codes(&here), codes(&there));
    assert_eq!(here.errors.len(), 1);
}

/// An implementation that is not ours states what requests cost, too.
#[test]
fn dynalite_is_observed() {
    let server = match Independent::Dynalite.start() {
        Ok(server) => server,
        Err(why) => {
            let demanded = std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_some();
            assert!(!demanded, "{why}, and KEYLOOM_REQUIRE_CLIENTS demands it");
            return endpoint::say_skipped(&why);
        }
    };
    let here = collector(Sampling::All);
    let remote = Remote::new(Endpoint::url(server.url()).observer(here.clone())).unwrap();
    let table = Suite::open(remote).unwrap();
    table.create_tables().unwrap();
    suite::run(&table, suite::Can::NoTransactions);
    let report = here.snapshot();
    let place = report.place("suite", None).unwrap();
    assert!(place.reads > 10.0 && place.writes > 100.0, "{} {}", place.reads, place.writes);
    assert!(place.keys.iter().any(|key| key.key == "PROJECT#batch" && key.writes >= 500.0));
    // It does not say what writes cost the indexes.
    assert!(report.place("suite", Some("GSI1")).is_some_and(|index| index.reads > 0.0));
}
