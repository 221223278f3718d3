//! Every rule of the linter: a design that it fires on, and one that it leaves alone.

use keyloom_design::cost::Prices;
use keyloom_design::lint::{Finding, RULES, index_changes};
use keyloom_design::{Design, check_text};

/// A table with one index; designs add entities and patterns.
const TABLE: &str = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"
"#;

struct Case {
    rule: &'static str,
    fires: &'static str,
    silent: &'static str,
}

fn findings(text: &str) -> Vec<Finding> {
    let text = if text.contains("[table.") { text.to_owned() } else { format!("{TABLE}{text}") };
    check_text("test.toml", &text, &Prices::default()).findings
}

fn shown(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|f| format!("{} {}: {} | {} | {}", f.rule, f.subject, f.message, f.evidence, f.fix))
        .collect::<Vec<_>>()
        .join("\n")
}

fn rules_of(text: &str) -> Vec<&'static str> {
    findings(text).iter().map(|finding| finding.rule).collect()
}

#[test]
fn an_ambiguous_template_does_not_hide_what_else_is_wrong() {
    let found = rules_of(
        r#"
[entity.Order]
PK = "{user_id}{order_id}"
SK = "ORDER"
[entity.Order.fields]
user_id = "token"
order_id = "token"
[entity.Version]
PK = "DOC#{doc:ulid}"
SK = "V#{number}"
[entity.Version.fields]
number = { type = "u32", plain = true }
[access."one order"]
find = "Order"
where = "user_id = ? and order_id = ?"
[access."versions"]
find = "Version"
where = "doc = ?"
order = "number""#,
    );
    assert_eq!(found, ["K03", "K01", "A03"]);
}

/// Users by status in an index, spread over so many shards.
fn sharded(shards: u32) -> String {
    format!(
        r#"
[entity.User]
PK = "USER#{{id:ulid}}"
SK = "PROFILE"
GSI1PK = "STATUS#{{status}}#{{shard}}"
GSI1SK = "USER#{{id:ulid}}"
count = 5_000_000
size = "800 B"
[entity.User.fields]
status = {{ type = "string", values = ["on", "off"], top_share = "90%" }}
shard = {{ type = "shard", shards = {shards}, by = "id" }}
[access."users with a status"]
find = "User"
where = "status = ?"
limit = 20
[write."put a user"]
entity = "User"
rate = "1500/s""#
    )
}

#[test]
fn a_shard_that_carries_the_load_silences_what_few_and_skewed_values_would_do() {
    let about_load = |shards| {
        let found = rules_of(&sharded(shards));
        found.into_iter().filter(|r| ["P02", "P04", "P11", "I06"].contains(r)).collect::<Vec<_>>()
    };
    assert_eq!(about_load(4), Vec::<&str>::new());
    assert_eq!(about_load(1), ["I06", "P04", "P11"]);
}

