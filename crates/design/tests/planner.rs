//! Plans of small designs, most of them from the documents that the corpus is made of.
#![expect(clippy::unwrap_used, reason = "tests")]

use keyloom_design::cost::Prices;
use keyloom_design::plan::{Plan, Proof, Verdict, plan, shapes};
use keyloom_design::{Design, Diagnostic};

fn design(text: &str) -> Design {
    let (design, problems) = Design::parse("test.toml", text);
    let shown: Vec<String> = problems
        .iter()
        .map(|p: &Diagnostic| p.render(&keyloom_design::source::Source::new("test.toml", text)))
        .collect();
    assert!(problems.is_empty(), "{}", shown.join("\n"));
    design.unwrap()
}

fn plan_of(text: &str, name: &str) -> (Design, Plan) {
    let design = design(text);
    let plan =
        plan(&design, &Prices::default()).into_iter().find(|plan| plan.name == name).unwrap();
    (design, plan)
}

const TASKS: &str = r#"
[table.tasks]
partition_key = "PK"
sort_key      = "SK"
[table.tasks.index.GSI1]
partition_key = "GSI1PK"
sort_key      = "GSI1SK"

[entity.Project]
PK = "TEAM#{team_id}"
SK = "PROJECT#{project_id}"
GSI1PK = "PROJECT#{project_id}"
GSI1SK = "METADATA"
[entity.Project.fields]
team_id = "ulid"
project_id = "ulid"

[entity.Task]
PK     = "PROJECT#{project_id}"
SK     = "TASK#{task_id}"
GSI1PK = "TASK#{task_id}"
GSI1SK = "METADATA"
count  = 2_000_000
size   = "1.2 KB"
[entity.Task.fields]
project_id = { type = "ulid", distinct = 10_000 }
task_id    = "ulid"
title      = { type = "string", max = 200 }
status     = { type = "string", values = ["Todo", "In Progress", "Done"] }
created_at = "datetime"

[entity.Comment]
PK = "TASK#{task_id}"
SK = "COMMENT#{comment_id}#{created_at}"
GSI1PK = "USER#{user_id}"
GSI1SK = "COMMENT#{comment_id}#{created_at}"
[entity.Comment.fields]
task_id = "ulid"
comment_id = "string"
user_id = "string"
created_at = "datetime"

[entity.Attachment]
PK = "TASK#{task_id}"
SK = "ATTACHMENT#{attachment_id}#{created_at}"
GSI1PK = "USER#{user_id}"
GSI1SK = "ATTACHMENT#{attachment_id}#{created_at}"
[entity.Attachment.fields]
task_id = "ulid"
attachment_id = "string"
user_id = "string"
created_at = "datetime"

[access."tasks in a project"]
find  = "Task"
where = "project_id = ?"
order = "task_id"
limit = 50
rate  = "300/s"

[access."task by id"]
find  = "Task"
where = "task_id = ?"

[access."one task"]
find  = "Task"
where = "project_id = ? and task_id = ?"
consistent = true

[access."tasks by status"]
find  = "Task"
where = "status = ?"

[access."open tasks of a project"]
find = "Task"
where = "project_id = ? and status = 'Todo'"
limit = 10

[access."comments, newest first"]
find  = "Comment"
where = "task_id = ?"
order = "created_at desc"

[access."recent activity"]
find  = ["Comment", "Attachment"]
where = "user_id = ?"
order = "created_at desc"
limit = 20

[access."recent activity, as written"]
find  = ["Comment", "Attachment"]
where = "user_id = ?"
key   = 'GSI1PK = "USER#{user_id}"'
order = "created_at desc"
"#;

