//! Reports are stored, merged, redacted and begun anew.

use keyloom_core::observation::Observer as _;
use keyloom_core::{Error, Operation};
use keyloom_observe::report::TableFacts;
use keyloom_observe::{Redaction, Report, prometheus};

use crate::traffic::{Random, Read, Traffic, throttled};

fn load(seed: u64, requests: u64) -> Traffic {
    let mut traffic = Traffic::new();
    let mut random = Random(seed);
    for _ in 0..requests {
        let key = format!("USER#{}", random.below(4) * random.below(300));
        traffic.item(Operation::GetItem, &key, "A", 1 + random.below(3), 100);
        traffic.pass(7);
    }
    traffic
}

#[test]
fn a_report_survives_its_file() {
    let report = load(1, 3000).report();
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
}

#[test]
fn two_reports_together_say_what_one_collector_would() {
    let (first, second) = (load(1, 4000), load(2, 4000));
    let mut merged = first.report();
    merged.merge(&second.report());
    let mut whole = Traffic::new();
    let mut exact = std::collections::HashMap::new();
    for seed in [1, 2] {
        let mut random = Random(seed);
        whole.now_ms = crate::traffic::START_MS;
        for _ in 0..4000 {
            let key = format!("USER#{}", random.below(4) * random.below(300));
            let units = 1 + random.below(3);
            whole.item(Operation::GetItem, &key, "A", units, 100);
            *exact.entry(key).or_insert(0.0) += units as f64;
            whole.pass(7);
        }
    }
    let whole = whole.report();
    let (a, b) = (merged.place("tasks", None).unwrap(), whole.place("tasks", None).unwrap());
    assert_eq!(merged.requests, whole.requests);
    assert!((a.reads - b.reads).abs() < 1e-6 && (a.load - b.load).abs() < 1e-6);
    assert_eq!(a.distinct, b.distinct);
    assert_eq!(a.patterns.first().map(|p| &p.latency), b.patterns.first().map(|p| &p.latency));
    assert_eq!(a.minutes, b.minutes);
    assert_eq!(a.keys.first().map(|key| &key.key), b.keys.first().map(|key| &key.key));
    for key in &a.keys {
        let truth = exact.get(&key.key).copied().unwrap_or(0.0);
        assert!(key.least() <= truth && truth <= key.load, "{key:?} has {truth}");
    }
}

#[test]
fn redacted_reports_hold_no_key() {
    let mut traffic = Traffic::designed(
        "[table.tasks]\npartition_key = \"PK\"\nsort_key = \"SK\"\n[entity.A]\nPK = \"A#{a}\"\nSK = \"A\"\n\
         [entity.A.fields]\na = { type = \"string\", max = 9 }\n",
    );
    for _ in 0..100 {
        traffic.put("USER#alice", "SECRET#plan");
        traffic.pass(1000);
    }
    let plain = traffic.report().to_json();
    assert!(plain.contains("alice") && plain.contains("plan"));
    for redaction in [Redaction::Hash, Redaction::Prefix] {
        let mut report = traffic.report();
        report.redact(redaction);
        let json = report.to_json();
        assert!(!json.contains("alice") && !json.contains("plan"), "{json}");
        assert!(json.contains("USER#…"), "{json}");
        report.redact(Redaction::None);
        assert_eq!(report.redaction, redaction, "what is hidden stays hidden");
    }
}

#[test]
fn key_values_that_look_like_words_are_hidden_in_shapes() {
    for redaction in [Redaction::Hash, Redaction::Prefix] {
        let collected = Traffic::redacted(redaction);
        let plain = Traffic::new();
        let reports = [collected, plain].map(|mut traffic| {
            for (partition, sort) in [("USER#ALICE", "SECRET"), ("BOB", "USER#CAROL")] {
                traffic.put(partition, sort);
                traffic.get(partition, sort);
                traffic.read(Read { partition, begins: sort, units: 1, ..Read::default() });
            }
            let mut report = traffic.report();
            report.redact(redaction);
            report.to_json()
        });
        for json in reports {
            for value in ["ALICE", "SECRET", "BOB", "CAROL"] {
                assert!(!json.contains(value), "{value} is in {json}");
            }
            assert!(json.contains("Query PK = USER#…, SK begins …"), "{json}");
        }
    }
}

