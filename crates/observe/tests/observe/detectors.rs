//! Each detector has a load that makes it speak and a similar one that does not.

use std::time::Duration;

use keyloom_core::Operation;
use keyloom_core::observation::{Outcome, ThrottleLimit};
use keyloom_observe::report::{IndexFacts, Kind, TableFacts};
use keyloom_observe::{Confidence, Finding, Report, Severity};

use crate::traffic::{Random, Read, Traffic, findings, throttled, throttled_by};

const DESIGN: &str = r#"
[design]
name = "Orders"

[table.tasks]
partition_key = "PK"
sort_key = "SK"

[table.tasks.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"

[entity.Order]
PK = "CUSTOMER#{customer_id}"
SK = "ORDER#{placed_at}#{order_id}"
GSI1PK = "REGION#{region}"
GSI1SK = "{placed_at}#{order_id}"

[entity.Order.fields]
customer_id = { type = "string", max = 20 }
order_id = { type = "string", max = 20 }
region = { type = "string", max = 20 }
state = { type = "string", max = 20 }
placed_at = "date"

[access."orders of a customer"]
find = "Order"
where = "customer_id = ?"
order = "placed_at desc"
limit = 20

[access."orders of a region"]
find = "Order"
where = "region = ?"
limit = 20
"#;

type Load = fn(&mut Traffic);

/// The detector, whether a design is loaded, the load that it speaks of, one that it does not.
const CASES: [(&str, bool, Load, Load); 25] = [
    ("hot-partition", true, |t| writes(t, 800, 1), |t| writes(t, 800, 10)),
    ("hot-partition", false, |t| refused(t, false), |t| writes(t, 300, 1)),
    ("hot-partition", false, |t| refused(t, false), |t| too_little_provisioned(t)),
    ("index-back-pressure", true, |t| indexed(t, 900, 1), |t| indexed(t, 900, 40)),
    ("moving-hot-key", false, |t| periods(t, true), |t| periods(t, false)),
    ("skewed-keys", false, |t| shares(t, 30), |t| shares(t, 1)),
    ("tenant-share", false, |t| tenants(t, 50), |t| tenants(t, 2)),
    ("low-cardinality", false, |t| writes(t, 900, 5), |t| writes(t, 900, 300)),
    ("model-drift", true, |t| order(t, "CLIENT#7"), |t| order(t, "CUSTOMER#7")),
    ("unplanned-query", true, |t| orders(t, "NOTE#"), |t| orders(t, "ORDER#")),
    ("synthetic-index", true, |t| indexed(t, 10, 5), |t| writes(t, 10, 5)),
    ("inefficient-scan", false, |t| scan(t, 1000, 10), |t| scan(t, 1000, 900)),
    ("scan", false, |t| scan(t, 1000, 900), |t| orders(t, "ORDER#")),
    ("missing-index", true, |t| filtered_scan(t, 10), |t| filtered_scan(t, 3)),
    ("empty-results", false, |t| found(t, 0), |t| found(t, 3)),
    ("page-growth", false, |t| pages(t, 5), |t| pages(t, 1)),
    ("unused-index", true, |t| indexed(t, 300, 40), |t| read_index(t)),
    ("large-items", false, |t| sizes(t, 320), |t| sizes(t, 90)),
    ("collection-size", false, |t| collection(t, true), |t| collection(t, false)),
    ("ttl-backlog", false, |t| sessions(t, 4), |t| sessions(t, 0)),
    ("read-before-write", false, |t| read_write(t, true), |t| read_write(t, false)),
    ("retry-storm", false, |t| conflicts(t, 3), |t| conflicts(t, 50)),
    ("fetch-to-filter", true, |t| filtered(t, 100, 15), |t| filtered(t, 100, 80)),
    ("batch-opportunity", false, |t| rows(t, true), |t| rows(t, false)),
    ("projection", false, |t| whole(t, false), |t| whole(t, true)),
];

fn traffic(designed: bool) -> Traffic {
    if designed { Traffic::designed(DESIGN) } else { Traffic::new() }
}

fn said<'f>(found: &'f [Finding], id: &str) -> Option<&'f Finding> {
    found.iter().find(|finding| finding.id == id)
}