#[test]
fn verdicts_of_the_task_system() {
    use Proof::{NotAsked, Proven, Refuted};
    let design = design(TASKS);
    let plans = plan(&design, &Prices::default());
    let shown: Vec<_> = plans
        .iter()
        .map(|p| (p.name.as_str(), p.verdict, p.index_name(), p.proofs.order, p.proofs.limit))
        .collect();
    assert_eq!(
        shown,
        [
            ("tasks in a project", Verdict::Query, None, Proven, Proven),
            ("task by id", Verdict::Query, Some("GSI1"), NotAsked, NotAsked),
            ("one task", Verdict::Get, None, NotAsked, NotAsked),
            ("tasks by status", Verdict::Refused, None, NotAsked, NotAsked),
            ("open tasks of a project", Verdict::Filter, None, NotAsked, Refuted),
            ("comments, newest first", Verdict::Query, None, Refuted, NotAsked),
            ("recent activity", Verdict::Query, Some("GSI1"), Refuted, Refuted),
            ("recent activity, as written", Verdict::Query, Some("GSI1"), Refuted, NotAsked),
        ]
    );
    for plan in plans.iter().filter(|plan| plan.proofs.order == Refuted) {
        let example = plan.counter_example.as_ref().unwrap_or_else(|| panic!("{}", plan.name));
        assert_eq!(example.rows.len(), 2, "two rows show a wrong order: {example:?}");
    }
    let request = shapes(design.access("tasks in a project").unwrap(), &plans[0]).remove(0);
    assert_eq!(request.body["KeyConditionExpression"], "#pk = :pk AND begins_with(#sk, :sk)");
    assert_eq!(
        plans[0].estimate.read_units,
        Some(7.5),
        "50 items of 1.2 KB, eventually consistent"
    );
    let reasons: Vec<String> = plans[3].rejected.iter().map(|no| no.reason.to_string()).collect();
    assert_eq!(
        reasons,
        [
            "its partition key `PROJECT#{project_id}` needs `project_id`",
            "its partition key `TASK#{task_id}` needs `task_id`",
        ]
    );
}

#[test]
fn a_versioned_document_breaks_at_version_ten() {
    let (_, p) = plan_of(
        r#"
[table.docs]
partition_key = "PK"
sort_key = "SK"
[entity.Version]
PK = "DOC#{doc_id}"
SK = "V#{version}#{saved_at}"
[entity.Version.fields]
doc_id = "string"
version = { type = "u32", plain = true }
saved_at = "datetime"
[access."latest"]
find = "Version"
where = "doc_id = ?"
order = "version desc"
limit = 1
"#,
        "latest",
    );
    assert_eq!(
        (p.verdict, p.proofs.order, p.proofs.limit),
        (Verdict::Query, Proof::Refuted, Proof::Refuted)
    );
    let counter = p.counter_example.unwrap();
    assert_eq!(counter.rows.len(), 2, "{counter:?}");
}

/// One large item and many small ones: the bytes of a collection are those of what is in it.
#[test]
fn a_collection_costs_what_its_items_weigh() {
    let (_, plan) = plan_of(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Order]
PK = "ORDER#{order:ulid}"
SK = "ORDER"
count = 1000
size = "40 KB"
[entity.Line]
PK = "ORDER#{order:ulid}"
SK = "LINE#{number:u16}"
count = 20_000
size = "400 B"
[access."order with its lines"]
find = ["Order", "Line"]
where = "order = ?"
"#,
        "order with its lines",
    );
    assert_eq!(plan.estimate.items, Some(21.0));
    assert_eq!(plan.estimate.bytes.map(f64::round), Some(40.0 * 1024.0 + 20.0 * 400.0));
    assert_eq!(plan.estimate.read_units, Some(6.0));
}

/// Each of several values brings its own items; a shard that follows from a field does not halve them again.
#[test]
fn listed_values_are_counted_each() {
    let design = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Task]
PK = "OWNER#{owner}#{shard}"
SK = "{state}#{task}"
count = 12_000
size = "1 KB"
[entity.Task.fields]
owner = { type = "token", distinct = 100 }
state = { type = "string", values = ["open", "done", "late"] }
task = "ulid"
shard = { type = "shard", shards = 4, by = "owner" }
[access."tasks of an owner"]
find = "Task"
where = "owner = ?"
[access."open tasks"]
find = "Task"
where = "owner = ? and state = 'open'"
[access."two states"]
find = "Task"
where = "owner = ? and state in ('open', 'late')"
[access."three owners"]
find = "Task"
where = "owner in (:a, :b, :c)"
[access."one owner twice"]
find = "Task"
where = "owner in ('x', 'x')"
"#;
    let items = |name: &str| plan_of(design, name).1.estimate.items;
    assert_eq!(items("tasks of an owner"), Some(120.0));
    assert_eq!(items("open tasks"), Some(40.0));
    assert_eq!(items("two states"), Some(80.0));
    assert_eq!(items("three owners"), Some(360.0));
    assert_eq!(items("one owner twice"), Some(120.0));
}