#[test]
fn every_rule_fires_where_it_should_and_is_silent_where_it_should_not() {
    let mut failures = Vec::new();
    for case in CASES {
        let fired = findings(case.fires);
        if !fired.iter().any(|finding| finding.rule == case.rule) {
            failures.push(format!("{} did not fire; found:\n{}", case.rule, shown(&fired)));
        }
        for finding in fired.iter().filter(|finding| finding.rule == case.rule) {
            assert!(
                !finding.message.is_empty()
                    && !finding.evidence.is_empty()
                    && !finding.fix.is_empty(),
                "{} must have message, evidence and fix: {finding:?}",
                case.rule
            );
        }
        let calm = findings(case.silent);
        let broken = calm.iter().any(|f| f.rule.starts_with('D') && f.rule != "D07");
        if broken || calm.iter().any(|finding| finding.rule == case.rule) {
            failures.push(format!("{} fired on the good design:\n{}", case.rule, shown(&calm)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn no_rule_is_without_a_case() {
    for rule in RULES {
        let tested = CASES.iter().any(|case| case.rule == rule.id) || rule.id == "I10";
        assert!(tested, "{} has no case", rule.id);
    }
}

#[test]
fn i10_compares_two_designs() {
    let old = Design::parse("old.toml", TABLE).0.unwrap();
    let wider =
        TABLE.replace("sort_key = \"GSI1SK\"", "sort_key = \"GSI1SK\"\nprojection = \"keys\"");
    let new = Design::parse("new.toml", &wider).0.unwrap();
    let found = index_changes(&old, &new);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, "I10");
    assert_eq!(found[0].message, "the projection of GSI1 cannot be changed in place");
    assert!(index_changes(&old, &old).is_empty());
}

#[test]
fn suppressions_need_a_reason_and_a_use() {
    let design = r#"
[entity.Post]
PK = "USER#{user_id:ulid}"
SK = "POST#{at:datetime}"
[[allow]]
rule = "U01"
subject = "Post"
reason = "one post per second and user is enforced by the client"
[[allow]]
rule = "K01"
subject = "Post"
reason = "left over"
"#;
    let report = check_text("t.toml", &format!("{TABLE}{design}"), &Prices::default());
    assert_eq!(report.suppressed.len(), 1);
    assert_eq!(report.suppressed[0].0.rule, "U01");
    let unused: Vec<&str> =
        report.findings.iter().filter(|f| f.rule == "D07").map(|f| f.message.as_str()).collect();
    assert_eq!(unused, ["the suppression of K01 suppresses nothing"]);
    let bare =
        check_text("t.toml", &format!("{TABLE}[[allow]]\nrule = \"K01\"\n"), &Prices::default());
    assert!(
        bare.findings.iter().any(|f| f.message == "a suppression needs a `reason`"),
        "{}",
        shown(&bare.findings)
    );
}

const CASES: &[Case] = &[
    Case {
        rule: "K01",
        fires: r#"
[entity.Version]
PK = "DOC#{doc_id:ulid}"
SK = "V#{version}"
[entity.Version.fields]
version = { type = "u32", plain = true }"#,
        silent: r#"
[entity.Version]
PK = "DOC#{doc_id:ulid}"
SK = "V#{version}"
[entity.Version.fields]
version = { type = "u32", width = 4 }"#,
    },
    Case {
        rule: "K02",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
escape = "none"
[entity.Order]
PK = "USER#{user_id}"
SK = "ORDER#{order_id}"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
        silent: r#"
[entity.Order]
PK = "USER#{user_id}"
SK = "ORDER#{order_id}"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
    },
    Case {
        rule: "K03",
        fires: r#"
[entity.Order]
PK = "{user_id}{order_id}"
SK = "ORDER"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
        silent: r#"
[entity.Order]
PK = "{user_id}#{order_id}"
SK = "ORDER"
[entity.Order.fields]
user_id = "string"
order_id = "string""#,
    },
    Case {
        rule: "K04",
        fires: r#"
[entity.Page]
PK = "SITE#{site:ulid}"
SK = "URL#{url}"
[entity.Page.fields]
url = { type = "string", max = 2000 }"#,
        silent: r#"
[entity.Page]
PK = "SITE#{site:ulid}"
SK = "URL#{url}"
[entity.Page.fields]
url = { type = "string", max = 1000 }"#,
    },
    Case {
        rule: "K05",
        fires: r#"
[entity.Doc]
PK = "TENANT#{tenant}#DOC#{doc}"
SK = "METADATA"
[entity.Doc.fields]
tenant = "string"
doc = "string"
[access."documents of a tenant"]
find = "Doc"
key = 'PK begins_with "TENANT#T1#DOC#"'"#,
        silent: r#"
[entity.Doc]
PK = "TENANT#{tenant}"
SK = "DOC#{doc}"
[entity.Doc.fields]
tenant = "string"
doc = "string"
[access."documents of a tenant"]
find = "Doc"
key = 'PK = "TENANT#T1" and begins_with(SK, "DOC#")'"#,
    },
    Case {
        rule: "K06",
        fires: r#"
[entity.Metric]
PK = "SENSOR#{sensor}"
SK = "METRIC#{at:epoch_ms}#{id:ulid}"
[entity.Metric.fields]
sensor = "string"
[access."last hour"]
find = "Metric"
key = 'PK = "SENSOR#123" and SK begins_with "METRIC#" and SK > "METRIC#001700000000000"'"#,
        silent: r#"
[entity.Metric]
PK = "SENSOR#{sensor}"
SK = "METRIC#{at:epoch_ms}#{id:ulid}"
[entity.Metric.fields]
sensor = "string"
[access."last hour"]
find = "Metric"
where = "sensor = ? and at > ?""#,
    },
    Case {
        rule: "K07",
        fires: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{day:date}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of a month"]
find = "Order"
key = 'PK = "USER#123" and begins_with(SK, "ORDER#2024-12#")'"#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{day:date}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of a month"]
find = "Order"
key = 'PK = "USER#123" and begins_with(SK, "ORDER#2024-12")'"#,
    },
    Case {
        rule: "K07",
        fires: r#"
[entity.Product]
PK = "CATEGORY#{category}"
SK = "PRODUCT#{product}"
[entity.Product.fields]
category = "string"
product = "string"
[access."a product and its variants"]
find = "Product"
key = 'PK = "CATEGORY#Electronics" and begins_with(SK, "PRODUCT#TV-LG-55")'"#,
        silent: r#"
[entity.Product]
PK = "CATEGORY#{category}"
SK = "PRODUCT#{product}#"
[entity.Product.fields]
category = "string"
product = "string"
[access."a product and its variants"]
find = "Product"
key = 'PK = "CATEGORY#Electronics" and begins_with(SK, "PRODUCT#TV-LG-55#")'"#,
    },
    Case {
        rule: "K08",
        fires: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{at:datetime}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of January"]
find = "Order"
key = 'PK = "USER#123" and SK between "ORDER#2024-01-01" and "ORDER#2024-01-31"'"#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{at:datetime}#{id}"
[entity.Order.fields]
user = "string"
id = "string"
[access."orders of January"]
find = "Order"
where = "user = ? and at between '2024-01-01' and '2024-01-31'""#,
    },
    Case {
        rule: "K09",
        fires: r#"
[entity.Event]
PK = "USER#{user:ulid}"
SK = "EVENT#{at}#{id:ulid}"
[entity.Event.fields]
at = "datetime:loose""#,
        silent: r#"
[entity.Event]
PK = "USER#{user:ulid}"
SK = "EVENT#{at}#{id:ulid}"
[entity.Event.fields]
at = "datetime""#,
    },
    Case {
        rule: "K10",
        fires: r#"
[entity.File]
PK = "DISK#{disk:ulid}"
SK = "NAME#{name}#{id:ulid}"
[entity.File.fields]
name = "string"
[access."files by name"]
find = "File"
where = "disk = ?"
order = "name""#,
        silent: r#"
[entity.File]
PK = "DISK#{disk:ulid}"
SK = "NAME#{name}#{id:ulid}"
[entity.File.fields]
name = "token"
[access."files by name"]
find = "File"
where = "disk = ?"
order = "name""#,
    },
    Case {
        rule: "K11",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "profile|{kind:token}""#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE#{kind:token}""#,
    },
    Case {
        rule: "K12",
        fires: r#"
[entity.Thing]
PK = "OWNER#{owner:ulid}"
SK = "{type:token}#{subtype:token}#{category:token}#{subcategory:token}#{at:datetime}#{id:ulid}#{version:u32}"
[access."things"]
find = "Thing"
where = "owner = ? and type = ?""#,
        silent: r#"
[entity.Thing]
PK = "OWNER#{owner:ulid}"
SK = "{type:token}#{at:datetime}#{id:ulid}"
[access."things"]
find = "Thing"
where = "owner = ? and type = ?"
order = "at""#,
    },
    Case {
        rule: "K13",
        fires: r#"
[entity.Order]
PK = "{user}"
SK = "{order}"
[entity.Order.fields]
user = "string"
order = "string""#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{order}"
[entity.Order.fields]
user = "string"
order = "string""#,
    },
    Case {
        rule: "K14",
        fires: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{order:ulid}"
[entity.Order.fields]
user = { type = "string", optional = true }"#,
        silent: r#"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{order:ulid}"
[entity.Order.fields]
user = "string""#,
    },
    Case {
        rule: "P01",
        fires: r#"
[entity.User]
PK = "USER"
SK = "USER#{user:ulid}"
count = 100_000
growth = "10%/month""#,
        silent: r#"
[entity.Setting]
PK = "SETTINGS"
SK = "SETTING#{name:token}"
count = 50"#,
    },
    Case {
        rule: "P02",
        fires: r#"
[entity.User]
PK = "COUNTRY#{country}"
SK = "USER#{user:ulid}"
count = 1_000_000
[entity.User.fields]
country = { type = "string", distinct = 60 }"#,
        silent: r#"
[entity.User]
PK = "COUNTRY#{country}"
SK = "USER#{user:ulid}"
[entity.User.fields]
country = { type = "string", distinct = 60 }"#,
    },
    Case {
        rule: "P03",
        fires: r#"
[entity.Event]
PK = "{day:date}"
SK = "EVENT#{id:ulid}"
count = 1_000_000"#,
        silent: r#"
[entity.Event]
PK = "SOURCE#{source:ulid}#{day:date}"
SK = "EVENT#{id:ulid}"
count = 1_000_000"#,
    },
    Case {
        rule: "P04",
        fires: r#"
[entity.Order]
PK = "TENANT#{tenant}"
SK = "ORDER#{id:ulid}"
count = 1_000_000
[entity.Order.fields]
tenant = { type = "string", distinct = 5000, top_share = "40%" }"#,
        silent: r#"
[entity.Order]
PK = "TENANT#{tenant}"
SK = "ORDER#{id:ulid}"
count = 1_000_000
[entity.Order.fields]
tenant = { type = "string", distinct = 5000, top_share = "1%" }"#,
    },
    Case {
        rule: "P05",
        fires: r#"
[entity.Order]
PK = "ORDER#{number}"
SK = "DETAILS"
[entity.Order.fields]
number = { type = "u64", sequential = true }"#,
        silent: r#"
[entity.Order]
PK = "ORDER#{id:ulid}"
SK = "DETAILS""#,
    },
    Case {
        rule: "P06",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.byDate]
local = true
sort_key = "LSK"
[entity.Order]
PK = "TENANT#{tenant}"
SK = "ORDER#{id:ulid}"
LSK = "{at:datetime}"
count = 100_000_000
size = "2 KB"
[entity.Order.fields]
tenant = { type = "string", distinct = 10 }"#,
        silent: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.byDate]
local = true
sort_key = "LSK"
[entity.Order]
PK = "TENANT#{tenant}"
SK = "ORDER#{id:ulid}"
LSK = "{at:datetime}"
count = 1_000_000
size = "2 KB"
[entity.Order.fields]
tenant = { type = "string", distinct = 1000 }"#,
    },
    Case {
        rule: "P07",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.byDate]
local = true
sort_key = "LSK"
[entity.Order]
PK = "TENANT#{tenant}"
SK = "ORDER#{id:ulid}"
LSK = "{at:datetime}"
size = "1 KB"
[entity.Order.fields]
tenant = { type = "string", distinct = 10 }
[write."place"]
entity = "Order"
kind = "put"
rate = "20000/s""#,
        silent: r#"
[entity.Order]
PK = "TENANT#{tenant}"
SK = "ORDER#{id:ulid}"
size = "1 KB"
[entity.Order.fields]
tenant = { type = "string", distinct = 10 }
[write."place"]
entity = "Order"
kind = "put"
rate = "20000/s""#,
    },
    Case {
        rule: "P08",
        fires: r#"
[entity.Reading]
PK = "SENSOR#{sensor}"
SK = "{at:datetime}"
size = "1 KB"
[entity.Reading.fields]
sensor = { type = "string", distinct = 10 }
[write."record"]
entity = "Reading"
kind = "put"
rate = "20000/s""#,
        silent: r#"
[entity.Reading]
PK = "SENSOR#{sensor}"
SK = "{at:datetime}"
size = "1 KB"
[entity.Reading.fields]
sensor = { type = "string", distinct = 10_000 }
[write."record"]
entity = "Reading"
kind = "put"
rate = "20000/s""#,
    },
    Case {
        rule: "P09",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project}"
SK = "TASK#{task:ulid}"
count = 10_000_000
size = "1 KB"
[entity.Task.fields]
project = { type = "string", distinct = 1000 }
[access."tasks"]
find = "Task"
where = "project = ?""#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project}"
SK = "TASK#{task:ulid}"
count = 10_000_000
size = "1 KB"
[entity.Task.fields]
project = { type = "string", distinct = 1000 }
[access."tasks"]
find = "Task"
where = "project = ?"
limit = 50"#,
    },
    Case {
        rule: "P10",
        fires: r#"
[entity.User]
PK = "STATUS#{status}#SHARD_{shard}"
SK = "USER#{user:ulid}"
[entity.User.fields]
status = { type = "string", values = ["ACTIVE", "PENDING"] }
shard = { type = "shard", shards = 10 }
[access."one user"]
find = "User"
where = "status = ? and user = ?""#,
        silent: r#"
[entity.User]
PK = "STATUS#{status}#SHARD_{shard}"
SK = "USER#{user:ulid}"
[entity.User.fields]
status = { type = "string", values = ["ACTIVE", "PENDING"] }
shard = { type = "shard", shards = 10, by = "user" }
[access."one user"]
find = "User"
where = "status = ? and user = ?""#,
    },
    Case {
        rule: "P11",
        fires: r#"
[entity.Event]
PK = "EVENTS#{shard}"
SK = "EVENT#{at:epoch_ms}#{id:ulid}"
size = "1 KB"
[entity.Event.fields]
shard = { type = "shard", shards = 2 }
[write."record"]
entity = "Event"
kind = "put"
rate = "20000/s""#,
        silent: r#"
[entity.Event]
PK = "EVENTS#{shard}"
SK = "EVENT#{at:epoch_ms}#{id:ulid}"
size = "1 KB"
[entity.Event.fields]
shard = { type = "shard", shards = 40 }
[write."record"]
entity = "Event"
kind = "put"
rate = "20000/s""#,
    },
    Case {
        rule: "I01",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status:token}"
