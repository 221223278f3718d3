//! An endpoint that states numbers which cannot be true: nothing panics, hangs or grows, and what is said of requests stays
//! within reason.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use keyloom::designs::cost::Prices;
use keyloom::observe::{
    Judge, Monitor, RecommendationEngine, Report, Sampling, StatsCollector, StatsOptions, Throttle,
};
use keyloom::prelude::*;
use keyloom::{Backend, Retry, TableClient, Update, item};
use keyloom_engine::{Clock, Reply, SystemClock};
use keyloom_server::{Config, Server};

/// Wherever an answer has a number, it is this one.
#[derive(Clone, Default)]
struct Absurd {
    number: Arc<Mutex<&'static str>>,
}

const ITEM: &str = r#"{"pk":{"S":"A#1"},"sk":{"S":"B"},"g":{"S":"G#1"}}"#;

impl keyloom_server::Backend for Absurd {
    fn call(&self, target: &str, _body: &[u8]) -> Reply {
        let number = *self.number.lock().unwrap();
        let arm = r#""CapacityUnits":N,"ReadCapacityUnits":N,"WriteCapacityUnits":N"#;
        let account = format!(
            r#"{{"TableName":"absurd",{arm},"VectorSearchRequestBytes":N,"Table":{{{arm}}},"LocalSecondaryIndexes":{{"l":{{{arm}}}}},"GlobalSecondaryIndexes":{{"g":{{{arm}}}}},"VectorIndexes":{{"v":{{"VectorWriteRequestBytes":N}}}}}}"#
        );
        let one = format!(r#""ConsumedCapacity":{account}"#);
        let many = format!(r#""ConsumedCapacity":[{account}]"#);
        let body = match target.rsplit('.').next().unwrap_or_default() {
            "DescribeTable" => description(),
            "DescribeTimeToLive" => {
                r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"until"}}"#.into()
            }
            "GetItem" => format!(r#"{{"Item":{ITEM},{one}}}"#),
            "Query" | "Scan" => {
                format!(r#"{{"Items":[{ITEM}],"Count":N,"ScannedCount":N,{one}}}"#)
            }
            "ExecuteStatement" => format!(r#"{{"Items":[{ITEM}],{one}}}"#),
            "BatchGetItem" => format!(
                r#"{{"Responses":{{"absurd":[{ITEM}]}},"UnprocessedKeys":{{}},{many}}}"#
            ),
            "BatchExecuteStatement" => {
                let failed = r#"{"Error":{"Code":"ConditionalCheckFailed","Message":"no"}}"#;
                format!(r#"{{"Responses":[{{"Item":{ITEM}}},{failed}],{many}}}"#)
            }
            "BatchWriteItem" => format!(r#"{{"UnprocessedItems":{{}},{many}}}"#),
            "TransactWriteItems" => format!("{{{many}}}"),
            "SearchVectors" => format!(r#"{{"SearchResults":[{{"Score":N}}],{one}}}"#),
            _ => format!("{{{one}}}"),
        };
        // No name in these answers has this letter beside a colon.
        Reply { status: 200, body: body.replace(":N", &format!(":{number}")).into_bytes() }
    }
}

fn description() -> String {
    let attributes = ["pk", "sk", "g", "at"]
        .map(|name| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#))
        .join(",");
    let key = |hash: &str, range: &str| {
        format!(
            r#""KeySchema":[{{"AttributeName":"{hash}","KeyType":"HASH"}},{{"AttributeName":"{range}","KeyType":"RANGE"}}]"#
        )
    };
    let size = r#""IndexSizeBytes":N,"ItemCount":N"#;
    let limits = r#""ProvisionedThroughput":{"ReadCapacityUnits":N,"WriteCapacityUnits":N},"OnDemandThroughput":{"MaxReadRequestUnits":N,"MaxWriteRequestUnits":N},"WarmThroughput":{"ReadUnitsPerSecond":N,"WriteUnitsPerSecond":N}"#;
    let local = format!(r#"{{"IndexName":"l",{},{size}}}"#, key("pk", "at"));
    let global = format!(r#"{{"IndexName":"g",{},{size},{limits}}}"#, key("g", "pk"));
    let vector = format!(
        r#"{{"IndexName":"v","VectorAttribute":{{"AttributeName":"vector"}},"Dimensions":N,"DistanceFunction":"EUCLIDEAN",{size}}}"#
    );
    format!(
        r#"{{"Table":{{"TableName":"absurd","TableStatus":"ACTIVE","CreationDateTime":N,"TableSizeBytes":N,"ItemCount":N,"AttributeDefinitions":[{attributes}],{},{limits},"LocalSecondaryIndexes":[{local}],"GlobalSecondaryIndexes":[{global}],"VectorIndexes":[{vector}]}}}}"#,
        key("pk", "sk")
    )
}

/// Every kind of request whose answer states a number.
fn ask_everything(client: &TableClient) {
    let long = item! { "pk" => "A#1", "sk" => "B", "g" => "G#1", "text" => "x".repeat(3000) };
    client.put(long.clone()).unwrap();
    client.get(("A#1", "B")).unwrap();
    client.update(("A#1", "B"), Update::new().set("g", "G#2")).unwrap();
    client.delete(("A#1", "B")).unwrap();
    assert_eq!(client.query("A#1").collect().unwrap().len(), 1);
    client.query("A#1").count().unwrap();
    client.query("G#1").index("g").collect().unwrap();
    client.scan().collect().unwrap();
    client.batch_get([("A#1", "B"), ("A#2", "B")]).unwrap();
    client.transaction().put(long).delete(("A#2", "B")).commit().unwrap();
    let statement = r#"{"Statement":"SELECT * FROM absurd WHERE pk = 'A#1' AND sk = 'B'"}"#;
    let delete = r#"{"Statement":"DELETE FROM absurd WHERE pk = 'A#1' AND sk = 'C'"}"#;
    let ranges = r#"{"Statement":"SELECT * FROM absurd WHERE pk IN ['A#1', 'A#2']"}"#;
    let search =
        r#"{"TableName":"absurd","IndexName":"v","SearchVector":[{"N":"1"},{"N":"2"}],"TopK":5}"#;
    for (operation, body) in [
        ("ExecuteStatement", statement),
        ("ExecuteStatement", ranges),
        ("BatchExecuteStatement", &format!(r#"{{"Statements":[{statement},{delete}]}}"#)),
        ("SearchVectors", search),
        (
            "BatchWriteItem",
            &format!(
                r#"{{"RequestItems":{{"absurd":[{{"PutRequest":{{"Item":{ITEM}}}}},{{"DeleteRequest":{{"Key":{{"pk":{{"S":"A#1"}},"sk":{{"S":"C"}}}}}}}}]}}}}"#
            ),
        ),
    ] {
        client.call(operation, body).unwrap();
    }
}

/// What is counted where every number is this one.
fn counted(url: &str) -> (Report, usize) {
    let options = StatsOptions { sampling: Sampling::All, ..StatsOptions::default() };
    let statistics = Arc::new(StatsCollector::new(options));
    let monitor = Arc::new(Monitor::new(Throttle::Observe).with(statistics.clone()));
    let remote = Remote::new(Endpoint::url(url).observer(monitor.clone())).unwrap();
    let client = TableClient::new(remote.clone(), "absurd").with_retry(Retry::never());
    let client = client.with_index("g", ["g"], ["pk"]);
    ask_everything(&client);
    ask_everything(&client);
    let report = Backend::from(remote).report(&statistics);
    let places = monitor.partitions().all(SystemClock.now_ms());
    let most = places.iter().map(|place| place.partitions.len()).max().unwrap_or(0);
    (report, most)
}

#[test]
fn an_endpoint_that_states_absurd_numbers_does_no_harm() {
    let absurd = Absurd::default();
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config, absurd.clone()).unwrap();
    *absurd.number.lock().unwrap() = "2";
    let (true_report, _) = counted(server.url());
    assert!(true_report.place("absurd", Some("g")).unwrap().writes > 0.0);
    for number in [
        "-1",
        "0",
        "0.3",
        "1e15",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "1e300",
        "-1e300",
        "1e999",
        r#""12""#,
        "null",
        "{}",
        "[1]",
    ] {
        *absurd.number.lock().unwrap() = number;
        let began = Instant::now();
        let (report, partitions) = counted(server.url());
        assert!(began.elapsed() < Duration::from_mins(1), "{number} takes {:?}", began.elapsed());
        assert_eq!(report.requests, true_report.requests, "{number}");
        assert!(partitions <= 1024, "{number} makes {partitions} partitions");
        for place in &report.places {
            // No request takes more than a million units of a table or index.
            let most = 1e6 * place.requests as f64;
            assert!((0.0..=most).contains(&place.reads), "{number}: {}", place.reads);
            assert!((0.0..=most).contains(&place.writes), "{number}: {}", place.writes);
        }
        let read = Report::from_json(&report.to_json()).unwrap();
        let prices = Prices::default();
        RecommendationEngine::new(Judge::new(&read, None, &prices)).diagnose();
    }
    server.shutdown();
}
