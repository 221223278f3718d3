//! How many requests a pattern takes.

use keyloom_design::plan::{Verdict, shapes};
use keyloom_design::{CheckReport, report};

use super::{checked, plan_of};

fn events(pattern: &str) -> CheckReport {
    checked(&format!(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Event]
PK = "DEVICE#{{device}}#{{at:date}}"
SK = "{{at}}#{{id}}"
count = 1_000_000
size = "200 B"
[entity.Event.fields]
device = {{ type = "token", distinct = 100 }}
at = "datetime"
id = "ulid"
[entity.User]
PK = "USER#{{user}}"
SK = "PROFILE"
count = 1000
size = "1 KB"
[entity.User.fields]
user = "token"
[entity.Log]
PK = "LOG#{{day}}#{{shard}}"
SK = "{{id}}"
[entity.Log.fields]
day = "date"
id = "ulid"
shard = {{ type = "shard", shards = 150, by = "id" }}
{pattern}
"#
    ))
}

#[test]
fn a_range_of_unknown_length_is_one_request_per_period() {
    let report = events(
        "[access.\"p\"]\nfind = \"Event\"\nwhere = \"device = ? and at between ? and ?\"\nrate = \"10/s\"",
    );
    let plan = plan_of(&report, "p");
    assert_eq!(plan.calls(), None);
    assert_eq!(plan.estimate.read_units, None, "nobody knows how many days");
    let shown = report::human(&report);
    assert!(shown.contains("1 request per day"), "{shown}");
    assert!(!shown.contains("12 requests"), "{shown}");
}

#[test]
fn a_literal_range_inside_one_period_is_one_request() {
    for (range, calls) in [
        ("at between '2024-01-05T08:00:00Z' and '2024-01-05T12:00:00Z'", 1.0),
        ("at = '2024-01-05'", 1.0),
        ("at between '2024-01-05' and '2024-01-07'", 3.0),
        ("at >= '2024-01-05' and at < '2024-01-06'", 1.0),
    ] {
        let report = events(&format!(
            "[access.\"p\"]\nfind = \"Event\"\nwhere = \"device = ? and {range}\""
        ));
        let plan = plan_of(&report, "p");
        assert_eq!(plan.calls(), Some(calls), "{range}");
        let verdict = if calls > 1.0 { Verdict::FanOut } else { Verdict::Query };
        assert_eq!(plan.verdict, verdict, "{range}");
    }
}

#[test]
fn whole_keys_are_fetched_as_one_batch() {
    let report = events("[access.\"p\"]\nfind = \"User\"\nwhere = \"user in (?, ?, ?)\"");
    let plan = plan_of(&report, "p");
    assert_eq!(plan.verdict, Verdict::Batch);
    assert_eq!(plan.calls(), Some(1.0));
    let design = report.design.clone().unwrap();
    let shape = shapes(design.access("p").unwrap(), &plan);
    assert_eq!(shape[0].operation, keyloom_core::Operation::BatchGetItem);
    assert!(report::human(&report).contains("batch"), "{}", report::human(&report));
}

#[test]
fn a_wide_fan_out_is_a_finding_unless_it_is_declared() {
    let pattern =
        |more: &str| format!("[access.\"p\"]\nfind = \"Log\"\nwhere = \"day = ?\"\n{more}");
    let found = |more: &str| {
        let report = events(&pattern(more));
        report.findings.iter().any(|finding| finding.rule == "A14")
    };
    assert!(found(""));
    assert!(found("max_requests = 149"));
    assert!(!found("max_requests = 150"));
}

#[test]
fn two_steps_count_the_requests_of_both() {
    let report = checked(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Task]
PK = "TASK#{task}"
SK = "TASK"
count = 1000
size = "1 KB"
[entity.Task.fields]
task = "token"
[entity.Link]
PK = "USER#{user}"
SK = "TASK#{task}"
count = 100_000
size = "100 B"
[entity.Link.fields]
user = { type = "token", distinct = 400 }
task = "token"
[access."p"]
find = "Task"
via = "Link"
where = "user = ?"
"#,
    );
    let plan = plan_of(&report, "p");
    // 250 links in one Query, then three batches of up to 100 keys.
    assert_eq!(plan.calls(), Some(4.0));
    assert_eq!(plan.estimate.pages, Some(4.0));
}