GSI1SK = "TASK#{task:ulid}"
[access."tasks"]
find = "Task"
where = "project = ?""#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status:token}"
GSI1SK = "TASK#{task:ulid}"
[access."tasks"]
find = "Task"
where = "status = ?""#,
    },
    Case {
        rule: "I02",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"
[table.app.index.GSI2]
partition_key = "GSI2PK"
sort_key = "GSI2SK"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
GSI1PK = "EMAIL#{email:token}"
GSI1SK = "USER"
[entity.Order]
PK = "USER#{user:ulid}"
SK = "ORDER#{order:ulid}"
GSI2PK = "ORDER#{order:ulid}"
GSI2SK = "ORDER"
[access."by mail"]
find = "User"
where = "email = ?"
[access."by order"]
find = "Order"
where = "order = ?""#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
GSI1PK = "EMAIL#{email:token}"
GSI1SK = "USER"
[entity.Order]
PK = "USER#{user:ulid}"
SK = "ORDER#{order:ulid}"
GSI1PK = "ORDER#{order:ulid}"
GSI1SK = "ORDER"
[access."by mail"]
find = "User"
where = "email = ?"
[access."by order"]
find = "Order"
where = "order = ?""#,
    },
    Case {
        rule: "I03",
        fires: r#"
[table.app]
partition_key = "PK"
index.GSI1 = { partition_key = "A" }
index.GSI2 = { partition_key = "B" }
index.GSI3 = { partition_key = "C" }
index.GSI4 = { partition_key = "D" }
index.GSI5 = { partition_key = "E" }
index.GSI6 = { partition_key = "F" }
"#,
        silent: r#"
[table.app]
partition_key = "PK"
index.GSI1 = { partition_key = "A" }
"#,
    },
    Case {
        rule: "I04",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status}"
