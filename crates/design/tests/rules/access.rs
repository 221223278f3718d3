//! A: access patterns.

use crate::Case;

pub(crate) const CASES: &[Case] = &[
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
        rule: "A13",
        fires: r#"
[entity.Event]
PK = "DAY#{day:date}#{shard}"
SK = "EVENT#{id:ulid}"
[entity.Event.fields]
shard = { type = "shard", shards = 4, by = "id" }
[access."events"]
find = "Event"
where = "day = ?"
key = 'PK = "DAY#{day}#0"'"#,
        silent: r#"
[entity.Event]
PK = "DAY#{day:date}#{shard}"
SK = "EVENT#{id:ulid}"
[entity.Event.fields]
shard = { type = "shard", shards = 4, by = "id" }
[access."events"]
find = "Event"
where = "day = ?""#,
    },
    Case {
        rule: "A14",
        fires: r#"
[entity.Event]
PK = "DAY#{day:date}#{shard}"
SK = "EVENT#{id:ulid}"
[entity.Event.fields]
shard = { type = "shard", shards = 101, by = "id" }
[access."events"]
find = "Event"
where = "day = ?""#,
        silent: r#"
[entity.Event]
PK = "DAY#{day:date}#{shard}"
SK = "EVENT#{id:ulid}"
[entity.Event.fields]
shard = { type = "shard", shards = 101, by = "id" }
[access."events"]
find = "Event"
where = "day = ?"
max_requests = 101"#,
    },
    Case {
        rule: "A16",
        fires: r#"
[entity.Event]
PK = "EVENTS#{shard}"
SK = "EVENT#{id:ulid}"
[entity.Event.fields]
shard = { type = "shard", shards = 4, by = "id" }
[access."events"]
find = "Event"
key = 'PK = "EVENTS#0"'"#,
        silent: r#"
[entity.Event]
PK = "DAY#{day:date}"
SK = "EVENT#{id:ulid}"
[access."events"]
find = "Event"
where = "day = ?"
key = 'PK = "DAY#{day}"'"#,
    },
    Case {
        rule: "A15",
        fires: r##"
[entity.Post]
PK = "POST#{post:ulid}"
SK = "POST"
[entity.Post.fields]
comments = "list"
[write."comment"]
entity = "Post"
kind = "update"
expression = "SET #c = list_append(#c, :new)"
names = { "#c" = "comments" }"##,
        silent: r##"
[entity.Post]
PK = "POST#{post:ulid}"
SK = "POST"
max_size = "20 KB"
[entity.Post.fields]
comments = "list"
[write."comment"]
entity = "Post"
kind = "update"
expression = "SET #c = list_append(#c, :new)"
names = { "#c" = "comments" }"##,
    },
];
