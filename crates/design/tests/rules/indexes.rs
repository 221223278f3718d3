//! I: secondary indexes.

use crate::Case;

pub(crate) const CASES: &[Case] = &[
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
];