GSI1SK = "TASK#{task:ulid}"
[entity.Task.fields]
status = "token"
title = "string"
body = "string"
notes = "string"
author = "string"
[access."titles"]
find = "Task"
where = "status = ?"
returns = ["title"]"#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status}"
GSI1SK = "TASK#{task:ulid}"
[entity.Task.fields]
status = "token"
title = "string"
body = "string"
[access."tasks"]
find = "Task"
where = "status = ?""#,
    },
    Case {
        rule: "I05",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status:token}"
GSI1SK = "TASK#{task:ulid}"
[write."move a task"]
entity = "Task"
kind = "update"
sets = ["status"]
rate = "200/s""#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status:token}"
GSI1SK = "TASK#{task:ulid}"
[write."move a task"]
entity = "Task"
kind = "update"
sets = ["status"]
rate = "1/min""#,
    },
    Case {
        rule: "I06",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status}"
GSI1SK = "TASK#{task:ulid}"
count = 2_000_000
[entity.Task.fields]
status = { type = "string", values = ["Todo", "Done"] }"#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "USER#{user:ulid}"
GSI1SK = "TASK#{task:ulid}"
count = 2_000_000"#,
    },
    Case {
        rule: "I07",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
GSI1PK = "VERIFIED#{region:token}"
GSI1SK = "{verified_at}"
[entity.User.fields]
verified_at = { type = "datetime", present = "90%" }"#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
GSI1PK = "VERIFIED#{region:token}"
GSI1SK = "{verified_at}"
[entity.User.fields]
verified_at = { type = "datetime", present = "5%" }"#,
    },
    Case {
        rule: "I08",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.byCustomer]