#[test]
fn what_was_refused_was_not_consumed() {
    let mut traffic = Traffic::new();
    traffic.item(Operation::PutItem, "USER#1", "A", 2, 2000);
    traffic.outcome = throttled(false, 0);
    traffic.item(Operation::PutItem, "USER#1", "A", 50, 50_000);
    let report = traffic.report();
    let place = report.place("tasks", None).unwrap();
    let pattern = place.patterns.first().unwrap();
    assert_eq!((place.writes, pattern.writes, pattern.max_units), (2.0, 2.0, 2.0));
    assert_eq!((place.requests, pattern.bytes, pattern.throttled), (2, 2000, 1));
    let asked = place.keys.first().unwrap().writes;
    assert!((asked - 52.0).abs() < f64::EPSILON, "{asked}");
}

#[test]
fn metrics_have_tables_and_operations_and_never_keys() {
    let mut page = String::new();
    prometheus(&load(1, 100).report(), &mut page);
    for line in [
        "keyloom_operation_duration_seconds_count{table=\"tasks\",index=\"\",operation=\"GetItem\"} 100",
        "keyloom_items_total{table=\"tasks\",index=\"\",operation=\"GetItem\",kind=\"returned\"} 100",
        "# TYPE keyloom_top_key_share gauge",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
    }
    assert!(!page.contains("USER#"));
}

#[test]
fn errors_are_all_counted_and_a_reset_forgets_everything() {
    let traffic = load(1, 10);
    for _ in 0..3 {
        traffic.collector.failed("PutItem", &Error::Validation("no".into()));
    }
    let report = traffic.report();
    let error = report.errors.first().unwrap();
    assert_eq!(
        (error.operation.as_str(), error.code.as_str(), error.count),
        ("PutItem", "ValidationException", 3)
    );
    traffic.collector.reset();
    let report = traffic.report();
    assert_eq!((report.requests, report.places.len(), report.errors.len()), (0, 0, 0));
}

#[test]
fn a_deleted_table_is_forgotten() {
    let traffic = load(1, 10);
    traffic.collector.forget("other", None);
    assert_eq!(traffic.report().places.len(), 1);
    traffic.collector.forget("tasks", None);
    assert!(traffic.report().places.is_empty());
}

#[test]
fn what_is_beyond_the_tables_that_fit_is_counted_as_left_out() {
    let mut traffic = Traffic::new();
    for number in 0..70 {
        traffic.table = format!("table-{number}");
        traffic.get("USER#1", "A");
    }
    let mut report = traffic.report();
    assert_eq!((report.places.len(), report.left_out), (64, 6));
    report.merge(&report.clone());
    assert_eq!(report.left_out, 12);
    traffic.collector.reset();
    assert_eq!(traffic.report().left_out, 0);
}

#[test]
fn a_program_adds_to_what_a_database_knows_of_its_tables_and_replaces_none_of_it() {
    let facts =
        |name: &str, items| TableFacts { name: name.into(), items, ..TableFacts::default() };
    let server = Report { tables: vec![facts("tasks", 7)], ..load(1, 10).report() };
    let tables = vec![facts("tasks", 0), facts("users", 3)];
    let program = Report { tables, of_one_program: true, ..load(2, 10).report() };
    let merged = |mut first: Report, second: &Report| {
        first.merge(second);
        first
    };
    let items = |report: &Report| -> Vec<u64> { report.tables.iter().map(|t| t.items).collect() };
    let (a, b) = (merged(server.clone(), &program), merged(program.clone(), &server));
    assert_eq!((items(&a), a.of_one_program), (vec![7, 3], false));
    assert_eq!((items(&b), b.of_one_program), (vec![7, 3], false));
    assert!(merged(program.clone(), &program).of_one_program);
}