#[test]
fn each_detector_speaks_of_its_load_and_not_of_a_similar_one() {
    for (id, designed, fires, quiet) in CASES {
        let mut loud = traffic(designed);
        fires(&mut loud);
        let found = loud.findings();
        let finding = said(&found, id).unwrap_or_else(|| panic!("{id} is silent: {found:#?}"));
        assert!(!finding.evidence.is_empty() && !finding.fix.is_empty(), "{finding:#?}");
        assert!(!finding.at_ten.is_empty() && !finding.patterns.is_empty(), "{finding:#?}");
        let mut calm = traffic(designed);
        quiet(&mut calm);
        let found = calm.findings();
        assert!(said(&found, id).is_none(), "{id} speaks: {:#?}", said(&found, id));
    }
}

/// So many writes a second for five seconds, spread over so many keys.
fn writes(traffic: &mut Traffic, per_second: u64, keys: u64) {
    for step in 0..5 * per_second {
        let key = format!("CUSTOMER#{}", step % keys);
        traffic.put(&key, &format!("ORDER#2024-01-01#{step}"));
        traffic.now_ms = crate::traffic::START_MS + step * 1000 / per_second;
    }
}

fn refused(traffic: &mut Traffic, is_index: bool) {
    for step in 0..300_u64 {
        traffic.outcome = if step % 3 == 0 { throttled(is_index, 0) } else { Outcome::Done };
        traffic.put("CUSTOMER#1", "A");
        traffic.pass(10);
    }
}

/// An even load, of which the table as a whole refuses a third.
fn too_little_provisioned(traffic: &mut Traffic) {
    for step in 0..3000_u64 {
        let is_refused = step % 3 == 0;
        traffic.outcome = if is_refused {
            throttled_by(ThrottleLimit::Provisioned, false, 0)
        } else {
            Outcome::Done
        };
        traffic.put(&format!("CUSTOMER#{}", step % 500), "A");
        traffic.pass(10);
    }
}

fn indexed(traffic: &mut Traffic, per_second: u64, regions: u64) {
    for step in 0..5 * per_second {
        let (customer, id) = (format!("CUSTOMER#{step}"), format!("ORDER#2024-01-01#{step}"));
        let region = format!("REGION#r{}", step % regions);
        let entry = (region.as_str(), "2024-01-01#1");
        traffic.item_with(Operation::PutItem, &customer, &id, (1, 300), Some(entry));
        traffic.now_ms = crate::traffic::START_MS + step * 1000 / per_second;
    }
}

/// Minutes with one heaviest key each: another every time, or two that take turns.
fn periods(traffic: &mut Traffic, moves: bool) {
    for minute in 0..6_u64 {
        for step in 0..120_u64 {
            let name = if moves { minute } else { minute % 2 };
            let key = if step % 3 == 0 { format!("X#{step}") } else { format!("MINUTE#{name}") };
            traffic.put(&key, &step.to_string());
            traffic.pass(500);
        }
    }
}

fn shares(traffic: &mut Traffic, percent: u64) {
    let mut random = Random(5);
    for _ in 0..4000 {
        let hot = random.below(100) < percent;
        let key = if hot { "USER#hot".to_owned() } else { format!("USER#{}", random.below(900)) };
        traffic.get(&key, "A");
        traffic.pass(20);
    }
}

fn tenants(traffic: &mut Traffic, percent: u64) {
    let mut random = Random(5);
    for _ in 0..4000 {
        let hot = random.below(100) < percent;
        let tenant = if hot { "big".to_owned() } else { format!("t{}", random.below(40)) };
        traffic.get(&format!("TENANT#{tenant}#USER#{}", random.below(3)), "A");
        traffic.pass(20);
    }
}

fn order(traffic: &mut Traffic, partition: &str) {
    for _ in 0..10 {
        traffic.put(partition, "ORDER#2024-01-01#7");
    }
}

fn orders(traffic: &mut Traffic, begins: &'static str) {
    for customer in 0..30 {
        let partition = format!("CUSTOMER#{customer}");
        let read =
            Read { begins, scanned: 5, returned: 5, units: 1, limit: Some(20), ..Read::default() };
        traffic.read(Read { partition: &partition, ..read });
    }
}

