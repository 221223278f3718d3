//! U and W: uniqueness and writes.

use crate::Case;

pub(crate) const CASES: &[Case] = &[
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
    Case {
        rule: "U04",
        fires: r#"
[entity.Seat]
PK = "HALL#{hall}"
SK = "SEAT#{seat}"
count = 100_000
[entity.Seat.fields]
hall = { type = "token", distinct = 50 }
seat = { type = "u16", width = 3 }"#,
        silent: r#"
[entity.Seat]
PK = "HALL#{hall}"
SK = "SEAT#{seat}"
count = 50_000
[entity.Seat.fields]
hall = { type = "token", distinct = 50 }
seat = { type = "u16", width = 3 }"#,
    },
    Case {
        rule: "U05",
        fires: r#"
[entity.Reading]
PK = "SENSOR#{sensor:token}"
SK = "{at:date}"
identity = ["sensor", "at"]
[entity.Reading.fields]
at = "datetime""#,
        silent: r#"
[entity.Reading]
PK = "SENSOR#{sensor:token}"
SK = "{at}"
identity = ["sensor", "at"]
[entity.Reading.fields]
at = "datetime""#,
    },
    Case {
        rule: "T01",
        fires: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
ttl = "expires"
[entity.Session]
PK = "SESSION#{id:ulid}"
SK = "SESSION"
[entity.Session.fields]
expires = "epoch_ms""#,
        silent: r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
ttl = "expires"
[entity.Session]
PK = "SESSION#{id:ulid}"
SK = "SESSION"
[entity.Session.fields]
expires = "number""#,
    },
];
