//! E: expressions.

use crate::Case;

pub(crate) const CASES: &[Case] = &[
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
[entity.User.fields]
nick = "string"
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
        rule: "E05",
        fires: r#"
[entity.Task]
PK = "LIST#{list:ulid}"
SK = "TASK#{task:ulid}"
[entity.Task.fields]
done = "bool"
[access."done tasks"]
find = "Task"
key = 'PK = "LIST#{list}" and begins_with(SK, "TASK#")'
filter = "done >= true""#,
        silent: r#"
[entity.Task]
PK = "LIST#{list:ulid}"
SK = "TASK#{task:ulid}"
[entity.Task.fields]
done = "bool"
[access."done tasks"]
find = "Task"
key = 'PK = "LIST#{list}" and begins_with(SK, "TASK#")'
filter = "done <> true""#,
    },
];