fn scan(traffic: &mut Traffic, scanned: usize, returned: usize) {
    for _ in 0..10 {
        traffic.read(Read { scanned, returned, units: 20, bytes: 100_000, ..Read::default() });
    }
}

fn filtered_scan(traffic: &mut Traffic, times: usize) {
    for _ in 0..times {
        let read = Read { filter: "state", scanned: 1000, returned: 300, ..Read::default() };
        traffic.read(Read { units: 20, ..read });
    }
}

fn found(traffic: &mut Traffic, returned: usize) {
    for customer in 0..40 {
        let partition = format!("CUSTOMER#{customer}");
        let read = Read { begins: "ORDER#2024-12#", units: 1, ..Read::default() };
        traffic.read(Read { partition: &partition, scanned: returned, returned, ..read });
    }
}

/// Calls that take one page at first, and so many at last.
fn pages(traffic: &mut Traffic, at_last: usize) {
    for call in 0..1200 {
        let more = if call < 300 { 1 } else { at_last };
        for page in 0..more {
            let read = Read { partition: "CUSTOMER#1", scanned: 9, returned: 9, ..Read::default() };
            traffic.read(Read { units: 9, is_continued: page > 0, ..read });
        }
        traffic.pass(100);
    }
}

fn read_index(traffic: &mut Traffic) {
    indexed(traffic, 300, 40);
    let read = Read { partition: "REGION#r1", on_index: true, ..Read::default() };
    traffic.read(Read { scanned: 3, returned: 3, units: 1, limit: Some(20), ..read });
}

fn sizes(traffic: &mut Traffic, kilobytes: usize) {
    for item in 0..20 {
        traffic.item(Operation::PutItem, "DOC#1", &item.to_string(), 1, kilobytes * 1024);
    }
}

fn collection(traffic: &mut Traffic, has_local_indexes: bool) {
    traffic.has_local_indexes = has_local_indexes;
    traffic.weight = 10_000;
    for item in 0..20 {
        traffic.item(Operation::PutItem, "DOC#1", &item.to_string(), 1, 10 * 1024);
        traffic.pass(10_000);
    }
}

fn sessions(traffic: &mut Traffic, expired: usize) {
    for _ in 0..30 {
        let read = Read { partition: "USER#1", scanned: 10, returned: 10, ..Read::default() };
        traffic.read(Read { expired, bytes: 4000, units: 1, ..read });
    }
}

fn read_write(traffic: &mut Traffic, same: bool) {
    for user in 0..50 {
        let key = format!("USER#{user}");
        traffic.get(&key, "A");
        traffic.pass(100);
        traffic.put(&key, if same { "A" } else { "B" });
        traffic.pass(6000);
    }
}

fn conflicts(traffic: &mut Traffic, one_in: u64) {
    for step in 0..300 {
        traffic.outcome = if step % one_in == 0 { Outcome::Conflict } else { Outcome::Done };
        traffic.put(&format!("USER#{step}"), "A");
        traffic.pass(100);
    }
}

fn filtered(traffic: &mut Traffic, scanned: usize, returned: usize) {
    for customer in 0..10 {
        let partition = format!("CUSTOMER#{customer}");
        let read = Read { begins: "ORDER#", filter: "state", units: 10, ..Read::default() };
        traffic.read(Read { partition: &partition, scanned, returned, ..read });
    }
}

/// Gets of ten items back to back, or with pauses.
fn rows(traffic: &mut Traffic, at_once: bool) {
    for row in 0..20 {
        for item in 0..10 {
            traffic.get(&format!("USER#{row}"), &item.to_string());
            traffic.pass(if at_once { 1 } else { 200 });
        }
        traffic.pass(1000);
    }
}

fn whole(traffic: &mut Traffic, is_projected: bool) {
    for _ in 0..30 {
        let read = Read { partition: "CUSTOMER#1", scanned: 10, returned: 10, ..Read::default() };
        traffic.read(Read { bytes: 40_000, units: 10, is_projected, ..read });
    }
}