partition_key = "customer_id"
sort_key = "created_at"
[entity.Order]
PK = "ORDER#{order:ulid}"
SK = "DETAILS"
[entity.Order.fields]
customer_id = "string"
created_at = "datetime"
[entity.Ticket]
PK = "TICKET#{ticket:ulid}"
SK = "DETAILS"
[entity.Ticket.fields]
customer_id = "string"
created_at = "datetime"
[access."orders of a customer"]
find = "Order"
where = "customer_id = ?""#,
        silent: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.byCustomer]
partition_key = "customer_id"
sort_key = "created_at"
[entity.Order]
PK = "ORDER#{order:ulid}"
SK = "DETAILS"
[entity.Order.fields]
customer_id = "string"
created_at = "datetime"
[entity.Ticket]
PK = "TICKET#{ticket:ulid}"
SK = "DETAILS"
[entity.Ticket.fields]
customer = "string"
[access."orders of a customer"]
find = "Order"
where = "customer_id = ?""#,
    },
    Case {
        rule: "I09",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
GSI1PK = "EMAIL#{email:token}"
GSI1SK = "USER"
[access."by mail"]
find = "User"
where = "email = ?"
consistent = true"#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[access."profile"]
find = "User"
where = "user = ?"
consistent = true"#,
    },
    Case {
        rule: "A01",
        fires: r#"
[entity.Doc]
PK = "TENANT#{tenant:token}#DOC#{doc:ulid}"
SK = "METADATA"
[access."documents of a tenant"]
find = "Doc"
where = "tenant = ?""#,
        silent: r#"
[entity.Doc]
PK = "TENANT#{tenant:token}"
SK = "DOC#{doc:ulid}"
[access."documents of a tenant"]
find = "Doc"
where = "tenant = ?""#,
    },
    Case {
        rule: "A02",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
[entity.Task.fields]
status = { type = "string", values = ["a", "b", "c", "d", "e", "f"] }
[access."tasks by status"]
find = "Task"
where = "project = ? and status = ?""#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{status}#{task:ulid}"
[entity.Task.fields]
status = { type = "string", values = ["a", "b", "c", "d", "e", "f"] }
[access."tasks by status"]
find = "Task"
where = "project = ? and status = ?""#,
    },
    Case {
        rule: "A03",
        fires: r#"
[entity.Comment]
PK = "POST#{post:ulid}"
SK = "COMMENT#{id:ulid}#{at:datetime}"
[access."latest comments"]
find = "Comment"
where = "post = ?"
order = "at desc"
limit = 10"#,
        silent: r#"
[entity.Comment]
PK = "POST#{post:ulid}"
SK = "COMMENT#{at:datetime}#{id:ulid}"
[access."latest comments"]
find = "Comment"
where = "post = ?"
order = "at desc"
limit = 10"#,
    },
    Case {
        rule: "A04",
        fires: r#"
[entity.Product]
PK = "CATEGORY#{category}"
SK = "PRODUCT#{product}"
[entity.Product.fields]
category = "string"
product = "string"
[entity.Variant]
PK = "CATEGORY#{category}"
SK = "PRODUCT#{product}#VARIANT#{color}"
[entity.Variant.fields]
category = "string"
product = "string"
color = "string"
[access."products"]
find = "Product"
where = "category = ?""#,
        silent: r#"
[entity.Product]
PK = "CATEGORY#{category}"
SK = "PRODUCT#{product}"
[entity.Product.fields]
category = "string"
product = "string"
[entity.Variant]
PK = "CATEGORY#{category}"
SK = "VARIANT#{product}#{color}"
[entity.Variant.fields]
category = "string"
product = "string"
color = "string"
[access."products"]
find = "Product"
where = "category = ?""#,
    },
    Case {
        rule: "A05",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "TASK#{task:ulid}"
GSI1SK = "METADATA"
[entity.Tagging]
PK = "TAG#{tag:token}"
SK = "TASK#{task:ulid}"
[access."tasks with a tag"]
find = "Task"
via = "Tagging"
where = "tag = ?""#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
[entity.Tagging]
PK = "TAG#{tag:token}"
SK = "TASK#{project:ulid}#{task:ulid}"
[access."tasks with a tag"]
find = "Task"
via = "Tagging"
where = "tag = ?""#,
    },
    Case {
        rule: "A06",
        fires: r#"
[entity.Post]
PK = "USER#{user:ulid}"
SK = "POST#{at:datetime}"
[entity.Post.fields]
post_id = "ulid"
[access."post by id"]
find = "Post"
where = "post_id = ?""#,
        silent: r#"
[entity.Post]
PK = "USER#{user:ulid}"
SK = "POST#{at:datetime}"
GSI1PK = "POST#{post_id}"
GSI1SK = "POST"
[entity.Post.fields]
post_id = "ulid"
[access."post by id"]
find = "Post"
where = "post_id = ?""#,
    },
    Case {
        rule: "A07",
        fires: r#"
[entity.Follow]
PK = "USER#{a:ulid}"
SK = "FOLLOWS#{b:ulid}"
[entity.Follower]
PK = "USER#{b:ulid}"
SK = "FOLLOWER#{a:ulid}"
[write."follow"]
entity = ["Follow", "Follower"]
kind = "put""#,
        silent: r#"
[entity.Follow]
PK = "USER#{a:ulid}"
SK = "FOLLOWS#{b:ulid}"
[entity.Follower]
PK = "USER#{b:ulid}"
SK = "FOLLOWER#{a:ulid}"
[write."follow"]
entity = ["Follow", "Follower"]
kind = "transact""#,
    },
    Case {
        rule: "A08",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[write."sign up"]
entity = "User"
kind = "put"
reads_first = true"#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[write."sign up"]
entity = "User"
kind = "create""#,
    },
    Case {
        rule: "A09",
        fires: r#"
[entity.Doc]
PK = "DOC#{doc:ulid}"
SK = "BODY"
size = "20 KB"
max_size = "350 KB""#,
        silent: r#"
[entity.Doc]
PK = "DOC#{doc:ulid}"
SK = "BODY"
size = "20 KB""#,
    },
    Case {
        rule: "A10",
        fires: r#"
[entity.Doc]
PK = "USER#{user:ulid}"
SK = "DOC#{doc:ulid}"
size = "20 KB"
[access."documents"]
find = "Doc"
where = "user = ?"
limit = 100"#,
        silent: r#"
[entity.Doc]
PK = "USER#{user:ulid}"
SK = "DOC#{doc:ulid}"
size = "20 KB"
[access."documents"]
find = "Doc"
where = "user = ?"
limit = 20"#,
    },
    Case {
        rule: "A11",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[entity.Order]
PK = "USER#{user:ulid}"
SK = "ORDER#{order:ulid}"
[access."profile"]
find = "User"
where = "user = ?"
[write."order"]
entity = "Order"
kind = "put""#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[access."profile"]
find = "User"
where = "user = ?"
[write."sign up"]
entity = "User"
kind = "create""#,
    },
    Case {
        rule: "A12",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{status:token}#{task:ulid}"
[write."move"]
entity = "Task"
kind = "update"
sets = ["status"]"#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
[entity.Task.fields]
status = "token"
[write."move"]
entity = "Task"
kind = "update"
sets = ["status"]"#,
    },
    Case {
        rule: "E01",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
[entity.Task.fields]
status = "token"
[write."close"]
entity = "Task"
kind = "update"
sets = ["status"]
expression = "SET status = :s""#,
        silent: r##"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
[entity.Task.fields]
status = "token"
[write."close"]
entity = "Task"
kind = "update"
sets = ["status"]
expression = "SET #s = :s"
names = { "#s" = "status" }"##,
    },
    Case {
        rule: "E02",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[entity.User.fields]
address = "map"
[write."move"]
entity = "User"
kind = "update"
expression = "SET address.city = :c, address = :a""#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[entity.User.fields]
address = "map"
[write."move"]
entity = "User"
kind = "update"
expression = "SET address.city = :c, address.zip = :z""#,
    },
    Case {
        rule: "E03",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[write."rename"]
entity = "User"
kind = "update"
expression = "SET PK = :p""#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[write."rename"]
entity = "User"
kind = "update"
expression = "SET nick = :p""#,
    },
    Case {
        rule: "E04",
        fires: r#"
[entity.File]
PK = "FILES#{disk:ulid}"
SK = "{path}"
[entity.File.fields]
path = "string"
[access."children"]
find = "File"
key = 'PK = "FILES#01HM5KXJ8M0000000000000001" and begins_with(SK, "root/")'
filter = "not contains(SK, '/x/')""#,
        silent: r#"
[entity.File]
PK = "FILES#{disk:ulid}"
SK = "{depth:u8}#{path}"
[entity.File.fields]
path = "string"
[access."children"]
find = "File"
where = "disk = ? and depth = ?""#,
    },
    Case {
        rule: "U01",
        fires: r#"
[entity.Post]
PK = "USER#{user:ulid}"
SK = "POST#{at:datetime}""#,
        silent: r#"
[entity.Post]
PK = "USER#{user:ulid}"
SK = "POST#{at:datetime}#{post:ulid}""#,
    },
    Case {
        rule: "U02",
        fires: r#"
[entity.Project]
PK = "TEAM#{team:ulid}"
SK = "{project:ulid}"
[entity.Member]
PK = "TEAM#{team:ulid}"
SK = "{user:ulid}""#,
        silent: r#"
[entity.Project]
PK = "TEAM#{team:ulid}"
SK = "PROJECT#{project:ulid}"
[entity.Member]
PK = "TEAM#{team:ulid}"
SK = "USER#{user:ulid}""#,
    },
    Case {
        rule: "U03",
        fires: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[entity.User.fields]
email = "string"
[unique."user email"]
entity = "User"
fields = "email""#,
        silent: r#"
[entity.User]
PK = "USER#{user:ulid}"
SK = "PROFILE"
[entity.User.fields]
email = "string"
[entity.UserEmail]
PK = "EMAIL#{email}"
SK = "EMAIL"
[entity.UserEmail.fields]
email = "string"
[unique."user email"]
entity = "User"
fields = "email"
by = "UserEmail""#,
    },
    Case {
        rule: "W01",
        fires: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status:token}"
GSI1SK = "{due:date}#{status:token}"
[write."close"]
entity = "Task"
kind = "update"
sets = ["status"]"#,
        silent: r#"
[entity.Task]
PK = "PROJECT#{project:ulid}"
SK = "TASK#{task:ulid}"
GSI1PK = "STATUS#{status:token}"
GSI1SK = "{due:date}"
[write."close"]
entity = "Task"
kind = "update"
sets = ["status"]"#,
    },
];
