//! P: partitions and their load.

use crate::Case;

pub(crate) const CASES: &[Case] = &[
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
        rule: "P12",
        fires: r#"
[entity.Order]
PK = "SHOP#{shop}"
SK = "ORDER#{order:ulid}"
size = "900 B"
[entity.Order.fields]
shop = { type = "token", distinct = 150 }
[entity.Payment]
PK = "SHOP#{shop}"
SK = "PAYMENT#{payment:ulid}"
size = "900 B"
[entity.Payment.fields]
shop = { type = "token", distinct = 150 }
[write."order"]
entity = "Order"
rate = "90000/s"
[write."pay"]
entity = "Payment"
rate = "90000/s""#,
        silent: r#"
[entity.Order]
PK = "SHOP#{shop}"
SK = "ORDER#{order:ulid}"
size = "900 B"
[entity.Order.fields]
shop = { type = "token", distinct = 150 }
[entity.Payment]
PK = "PAYMENTS#{shop}"
SK = "PAYMENT#{payment:ulid}"
size = "900 B"
[entity.Payment.fields]
shop = { type = "token", distinct = 150 }
[write."order"]
entity = "Order"
rate = "90000/s"
[write."pay"]
entity = "Payment"
rate = "90000/s""#,
    },
    Case {
        rule: "P13",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
tenant = "tenant"
[table.app.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"
[entity.Order]
PK = "TENANT#{tenant:token}#ORDER#{order:ulid}"
SK = "ORDER"
GSI1PK = "STATUS#{status}#{tenant:token}"
GSI1SK = "ORDER#{order:ulid}"
[entity.Order.fields]
status = { type = "string", values = ["open", "done"] }"#,
        silent: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
tenant = "tenant"
[table.app.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"
[entity.Order]
PK = "TENANT#{tenant:token}#ORDER#{order:ulid}"
SK = "ORDER"
GSI1PK = "{tenant:token}#STATUS#{status}"
GSI1SK = "ORDER#{order:ulid}"
[entity.Order.fields]
status = { type = "string", values = ["open", "done"] }
[entity.Setting]
PK = "SETTINGS"
SK = "SETTING#{name:token}"
count = 50"#,
    },
];

/// The findings of P13 in a table with the tenant field `tenant`.
fn unguarded(entity: &str) -> Vec<(String, String)> {
    let text = format!(
        "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\ntenant = \"tenant\"\n{entity}"
    );
    let found = crate::findings(&text).into_iter().filter(|finding| finding.rule == "P13");
    found.map(|finding| (finding.message, finding.evidence)).collect()
}

#[test]
fn a_tenant_must_stand_first_and_alone() {
    let entity = |key: &str| {
        let fields = "[entity.Note.fields]\ntenant = \"token\"\nuser = \"token\"\n";
        unguarded(&format!(
            "[entity.Note]\nPK = \"{key}\"\nSK = \"NOTE#{{tenant}}#{{user}}\"\n{fields}"
        ))
    };
    for guarded in ["{tenant}", "{tenant}#{user}", "T#{tenant}", "A#B#{tenant}#NOTES"] {
        assert_eq!(entity(guarded), [], "{guarded}");
    }
    for (key, why) in [
        ("{user}#{tenant}", "that is `user`, not `tenant`"),
        ("NOTES", "it does not contain `tenant`, so that all tenants share it"),
        ("{tenant}{id:ulid}", "nothing stands behind `tenant`"),
    ] {
        let found = entity(key);
        let [(message, evidence)] = found.as_slice() else { panic!("{key}: {found:?}") };
        assert!(message.contains(&format!("PK = \"{key}\" in app")), "{message}");
        assert!(evidence.contains(why), "{evidence}");
    }
    let misspelt = unguarded("[entity.Note]\nPK = \"{tennant:token}\"\nSK = \"NOTE\"\n");
    assert_eq!(
        misspelt.first().map(|(message, _)| message.as_str()),
        Some("no entity has the tenant field `tenant`")
    );
}

/// The findings of P13 for a partition key and a format of the tenant.
fn behind(key: &str, tenant: &str, escape: &str) -> Option<String> {
    let text = format!(
        "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\ntenant = \"tenant\"\n{escape}\n\
         [entity.Note]\nPK = \"{key}\"\nSK = \"NOTE\"\n\
         [entity.Note.fields]\ntenant = {tenant}\nid = \"ulid\"\n"
    );
    let checked = crate::findings(&text);
    // A template that cannot be parsed is refused before anything else.
    let refusal = checked.iter().find(|finding| matches!(finding.rule, "P13" | "K03"));
    refusal.map(|finding| format!("{}: {} {}", finding.rule, finding.message, finding.evidence))
}

#[test]
fn what_follows_a_tenant_must_not_be_part_of_one() {
    let token = "\"token\"";
    let regions = "{ type = \"string\", values = [\"eu\", \"eu-west\"] }";
    let distinct = "{ type = \"string\", values = [\"eu\", \"us-east\"] }";
    for (key, tenant, escape) in [
        ("{tenant}", token, ""),
        ("{tenant}#{id}", token, ""),
        ("{tenant}#META", token, ""),
        ("{tenant}#META", "\"string\"", ""),
        ("{tenant}#META", "\"string\"", "escape = \"percent\""),
        ("{tenant}::{id}", "\"string\"", "separator = \"::\""),
        ("{tenant}/{id}", token, ""),
        ("{tenant}-META", "\"u32\"", ""),
        ("{tenant}-{id}", "\"ulid\"", ""),
        ("{tenant}-{id}", "\"uuid\"", ""),
        ("{tenant}{id}", "\"ulid\"", ""),
        ("{tenant}#{id}", regions, ""),
    ] {
        assert_eq!(behind(key, tenant, escape), None, "{key} {tenant} {escape}");
    }
    for (key, tenant, escape, rule) in [
        ("{tenant}-META", token, "", "K03"),
        ("{tenant}-META", "\"token:lower\"", "", "K03"),
        ("{tenant}-{id}", distinct, "", "K03"),
        ("{tenant}-{id}", token, "", "K03"),
        ("{tenant}.{id}", token, "", "K03"),
        ("T#{tenant}_{id}", token, "", "K03"),
        ("{tenant}-{id}", "\"token:lower\"", "", "K03"),
        ("{tenant}/{id}", "\"string\"", "", "K03"),
        ("{tenant}#{id}", "\"string\"", "escape = \"none\"", "P13"),
        ("{tenant}#META", "\"string\"", "escape = \"none\"", "P13"),
        ("{tenant}{id}", token, "", "P13"),
    ] {
        let refused = behind(key, tenant, escape).unwrap_or_default();
        assert!(refused.starts_with(rule), "{key} {tenant} {escape}: {refused}");
    }
}

/// A tenant that is called like the text of another key's beginning.
#[test]
fn all_keys_of_tenants_begin_alike() {
    let both = |one: &str, other: &str, tenant: &str| {
        unguarded(&format!(
            "[entity.Note]\nPK = \"{one}\"\nSK = \"NOTE#{{id:ulid}}\"\n[entity.Note.fields]\ntenant = \"{tenant}\"\n\
             [entity.Bill]\nPK = \"{other}\"\nSK = \"BILL#{{id:ulid}}\"\n[entity.Bill.fields]\ntenant = \"{tenant}\"\n"
        ))
    };
    for (one, other) in [
        ("{tenant}#NOTES", "GYM#{tenant}#BILLS"),
        ("GYM#{tenant}#BILLS", "{tenant}#NOTES"),
        ("GYM#{tenant}", "GYM#BILLS#{tenant}"),
    ] {
        let found = both(one, other, "string");
        assert_eq!(found.len(), usize::from(one != "GYM#{tenant}"), "{one} {other}: {found:?}");
    }
    assert_eq!(both("{tenant}#NOTES", "{tenant}#BILLS", "token"), []);
    assert_eq!(both("NOTES#{tenant}", "BILLS#{tenant}", "token"), []);
    // No ULID reads `GYM`.
    assert_eq!(both("{tenant}#NOTES", "GYM#{tenant}#BILLS", "ulid"), []);
    let found = both("{tenant}#NOTES", "GYM#{tenant}#BILLS", "token");
    let [(message, evidence)] = found.as_slice() else { panic!("{found:?}") };
    assert!(message.contains("PK = \"GYM#{tenant}#BILLS\""), "{message}");
    assert!(evidence.contains("both can be the beginning"), "{evidence}");
}