#[test]
fn slow_and_expensive_requests_are_reported_with_their_percentiles_and_causes() {
    let mut traffic = Traffic::new();
    for step in 0..100 {
        traffic.latency = Duration::from_millis(if step % 20 == 0 { 1500 } else { 2 });
        let read =
            Read { partition: "CUSTOMER#1", scanned: 5000, returned: 5000, ..Read::default() };
        traffic.read(Read { units: 120, bytes: 960_000, ..read });
        traffic.pass(1000);
    }
    let found = traffic.findings();
    let slow = said(&found, "slow-requests").unwrap();
    assert!(slow.evidence.iter().any(|line| line.starts_with("p50 2.")), "{slow:?}");
    let expensive = said(&found, "expensive-requests").unwrap();
    assert!(expensive.evidence.iter().any(|line| line.contains("no limit")), "{expensive:?}");
    let mut quick = Traffic::new();
    for _ in 0..100 {
        let read = Read { partition: "CUSTOMER#1", scanned: 50, returned: 50, ..Read::default() };
        quick.read(Read { units: 12, bytes: 9000, ..read });
    }
    let found = quick.findings();
    assert!(said(&found, "slow-requests").or(said(&found, "expensive-requests")).is_none());
}

#[test]
fn the_cheaper_capacity_mode_is_recommended_with_both_costs() {
    let load = |on_demand: bool, spiky: bool| {
        let mut traffic = Traffic::new();
        traffic.on_demand = on_demand;
        traffic.weight = 20_000;
        for minute in 0..180 {
            traffic.weight = if spiky && minute % 60 > 1 { 10 } else { 20_000 };
            for step in 0..10 {
                traffic.item(Operation::GetItem, &format!("U#{step}"), "A", 1, 100);
                traffic.pass(6000);
            }
        }
        traffic.findings()
    };
    let found = load(true, false);
    let steady = said(&found, "capacity-mode").unwrap();
    assert_eq!(steady.fix, "billing = \"provisioned\"");
    // 200,000 units a minute: 3,334 units/s, $0.125 a million on demand.
    assert!(steady.evidence.iter().any(|line| line.contains("on demand $109")), "{steady:?}");
    assert!(said(&load(false, false), "capacity-mode").is_none());
    let found = load(false, true);
    assert_eq!(said(&found, "capacity-mode").unwrap().fix, "billing = \"on-demand\"");
}

#[test]
fn findings_change_the_design_where_one_is_loaded() {
    let diff = |load: Load, id: &str| {
        let mut traffic = Traffic::designed(DESIGN);
        load(&mut traffic);
        let found = traffic.findings();
        said(&found, id).and_then(|finding| finding.diff.clone()).unwrap_or_default()
    };
    let shard = diff(|t| writes(t, 1800, 1), "hot-partition");
    assert!(shard.contains("+ PK = \"CUSTOMER#{customer_id}#{shard}\""), "{shard}");
    assert!(shard.contains("shards = 3"), "half more than the peak of 1,800: {shard}");
    assert!(shard.contains("# observed on one key: 180"), "{shard}");
    let index = diff(|t| filtered_scan(t, 10), "missing-index");
    assert!(index.contains("+ [table.tasks.index.by_state]"), "{index}");
}

#[test]
fn a_hot_key_without_a_way_to_split_says_why() {
    let mut traffic = Traffic::designed(DESIGN);
    writes(&mut traffic, 1200, 1);
    let found = traffic.findings();
    let hot = said(&found, "hot-partition").unwrap();
    assert_eq!(hot.severity, Severity::Error);
    assert!(hot.headroom.is_some_and(|times| (times - 1.0 / 1.2).abs() < 0.05), "{hot:?}");
    assert!(hot.evidence.iter().any(|line| line.contains("`placed_at` grows")), "{hot:?}");
    let mut local = Traffic::new();
    local.has_local_indexes = true;
    writes(&mut local, 1200, 1);
    let found = local.findings();
    let hot = said(&found, "hot-partition").unwrap();
    assert!(hot.evidence.iter().any(|line| line.contains("local indexes")), "{hot:?}");
}

#[test]
fn late_ttl_deletion_is_reported_even_if_expired_items_are_not_read() {
    let mut traffic = Traffic::new();
    traffic.put("USER#1", "SESSION#1");
    let overdue = |overdue_s| {
        let tasks = TableFacts { name: "tasks".into(), overdue_s, ..TableFacts::default() };
        let report = Report { tables: vec![tasks], ..traffic.report() };
        said(&findings(&report, None), "ttl-backlog").cloned()
    };
    let found = overdue(3 * 86_400).unwrap();
    assert!(found.evidence.iter().any(|line| line.contains("72 hours")), "{found:#?}");
    assert_eq!(overdue(86_400), None);
}

#[test]
fn an_index_that_was_never_touched_is_found_among_the_tables_that_exist() {
    let mut traffic = Traffic::new();
    writes(&mut traffic, 300, 50);
    let mut report = traffic.report();
    assert!(said(&findings(&report, None), "unused-index").is_none(), "nothing is known of it");
    let index = IndexFacts { name: "GSI9".into(), kind: Kind::Global, items: 1000, bytes: 2 << 30 };
    let facts = TableFacts { name: "tasks".into(), indexes: vec![index], ..TableFacts::default() };
    report.tables = vec![facts];
    let found = findings(&report, None);
    let unused = said(&found, "unused-index").unwrap();
    assert_eq!((unused.place.as_str(), unused.severity), ("tasks.GSI9", Severity::Info));
    assert!(unused.dollars_per_month.is_some_and(|dollars| (0.49..0.52).contains(&dollars)));
    report.left_out = 1;
    let found = findings(&report, None);
    assert!(said(&found, "unused-index").is_none(), "it may be one of those not counted");
    report.left_out = 0;
    report.since_ms -= 8 * 86_400_000;
    let found = findings(&report, None);
    assert_eq!(said(&found, "unused-index").unwrap().severity, Severity::Warning, "after a week");
}

#[test]
fn one_program_does_not_know_whether_others_read_an_index() {
    let by_region = DESIGN.find("[access.\"orders of a region\"]").unwrap();
    let mut traffic = Traffic::designed(&DESIGN[..by_region]);
    indexed(&mut traffic, 300, 40);
    let mut report = traffic.report();
    report.since_ms -= 40 * 86_400_000;
    let unused = |report: &Report| {
        let found = findings(report, traffic.design.as_ref());
        said(&found, "unused-index").unwrap().clone()
    };
    let all = unused(&report);
    assert_eq!((all.severity, all.confidence), (Severity::Warning, Confidence::High));
    assert_eq!(all.title, "GSI1 was never read");
    assert!(all.diff.unwrap().contains("- [table.tasks.index.GSI1]"));
    report.of_one_program = true;
    let one = unused(&report);
    assert_eq!((one.severity, one.confidence), (Severity::Info, Confidence::Low));
    assert_eq!(one.title, "this program never read GSI1");
    assert_eq!(one.diff, None);
    assert!(one.fix.contains("other programs"), "{}", one.fix);
}

#[test]
fn an_unused_vector_index_is_not_said_to_cost_nothing() {
    let mut traffic = Traffic::new();
    writes(&mut traffic, 300, 50);
    let index = IndexFacts { name: "near".into(), kind: Kind::Vector, items: 9, bytes: 1 << 20 };
    let facts = TableFacts { name: "tasks".into(), indexes: vec![index], ..TableFacts::default() };
    let report = Report { tables: vec![facts], ..traffic.report() };
    let found = findings(&report, None);
    let unused = said(&found, "unused-index").unwrap();
    assert!(unused.evidence.iter().any(|line| line.contains("paid by the byte")), "{unused:?}");
    assert!(!format!("{unused:?}").contains("write units"), "{unused:?}");
}

#[test]
fn what_expired_is_found_in_tables_that_are_read_through_an_index_or_not_at_all() {
    let late = TableFacts { name: "tasks".into(), overdue_s: 9 * 86_400, ..TableFacts::default() };
    let report = Report { tables: vec![late], ..Traffic::new().report() };
    assert!(said(&findings(&report, None), "ttl-backlog").is_some());
    let mut traffic = Traffic::new();
    let read = Read { partition: "REGION#7", on_index: true, units: 4, ..Read::default() };
    traffic.read(Read { scanned: 60, returned: 60, expired: 40, ..read });
    let found = traffic.findings();
    assert_eq!(said(&found, "ttl-backlog").unwrap().place, "tasks");
}
